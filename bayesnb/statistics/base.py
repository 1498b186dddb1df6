"""The interface of all sufficient statistics: they add up.

The statistics of two tables together are the sum of their statistics. The statistics of the rows that are left
after others are taken away are a difference. ``update``, ``forget``, leave-one-out, cross-validation without
refitting and distributed fitting use this property. The leading axis of every array is the class.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import jax
import numpy as np

from bayesnb.arrays import close, namespace

__all__ = ["ROUNDING", "Statistics", "clear_rounding", "safe_ratio"]

ROUNDING = 1e-11
"""Largest difference, relative to the minuend, that counts as a rounding error."""


class Statistics(ABC):
    """A mergeable summary of a block of columns, per class.

    A subclass is a frozen dataclass of arrays with the decorator ``jax.tree_util.register_dataclass``, so that JAX and
    files know its arrays. These rules make `update`, `forget`, `save` and `load` work:

    - The leading axis of every array is the class.
    - The shape of every array follows from the family, the classes and the columns, and is the same for any rows.
      `forget` compares the arrays before and after it, one by one. A class whose shapes follow the rows defines
      `without_rounding` and `joined`.
    - The statistics of no row are of the same class. `load` fills them with the arrays of the file.
    - ``__mul__`` multiplies each number on its own, also by an array: leave-one-out moves the axes of classes and
      columns behind the others, and gives a weight for each class and column.
    - ``n``, shape (classes, columns), is the weight of the observed cells. Without it, a family defines
      `Family.possible`, with which `forget` checks that some table could have the statistics that are left.

    A file holds the arrays and the name of the class. `load` takes the class itself from the family.

    See Also
    --------
    Counts : Sums of cells.
    Moments : Means and sums of squares.
    Scatter : Means and scatter matrices.
    Levels : Sums that are zero in most cells.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1], [0], [1]], ["a", "a", "b"]
    >>> model = nb.NaiveBayes(nb.Bernoulli()).bind(X, y)
    >>> statistics = model.statistics(X, y).blocks[0]
    >>> isinstance(statistics, nb.Statistics)
    True
    >>> statistics.total
    array([[1.],
           [1.]])
    """

    @abstractmethod
    def __add__(self, other: Self) -> Self:
        """Statistics of both tables together."""

    @abstractmethod
    def __sub__(self, other: Self) -> Self:
        """Statistics of the rows that remain when the rows behind `other` are removed."""

    @abstractmethod
    def __mul__(self, factor: float) -> Self:
        """Statistics of the same rows with every weight multiplied by `factor`."""

    def without_rounding(self, before: Self) -> Self:
        """The result of a subtraction from `before`, with rounding errors set to zero.

        Raises
        ------
        ValueError
            If an array of `before` does not fit that of the result, because its shape follows the rows.
        """
        for new, old in zip(jax.tree.leaves(self), jax.tree.leaves(before), strict=True):
            if not _fits(np.shape(old), np.shape(new)):
                raise ValueError(
                    f"an array of {type(self).__name__} has the shape {np.shape(old)} and, after a subtraction, "
                    f"{np.shape(new)}: give arrays whose shapes are the same for any rows, or define without_rounding"
                )
        return jax.tree.map(clear_rounding, self, before)

    def same_rows(self, other: "Statistics") -> bool:
        """Whether both may be statistics of the same rows, added in any order."""
        return close(self, other)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Statistics of all classes of several groups, the classes of the first group first."""
        return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)

    @abstractmethod
    def pooled(self) -> Self:
        """Statistics of all classes together; the class axis stays, with length one."""


def _fits(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether an array of one shape has numbers for each place of the other; leave-one-out has a row axis besides."""
    try:
        return np.broadcast_shapes(one, other) == other
    except ValueError:
        return False


def clear_rounding(after: Any, before: Any) -> Any:
    """Differences, with those that are rounding errors of the minuend set to zero."""
    return np.where(np.abs(after) <= ROUNDING * np.abs(before), 0.0, after)


def safe_ratio(part: Any, whole: Any) -> Any:
    """Part / whole, zero where the whole is empty."""
    xp, _ = namespace(part, whole)
    empty = whole == 0
    return xp.where(empty, 0.0, part / xp.where(empty, 1.0, whole))
