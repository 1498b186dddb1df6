"""Mean and variance of NumPyro's distributions, by NumPy where JAX would compile several operations for each shape."""

import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays import in_float64
from bayesnb.families.dispatch import dispatch

__all__ = ["mean_and_sd", "mean_of", "variance_of"]


def mean_and_sd(distribution: dist.Distribution) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each number, float64; infinite or NaN where they do not exist."""
    return mean_of(distribution), np.sqrt(variance_of(distribution))


@dispatch("mean")
@in_float64
def mean_of(distribution: dist.Distribution) -> np.ndarray:
    """Mean of each number, float64; infinite where it does not exist."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(distribution.mean)


@mean_of.register
def _(distribution: dist.BernoulliProbs) -> np.ndarray:
    return np.asarray(distribution.probs)


@mean_of.register
def _(distribution: dist.Beta) -> np.ndarray:
    a, b = np.asarray(distribution.concentration1), np.asarray(distribution.concentration0)
    return np.asarray(a / (a + b))


@mean_of.register
def _(distribution: dist.Gamma) -> np.ndarray:
    return np.asarray(np.asarray(distribution.concentration) / np.asarray(distribution.rate))


@mean_of.register
def _(distribution: dist.InverseGamma) -> np.ndarray:
    a, rate = np.asarray(distribution.concentration), np.asarray(distribution.rate)
    with np.errstate(divide="ignore"):
        return np.where(a > 1, rate / (a - 1), np.inf)


@mean_of.register
def _(distribution: dist.MultinomialProbs) -> np.ndarray:
    return np.asarray(distribution.probs) * np.asarray(distribution.total_count)[..., None]


@mean_of.register
def _(distribution: dist.StudentT) -> np.ndarray:
    return np.where(np.asarray(distribution.df) > 1, distribution.loc, np.inf)


@dispatch("variance")
@in_float64
def variance_of(distribution: dist.Distribution) -> np.ndarray:
    """Variance of each number, float64; infinite or NaN where it does not exist."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(distribution.variance)


@variance_of.register
def _(distribution: dist.Beta) -> np.ndarray:
    a, b = np.asarray(distribution.concentration1), np.asarray(distribution.concentration0)
    return np.asarray(a * b / ((a + b) ** 2 * (a + b + 1)))


@variance_of.register
def _(distribution: dist.Gamma) -> np.ndarray:
    return np.asarray(distribution.concentration) / np.asarray(distribution.rate) ** 2


@variance_of.register
def _(distribution: dist.InverseGamma) -> np.ndarray:
    a = np.asarray(distribution.concentration)
    with np.errstate(divide="ignore"):
        return np.where(a > 2, mean_of(distribution) ** 2 / (a - 2), np.inf)


@variance_of.register
def _(distribution: dist.StudentT) -> np.ndarray:
    df, scale = np.asarray(distribution.df), np.asarray(distribution.scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        existing = np.where(df > 2, scale**2 * df / (df - 2), np.inf)
    return np.where(df > 1, existing, np.nan)
