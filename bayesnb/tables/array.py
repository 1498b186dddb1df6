"""NumPy arrays as tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.tables.columns import Column, as_index
from bayesnb.tables.objects import to_numbers, unmask
from bayesnb.tables.table import Table

__all__ = ["ArrayTable"]


@dataclass(frozen=True)
class ArrayTable(Table):
    """A two-dimensional NumPy array, masked or not."""

    array: Any
    names: tuple[Column, ...]
    num_rows: int
    named: bool = False
    non_negative: bool = False

    @property
    def cell_bytes(self) -> int:
        return self.array.dtype.itemsize

    def stored(self, columns: Sequence[int], rows: slice) -> np.ndarray | None:
        if self.array.dtype.kind in "biuf" and not isinstance(self.array, np.ma.MaskedArray):
            return self.array[rows, as_index(columns)]
        return None

    def numbers(
        self, columns: Sequence[int], rows: slice, *, sparse: bool = False, booleans: bool = False
    ) -> np.ndarray:
        stored = self.stored(columns, rows)
        if stored is not None:
            return stored if booleans and stored.dtype == bool else stored.astype(np.float64, copy=False)
        chunk = self.array[rows]
        return np.column_stack([to_numbers(chunk[:, column], self.names[column], rows) for column in columns])

    def values(self, column: int, rows: slice) -> np.ndarray:
        return unmask(self.array[rows, column])
