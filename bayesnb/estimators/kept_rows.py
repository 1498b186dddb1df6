"""A random sample of the rows that `partial_fit` gets, from which a classifier learns again what sums do not hold."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Self

import numpy as np
import scipy.sparse

from bayesnb.core.arrays import stacked
from bayesnb.core.deferred import map_tree
from bayesnb.data.read import as_table, read_rows
from bayesnb.data.tables import ArrayTable, Column, SparseTable, Table, is_missing
from bayesnb.model.blocks import ModelStatistics
from bayesnb.model.bound import BoundModel
from bayesnb.model.problem import Problem, count_and_grow, with_categories

MOST_CELLS = 2 * 10**6
"""Cells of a sample at most: 16 MB of numbers. Of a sparse table those that are stored count."""

GROWTH, GROWTH_OF_WIDE, WIDE = 0.25, 1.0, 1000
"""Growth of the weight of all rows after which families, bins and weights are learned again; of tables of more than
1,000 columns, of which each learning takes more than ten seconds, it is the second number."""

SHIFT = 0.05
"""Change of the class frequencies, in total variation, after which they are."""


@dataclass(frozen=True)
class KeptRows:
    r"""A random sample without replacement, and what says when to learn from it again.

    Row i has the rank :math:`E_i / w_i` with an exponential random number; the rows of the smallest ranks are kept
    (Efraimidis and Spirakis 2006, *Information Processing Letters* 97, 181-185). With the smallest rank that was ever
    dropped, tau, row i is kept with probability :math:`1 - e^{-w_i \tau}`, and its weight divided by that stands for
    all rows (Cohen and Kaplan 2007, *PODC*, 225-234). Weights fade, so that the sample prefers new rows.

    Attributes
    ----------
    names : tuple
        The table's columns.
    named : bool
    cells : array or CSR array of shape (rows, columns), or tuple of array of shape (rows,)
        Columns of different types one by one, missing objects None.
    declared : tuple
        For each column the categories that its type lists, or None.
    labels, weight, rank : array, shape (rows,)
    tau : float
        Infinite as long as all rows are kept.
    seen : int
        Number of all rows so far.
    learned : array, shape (classes,)
        Weight of the rows in each class when families and weights were last learned; it fades, too.
    estimated : frozenset of tuple of int
        Columns of the features whose statistics the sample estimated.
    """

    names: tuple[Column, ...]
    named: bool
    cells: Any = None
    declared: tuple[tuple | None, ...] = ()
    labels: np.ndarray = field(default_factory=lambda: np.empty(0))
    weight: np.ndarray = field(default_factory=lambda: np.empty(0))
    rank: np.ndarray = field(default_factory=lambda: np.empty(0))
    tau: float = np.inf
    seen: int = 0
    learned: np.ndarray = field(default_factory=lambda: np.zeros(1))
    estimated: frozenset[tuple[int, ...]] = frozenset()

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def whole(self) -> bool:
        """Whether all rows are kept."""
        return self.tau == np.inf

    @property
    def table(self) -> Table:
        """The rows as a table."""
        cells = self.cells
        if isinstance(cells, tuple):
            import pandas as pd

            columns = [
                column if listed is None else pd.Categorical(column, categories=_with_more(listed, column))
                for column, listed in zip(cells, self.declared, strict=True)
            ]
            cells = pd.DataFrame({str(place): column for place, column in enumerate(columns)}, copy=False)
        return replace(as_table(cells), names=self.names, named=self.named)

    @property
    def standing_for(self) -> np.ndarray:
        """Weights with which the sample stands for all rows."""
        return self.weight if self.whole else self.weight / -np.expm1(-self.weight * self.tau)

    @property
    def counting(self) -> np.ndarray | None:
        """Weights with which the sample is learned from: they add up to its own. None for ones."""
        weights = self.standing_for
        weights = weights if self.whole else weights * (self.weight.sum() / weights.sum())
        return None if np.allclose(weights, 1.0, rtol=1e-9, atol=0.0) else weights

    def is_due(self, now: np.ndarray) -> bool:
        """Whether to learn again, given the weight of all rows in each class."""
        before, growth = self.learned, GROWTH_OF_WIDE if len(self.names) > WIDE else GROWTH
        if not len(self) or now.sum() >= (1.0 + growth) * before.sum():
            return len(self) > 0
        return bool(np.abs(now / now.sum() - before / before.sum()).sum() > 2 * SHIFT)

    def add(
        self,
        table: Table,
        labels: np.ndarray,
        weight: np.ndarray,
        used: Collection[int],
        decay: float,
        size: int,
        key: int,
    ) -> Self:
        """A sample of at most `size` of these rows and of those before, whose weights fade; cells of `used` columns."""
        rng = np.random.default_rng([key, self.seen])
        with np.errstate(divide="ignore", over="ignore"):
            rank, older = rng.exponential(size=len(weight)) / weight, self.rank / decay
        seen, tau, learned, faded = self.seen + len(weight), self.tau / decay, self.learned * decay, self.weight * decay
        result = replace(self, weight=faded, rank=older, tau=tau, seen=seen, learned=learned)
        if not len(new := np.flatnonzero(rank < tau)):
            return result
        table = table.take(new)
        listed = map(table.declared_categories, range(len(self.names)))
        known = self.declared or (None,) * len(self.names)
        declared = tuple(
            old if new is None else _with_more(old or (), new) for old, new in zip(known, listed, strict=True)
        )
        cells, labels = _below(self.cells, _cells(table, used)), labels[new]
        labels = np.concatenate([self.labels, labels]) if len(self) else labels
        weight, rank = np.concatenate([faded, weight[new]]), np.concatenate([older, rank[new]])
        result = replace(result, cells=cells, declared=declared, labels=labels, weight=weight, rank=rank)
        size = min(size, max(1, MOST_CELLS * len(rank) // max(1, _number_of_cells(cells))))
        if len(rank) <= size:
            return result
        tau = float(np.partition(rank, size)[size])
        return replace(result.take(np.flatnonzero(rank < tau)), tau=tau)

    def take(self, rows: np.ndarray) -> Self:
        """Some of the rows."""
        cells = tuple(column[rows] for column in self.cells) if isinstance(self.cells, tuple) else self.cells[rows]
        return replace(self, cells=cells, labels=self.labels[rows], weight=self.weight[rows], rank=self.rank[rows])

    def without(self, table: Table, labels: np.ndarray, weight: np.ndarray, used: Collection[int]) -> Self:
        """The sample without rows of these cells, labels and weights.

        Raises
        ------
        ValueError
            If all rows are kept, and these are not among them.
        """
        if not len(self):
            return self
        rows = _rows(_below(self.cells, _cells(table, used)), np.concatenate([self.labels, labels]))
        places: dict[Any, list[int]] = {}
        for place in range(len(self)):
            places.setdefault(next(rows), []).append(place)
        left = self.weight.copy()
        for number, row in enumerate(rows):
            wanted, equal = weight[number], places.get(row, [])
            while equal and wanted > 1e-9 * weight[number]:
                # Of equal rows the last one of this weight.
                place = next((each for each in reversed(equal) if np.isclose(left[each], wanted)), equal[-1])
                taken = min(left[place], wanted)
                left[place], wanted = left[place] - taken, wanted - taken
                if left[place] <= 1e-9 * self.weight[place]:
                    left[place] = 0.0
                    equal.remove(place)
            if self.whole and wanted > 1e-9 * weight[number]:
                raise ValueError(
                    f"these rows were never among the data: partial_fit got no row with the cells, the label "
                    f"{labels.tolist()[number]!r} and the weight of row {number}; forget only rows that were given to "
                    "partial_fit, with the weight that they have now"
                )
        return replace(self, weight=left).take(np.flatnonzero(left > 0))


# --------------------------------------------------------------------------------------------------
# Cells of tables of any kind, one below the other
# --------------------------------------------------------------------------------------------------


def _cells(table: Table, used: Collection[int]) -> Any:
    """Cells as `KeptRows` holds them. Those of frames that no model reads are missing dates, which none takes."""
    if isinstance(table, SparseTable):
        return table.cells
    every = range(len(table.names))
    if isinstance(table, ArrayTable) and (together := table.stored(every, slice(None))) is not None:
        return together
    unread = np.full(table.num_rows, "NaT", dtype="datetime64[s]")
    return tuple(_column(table, place) if place in used else unread for place in every)


def _column(table: Table, place: int) -> np.ndarray:
    values = table.stored_values(place, slice(None))
    if values.dtype.kind in "biufU":
        return values
    present = (None if is_missing(value) else value for value in values)
    return np.fromiter(present, dtype=object, count=len(values))


def _columns(cells: Any) -> tuple[np.ndarray, ...]:
    if isinstance(cells, tuple):
        return cells
    return tuple((cells.toarray() if scipy.sparse.issparse(cells) else cells).T)


def _below(one: Any, other: Any) -> Any:
    """The rows of one table and, below them, those of another."""
    if one is None:
        return other
    if isinstance(one, tuple) or isinstance(other, tuple):
        return tuple(map(_one_column, _columns(one), _columns(other)))
    if scipy.sparse.issparse(one) != scipy.sparse.issparse(other):
        one, other = map(scipy.sparse.csr_array, (one, other))
    return stacked([one, other])


def _one_column(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    # NumPy would make text of numbers beside text.
    alike = (one.dtype.kind in "biuf") == (other.dtype.kind in "biuf")
    return np.concatenate([one, other] if alike else [one.astype(object), other.astype(object)])


def _number_of_cells(cells: Any) -> int:
    if isinstance(cells, tuple):
        return len(cells) * len(cells[0])
    return int(cells.nnz if scipy.sparse.issparse(cells) else cells.size)


def _with_more(listed: tuple, values: Any) -> tuple:
    """The categories that are listed, and the other values."""
    return tuple(dict.fromkeys((*listed, *(value for value in values if not is_missing(value)))))


def _rows(cells: Any, labels: np.ndarray) -> Iterator[tuple]:
    """Each row as a value that is equal for equal cells and labels."""
    if not scipy.sparse.issparse(cells):
        columns = [[None if is_missing(value) else value for value in column.tolist()] for column in _columns(cells)]
        return zip(zip(*columns, strict=True), labels.tolist(), strict=True)
    cells = cells.astype(np.float64)
    cells.eliminate_zeros()
    cells.sort_indices()
    found = [(each.indices.tobytes(), each.data.tobytes()) for each in cells]
    return zip(found, labels.tolist(), strict=True)


# --------------------------------------------------------------------------------------------------
# The model that the sample chose, with the statistics of all rows
# --------------------------------------------------------------------------------------------------


def with_all_rows(problem: Problem, sample: Problem, kept: KeptRows, away: Any = None) -> tuple[Problem, frozenset]:
    """The problem of the sample with statistics of all rows.

    A feature that counts the sample as a feature of the problem before does keeps the statistics of all rows. The other
    features get those of the sample, whose rows stand for all rows of their class.

    Parameters
    ----------
    problem : Problem
        All rows under the model before.
    sample : Problem
        The model that the sample chose.
    kept : KeptRows
        The sample.
    away : tuple, optional
        Table, labels and weights of rows that are among all rows, and are taken away. Features whose statistics the
        sample estimated before are then estimated anew.

    Returns
    -------
    tuple of Problem and frozenset
        The problem, and the columns of the features whose statistics are estimates.

    Raises
    ------
    ValueError
        If the rows cannot have been among the data.
    """
    classes = problem.model.schema.classes
    rows = read_rows(kept.table, kept.labels, kept.standing_for).of_classes(classes)
    gone = None if away is None else read_rows(*away).counting().of_classes(classes)
    total, known = problem.statistics.classes.n, np.bincount(rows.codes, rows.weights, len(classes))
    if gone is not None:
        total = np.maximum(total - np.bincount(gone.codes, gone.weights, len(classes)), 0.0)
    factor = np.divide(total, known, out=np.ones(len(classes)), where=known > 0)
    rows = replace(rows, weights=rows.weights * factor[rows.codes])
    problem, before = count_and_grow(problem, rows)
    sample = _with_categories_of(problem, sample)
    lost = None
    if gone is not None:
        sample, counted = count_and_grow(sample, gone)
        lost = counted.statistics
    sample, after = count_and_grow(sample, rows)
    old: dict[tuple[int, ...], list[Any]] = {}
    for columns, pair in _features(problem.model, before.statistics, problem.statistics):
        if lost is None or columns not in kept.estimated:
            old.setdefault(columns, []).append(pair)
    parts, estimated = [], set(kept.estimated)
    start = after.statistics if lost is None else after.statistics + lost
    for columns, (own, estimate) in _features(sample.model, after.statistics, start):
        exact = [all_rows for of_sample, all_rows in old.get(columns, ()) if own.same_rows(of_sample)]
        estimated |= set() if exact else {columns}
        parts.append(exact[0] if exact else estimate)
    each = iter(parts)
    blocks = tuple(
        map_tree(lambda *leaf: np.concatenate(leaf, axis=1), *islice(each, len(block.columns)))
        if block.by_column
        else next(each)
        for block in sample.model.blocks
    )
    problem = replace(sample, statistics=ModelStatistics(problem.statistics.classes, blocks))
    return (problem if lost is None else problem.take_away(lost)), frozenset(estimated)


def _features(model: BoundModel, *counted: ModelStatistics) -> Iterator[tuple[tuple[int, ...], list[Any]]]:
    """For each feature its columns in the table, and its part of all statistics given."""
    for block, *of_block in zip(model.blocks, *(each.blocks for each in counted), strict=True):
        columns = tuple(model.schema.in_table(block.columns))
        if not block.by_column:
            yield columns, of_block
            continue
        for j, column in enumerate(columns):
            yield (column,), [map_tree(lambda leaf, j=j: leaf[:, [j]], each) for each in of_block]


def _with_categories_of(before: Problem, after: Problem) -> Problem:
    """A problem whose columns have the categories of another one first, in their order."""
    model, schema, known = before.model, after.model.schema, before.model.schema.categories
    shown = {place: known[p] for p in model.open_columns for place in model.schema.in_table([p])}
    wanted = {
        p: _with_more(shown.get(place, ()), schema.categories[p])
        for p in after.model.open_columns
        for place in schema.in_table([p])
    }
    wanted = {**schema.categories, **wanted}
    return after if wanted == schema.categories else with_categories(after, wanted)
