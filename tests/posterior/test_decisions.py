"""Decisions by expected loss, abstention, and the parts of a prediction's uncertainty."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bayesnb as nb

LABELS = ["ash", "fir", "oak"]
WRONG = [0, 1.01, -0.5, np.nan, True, "high"]
"""Numbers that are no confidence."""


@pytest.mark.parametrize("kind", ["exact", "sampled", "weighted", "known"])
def test_the_label_of_least_expected_loss(posteriors, table, rng, kind):
    posterior, new = posteriors[kind], table[2]
    decided = set()
    for _ in range(5):
        loss = rng.normal(size=(3, 3))
        # rows of a loss are actions
        by_hand = [LABELS[a] for a in (posterior.predict_proba(new) @ loss.T).argmin(axis=1)]
        decided.update(by_hand)
        frame = pd.DataFrame(loss, index=LABELS, columns=LABELS)
        # What is added to every action's loss under one class changes no decision.
        for same in (loss, loss.tolist(), loss + rng.normal(size=3), 3.0 * loss, frame.iloc[[2, 0, 1], [1, 2, 0]]):
            found = posterior.predict(new, loss=same)
            assert found.tolist() == by_hand
        assert posterior.predict(new, loss=loss.tolist()).dtype == posterior.classes.dtype
    assert decided == {*LABELS}
    assert posterior.predict(new, loss=1 - np.eye(3)).tolist() == posterior.predict(new).tolist()


def test_unsure_rows_get_the_marker_as_if_referring_had_a_cost(exact, table):
    """Chow (1970): refer at a cost r where no label has probability 1 - r; a probability equal to that is enough."""
    new = table[2]
    best, plain = exact.predict_proba(new).max(axis=1), exact.predict(new)
    for confidence in (0.4, 0.6, np.float32(0.75), 1, 1.0, *best, *np.nextafter(best, 1)):
        decided = exact.predict(new, confidence=confidence)
        assert decided.dtype == object
        assert decided.tolist() == [label if p >= confidence else None for label, p in zip(plain, best, strict=True)]
    for cost in (0.2, 0.4):
        loss = pd.DataFrame([*(1 - np.eye(3)), [cost] * 3], index=[*LABELS, "refer"], columns=LABELS)
        decided = exact.predict(new, loss=loss)
        assert 0 < (decided == "refer").sum() < len(new)
        assert decided.tolist() == exact.predict(new, confidence=1 - cost, abstain="refer").tolist()


@pytest.mark.parametrize(
    ("labels", "abstain", "dtype"),
    [
        (["a", "b"], "unsure", "<U6"),
        (["a", "b"], None, object),
        ([0, 1], -1, np.int64),
        ([0, 1], np.int32(-1), np.int64),
        ([0, 1], np.nan, object),
        ([0, 1], None, object),
        ([0, 1], "unsure", object),
        ([0, 1], (2, 3), object),
        ([False, True], None, object),
        ([0.5, 1.5], np.nan, np.float64),
        ([("a", 1), ("b", 2)], ("none", 0), object),
        ([("a", 1), ("b", 2)], None, object),
    ],
    ids=str,
)
def test_the_marker_and_the_labels_keep_their_types(labels, abstain, dtype):
    X, y = [[0.0], [0.0], [9.0], [9.0]], [labels[0], labels[0], labels[1], labels[1]]
    posterior = nb.fit(nb.Poisson(1.0, 1.0), X, y)
    decided = posterior.predict([[0.0], [np.nan], [9.0]], confidence=0.9, abstain=abstain)
    assert decided.dtype == dtype
    for found, wanted in zip(decided.tolist(), [labels[0], abstain, labels[1]], strict=True):
        assert found == wanted or (found != found and wanted != wanted)
        assert isinstance(found, type(wanted) if wanted is not abstain else object)


def test_actions_may_be_any_labels():
    posterior = nb.fit(nb.Bernoulli(), [[1], [1], [0], [0]], [1, 1, 0, 0])
    by_hand = pd.DataFrame({0: [0, 1, 0.3], 1: [1, 0, 0.3]}, index=[0, 1, "refer"])
    assert posterior.predict([[1], [np.nan]], loss=by_hand).tolist() == [1, "refer"]
    fewer = pd.DataFrame({1: [0.0], 0: [1.0]}, index=["always this"])
    assert posterior.predict([[1], [0]], loss=fewer).tolist() == ["always this"] * 2
    assert posterior.predict(np.empty((0, 1)), loss=by_hand).tolist() == []
    assert posterior.predict(np.empty((0, 1)), confidence=0.5).tolist() == []
    ties = pd.DataFrame(1.0, index=["first", "second"], columns=[0, 1])
    assert posterior.predict([[1], [0]], loss=ties).tolist() == ["first"] * 2


def _frame(index, columns=LABELS, value=1.0):
    return pd.DataFrame(value, index=index, columns=columns)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": np.ones((2, 2))}, r"shape \(2, 2\).*3 classes.*\(3, 3\).*'ash', 'fir', 'oak'.*pandas frame"),
        ({"loss": np.ones((4, 3))}, r"shape \(4, 3\)"),
        ({"loss": np.ones(3)}, r"shape \(3,\)"),
        ({"loss": 1.0}, r"shape \(\)"),
        ({"loss": [[0, 1, 1], [1, np.nan, 1], [1, 1, 0]]}, "deciding 'fir' where 'fir' is true is nan: .*finite"),
        ({"loss": [[0, 1, 1], [1, 0, np.inf], [1, 1, 0]]}, "deciding 'fir' where 'oak' is true is inf"),
        ({"loss": [["x"] * 3] * 3}, "of numbers"),
        ({"loss": "zero-one"}, "loss is 'zero-one': give an array or a pandas frame of numbers"),
        ({"loss": _frame(["refer"], ["ash", "fir"])}, "loss has no column 'oak': .*index"),
        ({"loss": _frame(["refer"], [*LABELS, "elm"])}, "'elm', which is no class"),
        ({"loss": _frame(["refer"], [*LABELS, "oak"])}, "names 'oak' twice in its columns"),
        ({"loss": _frame(["refer", "refer"])}, "names 'refer' twice in its index"),
        ({"loss": _frame([])}, "loss has no rows"),
        ({"loss": _frame(["refer"], value=None)}, "deciding 'refer' where 'ash' is true is nan"),
        ({"loss": pl.DataFrame({"ash": [0.0], "fir": [1.0], "oak": [1.0]})}, "polars table, whose rows have no"),
        *(({"confidence": value}, f"confidence is {value!r}: give a number above 0 and at most 1") for value in WRONG),
        ({"confidence": 0.5, "loss": 1 - np.eye(3)}, "loss and confidence are both given.*one more row"),
        ({"abstain": "refer"}, "abstain is 'refer' and there is no confidence.*index of loss"),
        ({"abstain": "refer", "loss": 1 - np.eye(3)}, "abstain is 'refer' and there is no confidence"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_rules_that_cannot_be_are_refused(exact, table, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        exact.predict(table[2], **options)


def test_predictions_under_draws_do_not_depend_on_the_pieces(posteriors, table, monkeypatch):
    """Pieces of draws and of rows, some of them in later chunks of the table."""
    many, few = pd.concat([table[2]] * 34), {"num_chains": 2, "num_draws": 10}

    def found():
        of = [posteriors[kind] for kind in ("exact", "sampled")]
        verbs = ("uncertainty", "proba_interval", "proba_draws", "log_joint_draws")
        numbers = [[getattr(each, verb)(many, **few) for verb in verbs] for each in of]
        numbers.append([posteriors["sampled"].log_joint(many)])
        return np.concatenate([np.ravel(part) for parts in numbers for part in parts])

    at_once = found()
    monkeypatch.setattr("bayesnb.posterior.under_draws.DRAW_BYTES", 2**14)
    monkeypatch.setattr("bayesnb.posterior.under_draws.ROWS", 20)
    monkeypatch.setattr("bayesnb.data.tables.Table.chunk_cells", 16)
    np.testing.assert_allclose(found(), at_once, rtol=1e-12)
