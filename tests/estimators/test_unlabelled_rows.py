"""Rows without a label in estimators."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import bayesnb as nb
from bayesnb import estimators
from bayesnb.estimators import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayesClassifier, PoissonNB

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 3, 60)
X = RNG.poisson(np.array([[1, 4, 2, 0.5], [3, 1, 2, 0.5], [2, 2, 0.3, 3]])[TRUTH]).astype(float)
KNOWN = np.arange(60) < 24
Y = np.where(KNOWN, TRUTH, -1)
AS_OTHERS = {
    "-1": (Y, -1),
    "NaN": (np.where(KNOWN, TRUTH, np.nan), np.nan),
    "None": ([int(label) if known else None for label, known in zip(TRUTH, KNOWN, strict=True)], np.nan),
    "NA": (pd.Series(TRUTH, dtype="Int64").where(KNOWN), pd.NA),
    "text": (np.where(KNOWN, TRUTH.astype(str), "unknown"), "unknown"),
    "text and -1": (np.where(KNOWN, TRUTH.astype(str).astype(object), -1), -1),
}
FAMILIES = [
    (BernoulliNB, nb.Bernoulli(1.0, 1.0), "empirical"),
    (MultinomialNB, nb.Multinomial(), "empirical"),
    (PoissonNB, nb.Poisson(), "empirical"),
    (GaussianNB, nb.Gaussian(), "empirical"),
    (NaiveBayesClassifier, nb.Gaussian(), None),
]


@pytest.mark.parametrize("given", AS_OTHERS)
def test_any_mark_of_a_missing_label_gives_one_fit(given):
    y, unlabelled = AS_OTHERS[given]
    expected = nb.fit(nb.Poisson(), X, np.where(KNOWN, TRUTH, np.nan), nb.MAP())
    fitted = NaiveBayesClassifier(nb.Poisson(), inference="map", unlabelled=unlabelled).fit(X, y)
    assert len(fitted.posterior_.problem.unlabelled) == 36
    assert [int(label) for label in fitted.classes_] == [0, 1, 2]
    np.testing.assert_allclose(fitted.predict_proba(X), expected.predict_proba(X), rtol=1e-12)
    assert set(fitted.predict(X)) <= set(fitted.classes_)
    assert fitted.class_count_.sum() == 24


@pytest.mark.parametrize("inference", ["map", pytest.param(nb.Gibbs(5, 25, 2), marks=pytest.mark.slow)])
@pytest.mark.parametrize(("estimator", "family", "class_probs"), FAMILIES)
@pytest.mark.filterwarnings("ignore:Gibbs")
def test_every_estimator_uses_the_rows(estimator, family, class_probs, inference):
    arguments = {"model": family} if estimator is NaiveBayesClassifier else {}
    fitted = estimator(**arguments, inference=inference, unlabelled=-1).fit(X, Y)
    cells = (X > 0).astype(float) if estimator is BernoulliNB else X
    expected = nb.fit(nb.NaiveBayes(family, class_probs=class_probs), cells, np.where(KNOWN, TRUTH, np.nan), inference)
    np.testing.assert_allclose(fitted.predict_proba(X), expected.predict_proba(cells), rtol=1e-10)
    without = estimator(**arguments, inference=inference).fit(X[KNOWN], TRUTH[KNOWN])
    assert np.abs(without.predict_proba(X) - fitted.predict_proba(X)).max() > 0.01


@pytest.mark.filterwarnings("ignore:another family may suit")
@pytest.mark.parametrize("estimator", [getattr(estimators, name) for name in estimators.__all__ if name[0].isupper()])
def test_without_unlabelled_nothing_changes(estimator):
    fitted = estimator(unlabelled=-1).fit(X, TRUTH)
    np.testing.assert_array_equal(fitted.predict_proba(X), estimator().fit(X, TRUTH).predict_proba(X))
    assert fitted.classes_.dtype == TRUTH.dtype
    with pytest.raises(ValueError, match="Input y contains NaN"):
        estimator().fit(X, np.where(KNOWN, TRUTH, np.nan))
    assert estimator().fit(X, Y).classes_.tolist() == [-1, 0, 1, 2]


def test_in_a_pipeline_with_weights_and_clones():
    weights = RNG.integers(1, 3, 60).astype(float)
    pipeline = make_pipeline(FunctionTransformer(), PoissonNB(inference="map", unlabelled=-1))
    fitted = clone(pipeline).fit(X, Y, poissonnb__sample_weight=weights)
    model = nb.NaiveBayes(nb.Poisson(), class_probs="empirical")
    expected = nb.fit(model, X, np.where(KNOWN, TRUTH, np.nan), nb.MAP(), sample_weight=weights)
    np.testing.assert_allclose(fitted.predict_proba(X), expected.predict_proba(X), rtol=1e-10)
    assert np.isnan(clone(PoissonNB(unlabelled=np.nan)).unlabelled)


def test_categories_of_rows_without_a_label_are_known():
    cells = np.array([["red"], ["blue"], ["red"], ["green"]], dtype=object)
    fitted = CategoricalNB(inference="map", unlabelled=-1).fit(cells, [0, 1, 0, -1])
    assert fitted.categories_[0].tolist() == ["blue", "green", "red"]
    np.testing.assert_array_equal(fitted.category_count_[0], [[0, 0, 2], [1, 0, 0]])


PLAIN, POINT = PoissonNB(unlabelled=-1), PoissonNB(unlabelled=-1, inference="map")
TEXT = "y holds the text '-1', which NumPy makes of -1 in a list of texts: give an array of dtype object"


@pytest.mark.parametrize(
    ("estimator", "act", "message"),
    [
        (PLAIN, lambda made: made.fit(X, Y), "36 rows have none"),
        (PLAIN, lambda made: made.fit(X, np.full(60, -1)), "y has no label: every value is -1"),
        (PLAIN, lambda made: made.fit(X, ["a", "b", -1] * 20), TEXT),
        (
            PLAIN,
            lambda made: made.partial_fit(X, Y, classes=[0, 1, 2]),
            "row 24 has none (-1): leave such rows out",
        ),
        (PLAIN, lambda made: made.partial_fit(X, TRUTH, classes=[-1, 0, 1, 2]), "classes holds -1, which marks rows"),
        (
            POINT,
            lambda made: made.fit(X, Y).partial_fit(X[:3], TRUTH[:3]),
            "partial_fit needs every label, and 36",
        ),
        (POINT, lambda made: made.fit(X, Y).forget(X[:3], TRUTH[:3]), "forget needs every label, and 36 rows"),
        (POINT, lambda made: made.set_params(feature_inclusion=0.5).fit(X, Y), "feature_inclusion"),
        (
            GaussianNB(unlabelled=-1, inference="map", var_smoothing=1.1e-9),
            lambda made: made.fit(X, Y),
            "var_smoothing above 1e-9 needs every label, and 36 rows have none",
        ),
    ],
)
def test_what_is_refused(estimator, act, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        act(clone(estimator))
