"""Arrays of NumPy and CSR arrays of SciPy: rows in pieces that fit the cache, missing cells, rows that are equal."""

import itertools
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse
import scipy.special

from bayesnb.core.deferred import leaves, namespace, structure


def close(one: Any, other: Any, *, sums: bool = False) -> bool:
    """Whether two trees have the same structure and the same numbers, up to the rounding of the largest number."""
    return structure(one) == structure(other) and all(
        np.shape(a) == np.shape(b)
        and np.allclose(a, b, rtol=1e-9, atol=1e-12 + sums * 1e-9 * np.abs(a).max(initial=0.0))
        for a, b in zip(leaves(one), leaves(other), strict=True)
    )


def log(values: Any) -> np.ndarray:
    """Elementwise logarithm; log(0) is -inf, without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(values))


def sqrt(values: Any) -> Any:
    """Elementwise square root, in the array library of the values."""
    return namespace(values)[0].sqrt(values)


def probabilities(joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the labels, and the log densities of the rows, from log joint densities (..., rows, classes).

    They are computed class by class, because short rows cost NumPy more than their numbers do.
    """
    by_class = np.moveaxis(joint, -1, 0)
    highest = reduce(np.maximum, by_class)
    weights = [np.exp(of_class - highest) for of_class in by_class]
    total = reduce(np.add, weights)
    result = np.empty(joint.shape)
    for c, weight in enumerate(weights):
        np.divide(weight, total, out=result[..., c])
    return result, highest + np.log(total)


def middles_of_steps(ends: Sequence[float] | np.ndarray, number: int) -> np.ndarray:
    """The middles of equal steps between two numbers. A density may be infinite at the ends of its support."""
    low, high = ends
    return low + (high - low) * (np.arange(number) + 0.5) / number


def coordinate(labels: Sequence[Any]) -> np.ndarray:
    """Labels as an array that xarray can index and write: mixed types become text."""
    kinds = {type(label) for label in labels}
    if kinds <= {bool} or kinds <= {int, float}:
        return np.asarray(labels)
    return np.asarray([str(label) for label in labels])


def sums_at(places: Any, values: Any, size: int) -> Any:
    """Sums of the values (..., entries) at each of so many places (entries,), of NumPy or JAX, shape (..., size)."""
    xp, _ = namespace(places, values)
    shape = (*values.shape[:-1], size)
    if xp is not np:
        return xp.zeros(shape, values.dtype).at[..., places].add(values)
    return np.reshape([np.bincount(places, of_one, size) for of_one in values.reshape(-1, values.shape[-1])], shape)


# --------------------------------------------------------------------------------------------------
# Rows in pieces that fit the cache, and rows of one class
# --------------------------------------------------------------------------------------------------

PIECE_CELLS = 2**16
"""Cells of a temporary array: half a mebibyte of float64, which stays in a core's own cache."""


def row_pieces(num_rows: int, num_columns: int) -> Iterator[slice]:
    """Slices of rows whose temporary arrays stay in the processor's cache."""
    step = max(16, PIECE_CELLS // max(num_columns, 1))
    for start in range(0, max(num_rows, 1), step):
        yield slice(start, min(start + step, num_rows))


def rows_by_pattern(observed: np.ndarray) -> list[tuple[Any, np.ndarray]]:
    """Rows in which the same cells are observed, and which (columns,), given what is observed (rows, columns)."""
    if observed.all():
        return [(slice(None), np.ones(observed.shape[1], dtype=bool))]
    kinds, which = np.unique(observed, axis=0, return_inverse=True)
    return [(np.flatnonzero(which.ravel() == k), kind) for k, kind in enumerate(kinds)]


def any_missing(x: np.ndarray) -> bool:
    """Whether a cell is NaN. A sum shows it without an array as large as `x`."""
    if x.dtype.kind != "f":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(x.sum()) and np.isnan(x).any())


def all_whole(cells: np.ndarray) -> bool:
    """Whether all cells are whole numbers, without a temporary array as large as they are."""
    return all(np.array_equal(cells[rows], np.rint(cells[rows])) for rows in row_pieces(len(cells), cells[:1].size))


# --------------------------------------------------------------------------------------------------
# Rows with the same cells
# --------------------------------------------------------------------------------------------------


