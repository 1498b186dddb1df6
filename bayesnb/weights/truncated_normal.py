"""Normal vectors whose first entries are not negative: their probability, and draws of them."""

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import log_ndtr, logsumexp, ndtri_exp

__all__ = ["draw_truncated", "log_probability"]

STEPS = 30
"""Steps of elliptical slice sampling from each weighted draw."""

CANDIDATES = 4
"""Weighted draws for each one that is wanted."""


def log_probability(
    mean: np.ndarray, factor: np.ndarray, num_positive: int, num_draws: int, rng: np.random.Generator
) -> float:
    """Log probability that the first entries of a normal vector are not negative, an unbiased estimate.

    Parameters
    ----------
    mean : array, shape (entries,)
    factor : array, shape (entries, entries)
        Lower Cholesky factor of the covariance.
    num_positive : int
        Number of entries that must not be negative.
    num_draws : int
        Draws of the simulation of Geweke, Hajivassiliou and Keane (Geweke 1991, *Computing Science and Statistics* 23,
        571-578).
    rng : numpy.random.Generator
    """
    if not num_positive:
        return 0.0
    _, log_weight = _simulate(mean[:num_positive], factor[:num_positive, :num_positive], num_draws, rng)
    return float(logsumexp(log_weight) - np.log(num_draws))


def draw_truncated(
    mean: np.ndarray, factor: np.ndarray, num_positive: int, num_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """Draws of a normal vector given that its first entries are not negative, shape (draws, entries).

    Weighted draws of the simulation of Geweke, Hajivassiliou and Keane are resampled by their weights. Each then takes
    steps of elliptical slice sampling, which leave the distribution as it is and separate draws that are the same
    (Gessner, Kanjilal and Hennig 2020, *Integrals over Gaussians under linear domain constraints*, AISTATS).

    Parameters
    ----------
    mean, factor, num_positive, rng
        As for `log_probability`.
    num_draws : int
    """
    first, log_weight = _simulate(
        mean[:num_positive], factor[:num_positive, :num_positive], CANDIDATES * num_draws, rng
    )
    chosen = first[_resample(log_weight, num_draws, rng)]
    # The other entries have no bound: they are normal given the first ones.
    free = rng.standard_normal((num_draws, len(mean) - num_positive))
    standard = np.hstack([_standardised(chosen - mean[:num_positive], factor[:num_positive, :num_positive]), free])
    away = standard @ factor.T
    for _ in range(STEPS):
        away = _slice_step(away, rng.standard_normal(away.shape) @ factor.T, mean[:num_positive], rng)
    draws = mean + away
    # Rounding may leave a draw on the wrong side of zero by 1e-17.
    draws[:, :num_positive] = np.maximum(draws[:, :num_positive], 0.0)
    return draws


def _simulate(
    mean: np.ndarray, factor: np.ndarray, num_draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draws that are not negative, shape (draws, entries), and their log weights: one entry given those before it."""
    # The entries with the least room go first, so that later ones depend on them and not the reverse.
    order = np.argsort(mean / np.sqrt((factor**2).sum(axis=1)))
    covariance = (factor @ factor.T)[np.ix_(order, order)]
    lower = cholesky(covariance, lower=True)
    standard = np.empty((num_draws, len(mean)))
    log_weight = np.zeros(num_draws)
    for j, centre in enumerate(mean[order]):
        least = -(centre + standard[:, :j] @ lower[j, :j]) / lower[j, j]
        log_above = log_ndtr(-least)
        log_weight += log_above
        # A standard normal number above `least`, by its distribution function; -log(u) is an exponential draw.
        standard[:, j] = -ndtri_exp(log_above - rng.standard_exponential(num_draws))
    draws = np.empty_like(standard)
    draws[:, order] = np.maximum(mean[order] + standard @ lower.T, 0.0)
    return draws, log_weight


def _resample(log_weight: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """Positions drawn with probabilities in proportion to the weights, in random order; systematic resampling."""
    cumulative = np.cumsum(np.exp(log_weight - logsumexp(log_weight)))
    at = (np.arange(number) + rng.uniform()) / number
    return rng.permutation(np.minimum(np.searchsorted(cumulative, at), len(log_weight) - 1))


def _standardised(away: np.ndarray, factor: np.ndarray) -> np.ndarray:
    return solve_triangular(factor, away.T, lower=True).T


def _slice_step(away: np.ndarray, other: np.ndarray, mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A point of the ellipse away cos(t) + other sin(t) that is uniform in t among those that are allowed."""
    bounded = len(mean)
    here, there = away[:, :bounded], other[:, :bounded]
    radius = np.hypot(here, there)
    # Entry j is allowed where radius cos(t - phase) >= -mean, and t = 0 is allowed.
    reach = np.arccos(np.clip(-mean / np.maximum(radius, np.finfo(np.float64).tiny), -1.0, 1.0))
    phase = np.arctan2(there, here)
    # The arc that entry j forbids, which does not hold 0.
    start = np.clip(np.mod(phase + reach, 2 * np.pi), 0.0, 2 * np.pi)
    stop = np.clip(start + 2 * (np.pi - reach), 0.0, 2 * np.pi)
    order = np.argsort(start, axis=1)
    start = np.take_along_axis(start, order, axis=1)
    stop = np.maximum.accumulate(np.take_along_axis(stop, order, axis=1), axis=1)
    rows = len(away)
    begins = np.hstack([np.zeros((rows, 1)), stop])
    lengths = np.maximum(np.hstack([start, np.full((rows, 1), 2 * np.pi)]) - begins, 0.0)
    total = np.cumsum(lengths, axis=1)
    at = rng.uniform(size=(rows, 1)) * total[:, -1:]
    arc = np.minimum((total < at).sum(axis=1, keepdims=True), bounded)
    before = np.take_along_axis(total - lengths, arc, axis=1)
    angle = np.take_along_axis(begins, arc, axis=1) + (at - before)
    return away * np.cos(angle) + other * np.sin(angle)
