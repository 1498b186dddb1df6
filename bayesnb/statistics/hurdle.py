"""Statistics of cells that are zero or not: how many are not, and those of the others' values."""

from dataclasses import dataclass
from typing import Any, Self

import jax

from bayesnb.statistics.base import Statistics
from bayesnb.statistics.counts import Counts

__all__ = ["HurdleStatistics"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class HurdleStatistics(Statistics):
    """Weight of the cells and of those that are not zero, and statistics of the values that are not zero.

    Attributes
    ----------
    nonzero : Counts
        Its ``n`` is the weight of the observed cells, its ``total`` that of the cells other than zero.
    values : Statistics
        Those of the inner family.
    """

    nonzero: Counts
    values: Any

    @property
    def n(self) -> Any:
        """Weight of the observed cells, shape (classes, columns)."""
        return self.nonzero.n

    @property
    def log_base(self) -> Any:
        """Weighted sum of the part of the log density that no parameter enters."""
        return getattr(self.values, "log_base", 0.0)

    def __add__(self, other: Self) -> Self:
        return type(self)(self.nonzero + other.nonzero, self.values + other.values)

    def __sub__(self, other: Self) -> Self:
        return type(self)(self.nonzero - other.nonzero, self.values - other.values)

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.nonzero * factor, self.values * factor)

    def without_rounding(self, before: Self) -> Self:
        return type(self)(self.nonzero.without_rounding(before.nonzero), self.values.without_rounding(before.values))

    def same_rows(self, other: Statistics) -> bool:
        return (
            isinstance(other, HurdleStatistics)
            and self.nonzero.same_rows(other.nonzero)
            and self.values.same_rows(other.values)
        )

    def pooled(self) -> Self:
        return type(self)(self.nonzero.pooled(), self.values.pooled())
