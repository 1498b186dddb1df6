"""Sufficient statistics of lazy tables: what families need as sums by class, which the table's engine computes.

Cells of numbers become expressions, and each need the sums of some of them. What has no expression, such as categories,
text and log-gamma functions, is counted by value: each value that occurs is then a row of its weight on the host.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce, singledispatchmethod
from itertools import batched, chain, islice
from operator import add
from typing import Any

import narwhals as nw
import numpy as np

from bayesnb.core.arrays import row_pieces
from bayesnb.core.cells import (
    ACCURATE_COUNT,
    LARGEST_NUMBER,
    OutsideSupport,
    is_missing,
    refusal,
    warn_of_large_counts,
)
from bayesnb.core.deferred import in_float64
from bayesnb.data.column_expressions import Columns, place_among
from bayesnb.data.labels import Found
from bayesnb.data.lazy_cells import LazyColumn, of_key
from bayesnb.data.lazy_table import CLASS, ROWS, WEIGHT, LazyTable, Question, without_rows_in_errors
from bayesnb.data.read import Rows, read_rows
from bayesnb.data.tables import FrameTable
from bayesnb.families.host_sums import count_on_host, stated_needs
from bayesnb.families.hyperparameters import NONNEGATIVE_INTEGER, held_by, support_of
from bayesnb.families.moments import moments_beyond_rounding, scatter_beyond_rounding
from bayesnb.families.needs import (
    CellWeight,
    CentredProducts,
    CentredSquares,
    Frequencies,
    Need,
    RowWeight,
    Sums,
    ValueCounts,
    fill_needs,
    list_needs,
)
from bayesnb.families.statistics import ClassCounts, Membership, safe_ratio
from bayesnb.model.blocks import Block, ModelStatistics
from bayesnb.model.bound import BoundModel
from bayesnb.model.open_schema import OpenSchema
from bayesnb.model.reading import Chunks, Counted, checked_cells, count_rows

type Asking = Generator[list[Question], Any, Any]
"""Asks for sums by class, gets them, may ask again, and returns a result."""

CHAIN = 50
"""Comparisons in a chain, of which an engine allows some hundreds."""

NEAR = 1e4
"""Up to this ratio of the squared distance from the mean and the variance, sums of squares keep twelve digits."""

STEADY = 1e6
"""Up to this ratio of squared mean and variance, an engine's own variance keeps eleven digits."""


# --------------------------------------------------------------------------------------------------
# What rows show of labels and categories
# --------------------------------------------------------------------------------------------------


def find_in_lazy(schema: OpenSchema, lazy: LazyTable) -> Found:
    """As `OpenSchema.find`; numbers of which bins are made are those of a sample."""
    found = Found(labels=lazy.classes if schema.classes is None else None)
    for position in dict.fromkeys((*schema.open_columns, *schema.seen_columns)):
        (name,) = schema.columns.names([position])
        in_bins = position in schema.seen_columns or position in schema.in_bins
        rows = lazy.sampled if in_bins and lazy.schema[name].is_numeric() else _rows_of_values(lazy, name)
        own, seen = (tuple({position}.intersection(each)) for each in (schema.open_columns, schema.seen_columns))
        alone = replace(schema, classes=np.empty(0), open_columns=own, seen_columns=seen)
        with without_rows_in_errors():
            found += alone.find(rows)
    return found


def _rows_of_values(lazy: LazyTable, name: str) -> Rows:
    counts = lazy.counts({name: nw.col(name)}, "a family of categories")
    return read_rows(counts.select(name).to_native(), None, counts[WEIGHT].to_numpy()).counting()


# --------------------------------------------------------------------------------------------------
# Statistics of all blocks
# --------------------------------------------------------------------------------------------------


