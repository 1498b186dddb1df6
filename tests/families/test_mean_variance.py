"""Means and variances of NumPyro's distributions by NumPy are those of SciPy."""

from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

from bayesnb.families.distributions import Beta, TDistribution
from bayesnb.families.formulas import mean_of, variance_of

A = np.random.default_rng(0).uniform(2.5, 6.0, (2, 3))
B = np.random.default_rng(1).uniform(0.3, 4.0, (2, 3))
SHARES = A / A.sum(axis=-1, keepdims=True)

MEANS = {
    "bernoulli": (dist.Bernoulli(SHARES), stats.bernoulli(SHARES).mean()),
    "multinomial": (dist.Multinomial(5, SHARES), 5 * SHARES),
}
MOMENTS = {
    "beta": (Beta(A, B), stats.beta(A, B)),
    "gamma": (dist.Gamma(A, B), stats.gamma(A, scale=1 / B)),
    "inverse gamma": (dist.InverseGamma(A, B), stats.invgamma(A, scale=B)),
    "student t": (TDistribution(A, B, A + B), stats.t(A, B, A + B)),
    "of numpyro": (dist.Laplace(A, B), stats.laplace(A, B)),
}


@pytest.mark.parametrize(("distribution", "expected"), MEANS.values(), ids=MEANS)
def test_means(distribution: Any, expected: np.ndarray) -> None:
    np.testing.assert_allclose(mean_of(distribution), expected, rtol=1e-12)


@pytest.mark.parametrize(("distribution", "expected"), MOMENTS.values(), ids=MOMENTS)
def test_means_and_variances(distribution: Any, expected: Any) -> None:
    np.testing.assert_allclose(mean_of(distribution), expected.mean(), rtol=1e-12)
    np.testing.assert_allclose(variance_of(distribution), expected.var(), rtol=1e-12)


def test_moments_that_do_not_exist() -> None:
    shape = np.array([0.5, 1.0, 1.5, 2.0, 2.5])
    with np.errstate(all="raise"):
        inverse = dist.InverseGamma(shape, 3.0)
        np.testing.assert_allclose(mean_of(inverse), [np.inf, np.inf, 6.0, 3.0, 2.0])
        np.testing.assert_allclose(variance_of(inverse), [np.inf, np.inf, np.inf, np.inf, 8.0])
        t = TDistribution(shape, 1.0, 2.0)
        np.testing.assert_allclose(mean_of(t), [np.inf, np.inf, 1.0, 1.0, 1.0])
        np.testing.assert_allclose(variance_of(t), [np.nan, np.nan, np.inf, np.inf, 20.0])


def test_the_t_distribution_holds_the_numbers_of_numpyros(float64: None) -> None:
    found, expected = (jax.tree.leaves(kind(A, B[0], 2.0)) for kind in (TDistribution, dist.StudentT))
    assert len(found) == len(expected)
    for ours, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, np.broadcast_to(other, ours.shape))
