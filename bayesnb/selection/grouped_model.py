"""A model with joint blocks in the place of some of its columns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bayesnb.families.base import Family
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import Model
from bayesnb.selection.category_blocks import ZERO_AND_ONE
from bayesnb.selection.column_family import family_of_column, free_name

__all__ = ["block_label", "grouped_model"]

NAMED = 4
"""A block of more columns has the names of the first ones in its own name, and the number of the others."""


def block_label(names: Sequence[Any]) -> str:
    """Name of a block of these columns; blocks without a common column have different ones."""
    if len(names) <= NAMED:
        return " & ".join(map(str, names))
    return " & ".join([*map(str, names[: NAMED - 1]), f"{len(names) - NAMED + 1} more"])


def grouped_model(model: Model, bound: BoundModel, merged: Mapping[tuple[int, ...], Family]) -> Model:
    """The model with joint blocks, each where its first column was; columns beside them keep their families.

    Parameters
    ----------
    model : NaiveBayes or BoundModel
        The model that was given; the result is bound if it is.
    bound : BoundModel
        The model of the table.
    merged : mapping
        By the positions of the columns of each block, its family.
    """
    if not merged:
        return model
    schema = bound.schema
    of_column = {column: columns for columns in merged for column in columns}
    positions_of = schema.positions_of(model.features)
    whole = {name for name, positions in positions_of.items() if of_column.keys().isdisjoint(positions)}
    features: dict[Any, tuple[Family, Any]] = {}
    placed: set[int] = set()
    for name, positions in positions_of.items():
        family, columns = model.features[name]
        if name in whole:
            features[name] = family, columns
            continue
        for position in positions:
            if position in placed:
                continue
            block = of_column.get(position, (position,))
            placed.update(block)
            own = merged[block] if block in merged else family_of_column(bound, family, positions, position)
            names = [schema.columns[column] for column in block]
            wanted = block_label(names) if len(names) > 1 else names[0]
            label = free_name(wanted, {*features, *whole})
            features[label] = own, None if label == names[0] else names
    if not isinstance(model, BoundModel):
        return replace(model, features=features)
    categories = {
        column: ZERO_AND_ONE for columns, family in merged.items() if family.cell == "category" for column in columns
    }
    description = replace(model.description, features=features)
    return BoundModel.of(description, replace(schema, categories=categories | dict(schema.categories)))
