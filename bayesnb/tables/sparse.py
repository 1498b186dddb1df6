"""SciPy sparse matrices as tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.sparse import csr_pieces, csr_rows, without_duplicates
from bayesnb.tables.columns import Column
from bayesnb.tables.table import Table

__all__ = ["SparseTable", "as_csr"]


@dataclass(frozen=True)
class SparseTable(Table):
    """A CSR array made by `as_csr`. A cell that is not stored is zero, not missing."""

    matrix: Any
    names: tuple[Column, ...]
    num_rows: int
    named: bool = False
    non_negative: bool = False

    def stored(self, columns: Sequence[int], rows: slice) -> np.ndarray | None:
        return None

    def numbers(self, columns: Sequence[int], rows: slice, *, sparse: bool = False, booleans: bool = False) -> Any:
        chunk = self._rows(rows)
        if columns != range(len(self.names)):
            chunk = chunk[:, list(columns)]
        chunk = chunk.astype(np.float64, copy=False)
        return chunk if sparse else chunk.toarray()

    def _rows(self, rows: slice) -> Any:
        start, stop, _ = rows.indices(self.num_rows)
        chunk = csr_rows(self.matrix, slice(start, stop))
        chunk.has_canonical_format = True
        return chunk

    def values(self, column: int, rows: slice) -> np.ndarray:
        return self._rows(rows)[:, [column]].toarray().ravel()

    def kind(self, column: int) -> str:
        return "boolean" if self.matrix.dtype == bool else "number"

    def chunks(self, num_columns: int) -> Iterator[slice]:
        # The statistics of a chunk have an entry for every column, so large chunks cost less. The number of chunks is
        # even, for two threads.
        number = -(-self.matrix.nnz // (5 * self.chunk_cells))
        number += number % 2 if number > 1 else 0
        return csr_pieces(self.matrix, max(1, -(-self.matrix.nnz // max(number, 1))))


def as_csr(X: Any) -> Any:
    """A SciPy sparse array or matrix as a CSR array that stores each cell once.

    The arrays of X are shared if they need no change.
    """
    result = scipy.sparse.csr_array(X)
    if X.format == "csr":
        # SciPy checks this once for X and keeps the result on X.
        result.has_canonical_format = X.has_canonical_format
    return without_duplicates(result)
