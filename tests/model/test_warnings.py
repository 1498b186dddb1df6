"""One call of a verb warns once of one thing, and names five columns at most."""

import warnings

import numpy as np
import pandas as pd
import pytest

import bayesnb as nb

ROWS = 30
RNG = np.random.default_rng(3)
TABLE = pd.DataFrame({f"c{j}": RNG.choice(list("abc"), ROWS) for j in range(7)})
LABELS = np.array(["u", "v"])[RNG.integers(0, 2, ROWS)]
STRANGE = TABLE.assign(**{f"c{j}": [f"new{j}", *TABLE[f"c{j}"][1:]] for j in range(7)})
"""The table with a category in the first row of every column that a fit to it never sees."""


@pytest.fixture(scope="module")
def fitted():
    """A fit of a bound model to the strange table, whose new cells count as missing."""
    with warnings.catch_warnings(action="ignore"):
        return nb.fit(nb.NaiveBayes(nb.Categorical()).bind(TABLE, LABELS), STRANGE, LABELS)


def told(call) -> list[str]:
    with warnings.catch_warnings(record=True, action="always") as caught:
        call()
    assert {warning.filename for warning in caught} == {__file__}  # the line of the user's code
    return [str(warning.message) for warning in caught]


VERBS = {
    "predict": lambda p: p.predict(STRANGE),
    "predict_proba": lambda p: p.predict_proba(STRANGE),
    "proba_interval": lambda p: p.proba_interval(STRANGE, num_draws=3),
    "fit": lambda p: nb.fit(p.model, STRANGE, LABELS),
    "fit_batches": lambda p: nb.fit_batches(p.model, [(STRANGE, LABELS), (STRANGE, LABELS)]),
    "update": lambda p: p.update(STRANGE, LABELS),
    "forget": lambda p: p.forget(STRANGE, LABELS),
    "to_datatree": lambda p: p.to_datatree(STRANGE, LABELS, predictions=STRANGE, num_chains=1, num_draws=2),
    "loo": lambda p: nb.loo(p, STRANGE, LABELS),
    "loo_scores": lambda p: nb.loo_scores(p, STRANGE, LABELS),
    "kfold": lambda p: nb.kfold(p, STRANGE, LABELS, k=3),
    "kfold of a model": lambda p: nb.kfold(p.model, STRANGE, LABELS, k=3),
    "check": lambda p: nb.check(p, STRANGE, LABELS, num_replicates=3),
    "calibration": lambda p: nb.calibration(p, STRANGE, LABELS, other=p),
    "compare_models": lambda p: nb.compare_models({"one": p.model, "same": p.model}, STRANGE, LABELS),
    "group_columns": lambda p: nb.group_columns(p.model, STRANGE, LABELS),
    "select_features": lambda p: nb.select_features(p.model, STRANGE, LABELS),
    "weight_features": lambda p: nb.weight_features(p, STRANGE, LABELS),
    "explain": lambda p: p.explain(STRANGE.head(1), "u", num_draws=3),
    "plot_evidence": lambda p: nb.plot_evidence(p, STRANGE.head(1), "u", num_draws=3),
    "plot_proba": lambda p: nb.plot_proba(p, STRANGE, LABELS, num_draws=3),
    "plot_log_odds": lambda p: nb.plot_log_odds(p, STRANGE, LABELS, num_draws=3),
}


@pytest.mark.parametrize("verb", VERBS)
def test_categories_that_were_not_seen_are_told_once(verb, fitted):
    found = told(lambda: VERBS[verb](fitted))
    assert len(found) == 1
    told_by_a_fit = "kfold, fit to all rows: " if verb == "kfold of a model" else ""
    assert found[0].startswith(f"{told_by_a_fit}7 columns hold categories not seen in training, which count as missing")
    assert "'c4' in " in found[0]
    assert "'c5'" not in found[0]
    assert " and 2 more; families with other=True" in found[0]
    assert told(lambda: VERBS[verb](fitted)) == found  # a second call warns again


def test_leave_one_out_of_draws_tells_unseen_categories_once(fitted):
    with warnings.catch_warnings(action="ignore"):
        sampled = nb.from_samples(fitted.model, fitted.draws(num_draws=50), X=STRANGE, y=LABELS)
    with warnings.catch_warnings(record=True, action="always") as caught:  # ArviZ warns of few draws, too
        nb.loo(sampled, STRANGE, LABELS)
    assert [str(warning.message)[:9] for warning in caught].count("7 columns") == 1


def test_columns_and_values_of_the_warning():
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical()), TABLE, LABELS)
    (one,) = told(lambda: posterior.predict(TABLE.assign(c2="z")))
    assert one.startswith(
        "column 'c2': 30 cell(s) hold categories not seen in training ('z') and count as missing; families with other="
    )
    (two,) = told(lambda: posterior.predict(TABLE.assign(c2="z", c5=[f"n{row}" for row in range(ROWS)])))
    assert two.startswith(
        "2 columns hold categories not seen in training, which count as missing: 'c2' in 30 cell(s) ('z'), 'c5' in 30 "
        "cell(s) ('n0', 'n1', 'n2', 'n3', 'n4' and 25 more); families with other=True"
    )


def test_an_error_ends_the_memory_of_a_call(fitted):
    """What a call that failed has told is told again by the next."""
    with warnings.catch_warnings(action="ignore"), pytest.raises(ValueError, match="other"):
        nb.calibration(fitted, STRANGE, LABELS, other=np.ones((3, 2)))
    assert len(told(lambda: fitted.predict(STRANGE))) == 1
    assert len(told(lambda: (fitted.predict(STRANGE), fitted.predict(STRANGE)))) == 2


def test_rows_that_no_class_can_have_are_counted():
    known = nb.from_parameters(
        nb.Bernoulli(), classes=["a", "b"], class_probs=[0.3, 0.7], parameters={"prob": [[1.0], [1.0]]}
    )
    (words,) = told(lambda: known.predict_proba([[1], [0], [1], [0], [0]]))
    assert words.startswith("3 row(s), the first of them row 1, have probability zero")


@pytest.mark.parametrize("verb", ["proba_draws", "proba_interval"])
def test_rows_that_some_draw_makes_impossible_are_counted_once_and_the_first_is_named(verb):
    # The first draw makes a zero in the first column impossible, the second a one in the second column.
    prob = np.array([[[[1.0, 0.5], [1.0, 0.5]], [[0.5, 0.0], [0.5, 0.0]]]])
    draws = {"class_prob": np.full((1, 2, 2), 0.5), "x_prob": prob}
    posterior = nb.from_samples(nb.Bernoulli(), draws, X=np.array([[0, 1], [1, 0]]), y=[0, 1])
    with pytest.warns(UserWarning, match=r"^3 row\(s\), the first of them row 1,"):
        getattr(posterior, verb)(np.array([[1, 0], [1, 1], [0, 0], [0, 1]]))
