"""Poisson rows predicted from the other rows."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bayesnb.families.count_table import ROWS_AN_ENTRY, CountTable
from bayesnb.families.large_counts import log_negative_binomial
from bayesnb.rows import row_pieces
from bayesnb.statistics.counts import Counts

__all__ = ["left_out", "refitted"]


def left_out(prior: Any, x: np.ndarray, codes: np.ndarray, statistics: Counts) -> np.ndarray:
    """As `ConjugateFamily.row_log_left_out`."""
    own = partial(WithoutCell.of(prior, statistics).own, weights=1.0)
    return _table(x, len(statistics.n)).sums_of_own_class(own, codes, len(statistics.n))


def refitted(
    prior: Any, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Counts, held: np.ndarray
) -> np.ndarray:
    """As `ConjugateFamily.row_log_refitted`: without a row, only the default rate and the row's own class change."""
    without, num_classes = WithoutCell.of(prior, statistics), held.shape[1]
    if (weights == 1.0).all():
        table = _table(x, num_classes)
        result = held + table.sums(partial(without.change, weights=1.0), num_classes)
        own = table.sums_of_own_class(partial(without.own, weights=1.0), codes, num_classes)
        result[np.arange(len(x)), codes] = own
        return result
    result = held.copy()
    columns = np.arange(x.shape[1])
    for rows in row_pieces(*x.shape):
        observed, of_rows = ~np.isnan(x[rows]), np.arange(len(x))[rows]
        counts, weight = np.where(observed, x[rows], 0.0), np.where(observed, weights[rows, None], 0.0)
        for c in range(num_classes):
            change = without.change(c, columns, counts, weight)
            result[rows, c] += np.where(observed, change, 0.0).sum(axis=-1)
        own = without.own(codes[rows, None], columns, counts, weight)
        result[of_rows, codes[rows]] = np.where(observed, own, 0.0).sum(axis=-1)
    return result


def _table(x: np.ndarray, num_classes: int) -> CountTable:
    return CountTable.of(x, len(x) // (ROWS_AN_ENTRY * num_classes))


@dataclass(frozen=True)
class WithoutCell:
    """Densities of a cell given the other cells of its column.

    Attributes
    ----------
    prior : Poisson
        Its rate may be None, which is the default that follows the data.
    whole : Poisson
        The prior with the rate that follows from all cells.
    statistics, pooled : Counts, shapes (classes, columns) and (1, columns)
        Of all cells, by class and together. Posteriors do not need their ``log_base``, which is zero.
    """

    prior: Any
    whole: Any
    statistics: Counts
    pooled: Counts

    @classmethod
    def of(cls, prior: Any, statistics: Counts) -> "WithoutCell":
        """The prior and the statistics of all cells."""
        plain = Counts(statistics.n, statistics.total, np.zeros_like(statistics.n))
        return cls(prior, prior.on_scale_of(statistics.pooled()), plain, plain.pooled())

    def own(self, codes: Any, columns: Any, counts: Any, weights: Any) -> np.ndarray:
        """Log density of counts in their own class; NaN for a count that cannot be in the class.

        The classes, columns, counts and weights broadcast.
        """
        of_class = _rest(self.statistics, codes, columns, counts, weights)
        possible = self.prior.possible(of_class)
        rest = Counts(*(np.where(possible, leaf, 0.0) for leaf in (of_class.n, of_class.total, of_class.log_base)))
        scale = _rest(self.pooled, 0, columns, counts, weights)
        posterior = self.prior.take((codes, columns)).on_scale_of(scale).update(rest)
        density = log_negative_binomial(counts, posterior.concentration, posterior.rate)
        return np.where(possible, density, np.nan)

    def change(self, codes: Any, columns: Any, counts: Any, weights: Any) -> np.ndarray:
        """What a count's log density in other classes gains when the default rate follows the other cells only.

        The shape a of the posterior is the same without the cell, and its rate is b + change.
        """
        scale = _rest(self.pooled, 0, columns, counts, weights)
        a = self.prior.concentration[codes, columns] + self.statistics.total[codes, columns]
        b = self.whole.rate[codes, columns] + self.statistics.n[codes, columns]
        change = self.prior.take((codes, columns)).on_scale_of(scale).rate - self.whole.rate[codes, columns]
        return -counts * np.log1p(change / (1 + b)) - a * np.log1p(-change / ((b + change) * (1 + b)))


def _rest(statistics: Counts, codes: Any, columns: Any, counts: Any, weights: Any) -> Counts:
    """The statistics of a class and column without a count."""
    n, total, counts, weights = np.broadcast_arrays(
        statistics.n[codes, columns], statistics.total[codes, columns], counts, weights
    )
    before, zero = Counts(n, total, np.zeros(n.shape)), np.zeros(n.shape)
    return (before - Counts(weights, weights * counts, zero)).without_rounding(before)
