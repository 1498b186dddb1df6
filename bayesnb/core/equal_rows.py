"""Rows that are equal."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.core.arrays import row_pieces
from bayesnb.core.sparse import csr_pieces, csr_rows

ENTRIES = 2**16
"""Entries of a CSR array taken at a time."""


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
            for rows in csr_pieces(x, ENTRIES):
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
    for rows in csr_pieces(x, ENTRIES):
        mine, theirs = csr_rows(x, rows), x[other[rows]]
        same = all(np.array_equal(getattr(mine, name), getattr(theirs, name)) for name in ("indptr", "indices"))
        if not (same and np.array_equal(mine.data, theirs.data, equal_nan=True)):
            return False
    return True
