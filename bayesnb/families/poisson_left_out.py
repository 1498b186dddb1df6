"""Poisson rows predicted from the other rows."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from bayesnb.families.large_counts import log_negative_binomial
from bayesnb.families.rate_counts import RateCounts
from bayesnb.rows import row_pieces
from bayesnb.statistics.counts import Counts

__all__ = ["left_out", "refitted"]


def left_out(prior: Any, x: np.ndarray, codes: np.ndarray, statistics: RateCounts) -> np.ndarray | None:
    """As `ConjugateFamily.row_log_left_out`."""
    result = np.empty(len(x))
    for rows in row_pieces(*x.shape):
        at = codes[rows]
        observed = ~np.isnan(x[rows])
        counts = np.where(observed, x[rows], 0.0)
        n, total = statistics.n[at] - observed, statistics.total[at] - counts
        if not np.asarray(prior.possible(replace(statistics, n=n, total=total))).all():
            return None
        cells = log_negative_binomial(counts, prior.concentration[at] + total, prior.rate[at] + n)
        result[rows] = np.where(observed, cells, 0.0).sum(axis=-1)
    return result


def refitted(
    prior: Any, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Counts, held: np.ndarray
) -> np.ndarray:
    """As `ConjugateFamily.row_log_refitted`: without a row, only the default rate and the row's own class change."""
    whole = prior.on_scale_of(statistics.pooled())
    result = np.empty(held.shape)
    for rows in row_pieces(*x.shape):
        result[rows] = _refitted(prior, whole, statistics, x[rows], codes[rows], weights[rows], held[rows])
    return result


def _refitted(
    prior: Any,
    whole: Any,
    statistics: Counts,
    x: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray,
    held: np.ndarray,
) -> np.ndarray:
    """As `refitted`, given the prior with a default rate, and the prior with the rate of all rows."""
    missing = np.isnan(x)
    counts, weight = np.where(missing, 0.0, x), np.where(missing, 0.0, weights[:, None])
    # Posteriors do not need log_base.
    cell = Counts(weight, weight * counts, np.zeros_like(x))
    pooled = Counts(statistics.n, statistics.total, np.zeros_like(statistics.n)).pooled()
    of_class = Counts(statistics.n[codes], statistics.total[codes], np.zeros_like(x))
    scale, rest = (pooled - cell).without_rounding(pooled), (of_class - cell).without_rounding(of_class)
    result = held.copy()
    for c in range(held.shape[1]):
        # Without the row the posterior rate b of another class is b + change, and its shape a is the same.
        a, b = prior.concentration[c] + statistics.total[c], whole.rate[c] + statistics.n[c]
        change = prior.take(c).on_scale_of(scale).rate - whole.rate[c]
        of_count, of_shape = np.log1p(change / (1 + b)), np.log1p(-change / ((b + change) * (1 + b)))
        result[:, c] -= np.where(missing, 0.0, counts * of_count + a * of_shape).sum(axis=-1)
    possible = prior.possible(rest)
    own = prior.take(codes).on_scale_of(scale).update(jax.tree.map(lambda leaf: np.where(possible, leaf, 0.0), rest))
    density = np.where(missing, 0.0, log_negative_binomial(counts, own.concentration, own.rate)).sum(axis=-1)
    result[np.arange(len(x)), codes] = np.where(possible.all(axis=-1), density, np.nan)
    return result
