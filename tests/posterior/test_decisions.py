"""Decisions by expected loss, abstention, and the parts of a prediction's uncertainty."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import digamma, entr, roots_jacobi

import bayesnb as nb
from bayesnb import estimators

SIGMAS = 4.8
"""Standard errors beyond which chance explains a difference in less than two of a million tests."""


@pytest.fixture(scope="module")
def flowers():
    rng = np.random.default_rng(3)
    y = rng.choice(["iris", "lily", "rose"], 60)
    X = rng.normal(np.where(y == "iris", 0.0, np.where(y == "lily", 1.0, 2.0))[:, None], 1.0, (60, 2))
    return X, y


@pytest.fixture(scope="module")
def posteriors(flowers):
    X, y = flowers
    model = nb.NaiveBayes(nb.Gaussian())
    exact = nb.fit(model, X, y)
    draws = exact.draws(num_chains=2, num_draws=100)
    return {
        "exact": exact,
        "sampled": nb.from_samples(model, draws, X=X, y=y),
        "point": nb.fit(model, X, y, nb.MLE()),
    }


@pytest.mark.parametrize("kind", ["exact", "sampled", "point"])
def test_the_label_of_least_expected_loss(posteriors, flowers, rng, kind):
    X, _ = flowers
    posterior = posteriors[kind]
    proba = posterior.predict_proba(X)
    for _ in range(5):
        loss = rng.normal(size=(3, 3))
        by_hand = []
        for row in proba:
            expected = {a: sum(loss[i, c] * row[c] for c in range(3)) for i, a in enumerate(posterior.classes)}
            by_hand.append(min(expected, key=expected.get))
        assert len(set(by_hand)) > 1
        assert posterior.predict(X, loss=loss).tolist() == by_hand
        assert posterior.predict(X, loss=loss.tolist()).dtype == posterior.classes.dtype
        # What is added to every action's loss under one class changes no decision.
        assert posterior.predict(X, loss=loss + rng.normal(size=3)).tolist() == by_hand
        assert posterior.predict(X, loss=3.0 * loss).tolist() == by_hand
        frame = pd.DataFrame(loss, index=posterior.classes, columns=posterior.classes)
        shuffled = frame.sample(frac=1.0, random_state=1).sample(frac=1.0, axis=1, random_state=2)
        assert posterior.predict(X, loss=shuffled).tolist() == by_hand
    assert posterior.predict(X, loss=1 - np.eye(3)).tolist() == posterior.predict(X).tolist()


def test_two_classes_part_at_the_ratio_of_the_losses():
    """Treat if p(ill) L(leave, ill) > p(well) L(treat, well): here above 1/11 (Berger 1985, section 4.4)."""
    posterior = nb.from_parameters(
        nb.NaiveBayes({"test": nb.Bernoulli()}),
        classes=["ill", "well"],
        class_probs=[0.05, 0.95],
        parameters={"test": [0.9, 0.45]},
    )
    loss = pd.DataFrame({"ill": [0.0, 10.0], "well": [1.0, 0.0]}, index=["treat", "leave"])
    table = pd.DataFrame({"test": [1, 0, None]})
    np.testing.assert_allclose(posterior.predict_proba(table)[:, 0], [2 / 21, 2 / 211, 0.05])
    assert posterior.predict(table, loss=loss).tolist() == ["treat", "leave", "leave"]
    assert posterior.predict(table).tolist() == ["well"] * 3


def test_referring_at_a_cost_is_abstaining_below_a_confidence(posteriors, flowers):
    """Chow (1970): refer at a cost r where no label has probability 1 - r."""
    X, _ = flowers
    exact = posteriors["exact"]
    best = exact.predict_proba(X).max(axis=1)
    for cost in (0.05, 0.2, 0.4):
        loss = pd.DataFrame(1 - np.eye(3), index=exact.classes, columns=exact.classes)
        loss.loc["refer"] = cost
        decided = exact.predict(X, loss=loss)
        assert 0 < (decided == "refer").sum() < len(X)
        np.testing.assert_array_equal(decided == "refer", best < 1 - cost)
        assert decided.tolist() == exact.predict(X, confidence=1 - cost, abstain="refer").tolist()


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.999, 1, 1.0, np.float32(0.75)])
def test_unsure_rows_get_the_marker(posteriors, flowers, confidence):
    X, _ = flowers
    exact = posteriors["exact"]
    best, plain = exact.predict_proba(X).max(axis=1), exact.predict(X)
    decided = exact.predict(X, confidence=confidence)
    assert decided.dtype == object
    assert decided.tolist() == [label if p >= confidence else None for label, p in zip(plain, best, strict=True)]
    assert (decided == None).any() or confidence == 0.5  # noqa: E711


def test_a_probability_equal_to_the_confidence_is_enough(posteriors, flowers):
    X, _ = flowers
    for row in X[:5]:
        best = posteriors["exact"].predict_proba([row]).max()
        assert posteriors["exact"].predict([row], confidence=best).tolist() != [None]
        assert posteriors["exact"].predict([row], confidence=np.nextafter(best, 1)).tolist() == [None]


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


def _frame(index, columns, value=1.0):
    return pd.DataFrame(value, index=index, columns=columns)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": np.ones((2, 2))}, r"shape \(2, 2\).*3 classes.*\(3, 3\).*'iris', 'lily', 'rose'.*pandas frame"),
        ({"loss": np.ones((4, 3))}, r"shape \(4, 3\)"),
        ({"loss": np.ones(3)}, r"shape \(3,\)"),
        ({"loss": 1.0}, r"shape \(\)"),
        ({"loss": [[0, 1, 1], [1, np.nan, 1], [1, 1, 0]]}, "deciding 'lily' where 'lily' is true is nan: .*finite"),
        ({"loss": [[0, 1, 1], [1, 0, np.inf], [1, 1, 0]]}, "deciding 'lily' where 'rose' is true is inf"),
        ({"loss": [["x"] * 3] * 3}, "of numbers"),
        ({"loss": "zero-one"}, "loss is 'zero-one': give an array or a pandas frame of numbers"),
        ({"loss": _frame(["refer"], ["iris", "lily"])}, "loss has no column 'rose': .*index"),
        ({"loss": _frame(["refer"], ["iris", "lily", "rose", "tulip"])}, "'tulip', which is no class"),
        ({"loss": _frame(["refer"], ["iris", "lily", "rose", "rose"])}, "names 'rose' twice in its columns"),
        ({"loss": _frame(["refer", "refer"], ["iris", "lily", "rose"])}, "names 'refer' twice in its index"),
        ({"loss": _frame([], ["iris", "lily", "rose"])}, "loss has no rows"),
        ({"loss": _frame(["refer"], ["iris", "lily", "rose"], None)}, "deciding 'refer' where 'iris' is true is nan"),
        ({"loss": _frame(["refer"], [0, 1, 2])}, "no column 'iris'"),
        ({"loss": pl.DataFrame({"iris": [0.0], "lily": [1.0], "rose": [1.0]})}, "polars table, whose rows have no"),
        ({"confidence": 0}, "confidence is 0: give a number above 0 and at most 1"),
        ({"confidence": 1.01}, r"confidence is 1\.01"),
        ({"confidence": -0.5}, r"confidence is -0\.5"),
        ({"confidence": np.nan}, "confidence is nan"),
        ({"confidence": True}, "confidence is True"),
        ({"confidence": "high"}, "confidence is 'high'"),
        ({"confidence": 0.5, "loss": 1 - np.eye(3)}, "loss and confidence are both given.*one more row"),
        ({"abstain": "refer"}, "abstain is 'refer' and there is no confidence.*index of loss"),
        ({"abstain": "refer", "loss": 1 - np.eye(3)}, "abstain is 'refer' and there is no confidence"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_rules_that_cannot_be_are_refused(posteriors, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        posteriors["exact"].predict([[0.0, 0.0]], **options)


def test_estimators_decide_through_their_posterior(flowers, posteriors):
    X, y = flowers
    fitted = estimators.NaiveBayesClassifier(nb.Gaussian(), feature_weights=None).fit(X, y)
    loss = np.array([[0, 1, 9], [2, 0, 1], [1, 5, 0]])
    assert fitted.posterior_.predict(X, loss=loss).tolist() == posteriors["exact"].predict(X, loss=loss).tolist()
    assert fitted.posterior_.predict(X).tolist() == fitted.predict(X).tolist()
    for name in [name for name in estimators.__all__ if name[0].isupper()]:
        assert list(inspect.signature(getattr(estimators, name).predict).parameters) == ["self", "X"]


def _standard_errors(proba):
    """Of the estimates of `uncertainty` from independent draws, shape (draws, classes), by the delta method."""
    mean = proba.mean(axis=0)
    entropy = entr(proba).sum(axis=1)
    surprise = -(proba * np.log(mean)).sum(axis=1)
    spread = {"total": surprise, "aleatoric": entropy, "epistemic": surprise - entropy}
    return {name: values.std() / np.sqrt(len(proba)) for name, values in spread.items()}


def _assert_estimates(posterior, row, truth, *, num_draws=5000, key=0):
    found = posterior.uncertainty(row, num_draws=num_draws, key=key).iloc[0]
    errors = _standard_errors(posterior.proba_draws(row, num_draws=num_draws, key=key).reshape(4 * num_draws, -1))
    for name, value in truth.items():
        assert abs(found[name] - value) < SIGMAS * errors[name], name
        assert errors[name] < 0.02 * truth["total"]


def test_uncertainty_of_a_label_without_features_is_that_of_a_dirichlet():
    """Mean entropy of a Dirichlet(a) with sum A: digamma(A + 1) - sum a/A digamma(a + 1)."""
    posterior = nb.fit(
        nb.NaiveBayes(nb.Bernoulli(), class_concentration=0.5), [[1]] * 6, ["a", "b", "b", "c", "c", "c"]
    )
    a = np.array([1.5, 2.5, 3.5])
    mean = a / a.sum()
    total, aleatoric = entr(mean).sum(), digamma(a.sum() + 1) - mean @ digamma(a + 1)
    _assert_estimates(posterior, [[np.nan]], {"total": total, "aleatoric": aleatoric, "epistemic": total - aleatoric})


def test_uncertainty_of_one_feature_and_unknown_class_probabilities_by_quadrature():
    X, y = [[1], [1], [0], [1], [0]], [0, 0, 0, 1, 1]
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), X, y)

    def rule(a, b):
        """Gauss-Jacobi nodes and weights for a Beta(a, b)."""
        nodes, weights = roots_jacobi(60, b - 1, a - 1)
        return (nodes + 1) / 2, weights / weights.sum()

    grids = [rule(4, 3), rule(3, 2), rule(2, 2)]
    pi, p, q = np.meshgrid(*[nodes for nodes, _ in grids], indexing="ij")
    weight = np.einsum("i,j,k->ijk", *[weights for _, weights in grids])
    share = pi * p / (pi * p + (1 - pi) * q)
    mean = (weight * share).sum()
    total = entr(mean) + entr(1 - mean)
    aleatoric = (weight * (entr(share) + entr(1 - share))).sum()
    _assert_estimates(posterior, [[1]], {"total": total, "aleatoric": aleatoric, "epistemic": total - aleatoric})


def test_the_parts_do_not_depend_on_the_pieces(posteriors, flowers, monkeypatch):
    X, _ = flowers
    at_once = posteriors["exact"].uncertainty(X, num_draws=50)
    monkeypatch.setattr("bayesnb.posterior.under_draws.DRAW_BYTES", 1)
    monkeypatch.setattr("bayesnb.data.tables.Table.chunk_cells", 16)
    pd.testing.assert_frame_equal(posteriors["exact"].uncertainty(X, num_draws=50), at_once, rtol=1e-12)
