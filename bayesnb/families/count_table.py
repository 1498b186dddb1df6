"""Sums of log densities over the counts of rows; counts that repeat are looked up in a table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bayesnb.rows import row_pieces
from bayesnb.sparse import csr_of_ones

__all__ = ["ROWS_AN_ENTRY", "CountTable"]

ROWS_AN_ENTRY = 4
"""Cells of a column for each density of its table, so that the table is soon made."""

type Density = Callable[[Any, Any, Any], Any]
"""Log density given positions of classes and of columns, and counts, which broadcast."""


@dataclass(frozen=True)
class CountTable:
    """The counts that the columns of some rows hold.

    Attributes
    ----------
    columns, counts : array, shape (entries,)
        Entries of the table: all counts from a column's smallest to its largest, column after column.
    places : array of int, shape (rows, columns)
        The entry of each cell; one after the last for a cell that is missing or not in the table.
    rare_rows, rare_columns, rare_counts : array, shape (cells,)
        Observed cells that are not in the table.
    """

    columns: np.ndarray
    counts: np.ndarray
    places: np.ndarray
    rare_rows: np.ndarray
    rare_columns: np.ndarray
    rare_counts: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray, longest: int) -> Self:
        """The counts of rows.

        Parameters
        ----------
        x : array, shape (rows, columns)
            Counts; missing ones NaN.
        longest : int
            Entries that a column has at most: larger counts are not in the table.
        """
        smallest = np.fmin.reduce(x, axis=0, initial=np.inf)
        smallest = np.where(np.isfinite(smallest), smallest, 0.0)
        lengths = np.fmax.reduce(x, axis=0, initial=-1.0) - smallest + 1
        size = np.minimum(lengths, longest).astype(np.intp)
        ends = size.cumsum()
        starts, total = ends - size, int(size.sum())
        columns = np.repeat(np.arange(x.shape[1]), size)
        counts = np.arange(total) - starts[columns] + smallest[columns]
        places = np.empty(x.shape, dtype=np.int32)
        for rows in row_pieces(*x.shape):
            above = x[rows] - smallest
            places[rows] = np.where(above < size, above + starts, total)
        longer = np.flatnonzero(lengths > size)
        rare_rows, of_longer = np.nonzero(x[:, longer] - smallest[longer] >= size[longer])
        rare_columns = longer[of_longer]
        return cls(columns, counts, places, rare_rows, rare_columns, x[rare_rows, rare_columns])

    def sums(self, density: Density, num_classes: int) -> np.ndarray:
        """Sum over the observed cells of each row, under each class, shape (rows, classes)."""
        table = self._table(density, num_classes)
        found = csr_of_ones(self.places, len(table)) @ table
        if len(self.rare_rows):
            classes = np.arange(num_classes)
            np.add.at(found, self.rare_rows, density(classes, self.rare_columns[:, None], self.rare_counts[:, None]))
        return found

    def sums_of_own_class(self, density: Density, codes: np.ndarray, num_classes: int) -> np.ndarray:
        """Sum over the observed cells of each row, under its own class, shape (rows,).

        Parameters
        ----------
        codes : array of int, shape (rows,)
            Position of each row's class.
        """
        table = self._table(density, num_classes)
        found = np.empty(len(codes))
        ones = np.ones(self.places.shape[1])
        for rows in row_pieces(*self.places.shape):
            at = self.places[rows].astype(np.intp) * num_classes + codes[rows, None]
            found[rows] = table.take(at) @ ones
        if len(self.rare_rows):
            of_rare = density(codes[self.rare_rows], self.rare_columns, self.rare_counts)
            np.add.at(found, self.rare_rows, of_rare)
        return found

    def _table(self, density: Density, num_classes: int) -> np.ndarray:
        """Densities of the entries under each class, shape (entries + 1, classes); the last are zero."""
        table = np.zeros((len(self.counts) + 1, num_classes))
        table[:-1] = density(np.arange(num_classes), self.columns[:, None], self.counts[:, None])
        return table
