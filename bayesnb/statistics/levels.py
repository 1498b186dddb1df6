"""How often each count of a word occurs, per class: statistics of the Dirichlet compound multinomial."""

from dataclasses import dataclass
from typing import Any, Self

import jax
import numpy as np
import scipy.sparse

from bayesnb.statistics.base import Statistics, clear_rounding
from bayesnb.statistics.counts import class_sums

__all__ = ["LEVELS", "Levels", "Tally", "levels"]

LEVELS = 16
"""Counts up to this are stored level by level, with a logarithm for each level. Larger counts are stored as they are,
so that no array is as long as the largest count."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Tally:
    """Weights by place and number: sorted, each pair once, without zero weights.

    Entries of weight zero fill the arrays up to a power of two, so that JAX does not compile again for tables of
    similar size.

    Attributes
    ----------
    place : array of int, shape (entries,)
    number, weight : array, shape (entries,)
    """

    place: Any
    number: Any
    weight: Any

    @classmethod
    def of(cls, place: np.ndarray, number: np.ndarray, weight: np.ndarray) -> Self:
        """The tally of entries in any order; weights of equal entries are added up."""
        return cls._filled_up(*_summed(place, number, weight))

    @classmethod
    def _filled_up(cls, place: np.ndarray, number: np.ndarray, weight: np.ndarray) -> Self:
        kept = weight != 0
        missing = (1 << max(int(kept.sum()) - 1, 0).bit_length()) - int(kept.sum())
        # The number of these entries is one, where every formula is finite: infinity times their weight zero would be
        # NaN.
        return cls(
            np.pad(place[kept], (0, missing)),
            np.pad(number[kept], (0, missing), constant_values=1),
            np.pad(weight[kept], (0, missing)),
        )

    def __add__(self, other: Self) -> Self:
        both = ((self.place, other.place), (self.number, other.number), (self.weight, other.weight))
        return self.of(*(np.concatenate(pair) for pair in both))

    def __sub__(self, other: Self) -> Self:
        return self + other * -1.0

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.place, self.number, self.weight * factor)

    def without_rounding(self, before: Self) -> Self:
        """The result of a subtraction from `before`, without rounding errors."""
        nothing = np.zeros_like
        weights = np.stack(
            [
                np.concatenate([self.weight, nothing(before.weight)]),
                np.concatenate([nothing(self.weight), before.weight]),
            ],
            axis=1,
        )
        place, number = np.concatenate([self.place, before.place]), np.concatenate([self.number, before.number])
        place, number, weights = _summed(place, number, weights)
        return self._filled_up(place, number, clear_rounding(weights[:, 0], weights[:, 1]))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Levels(Statistics):
    r"""Number of documents in which a word occurs more than k times, and number of documents longer than k.

    These are sufficient for the Dirichlet compound multinomial, because

    .. math:: \log\Gamma(\alpha + x) - \log\Gamma(\alpha) = \sum_{k < x} \log(\alpha + k).

    Only numbers that occur are stored, so that the size is the number of distinct counts of words, and not classes
    times words times levels. Merging runs in NumPy, not under ``jit``.

    Attributes
    ----------
    n : array, shape (classes, 1)
        Weight of the documents.
    total : array, shape (classes, columns)
        Weighted sum of each word's counts.
    log_base : array, shape (classes, 1)
        Weighted sum of the log multinomial coefficients, which hold no parameter.
    levels : Tally
        Weight of the documents that hold a word more than ``number`` times, for numbers 0 to 15. The place is class
        times (columns + 1) plus column, where the column after the last word holds the length of the document.
    beyond : Tally
        Weight of the documents that hold a word exactly ``number`` times, for numbers above 16, at the same places;
        also for fractions, if these are accepted: they count as above all levels.

    See Also
    --------
    Statistics : The base class of sufficient statistics.
    Counts : Sums of cells.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[3, 0], [2, 1], [0, 5]], ["a", "a", "b"]
    >>> levels = nb.NaiveBayes(nb.DirichletMultinomial()).bind(X, y).statistics(X, y).blocks[0]
    >>> type(levels).__name__
    'Levels'
    >>> levels.n
    array([[2.],
           [1.]])
    """

    n: Any
    total: Any
    log_base: Any
    levels: Tally
    beyond: Tally

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.n + other.n,
            self.total + other.total,
            self.log_base + other.log_base,
            self.levels + other.levels,
            self.beyond + other.beyond,
        )

    def __sub__(self, other: Self) -> Self:
        return self + other * -1.0

    def __mul__(self, factor: float) -> Self:
        return type(self)(
            self.n * factor, self.total * factor, self.log_base * factor, self.levels * factor, self.beyond * factor
        )

    def without_rounding(self, before: Self) -> Self:
        return type(self)(
            clear_rounding(self.n, before.n),
            clear_rounding(self.total, before.total),
            clear_rounding(self.log_base, before.log_base),
            self.levels.without_rounding(before.levels),
            self.beyond.without_rounding(before.beyond),
        )

    def pooled(self) -> Self:
        width = self.total.shape[1] + 1
        n, total, log_base = (leaf.sum(axis=0, keepdims=True) for leaf in (self.n, self.total, self.log_base))
        levels, beyond = (
            Tally.of(tally.place % width, tally.number, tally.weight) for tally in (self.levels, self.beyond)
        )
        return type(self)(n, total, log_base, levels, beyond)


def _summed(place: np.ndarray, number: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries sorted by place and number, those of the same place and number as one, weights added up."""
    if not len(place):
        return place, number, weight
    order = np.lexsort((number, place))
    place, number = place[order], number[order]
    first = np.concatenate([[True], (np.diff(place) != 0) | (np.diff(number) != 0)])
    return place[first], number[first], np.add.reduceat(weight[order], np.flatnonzero(first), axis=0)


def levels(x: Any, membership: np.ndarray, log_coefficient: np.ndarray) -> Levels:
    """Weighted levels per class of rows of counts.

    Parameters
    ----------
    x : array or SciPy sparse array of counts, shape (rows, columns)
    membership : array, shape (rows, classes)
    log_coefficient : array, shape (rows,)
        Log multinomial coefficient of each row.

    Returns
    -------
    Levels
    """
    counts = scipy.sparse.csr_array(x, copy=True)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    num_columns = counts.shape[1]
    total = class_sums(counts, membership)
    row, owner = np.nonzero(membership)
    weight = membership[row, owner]
    chosen = counts[row].tocoo()
    length = np.asarray(chosen.sum(axis=1)).ravel()
    start = owner * (num_columns + 1)
    place = np.concatenate([start[chosen.row] + chosen.col, start + num_columns])
    count = np.concatenate([chosen.data, length])
    weight = np.concatenate([weight[chosen.row], weight])
    # A fraction x counts as above all levels, because the gamma functions give for every x > 0: log rising(a, x) = sum
    # of log(a + k) over the 16 levels + log Gamma(a + x) - log Gamma(a + 16).
    broken = count != np.rint(count)
    reached = [np.flatnonzero((count > level) | broken) for level in range(LEVELS)]
    low = np.concatenate(reached)
    level = np.repeat(np.arange(float(LEVELS)), [len(entries) for entries in reached])
    high = np.flatnonzero((count > LEVELS) | broken)
    return Levels(
        membership.sum(axis=0)[:, None],
        total,
        class_sums(log_coefficient[:, None], membership),
        Tally.of(place[low], level, weight[low]),
        Tally.of(place[high], count[high], weight[high]),
    )
