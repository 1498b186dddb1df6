"""Needs counted on the host: NumPy arrays and CSR arrays of SciPy, with weights or without."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any, Self

import numpy as np
import scipy.sparse

from bayesnb.core.arrays import csr_of_ones, csr_row_sums, filled, missing_entries, shared_csr, without_duplicates
from bayesnb.core.deferred import namespace
from bayesnb.families.kernels import Distinct
from bayesnb.families.moments import Moments, Scatter, moments, scatter
from bayesnb.families.needs import (
    CellWeight,
    CentredProducts,
    CentredSquares,
    Composed,
    Frequencies,
    Need,
    PairFrequencies,
    RowWeight,
    Sums,
    ValueCounts,
    fill_needs,
    list_needs,
)
from bayesnb.families.statistics import Tally, class_sums, entries_of, sums_of_cells


def count_on_host(tree: Any, x: Any, membership: Any) -> Any:
    """Statistics of rows, given the needs in the places of their arrays.

    Parameters
    ----------
    tree : need, statistics of needs, `Afterwards` or tuple of these
    x : array or SciPy sparse array, shape (rows, columns)
        Missing cells are NaN.
    membership : array, shape (rows, classes)
        Weight of each row in each class, as `Family.statistics` gets it.
    """
    if scipy.sparse.issparse(x) and not isinstance(x, scipy.sparse.csr_array):
        x = scipy.sparse.csr_array(x)
    cells = CellsOfRows(x, membership)
    return fill_needs(tree, (count_need(need, cells.made_by(need.of)) for need in list_needs(tree)))


class CellsOfRows:
    """The cells of a block, and those that formulas make of them, each computed once for all needs."""

    def __init__(self, x: Any, membership: Any) -> None:
        self.x, self.membership = x, membership
        self.xp, _ = namespace(x)
        self._made: dict[Any, Self] = {}
        self._filled: dict[float, np.ndarray] = {}

    def made_by(self, of: Callable[[Any], Any] | None) -> Self:
        if of is None:
            return self
        if isinstance(of, Composed):
            return self.made_by(of.first).made_by(of.second)
        if of not in self._made:
            self._made[of] = type(self)(of(self.x), self.membership)
        return self._made[of]

    @cached_property
    def weight(self) -> np.ndarray:
        of_rows = self.membership.sum(axis=0)[:, None]
        if self.missing is None:
            return np.repeat(of_rows, self.x.shape[1], axis=1)
        if scipy.sparse.issparse(self.x):
            return of_rows - class_sums(self.missing, self.membership)
        return self.membership.T @ (~self.missing).astype(np.float64)

    @cached_property
    def _sums(self) -> np.ndarray:
        """Sums by class, in which a missing cell shows as NaN."""
        return sums_of_cells(self.x, self.membership)

    @cached_property
    def missing(self) -> Any:
        """Which cells are missing, as an array or CSR array; None if none is."""
        if not np.isnan(self._sums).any():
            return None
        return missing_entries(self.x) if scipy.sparse.issparse(self.x) else np.isnan(self.x)

    @property
    def sums(self) -> np.ndarray:
        return self._sums if self.missing is None else sums_of_cells(self.filled_with(0.0), self.membership)

    def filled_with(self, filler: float) -> Any:
        """The cells with a number for the missing ones; of a CSR array zero."""
        if self.missing is None:
            return self.x
        if filler not in self._filled:
            sparse = scipy.sparse.issparse(self.x)
            self._filled[filler] = filled(self.x) if sparse else self.xp.where(self.missing, filler, self.x)
        return self._filled[filler]


def observed_weight(x: Any, membership: Any) -> np.ndarray:
    """Weight of the cells that are not missing, shape (classes, columns).

    Parameters
    ----------
    x : array or CSR array, shape (rows, columns)
        Missing cells are NaN.
    membership : array or Membership, shape (rows, classes)
        Weight of each row in each class, as `Family.statistics` gets it.

    See Also
    --------
    class_sums : Weighted sums of columns.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesnb as nb
    >>> x = np.array([[1.0, np.nan], [3.0, 4.0], [5.0, 6.0]])
    >>> membership = np.array([[1, 0], [1, 0], [0, 1]])
    >>> nb.families.observed_weight(x, membership)
    array([[2., 1.],
           [1., 1.]])
    """
    return CellsOfRows(x, membership).weight


@dataclass(frozen=True)
class HostStatistics(Need):
    """The statistics of a family that computes them itself, from NumPy arrays: no other engine can."""

    family: Any = None


class CountedFamily:
    """A family that states what it needs, or computes its statistics from NumPy arrays."""

    def needs(self) -> Any:
        """The statistics with a need in the place of each array, or `Afterwards`; any engine counts them.

        Families of categories and bins state them once they are bound to a table, as in ``model.bind(X, y).families``.

        Raises
        ------
        NotImplementedError
            If the family does not state them.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no statistics: define needs(self), or statistics(self, x, membership)"
        )

    def statistics(self, x: Any, membership: Any) -> Any:
        """Sufficient statistics of rows, by default what the family `needs`.

        Parameters
        ----------
        x : array, shape (rows, columns)
            Missing cells are NaN. CSR arrays come only to families that take them.
        membership : array, shape (rows, classes)
            Weight of each row in each class, so that ``membership.T @ values`` has the weighted sums of each class. It
            is a SciPy array, which NumPy's functions take like its own, where each row is in one class.

        Returns
        -------
        Statistics
        """
        return count_on_host(self.needs(), x, membership)


