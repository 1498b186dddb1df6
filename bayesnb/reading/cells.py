"""Cells of some rows as a model's families take them."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from bayesnb.arrays import in_float64
from bayesnb.blocks.block import Block
from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.statistics.counts import ClassCounts
from bayesnb.tables.cells import check_cells, outside_as_missing
from bayesnb.tables.schema import Schema
from bayesnb.tables.table import Table

__all__ = ["Cells", "count_by_class", "count_by_weight", "encode_block"]

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
    if not (table.non_negative and block.family.accepts_fractions):
        if tolerant and block.family.cell == "number":
            x = outside_as_missing(x, block.family, block.labels, tolerant, unseen)
        check_cells(x, block.family, block.labels, rows)
    return x


@in_float64
def count_by_weight(blocks: Sequence[Block], cells: Cells, membership: np.ndarray) -> ModelStatistics:
    """Sufficient statistics of rows, given the weight of each row in each class (rows, classes).

    A block of a family that counts whole rows leaves out those that lack one of its cells.
    """
    counted = tuple(
        block.family.statistics(*_counted_rows(block, x, membership)) for block, x in zip(blocks, cells, strict=True)
    )
    return ModelStatistics(ClassCounts(membership.sum(axis=0)), counted)


@in_float64
def count_by_class(blocks: Sequence[Block], cells: Cells, codes: np.ndarray, num_classes: int) -> ModelStatistics:
    """As `count_by_weight`, for rows of weight one, given the position of each row's class (rows,)."""
    counted = tuple(
        block.family.statistics_by_class(*_counted_rows(block, x, codes), num_classes)
        for block, x in zip(blocks, cells, strict=True)
    )
    return ModelStatistics(ClassCounts(np.bincount(codes, minlength=num_classes).astype(np.float64)), counted)


def _counted_rows(block: Block, x: Any, labels: np.ndarray) -> tuple[Any, np.ndarray]:
    """The rows that a block counts, and their labels or weights."""
    if not block.family.whole_rows or not (missing := np.isnan(x).any(axis=1)).any():
        return x, labels
    return x[~missing], labels[~missing]
