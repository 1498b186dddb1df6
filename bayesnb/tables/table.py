"""The interface of tables, for every library that makes them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from bayesnb.tables.columns import Column
from bayesnb.tables.objects import is_missing, require_hashable

__all__ = ["Table"]


class Table(ABC):
    """Rows and named columns, read some rows at a time.

    Attributes
    ----------
    names : tuple
        Column names; positions 0, 1, ... if the table has none.
    named : bool
        Whether the names come from the table.
    num_rows : int
    non_negative : bool
        Whether all cells are known to be from zero to the largest allowed cell (`tables.cells.LARGEST_NUMBER`).
    chunk_cells : int
        Cells of eight bytes in a chunk.
    """

    chunk_cells: ClassVar[int] = 2**20
    """Eight mebibytes. The kernels take a chunk in pieces that fit the processor's cache; a larger chunk means that the
    threads take Python's lock less often."""

    names: tuple[Column, ...]
    named: bool
    num_rows: int
    non_negative: bool = False

    @abstractmethod
    def stored(self, columns: Sequence[int], rows: slice) -> np.ndarray | None:
        """Cells in their own type, shape (rows, columns), without a copy if possible.

        None if the cells do not share a type of numbers or booleans.
        """

    @abstractmethod
    def numbers(self, columns: Sequence[int], rows: slice, *, sparse: bool = False, booleans: bool = False) -> Any:
        """Cells as float64, missing ones NaN, shape (rows, columns).

        Parameters
        ----------
        columns : sequence of int
        rows : slice
        sparse : bool, default False
            Give a CSR array if the table is sparse.
        booleans : bool, default False
            Give an array of bool if all cells are booleans.
        """

    @abstractmethod
    def values(self, column: int, rows: slice) -> np.ndarray:
        """Cells of one column in their own type, shape (rows,)."""

    def distinct_values(self, column: int) -> np.ndarray:
        """Values of one column, shape (values,); each distinct value occurs at least once."""
        return self.values(column, slice(None))

    def declared_categories(self, column: int) -> tuple | None:
        """Categories that the type of the column lists; None if it lists none."""
        return None

    def kind(self, column: int) -> str:
        """Kind of the column's values: ``"boolean"``, ``"number"`` or ``"category"``.

        Raises
        ------
        TypeError
            If the values are neither numbers nor possible categories (dates, lists).
        """
        values = self.values(column, slice(None))
        if values.dtype.kind in "biuf":
            return "boolean" if values.dtype.kind == "b" else "number"
        present = [value for value in values.tolist() if not is_missing(value)]
        if present and all(isinstance(value, bool | np.bool_) for value in present):
            return "boolean"
        if all(isinstance(value, int | float | np.number) for value in present):
            return "number"
        if values.dtype.kind in "USO":
            require_hashable(present, self.names[column])
            return "category"
        raise TypeError(
            f"column {self.names[column]!r} holds {values.dtype}, which is neither numbers nor categories: convert it, "
            "or leave it out of the model"
        )

    @property
    def cell_bytes(self) -> int:
        """Bytes of a stored cell."""
        return 8

    def chunks(self, num_columns: int) -> Iterator[slice]:
        """Slices of rows that cover the table, each to be read at once."""
        size = max(256, 8 * self.chunk_cells // (self.cell_bytes * max(num_columns, 1)))
        for start in range(0, self.num_rows, size):
            yield slice(start, min(start + size, self.num_rows))
