"""Rows drawn from a model whose parameters are given, as a table like the one that it is bound to."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesnb.arrays import in_float64
from bayesnb.blocks.block import Block
from bayesnb.families.base import Parameters
from bayesnb.families.draw import draw
from bayesnb.tables.schema import Schema

__all__ = ["draw_cells", "to_table", "total_counts"]

TINY = float(np.finfo(np.float64).tiny)


@in_float64
def draw_cells(
    blocks: Sequence[Block],
    parameters: Sequence[Parameters],
    num_rows: int,
    rng: np.random.Generator,
    total_count: Any = None,
) -> list[np.ndarray]:
    """Draw the cells of rows whose parameters are given.

    Parameters
    ----------
    blocks : sequence of Block
    parameters : sequence of mapping
        For each block, parameters of each row, shape (rows, columns) or (rows, columns, categories).
    num_rows : int
    rng : numpy.random.Generator
    total_count : int or array of shape (rows,), optional
        Total of each count vector; needed if a block holds count vectors.

    Returns
    -------
    list of array, shape (rows, columns)
        For each block its cells, categories as codes.
    """
    cells = []
    for block, values in zip(blocks, parameters, strict=True):
        size = {"total_count": total_counts(total_count, num_rows)} if block.has_totals else {}
        drawn = draw(block.family.likelihood(**values, **size), rng)
        cells.append(_inside(block.family.support, drawn) if block.family.cell == "number" else drawn)
    return cells


def _inside(support: Any, cells: np.ndarray) -> np.ndarray:
    """Cells with the nearest number of the support in place of an end that it leaves out.

    A small gamma variable is rounded to zero, and a share near one to one. The family would refuse such a cell.
    """
    for bound, beyond in (("lower_bound", np.inf), ("upper_bound", -np.inf)):
        end = np.asarray(getattr(support, bound, np.inf), dtype=np.float64)
        if end.ndim == 0 and np.isfinite(end) and not support(end):
            # The nearest number to zero is subnormal, which JAX takes for zero.
            nearest = np.copysign(TINY, beyond) if end == 0 else np.nextafter(end, beyond)
            cells = np.where(cells == end, nearest, cells)
    return cells


def total_counts(total_count: Any, num_rows: int) -> np.ndarray:
    """The total of each row's count vector, shape (rows,).

    Raises
    ------
    ValueError
        If it is missing, or is not a whole number or one for each row.
    """
    if total_count is None:
        raise ValueError(
            "the model has count vectors, whose total it does not describe: give total_count, the length of each "
            "document (a number or one per row)"
        )
    totals = np.asarray(total_count)
    if totals.dtype.kind not in "iu" or (totals < 0).any() or totals.shape not in {(), (num_rows,)}:
        raise ValueError(f"total_count is {total_count!r}: give a whole number, or one for each of {num_rows} rows")
    return np.broadcast_to(totals, (num_rows,))


def to_table(schema: Schema, blocks: Sequence[Block], cells: Sequence[np.ndarray]) -> Any:
    """Cells of all blocks as one table, with the columns and categories of the schema."""
    columns: dict[int, np.ndarray] = {}
    for block, x in zip(blocks, cells, strict=True):
        for j, position in enumerate(block.columns):
            if block.has_categories:
                categories = np.empty(len(schema.categories[position]), dtype=object)
                categories[:] = schema.categories[position]
                columns[position] = np.array(categories[x[:, j].astype(np.intp)].tolist(), ndmin=1)
            else:
                columns[position] = x[:, j]
    ordered = {schema.columns[position]: columns[position] for position in sorted(columns)}
    if schema.named:
        import pandas as pd

        return pd.DataFrame(ordered)
    kinds = {column.dtype.kind for column in ordered.values()}
    if len(kinds) > 1:
        ordered = {name: column.astype(object) for name, column in ordered.items()}
    return np.column_stack(list(ordered.values()))
