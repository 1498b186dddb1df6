"""Data that lose weight as they age, and rows taken away again."""

import numpy as np
import pandas as pd
import pytest
from cases import CASES, CLASSES, with_holes
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from slow import cases_fast

import bayesnb as nb
from bayesnb import estimators
from bayesnb.estimators import BernoulliNB, CategoricalNB, GaussianNB, NaiveBayesClassifier

ESTIMATORS = [getattr(estimators, name) for name in estimators.__all__ if name[0].isupper()]
DECAY = 0.7

by_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_posterior_that_fades_is_a_weighted_fit(case, rng):
    X, y = case.cells(rng, 23), rng.integers(0, CLASSES, 23)
    if case.can.holes:
        X[13:] = with_holes(rng, X[13:])  # the first fit knows all categories
    weight = rng.uniform(0.1, 2.0, 23)
    model, classes = nb.NaiveBayes(case.family, class_concentration=0.5), range(CLASSES)
    before = nb.fit(model, X[:9], y[:9], sample_weight=weight[:9], classes=classes)
    start = before.log_joint(X)
    faded = before.update(X[9:13], y[9:13], sample_weight=weight[9:13], decay=DECAY)
    faded = faded.update(X[13:], y[13:], sample_weight=weight[13:], decay=0.5)
    left = weight * np.repeat([DECAY * 0.5, 0.5, 1.0], [9, 4, 10])
    whole = nb.fit(model, X, y, sample_weight=left, classes=classes)
    np.testing.assert_allclose(faded.log_joint(X), whole.log_joint(X), rtol=1e-12)
    assert faded.log_evidence == pytest.approx(whole.log_evidence, rel=1e-12)
    np.testing.assert_array_equal(before.log_joint(X), start)


@pytest.mark.parametrize("inference", [nb.MLE(), nb.MAP()], ids=["mle", "map"])
def test_points_fade_too(rng, inference):
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    model = nb.NaiveBayes(nb.Gaussian(), class_probs="empirical")
    faded = nb.fit(model, X[:40], y[:40], inference).update(X[40:], y[40:], decay=DECAY)
    whole = nb.fit(model, X, y, inference, sample_weight=np.repeat([DECAY, 1.0], [40, 20]))
    np.testing.assert_allclose(faded.log_joint(X), whole.log_joint(X), rtol=1e-12)


@pytest.mark.parametrize("decay", [0, 0.0, -0.1, 1.0001, 2, np.nan, np.inf, True, "0.9", None, [0.9]], ids=str)
def test_decays_that_cannot_be_are_refused(decay):
    X, y = [[1.0], [2.0], [4.0], [7.0]], [0, 0, 1, 1]
    fitted, new = GaussianNB().fit(X, y), GaussianNB(decay=decay)
    before = fitted.predict_proba(X)
    for call in (
        lambda: fitted.posterior_.update(X, y, decay=decay),
        lambda: fitted.set_params(decay=decay).partial_fit(X, y),
        lambda: new.fit(X, y),
        lambda: new.partial_fit(X, y, classes=[0, 1]),
    ):
        with pytest.raises(ValueError, match=r"decay is .*: give a number above 0 and at most 1"):
            call()
    assert not hasattr(new, "posterior_")
    np.testing.assert_array_equal(fitted.predict_proba(X), before)


@pytest.mark.parametrize("decay", [1, np.float32(0.5), np.int64(1)])
def test_decays_of_any_type(decay):
    X, y = [[1.0], [2.0], [4.0], [7.0]], [0, 0, 1, 1]
    updated = nb.fit(nb.Gaussian(), X, y).update(X, y, decay=decay)
    assert updated.problem.statistics.classes.n.tolist() == [2 + 2 * float(decay)] * 2


@pytest.fixture
def counts(rng):
    y = np.array(["a", "b", "c"])[np.arange(45) % 3]
    return rng.poisson(np.where(y == "a", 1, np.where(y == "b", 3, 2))[:, None], (45, 4)), y


def _make(estimator, **options):
    if estimator is NaiveBayesClassifier:
        return estimator(nb.Poisson(), feature_weights=None, **options)
    return estimator(**options)


