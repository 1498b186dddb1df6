"""Estimators as scikit-learn's users meet them."""

import contextlib
import copy
import os
import pickle
import re
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from unittest import SkipTest

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import scipy.special
import scipy.stats
import sklearn
import sklearn.naive_bayes
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import bayesnb as nb
from bayesnb import estimators
from bayesnb.estimators import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayesClassifier, PoissonNB
from bayesnb.estimators import checked_input as read
from bayesnb.estimators import one_family as categorical

ESTIMATORS = [getattr(estimators, name) for name in estimators.__all__ if name[0].isupper()]

PLAIN = [each for each in ESTIMATORS if each is not NaiveBayesClassifier]
PLAIN.append(partial(NaiveBayesClassifier, nb.Poisson(), feature_weights=None))
"""The estimators, the general one without weights of features."""

REPEATED_ROWS = {f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")}
"""scikit-learn's checks that a row of weight two is two rows, which is not so where weights of features are learned."""

PRIVATE = {"test_gnb_check_update_with_no_data"}
"""scikit-learn's tests that call a private method."""

PLUG_IN_ONLY = {
    "test_gnb_priors": "the probabilities of two Gaussians known exactly, from three points each",
    "test_alpha_vector": "the product of the words' probabilities for a document of two words",
}
"""scikit-learn's tests that assert plug-in numbers, and what the numbers are."""


@pytest.fixture
def counts(rng):
    y = np.repeat(["a", "b", "c"], 15)
    X = rng.poisson(np.repeat([[1, 4, 2, 0.5], [3, 1, 2, 0.5], [2, 2, 0.3, 3]], 15, axis=0))
    return X, y


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(each(), marks=[] if each in (GaussianNB, NaiveBayesClassifier) else pytest.mark.slow)
        for each in ESTIMATORS
    ]
    + [pytest.param(NaiveBayesClassifier(feature_weights=None), marks=pytest.mark.slow)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_scikit_learns_checks_pass(estimator):
    # A row of weight two is left out whole; of two equal rows, one stays when the other one is left out.
    untrue = dict.fromkeys(
        REPEATED_ROWS if getattr(estimator, "feature_weights", None) else (), "learned from the rows"
    )
    number = 0
    for each, check in estimator_checks_generator(estimator, expected_failed_checks=untrue, mark="skip"):
        with contextlib.suppress(SkipTest):
            check(each)
        number += 1
    assert number > 55


def test_priors_of_gaussian_columns():
    X, y = [[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1]
    fitted = GaussianNB(priors=[0.3, 0.700003]).fit(X, y)
    np.testing.assert_allclose(fitted.class_prior_, np.array([0.3, 0.700003]) / 1.000003, rtol=1e-14)
    np.testing.assert_array_equal(GaussianNB(priors=[0.0, 1.0]).fit(X, y).predict(X), [1, 1, 1, 1])


def test_smoothing_adds_to_the_variance_of_every_class(rng):
    """The predictive density is Murphy's (2007, section 3.5), its sum of squares that of the blurred cells."""
    X, y = rng.normal(0.0, [1.0, 3.0], (20, 2)), np.arange(20) % 3 // 2
    fitted = GaussianNB(var_smoothing=0.2, prior=nb.Gaussian(0.0, 1.0, 2.0, 1.0)).fit(X, y)
    joint = []
    for c in (0, 1):
        own = X[y == c]
        n, kappa, a = len(own), len(own) + 1, 2 + len(own) / 2
        b = 1 + 0.5 * n * (own.var(axis=0) + 0.2 * X.var(axis=0).max()) + 0.5 * n / kappa * own.mean(axis=0) ** 2
        density = scipy.stats.t.logpdf(X, 2 * a, n * own.mean(axis=0) / kappa, np.sqrt(b * (kappa + 1) / (a * kappa)))
        joint.append(density.sum(axis=1) + np.log(n))
    np.testing.assert_allclose(fitted.predict_proba(X), scipy.special.softmax(joint, axis=0).T, rtol=1e-9)


def test_a_class_without_cells_or_without_spread_takes_those_of_all_classes():
    X = np.array([[0.0, 1.0], [0.1, 2.0], [0.3, 4.0], [0.2, np.nan]])
    fitted = GaussianNB(predictive="plugin", var_smoothing=0.0).fit(X, ["a", "a", "a", "b"])
    mean, variance = np.nanmean(X, axis=0), np.nanvar(X, axis=0)
    a = scipy.stats.norm.pdf([0.2, 3.0], X[:3].mean(axis=0), X[:3].std(axis=0)).prod() * 0.75
    b = scipy.stats.norm.pdf([0.2, 3.0], [0.2, mean[1]], np.sqrt(variance)).prod() * 0.25
    np.testing.assert_allclose(fitted.predict_proba([[0.2, 3.0]]), [[a / (a + b), b / (a + b)]], rtol=1e-10)


def test_cells_at_the_threshold_are_zeros_in_sparse_rows_too():
    X, y = np.array([[0.5, 0.0], [0.7, 0.5], [0.0, 0.9], [0.5, 0.6]]), [0, 1, 0, 1]
    fitted = BernoulliNB(binarize=0.5).fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_array_equal(fitted.feature_count_, [[0, 1], [1, 1]])


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("binarize", [None, 0.0, 0.5, 1.0, 1.5])
def test_booleans_are_zeros_and_ones_for_any_threshold(form, binarize, rng):
    X, y = rng.random((30, 3)) < 0.4, np.arange(30) % 2
    fitted = BernoulliNB(binarize=binarize).fit(form(X), y)
    ones = X if binarize is None else binarize < X
    np.testing.assert_array_equal(fitted.feature_count_, [ones[y == c].sum(axis=0) for c in (0, 1)])
    if binarize is None:
        np.testing.assert_array_equal(BernoulliNB(binarize=None).fit(X * 1.0, y).feature_count_, fitted.feature_count_)
        with pytest.raises(ValueError, match="row 4: 2 is not 0, 1"):
            BernoulliNB(binarize=None).fit(np.where(np.arange(30)[:, None] == 4, 2.0, X), y)


def test_columns_of_categories_and_of_numbers_predict_by_the_mean_of_the_parameters(rng):
    X = pd.DataFrame({"colour": rng.choice(["red", "blue"], 12), "size": rng.normal(size=12)})
    model = nb.NaiveBayes({"colour": nb.Categorical(), "size": nb.Gaussian()})
    plain = NaiveBayesClassifier(model, feature_weights=None)
    fitted, exact = (clone(plain).set_params(predictive=each).fit(X, np.arange(12) % 2) for each in ("plugin", "exact"))
    expected = exact.posterior_.plugin().predict_proba(X)
    np.testing.assert_allclose(fitted.predict_proba(X), expected, rtol=1e-12)
    assert np.abs(exact.predict_proba(X) - expected).max() > 1e-3


def test_labels_are_classes_and_no_quantity():
    X = np.zeros((30, 1))
    for y in (np.linspace(0, 1, 30), np.repeat([0.5, 1.25], 15)):
        with pytest.raises(ValueError, match="continuous"):
            GaussianNB().fit(X, y)
    with pytest.warns(UserWarning, match="unique classes"):
        GaussianNB().fit(X, np.arange(30))
    assert GaussianNB().fit(X, np.repeat([0.0, 1.0], 15)).classes_.tolist() == [0.0, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize(("predictive", "expected"), [("plugin", PRIVATE), ("exact", {*PLUG_IN_ONLY, *PRIVATE})])
def test_scikit_learns_own_test_file(predictive, expected, tmp_path):
    settings = tmp_path / "pytest.ini"
    settings.write_text("[pytest]\n")
    environment = os.environ | {"BAYESNB_PREDICTIVE": predictive, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "-c", str(settings), "-p", "no:cacheprovider"]
    command += ["-p", "sklearn_with_bayesnb", "--pyargs", "sklearn.tests.test_naive_bayes"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    failed = set(re.findall(r"^FAILED .*::(\w+)", result.stdout, flags=re.MULTILINE))
    passed = int(re.search(r"(\d+) passed", result.stdout).group(1))
    assert failed == expected, result.stdout[-2000:]
    assert passed >= 80


@pytest.mark.parametrize(
    ("estimator", "theirs"),
    [
        (
            BernoulliNB(alpha=0.5, binarize=1.5, fit_prior=False),
            sklearn.naive_bayes.BernoulliNB(alpha=0.5, binarize=1.5, fit_prior=False),
        ),
        (CategoricalNB(alpha=0.5, min_categories=12), sklearn.naive_bayes.CategoricalNB(alpha=0.5, min_categories=12)),
        (MultinomialNB(alpha=0.5, predictive="plugin"), sklearn.naive_bayes.MultinomialNB(alpha=0.5)),
        (GaussianNB(predictive="plugin", var_smoothing=1e-3), sklearn.naive_bayes.GaussianNB(var_smoothing=1e-3)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_numbers_and_attributes_are_scikit_learns(estimator, theirs, counts, rng, weighted):
    X, y = counts
    weight = rng.integers(1, 4, len(y)).astype(float) if weighted else None
    ours = clone(estimator).fit(X, y, sample_weight=weight)
    theirs = clone(theirs).fit(X, y, sample_weight=weight)
    if weighted and isinstance(ours, GaussianNB):
        # scikit-learn takes its epsilon from the variance of the rows without their weights.
        theirs = clone(theirs).set_params(var_smoothing=1e-12).fit(X, y, sample_weight=weight)
        ours.set_params(var_smoothing=1e-12).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    assert ours.predict(X).tolist() == theirs.predict(X).tolist()
    names = [name for name in vars(theirs) if name.endswith("_") and not name.startswith("_")]
    assert len(names) >= 6
    for name in names:
        mine, other = getattr(ours, name), getattr(theirs, name)
        for a, b in zip(mine, other, strict=True) if isinstance(other, list) else [(mine, other)]:
            np.testing.assert_allclose(a, b, atol=1e-10, err_msg=name) if np.asarray(b).dtype.kind != "U" else None


def test_an_estimator_is_its_posterior(counts):
    X, y = counts
    fitted = MultinomialNB(class_prior=[0.2, 0.3, 0.5]).fit(X, y)
    core = nb.fit(nb.NaiveBayes(nb.Multinomial(), class_probs=[0.2, 0.3, 0.5]), X, y)
    assert isinstance(fitted.posterior_, nb.results.ExactPosterior)
    np.testing.assert_array_equal(fitted.predict_proba(X), core.predict_proba(X))
    np.testing.assert_array_equal(fitted.predict_joint_log_proba(X), core.log_joint(X))
    interval = fitted.predict_interval(X[:3], prob=0.9, num_draws=200)
    assert interval.shape == (3, 3, 2)
    assert fitted.to_datatree(X, y, num_draws=50).log_likelihood["y"].shape == (4, 50, 45)
    labels = core.classes[:2]
    in_bits = fitted.explain(X[0], *labels, unit="bits")
    pd.testing.assert_frame_equal(in_bits, core.explain(X[[0]], *labels, unit="bits"))


def test_an_estimator_explains_what_it_predicts(penguins):
    X, y = penguins
    fitted = NaiveBayesClassifier(predictive="plugin").fit(X, y)
    row = X.iloc[[3]]
    found = fitted.explain(row.assign(other=1), "Adelie", "Gentoo")
    log_proba = fitted.predict_log_proba(row)[0]
    assert found["log_odds"].sum() == pytest.approx(log_proba[0] - log_proba[2], abs=1e-9)
    many = fitted.explain(X.iloc[:2], "Adelie", "Gentoo")["log_odds"].groupby("row").sum()
    log_proba = fitted.predict_log_proba(X.iloc[:2])
    np.testing.assert_allclose(many, log_proba[:, 0] - log_proba[:, 2], atol=1e-9)
    with pytest.raises(NotFittedError):
        NaiveBayesClassifier().explain(row)


@pytest.mark.parametrize(
    "make",
    [
        *PLAIN,
        lambda: GaussianNB(var_smoothing=0.1),
        lambda: GaussianNB(predictive="plugin", var_smoothing=0.1),
    ],
)
@pytest.mark.parametrize("sizes", [[1] * 45, [7, 30, 8]], ids=str)
def test_batches_of_any_size_give_one_fit(make, sizes, counts, rng):
    X, y = counts
    order = rng.permutation(len(y))
    X, y = X[order].astype(float), y[order]
    whole, parts = make().fit(X, y), make()
    start = 0
    for size in sizes:
        batch = slice(start, start + size)
        parts.partial_fit(X[batch], y[batch], classes=["a", "b", "c"])
        assert np.isfinite(parts.predict_proba(X[batch])).all()
        start += size
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-7, atol=1e-10)


def test_new_categories_extend_the_model():
    X = np.array([["red", 0], ["blue", 1]], dtype=object)
    y = ["a", "b"]
    more = np.array([["green", 3], ["red", 1]], dtype=object)
    fitted = CategoricalNB().fit(X, y).partial_fit(more, ["b", "a"])
    assert fitted.categories_[0].tolist() == ["blue", "red", "green"]
    assert fitted.n_categories_.tolist() == [3, 4]
    np.testing.assert_array_equal(fitted.category_count_[1], [[1, 1, 0, 0], [0, 1, 0, 1]])
    whole = CategoricalNB().fit(np.vstack([X, more]), [*y, "b", "a"])
    np.testing.assert_allclose(fitted.predict_proba(more), whole.predict_proba(more), rtol=1e-12)
    assert fitted.posterior_.log_evidence == pytest.approx(whole.posterior_.log_evidence)
    # Numbers of categories never shrink.
    fitted = CategoricalNB().partial_fit([[1, 2], [0, 0]], [0, 1], classes=[0, 1]).partial_fit([[0, 0]], [1])
    assert [count.shape for count in fitted.category_count_] == [(2, 2), (2, 3)]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
def test_a_refused_batch_changes_nothing(estimator, counts):
    X, y = counts
    fitted = estimator().partial_fit(X, y, classes=["a", "b", "c"])
    before, state = fitted.predict_proba(X), sorted(vars(fitted))
    wrong = np.where(np.arange(45)[:, None] == 40, np.inf, X.astype(float))
    for bad_X, bad_y, weight in (
        (X, np.where(y == "a", "stranger", y), None),
        (wrong, y, None),
        (X[:, :3], y, None),
        (X, y[:-1], None),
        (X, y, np.full(45, -1.0)),
    ):
        with pytest.raises(ValueError, match=r"."):
            fitted.partial_fit(bad_X, bad_y, sample_weight=weight)
        with pytest.raises(ValueError, match=r"."):
            fitted.fit(bad_X, bad_y[:44], sample_weight=weight)
        assert sorted(vars(fitted)) == state
        np.testing.assert_array_equal(fitted.predict_proba(X), before)
    with pytest.raises(ValueError, match=r"target label\(s\) \['stranger'\] in y do not exist"):
        fitted.partial_fit(X, np.where(y == "a", "stranger", y))
    unfitted = estimator()
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        unfitted.partial_fit(X, y, classes=["a", "b"])
    assert not any(name.endswith("_") for name in vars(unfitted))


@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.csc_matrix], ids=["csr", "csc"])
@pytest.mark.parametrize("make", PLAIN)
def test_sparse_equals_dense(make, form, counts):
    X, y = counts
    found = make().fit(form(X), y).predict_proba(form(X))
    np.testing.assert_allclose(found, make().fit(X, y).predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix], ids=["array", "sparse"])
@pytest.mark.parametrize(("value", "message"), [(-1.0, "Negative values"), (np.nan, "contains NaN")])
def test_one_bad_count_among_many_is_refused_in_scikit_learns_words(form, value, message, monkeypatch):
    monkeypatch.setattr(read, "num_threads", lambda: 2)
    X, y = np.ones((400, 400)), np.arange(400) % 2
    fitted = MultinomialNB().fit(form(X), y)
    X[-1, -1] = value
    for refused in (lambda: MultinomialNB().fit(form(X), y), lambda: fitted.predict(form(X))):
        with pytest.raises(ValueError, match=message):
            refused()


@pytest.mark.parametrize("estimator", [BernoulliNB(), MultinomialNB()])
def test_what_is_computed_when_asked_for_is_there_after_a_fit_alone(estimator, counts):
    X, y = counts
    estimator = clone(estimator)
    assert not hasattr(estimator, "feature_log_prob_")
    estimator.fit(X, y)
    estimator.feature_count_[:] = 0
    assert estimator.feature_count_.any()


@pytest.mark.parametrize("estimator", [GaussianNB(), NaiveBayesClassifier()], ids=str)
@pytest.mark.parametrize("kind", [float, int])
def test_masked_cells_and_labels_are_missing(estimator, kind, rng):
    cells, mask, y = (9 * rng.normal(size=(60, 3))).astype(kind), rng.uniform(size=(60, 3)) < 0.2, np.arange(60) % 2
    masked, holed = np.ma.masked_array(cells, mask), np.where(mask, np.nan, cells)
    found, expected = (clone(estimator).fit(X, y).predict_proba(X) for X in (masked, holed))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        clone(estimator).fit(cells, np.ma.masked_array(y, mask[:, 0]))


def test_missing_cells_are_skipped(counts, rng):
    X, y = counts
    holes = np.where(rng.uniform(size=X.shape) < 0.2, np.nan, X)
    plain = NaiveBayesClassifier(feature_weights=None)
    for estimator in (GaussianNB(), BernoulliNB(), CategoricalNB(), PoissonNB(), plain):
        fitted = estimator.fit(holes, y)
        assert np.isfinite(fitted.predict_proba(holes)).all()
        np.testing.assert_allclose(fitted.predict_proba(np.full((1, 4), np.nan))[0], [1 / 3] * 3, rtol=1e-9)
    with pytest.raises(ValueError, match="NaN"):
        MultinomialNB().fit(holes, y)


def test_strings_and_pandas_categoricals_straight_in():
    X = pd.DataFrame(
        {
            "colour": pd.Categorical(["red", "blue", None, "red"], categories=["blue", "green", "red"]),
            "shape": ["round", None, "square", "round"],
            "flag": [True, False, True, True],
        }
    )
    y = np.array(["x", "y", "y", "x"], dtype=object)
    fitted = CategoricalNB().fit(X, y)
    assert fitted.feature_names_in_.tolist() == ["colour", "shape", "flag"]
    assert fitted.categories_[0].tolist() == ["blue", "green", "red"]
    assert fitted.predict(X).tolist() == ["x", "y", "y", "x"]
    with pytest.warns(UserWarning, match="not seen in training"):
        fitted.predict(X.assign(shape="oval"))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(X[["shape", "colour", "flag"]])
    for kind, name in (("array", "0"), ("pandas", "'u'"), ("sparse", "0")):
        table = KINDS_OF_TABLE[kind](np.array([[0.0, 1.0], [2.0, 0.0], [2.5, 1.0]]))
        with pytest.warns(UserWarning, match=f"column {name}, row 2: 2.5 is not a category and is cut to a whole"):
            CategoricalNB().fit(table, [0, 1, 0])
        with pytest.raises(ValueError, match=f"Negative values in .*column {name}, row 1: -2.*OrdinalEncoder"):
            CategoricalNB().fit(KINDS_OF_TABLE[kind](np.array([[0.0, 1.0], [-2.0, 0.0]])), [0, 1])


NUMBERS_OF_CATEGORIES = {
    "codes": [0.0, 2.0],
    "halves": [1.5, 2.5],
    "halves that become one": [1.0, 1.5],
    "missing": [np.nan, 1.0],
    "negative": [-1.0, 1.0],
    "a negative half": [-0.5, 1.0],
}
KINDS_OF_TABLE = {
    "array": lambda cells: cells,
    "objects": lambda cells: cells.astype(object),
    "pandas": lambda cells: pd.DataFrame(cells, columns=["u", "v"], index=np.arange(len(cells))[::-1]),
    "nullable": lambda cells: pd.DataFrame(cells, columns=["u", "v"]).astype("Float64"),
    "polars": lambda cells: pl.DataFrame(cells, schema=["u", "v"]),
    "pyarrow": lambda cells: pa.table(list(cells.T), names=["u", "v"]),
    "sparse": scipy.sparse.csr_array,
    "sparse columns": lambda cells: pd.DataFrame(cells, columns=["u", "v"]).astype(pd.SparseDtype(float, 0.0)),
}


@pytest.mark.parametrize(
    ("estimator", "kind"),
    [(CategoricalNB, kind) for kind in [*KINDS_OF_TABLE][1:]]
    + [(each, kind) for each in (BernoulliNB, GaussianNB, MultinomialNB, PoissonNB) for kind in ("pandas", "sparse")],
)
@pytest.mark.parametrize("cells", NUMBERS_OF_CATEGORIES)
def test_the_same_cells_mean_the_same_in_every_kind_of_table(estimator, kind, cells):
    numbers = np.column_stack([np.tile(NUMBERS_OF_CATEGORIES[cells], 10), np.arange(20) % 3])
    y = np.array(["a", "b"] * 9 + ["b", "a"])

    def told_of(X):
        """The probabilities and the number of warnings; or the error."""
        with warnings.catch_warnings(record=True, action="always") as caught:
            try:
                found = estimator().fit(X, y)
                return found.partial_fit(X, y).predict_proba(X), len(caught)
            except ValueError as error:
                return str(error)[:20], len(caught)

    expected, found = told_of(numbers), told_of(KINDS_OF_TABLE[kind](numbers))
    assert type(found[0]) is type(expected[0])
    if isinstance(expected[0], str):
        assert found == expected
    else:
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        assert found[1] == expected[1]


def test_weights_that_were_not_learned(penguins):
    X, y = penguins
    for weighing in (None, "auto"):
        fitted = NaiveBayesClassifier(inference="map", feature_weights=weighing).fit(X, y)
        with pytest.raises(AttributeError, match=rf"with feature_weights={weighing!r}: give \"each\", which says why"):
            fitted.weights_.plot()


def test_the_general_classifier_doubts_its_choice_as_from_frame_does(penguins):
    X, y = penguins
    with pytest.warns(UserWarning, match=r"'name' \(344 values in 344 cells\).*exclude=\['name'\]"):
        NaiveBayesClassifier().fit(X.assign(name=[f"bird {row}" for row in range(len(X))]), y)


def test_cells_that_a_chosen_family_cannot_hold_are_missing(rng, tmp_path):
    y = rng.integers(0, 2, 200)
    columns = {"price": np.exp(rng.normal(y, 1.0)), "items": rng.poisson(3 + 2 * y), "flag": rng.integers(0, 2, 200)}
    X = pd.DataFrame({**columns, "size": rng.normal(size=200)}).astype(float)
    classifier = NaiveBayesClassifier().fit(X, y)
    families = [type(family) for family, _ in classifier.model_.features.values()]
    assert families == [nb.LogNormal, nb.Poisson, nb.Bernoulli, nb.Gaussian]
    rows = X.head(5).assign(price=[0, 1, -3, 2, 1], items=[1, 2, 2.5, 2, 1], flag=[0, 1, 1, 2, 0])
    holes = rows.assign(price=[np.nan, 1, np.nan, 2, 1], items=[1, 2, np.nan, 2, 1], flag=[0, 1, 1, np.nan, 0])
    words = r"2 in column 'price', such as 0, which is not a positive number \(LogNormal\); 1 in column 'items', such"
    posterior = nb.fit(nb.NaiveBayes.from_frame(X, y), X, y)
    posterior.save(tmp_path / "posterior.nc")
    for fitted in (classifier, posterior, nb.load(tmp_path / "posterior.nc")):
        with pytest.warns(UserWarning, match=words):
            found = fitted.predict_proba(rows)
        np.testing.assert_array_equal(found, fitted.predict_proba(holes))
    with pytest.warns(UserWarning, match="1 in column 'price', such as 0"):
        assert posterior.explain(rows.iloc[[0]]).loc["price", "log_odds"] == 0
    with pytest.warns(UserWarning, match=words):
        updated = posterior.update(rows, [0] * 5)
    np.testing.assert_array_equal(updated.predict_proba(X), posterior.update(holes, [0] * 5).predict_proba(X))
    with pytest.warns(UserWarning, match=words):
        np.testing.assert_allclose(updated.forget(rows, [0] * 5).predict_proba(X), posterior.predict_proba(X))
    given = nb.NaiveBayes.from_frame(X, y, families={"price": nb.LogNormal()})
    for refuse in (
        lambda: nb.fit(classifier.model_, rows, [0] * 5),
        lambda: nb.fit(given, X, y).predict(rows),
    ):
        with pytest.raises(ValueError, match="column 'price', row 0: 0 is not a positive number"):
            refuse()
    with warnings.catch_warnings(action="error"):
        classifier.predict(X)


@pytest.mark.parametrize("binary", [False, True])
def test_sparse_counts_are_count_vectors(binary):
    """A word that training texts have at most once may come twice in a new one."""
    texts, y = ["a fox and a dog", "the dog", "one fish", "two fish and one fox"], [0, 0, 1, 1]
    pipeline = make_pipeline(CountVectorizer(binary=binary), NaiveBayesClassifier(feature_weights=None)).fit(texts, y)
    counts = pipeline[0].transform(texts)
    expected = nb.fit(nb.Multinomial(), counts, y)
    new = ["dog dog dog fish", ""]
    np.testing.assert_array_equal(pipeline.predict_proba(new), expected.predict_proba(pipeline[0].transform(new)))
    assert nb.NaiveBayes.from_frame(counts, y) == nb.NaiveBayes.from_frame(counts) == nb.NaiveBayes(nb.Multinomial())
    one_hot = (counts > 0).astype(float)
    assert list(nb.NaiveBayes.from_frame(one_hot).features) == list(range(counts.shape[1]))


def test_the_general_classifier_chooses_its_families_by_labels_and_weights(penguins):
    X, y = penguins
    weight = np.arange(len(X)) % 3
    model = nb.NaiveBayes.from_frame(X, y, sample_weight=weight)
    assert repr(model) != repr(nb.NaiveBayes.from_frame(X))
    expected = nb.fit(model, X, y, sample_weight=weight)
    for given in (None, model):
        fitted = NaiveBayesClassifier(given, feature_weights=None).fit(X, y, weight)
        assert repr(fitted.model_) == repr(expected.model)
        np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
def test_copies_pickles_and_joblib_predict_the_same(estimator, counts, tmp_path):
    X, y = counts
    fitted = estimator().fit(X, y)
    joblib.dump(fitted, tmp_path / "fitted.joblib")
    for other in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "fitted.joblib")):
        np.testing.assert_array_equal(other.predict_proba(X), fitted.predict_proba(X))
        other.partial_fit(X, y)
    assert repr(clone(fitted)) == repr(estimator())


def test_metadata_routing_and_set_output(counts):
    X, y = counts
    weight = np.ones(45)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = GaussianNB().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), estimator)
        pipeline.set_output(transform="pandas").fit(X, y, sample_weight=weight)
    assert pipeline[-1].feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]


