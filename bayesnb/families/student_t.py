"""Log Student-t densities summed over columns, and the same with a cell left out."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays import log_rising, namespace
from bayesnb.statistics.base import ROUNDING
from bayesnb.statistics.moments import Moments

__all__ = ["GROUP", "RATE", "SMALLEST_REST", "refitted", "sum_of_logs"]

RATE = 0.1
"""Default `rate` of a Gaussian column, in variances of the column."""

SMALLEST_REST = 1e-6
"""Smallest share of a spread that must remain without a cell; below, the difference is too inaccurate."""

GROUP = 8
"""Factors under one logarithm: seven multiplications are faster than seven logarithms."""


def sum_of_logs(excess: Any, exponent: Any, *, group: int) -> Any:
    """Sum over columns of exponent * log(1 + excess), in float64, shape (rows, classes).

    The logarithm is taken of products over `group` columns, which must have the exponent in common. The products are
    stored minus one, (1 + u)(1 + v) - 1 = u + v + u v, so that numbers far below one keep their digits.

    Parameters
    ----------
    excess : jax.Array, shape (rows, classes, columns)
    exponent : array, shape (..., classes, columns)
    """
    width = excess.shape[-1] // group
    grouped = width * group
    factors = excess[..., :grouped].reshape(*excess.shape[:2], group, width)
    products = jax.lax.reduce(factors, np.zeros((), excess.dtype), lambda u, v: u + v + u * v, (2,))
    logs = exponent[..., :width] * jnp.log1p(products)
    rest = exponent[..., grouped:] * jnp.log1p(excess[..., grouped:])
    return logs.sum(axis=-1, dtype=jnp.float64) + rest.sum(axis=-1, dtype=jnp.float64)


def refitted(
    prior: Any, statistics: Moments, x: np.ndarray, codes: np.ndarray, weight: Any, *, compiled: bool
) -> np.ndarray:
    """Log density of each row under each class given the other rows, `loc` and `rate` following them alone.

    Parameters
    ----------
    prior : Gaussian
        The prior with its defaults not set.
    statistics : Moments
        Of all rows, shape (classes, columns).
    x : array, shape (rows, columns)
    codes : array of int, shape (rows,)
    weight : float, or array of shape (rows, 1, 1)
    compiled : bool
        Whether to compile, for many rows of one weight.

    Returns
    -------
    array, shape (rows, classes)
        Not finite where a difference has too few digits, or a row cannot have been among the data.
    """
    log_sums: Any = _compiled_log_sums if compiled else partial(_log_sums, add=_plain_sum)
    observed = (~np.isnan(x)).astype(np.float64)
    found = []
    for own in (False, True):
        table, constant = _without_a_cell(prior, statistics, weight, own=own)
        together = constant.ndim == 2
        constants = observed @ constant.T if together else (observed[:, None] * constant).sum(axis=-1)
        options = {"group": GROUP if (table[:, 0] == table[:, 0, :1]).all() else 1} if compiled else {}
        found.append(np.asarray(log_sums(table, x, statistics.mean, **options)) + constants)
    return np.where(codes[:, None] == np.arange(len(statistics.n)), found[1], found[0])


def _without_a_cell(prior: Any, statistics: Moments, weight: Any, *, own: bool) -> tuple[np.ndarray, np.ndarray]:
    """How the predictive of a cell depends on the cell, if `loc` and `rate` follow all rows except the cell's own.

    All quantities are polynomials in t = x - mean of the class. With m, S, N the column's mean, sum of squared
    deviations and weight, d = x - m and w the row's weight, the defaults of the rest are

        loc = m - w d / (N - w),    rate = RATE (S - d² w N / (N - w)) / (N - w),

    and the row's own class has weight n - w, mean - w t / (n - w) and ssd - t² w n / (n - w). With B the posterior's
    rate given all rows, b the rate and a the concentration given the rest, and k = kappa / (2 B (kappa + 1)),

        b / B = 1 + p0 + p1 t + p2 t²,    sqrt(k) (x - loc) = q0 + q1 t,

    so that the log density is

        log rising(a, 1/2) + 1/2 log(k / pi) + a log(b / B) - (a + 1/2) log(b / B + k (x - loc)²).

    Parameters
    ----------
    own : bool
        Whether the class is the row's own class, from which the row is also removed.

    Returns
    -------
    tuple of array, shape (..., classes, 7, columns), and array, shape (..., classes, columns)
        The numbers a, p0, p1, p2, q0, q1 and the largest t² that a cell of the class can have; and the first two terms.
        Where no weight is left the numbers are not finite.
    """
    pooled, whole = statistics.pooled(), prior.on_scale_of(statistics.pooled())
    every = whole.update(statistics)
    from_all, left = statistics.mean - pooled.mean, _left(pooled.n, weight)
    # The prior: loc = that of all rows - pull * d, rate = rate0 - rate2 * d².
    pull = weight / left if prior.loc is None else 0.0
    spreads = (pooled.ssd > 0) & (prior.rate is None)
    rate0 = np.where(spreads, RATE * pooled.ssd / left, whole.rate)
    rate2 = np.where(spreads, RATE * weight * pooled.n / left**2, 0.0)
    # The data: the mean of the class less the prior's loc is gap0 + gap1 * t.
    taken = weight if own else 0.0
    n = _left(statistics.n, taken)
    shift = taken / n if own else 0.0
    gap0, gap1 = statistics.mean - whole.loc + pull * from_all, pull - shift
    kappa, pulled = prior.kappa + n, prior.kappa * n / (prior.kappa + n)
    a, precision = every.concentration - 0.5 * taken, kappa / (2 * every.rate * (kappa + 1))
    scale = statistics.ssd * (1 + ROUNDING) + statistics.n * (1e-8 * statistics.mean) ** 2
    table = [
        a,
        (rate0 - rate2 * from_all**2 + 0.5 * (statistics.ssd + pulled * gap0**2)) / every.rate - 1,
        (pulled * gap0 * gap1 - 2 * rate2 * from_all) / every.rate,
        (0.5 * (pulled * gap1**2 - shift * statistics.n) - rate2) / every.rate,
        np.sqrt(precision) * gap0 * prior.kappa / kappa,
        np.sqrt(precision) * (1 + pull - gap1 * n / kappa),
        scale / (shift * statistics.n) if own else np.inf,
    ]
    constant = log_rising(a, np.array(0.5)) + 0.5 * np.log(precision / np.pi)
    return np.stack(np.broadcast_arrays(*table), axis=-2), np.nan_to_num(constant)


def _left(n: Any, weight: Any) -> Any:
    """Remaining weight; NaN if there was some and none remains."""
    return np.where((n - weight > ROUNDING * n) | (n == 0), n - weight, np.nan)


def _log_sums(table: Any, x: Any, mean: Any, *, add: Any) -> Any:
    """Sum over observed columns of a log(b / B) - (a + 1/2) log(b / B + k (x - loc)²), shape (rows, classes).

    Parameters
    ----------
    table : array, shape (..., classes, 7, columns)
        Result of `_without_a_cell`.
    x : array, shape (rows, columns)
    mean : array, shape (classes, columns)
    add : callable
        Sums exponent * log(1 + excess) over columns, given excess and exponent.
    """
    xp, _ = namespace(x)
    a, p0, p1, p2, q0, q1, largest = (table[..., i, :] for i in range(7))
    missing = xp.isnan(x)[:, None]
    t = xp.where(missing, 0.0, x[:, None] - mean)
    shrunk = p0 + t * (p1 + t * p2)
    # Where the cell makes nearly all of the rate, the difference has too few digits.
    good = (shrunk > SMALLEST_REST - 1) & (t**2 <= largest)
    shrunk = xp.where(missing, 0.0, xp.where(good, shrunk, xp.nan))
    excess = shrunk + xp.where(missing, 0.0, (q0 + t * q1) ** 2)
    return add(shrunk, a) - add(excess, a + 0.5)


def _plain_sum(excess: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    return (exponent * np.log1p(excess)).sum(axis=-1)


@partial(jax.jit, static_argnames="group")
def _compiled_log_sums(table: Any, x: Any, mean: Any, *, group: int) -> Any:
    return _log_sums(table, x, mean, add=partial(sum_of_logs, group=group))
