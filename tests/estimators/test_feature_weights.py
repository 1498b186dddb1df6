"""Estimators that learn weights of features beside `weight_features`."""

import dask.array as dask_array
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone

import bayesnb as nb
from bayesnb.estimators import NaiveBayesClassifier


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    y = np.array(["ash", "fir"])[rng.integers(0, 2, 60)]
    height = rng.normal(1.0, 1.0, 60) + (y == "fir")
    X = pd.DataFrame({"height": height, "again": height, "moss": rng.integers(0, 2, 60).astype(float)})
    X.loc[3, "moss"] = np.nan
    return X, y


MODEL = nb.NaiveBayes({"height": nb.Gaussian(), "again": nb.Gaussian(), "moss": nb.Bernoulli()})


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", ["each", "shared"])
def test_is_weight_features_of_the_fit(data, kind, weighted):
    X, y = data
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 60) if weighted else None
    estimator = NaiveBayesClassifier(MODEL, feature_weights=kind, random_state=0).fit(X, y, sample_weight=weights)
    posterior = nb.fit(MODEL, X, y, sample_weight=weights)
    expected = nb.weight_features(posterior, X, y, shared=kind == "shared", sample_weight=weights)
    found = estimator.posterior_
    assert isinstance(found, nb.results.WeightedPosterior)
    np.testing.assert_allclose(found.feature_weights.weight, expected.feature_weights.weight, atol=0.02)
    np.testing.assert_allclose(estimator.predict_proba(X), expected.predict_proba(X), atol=0.01)
    assert found.feature_weights.shared == (kind == "shared")
    assert (estimator.predict(X) == found.predict(X)).all()
    np.testing.assert_array_equal(estimator.class_count_, posterior.problem.statistics.classes.n)
    plain = NaiveBayesClassifier(MODEL, feature_weights=None).fit(X, y)
    assert np.abs(plain.predict_proba(X) - estimator.predict_proba(X)).max() > 0.05


def test_the_random_state_draws(data):
    X, y = data
    one, same, other = (
        NaiveBayesClassifier(MODEL, feature_weights="each", random_state=seed).fit(X, y).posterior_
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.feature_weights.weight_draws, same.feature_weights.weight_draws)
    assert (one.feature_weights.weight_draws != other.feature_weights.weight_draws).any()


def test_families_may_be_chosen_and_features_averaged(data):
    X, y = data
    chosen = NaiveBayesClassifier(feature_weights="each").fit(X, y)
    assert isinstance(chosen.posterior_.unweighted, nb.results.ExactPosterior)
    averaged = NaiveBayesClassifier(MODEL, feature_weights="shared", feature_inclusion=0.5).fit(X, y)
    assert isinstance(averaged.posterior_.unweighted, nb.results.AveragedPosterior)


def test_weights_are_the_default(data):
    X, y = data
    found, asked = (NaiveBayesClassifier(MODEL, **options).fit(X, y) for options in ({}, {"feature_weights": "each"}))
    np.testing.assert_array_equal(found.predict_proba(X), asked.predict_proba(X))
    pd.testing.assert_frame_equal(found.weights_, asked.posterior_.weights)


CODES = np.arange(60) % 3 // 2
WIDE = np.random.default_rng(0).integers(0, 2, (120, 151)).astype(float)
WITHOUT_WEIGHTS = {
    "unlabelled rows": ({"unlabelled": -1, "inference": nb.EM()}, {"y": np.r_[[-1], CODES[1:]]}),
    "plug-in": ({"predictive": "plugin"}, {}),
    "point": ({"inference": "map"}, {}),
    "average of weighted rows": ({"feature_inclusion": 0.5}, {"sample_weight": np.full(60, 2.0)}),
    "one class": ({}, {"y": np.repeat("fir", 60)}),
}