@pytest.mark.parametrize(
    "unfitted",
    [
        *[_make(estimator) for estimator in ESTIMATORS],
        *[
            _make(estimator, predictive="plugin")
            for estimator in ESTIMATORS
            if "predictive" in estimator().get_params()
        ],
    ],
    ids=repr,
)
def test_estimators_fade_as_a_weighted_fit(unfitted, counts):
    X, y = counts
    faded = clone(unfitted).set_params(decay=DECAY)
    for batch in (slice(15), slice(15, 18), slice(18, 45)):
        faded.partial_fit(X[batch], y[batch], classes=["a", "b", "c"])
    whole = clone(unfitted).fit(X, y, sample_weight=DECAY ** np.repeat([2, 1, 0], [15, 3, 27]))
    np.testing.assert_allclose(faded.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(faded.class_count_, whole.class_count_, rtol=1e-12)
    # A fit begins anew: its rows are of one age.
    np.testing.assert_array_equal(faded.fit(X, y).predict_proba(X), clone(unfitted).fit(X, y).predict_proba(X))


@by_estimator
def test_forgetting_is_a_fit_to_the_rest(estimator, counts, rng):
    X, y = counts
    weight = rng.uniform(0.5, 2.0, 45)
    fitted = _make(estimator).fit(X, y, sample_weight=weight)
    # The highest count of each column stays, so that both fits know the same categories.
    rest = np.union1d(rng.permutation(45)[20:], X.argmax(axis=0))
    away = np.setdiff1d(np.arange(45), rest)
    assert fitted.forget(X[away], y[away], sample_weight=weight[away]) is fitted
    whole = _make(estimator).fit(X[rest], y[rest], sample_weight=weight[rest])
    np.testing.assert_allclose(fitted.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    for name in ("class_count_", "feature_count_", "theta_", "var_", "rate_", "class_log_prior_", "feature_log_prob_"):
        if isinstance(getattr(whole, name, None), np.ndarray):
            np.testing.assert_allclose(getattr(fitted, name), getattr(whole, name), rtol=1e-9, err_msg=name)
    if fitted.posterior_.problem.model.conjugate:
        assert fitted.posterior_.log_evidence == pytest.approx(whole.posterior_.log_evidence, rel=1e-9)
    # And it learns them again.
    fitted.partial_fit(X[away], y[away], sample_weight=weight[away])
    again = _make(estimator).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(fitted.predict_proba(X), again.predict_proba(X), rtol=1e-9)


@by_estimator
def test_a_refused_forgetting_changes_nothing(estimator, counts):
    X, y = counts
    fitted = _make(estimator).fit(X, y)
    before, state = fitted.predict_proba(X), sorted(vars(fitted))
    wrong = np.where(np.arange(45)[:, None] == 40, np.inf, X.astype(float))
    for bad_X, bad_y, weight, message in (
        (np.vstack([X, X]), [*y, *y], None, "never among the data"),
        (X, y, np.full(45, 1.1), "never among the data"),
        (X, np.where(y == "a", "stranger", y), None, r"\['stranger'\] in y do not exist"),
        (wrong, y, None, "inf"),
        (X[:, :3], y, None, "3 features"),
        (X, y[:-1], None, "inconsistent"),
        (X, y, np.full(45, -1.0), "[Nn]egative"),
        (X, None, None, "requires y"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.forget(bad_X, bad_y, sample_weight=weight)
        assert sorted(vars(fitted)) == state
        np.testing.assert_array_equal(fitted.predict_proba(X), before)
    with pytest.raises(NotFittedError):
        _make(estimator).forget(X, y)


@pytest.mark.parametrize("case", cases_fast(CASES, {"categorical", "multinomial", "gaussian", "poisson", "hurdle"}))
def test_a_class_goes_away_whole_whatever_its_weights(case):
    """Fractional weights leave rounding errors, where whole ones leave zeros."""
    model, classes = nb.NaiveBayes(case.family), range(CLASSES)
    shift = {"gaussian": 50.0, "hurdle": 500.0}.get(case.name, 0.0)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y, weight = case.cells(rng, 40), rng.integers(0, CLASSES, 40), rng.uniform(0.01, 2.0, 40)
        X = np.where(X == 0, X, X + shift)
        away = np.concatenate([rng.permutation(np.flatnonzero(y == 0)), np.flatnonzero(y == 1)[:5]])
        left = nb.fit(model, X, y, sample_weight=weight, classes=classes)
        for part in np.array_split(away, 3):
            left = left.forget(X[part], y[part], sample_weight=weight[part])
        rest = np.setdiff1d(np.arange(40), away)
        others = nb.fit(model, X[rest], y[rest], sample_weight=weight[rest], classes=classes)
        np.testing.assert_allclose(left.log_joint(X), others.log_joint(X), rtol=1e-10)
        assert left.problem.statistics.classes.n[0] == 0


def test_a_category_never_seen_cannot_be_forgotten():
    X = pd.DataFrame({"colour": ["red", "blue", "red", "blue"]})
    fitted = CategoricalNB().fit(X, [0, 0, 1, 1])
    before = fitted.predict_proba(X)
    with pytest.raises(ValueError, match="column 'colour' in class 0 would have statistics that no"):
        fitted.forget(pd.DataFrame({"colour": ["green"]}), [0])
    assert fitted.n_categories_.tolist() == [2]
    np.testing.assert_array_equal(fitted.predict_proba(X), before)
    fitted.forget(X[:1], [0])
    assert fitted.category_count_[0].tolist() == [[1, 0], [1, 1]]
    # A category whose last row goes stays known.
    fitted.forget(X[1:2], [0]).forget(X[3:], [1])
    assert fitted.categories_[0].tolist() == ["blue", "red"]
    assert fitted.category_count_[0].tolist() == [[0, 0], [0, 1]]


def test_all_ones_leave_no_zero_of_negative_weight():
    """Weights of ones whose sum differs from that of all weights in the last place: of many rows of some columns."""
    for row in np.random.default_rng(0).uniform(0.01, 2.0, (5, 300)):
        X, y = np.ones((300, 5)), np.arange(300) % 2
        left = nb.fit(nb.Bernoulli(), X, y, sample_weight=row).forget(X[:290], y[:290], sample_weight=row[:290])
        counted = left.problem.statistics.blocks[0]
        np.testing.assert_array_equal(counted.total, np.broadcast_to(counted.n, counted.total.shape))


def test_all_ones_of_many_columns_have_no_zero():
    """The matrix product that sums the weights of ones rounds otherwise than the sum of all weights."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        X, y, row = rng.integers(0, 2, (5000, 5)), rng.integers(0, 2, 5000), rng.uniform(0.1, 1.0, 5000)
        X[y == 0, 1] = 1
        fitted = BernoulliNB(alpha=0).fit(X, y, sample_weight=row)
        assert fitted.posterior_.families[0].concentration0[0, 1] < 1e-300
        assert fitted.predict_proba([[1, 0, 1, 1, 1]])[0, 0] < 1e-300
        estimate = nb.fit(nb.Bernoulli(), X, y, nb.MLE(), sample_weight=row)
        assert estimate.mean()["x_prob"][0, 1] == 1
        assert estimate.predict_proba([[1, 0, 1, 1, 1]])[0, 0] == 0
