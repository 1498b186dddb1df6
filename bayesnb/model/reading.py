"""A table chunk by chunk: counts and densities."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Literal, Protocol

import numpy as np

from bayesnb.core.arrays import in_float64, log, row_pieces
from bayesnb.core.checking import warn
from bayesnb.core.running import in_order
from bayesnb.data.read import as_rows
from bayesnb.data.schema import Schema, warn_unseen
from bayesnb.data.tables import Table
from bayesnb.families.base import accepts_fractions
from bayesnb.families.statistics import ClassCounts, Membership
from bayesnb.model.blocks import Block, ModelStatistics
from bayesnb.model.cells import check_cells, outside_as_missing

__all__ = [
    "Cells",
    "Chunks",
    "Counted",
    "Density",
    "Unseen",
    "add_unseen",
    "count_rows",
    "is_lost",
    "log_normalised",
    "normalise",
    "read",
    "rows_of",
    "warn_lost",
    "with_fallback",
]

# --------------------------------------------------------------------------------------------------
# Class probabilities from log joint densities
# --------------------------------------------------------------------------------------------------


def normalise(log_joint: np.ndarray, class_probs: np.ndarray) -> np.ndarray:
    """Log class probabilities from log joint densities, shape (..., rows, classes).

    Rows whose joint density is zero under every class get the class probabilities, with a warning.
    """
    return with_fallback(log_normalised(log_joint), -np.inf, log(class_probs))


def log_normalised(log_joint: np.ndarray) -> np.ndarray:
    """Log class probabilities; -inf in every class for rows whose joint density is zero in every class."""
    result = np.empty(log_joint.shape)
    for rows in row_pieces(log_joint.shape[-2], log_joint[..., :1, :].size):
        by_class = _less_highest(log_joint[..., rows, :])
        total = log(np.exp(by_class).sum(axis=0))
        total[np.isneginf(total)] = 0.0
        result[..., rows, :] = np.moveaxis(by_class - total, 0, -1)
    return result


def normalise_into(proba: np.ndarray, log_prior: np.ndarray, log_density: np.ndarray) -> None:
    """Put class probabilities into an array, shape (rows, classes); zero in every class where the joint density is."""
    for rows in row_pieces(*log_density.shape):
        by_class = _less_highest(log_prior + log_density[rows])
        total = np.exp(by_class, out=by_class).sum(axis=0)
        total[total == 0] = 1.0
        proba[rows] = (by_class / total).T


def _less_highest(log_joint: np.ndarray) -> np.ndarray:
    """Log joint densities less the highest of each row, the classes first."""
    # Class by class, because short rows cost NumPy more than their numbers do.
    by_class = np.moveaxis(log_joint, -1, 0).copy()
    highest = by_class.max(axis=0)
    highest[np.isneginf(highest)] = 0.0
    by_class -= highest
    return by_class


def with_fallback(found: np.ndarray, nothing: float, instead: np.ndarray) -> np.ndarray:
    """The probabilities found, with `instead` for rows that are `nothing` in every class, and a warning of them."""
    lost = is_lost(found, nothing)
    if lost.any():
        rows = rows_of(lost)
        warn_lost(len(rows), int(rows[0]))
        return np.where(lost[..., None], np.broadcast_to(instead, found.shape), found)
    return found


def is_lost(found: np.ndarray, nothing: float) -> np.ndarray:
    """Which rows are `nothing` in every class, the shape without the classes."""
    lost = found[..., 0] == nothing
    lost[lost] = (found[lost] == nothing).all(axis=-1)
    return lost


def rows_of(lost: np.ndarray) -> np.ndarray:
    """Positions of the rows that are lost under any draw, given an array of shape (..., rows)."""
    return np.flatnonzero(lost.reshape(-1, lost.shape[-1]).any(axis=0))


def warn_lost(number: int, first: int) -> None:
    """Warn of rows that no class can have, given how many and the position of one."""
    warn(
        f"{number} row(s), the first of them row {first}, have probability zero "
        "under every class, because an estimate is exactly 0 or 1; they get the class probabilities. Use "
        "nb.NUTS(), or nb.Exact() for conjugate families, which give every row a probability",
        UserWarning,
    )


# --------------------------------------------------------------------------------------------------
# Statistics of rows, with the values that are not among the categories
# --------------------------------------------------------------------------------------------------

Unseen = Mapping[Any, Mapping[Any, int]]
"""For each column the values that are not among its categories, and how often each occurs; for each `OutsideSupport`
one of its cells, and their number."""


@dataclass(frozen=True)
class Counted:
    """Statistics of rows, and the cells whose categories are not in the model; the sum is that of all the rows."""

    statistics: ModelStatistics
    unseen: Unseen

    def __add__(self, other: "Counted") -> "Counted":
        return Counted(self.statistics + other.statistics, add_unseen(self.unseen, other.unseen))


def add_unseen(one: Unseen, other: Unseen) -> Unseen:
    """How often each value occurs in two sets of rows together."""
    total = {column: dict(values) for column, values in one.items()}
    for column, values in other.items():
        mine = total.setdefault(column, {})
        for value, number in values.items():
            mine[value] = mine.get(value, 0) + number
    return total


# --------------------------------------------------------------------------------------------------
# Cells of some rows as a model's families take them
# --------------------------------------------------------------------------------------------------

Cells = tuple[Any, ...]
"""For each block its cells, shape (rows, columns): float64 with missing cells NaN and categories as codes, or CSR."""


def encode_block(
    schema: Schema,
    block: Block,
    table: Table,
    columns: Sequence[int],
    rows: slice,
    unseen: dict[Any, dict[Any, int]],
    *,
    compact: bool,
    tolerant: Collection[Any] = (),
) -> Any:
    """Cells of a block in some rows, checked against the support of its family.

    Parameters
    ----------
    schema : Schema
    block : Block
    table : Table
    columns : sequence of int
        Positions of the block's columns in the table.
    rows : slice
    unseen : dict
        Receives, by column, the values that are not among the categories, with their number.
    compact : bool
        Whether families that are `compact` get booleans and integers as the table holds them.
    tolerant : collection, default ()
        Names of columns of numbers in which a cell outside the support counts as missing; `unseen` receives these.

    Raises
    ------
    TypeError, ValueError
        If a cell is not in the family's support. The error names the column, the row and the value.
    """
    compact = compact and block.family.compact
    if block.has_categories:
        return schema.categories_as_codes(table, block.columns, columns, rows, unseen, compact=compact)
    x = table.numbers(columns, rows, sparse=block.family.sparse, booleans=compact)
    if not (table.non_negative and accepts_fractions(block.family)):
        if tolerant and block.family.cell == "number":
            x = outside_as_missing(x, block.family, block.labels, tolerant, unseen)
        check_cells(x, block.family, block.labels, rows)
    return x


@in_float64
def count_rows(blocks: Sequence[Block], cells: Cells, membership: Any) -> ModelStatistics:
    """Sufficient statistics of rows, given the weight of each row in each class, as `Family.statistics` takes it.

    A block of a family that counts whole rows leaves out those that lack one of its cells.
    """
    counted = tuple(
        block.family.statistics(*_counted_rows(block, x, membership)) for block, x in zip(blocks, cells, strict=True)
    )
    return ModelStatistics(ClassCounts(membership.sum(axis=0)), counted)


def _counted_rows(block: Block, x: Any, membership: Any) -> tuple[Any, Any]:
    """The rows that a block counts, and their weights."""
    if not block.whole_rows or not (missing := np.isnan(x).any(axis=1)).any():
        return x, membership
    return x[~missing], membership[~missing]


# --------------------------------------------------------------------------------------------------
# Densities of encoded rows under a posterior, and the three forms in which `densities` returns them
# --------------------------------------------------------------------------------------------------

Form = Literal["log_joint", "log_proba", "proba"]
"""Log joint densities, log class probabilities, or class probabilities."""


class Density(Protocol):
    """Densities of rows together with each class; every posterior has one."""

    def log_joint(self, cells: Cells) -> np.ndarray:
        """Log density of encoded rows together with each class, shape (rows, classes)."""

    def log_ratio(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Two terms, shapes (classes,) and (rows, classes), whose sum is `log_joint` plus a number for each row."""