SAVED = {
    **{each.__name__: each() for each in ESTIMATORS},
    "plain": NaiveBayesClassifier(nb.Poisson(), feature_weights=None, feature_inclusion={0: 0.5, 1: 0.5, 2: 1, 3: 0}),
    "a model": NaiveBayesClassifier(nb.NaiveBayes({0: nb.Gaussian(), 2: nb.Poisson()}), decay=0.5, random_state=3),
    "arrays": MultinomialNB(alpha=np.array([1.0, 2.0, 3.0, 4.0]), class_prior=(0.2, 0.3, 0.5), predictive="plugin"),
    "settings": GaussianNB(priors=[0.2, 0.3, 0.5], inference=nb.MAP(max_iterations=7), unlabelled="?"),
}


@pytest.mark.parametrize("estimator", SAVED.values(), ids=SAVED)
def test_a_saved_estimator_comes_back_whole(estimator, counts, tmp_path):
    X, y = counts
    if estimator.get_params().get("feature_inclusion") is None:
        X = pd.DataFrame(X, columns=list("uvwx"))
    fitted = clone(estimator)
    if isinstance(fitted, NaiveBayesClassifier) and isinstance(fitted.model, nb.NaiveBayes):
        fitted.set_params(model=fitted.model.bind(X, y))
    fitted.fit(X, y).save(tmp_path / "estimator.nc")
    loaded = nb.load(tmp_path / "estimator.nc")
    assert type(loaded) is type(fitted)
    assert repr(loaded.get_params()) == repr(fitted.get_params())
    assert vars(loaded).keys() == vars(fitted).keys()
    for name, value in vars(fitted).items():
        if isinstance(value, np.ndarray):
            assert vars(loaded)[name].dtype == value.dtype
        if name != "_problem":
            assert repr(vars(loaded)[name]) == repr(value), name
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    for verb in ("partial_fit", "forget"):
        found, expected = (getattr(each, verb)(X[::5], y[::5]).predict_proba(X) for each in (loaded, fitted))
        np.testing.assert_array_equal(found, expected)