def stated_needs(family: CountedFamily) -> Any:
    """The needs of a family; of one whose class defines `statistics` after them, `HostStatistics`."""
    kinds = type(family).__mro__
    first = next(vars(kind) for kind in kinds if "needs" in vars(kind) or "statistics" in vars(kind))
    return family.needs() if "needs" in first else HostStatistics(family=family)


@singledispatch
def count_need(need: Need, cells: CellsOfRows) -> Any:
    """A need of cells, shape (classes, ...)."""
    raise NotImplementedError(
        f"{type(need).__name__} is none of the needs that the host counts: {', '.join(_NAMES)}; or define statistics"
    )


@count_need.register
def _(need: HostStatistics, cells: CellsOfRows) -> Any:
    return need.family.statistics(cells.x, cells.membership)


@count_need.register
def _(need: RowWeight, cells: CellsOfRows) -> np.ndarray:
    return cells.membership.sum(axis=0)[:, None]


@count_need.register
def _(need: CellWeight, cells: CellsOfRows) -> np.ndarray:
    return cells.weight


@count_need.register
def _(need: Sums, cells: CellsOfRows) -> np.ndarray:
    if need.terms is None:
        return cells.sums
    terms: Any
    if scipy.sparse.issparse(cells.x):
        x = without_duplicates(cells.filled_with(0.0))
        if need.over_columns and np.all(need.terms(np.ones(1)) == 0.0):  # most counts are ones
            others = np.flatnonzero(x.data != 1)
            sums_of_rows = csr_row_sums(need.terms(x.data[others]), np.searchsorted(others, x.indptr))
            return class_sums(sums_of_rows, cells.membership)
        terms = shared_csr(need.terms(x.data), x.indices, x.indptr, x.shape)
    else:
        terms = need.terms(cells.filled_with(need.filler))
    sums = [_sums_of_term(term, cells, need.over_columns) for term in (terms if isinstance(terms, tuple) else (terms,))]
    return sums[0] if len(sums) == 1 else cells.xp.stack(sums, axis=-1)


def _sums_of_term(term: Any, cells: CellsOfRows, over_columns: bool) -> np.ndarray:
    if np.ndim(term) == 0:
        return cells.weight * term
    if not scipy.sparse.issparse(term) and cells.missing is not None:
        term = cells.xp.where(cells.missing, 0.0, term)
    return class_sums(term.sum(axis=1)[:, None] if over_columns else term, cells.membership)


@count_need.register
def _(need: CentredSquares, cells: CellsOfRows) -> Moments:
    return moments(cells.x, cells.membership)


@count_need.register
def _(need: CentredProducts, cells: CellsOfRows) -> Scatter:
    return scatter(cells.x, cells.membership)


@count_need.register
def _(need: Frequencies, cells: CellsOfRows) -> np.ndarray:
    weights = Distinct.of_codes(cells.x, need.size).weights(cells.membership)
    return np.ascontiguousarray(np.moveaxis(weights.reshape(cells.x.shape[1], need.size, -1), -1, 0))


@count_need.register
def _(need: ValueCounts, cells: CellsOfRows) -> Tally:
    row, owner, weight = entries_of(cells.membership)
    if scipy.sparse.issparse(cells.x):
        chosen = cells.x[row].tocoo()
        entry, column = chosen.coords
        numbers = chosen.data
    else:
        chosen = cells.x[row]
        entry, column = np.nonzero(~np.isnan(chosen) if need.zeros else (chosen != 0) & ~np.isnan(chosen))
        numbers = chosen[entry, column]
    return Tally.of(owner[entry] * cells.x.shape[1] + column, np.asarray(numbers, np.float64), weight[entry])


@count_need.register
def _(need: PairFrequencies, cells: CellsOfRows) -> np.ndarray:
    row, owner, weight = entries_of(cells.membership)
    codes, size = cells.x[row], need.size
    of_classes = csr_of_ones(codes + size * owner[:, None], size * cells.membership.shape[1])
    total = (of_classes.T.multiply(weight) @ csr_of_ones(codes, size)).toarray()
    return total.reshape(-1, size, size)


_NAMES = [kind.__name__ for kind in count_need.registry if kind not in (object, Need)]
