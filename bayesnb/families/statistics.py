"""Sufficient statistics that are counts."""

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np
import scipy.sparse

from bayesnb.core.arrays import all_whole, close, sums_at
from bayesnb.core.deferred import leaves, map_tree, namespace, pytree

# --------------------------------------------------------------------------------------------------
# The interface of all sufficient statistics: they add up.
#
# The statistics of two tables together are the sum of their statistics. The statistics of the rows that are left
# after others are taken away are a difference. ``update``, ``forget``, leave-one-out, cross-validation without
# refitting and distributed fitting use this property. The leading axis of every array is the class.
# --------------------------------------------------------------------------------------------------

ROUNDING = 1e-11
"""Largest difference, relative to the minuend, that counts as a rounding error."""


class Statistics:
    """A mergeable summary of a block of columns, per class.

    A subclass is a frozen dataclass of arrays, statistics and tuples of these, with the decorator
    ``jax.tree_util.register_dataclass``, so that JAX and files know its arrays. Sums and differences are those of the
    fields, unless the class defines its own. These rules make `update`, `forget`, `save` and `load` work:

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
    >>> isinstance(statistics, nb.families.Statistics)
    True
    >>> statistics.total
    array([[1.],
           [1.]])
    """

    def __add__(self, other: Self) -> Self:
        """Statistics of both tables together."""
        return _each(operator.add, self, other)

    def __sub__(self, other: Self) -> Self:
        """Statistics of the rows that remain when the rows behind `other` are removed."""
        return _each(operator.sub, self, other)

    def __mul__(self, factor: float) -> Self:
        """Statistics of the same rows with every weight multiplied by `factor`."""
        return _each(lambda part: part * factor, self)

    def without_rounding(self, before: Self) -> Self:
        """The result of a subtraction from `before`, with rounding errors set to zero.

        Raises
        ------
        ValueError
            If an array of `before` does not fit that of the result, because its shape follows the rows.
        """

        def cleared(new: Any, old: Any) -> Any:
            if isinstance(new, Statistics):
                return new.without_rounding(old)
            if not _fits(np.shape(old), np.shape(new)):
                raise ValueError(
                    f"an array of {type(self).__name__} has the shape {np.shape(old)} and, after a subtraction, "
                    f"{np.shape(new)}: give arrays whose shapes are the same for any rows, or define without_rounding"
                )
            return clear_rounding(new, old)

        return _each(cleared, self, before)

    def same_rows(self, other: "Statistics") -> bool:
        """Whether both may be statistics of the same rows, added in any order."""

        def same(mine: Any, theirs: Any) -> bool:
            return mine.same_rows(theirs) if isinstance(mine, Statistics) else close(mine, theirs, sums=True)

        return type(other) is type(self) and all(leaves(_each(same, self, other)))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Statistics of all classes of several groups, the classes of the first group first."""

        def join(*groups: Any) -> Any:
            return type(groups[0]).joined(groups) if isinstance(groups[0], Statistics) else np.concatenate(groups)

        return _each(join, *parts)

    def recoded(self, places: Sequence[np.ndarray], sizes: Sequence[int]) -> Self:
        """Statistics of a joint block whose columns have more categories than before.

        The default is for statistics that hold no codes of categories.

        Parameters
        ----------
        places : sequence of array of int
            For each column, the new code of each category that it had.
        sizes : sequence of int
            For each column, the number of categories that it has now.
        """
        return self

    def pooled(self) -> Self:
        """Statistics of all classes together; the class axis stays, with length one."""

        def whole(part: Any) -> Any:
            return part.pooled() if isinstance(part, Statistics) else part.sum(axis=0, keepdims=True)

        return _each(whole, self)


def _each[S: Statistics](combine: Callable[..., Any], one: S, *others: Statistics) -> S:
    """Statistics of fields that are combined one by one."""

    def combined(*values: Any) -> Any:
        if isinstance(values[0], tuple):
            return tuple(combined(*parts) for parts in zip(*values, strict=True))
        return combine(*values)

    names = [field.name for field in fields(one)]  # type: ignore[arg-type]
    return type(one)(*(combined(*(getattr(each, name) for each in (one, *others))) for name in names))


def _fits(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether an array of one shape has numbers for each place of the other; leave-one-out has a row axis besides."""
    try:
        return np.broadcast_shapes(one, other) == other
    except ValueError:
        return False


