"""Given class probabilities where weights of features are learned: the odds of the rows times given / rows."""

import numpy as np
import pandas as pd
import pytest

import bayesnb as nb

CLASSES = ["a", "b", "c"]
GIVEN = {"a": 0.7, "b": 0.05, "c": 0.25}
ROWS = 60


@pytest.fixture(scope="module")
def table():
    """A sample in which the classes are about equally frequent, two columns that are nearly equal, and weights."""
    rng = np.random.default_rng(11)
    codes = rng.integers(0, 3, ROWS)
    size = codes + rng.normal(size=ROWS)
    X = pd.DataFrame({"size": size, "again": size + 0.1 * rng.normal(size=ROWS), "other": rng.normal(size=ROWS)})
    X["colour"] = np.where(rng.uniform(size=ROWS) < 0.3 * codes, "red", "blue")
    X.loc[[3, 8], "other"] = None
    return X, np.array(CLASSES)[codes], rng.integers(1, 4, ROWS).astype(float)


def described(given):
    features = {"size": nb.Gaussian(), "again": nb.Gaussian(), "other": nb.Gaussian(), "colour": nb.Categorical()}
    return nb.NaiveBayes(features, class_probs=given)


def weighted(table, given, weight=None, **options):
    X, y, _ = table
    posterior = nb.fit(described(given), X, y, sample_weight=weight)
    return nb.weight_features(posterior, X, y, sample_weight=weight, **options)


def in_batches(table, given):
    X, y, _ = table
    classifier = nb.NaiveBayesClassifier(described(None), class_probs=given)
    for rows in (slice(0, 30), slice(30, None)):
        classifier.partial_fit(X[rows], y[rows], classes=CLASSES)
    return classifier.posterior_


def averaged(table, given):
    X, y, _ = table
    model = described(given).with_feature_inclusion(0.6)
    return nb.weight_features(nb.fit(model, X, y), X, y)


WAYS = {
    "each": weighted,
    "shared": lambda table, given: weighted(table, given, shared=True),
    "rows with weights": lambda table, given: weighted(table, given, table[2]),
    "averaged over features": averaged,
    "after an update": lambda table, given: weighted(table, given).update(table[0][:9], table[1][:9]),
    "after forget": lambda table, given: weighted(table, given).forget(table[0][:9], table[1][:9]),
    "of a bound model": lambda table, given: nb.weight_features(
        nb.fit(described(given).bind(*table[:2]), *table[:2]), *table[:2]
    ),
    "an estimator with a model": lambda table, given: (
        nb.NaiveBayesClassifier(described(given)).fit(*table[:2]).posterior_
    ),
    "an estimator": lambda table, given: nb.NaiveBayesClassifier(class_probs=given).fit(*table[:2]).posterior_,
    "an estimator, shared": lambda table, given: (
        nb.NaiveBayesClassifier(class_probs=given, feature_weights="shared").fit(*table[:2]).posterior_
    ),
    "batches": in_batches,
}


def corrected(proba, given, frequency):
    """Class probabilities whose odds are multiplied by given / frequency."""
    odds = proba * np.array([given[label] for label in CLASSES]) / frequency
    return odds / odds.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("way", WAYS)
def test_the_odds_of_the_rows_are_multiplied_by_given_over_rows(table, way):
    X, _, _ = table
    of_rows, found = WAYS[way](table, None), WAYS[way](table, GIVEN)
    counts = of_rows.problem.statistics.classes.n
    frequency = (counts + 1.0) / (counts.sum() + 3.0)
    np.testing.assert_allclose(found.weights, of_rows.weights, rtol=1e-7)
    expected = corrected(of_rows.predict_proba(X), GIVEN, frequency)
    np.testing.assert_allclose(found.predict_proba(X), expected, rtol=1e-7)
    np.testing.assert_allclose(found.class_probs(), list(GIVEN.values()), rtol=1e-12)
    np.testing.assert_allclose(
        found.unweighted.predict_proba(X), corrected(of_rows.unweighted.predict_proba(X), GIVEN, frequency), rtol=1e-7
    )


