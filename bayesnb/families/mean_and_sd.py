"""Mean and standard deviation of NumPyro's distributions, by NumPy where NumPyro's formula compiles for every shape."""

from functools import singledispatch

import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays import in_float64

__all__ = ["mean_and_sd"]


@in_float64
def mean_and_sd(distribution: dist.Distribution) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of a distribution, float64; infinite or NaN where they do not exist.

    Parameters
    ----------
    distribution : numpyro.distributions.Distribution

    Returns
    -------
    tuple of array
    """
    # With very few data, some means and variances are infinite.
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, variance = _moments(distribution)
        return mean, np.sqrt(variance)


@singledispatch
def _moments(distribution: dist.Distribution) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(distribution.mean), np.asarray(distribution.variance)


@_moments.register
def _(distribution: dist.StudentT) -> tuple[np.ndarray, np.ndarray]:
    df, loc, scale = np.broadcast_arrays(distribution.df, distribution.loc, distribution.scale)
    variance = np.where(df > 2, scale**2 * df / (df - 2), np.where(df > 1, np.inf, np.nan))
    return np.where(df > 1, loc, np.inf), variance


@_moments.register
def _(distribution: dist.InverseGamma) -> tuple[np.ndarray, np.ndarray]:
    a, rate = np.broadcast_arrays(distribution.concentration, distribution.rate)
    return np.where(a > 1, rate / (a - 1), np.inf), np.where(a > 2, (rate / (a - 1)) ** 2 / (a - 2), np.inf)


@_moments.register
def _(distribution: dist.Gamma) -> tuple[np.ndarray, np.ndarray]:
    a, rate = np.broadcast_arrays(distribution.concentration, distribution.rate)
    return a / rate, a / rate**2


@_moments.register
def _(distribution: dist.Beta) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.broadcast_arrays(distribution.concentration1, distribution.concentration0)
    return a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))
