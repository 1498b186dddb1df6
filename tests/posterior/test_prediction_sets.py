"""Sets of labels from leave-one-out: beside fits without each row, and the laws that sets follow."""

import pickle
from functools import partial
from itertools import product

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest

import bayesnb as nb
from bayesnb import estimators
from bayesnb.core.label_scores import MOST_SCORES, LabelScores

pytestmark = pytest.mark.filterwarnings("ignore:every set holds")

ROWS, NEW = 40, 30


def table(rng, rows):
    """Two columns of numbers that overlap, one of text, missing cells and three labels of different frequency."""
    codes = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    X = pd.DataFrame({"size": codes + rng.normal(size=rows), "count": rng.poisson(1.0 + codes).astype(float)})
    X["colour"] = np.where(rng.uniform(size=rows) < 0.3 * codes, "red", "blue")
    X.loc[X.index % 7 == 3, "count"] = np.nan
    return X, np.array(["a", "b", "c"])[codes]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X, y = table(rng, ROWS)
    return X, y, rng.uniform(0.5, 3.0, ROWS), table(rng, NEW)[0]


def described(**options):
    features = {"size": nb.Gaussian(), "count": nb.Poisson(), "colour": nb.Categorical()}
    return nb.NaiveBayes(features, **options)


def inclusion(scores, of_class, new, proba, coverage):
    """Which candidates are in the set: those that are not among the 1 - coverage least conforming rows."""
    below = (of_class * (scores <= proba[:, None])).sum(axis=1)
    return (below + new) / (of_class.sum() + new) > 1.0 - coverage + 1e-9  # above the error of rounding


CASES = {
    "plain": ({}, False),
    "frequencies": ({"class_probs": "empirical"}, False),
    "weights": ({}, True),
    "given probabilities": ({"class_probs": {"a": 0.2, "b": 0.1, "c": 0.7}}, False),
    "given probabilities, weights": ({"class_probs": {"a": 0.2, "b": 0.1, "c": 0.7}}, True),
    "averaged": ({"feature_inclusion": 0.5}, False),
}


@pytest.mark.parametrize("name", CASES)
def test_sets_are_those_of_fits_without_each_row(data, name):
    options, with_weights = CASES[name]
    X, y, weights, new = data
    weights = weights if with_weights else np.ones(ROWS)
    given = (weights,) if with_weights else ()
    posterior = nb.fit(described(**options), X, y, sample_weight=weights)
    codes = np.searchsorted(posterior.classes, y)
    scores = np.empty(ROWS)
    for i in range(ROWS):
        rest = np.arange(ROWS) != i
        without = nb.fit(posterior.problem.model, X[rest], y[rest], sample_weight=weights[rest])
        scores[i] = without.predict_proba(X.iloc[[i]])[0, codes[i]]
    counts = np.bincount(codes, weights)
    ratio = posterior.class_probs() / (counts / counts.sum()) if "given" in name else np.ones(3)
    proba = posterior.predict_proba(new)
    for coverage, by_class in product((0.5, 0.8, 0.9, 0.95), (False, True)):
        found = posterior.predict_set(new, coverage, fitted=(X, y, *given), by_class=by_class, empty=True)
        for c in range(3):
            of_class = weights * (codes == c) if by_class else weights * ratio[codes]
            expected = inclusion(scores, of_class, 1.0 if by_class else ratio[c], proba[:, c], coverage)
            np.testing.assert_array_equal(found[:, c], expected)


