"""Sufficient statistics of Poisson cells, which keep the digits of an evidence of large counts."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import jax
import numpy as np
from scipy.special import xlogy

from bayesnb.arrays import namespace
from bayesnb.families.large_counts import log_ratio
from bayesnb.statistics.counts import Counts, class_sums, observed_weight

__all__ = ["RateCounts", "count_with_rates", "rate_counts"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class RateCounts(Counts):
    r"""Counts of Poisson cells; ``log_base`` is the log likelihood at its maximum.

    That is :math:`\sum_i w_i \log p(x_i \mid \bar x)` with :math:`\bar x` the mean of the class's cells. The sum of
    log x! would be as large as N x log x, and an evidence is a small difference from it.

    Attributes
    ----------
    n, total, log_base : array, shape (classes, columns)
    """

    @property
    def mean(self) -> Any:
        """Total / n, zero where nothing was observed."""
        xp, _ = namespace(self.n)
        return self.total / xp.where(self.n == 0, 1.0, self.n)

    def at(self, rate: Any) -> Any:
        """Log likelihood at a rate, minus that at the mean; zero where nothing was observed."""
        xp, _ = namespace(self.n, rate)
        mean = xp.where(self.total > 0, self.mean, 1.0)
        excess = xp.where(self.total > 0, rate - mean, 0.0)
        counted = self.total * (log_ratio(excess, mean, mean + excess) - excess / mean)
        return xp.where(self.total > 0, counted, -self.n * rate)

    def __add__(self, other: Self) -> Self:
        whole = super().__add__(other)
        return replace(whole, log_base=whole.log_base + self.at(whole.mean) + other.at(whole.mean))

    def __sub__(self, other: Self) -> Self:
        rest = super().__sub__(other)
        # Rounding may leave a small negative number.
        some = (rest.n > 0) & (rest.total > 0)
        left = replace(rest, n=rest.n * (rest.n > 0), total=rest.total * some)
        return replace(rest, log_base=rest.log_base - left.at(self.mean) - other.at(self.mean))

    def pooled(self) -> Self:
        whole = super().pooled()
        return replace(whole, log_base=whole.log_base + self.at(whole.mean).sum(axis=0, keepdims=True))


def rate_counts(counts: Counts) -> RateCounts:
    """Statistics from counts whose ``log_base`` is the sum of -log x!, as files of format 1 hold them."""
    mean = counts.total / np.where(counts.n == 0, 1.0, counts.n)
    return RateCounts(counts.n, counts.total, counts.log_base + xlogy(counts.total, mean) - counts.total)


def count_with_rates(x: Any, membership: Any, log_density: Callable[[Any, Any], Any]) -> RateCounts:
    """Statistics of cells (rows, columns), given the weight of each row in each class (rows, classes).

    Parameters
    ----------
    x : array, shape (rows, columns)
        Missing cells are NaN.
    membership : array, shape (rows, classes)
    log_density : callable
        Log density of counts (rows, columns) under rates (columns,).
    """
    xp, _ = namespace(x)
    observed = ~xp.isnan(x)
    counts = xp.where(observed, x, 0.0)
    rate = counts.sum(axis=0) / xp.maximum(observed.sum(axis=0), 1)
    of_cells = xp.where(observed, log_density(counts, rate), 0.0)
    at_rate = class_sums(of_cells, membership)
    counted = RateCounts(observed_weight(x, membership), class_sums(counts, membership), at_rate)
    return replace(counted, log_base=at_rate - counted.at(rate))
