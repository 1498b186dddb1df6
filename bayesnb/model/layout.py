"""A description laid out over the columns of a table, as blocks."""

from collections.abc import Iterator, Sequence
from typing import Any

from bayesnb.blocks.block import Block, join_blocks
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.model.describe import Description
from bayesnb.model.read import block_name
from bayesnb.tables.columns import items_at
from bayesnb.tables.schema import Schema

__all__ = ["lay_out"]


def lay_out(
    description: Description, schema: Schema, layout: Sequence[Sequence[int]] | None = None
) -> tuple[Block, ...]:
    """The columns in groups of one family and one array shape.

    A hyperparameter that is learned is laid out as a one.

    Parameters
    ----------
    description : Description
    schema : Schema
    layout : sequence of sequence of int, optional
        Positions of the columns of each block wanted, in their order. By default, columns named one by one share a
        block if their families have the same fields, and columns of categories if they have equally many.

    Raises
    ------
    ValueError
        If a column does not exist or is in two features, or a hyperparameter has the wrong shape.
    """
    groups: dict[Any, list[Block]] = {}
    for name, block in _of_features(description.with_placeholders(), schema):
        groups.setdefault(block.group_key if block.by_column else name, []).append(block)
    blocks = tuple(join_blocks(members) for members in groups.values())
    return blocks if layout is None else _arranged(blocks, layout)


def _of_features(description: Description, schema: Schema) -> Iterator[tuple[Any, Block]]:
    """The blocks of each feature, each with the feature's name."""
    features, counted = description.features, schema.categories
    for name, positions in schema.positions_of(features).items():
        family, columns = features[name]
        labels = items_at(schema.columns, positions)
        sizes = tuple(len(counted.get(position, ())) for position in positions) if counted else (0,) * len(positions)
        by_column = family.by_column or (columns is None and not family.joint)
        for members, spread in family.spread(len(schema.classes), labels, sizes):
            if description.feature_inclusion is not None and isinstance(spread, ConjugateFamily):
                spread = spread.given_dependence()
            chosen = items_at(positions, members), items_at(labels, members)
            yield name, Block(block_name(name), spread, *chosen, by_column)


def _arranged(blocks: tuple[Block, ...], layout: Sequence[Sequence[int]]) -> tuple[Block, ...]:
    """The blocks regrouped, so that each has the columns wanted."""
    whole = {tuple(block.columns): block for block in blocks}
    single = {position: (block, j) for block in blocks for j, position in enumerate(block.columns)}
    return tuple(
        whole[tuple(columns)]
        if tuple(columns) in whole
        else join_blocks([_column(*single[position]) for position in columns])
        for columns in layout
    )


def _column(block: Block, j: int) -> Block:
    """One column of a block."""
    family = block.family.take((slice(None), [j]))
    return Block(str(block.labels[j]), family, (block.columns[j],), (block.labels[j],), by_column=True)
