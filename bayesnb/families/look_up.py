"""Densities that are looked up, because cells have few distinct values."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from bayesnb.core.arrays import any_missing, csr_of_ones, filled, missing_entries, namespace, row_pieces, rows_by_class
from bayesnb.families.exponential import Weights
from bayesnb.families.statistics import classes_of_rows

__all__ = [
    "Table",
    "count_codes",
    "look_up_cells",
    "look_up_on_device",
]

# --------------------------------------------------------------------------------------------------
# Codes of categories as places in a table: counted, looked up, and laid out as rows of zeros and ones
# --------------------------------------------------------------------------------------------------


def count_codes(x: np.ndarray, membership: Any, num_categories: int) -> np.ndarray:
    """Weight of the cells of each category, shape (classes, columns, categories).

    Parameters
    ----------
    x : array, shape (rows, columns)
        Codes; missing ones NaN.
    membership : array or Membership, shape (rows, classes)
    num_categories : int
    """
    codes = classes_of_rows(membership)
    if codes is None:
        sums = one_hot(x, num_categories).T @ membership
        sums = sums.toarray() if scipy.sparse.issparse(sums) else sums
        by_class = np.moveaxis(sums.reshape(x.shape[1], num_categories + 1, -1), -1, 0)
        return np.ascontiguousarray(by_class[..., :num_categories])
    shape = membership.shape[1], x.shape[1], num_categories + 1
    counted = np.bincount(places_by_class(x, codes, shape).ravel(), minlength=math.prod(shape)).reshape(shape)
    return counted[..., :-1].astype(np.float64)


def one_hot(x: np.ndarray, num_categories: int) -> scipy.sparse.csr_array:
    """Rows as sparse vectors with a one for each cell: in the place of its category, or one after where it is missing.

    Parameters
    ----------
    x : array, shape (rows, columns)
        Codes; missing ones NaN.
    num_categories : int

    Returns
    -------
    CSR array, shape (rows, columns * (num_categories + 1))
    """
    return _ones_at(with_missing_last(x, num_categories).astype(np.int32), num_categories + 1)


def one_hot_pairs(x: np.ndarray, num_categories: int) -> scipy.sparse.csr_array:
    """As `one_hot`, with a one for each pair of columns j and j + pairs, in the place of both categories.

    Parameters
    ----------
    x : array, shape (rows, 2 * pairs)
        Codes; missing ones NaN.
    num_categories : int

    Returns
    -------
    CSR array, shape (rows, pairs * (num_categories + 1)**2)
    """
    width, pairs = num_categories + 1, x.shape[1] // 2
    codes = with_missing_last(x, num_categories).astype(np.int32)
    return _ones_at(codes[:, :pairs] * np.int32(width) + codes[:, pairs:], width**2)


def _ones_at(places: np.ndarray, width: int) -> scipy.sparse.csr_array:
    """A one in each column's share of a row, (rows, columns), where each share is so wide."""
    num_columns = places.shape[1]
    places += width * np.arange(num_columns, dtype=np.int32)
    return csr_of_ones(places, num_columns * width)


