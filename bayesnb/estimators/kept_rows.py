"""A random sample of the rows of `partial_fit`, from which a classifier learns again what sums do not hold."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import Any, Self

import numpy as np
import scipy.sparse

from bayesnb.core.arrays import dense, stacked
from bayesnb.core.cells import Column, is_missing
from bayesnb.core.deferred import pd
from bayesnb.core.recipes import moments_of
from bayesnb.data.read import as_table, read_rows
from bayesnb.data.tables import SparseTable, Table
from bayesnb.model.blocks import ModelStatistics, side_by_side, statistics_of_features
from bayesnb.model.bound import BoundModel
from bayesnb.model.problem import Problem, count_and_grow, with_categories

MOST_CELLS = 2 * 10**6
"""Largest number of cells in a sample: 16 MB of numbers, more for objects, which hold columns of several types. In a
sparse table only stored cells count."""

GROWTH, GROWTH_OF_WIDE, WIDE = 0.25, 1.0, 1000
"""Growth of the weight of all rows after which families, bins and weights are learned again; of tables of more than
1,000 columns, of which each learning takes more than ten seconds, it is the second number."""

SHIFT = 0.05
"""Change of the class frequencies, in total variation, after which they are learned again."""


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
    reads : frozenset of int or None
        Columns that the model reads; None for all, but of times only dates.
    cells : array or CSR array, shape (rows, columns)
        Python objects if the columns have several types; missing cells are then None, or NaN in a column of numbers.
    declared : mapping
        By position the categories that the type of a column lists.
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
    reads: frozenset[int] | None = None
    cells: Any = None
    declared: Mapping[int, tuple] = field(default_factory=dict)
    labels: Any = None
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
        if cells.dtype == object:
            cells = pd.DataFrame(cells)
            # pandas makes floats of whole numbers beside None.
            whole = [place for place, column in enumerate(self.cells.T.tolist()) if None not in column]
            cells[whole] = cells[whole].infer_objects()
            for place, listed in self.declared.items():
                column = self.cells[:, place]
                cells[place] = pd.Categorical(column, categories=_more_categories(listed, column))
        return replace(as_table(cells), names=self.names, named=self.named)

    @property
    def standing_for(self) -> np.ndarray:
        """Weights with which the sample stands for all rows."""
        return self.weight if self.whole else self.weight / -np.expm1(-self.weight * self.tau)

    @property
    def counting(self) -> np.ndarray | None:
        """Weights with which the sample is learned from: they add up to its own. None for ones."""
        weights = self.standing_for * (self.weight.sum() / self.standing_for.sum())
        return None if np.allclose(weights, 1.0, rtol=1e-9, atol=0.0) else weights

    def is_due(self, now: np.ndarray) -> bool:
        """Whether to learn again, given the weight of all rows in each class."""
        before, growth = self.learned, GROWTH_OF_WIDE if len(self.names) > WIDE else GROWTH
        if not len(self) or now.sum() >= (1.0 + growth) * before.sum():
            return len(self) > 0
        return bool(np.abs(now / now.sum() - before / before.sum()).sum() > 2 * SHIFT)

    def add(self, table: Table, labels: np.ndarray, weight: np.ndarray, decay: float, size: int, key: int) -> Self:
        """A sample of at most `size` of these rows and of those before, whose weights fade."""
        rng = np.random.default_rng([key, self.seen])
        with np.errstate(divide="ignore", over="ignore"):
            rank, older = rng.exponential(size=len(weight)) / weight, self.rank / decay
        seen, faded, learned = self.seen + len(weight), self.weight * decay, self.learned * decay
        result = replace(self, weight=faded, rank=older, tau=self.tau / decay, seen=seen, learned=learned)
        if not len(new := np.flatnonzero(rank < result.tau)):
            return result
        table = table.take(new)
        listed = enumerate(map(table.declared_categories, range(len(self.names))))
        more = {
            place: _more_categories(self.declared.get(place, ()), each) for place, each in listed if each is not None
        }
        cells, labels = _below(self.cells, _cells(table, self.reads)), _below(self.labels, labels[new])
        weight, rank = np.concatenate([faded, weight[new]]), np.concatenate([older, rank[new]])
        declared = {**self.declared, **more}
        result = replace(result, cells=cells, declared=declared, labels=labels, weight=weight, rank=rank)
        size = min(size, max(1, MOST_CELLS * len(rank) // max(1, cells.size)))
        if len(rank) <= size:
            return result
        tau = float(np.partition(rank, size)[size])
        return replace(result.take(np.flatnonzero(rank < tau)), tau=tau)

    def take(self, rows: np.ndarray) -> Self:
        """Some of the rows."""
        held = {name: getattr(self, name)[rows] for name in ("cells", "labels", "weight", "rank")}
        return replace(self, **held)

    def sample_without(self, table: Table, labels: np.ndarray, weight: np.ndarray) -> Self:
        """The sample without rows of these cells, labels and weights.

        Raises
        ------
        ValueError
            If all rows are kept, and these are not among them.
        """
        if not len(self):
            return self
        rows = _rows(_below(self.cells, _cells(table, self.reads)), np.concatenate([self.labels, labels]))
        places: dict[Any, list[int]] = {}
        for place in range(len(self)):
            places.setdefault(next(rows), []).append(place)
        left = self.weight.copy()
        for number, row in enumerate(rows):
            wanted, equal = weight[number], places.get(row, [])
            while equal and wanted > 1e-9 * weight[number]:
                # Among equal rows, the last one of this weight.
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

UNREAD = datetime(1970, 1, 1)
"""The cell of columns that no model reads, such as times of a day. It is a date, which no family accepts."""


def _cells(table: Table, reads: frozenset[int] | None) -> Any:
    """Cells as `KeptRows` holds them."""
    if isinstance(table, SparseTable):
        return table.cells
    every = range(len(table.names))
    together = table.stored(every, slice(None))
    if together is not None and all(table.stored_values(place, slice(0, 0)).dtype == together.dtype for place in every):
        return together
    cells = np.full((table.num_rows, len(every)), UNREAD, dtype=object)
    for place in every if reads is None else reads:
        values = table.stored_values(place, slice(None))
        if table.is_time(place):
            values = moments_of(values).astype(object)
            if all(value is None for value in values):
                continue
        of_one_type = values.dtype.kind in "biufU"
        column = values.tolist() if of_one_type else [None if is_missing(value) else value for value in values]
        cells[:, place] = np.fromiter(column, dtype=object, count=len(column))
    return cells


def _below(one: Any, other: Any) -> Any:
    """The rows of one array and, below them, those of another; itself if there is no first one."""
    if one is None:
        return other
    if scipy.sparse.issparse(one) != scipy.sparse.issparse(other):
        one, other = map(dense if object in (one.dtype, other.dtype) else scipy.sparse.csr_array, (one, other))
    return stacked([one, other])


def _more_categories(listed: tuple, values: Any) -> tuple:
    """The categories that are listed, and the other values."""
    return tuple(dict.fromkeys((*listed, *(value for value in values if not is_missing(value)))))


def _rows(cells: Any, labels: np.ndarray) -> Iterator[tuple]:
    """Each row as a value that is equal for equal cells and labels."""
    if scipy.sparse.issparse(cells):
        cells = cells.astype(np.float64)
        cells.eliminate_zeros()
        cells.sort_indices()
        found: list[tuple] = [(each.indices.tobytes(), each.data.tobytes()) for each in cells]
    else:
        found = [tuple(None if is_missing(value) else value for value in row) for row in cells.tolist()]
    return zip(found, labels.tolist(), strict=True)


# --------------------------------------------------------------------------------------------------
# The model that the sample chose, with the statistics of all rows
# --------------------------------------------------------------------------------------------------


def with_all_rows(problem: Problem, sample: Problem, kept: KeptRows, away: Any = None) -> tuple[Problem, KeptRows]:
    """The problem of the sample with statistics of all rows.

    A feature of the same family that counts the sample as one of the problem before does keeps the statistics of all
    rows. The other features get those of the sample.

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
    tuple of Problem and KeptRows
        The problem, and the sample with the columns of the features whose statistics are estimates.

    Raises
    ------
    ValueError
        If the rows cannot have been among the data.
    """
    classes = problem.model.schema.classes
    sample = _with_categories_of(problem.model, sample)
    lost = None
    if away is not None:
        sample, gone = count_and_grow(sample, read_rows(*away).counting().of_classes(classes))
        lost = gone.statistics
    before = after = sample.statistics * 0.0
    if len(kept):
        rows = read_rows(kept.table, kept.labels, kept.standing_for).of_classes(classes)
        # Few rows say little of their class: an estimate weighs no more than the rows of the class that are kept.
        known, own = (np.bincount(rows.codes, weights, len(classes)) for weights in (rows.weights, kept.weight))
        factor = np.divide(own, known, out=np.ones(len(classes)), where=known > 0)
        rows = replace(rows, weights=rows.weights * factor[rows.codes])
        problem, counted = count_and_grow(problem, rows)
        before = counted.statistics
        sample, counted = count_and_grow(sample, rows)
        after = counted.statistics
    start = after if lost is None else after + lost
    old: dict[Any, list[Any]] = {}
    for feature, *pair in chain(*_feature_parts(problem.model, before, problem.statistics)):
        if lost is None or feature[0] not in kept.estimated:
            old.setdefault(feature, []).append(pair)
    estimated = set(kept.estimated)

    def of_all_rows(feature: tuple[tuple[int, ...], type], own: Any, estimate: Any) -> Any:
        exact = [all_rows for of_sample, all_rows in old.get(feature, ()) if own.same_rows(of_sample)]
        if not exact:
            estimated.add(feature[0])
        return exact[0] if exact else estimate

    features = _feature_parts(sample.model, after, start)
    blocks = tuple(side_by_side([of_all_rows(*feature) for feature in block]) for block in features)
    problem = replace(sample, statistics=ModelStatistics(problem.statistics.classes, blocks))
    return (problem if lost is None else problem.take_away(lost)), replace(kept, estimated=frozenset(estimated))


def _feature_parts(model: BoundModel, *counted: ModelStatistics) -> Iterator[Iterator[tuple]]:
    """For each feature of each block: its table columns, its family, and its part of the statistics."""
    for block, *of_block in zip(model.blocks, *(each.blocks for each in counted), strict=True):
        columns = tuple(model.schema.sources[position] for position in block.columns)
        alone = [(column,) for column in columns] if block.by_column else [columns]
        names = [(own, type(block.family)) for own in alone]
        yield zip(names, *(statistics_of_features(block, each) for each in of_block), strict=True)


def _with_categories_of(before: BoundModel, problem: Problem) -> Problem:
    """A problem whose columns have the categories of another model first, in their order."""
    after = problem.model
    categories = dict(after.schema.categories)
    known = {before.schema.sources[p]: before.schema.categories[p] for p in before.open_columns}
    for p in after.open_columns:
        categories[p] = _more_categories(known.get(after.schema.sources[p], ()), categories[p])
    return with_categories(problem, categories)
