"""Tables that show another table with some cells changed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.tables.table import Table

__all__ = ["Overlay"]


@dataclass(frozen=True)
class Overlay(Table):
    """Another table; a subclass changes what some methods give.

    Attributes
    ----------
    table : Table
    """

    table: Table

    @property
    def names(self) -> tuple[Any, ...]:  # type: ignore[override]
        return self.table.names

    @property
    def named(self) -> bool:  # type: ignore[override]
        return self.table.named

    @property
    def num_rows(self) -> int:  # type: ignore[override]
        return self.table.num_rows

    @property
    def non_negative(self) -> bool:  # type: ignore[override]
        return self.table.non_negative

    @property
    def cell_bytes(self) -> int:
        return self.table.cell_bytes

    def stored(self, columns: Sequence[int], rows: slice) -> np.ndarray | None:
        return self.table.stored(columns, rows)

    def numbers(self, columns: Sequence[int], rows: slice, *, sparse: bool = False, booleans: bool = False) -> Any:
        return self.table.numbers(columns, rows, sparse=sparse, booleans=booleans)

    def values(self, column: int, rows: slice) -> np.ndarray:
        return self.table.values(column, rows)

    def distinct_values(self, column: int) -> np.ndarray:
        return self.table.distinct_values(column)

    def declared_categories(self, column: int) -> tuple | None:
        return self.table.declared_categories(column)

    def kind(self, column: int) -> str:
        return self.table.kind(column)

    def chunks(self, num_columns: int) -> Iterator[slice]:
        return self.table.chunks(num_columns)