ESTIMATORS = {
    "weights": {},
    "one weight": {"feature_weights": "shared"},
    "no weights": {"feature_weights": None},
    "given probabilities": {"class_probs": [0.2, 0.1, 0.7]},
    "averaged": {"feature_inclusion": 0.5},
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_has_the_sets_of_its_posterior_and_of_its_file(data, name, tmp_path):
    """The learning of weights gives the probabilities that leaving out each row with these weights gives."""
    X, y, _, new = data
    fitted = nb.NaiveBayesClassifier(described(), **ESTIMATORS[name]).fit(X, y)
    fitted.save(tmp_path / "fitted.nc")
    copies = nb.load(tmp_path / "fitted.nc"), pickle.loads(pickle.dumps(fitted))
    for coverage, by_class in ((0.8, False), (0.9, True)):
        found = fitted.predict_set(new, coverage, by_class=by_class)
        expected = fitted.posterior_.predict_set(new, coverage, by_class=by_class, fitted=(X, y))
        np.testing.assert_array_equal(found, expected)
        for again in copies:
            np.testing.assert_array_equal(again.predict_set(new, coverage, by_class=by_class), found)


def test_any_kind_of_rows_has_sets(data):
    X, y, _, new = data
    posterior, fitted = nb.fit(described(), X, y), nb.NaiveBayesClassifier(described(), feature_weights=None).fit(X, y)
    expected = fitted.predict_set(new, 0.8)
    for rows in (dd.from_pandas(new, npartitions=2), pl.from_pandas(new)):
        np.testing.assert_array_equal(posterior.predict_set(rows, 0.8, fitted=(X, y)), expected)
        np.testing.assert_array_equal(fitted.predict_set(rows, 0.8), expected)
    np.testing.assert_array_equal(fitted.predict_set(new.iloc[0].to_dict(), 0.8), expected[:1])
    for predict_set in (partial(posterior.predict_set, fitted=(X, y)), fitted.predict_set):
        with pytest.raises(TypeError, match=r"predict_set takes rows in memory: X.(collect|df)\(\)"):
            predict_set(pl.from_pandas(new).lazy())


def test_known_class_probabilities_give_the_sets_of_a_fit_with_them(data):
    X, y, _, new = data
    given = {"a": 0.2, "b": 0.1, "c": 0.7}
    plain = nb.fit(described(), X, y)
    for posterior, options in ((plain, {"feature_weights": None}), (nb.weight_features(plain, X, y), {})):
        found = posterior.with_class_probs(given).predict_set(new, 0.8, fitted=(X, y))
        fitted = nb.NaiveBayesClassifier(described(), class_probs=given, **options).fit(X, y)
        np.testing.assert_array_equal(found, fitted.predict_set(new, 0.8))
        assert (found != posterior.predict_set(new, 0.8, fitted=(X, y))).any()
    moved = nb.NaiveBayesClassifier(described()).fit(X, y).with_class_probs(given)
    with pytest.raises(ValueError, match=r"after with_class_probs.*class_probs="):
        moved.predict_set(new)


@pytest.mark.parametrize("name", ["BernoulliNB", "CategoricalNB", "GaussianNB", "MultinomialNB", "PoissonNB"])
def test_estimators_of_one_family_have_sets(name, rng):
    codes = rng.integers(0, 2, 50)
    X = rng.binomial(1 if name == "BernoulliNB" else 3, 0.3 + 0.2 * codes[:, None], (50, 3))
    fitted = getattr(estimators, name)().fit(X, codes)
    found = fitted.predict_set(X, 0.8)
    np.testing.assert_array_equal(found, fitted.posterior_.predict_set(X, 0.8, fitted=(X, codes)))
    weights = rng.integers(1, 4, 50)
    fitted.fit(X, codes, sample_weight=weights)
    expected = fitted.posterior_.predict_set(X, 0.8, fitted=(X, codes, weights))
    np.testing.assert_array_equal(fitted.predict_set(X, 0.8), expected)


def test_sets_are_nested_in_the_coverage_and_never_empty_unless_asked(data):
    X, y, _, new = data
    fitted = estimators.GaussianNB().fit(X[["size"]], y)
    new = new[["size"]]
    for by_class in (False, True):
        before = np.zeros((NEW, 3), dtype=bool)
        for coverage in np.linspace(0.02, 0.95, 20):
            with_empty = fitted.predict_set(new, coverage, by_class=by_class, empty=True)
            found = fitted.predict_set(new, coverage, by_class=by_class)
            assert (with_empty >= before).all()
            assert found.any(axis=1).all()
            best = fitted.predict_proba(new).argmax(axis=1)
            np.testing.assert_array_equal(found[~with_empty.any(axis=1)].argmax(axis=1), best[~with_empty.any(axis=1)])
            np.testing.assert_array_equal(found[with_empty.any(axis=1)], with_empty[with_empty.any(axis=1)])
            before = with_empty
        assert (before.sum(axis=1) > 1).any()


@pytest.mark.parametrize(("rows", "coverage"), [(9, 0.9), (19, 0.8), (50, 0.95), (50, 0.5)])
def test_independent_scores_are_covered_as_often_as_their_number_allows(rows, coverage, rng):
    """With n scores, 1 - floor((1 - coverage)(n + 1)) / (n + 1), whatever their distribution."""
    trials, hits = 2000, 0
    for _ in range(trials):
        *scores, new = rng.beta(3, 1, rows + 1)
        found = LabelScores.of(np.array(scores), np.zeros(rows, int), np.ones(rows), np.ones(1))
        hits += bool(new >= found.thresholds(coverage)[0])
    k = np.floor((1 - coverage) * (rows + 1) + 1e-9)
    expected = 1 - k / (rows + 1)
    assert hits / trials == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / trials) + 1e-12)
    assert expected >= coverage - 1e-12


