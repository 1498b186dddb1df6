r"""Tests of numbers that are uniform if draws are right.

A Legendre polynomial of a uniform number has mean zero and variance one, and it is bounded. Its mean over correlated
draws times the root of their effective number is therefore close to standard normal from a few hundred effective draws
on. A standard deviation over its estimated standard error is not. Tests of this kind are Neyman's smooth tests
(1937, *Skandinavisk Aktuarietidskrift* 20, 149-199) for draws that depend on each other.
"""

import numpy as np

from bayesnb.posterior.convergence import ess_of_mean

__all__ = ["DEGREES", "ess_and_z", "legendre", "ranks_among"]

DEGREES = (1, 2, 3, 4)
"""Degrees of the polynomials, which test location, spread, skewness and tails."""


def legendre(u: np.ndarray, degree: int) -> np.ndarray:
    """Legendre polynomial of 2 u - 1, of mean zero and variance one if `u` is uniform.

    Parameters
    ----------
    u : array
        Numbers between zero and one.
    degree : {1, 2, 3, 4}

    Returns
    -------
    array, shape of `u`
    """
    v = 2 * u - 1
    if degree == 1:
        return np.sqrt(3) * v
    square = v * v
    if degree == 2:
        return np.sqrt(5) / 2 * (3 * square - 1)
    if degree == 3:
        return np.sqrt(7) / 2 * v * (5 * square - 3)
    return 3 / 8 * (35 * square * square - 30 * square + 3)


def ess_and_z(series: np.ndarray, *, variance: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Effective number of draws of each series, and its mean in standard errors.

    Parameters
    ----------
    series : array, shape (chains, draws, series)
        Of mean zero and variance one if the draws are right.
    variance : float, default 0
        Variance of the number that the mean is compared with.

    Returns
    -------
    ess, z : array, shape (series,)
        `ess` is at most the number of draws, also for chains that are worth more.
    """
    ess = np.minimum(ess_of_mean(series), series.shape[0] * series.shape[1])
    return ess, series.mean(axis=(0, 1)) / np.sqrt(1 / ess + variance)


def ranks_among(reference: np.ndarray, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rank of each value among independent draws, as a number that is uniform if both have the same distribution.

    Parameters
    ----------
    reference : array, shape (independent draws, quantities)
    values : array, shape (..., quantities)
    rng : numpy.random.Generator
        Breaks ties, and chooses a number between the ranks of neighbours.

    Returns
    -------
    array, shape of `values`
    """
    result = np.empty(values.shape)
    for k in range(values.shape[-1]):
        ordered = np.sort(reference[:, k])
        below, upto = (np.searchsorted(ordered, values[..., k], side=side) for side in ("left", "right"))
        place = below + (upto - below + 1) * rng.uniform(size=below.shape)
        result[..., k] = place / (len(ordered) + 1)
    return result
