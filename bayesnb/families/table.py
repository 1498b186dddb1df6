"""Families of cells with finitely many values, whose densities are looked up in tables."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import jax.numpy as jnp
import numpy as np
import scipy.sparse

from bayesnb.arrays import namespace
from bayesnb.families.base import Parameters
from bayesnb.families.codes import one_hot, places_by_class, with_certain_last
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.dirichlet import dirichlet_log_evidence, log_of_rest
from bayesnb.families.product import Weights, times
from bayesnb.rows import any_missing, row_pieces, rows_by_class
from bayesnb.sparse import csr_rows, filled, missing_entries

__all__ = ["Table", "TableFamily"]


@dataclass(frozen=True)
class TableFamily(ConjugateFamily):
    """A family whose cells are one of the values 0, 1, ..., with a Dirichlet prior on their probabilities.

    A table of the log probability of each value takes the place of terms and natural parameters, so that probabilities
    may be zero and one. A subclass states `log_table`, `by_value` and `concentrations`.
    """

    @abstractmethod
    def log_table(self, parameters: Parameters) -> Any:
        """Log probability of each value, shape (..., classes, columns, values)."""

    @abstractmethod
    def concentrations(self) -> Any:
        """The Dirichlet prior's weight of each value, shape (..., classes, columns, values)."""

    @abstractmethod
    def by_value(self, statistics: Any) -> Any:
        """Weight of the cells of each value, shape (..., classes, columns, values)."""

    def log_predictive_table(self) -> Any:
        """Log predictive probability of each value, shape (..., classes, columns, values)."""
        weights = self.concentrations()
        xp, _ = namespace(weights)
        return xp.log(weights) - xp.log(weights.sum(axis=-1, keepdims=True))

    def possible(self, statistics: Any) -> Any:
        return (self.by_value(statistics) >= 0).all(axis=-1)

    def log_likelihood(self, parameters: Parameters, statistics: Any) -> Any:
        return times(self.by_value(statistics), self.log_table(parameters)).sum(axis=-1)

    def log_evidence(self, statistics: Any) -> Any:
        return dirichlet_log_evidence(self.concentrations(), self.by_value(statistics))

    def cell_log_predictive(self, x: Any) -> Any:
        return look_up_cells(self.log_predictive_table(), x)

    def row_log_likelihood(self, parameters: Parameters, x: Any) -> Any:
        return self._table(parameters).of_all_rows(x)

    def densities_of_rows(self, parameters: Parameters, x: Any) -> Callable[[slice], np.ndarray]:
        table = self._table(parameters)
        return lambda rows: table.of_rows(csr_rows(x, rows) if scipy.sparse.issparse(x) else x[rows])

    def _table(self, parameters: Parameters) -> "Table":
        return Table.of(self.log_table({name: np.asarray(value) for name, value in parameters.items()}))

    def row_log_predictive(self, x: Any) -> Any:
        return Table.of(self.log_predictive_table()).of_all_rows(x)

    def row_log_average(self, shared: Self, log_in: np.ndarray, log_out: np.ndarray, x: Any) -> np.ndarray:
        own, of_all = self.log_predictive_table(), shared.log_predictive_table()
        return Table.of(np.logaddexp(log_in[:, None] + own, log_out[:, None] + of_all)).of_all_rows(x)

    def device_log_likelihood(self, parameters: Parameters, x: Any) -> Any:
        return look_up_on_device(self.log_table(parameters), x)

    def device_log_predictive(self, x: Any) -> Any:
        return look_up_on_device(self.log_predictive_table(), x)

    def row_log_left_out(self, x: Any, codes: np.ndarray, statistics: Any) -> np.ndarray:
        weights = np.asarray(self.concentrations())
        # A class without a row has no cell to leave out.
        log_total = np.log(weights.sum(axis=-1) + np.maximum(statistics.n - 1, 0))
        return Table.of(log_of_rest(weights, self.by_value(statistics)) - log_total[..., None]).of_own_class(x, codes)


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
            sums = one_hot(x, self.log_prob.shape[-1]) @ self._by_code
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
