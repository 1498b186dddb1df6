"""Draws by reflected trajectories, each from a chain of its own, beside SciPy's distributions and accepted draws."""

import numpy as np
import pytest
from scipy.stats import binom, kstest, truncnorm

from bayesnb.model.truncated_normal import reflected_draws

CORRELATED = np.array([[1.0, 0.8, -0.3], [0.8, 1.0, -0.2], [-0.3, -0.2, 2.0]])


def drawn(mean, covariance, number, rng, chains=None):
    start = np.full((chains or number, len(mean)), 0.5)
    return reflected_draws(start, np.asarray(mean, float), np.linalg.cholesky(covariance), number, rng)


@pytest.mark.parametrize("mean", [-30.0, -2.0, 0.0, 3.0])
def test_one_entry(rng, mean):
    found = drawn([mean], np.array([[2.25]]), 2000, rng)
    assert found.shape == (2000, 1)
    assert kstest(found[:, 0], truncnorm(-mean / 1.5, np.inf, mean, 1.5).cdf).pvalue > 1e-3


@pytest.mark.parametrize("mean", [[0.5, 1.0, 0.3], [-1.0, -0.5, -1.5]])
def test_several_entries(rng, mean):
    found = drawn(mean, CORRELATED, 4000, rng)
    proposed = rng.multivariate_normal(mean, CORRELATED, 150_000)
    expected = proposed[(proposed >= 0).all(axis=1)]
    assert found.min() >= 0
    for function in (lambda x: x, lambda x: x**2, lambda x: x[:, [0]] * x):
        one, other = function(found), function(expected)
        error = np.sqrt(one.var(axis=0) / len(one) + other.var(axis=0) / len(other))
        assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) <= 4.5 * error).all()


@pytest.mark.parametrize(("number", "chains"), [(1, 1), (7, 3), (200, 200), (450, 200)])
def test_as_many_as_wanted(rng, number, chains):
    found = drawn([0.5, 1.0, 0.3], CORRELATED, number, rng, chains)
    assert found.shape == (number, 3)
    assert len(np.unique(found[:, 0])) == number


def test_neighbours_in_a_chain_hardly_depend_on_each_other(rng):
    found = drawn([0.5, 1.0, 0.3], CORRELATED, 4000, rng, chains=200)[:, 0].reshape(20, 200)
    assert abs(np.corrcoef(found[:-1].ravel(), found[1:].ravel())[0, 1]) < 0.25


@pytest.mark.slow
@pytest.mark.parametrize("mean", [-6.0, 1.0])
def test_false_alarms_of_the_test_of_one_entry(mean):
    """Chains that begin with draws of the distribution keep it: how often a test at 5 % rejects."""
    expected = truncnorm(-mean, np.inf, mean, 1.0)
    rejected = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        start = expected.rvs((1000, 1), random_state=rng)
        found = reflected_draws(start, np.array([mean]), np.eye(1), 1000, rng)
        rejected += kstest(found[:, 0], expected.cdf).pvalue < 0.05
    assert rejected <= binom.ppf(0.999, 300, 0.05)
