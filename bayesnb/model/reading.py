"""The cells of a table as blocks of columns take them, chunk by chunk, and the class probabilities of rows."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.core.arrays import all_whole, log, row_pieces, stacked
from bayesnb.core.cells import (
    ACCURATE_COUNT,
    LARGEST_COUNT,
    LARGEST_NUMBER,
    OutsideSupport,
    refusal,
    warn_of_large_counts,
    warn_unseen,
)
from bayesnb.core.deferred import in_float64
from bayesnb.core.running import one_blas_thread, results_in_order
from bayesnb.data.schema import Schema, are_codes, encode_categories
from bayesnb.data.tables import Table
from bayesnb.families.family import Family
from bayesnb.families.hyperparameters import (
    NONNEGATIVE,
    NONNEGATIVE_INTEGER,
    REAL,
    accepts_fractions,
    held_by,
    support_of,
)
from bayesnb.families.statistics import ClassCounts, Membership, Statistics
from bayesnb.model.blocks import Block, ModelStatistics
from bayesnb.model.device_rows import RowsOnDevice

# --------------------------------------------------------------------------------------------------
# Class probabilities from log joint densities
# --------------------------------------------------------------------------------------------------


def log_normalised(log_joint: np.ndarray) -> np.ndarray:
    """Log class probabilities; -inf in every class for rows whose joint density is zero in every class."""
    result = np.empty(log_joint.shape)
    for rows in row_pieces(log_joint.shape[-2], log_joint[..., :1, :].size):
        # Class by class, because short rows cost NumPy more than their numbers do.
        by_class = np.moveaxis(log_joint[..., rows, :], -1, 0).copy()
        by_class -= _highest(by_class)
        total = log(np.exp(by_class).sum(axis=0))
        total[np.isneginf(total)] = 0.0
        result[..., rows, :] = np.moveaxis(by_class - total, 0, -1)
    return result


def normalise_into(proba: np.ndarray, log_prior: np.ndarray, log_density: np.ndarray) -> None:
    """Put class probabilities into an array, shape (rows, classes); zero in every class where the joint density is."""
    for rows in row_pieces(*log_density.shape):
        by_class = np.add(log_density[rows].T, log_prior[:, None], order="C")
        by_class -= _highest(by_class)
        total = np.exp(by_class, out=by_class).sum(axis=0)
        total[total == 0] = 1.0
        np.divide(by_class, total, out=proba[rows].T)


def _highest(by_class: np.ndarray) -> np.ndarray:
    """The highest log joint density of each row, zero if all are minus infinity, given them with the classes first."""
    highest = by_class.max(axis=0)
    highest[np.isneginf(highest)] = 0.0
    return highest


# --------------------------------------------------------------------------------------------------
# Statistics of rows, with the values that are not among the categories
# --------------------------------------------------------------------------------------------------

Unseen = Mapping[Any, Mapping[Any, int]]
"""For each column the values that are not among its categories, and how often each occurs; for each `OutsideSupport`
one of its cells, and their number."""


@dataclass(frozen=True)
class Counted:
    """Statistics of rows, the cells whose categories are not in the model, and whether a weight is not one.

    The sum is that of all the rows.
    """

    statistics: ModelStatistics
    unseen: Unseen
    weighted: bool = False

    def __add__(self, other: "Counted") -> "Counted":
        unseen = add_unseen(self.unseen, other.unseen)
        return Counted(self.statistics + other.statistics, unseen, self.weighted or other.weighted)


def add_unseen(one: Unseen, other: Unseen) -> Unseen:
    """How often each value occurs in two sets of rows together."""
    return {column: Counter(one.get(column)) + Counter(other.get(column)) for column in {**one, **other}}


# --------------------------------------------------------------------------------------------------
# Cells of some rows as a model's families take them
# --------------------------------------------------------------------------------------------------

Cells = tuple[Any, ...]
"""For each block its cells, shape (rows, columns): float64 with missing cells NaN and categories as codes, or CSR."""


LONG = 10_000
"""Cells of vectors above which OpenBLAS multiplies them in threads."""


def checked_cells(
    x: Any, block: Block, rows: slice, tolerant: frozenset[Any], unseen: dict[Any, dict[Any, int]]
) -> Any:
    """The cells of a block, none of them outside the support of its family; a warning of counts that lose digits.

    `tolerant` names the columns of numbers in which a cell outside the support becomes a missing one. `unseen`
    receives, by `OutsideSupport`, one of these cells and their number. Cells that no family of numbers holds, such as
    infinite ones, are an error in any column: it names the column, the row and the value.
    """
    family, sparse = block.family, scipy.sparse.issparse(x)
    cells = x.data if sparse else x
    wrong = outside(cells, family)
    if tolerant and family.cell == "number" and wrong.any():
        x = x.copy()
        cells = x.data if sparse else x
        column_of = x.indices if sparse else np.broadcast_to(np.arange(len(block.labels)), x.shape)
        for j in np.unique(column_of[wrong]):
            here = wrong & (column_of == j) & (np.abs(cells) <= LARGEST_NUMBER)
            if block.labels[j] in tolerant and here.any():
                key = OutsideSupport(block.labels[j], family.family_name, family.holds)
                unseen[key] = {float(cells[here][0]): int(here.sum())}
                cells[here] = np.nan
                wrong &= ~here
    if wrong.any():
        _refuse_first(x, wrong, block, rows)
    if support_of(family) is NONNEGATIVE_INTEGER and (cells > ACCURATE_COUNT).any():
        largest = x.max(axis=0).toarray() if sparse else np.fmax.reduce(x, axis=0)
        warn_of_large_counts(block.labels[int(np.argmax(largest > ACCURATE_COUNT))])
    return x


def _refuse_first(x: Any, wrong: np.ndarray | np.bool_, block: Block, rows: slice) -> None:
    """Raise the error of the first cell that is outside the support, given which stored cells are."""
    if scipy.sparse.issparse(x):
        entry = int(np.flatnonzero(wrong)[0])
        row, column = int(np.searchsorted(x.indptr, entry, side="right")) - 1, int(x.indices[entry])
        value = x.data[entry]
    else:
        row, column = (int(index[0]) for index in np.nonzero(wrong))
        value = x[row, column]
    family, name = block.family, block.family.family_name
    where = f"column {block.labels[column]!r}, row {(rows.start or 0) + row}"
    if np.isnan(value):
        raise ValueError(
            f"{where}: the cell is missing, but {name} reads a row as one vector of counts; fill in the count (0 if "
            "the word does not occur) or drop the row"
        )
    whole = support_of(family) is NONNEGATIVE_INTEGER
    raise refusal(where, value, name, family.holds, family.hint, whole=whole)


def outside(cells: np.ndarray, family: Family) -> np.ndarray | np.bool_:
    """Which cells are outside the family's support; a single False if a quick test finds none."""
    support = NONNEGATIVE if accepts_fractions(family) else support_of(family)
    with np.errstate(invalid="ignore", over="ignore"):
        if cells.dtype == bool and "small types" in family.takes:
            return np.False_
        if support is REAL:
            flat = cells.ravel(order="K")
            # The sum of squares is small only if every number is finite and not too large. After a product of long
            # vectors in two threads, BLAS keeps one busy for longer than most predictions take.
            with one_blas_thread() if flat.size > LONG else nullcontext():
                square = np.dot(flat, flat)
            if square < LARGEST_NUMBER**2:
                return np.False_
        elif support is NONNEGATIVE_INTEGER:
            if not_negative_up_to(LARGEST_COUNT, cells) and all_whole(cells):
                return np.False_
        elif support is NONNEGATIVE and not_negative_up_to(LARGEST_NUMBER, cells):
            return np.False_
        held = np.asarray(held_by(cells, family))
    return ~(held | np.isnan(cells)) if family.cell == "number" else ~held


