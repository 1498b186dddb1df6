"""Cells of some rows as a model's families take them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesnb.arrays import in_float64
from bayesnb.blocks.block import Block
from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.statistics.counts import ClassCounts
from bayesnb.tables.cells import check_cells
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
        check_cells(x, block.family, block.labels, rows)
    return x


@in_float64
def count_by_weight(blocks: Sequence[Block], cells: Cells, membership: np.ndarray) -> ModelStatistics:
    """Sufficient statistics of rows, given the weight of each row in each class (rows, classes).

    Raises
    ------
    ValueError
        If a family counts whole rows only, and a row of positive weight has a missing cell.
    """
    for block, x in zip(blocks, cells, strict=True):
        if block.family.whole_rows:
            _require_whole_rows(block, x[membership.any(axis=1)])
    counted = tuple(block.family.statistics(x, membership) for block, x in zip(blocks, cells, strict=True))
    return ModelStatistics(ClassCounts(membership.sum(axis=0)), counted)


@in_float64
def count_by_class(blocks: Sequence[Block], cells: Cells, codes: np.ndarray, num_classes: int) -> ModelStatistics:
    """Sufficient statistics of rows of weight one, given the position of each row's class (rows,).

    Raises
    ------
    ValueError
        If a family counts whole rows only, and a row has a missing cell.
    """
    for block, x in zip(blocks, cells, strict=True):
        if block.family.whole_rows:
            _require_whole_rows(block, x)
    counted = tuple(
        block.family.statistics_by_class(x, codes, num_classes) for block, x in zip(blocks, cells, strict=True)
    )
    return ModelStatistics(ClassCounts(np.bincount(codes, minlength=num_classes).astype(np.float64)), counted)


def _require_whole_rows(block: Block, x: Any) -> None:
    """Refuse rows of a joint block in which a cell is missing."""
    missing = np.isnan(x)
    if not missing.any():
        return
    rows = missing.sum(axis=0)
    j = int(rows.argmax())
    missing_or_strange, remedy = "missing", ""
    if block.has_categories:
        missing_or_strange = "missing, or not among the categories,"
        remedy = ", list all values in categories=, reserve a category for the others, other=True"
    raise ValueError(
        f"column {block.labels[j]!r}: the cell is {missing_or_strange} in {rows[j]} of {len(x)} rows, and "
        f"{block.family.family_name} is fitted to rows in which all {len(block.labels)} cells of block "
        f"{block.name!r} are there (rows to predict may lack some): drop these rows, fill in the cells{remedy}, "
        "or give the column a family of its own"
    )
