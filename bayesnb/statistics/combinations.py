"""How often each combination of categories occurs, per class; only combinations that occur are stored."""

from dataclasses import dataclass
from typing import Any, Self

import jax
import numpy as np

from bayesnb.statistics.base import Statistics, clear_rounding
from bayesnb.statistics.levels import Tally

__all__ = ["CombinationCounts", "count_combinations"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CombinationCounts(Statistics):
    """Weight of the rows of each combination of categories.

    The size of the arrays is the number of combinations that occur, and not the product of the numbers of categories.

    Attributes
    ----------
    n : array, shape (classes, 1)
        Weight of the rows.
    seen : Tally
        Weights by place and number: the place is the class, the number the code of the combination.
    """

    n: Any
    seen: Tally

    def __add__(self, other: Self) -> Self:
        return type(self)(self.n + other.n, self.seen + other.seen)

    def __sub__(self, other: Self) -> Self:
        return type(self)(self.n - other.n, self.seen - other.seen)

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.n * factor, self.seen * factor)

    def without_rounding(self, before: Self) -> Self:
        return type(self)(clear_rounding(self.n, before.n), self.seen.without_rounding(before.seen))

    def split(self, parts: int) -> list[Self]:
        n = np.split(np.asarray(self.n), parts)
        part, place = np.divmod(np.asarray(self.seen.place), len(n[0]))
        return [type(self)(n[i], self.seen.kept(part == i, place)) for i in range(parts)]

    def pooled(self) -> Self:
        seen = Tally.of(np.zeros_like(self.seen.place), self.seen.number, self.seen.weight)
        return type(self)(self.n.sum(axis=0, keepdims=True), seen)

    @property
    def combinations(self) -> np.ndarray:
        """Codes of the combinations that occur in any class, sorted."""
        return np.unique(np.asarray(self.seen.number)[np.asarray(self.seen.weight) != 0])

    def renumbered(self, new: Any) -> Self:
        """The same rows, where a function gives the new codes of some codes."""
        return type(self)(self.n, Tally.of(self.seen.place, new(self.seen.number), self.seen.weight))


def count_combinations(combinations: np.ndarray, membership: np.ndarray) -> CombinationCounts:
    """Weight of the rows of each combination, per class.

    Parameters
    ----------
    combinations : array of int, shape (rows,)
        Codes of the rows' combinations.
    membership : array, shape (rows, classes)
        Weight of each row in each class.

    Returns
    -------
    CombinationCounts
    """
    row, owner = np.nonzero(membership)
    num_classes = membership.shape[1]
    entries, position = np.unique(combinations[row] * num_classes + owner, return_inverse=True)
    weight = np.bincount(position.ravel(), membership[row, owner], minlength=len(entries))
    seen = Tally.of(entries % num_classes, entries // num_classes, weight)
    return CombinationCounts(membership.sum(axis=0)[:, None], seen)