def test_other_class_probabilities_are_covered(rng):
    """Rows of two classes of other frequency than in new rows, whose class probabilities are given."""
    given, frequency, covered = np.array([0.1, 0.9]), np.array([0.7, 0.3]), []
    means, new_rows = np.array([-1.0, 1.0]), 400
    for _ in range(60):
        codes, new = rng.choice(2, 300, p=frequency), rng.choice(2, new_rows, p=given)
        X, new_X = means[codes] + rng.normal(size=300), means[new] + rng.normal(size=new_rows)
        fitted = estimators.GaussianNB(priors=given).fit(X[:, None], codes)
        covered.append(fitted.predict_set(new_X[:, None], empty=True)[range(new_rows), new].mean())
    assert np.mean(covered) == pytest.approx(0.9, abs=0.005 + 3 * np.std(covered) / np.sqrt(60))


def test_of_many_scores_the_lowest_of_each_group_are_kept(rng):
    rows = 5 * MOST_SCORES + 17
    score, weight = rng.uniform(size=rows), rng.uniform(0.5, 2.0, rows)
    code = (rng.uniform(size=rows) < 0.05).astype(int)
    found = LabelScores.of(score, code, weight, np.ones(2))
    assert np.bincount(found.code).tolist() == [MOST_SCORES, (code == 1).sum()]
    np.testing.assert_allclose(np.bincount(found.code, found.weight), np.bincount(code, weight))
    everything = LabelScores(score, code, weight, np.ones(2))
    for by_class in (False, True):
        for coverage in (0.5, 0.9, 0.99):
            exact = everything.thresholds(coverage, by_class=by_class)
            kept = found.thresholds(coverage, by_class=by_class)
            for c in range(2):
                between = (kept[c] <= score) & (score < exact[c]) & ((code == c) | (not by_class))
                assert kept[c] <= exact[c]
                assert weight[between].sum() <= 1.1 / MOST_SCORES * weight[(code == c) | (not by_class)].sum()


def test_batches_have_sets_of_the_rows_that_are_kept(data):
    X, y, _, new = data
    whole = nb.NaiveBayesClassifier().fit(X, y)
    kept = nb.NaiveBayesClassifier().partial_fit(X[:20], y[:20], classes=list("abc"))
    first = kept.predict_set(new, 0.8)
    kept.partial_fit(X[20:23], y[20:23])  # few rows: nothing is learned anew
    assert kept._label_scores.weight.sum() == 20
    kept.partial_fit(X[23:], y[23:])
    np.testing.assert_array_equal(kept.predict_set(new, 0.8), whole.predict_set(new, 0.8))
    kept.forget(X[20:], y[20:])
    np.testing.assert_array_equal(kept.predict_set(new, 0.8), first)
    kept.forget(X[:20], y[:20])
    with pytest.raises(ValueError, match="predict_set has no leave-one-out"):
        kept.predict_set(new)
    sample = nb.NaiveBayesClassifier(keep_rows=20).partial_fit(X, y, classes=list("abc")).partial_fit(X, y)
    assert len(sample._label_scores.score) == 20
    assert sample._label_scores.weight.sum() == pytest.approx(20)
    assert sample._label_scores.weight.std() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", ["NaiveBayesClassifier", "GaussianNB"])