def _put_log_joint(density: Density, cells: Cells, out: np.ndarray) -> None:
    out[...] = density.log_joint(cells)


def _put_log_proba(density: Density, cells: Cells, out: np.ndarray) -> None:
    out[...] = log_normalised(np.add(*density.log_ratio(cells)))


def _put_proba(density: Density, cells: Cells, out: np.ndarray) -> None:
    normalise_into(out, *density.log_ratio(cells))


FORMS = {"log_joint": _put_log_joint, "log_proba": _put_log_proba, "proba": _put_proba}
"""For each form a function that computes it for encoded rows and puts it into an array, shape (rows, classes)."""


# --------------------------------------------------------------------------------------------------
# Chunks of a table
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chunks:
    """The rows of a table, encoded chunk by chunk.

    `count` and `densities` take the rows together; the other methods give the encoded cells themselves. A value that is
    not among the categories counts as a missing cell: `count` reports it, the others warn of it.

    Attributes
    ----------
    schema : Schema
    blocks : tuple of Block
    table : Table
    columns : list of sequence of int
        For each block the positions of its columns in the table.
    tolerant : frozenset
        Names of columns in which a cell outside the support counts as missing, unless the rows are counted.
    adds : bool
        Whether the rows are added to a fit: such cells are then missing when the rows are counted, too. In the rows of
        a first fit they are an error.
    """

    schema: Schema
    blocks: tuple[Block, ...]
    table: Table
    columns: list[Sequence[int]]
    tolerant: frozenset[Any] = frozenset()
    adds: bool = False

    def count(self, codes: np.ndarray, weights: np.ndarray | None = None) -> Counted:
        """Sufficient statistics of all rows.

        Parameters
        ----------
        codes : array of int, shape (rows,)
            Position of each row's class.
        weights : array, shape (rows,), optional
            By default ones.

        Raises
        ------
        ValueError
            If there is no row, or a cell is outside the support of its family.
        """
        if not self.table.num_rows:
            raise ValueError("X has no rows: give at least one")
        tolerant, number = self.tolerant if self.adds else (), len(self.schema.classes)

        def one_chunk(rows: slice) -> Counted:
            cells, unseen = self.encode(rows, compact=True, tolerant=tolerant)
            membership = Membership.of(codes[rows], None if weights is None else weights[rows], number)
            return Counted(count_rows(self.blocks, cells, membership), unseen)

        return reduce(add, in_order(one_chunk, self.slices))

    def densities(self, density: Density, form: Form) -> np.ndarray:
        """Densities of each row and class under a posterior, shape (rows, classes).

        Parameters
        ----------
        density : Density
        form : {"log_joint", "log_proba", "proba"}
            Rows without density under any class have minus infinity, or probability zero, in every class.
        """
        put = FORMS[form]
        return self.fill(lambda cells, out: put(density, cells, out), len(self.schema.classes))

    def encoded(self, *, warn: bool = True) -> Iterator[tuple[slice, Cells]]:
        """Each chunk's rows and cells, one after another.

        Parameters
        ----------
        warn : bool, default True
            Whether to warn of values that are not among the categories.
        """
        found: Unseen = {}
        for rows in self.slices:
            cells, unseen = self.encode(rows, compact=False)
            found = add_unseen(found, unseen)
            yield rows, cells
        if warn:
            warn_unseen(found)

    def unseen(self) -> Unseen:
        """The values that are not among the categories, without a warning."""
        found: Unseen = {}
        for rows in self.slices:
            found = add_unseen(found, self.encode(rows, compact=True)[1])
        return found

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
        for unseen in in_order(one_chunk, self.slices):
            found = add_unseen(found, unseen)
        warn_unseen(found)

    def fill(self, put: Callable[[Cells, np.ndarray], None], width: int, leading: tuple[int, ...] = ()) -> np.ndarray:
        """An array of shape leading + (rows, width) that a function fills chunk by chunk.

        Parameters
        ----------
        put : callable
            Gets each chunk's cells, and the part of the array for its rows.
        width : int
            Length of the last axis.
        leading : tuple of int, optional
            Axes before that of the rows.
        """
        result = np.empty((*leading, self.table.num_rows, width))
        self.each(lambda rows, cells: put(cells, result[..., rows, :]))
        return result

    @property
    def slices(self) -> list[slice]:
        """The rows of each chunk."""
        return list(self.table.chunks(sum(map(len, self.columns))))

    def encode(self, rows: slice, *, compact: bool, tolerant: Collection[Any] | None = None) -> tuple[Cells, Unseen]:
        """Cells of some rows, block by block, and the values that are not among the categories.

        Parameters
        ----------
        rows : slice
        compact : bool
            Whether families that are `compact` get booleans and integers as the table holds them, instead of float64.
        tolerant : collection, optional
            By default `tolerant`.
        """
        unseen: dict[Any, dict[Any, int]] = {}
        tolerant = self.tolerant if tolerant is None else tolerant
        cells = tuple(
            encode_block(self.schema, block, self.table, columns, rows, unseen, compact=compact, tolerant=tolerant)
            for block, columns in zip(self.blocks, self.columns, strict=True)
        )
        return cells, {column: values for column, values in unseen.items() if values}


# --------------------------------------------------------------------------------------------------
# The reader for a table
# --------------------------------------------------------------------------------------------------


def read(schema: Schema, blocks: Sequence[Block], X: Any, tolerant: frozenset[Any] = frozenset()) -> Chunks:
    """The chunks of a table.

    Parameters
    ----------
    schema : Schema
        Columns, classes and categories of the model.
    blocks : sequence of Block
    X : table, shape (rows, columns)
    tolerant : frozenset, default frozenset()
        As for `Chunks`.

    Raises
    ------
    TypeError, ValueError
        If X is not a table, or its columns are not those of the model.
    """
    table = as_rows(X)
    columns = schema.locate(table.names, table.named, [block.columns for block in blocks])
    return Chunks(schema, tuple(blocks), table, columns, tolerant)
