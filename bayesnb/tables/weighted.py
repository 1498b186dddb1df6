"""Tables with rows of weight zero, which add no category."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.tables.overlay import Overlay
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
class WeightedTable(Overlay):
    """A table in which the categorical cells of some rows are missing.

    Attributes
    ----------
    table : Table
    counted : array of bool, shape (rows,)
        Rows whose categories count.
    """

    counted: np.ndarray

    def values(self, column: int, rows: slice) -> np.ndarray:
        values, counted = self.table.values(column, rows), self.counted[rows]
        if counted.all():
            return values
        shown = values.astype(object)
        shown[~counted] = None
        return shown

    def distinct_values(self, column: int) -> np.ndarray:
        return self.table.values(column, slice(None))[self.counted]