@pytest.mark.parametrize("how", ["partial_fit", "forget"])
def test_without_kept_rows_an_error_names_the_way_out(data, name, how):
    X, y = data[0][["size"]], data[1]
    fitted = getattr(estimators, name)().fit(X, y)
    getattr(fitted, how)(X[:20], y[:20])
    with pytest.raises(ValueError, match=r"posterior_\.predict_set\(X, fitted="):
        fitted.predict_set(X)
    rows = pd.concat([X, X[:20]]) if how == "partial_fit" else X[20:]
    labels = np.concatenate([y, y[:20]]) if how == "partial_fit" else y[20:]
    assert fitted.posterior_.predict_set(X, fitted=(rows, labels)).shape == (ROWS, 3)


@pytest.mark.parametrize("options", [{"inference": "map"}, {"inference": "mle"}, {"predictive": "plugin"}], ids=str)
def test_without_exact_leave_one_out_an_error_names_kfold(data, options):
    X, y, _, _ = data
    fitted = nb.NaiveBayesClassifier(described(), **options).fit(X, y)
    with pytest.raises(TypeError, match=r"predict_set needs a closed form.*nb\.kfold"):
        fitted.predict_set(X)
    if "inference" in options:
        with pytest.raises(TypeError, match=r"predict_set needs a closed form.*nb\.kfold"):
            fitted.posterior_.predict_set(X, fitted=(X, y))


def test_statistics_that_are_smoothed_leave_no_row_out(data):
    X, y, _, _ = data
    fitted = estimators.GaussianNB(var_smoothing=0.1).fit(X[["size"]], y)
    with pytest.raises(ValueError, match="with var_smoothing above 1e-9"):
        fitted.predict_set(X[["size"]])


def test_a_class_of_few_rows_is_in_every_set_with_a_warning(data):
    X, y, _, new = data
    few = np.flatnonzero(y == "c")[8:]
    X, y = X.drop(index=few), np.delete(y, few)
    fitted = estimators.GaussianNB().fit(X[["size"]], y)
    with pytest.warns(UserWarning, match=r"every set holds 'c': coverage=0\.9 needs at least 9 rows of a class"):
        assert fitted.predict_set(new[["size"]], by_class=True)[:, 2].all()
    with pytest.warns(UserWarning, match=r"every set holds 'a', 'b', 'c': coverage=0\.99 needs at least 99 rows$"):
        assert fitted.predict_set(new[["size"]], 0.99).all()


@pytest.mark.parametrize("coverage", [0, 1, 1.2, "0.9", None, True])
def test_a_coverage_that_is_no_share_is_an_error(data, coverage):
    X, y, _, _ = data
    posterior = nb.fit(described(), X, y)
    with pytest.raises(ValueError, match=r"coverage is .*: give a number between 0 and 1"):
        posterior.predict_set(X, coverage, fitted=(X, y))


def test_rows_that_were_not_fitted_are_an_error(data):
    X, y, weights, _ = data
    posterior = nb.fit(described(), X, y)
    with pytest.raises(ValueError, match="these rows were never all among the data"):
        posterior.predict_set(X, fitted=(X, np.repeat("a", ROWS)))
    with pytest.warns(UserWarning, match="the rows of the fit had weights"):
        nb.fit(described(), X, y, sample_weight=weights + 1).predict_set(X, fitted=(X, y))


@pytest.mark.parametrize("fitted", [None, [[1.0], ["a"]], ([[1.0]],)])
def test_rows_of_the_fit_that_are_no_table_with_labels_are_an_error(data, fitted):
    X, y, _, _ = data
    with pytest.raises(TypeError, match=r"fitted is a.*: give the rows of the fit, \(X, y\) or"):
        nb.fit(described(), X, y).predict_set(X, fitted=fitted)
