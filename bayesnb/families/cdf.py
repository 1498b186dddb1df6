"""Distribution functions and quantiles of NumPyro's distributions, by SciPy where it has them.

Distributions that are not registered here use their own ``cdf`` and ``icdf``.
"""

from functools import singledispatch
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import scipy.special

__all__ = ["cdf", "quantile"]


@singledispatch
def cdf(distribution: dist.Distribution, x: Any) -> np.ndarray:
    """Cumulative distribution function, float64."""
    with jax.enable_x64(True):
        return np.asarray(distribution.cdf(x))


@cdf.register
def _(distribution: dist.Beta, x: Any) -> np.ndarray:
    return scipy.special.betainc(np.asarray(distribution.concentration1), np.asarray(distribution.concentration0), x)


@cdf.register
def _(distribution: dist.Gamma, x: Any) -> np.ndarray:
    return scipy.special.gammainc(np.asarray(distribution.concentration), x * np.asarray(distribution.rate))


@cdf.register
def _(distribution: dist.InverseGamma, x: Any) -> np.ndarray:
    return scipy.special.gammaincc(np.asarray(distribution.concentration), np.asarray(distribution.rate) / x)


@cdf.register
def _(distribution: dist.Normal, x: Any) -> np.ndarray:
    return scipy.special.ndtr((x - np.asarray(distribution.loc)) / np.asarray(distribution.scale))


@cdf.register
def _(distribution: dist.StudentT, x: Any) -> np.ndarray:
    z = (x - np.asarray(distribution.loc)) / np.asarray(distribution.scale)
    return scipy.special.stdtr(np.asarray(distribution.df), z)


@singledispatch
def quantile(distribution: dist.Distribution, level: np.ndarray) -> np.ndarray:
    """Inverse of the cumulative distribution function, float64."""
    with jax.enable_x64(True):
        return np.asarray(distribution.icdf(level))


@quantile.register
def _(distribution: dist.Delta, level: np.ndarray) -> np.ndarray:
    return np.broadcast_to(np.asarray(distribution.v), np.broadcast_shapes(level.shape, distribution.batch_shape))


@quantile.register
def _(distribution: dist.Beta, level: np.ndarray) -> np.ndarray:
    a, b = np.asarray(distribution.concentration1), np.asarray(distribution.concentration0)
    return scipy.special.betaincinv(a, b, level)


@quantile.register
def _(distribution: dist.Gamma, level: np.ndarray) -> np.ndarray:
    return scipy.special.gammaincinv(np.asarray(distribution.concentration), level) / np.asarray(distribution.rate)


@quantile.register
def _(distribution: dist.InverseGamma, level: np.ndarray) -> np.ndarray:
    return np.asarray(distribution.rate) / scipy.special.gammainccinv(np.asarray(distribution.concentration), level)


@quantile.register
def _(distribution: dist.StudentT, level: np.ndarray) -> np.ndarray:
    z = scipy.special.stdtrit(np.asarray(distribution.df), level)
    return np.asarray(distribution.loc) + np.asarray(distribution.scale) * z
