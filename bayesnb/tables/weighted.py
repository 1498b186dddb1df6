"""Tables with rows of weight zero, which add no category."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.tables.read import as_table
from bayesnb.tables.table import Table
from bayesnb.tables.weights import check_weights

__all__ = ["weighted_table"]


def weighted_table(X: Any, sample_weight: Any) -> Table:
    """A table in which the categorical cells of rows of weight zero are missing.

    The statistics apply the weights themselves. Without this table, a category that occurs only in rows of weight zero
    would be a category of the column and take a share of the prior.

    Parameters
    ----------
    X : table, shape (rows, columns)
    sample_weight : array, shape (rows,), or None

    Raises
    ------
    TypeError, ValueError
        If X is not a table, or there is not one finite, non-negative weight for each row.
    """
    table = as_table(X)
    if sample_weight is None:
        return table
    counted = check_weights(sample_weight, table.num_rows) > 0
    return table if counted.all() else WeightedTable(table, counted)


@dataclass(frozen=True)
class WeightedTable(Table):
    """A table in which the categorical cells of some rows are missing.

    Attributes
    ----------
    table : Table
    counted : array of bool, shape (rows,)
        Rows whose categories count.
    """

    table: Table
    counted: np.ndarray

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
        values, counted = self.table.values(column, rows), self.counted[rows]
        if counted.all():
            return values
        shown = values.astype(object)
        shown[~counted] = None
        return shown

    def distinct_values(self, column: int) -> np.ndarray:
        return self.table.values(column, slice(None))[self.counted]

    def declared_categories(self, column: int) -> tuple | None:
        return self.table.declared_categories(column)

    def kind(self, column: int) -> str:
        return self.table.kind(column)

    def chunks(self, num_columns: int) -> Iterator[slice]:
        return self.table.chunks(num_columns)
