"""Mean and variance of NumPyro's distributions, by NumPy where JAX would compile them for every shape."""

from functools import singledispatch

import jax
import numpy as np
import numpyro.distributions as dist

__all__ = ["mean_and_variance"]


@singledispatch
def mean_and_variance(distribution: dist.Distribution) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each number that a distribution draws, float64; infinite or NaN where they do not exist."""
    # With very few data, some are a number divided by zero.
    with jax.enable_x64(True), np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(distribution.mean), np.asarray(distribution.variance)


@mean_and_variance.register
def _(distribution: dist.Beta) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.asarray(distribution.concentration1), np.asarray(distribution.concentration0)
    mean = a / (a + b)
    return mean, mean * (b / (a + b)) / (a + b + 1)


@mean_and_variance.register
def _(distribution: dist.InverseGamma) -> tuple[np.ndarray, np.ndarray]:
    a, rate = np.asarray(distribution.concentration), np.asarray(distribution.rate)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = rate / (a - 1)
        return np.where(a > 1, mean, np.inf), np.where(a > 2, mean**2 / (a - 2), np.inf)


@mean_and_variance.register
def _(distribution: dist.StudentT) -> tuple[np.ndarray, np.ndarray]:
    df, loc, scale = (np.asarray(value) for value in (distribution.df, distribution.loc, distribution.scale))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(df > 2, scale**2 * df / (df - 2), np.inf)
    return np.where(df > 1, loc, np.inf), np.where(df > 1, variance, np.nan)
