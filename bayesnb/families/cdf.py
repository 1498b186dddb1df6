"""Distribution functions and quantiles of NumPyro's distributions, by SciPy where it has them.

Distributions that are not registered here use their own ``cdf`` and ``icdf``. Bisection of ``cdf`` is in place of a
missing ``icdf``.
"""

from typing import Any

import numpy as np
import numpyro.distributions as dist
import scipy.special
from scipy.stats import vonmises

from bayesnb.families.compiled import compiled
from bayesnb.families.dispatch import dispatch

__all__ = ["cdf", "ends", "quantile"]


@dispatch("cdf")
def cdf(distribution: dist.Distribution, x: Any) -> np.ndarray:
    """Cumulative distribution function, float64."""
    return np.asarray(compiled(_cdf, distribution, x))


def _cdf(distribution: dist.Distribution, x: Any) -> Any:
    return distribution.cdf(x)


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
def _(distribution: dist.LogNormal, x: Any) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return cdf(dist.Normal(distribution.loc, distribution.scale), np.log(x))


@cdf.register
def _(distribution: dist.Exponential, x: Any) -> np.ndarray:
    return -np.expm1(-np.asarray(distribution.rate) * x)


@cdf.register
def _(distribution: dist.StudentT, x: Any) -> np.ndarray:
    z = (x - np.asarray(distribution.loc)) / np.asarray(distribution.scale)
    return scipy.special.stdtr(np.asarray(distribution.df), z)


@cdf.register
def _(distribution: dist.VonMises, x: Any) -> np.ndarray:
    """Probability of the angles from -pi to x. SciPy's function counts on over whole turns."""
    loc, concentration = np.asarray(distribution.loc), np.asarray(distribution.concentration)
    return vonmises.cdf(x - loc, concentration) - vonmises.cdf(-np.pi - loc, concentration)


@dispatch("icdf")
def quantile(distribution: dist.Distribution, level: np.ndarray) -> np.ndarray:
    """Inverse of the cumulative distribution function, float64.

    Raises
    ------
    NotImplementedError
        If the distribution has neither ``icdf`` nor ``cdf``.
    """
    try:
        return np.asarray(compiled(_icdf, distribution, level))
    except (NotImplementedError, ImportError):
        # NumPyro takes some quantiles from a library that need not be installed.
        return _by_bisection(distribution, np.asarray(level))


def _icdf(distribution: dist.Distribution, level: Any) -> Any:
    return distribution.icdf(level)


def _by_bisection(distribution: dist.Distribution, level: np.ndarray) -> np.ndarray:
    """Smallest number of the support at which ``cdf`` reaches the level.

    The bits of float64 numbers are bisected, so that 64 steps find the number whatever its magnitude.
    """
    shape = np.broadcast_shapes(level.shape, distribution.batch_shape)
    low, high = (np.broadcast_to(_in_order(np.asarray(end, dtype=np.float64)), shape) for end in ends(distribution))
    for _ in range(64):
        # The average of two integers, whose sum may be too large.
        middle = (low & high) + ((low ^ high) >> 1)
        with np.errstate(all="ignore"):
            below = cdf(distribution, _from_order(middle)) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return _from_order(high)


def ends(distribution: dist.Distribution) -> tuple[Any, Any]:
    """Smallest and largest number that the support of a distribution of numbers holds, infinite where it has no end."""
    support = distribution.support
    return getattr(support, "lower_bound", -np.inf), getattr(support, "upper_bound", np.inf)


def _in_order(x: np.ndarray) -> np.ndarray:
    """Whole numbers in the order of the numbers given: their bits, those of negative numbers turned round."""
    bits = np.nan_to_num(x).view(np.int64)
    return bits ^ ((bits >> 63) & np.iinfo(np.int64).max)


def _from_order(order: np.ndarray) -> np.ndarray:
    """Inverse of `_in_order`."""
    return (order ^ ((order >> 63) & np.iinfo(np.int64).max)).view(np.float64)


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
