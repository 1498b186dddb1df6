"""Formulas that fits and fitted models share, which need NumPy alone."""

from functools import reduce
from typing import Any

import numpy as np

# --------------------------------------------------------------------------------------------------
# Stirling's series, for NumPy and for JAX
# --------------------------------------------------------------------------------------------------

FROM = 16.0
"""From here on the series have an error of 1e-14."""


def rising_by_series(a: Any, x: Any, xp: Any = np) -> Any:
    """`log_rising` for a >= 16; for smaller a, a finite number without meaning. `xp` is NumPy or `jax.numpy`."""
    large = xp.maximum(a, FROM)
    logs = (large + x - 0.5) * xp.log1p(x / large) + x * (xp.log(large) - 1)
    return logs + (rest_by_series(large + x, xp) - rest_by_series(large, xp))


def rest_by_series(z: Any, xp: Any = np) -> Any:
    """`stirling_rest` for z >= 16; for smaller z, a finite number without meaning."""
    large = xp.maximum(z, FROM)
    square = 1 / large**2
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / large


def rising_in_numpy(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """`log_rising` of arrays for x >= 0, without a log-gamma function.

    For a >= 16 it has the same digits. For smaller a, sixteen factors of the rising factorial come before the series.
    """
    found = rising_by_series(a, x)
    small = a < FROM
    if not small.any():
        return found
    factors = sum(np.log((a + k) / (a + k + x)) for k in range(int(FROM)))
    return np.where(small, rising_by_series(a + FROM, x) + factors, found)


# --------------------------------------------------------------------------------------------------
# Features and rows that say nothing
# --------------------------------------------------------------------------------------------------

HIGHEST = 700.0
"""Logarithm of nearly the largest float64."""


def mixed(log_density: Any, log_prior: Any, share: Any, xp: Any = np) -> Any:
    r"""Log densities given the class, if with probability `share` they are the same given every class.

    .. math:: p'(x \mid c) = (1 - s) \, p(x \mid c) + s \sum_k \pi_k \, p(x \mid k)

    Parameters
    ----------
    log_density : array, shape (..., classes)
        A number that all classes share changes the result by this number.
    log_prior : array, shape (..., classes)
        Log class probabilities, which add up to one.
    share : float or None
        None means zero, where JAX must know it before it has the number.
    xp : module
        NumPy or `jax.numpy`.

    Returns
    -------
    array, shape (..., classes)
        The log ratio of class c to another is at most the logarithm of :math:`1 + (1 - s) / (s \pi_c)`.
    """
    if isinstance(share, float | int | None) and not share:
        return log_density
    # Class by class, because short rows cost NumPy more than their numbers do.
    classes = range(log_density.shape[-1])
    highest = reduce(xp.maximum, (log_density[..., c] + log_prior[..., c] for c in classes))
    highest = xp.where(xp.isneginf(highest), 0.0, highest)[..., None]
    # Relative to the highest joint density. A class without probability may be far above, and must not be infinite.
    density = xp.exp(xp.minimum(log_density - highest, HIGHEST))
    prior = xp.exp(log_prior)
    pooled = sum(density[..., c] * prior[..., c] for c in classes)
    with np.errstate(divide="ignore"):
        return highest + xp.log((1.0 - share) * density + share * pooled[..., None])