@in_float64
def count_lazy(model: BoundModel, lazy: LazyTable) -> Counted:
    """As `Chunks.count`, of rows that are added to a fit.

    Raises
    ------
    TypeError, ValueError
        If a cell is outside the support of its family, naming the column and the value; or if the engine cannot count
        what a family needs.
    """
    counter = _Counter(model, lazy)
    counts_of_blocks = _together([counter.count_block(block) for block in model.blocks])
    answers = None
    try:
        while True:
            answers = lazy.sums(counts_of_blocks.send(answers), model.schema.classes)
    except StopIteration as done:
        statistics = ModelStatistics(ClassCounts(counter.class_weights), tuple(done.value))
    return Counted(statistics, {column: cells for column, cells in counter.unseen.items() if cells}, lazy.weighted)


def _together(parts: Sequence[Asking]) -> Asking:
    """The results of several parts, whose questions are asked together."""
    results: list[Any] = [None] * len(parts)
    given: dict[int, Any] = dict.fromkeys(range(len(parts)))
    while given:
        asked: dict[int, list[Question]] = {}
        for i, answers in given.items():
            try:
                asked[i] = parts[i].send(answers)
            except StopIteration as done:
                results[i] = done.value
        every = iter((yield list(chain(*asked.values()))) if asked else ())
        given = {i: list(islice(every, len(questions))) for i, questions in asked.items()}
    return results