@pytest.mark.parametrize("shared", [False, True], ids=["each", "shared"])
def test_explain_begins_with_the_given_odds_and_adds_up(table, shared):
    X = table[0]
    found, of_rows = (weighted(table, given, shared=shared) for given in (GIVEN, None))
    parts, before = found.explain(X.iloc[[5]], "a", "b"), of_rows.explain(X.iloc[[5]], "a", "b")
    assert parts.loc["before any cell"].tolist() == pytest.approx([np.log(0.7 / 0.05)] * 3)
    between = slice("size", "colour")
    np.testing.assert_allclose(parts.loc[between, "log_odds"], before.loc[between, "log_odds"], rtol=1e-7)
    proba = found.predict_proba(X.iloc[[5]])[0]
    assert parts["log_odds"].sum() == pytest.approx(np.log(proba[0] / proba[1]))
    assert "offsets of the classes" in repr(parts)
    assert "offsets of the classes" not in repr(before)


def test_labels_left_out_are_predicted_under_the_given_probabilities(table, recwarn):
    """The second way fits the other rows."""
    X, y, _ = table
    found = weighted(table, GIVEN)
    recwarn.clear()
    with pytest.warns(UserWarning, match="are kept"):
        left_out = nb.loo(found, X, y).elpd_i.to_numpy()
    for row in range(4):
        rest = np.arange(ROWS) != row
        other = nb.fit(described(GIVEN), X[rest], y[rest])
        again = nb.results.WeightedPosterior(other, found.feature_weights)
        expected = again.predict_log_proba(X.iloc[[row]])[0, CLASSES.index(y[row])]
        assert left_out[row] == pytest.approx(expected, rel=1e-8)


def test_intervals_files_and_jax_have_the_given_probabilities(table, tmp_path):
    X, y, _ = table
    classifier = nb.NaiveBayesClassifier(described(None), class_probs=GIVEN).fit(X, y)
    found = classifier.posterior_
    interval = found.proba_interval(X[:5])
    proba = found.predict_proba(X[:5])
    assert ((interval[..., 0] <= proba) & (proba <= interval[..., 1])).all()
    empty = X[:1].assign(size=np.nan, again=np.nan, other=np.nan, colour=None)
    draws = found.proba_draws(empty, num_draws=500, key=0).mean(axis=(0, 1))
    np.testing.assert_allclose(draws, found.predict_proba(empty), atol=0.05)
    classifier.save(tmp_path / "given.nc")
    loaded = nb.load(tmp_path / "given.nc")
    np.testing.assert_array_equal(loaded.predict_proba(X), classifier.predict_proba(X))
    assert loaded.class_probs == GIVEN


@pytest.mark.parametrize("shared", [False, True], ids=["each", "shared"])
def test_a_class_of_probability_zero_teaches_weights_and_is_never_predicted(table, shared):
    X = table[0]
    never = weighted(table, {"a": 0.6, "b": 0.4, "c": 0.0}, shared=shared)
    np.testing.assert_allclose(never.weights, weighted(table, None, shared=shared).weights, rtol=1e-6)
    proba = never.predict_proba(X)
    assert (proba[:, 2] == 0).all()
    assert np.isfinite(proba).all()


def test_frequencies_as_probabilities_are_not_corrected(table):
    X = table[0]
    found = weighted(table, "empirical")
    counts = found.problem.statistics.classes.n
    np.testing.assert_allclose(found.unweighted.class_probs(), counts / ROWS)
    np.testing.assert_allclose(
        found.predict_proba(X[:2]).argmax(axis=1), weighted(table, None).predict_proba(X[:2]).argmax(axis=1)
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"a": 0.5, "b": 0.5}, r"class_probs names \['a', 'b'\], the classes are"),
        ([0.5, 0.5], "2 entries, there are 3 classes"),
        ([0.5, 0.5, 0.5], "sum to 1.5"),
        ("frequent", 'or "empirical"'),
    ],
    ids=str,
)
def test_wrong_probabilities_of_an_estimator_are_errors(table, given, words):
    with pytest.raises(ValueError, match=words):
        nb.NaiveBayesClassifier(class_probs=given).fit(*table[:2])
