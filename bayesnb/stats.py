"""Sufficient statistics: values that add up.

A statistic of two tables together is the sum of their statistics, and taking a table away is a subtraction.
``update``, ``forget``, leave-one-out, cross-validation without refitting and distributed fitting all rest on
this one property. The leading axis of every array is the class.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from scipy.linalg.blas import dger

from bayesnb.arrays import close, namespace

__all__ = [
    "ClassCounts",
    "Counts",
    "Levels",
    "Moments",
    "Statistics",
    "all_whole",
    "any_missing",
    "class_sums",
    "csr_pieces",
    "csr_rows",
    "dense",
    "device_moments",
    "filled",
    "levels",
    "missing_entries",
    "moments",
    "moments_by_class",
    "observed_weight",
    "row_pieces",
    "rows_by_class",
    "shared_csr",
    "trues_by_class",
    "without_duplicates",
]

LEVELS = 16
"""Counts up to here are kept level by level, larger ones whole: a logarithm for each level, and no array as long as
the largest count."""

PIECE_CELLS = 2**16
"""Cells of a temporary array: half a mebibyte of float64, which stays in a core's own cache."""

ROUNDING = 1e-11
"""What a subtraction leaves, relative to what it was taken from, that is only rounding."""


class Statistics(ABC):
    """A mergeable summary of a block of columns, per class."""

    @abstractmethod
    def __add__(self, other: Self) -> Self:
        """Statistics of both tables together."""

    @abstractmethod
    def __sub__(self, other: Self) -> Self:
        """Statistics of what is left when the rows behind `other` are taken away."""

    @abstractmethod
    def __mul__(self, factor: float) -> Self:
        """Statistics of the same rows with every weight multiplied by `factor`."""

    def without_rounding(self, before: Self) -> Self:
        """What a subtraction from `before` left, with differences that are only rounding set to zero."""
        return jax.tree.map(_clear, self, before)

    def same_rows(self, other: "Statistics") -> bool:
        """Whether both may be statistics of the same rows, added in any order."""
        return close(self, other)

    @abstractmethod
    def pooled(self) -> Self:
        """Statistics of all classes together; the class axis stays, with length one."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ClassCounts(Statistics):
    """Total weight of the rows of each class.

    Attributes
    ----------
    n : array, shape (classes,)
    """

    n: Any

    def __add__(self, other: Self) -> Self:
        return type(self)(self.n + other.n)

    def __sub__(self, other: Self) -> Self:
        return type(self)(self.n - other.n)

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.n * factor)

    def pooled(self) -> Self:
        return type(self)(self.n.sum(keepdims=True))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Counts(Statistics):
    """Weighted sums of what was counted.

    Attributes
    ----------
    n : array, shape (classes, columns)
        Weight of the observed cells; ``(classes, 1)`` where a row is one count vector.
    total : array, shape (classes, columns) or (classes, columns, categories)
        Weighted sum of the cells, or of their category indicators.
    log_base : array, shape of `n`
        Weighted sum of log h(x), the part of the log density that no parameter enters (minus log x! for a Poisson
        count); evidence needs it, posteriors do not.
    """

    n: Any
    total: Any
    log_base: Any

    def __add__(self, other: Self) -> Self:
        return type(self)(self.n + other.n, self.total + other.total, self.log_base + other.log_base)

    def __sub__(self, other: Self) -> Self:
        return type(self)(self.n - other.n, self.total - other.total, self.log_base - other.log_base)

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.n * factor, self.total * factor, self.log_base * factor)

    def without_rounding(self, before: Self) -> Self:
        cleared = super().without_rounding(before)
        if cleared.total.shape != cleared.n.shape:
            return cleared
        # Of zeros and ones that are all ones, the total is the weight, and no zero of weight -1e-17 is left over.
        all_ones = np.abs(cleared.total - cleared.n) <= ROUNDING * before.n
        return replace(cleared, total=np.where(all_ones, cleared.n, cleared.total))

    def pooled(self) -> Self:
        return jax.tree.map(lambda leaf: leaf.sum(axis=0, keepdims=True), self)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Moments(Statistics):
    """Weight, mean and sum of squared deviations from the mean.

    Raw sums of squares lose every digit of the variance once the mean is large; these do not. They merge by the
    formulas of Chan, Golub and LeVeque (1983), *The American Statistician* 37(3), 242-247.

    Attributes
    ----------
    n, mean, ssd : array, shape (classes, columns)
    """

    n: Any
    mean: Any
    ssd: Any

    @property
    def variance(self) -> Any:
        """Ssd / n, zero where nothing was observed."""
        return _share(self.ssd, self.n)

    def __add__(self, other: Self) -> Self:
        n = self.n + other.n
        share = _share(other.n, n)
        delta = other.mean - self.mean
        return type(self)(n, self.mean + delta * share, self.ssd + other.ssd + delta**2 * self.n * share)

    def __sub__(self, other: Self) -> Self:
        n = self.n - other.n
        xp, _ = namespace(n)
        # A mean over a weight that is only rounding would be anything.
        n = xp.where(abs(n) <= ROUNDING * abs(self.n), 0.0, n)
        mean = xp.where(n == 0, 0.0, self.mean + (self.mean - other.mean) * _share(other.n, n))
        ssd = self.ssd - other.ssd - (other.mean - mean) ** 2 * n * _share(other.n, self.n)
        # Where no weight is left, whatever spread is left says that other rows were taken away than were there.
        excess = abs(self.ssd - other.ssd) + other.n * (self.mean - other.mean) ** 2
        return type(self)(n, mean, xp.where(n == 0, -excess, ssd))

    def without_rounding(self, before: Self) -> Self:
        n = _clear(self.n, before.n)
        scale = before.ssd + before.n * (1e-3 * before.mean) ** 2
        ssd = np.where(np.abs(self.ssd) <= ROUNDING * scale, 0.0, self.ssd)
        # Cells that are all alike have that value as their mean in every class; what the subtraction left beside it
        # would stand as a spread between the classes.
        size = np.maximum(np.abs(before.mean), np.sqrt(before.variance)).max(axis=0)
        grid = np.ldexp(1.0, np.frexp(1e-13 * size)[1])
        return type(self)(n, np.where(ssd == 0, np.rint(self.mean / grid) * grid, self.mean), ssd)

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.n * factor, self.mean, self.ssd * factor)

    def same_rows(self, other: Statistics) -> bool:
        if not isinstance(other, Moments) or np.shape(self.n) != np.shape(other.n) or not close(self.n, other.n):
            return False
        # A mean has the rounding error of the cells for any spread, and so does the origin of the deviations.
        n, mean, ssd = np.asarray(self.n), np.asarray(self.mean), np.asarray(self.ssd)
        rounding = 8 * np.finfo(np.float64).eps * np.abs(mean)
        off = np.abs(mean - other.mean), np.abs(ssd - other.ssd)
        far = off[0] > 1e-9 * np.sqrt(_share(ssd, n)) + rounding
        wide = off[1] > 1e-9 * ssd + 2 * rounding * np.sqrt(n * ssd) + n * rounding**2
        return not (far | wide).any()

    def pooled(self) -> Self:
        n = self.n.sum(axis=0, keepdims=True)
        mean = (_share(self.n, n) * self.mean).sum(axis=0, keepdims=True)
        mean = mean + (_share(self.n, n) * (self.mean - mean)).sum(axis=0, keepdims=True)
        ssd = (self.ssd + self.n * (self.mean - mean) ** 2).sum(axis=0, keepdims=True)
        return type(self)(n, mean, ssd)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Tally:
    """Weights of the numbers met at each place, sorted, each once, zeros left out.

    The arrays are filled up with entries of weight zero to a power of two, so that what JAX compiled for one table
    serves others of like size.

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
        """The tally of entries in any order, each met any number of times."""
        return cls._filled_up(*_summed(place, number, weight))

    @classmethod
    def _filled_up(cls, place: np.ndarray, number: np.ndarray, weight: np.ndarray) -> Self:
        kept = weight != 0
        missing = (1 << max(int(kept.sum()) - 1, 0).bit_length()) - int(kept.sum())
        # One is a number at which no formula is infinite, which zero times its weight would not survive.
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
        """What a subtraction from `before` left, with differences that are only rounding left out."""
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
        return self._filled_up(place, number, _clear(weights[:, 0], weights[:, 1]))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Levels(Statistics):
    r"""In how many documents a word occurs more than k times, and how many documents are longer than k.

    These are sufficient for the Dirichlet compound multinomial, because
    :math:`\log\Gamma(\alpha + x) - \log\Gamma(\alpha) = \sum_{k < x} \log(\alpha + k)`. Only
    what occurs is held, so that the size is that of the distinct counts of words, and not classes times words times
    levels. Merging runs in NumPy, not under ``jit``.

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
        also for numbers that are not whole, where such are accepted, which count as above all levels.
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
            _clear(self.n, before.n),
            _clear(self.total, before.total),
            _clear(self.log_base, before.log_base),
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
    # What is no whole number is held as if it were large: the identity of the gamma functions is the same.
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


def _clear(after: Any, before: Any) -> Any:
    return np.where(np.abs(after) <= ROUNDING * np.abs(before), 0.0, after)


def _share(part: Any, whole: Any) -> Any:
    """Part / whole, zero where the whole is empty."""
    xp, _ = namespace(part, whole)
    empty = whole == 0
    return xp.where(empty, 0.0, part / xp.where(empty, 1.0, whole))


def row_pieces(num_rows: int, num_columns: int) -> Iterator[slice]:
    """Slices of rows whose temporary arrays stay in the processor's cache."""
    step = max(16, PIECE_CELLS // max(num_columns, 1))
    for start in range(0, max(num_rows, 1), step):
        yield slice(start, min(start + step, num_rows))


def rows_by_class(codes: np.ndarray, num_classes: int) -> Iterator[tuple[int, np.ndarray]]:
    """Each class that has rows, and which those are, given the position of each row's class (rows,)."""
    # NumPy sorts the smallest types in linear time.
    order = np.argsort(codes.astype(np.min_scalar_type(num_classes)), kind="stable")
    edges = np.cumsum(np.bincount(codes, minlength=num_classes))
    for c, (start, stop) in enumerate(itertools.pairwise([0, *edges.tolist()])):
        if stop > start:
            yield c, order[start:stop]


def trues_by_class(x: np.ndarray, codes: np.ndarray, num_classes: int) -> np.ndarray:
    """How many rows of each class are true, column by column.

    Bytes are summed as they are, over at most 255 rows at a time, so that no sum overflows.

    Parameters
    ----------
    x : array of bool, shape (rows, columns)
    codes : array of int, shape (rows,)

    Returns
    -------
    array, shape (classes, columns)
    """
    num_rows, num_columns = x.shape
    group = codes + num_classes * (np.arange(num_rows) // 255)
    num_groups = num_classes * -(-num_rows // 255)
    indicator = scipy.sparse.csc_array(
        (np.ones(num_rows, np.uint8), group, np.arange(num_rows + 1)), shape=(num_groups, num_rows)
    )
    sums = indicator @ x.view(np.uint8)
    return sums.reshape(-1, num_classes, num_columns).sum(axis=0, dtype=np.float64)


def class_sums(x: Any, membership: np.ndarray) -> np.ndarray:
    """Weighted column sums per class.

    Parameters
    ----------
    x : array or SciPy sparse array, shape (rows, columns)
    membership : array, shape (rows, classes)
        Weight of each row in each class.

    Returns
    -------
    array, shape (classes, columns)
    """
    if scipy.sparse.issparse(x):
        return np.ascontiguousarray((x.T @ membership).T)
    return membership.T @ x


def observed_weight(x: Any, membership: np.ndarray) -> np.ndarray:
    """Weight of the cells that are not missing, shape (classes, columns)."""
    if scipy.sparse.issparse(x):
        missing = missing_entries(x)
        if missing.nnz:
            return membership.sum(axis=0)[:, None] - class_sums(missing, membership)
    else:
        missing = np.isnan(x)
        if missing.any():
            return membership.T @ (~missing).astype(np.float64)
    return np.repeat(membership.sum(axis=0)[:, None], x.shape[1], axis=1)


def any_missing(x: np.ndarray) -> bool:
    """Whether a cell is NaN; a sum says so without an array as large as `x`."""
    if x.dtype.kind != "f":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(x.sum()) and np.isnan(x).any())


def missing_entries(x: Any) -> Any:
    """Ones where a sparse array stores NaN, as a sparse array of the same shape."""
    marks = scipy.sparse.csr_array(x, copy=True)
    marks.data = np.isnan(x.data).astype(np.float64)
    marks.eliminate_zeros()
    return marks


def dense(x: Any) -> np.ndarray:
    """The cells as a NumPy array, whatever they came as."""
    return x.toarray() if scipy.sparse.issparse(x) else x


def shared_csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> Any:
    """A CSR array of these arrays themselves; SciPy's constructor copies what is a view of less than half an array."""
    result = scipy.sparse.csr_array(shape)
    result.data, result.indices, result.indptr = data, indices, indptr.astype(indices.dtype, copy=False)
    return result


def csr_rows(x: Any, rows: slice) -> Any:
    """Some of the rows of a CSR array, whose entries are not copied."""
    edges = x.indptr[rows.start : rows.stop + 1]
    entries = slice(edges[0], edges[-1])
    return shared_csr(x.data[entries], x.indices[entries], edges - edges[0], (len(edges) - 1, x.shape[1]))


def csr_pieces(x: Any, num_entries: int) -> Iterator[slice]:
    """Slices of rows of a CSR array with about so many entries each."""
    num_rows = x.shape[0]
    starts = np.searchsorted(x.indptr, np.arange(0, x.nnz, num_entries))
    edges = np.unique(np.concatenate([[0], starts, [num_rows]])) if num_rows else [0]
    for start, stop in itertools.pairwise(edges):
        yield slice(int(start), int(stop))


def without_duplicates(x: Any) -> Any:
    """A CSR array without entries stored in parts: those are one cell each, and log x! is not additive.

    What it shares with the caller's data stays as it is.
    """
    if x.has_canonical_format:
        return x
    whole = x.copy()
    whole.sum_duplicates()
    return whole


def all_whole(cells: np.ndarray) -> bool:
    """Whether all cells are whole numbers, without a temporary array as large as they are."""
    return all(np.array_equal(cells[rows], np.rint(cells[rows])) for rows in row_pieces(len(cells), cells[:1].size))


def filled(x: Any) -> Any:
    """The cells with zeros for the missing ones, dense or sparse."""
    if not scipy.sparse.issparse(x):
        return np.nan_to_num(x)
    if not np.isnan(x.data).any():
        return x
    result = x.copy()
    result.data = np.nan_to_num(result.data)
    return result


def moments(x: np.ndarray, membership: np.ndarray) -> Moments:
    """Weighted moments per class of a table whose missing cells are NaN.

    The deviations are taken from the class's own mean of the same rows, and the rounding error of that mean is taken
    out again, so that the result keeps its digits at any mean (the corrected two-pass algorithm of Chan, Golub and
    LeVeque, 1983).

    Parameters
    ----------
    x : array, shape (rows, columns)
    membership : array, shape (rows, classes)

    Returns
    -------
    Moments
        Arrays of shape (classes, columns).
    """
    n, mean, ssd = np.zeros((3, membership.shape[1], x.shape[1]))
    for c, whole in enumerate(membership.sum(axis=0)):
        rows = np.flatnonzero(membership[:, c])
        n[c], mean[c], ssd[c] = _moments_of_class(x[rows], membership[rows, c], whole)
    return _without_rounding_of_cells(n, mean, ssd)


def moments_by_class(x: np.ndarray, codes: np.ndarray, num_classes: int) -> Moments:
    """As `moments`, for rows of one class and of weight one each.

    Parameters
    ----------
    x : array, shape (rows, columns)
    codes : array of int, shape (rows,)
    """
    n, mean, ssd = np.zeros((3, num_classes, x.shape[1]))
    # NumPy takes rows of an array in C order without copying it all.
    cells, ones = np.ascontiguousarray(x), np.ones(len(codes))
    for c, rows in rows_by_class(codes, num_classes):
        n[c], mean[c], ssd[c] = _moments_of_class(cells.take(rows, axis=0), ones[: len(rows)], len(rows))
    return _without_rounding_of_cells(n, mean, ssd)


def _moments_of_class(cells: np.ndarray, weight: np.ndarray, whole: Any) -> tuple[Any, Any, Any]:
    """Weight, mean and sum of squared deviations of each column, given the whole weight; the cells are overwritten."""
    if whole == 0:
        return 0.0, 0.0, 0.0
    n = divisor = whole
    total = weight @ cells
    missing = np.isnan(cells) if np.isnan(total).any() else None
    if missing is not None:
        cells[missing] = 0.0
        n, total = weight @ ~missing, weight @ cells
        divisor = np.where(n == 0, 1.0, n)
    approximate = total / divisor
    # BLAS subtracts a short row from every row twice as fast as NumPy does.
    cells = dger(-1.0, approximate, np.ones(len(cells)), a=cells.T, overwrite_a=1).T
    if missing is not None:
        cells[missing] = 0.0
    correction = weight @ cells / divisor
    return n, approximate + correction, weight @ np.square(cells, out=cells) - n * correction**2


def device_moments(x: Any, codes: Any, membership: Any) -> Moments:
    """As `moments`, for JAX to compile, and for rows in one class each.

    Parameters
    ----------
    x : jax.Array, float64, shape (rows, columns)
    codes : jax.Array of int, shape (rows,)
    membership : jax.Array, float64, shape (rows, classes)
    """
    observed = ~jnp.isnan(x)
    n = membership.T @ observed.astype(x.dtype)
    approximate = _share(membership.T @ jnp.where(observed, x, 0.0), n)
    deviations = jnp.where(observed, x - approximate[codes], 0.0)
    correction = _share(membership.T @ deviations, n)
    ssd = membership.T @ deviations**2 - n * correction**2
    return _without_rounding_of_cells(n, approximate + correction, ssd)


def _without_rounding_of_cells(n: Any, mean: Any, ssd: Any) -> Moments:
    """Moments without what is below the spacing of the numbers themselves: a constant column has no spread."""
    xp, _ = namespace(n)
    rounding = n * (4 * np.finfo(np.float64).eps * mean) ** 2
    return Moments(n, mean, xp.where(ssd <= rounding, 0.0, ssd))
