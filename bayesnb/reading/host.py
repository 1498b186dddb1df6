"""Chunks of a table that is read on the host."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.blocks.block import Block
from bayesnb.parallel import in_order
from bayesnb.reading.cells import Cells, count_by_class, count_by_weight, encode_block
from bayesnb.reading.counted import Counted, Unseen, add_unseen
from bayesnb.reading.densities import FORMS, Density, Form
from bayesnb.tables.categories import warn_unseen
from bayesnb.tables.schema import Schema
from bayesnb.tables.table import Table

__all__ = ["HostChunks"]


@dataclass(frozen=True)
class HostChunks:
    """The rows of a table, encoded chunk by chunk.

    Every kind of table has the methods `count` and `densities`; the others give the encoded cells themselves. A value
    that is not among the categories counts as a missing cell: `count` reports it, the others warn of it.

    Attributes
    ----------
    schema : Schema
    blocks : tuple of Block
    table : Table
    columns : list of sequence of int
        For each block the positions of its columns in the table.
    tolerant : frozenset
        Names of columns in which a cell outside the support counts as missing, unless the rows are counted.
    """

    schema: Schema
    blocks: tuple[Block, ...]
    table: Table
    columns: list[Sequence[int]]
    tolerant: frozenset[Any] = frozenset()

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
        total: Counted | None = None
        for counted in self.counted(codes, weights):
            total = counted if total is None else total + counted
        if total is None:
            raise ValueError("X has no rows: give at least one")
        return total

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

    def counted(self, codes: np.ndarray, weights: np.ndarray | None) -> Iterator[Counted]:
        """Statistics of each chunk."""
        return in_order(lambda rows: self.count_slice(rows, codes, weights), self.slices)

    def count_slice(self, rows: slice, codes: np.ndarray, weights: np.ndarray | None) -> Counted:
        """Statistics of some rows, computed on the host."""
        cells, unseen = self.encode(rows, compact=True, tolerant=())
        number = len(self.schema.classes)
        if weights is None:
            return Counted(count_by_class(self.blocks, cells, codes[rows], number), unseen)
        membership = np.eye(number)[codes[rows]] * weights[rows, None]
        return Counted(count_by_weight(self.blocks, cells, membership), unseen)

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
