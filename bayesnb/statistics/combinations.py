"""How often each combination of categories occurs, per class; only combinations that occur are stored."""

from dataclasses import dataclass
from typing import Any, Self

import jax
import numpy as np

from bayesnb.statistics.levels import Tally
from bayesnb.statistics.occurrences import Occurrences

__all__ = ["CombinationCounts", "count_combinations"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CombinationCounts(Occurrences):
    """Weight of the rows of each combination of categories.

    The size of the arrays is the number of combinations that occur, and not the product of the numbers of categories.

    Attributes
    ----------
    n : array, shape (classes, 1)
        Weight of the rows.
    values : Tally
        Weights by place and number: the place is the class, the number the code of the combination.
    """

    @property
    def combinations(self) -> np.ndarray:
        """Codes of the combinations that occur in any class, sorted."""
        return np.unique(np.asarray(self.values.number)[np.asarray(self.values.weight) != 0])

    def renumbered(self, new: Any) -> Self:
        """The same rows, where a function gives the new codes of some codes."""
        return type(self)(self.n, Tally.of(self.values.place, new(self.values.number), self.values.weight))


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
    values = Tally.of(entries % num_classes, entries // num_classes, weight)
    return CombinationCounts(membership.sum(axis=0)[:, None], values)
