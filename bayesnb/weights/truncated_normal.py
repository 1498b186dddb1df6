"""Normal vectors whose first entries are not negative: their probability, and draws of them."""

import numpy as np
from scipy.linalg import cho_solve

from bayesnb.weights.orthant import no_negative_entry

__all__ = ["draw_truncated", "log_probability"]

CHAINS = 200
"""Chains of draws, computed together."""

WARM_UP = 20
"""Steps of each chain before the first draw that is kept."""

TIME = np.pi / 2
"""Length of a trajectory; without bounds its end does not depend on its start."""


def log_probability(mean: np.ndarray, factor: np.ndarray, num_positive: int) -> float:
    """Log probability that the first entries of a normal vector are not negative.

    Parameters
    ----------
    mean : array, shape (entries,)
    factor : array, shape (entries, entries)
        Lower Cholesky factor of the covariance.
    num_positive : int
        Number of entries that must not be negative.
    """
    first = factor[:num_positive, :num_positive]
    return no_negative_entry(mean[:num_positive], first)[0] if num_positive else 0.0


def draw_truncated(
    mean: np.ndarray, factor: np.ndarray, num_positive: int, num_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """Draws of a normal vector given that its first entries are not negative, shape (draws, entries).

    Exact Hamiltonian Monte Carlo: a point moves on an ellipse and is reflected where an entry becomes zero (Pakman and
    Paninski 2014, *Journal of Computational and Graphical Statistics* 23, 518-542). Nothing is rejected. Correlations
    do not slow it down, because the velocities have the covariance of the positions.

    Parameters
    ----------
    mean, factor, num_positive
        As for `log_probability`.
    num_draws : int
    rng : numpy.random.Generator
    """
    covariance = factor @ factor.T
    start = np.zeros(len(mean))
    if num_positive:
        first = factor[:num_positive, :num_positive]
        shift = no_negative_entry(mean[:num_positive], first)[1] - mean[:num_positive]
        start = covariance[:, :num_positive] @ cho_solve((first, True), shift)
    chains = min(CHAINS, max(num_draws, 1))
    away, kept = np.tile(start, (chains, 1)), []
    for step in range(WARM_UP + -(-num_draws // chains)):
        away = _trajectories(away, rng.standard_normal(away.shape) @ factor.T, covariance, mean[:num_positive])
        if step >= WARM_UP:
            kept.append(away)
    draws = mean + np.concatenate(kept or [away])[:num_draws]
    # Rounding may leave a draw on the wrong side of zero by 1e-17.
    draws[:, :num_positive] = np.maximum(draws[:, :num_positive], 0.0)
    return draws


def _trajectories(away: np.ndarray, velocity: np.ndarray, covariance: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Ends of the trajectories that begin with the given distances from the mean, and velocities, one in each row."""
    ends, bounded = away.copy(), len(mean)
    moving, left = np.arange(len(away)), np.full(len(away), TIME)
    while len(moving):
        rows = np.arange(len(moving))
        # Entry j moves as radius cos(t - phase), and is zero where that is -mean.
        radius = np.hypot(away[:, :bounded], velocity[:, :bounded])
        level = -mean / np.maximum(radius, np.finfo(np.float64).tiny)
        arrival = np.arctan2(velocity[:, :bounded], away[:, :bounded]) + np.arccos(np.clip(level, -1.0, 1.0))
        # Rounding may put the arrival of an entry that is about to be zero before the present.
        arrival = np.hstack([np.where(level <= -1.0, np.inf, np.maximum(arrival, 0.0)), left[:, None]])
        hit = arrival.argmin(axis=1)
        passed = arrival[rows, hit][:, None]
        cosine, sine = np.cos(passed), np.sin(passed)
        away, velocity = away * cosine + velocity * sine, velocity * cosine - away * sine
        on = hit < bounded
        ends[moving[~on]] = away[~on]
        moving, left, hit = moving[on], (left - passed[:, 0])[on], hit[on]
        away, velocity, rows = away[on], velocity[on], np.arange(len(moving))
        # The velocity loses twice its part along the bound's normal, in the metric of the precision.
        away[rows, hit] = -mean[hit]
        velocity -= (2 * velocity[rows, hit] / covariance[hit, hit])[:, None] * covariance[hit]
    return ends