class _Counter:
    """Counts the blocks of a model in a lazy table."""

    def __init__(self, model: BoundModel, lazy: LazyTable) -> None:
        self.model, self.lazy, self.classes = model, lazy, model.schema.classes
        schema = model.schema
        self.places = schema.locate(lazy.names, True, model.layout)
        self.class_weights = lazy.by_class(lazy.labels, ROWS if lazy.weight is None else WEIGHT, self.classes)
        self.unseen: dict[Any, dict[Any, int]] = {}
        self.counts_of_vectors: dict[Any, Any] = {}

    def count_block(self, block: Block) -> Asking:
        """The statistics of a block."""
        if (cells := self._cells_as_numbers(block)) is None:
            yield []
            return self._count_by_value(block)
        try:
            return (yield from self._count_by_sums(block, cells))
        except NotImplementedError:
            return self._count_by_value(block)

    # ---- cells of numbers as expressions

    def _name(self, position: int) -> str:
        return self.lazy.names[self.places[position]]

    def _cells_as_numbers(self, block: Block) -> np.ndarray | None:
        """The cells of a block; None if they are no numbers, or the family states no needs."""
        cells = [cell for position in block.columns if (cell := self._cell_as_number(position)) is not None]
        return None if block.has_categories or len(cells) < len(block.columns) else Columns.of(cells)[None]

    def _cell_as_number(self, position: int) -> nw.Expr | None:
        name, derived = self._name(position), self.model.schema.derivation(position)
        dtype = self.lazy.schema[name]
        if derived is not None and derived.recipe == "missing":
            form = self.model.description.number_forms.get(*self.model.schema.names([position]))
            return LazyColumn(name, dtype, form).is_missing()
        return LazyColumn(name, dtype).plain_numbers() if derived is None or derived.is_copy else None

    def _count_by_sums(self, block: Block, cells: np.ndarray) -> Asking:
        tree = stated_needs(block.family)
        held = _formula(lambda x: held_by(x, block.family), cells)
        columns = list(zip(cells.flat, held.flat, strict=True))
        kept = zip(columns, map(self._is_tolerant, block.labels), strict=True)
        checked = Columns.of(nw.when(own).then(cell) if tolerant else cell for (cell, own), tolerant in kept)[None]
        if block.whole_rows:
            checked = np.where(np.isnan(checked).any(axis=1, keepdims=True), np.nan, checked)
        made: dict[Any, np.ndarray] = {None: checked}
        counts_of_needs = []
        for need in list_needs(tree):
            if need.of not in made:
                made[need.of] = _formula(need.of, checked)
            counts_of_needs.append(self._count_need(need, made[need.of], block))
        alone = [self._check_support(block, j, *column) for j, column in enumerate(columns)]
        checks = [self._check_vectors(block, checked)] if block.has_totals else alone
        _, results = yield from _together([_together(checks), _together(counts_of_needs)])
        return fill_needs(tree, iter(results))

    # ---- cells outside the support

    def _check_support(self, block: Block, j: int, cell: nw.Expr, held: nw.Expr) -> Asking:
        """Refuse a column with cells outside the support, which is `held`, or note how many a tolerant one has."""
        family, label, too_large = block.family, block.labels[j], ~(cell.abs() <= LARGEST_NUMBER)
        tolerant, whole = self._is_tolerant(label), support_of(family) is NONNEGATIVE_INTEGER
        wrong, away = too_large if tolerant else ~held, ~held & ~too_large
        asked = [wrong, *[away] * tolerant, *[cell > ACCURATE_COUNT] * whole]
        found = iter((yield [(nw.when(which).then(nw.lit(1.0)), nw.Expr.sum) for which in asked]))
        if next(found).any():
            value = self.lazy.first(cell, wrong)
            raise refusal(f"column {label!r}", value, family.family_name, family.holds, family.hint, whole=whole)
        if tolerant and (number := next(found)).any():
            key = OutsideSupport(label, family.family_name, family.holds)
            self.unseen[key] = {self.lazy.first(cell, away): int(number.sum())}
        if whole and next(found).any():
            warn_of_large_counts(label)

    def _check_vectors(self, block: Block, cells: np.ndarray) -> Asking:
        """Refuse count vectors with cells outside the support. Factorials and sums need the same values of a column."""
        yield []
        for j, label in enumerate(block.labels):
            values, _ = self._values_of_column(cells, j, block, None)
            with without_rows_in_errors():
                own = replace(block, columns=(block.columns[j],), labels=(label,))
                checked_cells(values[:, None], own, slice(0), frozenset(), {})

    def _is_tolerant(self, label: Any) -> bool:
        return label in self.model.description.outside_is_missing

    # ---- needs

    @singledispatchmethod
    def _count_need(self, need: Need, cells: np.ndarray, block: Block) -> Asking:
        raise NotImplementedError(type(need).__name__)

    @_count_need.register
    def _(self, need: RowWeight, cells: np.ndarray, block: Block) -> Asking:
        if not block.whole_rows:
            return self.class_weights[:, None]
        return (yield from self._weights(cells[:, :1]))

    @_count_need.register
    def _(self, need: CellWeight, cells: np.ndarray, block: Block) -> Asking:
        return (yield from self._weights(cells))

    def _weights(self, cells: np.ndarray) -> Asking:
        return self._answers(map(self.lazy.weight_of, cells.flat))

    def _sums(self, cells: np.ndarray) -> Asking:
        return self._answers(map(self.lazy.sum_of, cells.flat))

    @staticmethod
    def _answers(questions: Iterable[Question]) -> Asking:
        """The answers, shape (classes, questions)."""
        return np.transpose((yield list(questions)))

    @_count_need.register
    def _(self, need: Sums, cells: np.ndarray, block: Block) -> Asking:
        if block.has_totals and need.of is None:  # the values that the factorials need tell the sums, too
            return (yield from self._count_need_by_value(need, cells, block))
        try:
            terms = cells if need.terms is None else _formula(need.terms, cells)
        except NotImplementedError:
            return (yield from self._count_need_by_value(need, cells, block))
        each = terms if isinstance(terms, tuple) else (terms,)
        sums = yield from _together([self._sum_of_term(term, cells, need.over_columns) for term in each])
        return sums[0] if len(sums) == 1 else np.stack(sums, axis=-1)

    def _sum_of_term(self, term: Any, cells: np.ndarray, over_columns: bool) -> Asking:
        if isinstance(term, Columns):
            found = yield from self._sums(term)
        else:
            found = (yield from self._weights(cells)) * term
        return found.sum(axis=-1, keepdims=True) if over_columns else found

    @_count_need.register
    def _(self, need: CentredSquares, cells: np.ndarray, block: Block) -> Asking:
        variances = self._answers(question for cell in cells.flat for question in self.lazy.variance_of(cell))
        n, total, variance = yield from _together([self._weights(cells), self._sums(cells), variances])
        mean = safe_ratio(total, n)
        ssd = n * variance if variance.size else np.full_like(n, np.nan)
        left = np.flatnonzero(~(n * mean**2 <= STEADY * ssd).all(axis=0))
        # A chain of 300 classes takes ninety times as long: one number for all comes first, from which most means are
        # not far.
        middle = np.broadcast_to(safe_ratio(total.sum(axis=0), n.sum(axis=0)), n.shape)
        for centre in [mean] if len(n) <= CHAIN else [middle, mean]:
            if len(left):
                away = Columns.of(cells[0, j] - self._number_of_class(centre[:, j]) for j in left)
                off, squares = yield from _together([self._sums(away), self._sums(away * away)])
                own, shift = n[:, left], safe_ratio(off, n[:, left])
                mean[:, left], ssd[:, left] = centre[:, left] + shift, squares - own * shift**2
                left = left[~(own * shift**2 <= NEAR * ssd[:, left]).all(axis=0)]
        return moments_beyond_rounding(n, mean, ssd)

    @_count_need.register
    def _(self, need: CentredProducts, cells: np.ndarray, block: Block) -> Asking:
        n, sums = yield from _together([self._weights(cells[:, :1]), self._sums(cells)])
        mean = safe_ratio(sums, n)
        away = [cell - self._number_of_class(mean[:, j]) for j, cell in enumerate(cells.flat)]
        i, j = np.triu_indices(len(away))
        products = Columns.of(away[one] * away[other] for one, other in zip(i, j, strict=True))
        off, sums = yield from _together([self._sums(Columns.of(away)), self._sums(products)])
        scatter = np.zeros((len(n), len(away), len(away)))
        scatter[:, i, j] = scatter[:, j, i] = sums
        correction = safe_ratio(off, n)
        scatter -= n[:, :, None] * correction[:, :, None] * correction[:, None, :]
        return scatter_beyond_rounding(n, mean + correction, scatter)

    def _number_of_class(self, numbers: np.ndarray) -> nw.Expr:
        """The number that belongs to the class of each row. Engines limit chains, so that it is a sum of short ones."""
        if (numbers == numbers[0]).all():
            return nw.lit(float(numbers[0]))
        pairs = zip(batched(self.classes.tolist(), CHAIN), batched(numbers.tolist(), CHAIN), strict=True)
        return reduce(add, (of_key(nw.col(CLASS), labels, values, nw.lit(0.0)) for labels, values in pairs))

    @_count_need.register(Frequencies)
    @_count_need.register(ValueCounts)
    def _count_need_by_value(self, need: Need, cells: np.ndarray, block: Block) -> Asking:
        """A need of the values that occur, each a row of its weight on the host; needs of different columns add up."""
        yield []
        columns = (self._values_of_column(cells, j, block, need.of) for j in range(cells.size))
        return self._add_up(columns, cells.size, partial(count_on_host, replace(need, of=None)))

    def _values_of_column(self, cells: np.ndarray, j: int, block: Block, of: Any) -> tuple[np.ndarray, Any]:
        """The numbers that occur in a column and their counts, which are kept for all needs of a count vector."""
        counts = self.counts_of_vectors.get((block.columns, of, j))
        if counts is None:
            counts = self.lazy.counts({"value": cells.flat[j]}, block.family.family_name, kept=False)
        if block.has_totals:
            self.counts_of_vectors[block.columns, of, j] = counts
        return counts["value"].cast(nw.Float64).to_numpy(), counts

    # ---- blocks of which the values are counted

    def _membership(self, counts: Any, rows: slice = slice(None)) -> Membership:
        weights = counts[WEIGHT].to_numpy().astype(np.float64)
        return Membership.of(self.lazy.codes(counts, self.classes)[rows], weights[rows], len(self.classes))

    def _count_by_value(self, block: Block) -> Any:
        """The statistics of a block, of whose cells, or rows if it is joint, each value is a row of its weight."""
        if block.is_joint:
            x, counts = self._values(block)
            return count_rows([block], (x,), self._membership(counts)).blocks[0]
        wide = len(block.columns)
        each = (self._values(block.column(j)) for j in range(wide))
        return self._add_up(((x[:, 0], counts) for x, counts in each), wide, block.family.statistics)

    def _add_up(self, columns: Iterable[tuple[np.ndarray, Any]], wide: int, count: Callable[[Any, Any], Any]) -> Any:
        """The sum of the statistics of columns, each of which is alone in a table: its values, and their counts."""
        parts = []
        for j, (values, counts) in enumerate(columns):
            for rows in row_pieces(len(values), wide):
                x = np.full((len(values[rows]), wide), np.nan)
                x[:, j] = values[rows]
                parts.append(count(x, self._membership(counts, rows)))
        return reduce(add, parts)

    def _values(self, block: Block) -> tuple[np.ndarray, Any]:
        """The encoded values that occur in the columns of a block together, (lines, columns), and their counts."""
        schema, columns, bins = self.model.schema, {}, {}
        for position in block.columns:
            name = self._name(position)
            columns[name] = nw.col(name)
            if position in schema.edges and (number := self._cell_as_number(position)) is not None:
                columns[name] = place_among(schema.edges[position], number)
                bins[position] = tuple(range(len(schema.categories[position])))
        counts = self.lazy.counts(columns, f"{block.family.family_name} of {block.owner()}", kept=not bins)
        if block.has_categories:
            counts = counts.filter(nw.col(WEIGHT) > 0)
        names = dict(zip(map(self._name, block.columns), schema.names(block.columns), strict=True))
        table = FrameTable(counts.select(*columns), tuple(names[name] for name in columns), named=True)
        # Places among edges are the categories 0, 1, ...
        categories = {**schema.categories, **bins}
        edges = {position: own for position, own in schema.edges.items() if position not in bins}
        known = replace(schema, named=True, categories=categories, edges=edges)
        description = self.model.description
        arranged = known.arrange(table, [block.columns], description.number_forms)
        with without_rows_in_errors():
            chunks = Chunks(known, (block,), arranged, description.outside_is_missing)
            (x,), unseen = chunks.encode(slice(0, len(counts)), compact=False)
        self._note_unseen(unseen, counts, {names[name]: name for name in columns}, x)
        return x, counts

    def _note_unseen(self, unseen: Any, counts: Any, name_of: Mapping[Any, str], x: np.ndarray) -> None:
        """Note in how many rows the unseen values are; of numbers a column is encoded alone."""
        rows = counts[ROWS].to_numpy()
        for key, found in unseen.items():
            name = name_of[key.column if isinstance(key, OutsideSupport) else key]
            values = counts[name].to_list()
            if isinstance(key, OutsideSupport):
                lost = np.isnan(x[:, 0]) & ~np.array([is_missing(value) for value in values])
                self.unseen[key] = dict.fromkeys(found, int(rows[lost].sum()))
                continue
            number = dict.fromkeys(found, 0)
            for value, of_value in zip(values, rows.tolist(), strict=True):
                if value in number:
                    number[value] += of_value
            self.unseen[key] = self.unseen.get(key, {}) | {v: n or found[v] for v, n in number.items()}


def _formula(function: Any, cells: np.ndarray) -> Any:
    """A formula of cells as expressions."""
    try:
        return function(cells)
    except (TypeError, ValueError, AttributeError, IndexError) as error:  # a formula of other libraries
        raise NotImplementedError(str(error)) from error
