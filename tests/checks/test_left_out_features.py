"""Log densities of single features given the other rows, beside fits to the other rows."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from cases import CASES, CATEGORIES, with_holes
from refitting import rows_of
from trees import ALONE as GIVEN
from trees import FEATURES, trees

import bayesnb as nb
from bayesnb.posterior.left_out import _without, all_features_left_out, features_left_out

ROWS = 24


def sums(found):
    """Log p(x_i, y=c | D without i)."""
    return found.log_class_prob + found.log_density.sum(axis=-1)


def without_row(posterior, X, y, weights, i):
    others = np.arange(len(y)) != i
    rest = X.iloc[others] if hasattr(X, "iloc") else X[others]
    weight = None if weights is None else weights[others]
    return nb.fit(posterior.problem.model, rest, y[others], sample_weight=weight)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_family_equals_refitting(case, weighted, rng):
    """A feature alone is a row whose other cells are missing; a joint block is one feature."""
    family = replace(case.family, categories=range(CATEGORIES)) if case.name == "categorical" else case.family
    X, y = case.cells(rng, ROWS), rng.integers(0, 2, ROWS)
    X = with_holes(rng, X) if case.missing else X
    weights = rng.uniform(0.2, 3.0, ROWS) if weighted else None
    posterior = nb.fit(nb.NaiveBayes(family, class_concentration=[0.4, 1.7]), X, y, sample_weight=weights)
    found = features_left_out(posterior, rows_of(posterior, X, y, weights))
    number = X.shape[1] if case.missing else 1
    assert len(found.names) == number
    assert found.log_density.shape == (ROWS, 2, number)
    for i in (0, 5, 11, 23):
        rest = without_row(posterior, X, y, weights, i)
        np.testing.assert_allclose(found.log_class_prob[i], np.log(rest.class_probs()), rtol=0, atol=1e-10)
        alone = np.where(np.eye(number, dtype=bool), X[i], np.nan) if case.missing else X[[i]]
        expected = rest.log_joint(alone) - np.log(rest.class_probs())
        np.testing.assert_allclose(found.log_density[i].T, expected, rtol=0, atol=1e-9)


@pytest.fixture(scope="module")
def mixed():
    """Trees, whose sizes have a prior that follows the data."""
    features = FEATURES | {"size": (nb.Gaussian(), ["height", "width"])}
    return features, *trees(np.random.default_rng(3), 40)


ALONE = GIVEN | {name: ({name: nb.Gaussian()}, [name]) for name in ("height", "width")}


@pytest.mark.parametrize("class_prior", [{}, {"class_probs": [0.2, 0.5, 0.3]}, {"class_probs": "empirical"}], ids=str)
def test_mixed_tables_equal_refitting_models_of_one_feature(mixed, class_prior):
    features, X, y = mixed
    posterior = nb.fit(nb.NaiveBayes(features, **class_prior), X, y)
    found = features_left_out(posterior, rows_of(posterior, X, y))
    assert sorted(found.names) == sorted(ALONE)
    for i in (0, 1, 4, 39):
        others = np.arange(40) != i
        rest = nb.fit(posterior.problem.model, X.iloc[others], y[others])
        np.testing.assert_allclose(found.log_class_prob[i], np.log(rest.class_probs()), rtol=0, atol=1e-12)
        for name, (model, columns) in ALONE.items():
            alone = nb.fit(nb.NaiveBayes(model, class_probs=np.full(3, 1 / 3)), X.loc[others, columns], y[others])
            expected = alone.log_joint(X.loc[[i], columns])[0] + np.log(3)
            np.testing.assert_allclose(found.log_density[i, :, found.names.index(name)], expected, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(found.log_density[1, :, found.names.index("height")], 0.0)


@pytest.mark.parametrize("follows", [False, True], ids=["numbers", "follows"])
def test_averages_over_features_add_up_to_leave_one_out(mixed, follows):
    features, X, y = mixed
    if not follows:
        features = {name: value for name, value in features.items() if name != "size"}
    posterior = nb.fit(nb.NaiveBayes(features, feature_inclusion=0.4), X, y)
    found = features_left_out(posterior, rows_of(posterior, X, y))
    joint = sums(found)
    for i in (0, 4, 17):
        rest = without_row(posterior, X, y, None, i)
        np.testing.assert_allclose(joint[i], rest.log_joint(X.iloc[[i]])[0], rtol=0, atol=1e-9)
        moss = nb.fit(
            nb.NaiveBayes({"moss": nb.Bernoulli()}, class_probs=np.full(3, 1 / 3), feature_inclusion=0.4),
            X[["moss"]].drop(index=i),
            np.delete(y, i),
        )
        expected = moss.log_joint(X.loc[[i], ["moss"]])[0] + np.log(3)
        np.testing.assert_allclose(found.log_density[i, :, found.names.index("moss")], expected, atol=1e-10)


def test_rows_that_are_kept_have_the_same_densities(mixed):
    features, X, y = mixed
    posterior = nb.fit(nb.NaiveBayes(features), X, y)
    weights = None
    whole = features_left_out(posterior, rows_of(posterior, X, y, weights))
    places = np.array([0, 3, 17, 38])
    some = features_left_out(posterior, rows_of(posterior, X, y, weights), places)
    np.testing.assert_array_equal(some.log_density, whole.log_density[places])
    np.testing.assert_array_equal(some.log_class_prob, whole.log_class_prob[places])
    np.testing.assert_array_equal(some.rows.place, places)
    np.testing.assert_array_equal(some.rows.codes, whole.rows.codes[places])


def test_rows_that_are_kept_of_many_chunks(rng):
    X, y = rng.integers(0, 2, (20_000, 20)), rng.integers(0, 3, 20_000)
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), X, y)
    whole = features_left_out(posterior, rows_of(posterior, X, y))
    places = np.sort(rng.choice(20_000, 300, replace=False))
    some = features_left_out(posterior, rows_of(posterior, X, y), places)
    np.testing.assert_array_equal(some.log_density, whole.log_density[places])
    ones = np.stack([X[y == c].sum(axis=0) for c in range(3)])
    n = np.bincount(y)
    for i in (0, 9_999, 19_999):
        own = np.arange(3) == y[i]
        prob = (1 + ones - own[:, None] * X[i]) / (2 + n - own)[:, None]
        np.testing.assert_allclose(whole.log_density[i], np.log(np.where(X[i] == 1, prob, 1 - prob)), atol=1e-10)


@pytest.mark.parametrize("family", [nb.Bernoulli(), nb.Poisson(), nb.Multinomial()], ids=lambda f: type(f).__name__)
def test_sparse_equals_dense(family, rng):
    X = rng.integers(0, 2, (30, 12)) * rng.integers(0, 2, (30, 12))
    y = rng.integers(0, 3, 30)
    posterior = nb.fit(nb.NaiveBayes(family), X, y)
    dense = features_left_out(posterior, rows_of(posterior, X, y))
    for kept in (None, np.array([2, 9, 29])):
        expected = dense.log_density if kept is None else dense.log_density[kept]
        sparse = features_left_out(posterior, rows_of(posterior, scipy.sparse.csr_array(X), y), kept)
        np.testing.assert_allclose(sparse.log_density, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("options", [{}, {"class_probs": "empirical"}, {"feature_inclusion": 0.4}], ids=str)
def test_all_features_together_are_the_sum(mixed, options):
    """Up to a number for each row, which cancels in class probabilities."""
    features, X, y = mixed
    posterior = nb.fit(nb.NaiveBayes(features, **options), X, y)
    each, together = (
        features_left_out(posterior, rows_of(posterior, X, y)),
        all_features_left_out(posterior, rows_of(posterior, X, y)),
    )
    assert together.log_density.shape == (40, 3, 1)
    np.testing.assert_allclose(np.diff(sums(together)), np.diff(sums(each)), rtol=0, atol=1e-10)
    np.testing.assert_array_equal(together.log_class_prob, each.log_class_prob)
    np.testing.assert_array_equal(together.rows.codes, each.rows.codes)
    likely = np.exp(sums(each) - np.logaddexp.reduce(sums(each), axis=1)[:, None])
    of_label = np.log(likely[np.arange(40), each.rows.codes])
    np.testing.assert_allclose(of_label, nb.loo(posterior, X, y).elpd_i.values, atol=1e-9)


def test_draws_are_averaged_under_the_classes_that_a_row_does_not_have(rng):
    densities, codes = rng.normal(size=(100, 3, 2)), np.array([0, 1, 1])
    densities[:, 2, 1] = 0.0  # a missing cell
    found, mean = _without(densities, codes), np.log(np.exp(densities).mean(axis=0))
    rows = np.arange(3)
    np.testing.assert_allclose(found[rows, 1 - codes], mean[rows, 1 - codes], rtol=1e-12)
    # Without the row its cell is less probable; a missing cell tells nothing.
    assert (found[:2, [0, 1]].diagonal() < mean[:2, [0, 1]].diagonal()).all()
    assert found[2, 1] == pytest.approx(0.0, abs=1e-12)
