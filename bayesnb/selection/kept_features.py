"""A model with some of its features."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.families.base import Family
from bayesnb.model.bound import BoundModel
from bayesnb.model.inclusion import feature_names, in_column_order
from bayesnb.model.naive_bayes import Model
from bayesnb.selection.column_family import family_of_column, free_name

__all__ = ["with_features"]


def with_features(model: Model, bound: BoundModel, kept: Sequence[int]) -> Model:
    """The model with some of its features; the model itself if these are all.

    Parameters
    ----------
    model : NaiveBayes or BoundModel
        The model that was given; the result is bound if it is.
    bound : BoundModel
        The model of the table.
    kept : sequence of int
        Positions among the features, in the order of the table's columns.
    """
    blocks = bound.blocks
    by_block = [
        [tuple(block.columns)] if block.is_joint else [(column,) for column in block.columns] for block in blocks
    ]
    columns_of = in_column_order(blocks, by_block)
    if len(kept) == len(columns_of):
        return model
    columns = {column for feature in kept for column in columns_of[feature]}
    changed = {
        "features": _features(model, bound, columns),
        "feature_inclusion": _inclusion(model.feature_inclusion, feature_names(blocks), kept),
    }
    if isinstance(model, BoundModel):
        return BoundModel.of(replace(model.description, **changed), model.schema)
    return replace(model, **changed)


def _features(model: Model, bound: BoundModel, kept: set[int]) -> dict[Any, tuple[Family, Any]]:
    """The features whose columns are all kept, as they are, and the columns of others one by one."""
    schema = bound.schema
    positions_of = schema.positions_of(model.features)
    whole = {name for name, positions in positions_of.items() if kept.issuperset(positions)}
    features: dict[Any, tuple[Family, Any]] = {}
    for name, positions in positions_of.items():
        family, columns = model.features[name]
        if name in whole:
            features[name] = family, columns
            continue
        for position in positions:
            if position in kept:
                column = schema.columns[position]
                label = free_name(column, {*features, *whole})
                own = family_of_column(bound, family, positions, position)
                features[label] = own, None if label == column else [column]
    return features


def _inclusion(given: Any, names: Sequence[Any], kept: Sequence[int]) -> Any:
    """The prior probabilities of the features that are kept, in the form in which all were given."""
    if isinstance(given, Mapping):
        return {names[feature]: given[names[feature]] for feature in kept}
    return np.asarray(given)[list(kept)] if np.ndim(given) else given
