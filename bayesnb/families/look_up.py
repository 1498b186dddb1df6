"""Densities that are looked up, because cells have few distinct values."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse

from bayesnb.core.arrays import any_missing, namespace, row_pieces, rows_by_class
from bayesnb.core.deferred import jnp
from bayesnb.core.sparse import csr_of_ones, dense, filled, missing_entries
from bayesnb.families.matrix_product import ProductMatrix
from bayesnb.families.statistics import classes_of_rows

# --------------------------------------------------------------------------------------------------
# Columns of few distinct values: a formula is evaluated once for each value, and looked up for each cell
# --------------------------------------------------------------------------------------------------

ROWS_AN_ENTRY = 4
"""Least number of cells per table entry, so that making the table pays."""

type Density = Callable[[Any, Any, Any], Any]
"""Log density given positions of classes and of columns, and values, which broadcast."""


@dataclass(frozen=True)
class Distinct:
    """The values that the columns of some rows hold, whole numbers.

    Attributes
    ----------
    columns, values : array, shape (entries,)
        All values from a column's smallest to its largest, column after column.
    places : array of int, shape (rows, columns)
        The entry of each cell; one after the last for a cell that is missing or rare.
    rare_rows, rare_columns, rare_values : array, shape (cells,)
        Observed cells whose value is no entry.
    """

    columns: np.ndarray
    values: np.ndarray
    places: np.ndarray
    rare_rows: np.ndarray
    rare_columns: np.ndarray
    rare_values: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray, longest: int) -> Self:
        """The counts of rows.

        Parameters
        ----------
        x : array, shape (rows, columns)
            Counts; missing ones NaN.
        longest : int
            Entries that a column has at most: larger counts are rare.
        """
        smallest = np.fmin.reduce(x, axis=0, initial=np.inf)
        smallest = np.where(np.isfinite(smallest), smallest, 0.0)
        lengths = np.fmax.reduce(x, axis=0, initial=-1.0) - smallest + 1
        size = np.minimum(lengths, longest).astype(np.intp)
        ends = size.cumsum()
        starts, total = ends - size, int(size.sum())
        columns = np.repeat(np.arange(x.shape[1]), size)
        values = np.arange(total) - starts[columns] + smallest[columns]
        places = np.empty(x.shape, dtype=np.int32)
        for rows in row_pieces(*x.shape):
            above = x[rows] - smallest
            places[rows] = np.where(above < size, above + starts, total)
        longer = np.flatnonzero(lengths > size)
        rare_rows, of_longer = np.nonzero(x[:, longer] - smallest[longer] >= size[longer])
        rare_columns = longer[of_longer]
        return cls(columns, values, places, rare_rows, rare_columns, x[rare_rows, rare_columns])

    @classmethod
    def of_codes(cls, x: np.ndarray, number: int) -> Self:
        """Codes of `number` categories, missing ones NaN; each is an entry of every column."""
        columns, values = np.divmod(np.arange(x.shape[1] * number), number)
        codes = np.where(np.isnan(x), -1, x) if x.dtype.kind == "f" else x
        places = codes.astype(np.int32) + number * np.arange(x.shape[1], dtype=np.int32)
        places[codes < 0] = len(values)
        none = np.zeros(0, dtype=np.intp)
        return cls(columns, values, places, none, none, none)

    def sums(self, density: Density, num_classes: int) -> np.ndarray:
        """Sum over the observed cells of each row, under each class, shape (rows, classes)."""
        classes = np.arange(num_classes)
        found = self.look_up(self._table(density, num_classes))
        if len(self.rare_rows):
            np.add.at(found, self.rare_rows, density(classes, self.rare_columns[:, None], self.rare_values[:, None]))
        return found

    def cells(self, density: Density, num_classes: int) -> np.ndarray:
        """The density of each cell under each class, shape (rows, classes, columns); zero for a missing one."""
        table = self._table(density, num_classes)
        found = np.concatenate([table, np.zeros((1, num_classes))]).T[:, self.places].swapaxes(0, 1)
        of_rare = density(np.arange(num_classes), self.rare_columns[:, None], self.rare_values[:, None])
        found[self.rare_rows, :, self.rare_columns] = of_rare
        return found

    def _table(self, density: Density, num_classes: int) -> np.ndarray:
        """Densities of the entries under each class, shape (entries, classes)."""
        return np.asarray(density(np.arange(num_classes), self.columns[:, None], self.values[:, None]))

    def look_up(self, table: np.ndarray) -> np.ndarray:
        """Sums over the columns of what a table (entries, results) holds for the cells, shape (rows, results)."""
        return csr_of_ones(self.places, len(table) + 1) @ np.pad(table, ((0, 1), (0, 0)))

    def weights(self, membership: Any) -> np.ndarray:
        """Weight of the cells of each entry in each class, shape (entries, classes)."""
        codes, size = classes_of_rows(membership), len(self.values) + 1
        if codes is None:
            return (csr_of_ones(self.places, size).T @ np.asarray(membership))[:-1]
        places = self.places + size * codes[:, None]
        counted = np.bincount(places.ravel(), minlength=size * membership.shape[1])
        return counted.reshape(-1, size).T[:-1].astype(np.float64)


# --------------------------------------------------------------------------------------------------
# Sums of log probabilities that are looked up in a table of values
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ValueTable:
    """Log probabilities of values, ready to be summed over the cells of rows.

    Attributes
    ----------
    log_prob : array, shape (..., classes, columns, values)
    """

    log_prob: np.ndarray

    @classmethod
    def of(cls, log_prob: Any) -> Self:
        """A table from any array of log probabilities."""
        return cls(np.asarray(log_prob))

    def of_rows(self, x: Any) -> np.ndarray:
        """Sum over columns of the log probability of each cell, shape (..., rows, classes); zero for a missing cell.

        Parameters
        ----------
        x : array or CSR array, shape (rows, columns)
            Values; missing ones NaN. In a CSR array the empty cells are zeros.
        """
        if not self._is_of_two:
            sums = Distinct.of_codes(x, self.log_prob.shape[-1]).look_up(self._by_code)
            return np.moveaxis(sums.reshape(x.shape[0], *self.log_prob.shape[:-2]), 0, -2)
        if scipy.sparse.issparse(x) and self._zero_is_possible:
            # Empty cells are zeros: start from a row of zeros, and correct it at stored entries.
            sums = self._excess_of_one.of_rows(filled(x)) + self._row_of_zeros
            sums -= self._of_zero.of_rows(missing_entries(x))
        else:
            cells = dense(x)
            pieces = [self._of_piece(cells[rows]) for rows in row_pieces(*cells.shape)]
            sums = np.concatenate(pieces, axis=-1) if len(pieces) > 1 else pieces[0]
        return np.swapaxes(sums.reshape(*self.log_prob.shape[:-2], x.shape[0]), -1, -2)

    def _of_piece(self, x: np.ndarray) -> np.ndarray:
        """Sums of zeros and ones in rows whose temporary arrays fit the cache, shape (results, rows)."""
        cells = x.astype(np.float64, copy=False)
        if self._zero_is_possible and not any_missing(x):
            return self._excess_of_one.of_rows(cells) + self._row_of_zeros
        observed = ~np.isnan(cells)
        ones = np.where(observed, cells, 0.0)
        return self._of_one.of_rows(ones) + self._of_zero.of_rows(observed - ones)

    def of_own_class(self, x: Any, codes: np.ndarray) -> np.ndarray:
        """Sums of each row under one class, shape (rows,), given the position of the class (rows,)."""
        if not self._is_of_two:
            table = np.pad(self.log_prob.reshape(len(self.log_prob), -1), ((0, 0), (0, 1)))
            places = Distinct.of_codes(x, self.log_prob.shape[-1]).places
            return table.take(places + table.shape[1] * codes[:, None]) @ np.ones(x.shape[1])
        result = np.empty(len(codes))
        for c, rows in rows_by_class(codes, len(self.log_prob)):
            result[rows] = ValueTable(self.log_prob[[c]]).of_rows(x[rows])[:, 0]
        return result

    @property
    def _is_of_two(self) -> bool:
        return self.log_prob.shape[-1] == 2

    def _of_value(self, value: int) -> np.ndarray:
        return self.log_prob[..., value].reshape(-1, self.log_prob.shape[-2])

    @cached_property
    def _by_code(self) -> np.ndarray:
        """Log probabilities by entry of `Distinct.of_codes`, shape (columns times values, results)."""
        *_, num_columns, size = self.log_prob.shape
        return np.ascontiguousarray(self.log_prob.reshape(-1, num_columns * size).T)

    @cached_property
    def _zero_is_possible(self) -> bool:
        return bool(np.isfinite(self._of_value(0)).all())

    @cached_property
    def _row_of_zeros(self) -> np.ndarray:
        return self._of_value(0).sum(axis=-1, keepdims=True)

    @cached_property
    def _excess_of_one(self) -> ProductMatrix:
        return ProductMatrix.of(self._of_value(1) - self._of_value(0))

    @cached_property
    def _of_one(self) -> ProductMatrix:
        return ProductMatrix.of(self._of_value(1))

    @cached_property
    def _of_zero(self) -> ProductMatrix:
        return ProductMatrix.of(self._of_value(0))


def look_up_cells(log_prob: Any, x: Any) -> Any:
    """Log probability of single cells, which broadcast against the table's axes other than its values."""
    xp, _ = namespace(log_prob, x)
    shape = np.broadcast_shapes(np.shape(x), np.shape(log_prob)[:-1])
    table = xp.broadcast_to(log_prob, (*shape, np.shape(log_prob)[-1]))
    codes = xp.broadcast_to(x, shape)[..., None].astype(int)
    return xp.take_along_axis(table, codes, axis=-1)[..., 0]


def look_up_in_jax(log_prob: Any, x: Any) -> Any:
    """As `Table.of_rows` without leading axes, for JAX."""
    num_classes, num_columns, size = log_prob.shape
    if size == 2:
        cells = x[:, None, :]
        log_zero = jnp.where(cells == 0, log_prob[..., 0], 0)
        return jnp.where(cells == 1, log_prob[..., 1], log_zero).sum(axis=-1)
    table = jnp.pad(log_prob, ((0, 0), (0, 0), (0, 1))).reshape(num_classes, -1)
    codes = jnp.where(jnp.isnan(x), size, x).astype(jnp.int32) + (size + 1) * jnp.arange(num_columns, dtype=jnp.int32)
    return jnp.take(table, codes, axis=1).sum(axis=-1).T