def places_by_class(x: np.ndarray, codes: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Position of each cell in a flat table of class, column and category, the last of which is a missing cell's.

    Parameters
    ----------
    x : array, shape (rows, columns)
    codes : array of int, shape (rows,)
        Position of each row's class.
    shape : tuple of int
        Classes, columns, categories and one more.
    """
    places = np.arange(0, math.prod(shape), shape[-1]).reshape(shape[:2]).take(codes, axis=0)
    places += with_missing_last(x, shape[-1] - 1)
    return places


def with_certain_last(log_prob: np.ndarray) -> np.ndarray:
    """Log probabilities of the categories, and that of a missing cell, which is certain under every class."""
    return np.concatenate([log_prob, np.zeros((*log_prob.shape[:-1], 1))], axis=-1)


def with_missing_last(x: np.ndarray, num_categories: int) -> np.ndarray:
    """Codes as signed integers, that after the last for a missing cell."""
    codes = x if x.dtype.kind in "iu" else np.where(np.isnan(x), num_categories, x)
    return codes.astype(np.intp, copy=False)


# --------------------------------------------------------------------------------------------------
# Sums of log probabilities that are looked up in a table of values
# --------------------------------------------------------------------------------------------------

LARGEST_OF_PAIRS = 2**14
"""Sums of pairs that are tabulated at most: they stay in a core's own cache."""


@dataclass(frozen=True)
class Table:
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

    def of_all_rows(self, x: Any) -> np.ndarray:
        """Sum over columns of the log probability of each cell, shape (..., rows, classes); zero for a missing cell.

        Parameters
        ----------
        x : array or CSR array, shape (rows, columns)
            Values; missing ones NaN. In a CSR array the empty cells are zeros.
        """
        if scipy.sparse.issparse(x) or not self._is_of_two:
            return self.of_rows(x)
        pieces = [self.of_rows(x[rows]) for rows in row_pieces(*x.shape)]
        return np.concatenate(pieces, axis=-2) if len(pieces) > 1 else pieces[0]

    def of_rows(self, x: Any) -> np.ndarray:
        """As `of_all_rows`, for rows whose temporary arrays fit the cache."""
        if not self._is_of_two:
            if x.shape[1] == 1 or not self._pairs_are_few:
                sums = one_hot(x, self.log_prob.shape[-1]) @ self._by_code
            elif x.shape[1] % 2:
                return self._others.of_rows(x[:, :-1]) + self._last.of_rows(x[:, -1:])
            else:
                sums = one_hot_pairs(x, self.log_prob.shape[-1]) @ self._by_pair
            return np.moveaxis(sums.reshape(x.shape[0], *self.log_prob.shape[:-2]), 0, -2)
        if scipy.sparse.issparse(x):
            if not self._zero_is_possible:
                return self.of_rows(x.toarray())
            # Every empty cell is a zero: start from a row of zeros and correct where an entry is stored.
            sums = self._excess_of_one.of_rows(filled(x)) + self._row_of_zeros
            sums -= self._of_zero.of_rows(missing_entries(x))
        elif any_missing(x) or not self._zero_is_possible:
            cells = x.astype(np.float64, copy=False)
            observed = ~np.isnan(cells)
            ones = np.where(observed, cells, 0.0)
            sums = self._of_one.of_rows(ones) + self._of_zero.of_rows(observed - ones)
        else:
            sums = self._excess_of_one.of_rows(x.astype(np.float64, copy=False)) + self._row_of_zeros
        return np.swapaxes(sums.reshape(*self.log_prob.shape[:-2], x.shape[0]), -1, -2)

    def of_own_class(self, x: Any, codes: np.ndarray) -> np.ndarray:
        """Sums of each row under one class, shape (rows,), given the position of the class (rows,)."""
        if not self._is_of_two:
            table = with_certain_last(self.log_prob)
            return table.take(places_by_class(x, codes, table.shape)) @ np.ones(x.shape[1])
        result = np.empty(len(codes))
        for c, rows in rows_by_class(codes, len(self.log_prob)):
            result[rows] = Table(self.log_prob[[c]]).of_all_rows(x[rows])[:, 0]
        return result

    @property
    def _is_of_two(self) -> bool:
        return self.log_prob.shape[-1] == 2

    def _of_value(self, value: int) -> np.ndarray:
        return self.log_prob[..., value].reshape(-1, self.log_prob.shape[-2])

    @cached_property
    def _by_code(self) -> np.ndarray:
        """Entries of each code and of a missing cell, shape (columns times codes, results)."""
        table = with_certain_last(self.log_prob)
        return np.ascontiguousarray(table.reshape(-1, table.shape[-2] * table.shape[-1]).T)

    @cached_property
    def _by_pair(self) -> np.ndarray:
        """Sums of the entries of two columns, j and j + columns // 2, shape (columns / 2 times pairs, results)."""
        first, second = np.split(self._by_code.reshape(self.log_prob.shape[-2], -1, self._by_code.shape[1]), 2)
        return (first[:, :, None] + second[:, None]).reshape(-1, self._by_code.shape[1])

    @property
    def _pairs_are_few(self) -> bool:
        return self._by_code.size * (self.log_prob.shape[-1] + 1) <= 2 * LARGEST_OF_PAIRS

    @cached_property
    def _others(self) -> "Table":
        return Table(self.log_prob[..., :-1, :])

    @cached_property
    def _last(self) -> "Table":
        return Table(self.log_prob[..., -1:, :])

    @cached_property
    def _zero_is_possible(self) -> bool:
        return bool(np.isfinite(self._of_value(0)).all())

    @cached_property
    def _row_of_zeros(self) -> np.ndarray:
        return self._of_value(0).sum(axis=-1, keepdims=True)

    @cached_property
    def _excess_of_one(self) -> Weights:
        return Weights.of(self._of_value(1) - self._of_value(0))

    @cached_property
    def _of_one(self) -> Weights:
        return Weights.of(self._of_value(1))

    @cached_property
    def _of_zero(self) -> Weights:
        return Weights.of(self._of_value(0))


def look_up_cells(log_prob: Any, x: Any) -> Any:
    """Log probability of single cells, which broadcast against the table's axes other than its values."""
    xp, _ = namespace(log_prob, x)
    shape = np.broadcast_shapes(np.shape(x), np.shape(log_prob)[:-1])
    table = xp.broadcast_to(log_prob, (*shape, np.shape(log_prob)[-1]))
    codes = xp.broadcast_to(x, shape)[..., None].astype(int)
    return xp.take_along_axis(table, codes, axis=-1)[..., 0]


def look_up_on_device(log_prob: Any, x: Any) -> Any:
    """As `Table.of_all_rows` without leading axes, for JAX; cells in the precision of `x`, their sum in float64."""
    num_classes, num_columns, size = log_prob.shape
    log_prob = log_prob.astype(x.dtype)
    if size == 2:
        cells = x[:, None, :]
        log_zero = jnp.where(cells == 0, log_prob[..., 0], 0)
        return jnp.where(cells == 1, log_prob[..., 1], log_zero).sum(axis=-1, dtype=jnp.float64)
    table = jnp.pad(log_prob, ((0, 0), (0, 0), (0, 1))).reshape(num_classes, -1)
    codes = jnp.where(jnp.isnan(x), size, x).astype(jnp.int32) + (size + 1) * jnp.arange(num_columns, dtype=jnp.int32)
    return jnp.take(table, codes, axis=1).sum(axis=-1, dtype=jnp.float64).T


# --------------------------------------------------------------------------------------------------
# Sums of log densities over the counts of rows; counts that repeat are looked up in a table
# --------------------------------------------------------------------------------------------------

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


# --------------------------------------------------------------------------------------------------
# Log densities of single cells, where small counts are looked up in a table
# --------------------------------------------------------------------------------------------------

LARGEST_TABLE = 512
"""Log densities of counts up to this are looked up, if the table has fewer densities than there are cells."""

FEW = 0.25
"""Share of larger counts up to which the others are looked up."""


def log_density_of_cells(log_density: Callable[..., Any], cells: Any, parameters: Any, *, are_counts: bool) -> Any:
    """Log density of every cell, shape (rows, columns).

    Parameters
    ----------
    log_density : callable
        Maps cells, and parameters that broadcast against them, to log densities.
    cells : array, shape (rows, columns)
        No missing cell. JAX arrays, and arrays of more axes, go to the formula as they are.
    parameters : array or family
        Of each column, shape (columns,); or a number.
    are_counts : bool
        Whether all cells are whole numbers from zero.
    """
    if isinstance(cells, jax.Array) or cells.ndim != 2:
        return log_density(cells, parameters)
    if are_counts:
        highest = min(cells.max(initial=0.0), LARGEST_TABLE, len(cells) // 2)
        rows, columns = np.nonzero(cells > highest)
        if len(rows) <= FEW * cells.size:
            counts = np.broadcast_to(np.arange(highest + 1)[:, None], (int(highest) + 1, cells.shape[1]))
            table = np.ascontiguousarray(log_density(counts, parameters))
            at = np.minimum(cells, highest) if len(rows) else cells
            found = table.ravel().take(at.astype(np.intp) * cells.shape[1] + np.arange(cells.shape[1]))
            if len(rows):
                own = jax.tree.map(lambda leaf: leaf if np.ndim(leaf) == 0 else leaf[columns], parameters)
                found[rows, columns] = log_density(cells[rows, columns], own)
            return found
    pieces = [np.asarray(log_density(cells[rows], parameters)) for rows in row_pieces(*cells.shape)]
    return np.concatenate(pieces) if len(pieces) > 1 else pieces[0]
