"""Densities, means and variances of NumPyro's distributions are those of SciPy."""

from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

from bayesnb.families.distributions import BetaOfLogs, GammaVector, TDistribution
from bayesnb.families.formulas import log_prob, mean_of, variance_of


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.3, 4.0, shape)


A, B = 2.5 + numbers(2, 3), numbers(2, 3, seed=1)
VECTORS, RATES = numbers(2, 3, 4), B[..., None]
"""Parameters for a batch of two by three."""

X, Y = numbers(5, 2, 3, seed=2), numbers(5, 2, 3, 4, seed=3)
SHARES = Y / Y.sum(axis=-1, keepdims=True)

OF_NUMBERS = {
    "beta": (BetaOfLogs(A, B), stats.beta(A, B)),
    "gamma": (dist.Gamma(A, B), stats.gamma(A, scale=1 / B)),
    "inverse gamma": (dist.InverseGamma(A, B), stats.invgamma(A, scale=B)),
    "normal": (dist.Normal(A, B), stats.norm(A, B)),
    "student t": (TDistribution(A, B, A + B), stats.t(A, B, A + B)),
    "log normal": (dist.LogNormal(A, B), stats.lognorm(B, scale=np.exp(A))),
    "compiled": (dist.Laplace(A, B), stats.laplace(A, B)),
}
OF_VECTORS = {
    "dirichlet": (
        dist.Dirichlet(VECTORS),
        SHARES,
        [[[stats.dirichlet(VECTORS[i, j]).logpdf(row[i, j]) for j in range(3)] for i in range(2)] for row in SHARES],
    ),
    "gamma vector": (GammaVector(VECTORS, RATES), Y, stats.gamma(VECTORS, scale=1 / RATES).logpdf(Y).sum(axis=-1)),
}
DENSITIES = OF_VECTORS | {name: (ours, X / 5, theirs.logpdf(X / 5)) for name, (ours, theirs) in OF_NUMBERS.items()}


@pytest.mark.parametrize("name", DENSITIES)
def test_densities(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only those that SciPy does not have are compiled."""
    if name != "compiled":
        monkeypatch.setattr("bayesnb.core.deferred._traced", lambda *_: pytest.fail("a density was compiled"))
    distribution, x, expected = DENSITIES[name]
    found = log_prob(distribution, x)
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("ours", "theirs"), OF_NUMBERS.values(), ids=OF_NUMBERS)
def test_means_and_variances(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(mean_of(ours), theirs.mean(), rtol=1e-12)
    np.testing.assert_allclose(variance_of(ours), theirs.var(), rtol=1e-12)


def test_means_of_counts() -> None:
    shares = SHARES[0]
    np.testing.assert_allclose(mean_of(dist.Bernoulli(shares)), shares, rtol=1e-12)
    np.testing.assert_allclose(mean_of(dist.Multinomial(5, shares)), 5 * shares, rtol=1e-12)


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
