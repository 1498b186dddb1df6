"""How often each number occurs in a column, per class: statistics of cells that no sums summarise."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import jax
import numpy as np

from bayesnb.arrays import namespace
from bayesnb.statistics.base import Statistics, clear_rounding
from bayesnb.statistics.counts import observed_weight
from bayesnb.statistics.levels import Tally

__all__ = ["Occurrences", "occurrences"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Occurrences(Statistics):
    """Weight of the cells that hold each number.

    Only numbers that occur are stored. Merging runs in NumPy, not under ``jit``.

    Attributes
    ----------
    n : array, shape (classes, columns)
        Weight of the observed cells.
    values : Tally
        Weight of the cells that hold ``number``. The place is class times columns plus column.
    """

    n: Any
    values: Tally

    def __add__(self, other: Self) -> Self:
        return type(self)(self.n + other.n, self.values + other.values)

    def __sub__(self, other: Self) -> Self:
        return type(self)(self.n - other.n, self.values - other.values)

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.n * factor, self.values * factor)

    def without_rounding(self, before: Self) -> Self:
        return type(self)(clear_rounding(self.n, before.n), self.values.without_rounding(before.values))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        sizes = [np.size(part.n) for part in parts]
        starts = np.cumsum(sizes) - sizes
        places = [np.asarray(part.values.place) + start for part, start in zip(parts, starts, strict=True)]
        number, weight = (
            np.concatenate([np.asarray(getattr(part.values, name)) for part in parts]) for name in ("number", "weight")
        )
        n = np.concatenate([np.asarray(part.n) for part in parts])
        return cls(n, Tally.of(np.concatenate(places), number, weight))

    def possible(self) -> np.ndarray:
        """Which classes and columns some table may have, shape that of `n`: those without a negative weight."""
        negative = np.bincount(self.values.place, self.values.weight < 0, minlength=self.n.size)
        return (self.n >= 0) & (negative == 0).reshape(self.n.shape)

    def pooled(self) -> Self:
        values = self.values
        in_column = Tally.of(values.place % self.n.shape[1], values.number, values.weight)
        return type(self)(self.n.sum(axis=0, keepdims=True), in_column)

    def sums(self, of_entries: Any) -> Any:
        """Sums over the entries of each class and column, each times its weight.

        Parameters
        ----------
        of_entries : array, shape (..., entries)
            A number for each entry of `values`.

        Returns
        -------
        array, shape (..., classes, columns)
        """
        xp, _ = namespace(self.n, of_entries)
        place = xp.asarray(self.values.place).astype(int)
        terms = self.values.weight * of_entries
        leading = terms.shape[:-1]
        if xp is not np:
            total = xp.zeros((*leading, self.n.size)).at[..., place].add(terms)
        else:
            flat = terms.reshape(-1, terms.shape[-1])
            total = np.stack([np.bincount(place, of_one, self.n.size) for of_one in flat])
        return total.reshape(*leading, *self.n.shape)


def occurrences(x: np.ndarray, membership: np.ndarray) -> Occurrences:
    """Weighted numbers per class and column of a table whose missing cells are NaN.

    Parameters
    ----------
    x : array, shape (rows, columns)
    membership : array, shape (rows, classes)

    Returns
    -------
    Occurrences
    """
    row, owner = np.nonzero(membership)
    cells, weight = x[row], membership[row, owner]
    observed, column = np.nonzero(~np.isnan(cells))
    place = owner[observed] * x.shape[1] + column
    return Occurrences(observed_weight(x, membership), Tally.of(place, cells[observed, column], weight[observed]))
