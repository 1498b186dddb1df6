"""Rows in pieces that fit the cache, and rows of one class."""

import itertools
from collections.abc import Iterator

import numpy as np

__all__ = ["PIECE_CELLS", "all_whole", "any_missing", "row_pieces", "rows_by_class"]

PIECE_CELLS = 2**16
"""Cells of a temporary array: half a mebibyte of float64, which stays in a core's own cache."""


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


def any_missing(x: np.ndarray) -> bool:
    """Whether a cell is NaN. A sum shows it without an array as large as `x`."""
    if x.dtype.kind != "f":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(x.sum()) and np.isnan(x).any())


def all_whole(cells: np.ndarray) -> bool:
    """Whether all cells are whole numbers, without a temporary array as large as they are."""
    return all(np.array_equal(cells[rows], np.rint(cells[rows])) for rows in row_pieces(len(cells), cells[:1].size))
