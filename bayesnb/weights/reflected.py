"""Draws of normal vectors without negative entries, by trajectories that are reflected at zero."""

import numpy as np

__all__ = ["reflected_draws"]

WARM_UP = 20
"""Steps of each chain before the first draw that is kept."""

TIME = np.pi / 2
"""Length of a trajectory; without bounds its end does not depend on its start."""


def reflected_draws(
    start: np.ndarray, mean: np.ndarray, factor: np.ndarray, num_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """Draws of a normal vector given that no entry is negative, shape (draws, entries).

    Exact Hamiltonian Monte Carlo: a point moves on an ellipse and is reflected where an entry becomes zero (Pakman and
    Paninski 2014, *Journal of Computational and Graphical Statistics* 23, 518-542). Nothing is rejected. Velocities
    have the covariance of the positions, so that correlations do not slow it down.

    Parameters
    ----------
    start : array, shape (chains, entries)
        Points without negative entries.
    mean : array, shape (entries,)
    factor : array, shape (entries, entries)
        Lower Cholesky factor of the covariance.
    num_draws : int
        Chains take turns, so that neighbours are independent.
    rng : numpy.random.Generator
    """
    covariance = factor @ factor.T
    away, kept = start - mean, []
    for step in range(WARM_UP + -(-num_draws // len(start))):
        away = _trajectories(away, rng.standard_normal(away.shape) @ factor.T, covariance, mean)
        if step >= WARM_UP:
            kept.append(away)
    # Rounding may put a draw below zero by 1e-17.
    return np.maximum(mean + np.concatenate(kept)[:num_draws], 0.0)


def _trajectories(away: np.ndarray, velocity: np.ndarray, covariance: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Ends of trajectories, shape (chains, entries), given distances from the mean and velocities at their starts."""
    ends = np.empty_like(away)
    moving, left = np.arange(len(away)), np.full(len(away), TIME)
    while len(moving):
        rows = np.arange(len(moving))
        # Entry j moves as radius cos(t - phase), and is zero where that is -mean.
        radius = np.hypot(away, velocity)
        level = -mean / np.maximum(radius, np.finfo(np.float64).tiny)
        arrival = np.arctan2(velocity, away) + np.arccos(np.clip(level, -1.0, 1.0))
        # Rounding may put the arrival of an entry that is about to be zero before the present.
        arrival = np.hstack([np.where(level <= -1.0, np.inf, np.maximum(arrival, 0.0)), left[:, None]])
        hit = arrival.argmin(axis=1)
        passed = arrival[rows, hit][:, None]
        cosine, sine = np.cos(passed), np.sin(passed)
        away, velocity = away * cosine + velocity * sine, velocity * cosine - away * sine
        on = hit < len(mean)
        ends[moving[~on]] = away[~on]
        moving, left, hit = moving[on], (left - passed[:, 0])[on], hit[on]
        away, velocity, rows = away[on], velocity[on], np.arange(len(moving))
        # The velocity loses twice its part along the bound's normal, in the metric of the precision.
        away[rows, hit] = -mean[hit]
        velocity -= (2 * velocity[rows, hit] / covariance[hit, hit])[:, None] * covariance[hit]
    return ends