def test_estimators_that_no_file_holds(counts, tmp_path):
    class Mine(PoissonNB):
        pass

    for estimator, words in (
        (Mine(), "Mine is a class of your own"),
        (
            PoissonNB(random_state=np.random.RandomState(0)),
            r"PoissonNB\['random_state'\] is RandomState.* of the type RandomState",
        ),
    ):
        with pytest.raises(TypeError, match=words):
            estimator.fit(*counts).save(tmp_path / "estimator.nc")
    with pytest.raises(NotFittedError):
        PoissonNB().save(tmp_path / "estimator.nc")
    assert not [*tmp_path.iterdir()]


ROWS_OF_ONE = {
    "turned": lambda row: dict(reversed(row.iloc[0].to_dict().items())),
    "series": lambda row: row.iloc[0],
    "dict": lambda row: row.iloc[0].to_dict(),
    "dict with more": lambda row: {"more": 1, **row.iloc[0].to_dict()},
    "list": lambda row: row.iloc[0].tolist(),
    "tuple": lambda row: tuple(row.iloc[0]),
}


@pytest.mark.parametrize("kind", ["posterior", "classifier", "numbers"])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_one_row_may_be_a_mapping_a_series_or_a_list(penguins, kind):
    X, y = penguins
    if kind == "numbers":
        X = X[["bill_length_mm", "bill_depth_mm"]]
    estimator = GaussianNB() if kind == "numbers" else NaiveBayesClassifier()
    fitted = nb.fit(nb.NaiveBayes.from_frame(X, y), X, y) if kind == "posterior" else estimator.fit(X, y)
    interval = fitted.proba_interval if kind == "posterior" else fitted.predict_interval
    row = X.iloc[[5 if kind != "numbers" else 4]]
    for ask in (fitted.predict, fitted.predict_proba, fitted.predict_log_proba, interval, fitted.explain):
        expected = np.asarray(ask(row))
        for name, form in ROWS_OF_ONE.items():
            if kind != "numbers" or name != "dict with more":  # scikit-learn's take the columns of the fit alone
                np.testing.assert_array_equal(np.asarray(ask(form(row))), expected)
    misnamed = {"body_mass" if name == "body_mass_g" else name: cell for name, cell in row.iloc[0].items()}
    if kind == "classifier":
        for ask in (fitted.predict, fitted.explain):
            with pytest.raises(ValueError, match=r"has no 'body_mass_g' \(did you mean 'body_mass'\?\): give every"):
                ask(misnamed)


