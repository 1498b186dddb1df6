"""The features of a model of which some columns are dropped or merged; the other columns keep their families."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.families.base import Family
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import Model
from bayesnb.model.read import declared_categories

__all__ = ["block_label", "rewritten_features"]

NAMED = 4
"""A block of more columns has the names of the first ones in its own name, and the number of the others."""


def _family_of_column(bound: BoundModel, family: Family, columns: Sequence[int], position: int) -> Family:
    """The family with which one column, as a feature of its own, has the prior and the constants that it has now.

    Parameters
    ----------
    bound : BoundModel
        The model of the table.
    family : Family
        Of the feature, as the user wrote it.
    columns : sequence of int
        Positions of the feature's columns.
    position : int
        One of them.

    Returns
    -------
    Family
        The family as the user wrote it, if it is the same for every column.
    """
    names = bound.schema.columns
    block = next(block for block in bound.blocks if position in block.columns)
    j = block.columns.index(position)
    own = block.family.take((slice(None), [j]))
    if family.cell == "category" and family.categories is not None:
        categories = declared_categories(family, names[position])
        family, own = replace(family, categories=categories), replace(own, categories=categories)
    numbers = all(np.ndim(value) == 0 for value in family.hyperparameters().values())
    follows_cells = all(family.must_see(names[column]) for column in columns)
    return family if numbers and (follows_cells or family.settings() == own.settings()) else own


def rewritten_features(
    model: Model,
    bound: BoundModel,
    placed_in: Mapping[int, tuple[int, ...]],
    merged: Mapping[tuple[int, ...], Family],
) -> dict[Any, tuple[Family, Any]]:
    """The features of a model, of which some columns are dropped or merged.

    A feature that loses no column stays as it is. The other columns of the rest become features of their own.

    Parameters
    ----------
    model : NaiveBayes or BoundModel
    bound : BoundModel
        The model of the table.
    placed_in : mapping
        By position of a column that does not stay where it is, the positions of its new block; none if the column is
        dropped.
    merged : mapping
        By the positions of the columns of each new block, its family. A block is where its first column was.
    """
    schema = bound.schema
    positions_of = schema.positions_of(model.features)
    whole = {name for name, positions in positions_of.items() if placed_in.keys().isdisjoint(positions)}
    features: dict[Any, tuple[Family, Any]] = {}
    placed: set[int] = set()
    for name, positions in positions_of.items():
        family, columns = model.features[name]
        if name in whole:
            features[name] = family, columns
            continue
        for position in positions:
            block = placed_in.get(position, (position,))
            if not block or position in placed:
                continue
            placed.update(block)
            own = merged[block] if block in merged else _family_of_column(bound, family, positions, position)
            names = [schema.columns[column] for column in block]
            label = _free_name(names[0] if len(names) == 1 else block_label(names), {*features, *whole})
            features[label] = own, None if label == names[0] else names
    return features


def block_label(names: Sequence[Any]) -> str:
    """Name of a block of these columns; blocks without a common column have different ones."""
    if len(names) <= NAMED:
        return " & ".join(map(str, names))
    return " & ".join([*map(str, names[: NAMED - 1]), f"{len(names) - NAMED + 1} more"])


def _free_name(name: Any, taken: Collection[Any]) -> Any:
    """The name, changed if a feature has it."""
    while name in taken:
        name = f"{name} (columns)"
    return name