def weighted_values(x: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The distinct numbers of an array, sorted, and how often each occurs, or the weight of its cells."""
    if weights is None or (weights == 1.0).all():
        # The place of each cell is not asked for: it takes several times as long as sorting.
        return np.unique(x, return_counts=True)
    values, place = np.unique(x, return_inverse=True)
    return values, np.bincount(place, weights, minlength=len(values))


# --------------------------------------------------------------------------------------------------
# CSR arrays, and arrays that may be either
# --------------------------------------------------------------------------------------------------


def shared_csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> Any:
    """A CSR array that shares these arrays; SciPy's constructor copies a view of less than half of an array."""
    result = scipy.sparse.csr_array(shape)
    result.data, result.indices, result.indptr = data, indices, indptr.astype(indices.dtype, copy=False)
    return result


def csr_row_sums(data: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Sum of the entries of each row, shape (rows, 1), of a CSR array with these edges of rows."""
    sums, filled_rows = np.zeros((len(edges) - 1, 1)), np.flatnonzero(np.diff(edges))
    if filled_rows.size:
        sums[filled_rows, 0] = np.add.reduceat(data, edges[filled_rows])
    return sums


def csr_of_ones(places: np.ndarray, width: int) -> Any:
    """Rows with a one at each of their places, (rows, places of a row), as a CSR array of shape (rows, width)."""
    num_rows, num_places = places.shape
    edges = num_places * np.arange(num_rows + 1, dtype=places.dtype)
    return shared_csr(np.ones(places.size), places.ravel(), edges, (num_rows, width))


def csr_rows(x: Any, rows: slice | np.ndarray) -> Any:
    """Some of the rows of a CSR array, whose entries are not copied for a slice."""
    if not isinstance(rows, slice):
        return x[rows]
    edges = x.indptr[rows.start : rows.stop + 1]
    entries = slice(edges[0], edges[-1])
    return shared_csr(x.data[entries], x.indices[entries], edges - edges[0], (len(edges) - 1, x.shape[1]))


def csr_pieces(x: Any, num_entries: int) -> Iterator[slice]:
    """Slices of rows of a CSR array with about `num_entries` entries each."""
    num_rows = x.shape[0]
    starts = np.searchsorted(x.indptr, np.arange(0, x.nnz, num_entries))
    edges = np.unique(np.concatenate([[0], starts, [num_rows]])) if num_rows else [0]
    for start, stop in itertools.pairwise(edges):
        yield slice(int(start), int(stop))


def without_duplicates(x: Any) -> Any:
    """A CSR array in which each cell is stored once. Parts of a cell are added up, because log x! is not additive.

    Arrays that are shared with the caller's data do not change.
    """
    if x.has_canonical_format:
        return x
    whole = x.copy()
    whole.sum_duplicates()
    return whole


def missing_entries(x: Any) -> Any:
    """A sparse array with ones where the given one stores NaN."""
    marks = scipy.sparse.csr_array(x, copy=True)
    marks.data = np.isnan(x.data).astype(np.float64)
    marks.eliminate_zeros()
    return marks


def dense(x: Any) -> np.ndarray:
    """The cells of a dense or sparse array as a NumPy array."""
    return x.toarray() if scipy.sparse.issparse(x) else x


def stacked(pieces: Sequence[Any]) -> Any:
    """Rows of several arrays, all dense or all sparse, as one array."""
    return scipy.sparse.vstack(pieces, format="csr") if scipy.sparse.issparse(pieces[0]) else np.concatenate(pieces)


def filled(x: Any) -> Any:
    """The cells with zeros for the missing ones, dense or sparse."""
    if not scipy.sparse.issparse(x):
        return np.nan_to_num(x)
    if not np.isnan(x.data).any():
        return x
    result = x.copy()
    result.data = np.nan_to_num(result.data)
    return result


# --------------------------------------------------------------------------------------------------
# Rows that are equal
# --------------------------------------------------------------------------------------------------


def distinct_rows(blocks: Sequence[Any], most: float) -> tuple[np.ndarray, np.ndarray] | None:
    """The distinct rows of some blocks of columns, if they are few.

    Equal rows have equal keys of 64 bits. Rows with equal keys are then compared, so that two rows are never taken for
    one by chance.

    Parameters
    ----------
    blocks : sequence of array
        Each of shape (rows, columns), float64 or CSR. Missing cells, NaN, are equal.
    most : float
        Largest share of distinct rows.

    Returns
    -------
    tuple of array, or None
        The first place of each distinct row, in the order of the rows, and for each row its position among the distinct
        ones. None if there are more distinct rows.
    """
    keys = _keys(blocks)
    num_rows = len(keys)
    # Sorting the keys alone is far faster than finding places, and often shows that the rows differ.
    in_order = np.sort(keys)
    if 1 + np.count_nonzero(in_order[1:] != in_order[:-1]) > most * num_rows:
        return None
    _, first, position = np.unique(keys, return_index=True, return_inverse=True)
    if not all(_are_equal(x, first[position]) for x in blocks):
        return None
    order = np.argsort(first)
    return first[order], np.argsort(order)[position]


def _keys(blocks: Sequence[Any]) -> np.ndarray:
    """A 64-bit key for each row: the sum of its cells' keys, modulo 2 to the 64."""
    rng = np.random.default_rng(0)
    total = np.zeros(blocks[0].shape[0], dtype=np.uint64)
    for x in blocks:
        of_columns = rng.integers(2**64, size=x.shape[1], dtype=np.uint64)
        if scipy.sparse.issparse(x):
            for rows in csr_pieces(x, PIECE_CELLS):
                piece = csr_rows(x, rows)
                sums = np.zeros(piece.nnz + 1, dtype=np.uint64)
                np.cumsum(_mixed_bits(piece.data, of_columns[piece.indices]), out=sums[1:])
                total[rows] += np.diff(sums[piece.indptr])
        else:
            for rows in row_pieces(*x.shape):
                total[rows] += _mixed_bits(x[rows], of_columns).sum(axis=1, dtype=np.uint64)
    return total


def _mixed_bits(cells: np.ndarray, of_columns: np.ndarray) -> np.ndarray:
    """A 64-bit key for each cell, by the finaliser of SplitMix64 (Steele, Lea and Flood 2014, OOPSLA)."""
    bits = np.ascontiguousarray(cells, dtype=np.float64).view(np.uint64) + of_columns
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))


def _are_equal(x: Any, other: np.ndarray) -> bool:
    """Whether each row has the same cells as the row at another place, NaN equal to NaN."""
    if not scipy.sparse.issparse(x):
        return all(np.array_equal(x[rows], x[other[rows]], equal_nan=True) for rows in row_pieces(*x.shape))
    for rows in csr_pieces(x, PIECE_CELLS):
        mine, theirs = csr_rows(x, rows), x[other[rows]]
        same = all(np.array_equal(getattr(mine, name), getattr(theirs, name)) for name in ("indptr", "indices"))
        if not (same and np.array_equal(mine.data, theirs.data, equal_nan=True)):
            return False
    return True
