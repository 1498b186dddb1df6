"""Uniform values: their empirical distribution function, a band that contains it, and p-values as text."""

import numpy as np
from scipy.stats import binom

__all__ = ["ecdf_difference", "shown_p", "uniform_band"]


def uniform_band(num_values: int, prob: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Band that contains the whole empirical distribution function of uniform values with a given probability.

    Pointwise binomial intervals, widened until all of them hold simultaneously: Säilynoja, Bürkner and Vehtari (2022),
    *Statistics and Computing* 32, 32. The widening is found by simulation.

    Parameters
    ----------
    num_values : int
    prob : float
        Probability that the function stays inside at every point.

    Returns
    -------
    tuple of array
        Points in (0, 1), and the lower and upper end at each, as differences from the uniform distribution function.
    """
    points = np.linspace(0, 1, 102)[1:-1]
    cells = np.full(len(points) + 1, 1 / (len(points) + 1))
    counts = np.random.default_rng(0).multinomial(num_values, cells, size=5000).cumsum(axis=1)[:, :-1]
    possible = np.arange(num_values + 1)[:, None]
    tail = 2 * np.minimum(binom.cdf(possible, num_values, points), binom.sf(possible - 1, num_values, points))
    unusual = tail[counts, np.arange(len(points))].min(axis=1)
    level = np.quantile(unusual, 1 - prob)
    lower, upper = (binom.ppf(q, num_values, points) / num_values - points for q in (level / 2, 1 - level / 2))
    return points, lower, upper


def ecdf_difference(pit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the empirical distribution function of values in (0, 1), and its difference from the uniform one."""
    points = np.repeat(np.concatenate([[0.0], np.sort(pit), [1.0]]), 2)[1:-1]
    height = np.repeat(np.arange(len(pit) + 1) / len(pit), 2)
    return points, height - points


def shown_p(p_value: float) -> str:
    """A p-value as text, with its relation sign: the test's own precision ends near 1e-15."""
    return f"= {p_value:.1g}" if p_value > 1e-12 else "< 1e-12"