@pytest.mark.filterwarnings("ignore:y has one class")
@pytest.mark.parametrize("case", WITHOUT_WEIGHTS)
def test_the_default_is_plain_where_no_weights_can_be_learned(data, case):
    options, changes = WITHOUT_WEIGHTS[case]
    estimator, rows = NaiveBayesClassifier(**{"model": MODEL} | options), dict(zip("Xy", data, strict=True)) | changes
    fitted = estimator.fit(**rows)
    assert not isinstance(fitted.posterior_, nb.results.WeightedPosterior)
    expected = clone(estimator).set_params(feature_weights=None).fit(**rows)
    np.testing.assert_array_equal(fitted.predict_proba(rows["X"]), expected.predict_proba(rows["X"]))
    assert not hasattr(fitted, "weights_")


TELLS = {"nothing": (0, 0.5, None), "some columns": (6, 0.85, 0.01), "every column": (151, 0.6, 1.0)}
"""Columns that tell the class, with which probability, and the prior inclusion that the classifier takes."""


@pytest.fixture
def limit(monkeypatch):
    monkeypatch.setattr("bayesnb.selection.weighing.MOST_FEATURES", 150)


def wide(tells):
    """Rows of columns of which some are the class with a probability."""
    rng, (number, prob, _) = np.random.default_rng(1), TELLS[tells]
    y, X = rng.integers(0, 2, 120), WIDE.copy()
    X[:, :number] = (rng.random((120, number)) < prob) == y[:, None]
    return X, y


ENTRIES = {
    "array": lambda X, y: NaiveBayesClassifier(nb.Bernoulli()).fit(X, y),
    "sparse": lambda X, y: NaiveBayesClassifier(nb.Bernoulli()).fit(scipy.sparse.csr_array(X), y),
    "batch": lambda X, y: NaiveBayesClassifier(nb.Bernoulli()).partial_fit(X, y, classes=[0, 1]),
    "dask": lambda X, y: NaiveBayesClassifier(nb.Bernoulli()).fit(
        dask_array.from_array(X, chunks=(40, -1)), dask_array.from_array(y, chunks=40)
    ),
}


@pytest.mark.usefixtures("limit")
@pytest.mark.parametrize(
    ("tells", "entry"), [*((tells, "array") for tells in TELLS), *(("nothing", e) for e in [*ENTRIES][1:])]
)
def test_many_features_share_the_weight_that_explains_the_labels_best(tells, entry):
    """The choice by scores of labels that are left out; the predictions by `weight_features` of what was chosen."""
    X, y = wide(tells)
    fit, new = X[:60], X[60:]
    with pytest.warns(UserWarning, match="151 features are more than the 150") as told:
        found = ENTRIES[entry](fit, y[:60])
    posterior = nb.fit(nb.Bernoulli(), fit, y[:60])
    candidates = {p: posterior if p == 1.0 else posterior.averaged(p) for p in (1.0, 0.5, 0.1, 0.01)}
    shared = {p: nb.weight_features(each, fit, y[:60], shared=True) for p, each in candidates.items()}
    with pytest.warns(UserWarning, match="weights of features were learned"):
        scores = {p: nb.loo(each, fit, y[:60]).elpd for p, each in shared.items()}
    taken = found.model_.description.feature_inclusion or 1.0
    assert taken == TELLS[tells][2] or tells == "nothing"
    assert scores[taken] > max(scores.values()) - 1.0
    np.testing.assert_allclose(found.predict_proba(new), shared[taken].predict_proba(new), atol=0.02)
    assert f"feature_inclusion={taken:g}" in str(told[0].message) or taken == 1.0
    losses = -found.predict_log_proba(new)[np.arange(60), y[60:]]
    assert losses.mean() < (0.75 if tells == "nothing" else 0.4)


@pytest.mark.usefixtures("limit")
def test_an_average_that_was_chosen_stays_when_rows_come_and_go():
    X, y = wide("some columns")
    with pytest.warns(UserWarning, match="feature_inclusion=0.01"):
        found = NaiveBayesClassifier(nb.Bernoulli(), keep_rows=0).partial_fit(X[:60], y[:60], classes=[0, 1])
    found.partial_fit(X[60:90], y[60:90]).forget(X[:10], y[:10])
    expected = nb.fit(nb.NaiveBayes(nb.Bernoulli(), feature_inclusion=0.01), X[10:90], y[10:90])
    np.testing.assert_allclose(found.posterior_.plain.predict_proba(X), expected.predict_proba(X), rtol=1e-9)