def clear_rounding(after: Any, before: Any) -> Any:
    """Differences, with those that are rounding errors of the minuend set to zero."""
    return namespace(after)[0].where(abs(after) <= ROUNDING * abs(before), 0.0, after)


def times_each(cells: Statistics, weights: np.ndarray) -> Statistics:
    """The statistics of cells that are side by side on the first axes, those of `weights`, each times its weight."""
    first = tuple(range(weights.ndim))
    last = tuple(axis - weights.ndim for axis in first)  # NumPy broadcasts weights against the last axes
    product = map_tree(lambda leaf: np.moveaxis(np.asarray(leaf), first, last), cells) * weights
    return map_tree(lambda leaf: np.moveaxis(np.asarray(leaf), last, first), product)


def safe_ratio(part: Any, whole: Any) -> Any:
    """Part / whole, zero where the whole is empty."""
    xp, _ = namespace(part, whole)
    empty = whole == 0
    return xp.where(empty, 0.0, part / xp.where(empty, 1.0, whole))


# --------------------------------------------------------------------------------------------------
# Weights and weighted sums of counts, per class
# --------------------------------------------------------------------------------------------------


@pytree
class ClassCounts(Statistics):
    """Total weight of the rows of each class.

    Attributes
    ----------
    n : array, shape (classes,)

    See Also
    --------
    ModelStatistics : These with the statistics of the columns.
    Counts : Sums of cells.

    Examples
    --------
    >>> import bayesnb as nb
    >>> nb.fit(nb.Bernoulli(), [[1], [1], [0]], ["a", "a", "b"]).problem.statistics.classes
    ClassCounts(n=array([2., 1.]))
    """

    n: Any


@pytree
class Counts(Statistics):
    """Weighted sums of counts.

    Attributes
    ----------
    n : array, shape (classes, columns)
        Weight of the observed cells; ``(classes, 1)`` where a row is one count vector.
    total : array, shape (classes, columns) or (classes, columns, categories)
        Weighted sum of the cells, or of their category indicators.
    log_base : array, shape of `n`
        Weighted sum of log h(x), the part of the log density without a parameter (minus log x! for a Poisson count).
        Evidences need it, posteriors do not.

    See Also
    --------
    Statistics : The base class of sufficient statistics.
    Levels : Sums that are zero in most cells.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [1, 1], [0, 1]], ["a", "a", "b"]
    >>> counts = nb.NaiveBayes(nb.Bernoulli()).bind(X, y).statistics(X, y).blocks[0]
    >>> counts.n
    array([[2., 2.],
           [1., 1.]])
    >>> counts.total
    array([[2., 1.],
           [0., 1.]])
    """

    n: Any
    total: Any
    log_base: Any

    def without_rounding(self, before: Self) -> Self:
        cleared = super().without_rounding(before)
        if cleared.total.shape != cleared.n.shape:
            return cleared
        return cleared.with_all_ones(before.n)

    def with_all_ones(self, weight: Any) -> Self:
        """Of zeros and ones that are all ones, the total is `n`; no zero of a weight like -1e-17 is left over.

        Parameters
        ----------
        weight : array, shape (classes, columns)
            A difference of total and `n` is a rounding error where it is small beside this weight.
        """
        all_ones = abs(self.total - self.n) <= ROUNDING * weight
        return replace(self, total=namespace(self.total)[0].where(all_ones, self.n, self.total))


