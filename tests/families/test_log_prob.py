"""Log densities of NumPyro's distributions by NumPy are those of SciPy."""

from typing import Any

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

from bayesnb.families.distributions import Beta, GammaVector
from bayesnb.families.formulas import log_prob


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.3, 4.0, shape)


A, B = numbers(2, 3), numbers(2, 3, seed=1)
VECTORS, RATES = numbers(2, 3, 4), B[..., None]
"""Parameters for a batch of two by three."""

X, Y = numbers(5, 2, 3, seed=2), numbers(5, 2, 3, 4, seed=3)
SHARES = Y / Y.sum(axis=-1, keepdims=True)


def dirichlet(concentration: np.ndarray, x: np.ndarray) -> np.ndarray:
    rows = np.broadcast_to(concentration, x.shape).reshape(-1, 4), x.reshape(-1, 4)
    return np.reshape([stats.dirichlet(a).logpdf(row) for a, row in zip(*rows, strict=True)], x.shape[:-1])


BY_NUMPY = {
    "beta": (Beta(A, B), X / 5, stats.beta(A, B).logpdf(X / 5)),
    "dirichlet": (dist.Dirichlet(VECTORS), SHARES, dirichlet(VECTORS, SHARES)),
    "gamma": (dist.Gamma(A, B), X, stats.gamma(A, scale=1 / B).logpdf(X)),
    "gamma vector": (GammaVector(VECTORS, RATES), Y, stats.gamma(VECTORS, scale=1 / RATES).logpdf(Y).sum(axis=-1)),
    "inverse gamma": (dist.InverseGamma(A, B), X, stats.invgamma(A, scale=B).logpdf(X)),
    "normal": (dist.Normal(A, B), X, stats.norm(A, B).logpdf(X)),
    "student t": (dist.StudentT(A, B, A + B), X, stats.t(A, B, A + B).logpdf(X)),
    "log normal": (dist.LogNormal(A, B), X, stats.lognorm(B, scale=np.exp(A)).logpdf(X)),
}
CASES = {**BY_NUMPY, "compiled": (dist.Laplace(A, B), X, stats.laplace(A, B).logpdf(X))}


@pytest.mark.parametrize(("distribution", "x", "expected"), CASES.values(), ids=CASES)
def test_scipy_gives_the_same(distribution: Any, x: np.ndarray, expected: np.ndarray) -> None:
    found = log_prob(distribution, x)
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("distribution", "x", "expected"), BY_NUMPY.values(), ids=BY_NUMPY)
def test_nothing_is_compiled(distribution: Any, x: np.ndarray, expected: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayesnb.families.formulas._traced", lambda *_: pytest.fail("a density was compiled"))
    assert log_prob(distribution, x).shape == expected.shape