@pytest.mark.usefixtures("limit")
def test_many_features_with_weighted_rows_share_a_weight_without_an_average():
    X, y = wide("every column")
    weights = np.where(y, 2.0, 1.0)
    with pytest.warns(UserWarning, match="all share the weight [^ ]+, which"):
        found = NaiveBayesClassifier(nb.Bernoulli()).fit(X, y, weights).predict_proba(X)
    expected = nb.weight_features(nb.Bernoulli(), X, y, shared=True, sample_weight=weights)
    np.testing.assert_allclose(found, expected.predict_proba(X), rtol=1e-6)


def test_as_many_features_as_allowed_have_weights(data, monkeypatch):
    monkeypatch.setattr("bayesnb.selection.weighing.MOST_FEATURES", data[0].shape[1])
    assert hasattr(NaiveBayesClassifier(MODEL).fit(*data), "weights_")


def test_the_default_hides_no_other_error(data, monkeypatch):
    def broken(*args, **options):
        raise ValueError("a defect")

    monkeypatch.setattr("bayesnb.selection.weighing.approximate", broken)
    with pytest.raises(ValueError, match="a defect"):
        NaiveBayesClassifier(nb.Gaussian()).fit(*data)


def test_rows_of_weight_zero_cost_no_warning(data):
    X, y = data
    weights = np.where(np.arange(60) < 6, 0.0, 1.0)
    tree = pd.Series(np.where(weights > 0, "old", "new"))
    found = NaiveBayesClassifier().fit(X.assign(tree=tree), y, weights)
    assert isinstance(found.posterior_, nb.results.WeightedPosterior)


@pytest.mark.parametrize("sizes", [[30, 20, 10], [1] * 6], ids=str)
@pytest.mark.filterwarnings("ignore:the rows have no label")
def test_batches_update_the_posterior_and_its_weights(data, sizes):
    X, y = data
    first, start = sizes[0], sum(sizes)
    estimator = NaiveBayesClassifier(MODEL, keep_rows=0)
    estimator.partial_fit(X[:first], y[:first], classes=["ash", "fir"])
    plain = nb.fit(MODEL, X[:first], y[:first], classes=["ash", "fir"])
    posterior = nb.weight_features(plain, X[:first], y[:first])
    for end, size in zip(np.cumsum(sizes)[1:], sizes[1:], strict=True):
        rows = X[end - size : end], y[end - size : end]
        estimator.partial_fit(*rows)
        posterior = posterior.update(*rows)
    np.testing.assert_allclose(estimator.predict_proba(X), posterior.predict_proba(X), rtol=1e-9)
    assert estimator.posterior_.feature_weights.num_rows == start
    weights = estimator.weights_
    estimator.forget(X[:1], y[:1])
    pd.testing.assert_frame_equal(estimator.weights_, weights)
    assert estimator.posterior_.log_evidence == pytest.approx(nb.fit(MODEL, X[1:start], y[1:start]).log_evidence)


@pytest.mark.parametrize(
    ("options", "labels", "message"),
    [
        ({"feature_weights": "all"}, None, r'feature_weights=\'all\': give "auto", "each", "shared" or None'),
        ({"feature_weights": "each", "predictive": "plugin"}, None, r'use predictive="exact"'),
        ({"feature_weights": "each", "inference": "map"}, None, "weight_features needs .* and this is a point"),
        ({"feature_weights": "shared", "inference": "mle"}, None, "weight_features needs .* and this is a point"),
        ({"feature_weights": "each", "unlabelled": "?"}, ["?"] * 5 + ["ash", "fir"] * 27 + ["fir"], "5 rows have none"),
        ({"feature_weights": "each"}, ["ash"] * 60, "one class only, 'ash'"),
    ],
)
def test_what_weights_cannot_go_with(data, options, labels, message):
    estimator = NaiveBayesClassifier(MODEL, **options)
    with pytest.raises(ValueError, match=message):
        estimator.fit(data[0], data[1] if labels is None else labels)
    assert not hasattr(estimator, "posterior_")
