"""Families of cells with finitely many values, whose densities are looked up in tables."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse

from bayesnb.arrays import namespace
from bayesnb.families.base import Parameters
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.dirichlet import dirichlet_log_evidence, log_of_rest
from bayesnb.families.look_up import Table, look_up_cells, look_up_on_device
from bayesnb.families.product import times
from bayesnb.sparse import csr_rows

__all__ = ["TableFamily"]


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

    def _table(self, parameters: Parameters) -> Table:
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
