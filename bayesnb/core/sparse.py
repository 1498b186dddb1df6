"""Sparse arrays in CSR format, and arrays that may be sparse or dense."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse


def shared_csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> Any:
    """A CSR array that shares these arrays; SciPy's constructor copies a view of less than half of an array."""
    result = scipy.sparse.csr_array(shape)
    result.data, result.indices, result.indptr = data, indices, indptr.astype(indices.dtype, copy=False)
    return result


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
