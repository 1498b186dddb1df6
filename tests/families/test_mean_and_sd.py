"""Means and standard deviations by NumPy are those of SciPy."""

from typing import Any

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

from bayesnb.families.beta import Beta
from bayesnb.families.compiled import made
from bayesnb.families.mean_and_sd import mean_and_sd

A = np.array([[0.7, 1.0, 1.6], [2.0, 2.3, 40.0]])
"""Neither moment exists, only the mean, or both."""

B = np.array([[0.3, 2.0, 1.1], [4.0, 0.9, 3.0]])


@pytest.mark.parametrize(
    ("distribution", "expected"),
    [
        (made(dist.StudentT, A, 2.0 * B, B), stats.t(A, 2.0 * B, B)),
        (dist.InverseGamma(A, B), stats.invgamma(A, scale=B)),
        (dist.Gamma(A, B), stats.gamma(A, scale=1 / B)),
        (Beta(A, B), stats.beta(A, B)),
        (dist.Normal(A, B), stats.norm(A, B)),
    ],
    ids=["student t", "inverse gamma", "gamma", "beta", "normal"],
)
def test_scipy_gives_the_same(distribution: Any, expected: Any) -> None:
    for found, of_scipy in zip(mean_and_sd(distribution), (expected.mean(), expected.std()), strict=True):
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, of_scipy, rtol=1e-13)