def not_negative_up_to(largest: float, cells: np.ndarray) -> bool:
    """Whether all cells are float64 numbers from zero to `largest` (minus zero counts as negative).

    The bits are compared as unsigned integers: they order the non-negative numbers, and put negative numbers and NaN
    after them.
    """
    return cells.dtype == np.float64 and bool(
        cells.view(np.uint64).max(initial=0) <= np.float64(largest).view(np.uint64)
    )


@in_float64
def count_rows(blocks: Sequence[Block], cells: Cells, membership: Any) -> ModelStatistics:
    """Sufficient statistics of rows, given the weight of each row in each class, as `Family.statistics` takes it.

    A block of a family that counts whole rows leaves out those that lack one of its cells.
    """

    def count(block: Block, x: Any) -> Statistics:
        missing = np.isnan(x).any(axis=1) if block.whole_rows else np.False_
        return block.family.statistics(*((x[~missing], membership[~missing]) if missing.any() else (x, membership)))

    return ModelStatistics(ClassCounts(membership.sum(axis=0)), tuple(map(count, blocks, cells)))


# --------------------------------------------------------------------------------------------------
# Chunks of a table
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chunks:
    """The rows of a table, encoded chunk by chunk.

    `count` and `fill` take the rows together; the other methods give the encoded cells themselves. A value that is
    not among the categories counts as a missing cell: `count` reports it, the others warn of it.

    Attributes
    ----------
    schema : Schema
    blocks : tuple of Block
    table : Table
        With the columns of the schema, each at its position.
    tolerant : frozenset
        Names of columns in which a cell outside the support counts as missing, unless the rows are counted.
    """

    schema: Schema
    blocks: tuple[Block, ...]
    table: Table
    tolerant: frozenset[Any] = frozenset()

    def count(self, codes: np.ndarray, weights: np.ndarray | None = None, *, adds: bool = False) -> Counted:
        """Sufficient statistics of all rows.

        Parameters
        ----------
        codes : array of int, shape (rows,)
            Position of each row's class.
        weights : array, shape (rows,), optional
            By default ones.
        adds : bool, default False
            Whether the rows are added to a fit: cells outside the support are then missing in the columns that are
            tolerant. In the rows of a first fit they are an error.

        Raises
        ------
        ValueError
            If a cell is outside the support of its family.
        """
        number = len(self.schema.classes)
        weighted = weights is not None and bool((weights != 1.0).any())
        if self.device_rows is not None:
            found = self.device_rows.count(self.blocks, codes, weights if weighted else None, number)
            if found is not None:
                return Counted(found, {}, weighted)
        chunks = self if adds else replace(self, tolerant=frozenset())

        def one_chunk(rows: slice) -> Counted:
            cells, unseen = chunks.encode(rows, compact=True)
            membership = Membership.of(codes[rows], None if weights is None else weights[rows], number)
            return Counted(count_rows(self.blocks, cells, membership), unseen)

        return replace(reduce(add, results_in_order(one_chunk, self.slices)), weighted=weighted)

    @cached_property
    def device_rows(self) -> RowsOnDevice | None:
        """The rows where they lie, if it is a device that can read them."""
        return RowsOnDevice.of(self.schema, self.blocks, self.table)

    def encoded(self) -> Iterator[tuple[slice, Cells]]:
        """Each chunk's rows and cells, one after another; then a warning of unseen values."""
        found: Unseen = {}
        for rows in self.slices:
            cells, unseen = self.encode(rows, compact=False)
            found = add_unseen(found, unseen)
            yield rows, cells
        warn_unseen(found)

    def whole(self, *, warn: bool = True) -> Cells:
        """The cells of all rows at once; as `encoded`."""
        cells, unseen = self.encode(slice(0, self.table.num_rows), compact=False)
        if warn:
            warn_unseen(unseen)
        return cells

    def each(self, function: Callable[[slice, Cells], None]) -> None:
        """Call a function with each chunk's rows and cells, in several threads if the table is long."""

        def one_chunk(rows: slice) -> Unseen:
            cells, unseen = self.encode(rows, compact=True)
            function(rows, cells)
            return unseen

        found: Unseen = {}
        # What is computed of a row has a number for each class, which may be more than the row has cells. Each chunk
        # looks up its categories, so that chunks of these are larger.
        numbers = len(self.schema.classes) // (8 if self.schema.categories else 1)
        for unseen in results_in_order(one_chunk, list(self.table.chunks(max(self._width, numbers)))):
            found = add_unseen(found, unseen)
        warn_unseen(found)

    def of_rows(self, places: np.ndarray) -> Cells:
        """The encoded cells of some rows, given their positions in ascending order."""
        found: dict[int, Cells] = {}

        def take(where: slice, cells: Cells) -> None:
            start, stop = np.searchsorted(places, (where.start, where.stop))
            found[where.start] = tuple(x[places[start:stop] - where.start] for x in cells)

        self.each(take)
        return tuple(map(stacked, zip(*(found[start] for start in sorted(found)), strict=True)))

    def fill(self, put: Callable[[Cells, np.ndarray], None], width: int) -> np.ndarray:
        """An array of shape (rows, width) that a function fills chunk by chunk.

        Parameters
        ----------
        put : callable
            Gets each chunk's cells, and the part of the array for its rows.
        width : int
            Length of the last axis.
        """
        result = np.empty((self.table.num_rows, width))
        self.each(lambda rows, cells: put(cells, result[rows]))
        return result

    @property
    def slices(self) -> list[slice]:
        """The rows of each chunk."""
        return list(self.table.chunks(self._width))

    @property
    def _width(self) -> int:
        return sum(len(block.columns) for block in self.blocks)

    def encode(self, rows: slice, *, compact: bool) -> tuple[Cells, Unseen]:
        """Cells of some rows, block by block, and the values that are not among the categories.

        Parameters
        ----------
        rows : slice
        compact : bool
            Whether families that are `compact` get booleans and integers as the table holds them, instead of float64.

        Raises
        ------
        TypeError, ValueError
            If a cell is not in the family's support. The error names the column, the row and the value.
        """
        unseen: dict[Any, dict[Any, int]] = {}
        table = self.table.remembering()

        def of_block(block: Block) -> Any:
            family, as_stored = block.family, compact and "small types" in block.family.takes
            if block.has_categories:
                return self._codes(table, block.columns, rows, unseen, as_stored=as_stored)
            x = table.numbers(block.columns, rows, sparse="sparse" in family.takes, booleans=as_stored)
            if self.table.non_negative and accepts_fractions(family):
                return x
            return checked_cells(x, block, rows, self.tolerant, unseen)

        cells = tuple(map(of_block, self.blocks))
        return cells, {column: values for column, values in unseen.items() if values}

    def _codes(
        self, table: Table, columns: Sequence[int], rows: slice, unseen: dict[Any, Any], *, as_stored: bool
    ) -> np.ndarray:
        """Cells as positions among their categories: float64 with NaN for missing cells, or integers that are codes."""
        schema = self.schema
        if as_stored and all(schema.counts_from_zero[column] for column in columns):
            stored = table.stored(columns, rows)
            size = min(len(schema.categories[column]) for column in columns)
            if stored is not None and stored.dtype.kind in "iu" and are_codes(stored, size):
                return stored
        codes = []
        for column in columns:
            if column in schema.edges:
                cells = table.number_column(column, rows)
                code = np.searchsorted(schema.edges[column], cells, side="right")
                codes.append(np.where(np.isnan(cells), np.nan, code))
                continue
            (name,), cells = schema.names([column]), table.categories(column, rows)
            found: dict[Any, int] = {}
            codes.append(encode_categories(cells, schema.categories[column], name, found))
            # Features that describe a column twice meet the same values.
            unseen[name] = {**unseen.get(name, {}), **found}
        return np.column_stack(codes)
