"""One column of a feature of several, as a feature of its own: its family and its name."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.families.base import Family
from bayesnb.model.bound import BoundModel
from bayesnb.model.read import declared_categories

__all__ = ["family_of_column", "free_name"]


def family_of_column(bound: BoundModel, family: Family, columns: Sequence[int], position: int) -> Family:
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


def free_name(name: Any, taken: Collection[Any]) -> Any:
    """The name, changed if a feature has it."""
    while name in taken:
        name = f"{name} (columns)"
    return name