@pytest.mark.slow
def test_inference_by_name_or_by_settings(counts):
    X, y = counts
    # Three columns of zeros and ones and two classes, as in other tests that sample: they share a compiled sampler.
    flags, labels = (X[y != "c", :3] > 1).astype(float), y[y != "c"]
    model = nb.NaiveBayes(nb.Bernoulli())
    exact = NaiveBayesClassifier(model, feature_weights=None).fit(flags, labels)
    sampled = NaiveBayesClassifier(model, inference=nb.NUTS(), random_state=3).fit(flags, labels)
    assert isinstance(sampled.posterior_, nb.results.SampledPosterior)
    np.testing.assert_allclose(sampled.predict_proba(flags), exact.predict_proba(flags), atol=0.03)
    assert isinstance(PoissonNB(inference="map").fit(X, y).posterior_, nb.results.PointPosterior)
    for name in ("exact", "map", "mle", "em"):
        by_name = [
            PoissonNB(inference=name).fit(X, y).posterior_,
            nb.fit(nb.Poisson(), X, y, name),
            nb.fit_batches(nb.Poisson(), [(X, y)], name),
        ]
        assert len({(type(posterior), posterior.inference) for posterior in by_name}) == 1
    drawn = [PoissonNB(random_state=seed).fit(X, y).predict_interval(X[:2], num_draws=50) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any()


CELLS, KINDS = [[1.0], [2.0], [3.0]], [0, 1, 1]
MISSING = [
    np.array([*others, missing, *others], dtype=object)
    for missing in (None, np.nan, pd.NA)
    for others in ("ab", [0, 1])
]
TWO_SIZES = pd.DataFrame(np.ones((3, 2)), columns=["size", "size"])
TWICE = "column 'size' occurs twice in X: rename or drop one"
REFUSED = [
    *(
        (GaussianNB(prior=prior), CELLS, KINDS, r"prior is .*: give nb\.Gaussian")
        for prior in (nb.LogNormal(), nb.Poisson(), 1.0)
    ),
    (GaussianNB(priors=[-0.5, 1.5]), CELLS, KINDS, "Priors must be non-negative"),
    (GaussianNB(priors=[0.5, 0.4]), CELLS, KINDS, "The sum of the priors should be 1"),
    (PoissonNB(class_prior=[1.0]), CELLS, KINDS, "Number of priors must match number of classes"),
    (PoissonNB(prior=nb.Gaussian()), CELLS, KINDS, r"prior is .*: give nb\.Poisson"),
    (PoissonNB(inference="magic"), CELLS, KINDS, r"inference is 'magic': give one of .*'nuts'"),
    (PoissonNB(predictive="magic"), CELLS, KINDS, "predictive is 'magic'"),
    (NaiveBayesClassifier("gaussian"), CELLS, KINDS, "model is 'gaussian'"),
    (NaiveBayesClassifier(nb.Gaussian), CELLS, KINDS, r"model is the class Gaussian: write nb\.Gaussian\(\)"),
    (NaiveBayesClassifier(), TWO_SIZES, KINDS, TWICE),
    *((GaussianNB(), np.zeros((5, 1)), y, "^Input y contains NaN: leave .*unlabelled=np.nan") for y in MISSING),
]


@pytest.mark.parametrize(("estimator", "X", "y", "words"), REFUSED)
def test_what_is_refused(estimator, X, y, words):
    with pytest.raises((TypeError, ValueError), match=words):
        clone(estimator).fit(X, y).predict(X)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
def test_a_table_without_weight_is_refused(estimator):
    with pytest.raises(ValueError, match="every sample_weight is zero"):
        estimator().fit(CELLS, KINDS, sample_weight=[0.0] * 3)


class TestBehavioursThatOthersGetWrong:
    """Each was seen in a released package; here with the answer that it should have had."""

    @pytest.mark.parametrize("predictive", ["exact", "plugin"])
    def test_one_row_at_a_time_gives_numbers(self, predictive):
        estimator = GaussianNB(predictive=predictive).partial_fit([[1.0]], [0], classes=[0, 1])
        np.testing.assert_array_equal(estimator.predict_proba([[3.0]]), [[1.0, 0.0]])
        uniform = GaussianNB(predictive=predictive, priors=[0.5, 0.5]).partial_fit([[1.0]], [0], classes=[0, 1])
        assert np.isfinite(uniform.predict_proba([[3.0]])).all()

    def test_bernoulli_takes_a_vector_of_alphas(self):
        fitted = BernoulliNB(alpha=[1, 2, 3]).fit([[1, 0, 1], [0, 1, 1]], [0, 1])
        np.testing.assert_allclose(np.exp(fitted.feature_log_prob_[0]), [2 / 3, 2 / 5, 4 / 7])

    @pytest.mark.parametrize("estimator", [BernoulliNB, CategoricalNB, MultinomialNB])
    @pytest.mark.parametrize("predictive", ["exact", "plugin"])
    def test_no_smoothing_gives_no_nan(self, estimator, predictive):
        fitted = estimator(alpha=0, predictive=predictive).fit([[1, 0], [1, 1], [1, 0]], [0, 1, 1])
        assert np.isfinite(fitted.predict_proba([[1, 0], [0, 1], [1, 1]])).all()


def test_a_column_without_a_number_has_one_category():
    frame = pd.DataFrame({"empty": [np.nan, np.nan, np.nan], "code": [0.0, 2.0, 1.0]})
    fitted = CategoricalNB().fit(frame, ["a", "b", "a"])
    assert [len(values) for values in fitted.posterior_.model.schema.categories.values()] == [1, 3]


def test_a_small_alpha_is_raised_where_it_is_not_forced():
    X, y = [[1, 0, 1], [0, 1, 1]], [0, 1]
    with pytest.warns(UserWarning, match="alpha too small"):
        fitted = MultinomialNB(alpha=[0.0, 1e-10, 2.0], force_alpha=False).fit(X, y)
    expected = sklearn.naive_bayes.MultinomialNB(alpha=[1e-10, 1e-10, 2.0]).fit(X, y)
    np.testing.assert_allclose(fitted.feature_log_prob_, expected.feature_log_prob_, rtol=1e-12)
    with warnings.catch_warnings(action="error"):
        BernoulliNB(alpha=1e-10, force_alpha=False).fit(X, y)


def test_categories_by_their_largest_number_up_to_the_limit(monkeypatch):
    monkeypatch.setattr(categorical, "MOST_CATEGORIES", 7)
    y = [0, 1, 0]
    assert estimators.CategoricalNB().fit([[0, 1], [3, 2], [1, 0]], y).n_categories_.tolist() == [4, 3]
    with pytest.raises(ValueError, match="column 0 holds the number 4"):
        estimators.CategoricalNB().fit([[0, 1], [4, 2], [1, 0]], y)


def test_weights_of_words_are_multinomial():
    texts, y = ["tea and cake", "cake", "rum and coke", "rum"] * 5, ["x", "x", "z", "z"] * 5
    pipeline = make_pipeline(TfidfVectorizer(), NaiveBayesClassifier()).fit(texts, y)
    (family,) = pipeline[-1].posterior_.unweighted.families
    assert isinstance(family, nb.Multinomial)
    assert family.fractional
    assert pipeline.predict(["cake with tea", "coke"]).tolist() == ["x", "z"]


@pytest.mark.parametrize("number", [6, 2100])
@pytest.mark.parametrize(
    "of_text",
    [
        pd.Series,
        partial(pd.Series, dtype=object),
        partial(pd.Series, dtype="category"),
        pl.Series,
        partial(np.array, dtype=object),
    ],
    ids=["pandas", "objects of pandas", "categories", "polars", "objects"],
)
def test_labels_of_text_are_an_array_of_text(of_text, number):
    y = ["abc"[i * i % 3] * 2 for i in range(number)]
    X = np.arange(number)[:, None] % 7.0
    fitted, expected = GaussianNB().fit(X, of_text(y)), nb.fit(nb.Gaussian(), X, y)
    assert fitted.classes_.dtype.kind == "U"
    np.testing.assert_array_equal(fitted.classes_, sorted({*y}))
    np.testing.assert_array_equal(fitted.predict(X), expected.predict(X))