class Membership(scipy.sparse.csr_array):
    """Weight of each row in its class, with one entry a row; for NumPy's functions an array, shape (rows, classes)."""

    @classmethod
    def of(cls, codes: np.ndarray, weights: np.ndarray | None, num_classes: int) -> Self:
        """The weights, by default ones, given the position of each row's class (rows,)."""
        weights = np.ones(len(codes)) if weights is None else weights
        return cls((weights, codes, np.arange(len(codes) + 1)), shape=(len(codes), num_classes))

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        # SciPy's checks take longer than the sum.
        if axis == 0 and dtype is None and out is None:
            return np.bincount(self.indices, self.data, self.shape[1])
        return super().sum(axis, dtype, out)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.toarray().astype(dtype or np.float64, copy=False)


def classes_of_rows(membership: Any) -> np.ndarray | None:
    """Position of each row's class, shape (rows,), if every row has weight one in one class; else None."""
    return membership.indices if isinstance(membership, Membership) and (membership.data == 1).all() else None


def entries_of(membership: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, class and weight of each weight that is not zero, shape (entries,) each."""
    entries = scipy.sparse.coo_array(membership)
    entries.eliminate_zeros()
    row, owner = (np.asarray(places, np.intp) for places in entries.coords)
    return row, owner, entries.data


def class_sums(x: Any, membership: Any) -> np.ndarray:
    """Weighted column sums per class, shape (classes, columns).

    Parameters
    ----------
    x : array or SciPy sparse array, shape (rows, columns)
    membership : array or Membership, shape (rows, classes)
        Weight of each row in each class, as `Family.statistics` gets it.

    See Also
    --------
    observed_weight : The weight of the cells that are not missing.
    Counts : Statistics that are sums of cells.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesnb as nb
    >>> x = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> membership = np.array([[1, 0], [1, 0], [0, 1]])
    >>> nb.families.class_sums(x, membership)
    array([[4., 6.],
           [5., 6.]])
    """
    if not scipy.sparse.issparse(x):
        return membership.T @ x
    if not isinstance(membership, Membership):
        return np.ascontiguousarray((x.T @ membership).T)
    x = scipy.sparse.csr_array(x)
    entries = np.diff(x.indptr)
    # Set one by one, because SciPy's constructor would look for the largest index of each kind.
    sums = scipy.sparse.coo_array((membership.shape[1], x.shape[1]))
    sums.coords = np.repeat(membership.indices.astype(x.indices.dtype, copy=False), entries), x.indices
    sums.data = x.data if classes_of_rows(membership) is not None else x.data * np.repeat(membership.data, entries)
    return sums.toarray()


def sums_of_cells(x: Any, membership: Any) -> np.ndarray:
    """Weighted sums by class of an array, also of booleans, or CSR array without missing cells."""
    codes = classes_of_rows(membership)
    if x.dtype == bool and codes is not None and isinstance(x, np.ndarray):
        return _trues_by_class(x, codes, membership.shape[1])
    return class_sums(x, membership)


def _trues_by_class(x: np.ndarray, codes: np.ndarray, num_classes: int) -> np.ndarray:
    """How many rows of each class are true, column by column, shape (classes, columns).

    Bytes are summed as they are, over at most 255 rows at a time, so that no sum overflows.
    """
    num_rows, num_columns = x.shape
    group = codes + num_classes * (np.arange(num_rows) // 255)
    num_groups = num_classes * -(-num_rows // 255)
    indicator = scipy.sparse.csc_array(
        (np.ones(num_rows, np.uint8), group, np.arange(num_rows + 1)), shape=(num_groups, num_rows)
    )
    sums = indicator @ x.view(np.uint8)
    return sums.reshape(-1, num_classes, num_columns).sum(axis=0, dtype=np.float64)


# --------------------------------------------------------------------------------------------------
# Frequencies of each word's counts, per class: statistics of the Dirichlet compound multinomial
# --------------------------------------------------------------------------------------------------

LEVELS = 16
"""Counts up to this are stored level by level, with a logarithm for each level. Larger counts are stored as they are,
so that no array is as long as the largest count."""


@pytree
class Tally(Statistics):
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
        return cls._filled_up(*_sum_entries(place, number, weight))

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

    def at(self, places: np.ndarray) -> Self:
        """The tally of the same entries at other places."""
        return self.of(places, self.number, self.weight)

    def __add__(self, other: Self) -> Self:
        return self.of(*map(np.concatenate, zip(leaves(self), leaves(other), strict=True)))

    def __sub__(self, other: Self) -> Self:
        return self + other * -1.0

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.place, self.number, self.weight * factor)

    def without_rounding(self, before: Self) -> Self:
        """The result of a subtraction from `before`, without rounding errors."""
        weights = np.concatenate([np.outer(self.weight, [1, 0]), np.outer(before.weight, [0, 1])])
        place, number = np.concatenate([self.place, before.place]), np.concatenate([self.number, before.number])
        place, number, weights = _sum_entries(place, number, weights)
        return self._filled_up(place, number, clear_rounding(weights[:, 0], weights[:, 1]))


@pytree
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

    def pooled(self) -> Self:
        width = self.total.shape[1] + 1
        n, total, log_base = (leaf.sum(axis=0, keepdims=True) for leaf in (self.n, self.total, self.log_base))
        levels, beyond = (tally.at(tally.place % width) for tally in (self.levels, self.beyond))
        return type(self)(n, total, log_base, levels, beyond)


_PLACES_AN_ENTRY = 4
"""Sums over whole numbers take a place of memory for each that could occur, if these are at most so many an entry."""


def _sum_entries(
    place: np.ndarray, number: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries sorted by place and number, those of the same place and number as one, weights added up."""
    if not len(place):
        return place, number, weight
    lowest = number.min()
    span = number.max() - lowest + 1
    if weight.ndim == 1 and (place.max() + 1) * span <= _PLACES_AN_ENTRY * len(place) and all_whole(number[:, None]):
        total = np.bincount((place * span + (number - lowest)).astype(np.intp), weight)
        found = np.flatnonzero(total)
        return (found // span).astype(place.dtype), (found % span + lowest).astype(number.dtype), total[found]
    order = np.lexsort((number, place))
    place, number = place[order], number[order]
    first = np.concatenate([[True], (np.diff(place) != 0) | (np.diff(number) != 0)])
    return place[first], number[first], np.add.reduceat(weight[order], np.flatnonzero(first), axis=0)


# --------------------------------------------------------------------------------------------------
# Frequencies of each number in a column, per class: statistics of cells without sufficient sums
# --------------------------------------------------------------------------------------------------


@pytree
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

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        sizes = [np.size(part.n) for part in parts]
        starts = np.repeat(np.cumsum(sizes) - sizes, [len(part.values.place) for part in parts])
        place, number, weight = map(np.concatenate, zip(*(leaves(part.values) for part in parts), strict=True))
        return cls(np.concatenate([part.n for part in parts]), Tally.of(place + starts, number, weight))

    def possible(self) -> np.ndarray:
        """Where the statistics could come from a table, shape of `n`: no weight is negative."""
        negative = np.bincount(self.values.place, self.values.weight < 0, minlength=self.n.size)
        return (self.n >= 0) & (negative == 0).reshape(self.n.shape)

    def pooled(self) -> Self:
        in_column = self.values.at(self.values.place % self.n.shape[1])
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
        terms = self.values.weight * of_entries
        total = sums_at(self.values.place, terms, self.n.size)
        return total.reshape(*terms.shape[:-1], *self.n.shape)


def rows_by_class(codes: np.ndarray, num_classes: int) -> Iterator[tuple[int, np.ndarray]]:
    """Each class that has rows with its rows, given the position of each row's class (rows,)."""
    # NumPy sorts the smallest types in linear time.
    order = np.argsort(codes.astype(np.min_scalar_type(num_classes)), kind="stable")
    edges = np.cumsum(np.bincount(codes, minlength=num_classes))
    for c, (start, stop) in enumerate(itertools.pairwise([0, *edges.tolist()])):
        if stop > start:
            yield c, order[start:stop]
