"""Densities of many rows with NumPy: matrix products of natural parameters and terms, and tables of values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse

from bayesnb.core.arrays import any_missing, csr_of_ones, dense, filled, missing_entries, row_pieces
from bayesnb.core.deferred import jnp, namespace
from bayesnb.families.hyperparameters import filled_cells
from bayesnb.families.statistics import classes_of_rows, rows_by_class

# --------------------------------------------------------------------------------------------------
# Products of natural parameters and terms
# --------------------------------------------------------------------------------------------------


FARTHEST = 5e5
"""Largest change of a log partition by the origin. Terms of this size cancel in a product, with an error of 1e-10."""


def times(weight: Any, value: Any) -> Any:
    """A product that is zero if the weight is zero, even for an infinite value."""
    xp, _ = namespace(weight, value)
    # Where the value is finite, the product has a derivative with respect to the weight.
    nothing = (weight == 0) & ~xp.isfinite(value)
    return xp.where(nothing, 0.0, weight * xp.where(nothing, 0.0, value))


type Products = Callable[..., np.ndarray]
"""Products of a matrix (results, entries) with rows (rows, entries), an array or CSR array: (results, rows)."""


def products_with(matrix: np.ndarray) -> Products:
    """Products with a matrix, in which minus infinity counts only where the row is positive.

    Those of an array may go into another one, the second argument.
    """
    impossible = None
    if np.fmin.reduce(matrix, axis=None, initial=0.0) == -np.inf:
        impossible = np.asfortranarray(np.isneginf(matrix), dtype=np.float64)
        matrix = np.where(impossible, 0.0, matrix)
    # A product with a sparse array reads the matrix in Fortran's order.
    values = np.asfortranarray(matrix)

    def of_rows(rows: Any, out: np.ndarray | None = None) -> np.ndarray:
        sums = _product(values, rows) if out is None else np.matmul(values, rows.T, out=out)
        if impossible is not None:
            sums[_product(impossible, rows) > 0] = -np.inf
        return sums

    return of_rows


def _product(values: np.ndarray, rows: Any) -> np.ndarray:
    # SciPy multiplies a sparse array from the left only.
    return values @ rows.T if isinstance(rows, np.ndarray) else (rows @ values.T).T


type _Put = Callable[[np.ndarray, np.ndarray, np.ndarray], None]
"""Puts the log densities of cells, of which some are observed, into an array (draws times classes, rows)."""


def densities_by_product(
    family: Any, parameters: Mapping[str, Any], x: Any, *, with_base: bool
) -> Callable[[slice], np.ndarray]:
    r"""Log densities of rows under values of the parameters, :math:`T(x)\,\eta(\theta) - A(\theta) + \log h(x)`.

    Terms and natural parameters are measured from an origin for each class and column, the average over the draws of
    `ExponentialFamily.origin`. One origin for all classes would lose the digits of classes that are far apart in units
    of their own spread. If draws are far from their average, the formula itself replaces the product.

    Parameters
    ----------
    family : ExponentialFamily
    parameters : mapping
        Arrays of shape (..., classes, columns).
    x : array, shape (rows, columns)
        Missing cells are NaN.
    with_base : bool
        Whether a base measure that all classes share counts.

    Returns
    -------
    callable
        Maps a slice of rows to their log densities, shape (..., rows, classes).
    """
    values, cells_of_rows = {name: np.asarray(value) for name, value in parameters.items()}, np.asarray(x, np.float64)
    *leading, num_classes, num_columns = next(iter(values.values())).shape
    num_draws, complete = int(np.prod(leading)), not any_missing(cells_of_rows)
    with np.errstate(divide="ignore", over="ignore"):
        products = _products(family, values, complete=complete, with_base=with_base)

    def of_piece(x: np.ndarray) -> np.ndarray:
        """Log densities of rows whose temporary arrays fit the cache, shape (..., classes, rows)."""
        observed, cells = filled_cells(family, x)
        if products is None:
            flat = {name: value.reshape(-1, num_classes, num_columns) for name, value in values.items()}
            draws = ({name: value[i] for name, value in flat.items()} for i in range(num_draws))
            found = [densities_by_formula(family, draw, observed, cells).T for draw in draws]
            return np.reshape(found, (*leading, num_classes, len(cells)))
        sums = np.empty((num_draws * num_classes // len(products), len(products), len(cells)))
        for k, put in enumerate(products):
            put(observed, cells, sums[:, k])
        return sums.reshape(*leading, num_classes, len(cells))

    def of_rows(rows: slice) -> np.ndarray:
        some = cells_of_rows[rows]
        found = [of_piece(some[piece]) for piece in row_pieces(*some.shape)]
        return np.swapaxes(np.concatenate(found, axis=-1) if len(found) > 1 else found[0], -1, -2)

    return of_rows


def _products(family: Any, parameters: Mapping[str, Any], *, complete: bool, with_base: bool) -> list[_Put] | None:
    """The product of all classes, or one for each class with its origin; None if draws are far from their average."""
    own = family.origin(parameters)
    if own is None:
        return [_product_from(family, (), *natural_parameters(family, parameters), complete, with_base)]
    own = np.asarray(own)
    average = own.reshape(-1, *own.shape[-2:]).mean(axis=0)
    natural, partition = natural_parameters(family, parameters, average)
    _, nearest = natural_parameters(family, parameters, own)
    if not (np.abs(partition - nearest) <= FARTHEST).all():
        return None
    # The base measure depends on the origin: the classes do not share it.
    return [
        _product_from(family, (origin,), [eta[..., c, :] for eta in natural], partition[..., c, :], complete, True)
        for c, origin in enumerate(average)
    ]


def _product_from(family: Any, origin: tuple, natural: Any, partition: Any, complete: bool, with_base: bool) -> _Put:
    """The product for classes whose terms are measured from one origin (columns,); an empty tuple for zero."""
    natural, partition = [np.asarray(eta) for eta in natural], -np.asarray(partition)
    # Terms whose natural parameters are zero are not computed.
    needed = [k for k, eta in enumerate(natural) if eta.any()]
    factors = [natural[k] for k in needed]
    factors.append(partition.sum(axis=-1, keepdims=True) if complete else partition)
    products = products_with(np.concatenate([part.reshape(-1, part.shape[-1]) for part in factors], axis=1))

    def put(observed: np.ndarray, cells: np.ndarray, out: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            terms = family.terms(cells, *origin) if needed else ()
            parts = [np.asarray(terms[k]) for k in needed]
        if not complete:
            parts = [np.where(observed, part, 0.0) for part in parts]
        parts.append(np.ones((len(cells), 1)) if complete else observed.astype(np.float64))
        products(np.concatenate(parts, axis=1), out)
        if with_base:
            # The base measure may be infinite, and therefore stays out of the matrix product.
            base = np.asarray(family.log_base(cells, *origin))
            if base.any():
                out += np.where(observed, base, 0.0).sum(axis=-1)

    return put


def natural_parameters(family: Any, parameters: Any, *origin: Any) -> tuple[tuple[Any, ...], Any]:
    """The result of the family's `natural`: a tuple of natural parameters, and the log partition.

    Raises
    ------
    TypeError
        If the natural parameters are not in a tuple.
    """
    given = family.natural(parameters, *origin)
    if not (isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], tuple | list)):
        raise TypeError(
            f"natural of {type(family).__name__} does not give a tuple of natural parameters and the log partition: "
            "write the inner tuple, too, as in return (parameter,), log_partition"
        )
    return given


def densities_by_formula(family: Any, parameters: Mapping[str, Any], observed: Any, cells: Any) -> Any:
    """Log density of rows, by the formula itself, shape (rows, classes); parameters of shape (classes, columns)."""
    own, x = family.origin(parameters), cells[:, None]
    origin = () if own is None else (own,)
    natural, log_partition = natural_parameters(family, parameters, *origin)
    products = map(times, family.terms(x, *origin), natural)
    densities = sum(products, family.log_base(x, *origin)) - log_partition
    return namespace(cells)[0].where(observed[:, None], densities, 0.0).sum(axis=-1)


# --------------------------------------------------------------------------------------------------
# Tables of the values of cells
# --------------------------------------------------------------------------------------------------


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
    def of(cls, x: np.ndarray, longest: int | None = None) -> Self:
        """The counts of rows.

        Parameters
        ----------
        x : array, shape (rows, columns)
            Counts; missing ones NaN.
        longest : int, optional
            Entries that a column has at most: larger counts are rare. By default as many as pay.
        """
        longest = len(x) // ROWS_AN_ENTRY if longest is None else longest
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

    def of_rows(self, x: Any) -> np.ndarray:
        """Sum over columns of the log probability of each cell, shape (..., rows, classes); zero for a missing cell.

        Parameters
        ----------
        x : array or CSR array, shape (rows, columns)
            Values; missing ones NaN. In a CSR array the empty cells are zeros.
        """
        if self.log_prob.shape[-1] != 2:
            sums = Distinct.of_codes(x, self.log_prob.shape[-1]).look_up(self._by_code)
            return np.moveaxis(sums.reshape(x.shape[0], *self.log_prob.shape[:-2]), 0, -2)
        if scipy.sparse.issparse(x) and self._zero_is_possible:
            # Empty cells are zeros: start from a row of zeros, and correct it at stored entries.
            sums = self._excess_of_one(filled(x)) + self._row_of_zeros
            sums -= self._of_zero(missing_entries(x))
        else:
            cells = dense(x)
            pieces = [self._of_piece(cells[rows]) for rows in row_pieces(*cells.shape)]
            sums = np.concatenate(pieces, axis=-1) if len(pieces) > 1 else pieces[0]
        return np.swapaxes(sums.reshape(*self.log_prob.shape[:-2], x.shape[0]), -1, -2)

    def _of_piece(self, x: np.ndarray) -> np.ndarray:
        """Sums of zeros and ones in rows whose temporary arrays fit the cache, shape (results, rows)."""
        cells = x.astype(np.float64, copy=False)
        if self._zero_is_possible and not any_missing(x):
            return self._excess_of_one(cells) + self._row_of_zeros
        observed = ~np.isnan(cells)
        ones = np.where(observed, cells, 0.0)
        return self._of_one(ones) + self._of_zero(observed - ones)

    def of_own_class(self, x: Any, codes: np.ndarray) -> np.ndarray:
        """Sums of each row under one class, shape (rows,), given the position of the class (rows,)."""
        if self.log_prob.shape[-1] != 2:
            table = np.pad(self.log_prob.reshape(len(self.log_prob), -1), ((0, 0), (0, 1)))
            places = Distinct.of_codes(x, self.log_prob.shape[-1]).places
            return table.take(places + table.shape[1] * codes[:, None]) @ np.ones(x.shape[1])
        result = np.empty(len(codes))
        for c, rows in rows_by_class(codes, len(self.log_prob)):
            result[rows] = ValueTable(self.log_prob[[c]]).of_rows(x[rows])[:, 0]
        return result

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
    def _excess_of_one(self) -> Products:
        return products_with(self._of_value(1) - self._of_value(0))

    @cached_property
    def _of_one(self) -> Products:
        return products_with(self._of_value(1))

    @cached_property
    def _of_zero(self) -> Products:
        return products_with(self._of_value(0))


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
