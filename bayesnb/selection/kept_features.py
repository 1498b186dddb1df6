"""A model with some of its features."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.model.bound import BoundModel
from bayesnb.model.inclusion import feature_names, in_column_order
from bayesnb.model.naive_bayes import Model
from bayesnb.selection.rewritten_features import rewritten_features

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
    dropped = {column: () for feature in {*range(len(columns_of))} - {*kept} for column in columns_of[feature]}
    changed = {
        "features": rewritten_features(model, bound, dropped, {}),
        "feature_inclusion": _inclusion(model.feature_inclusion, feature_names(blocks), kept),
    }
    if isinstance(model, BoundModel):
        return BoundModel.of(replace(model.description, **changed), model.schema)
    return replace(model, **changed)


def _inclusion(given: Any, names: Sequence[Any], kept: Sequence[int]) -> Any:
    """The prior probabilities of the features that are kept, in the form in which all were given."""
    if isinstance(given, Mapping):
        return {names[feature]: given[names[feature]] for feature in kept}
    return np.asarray(given)[list(kept)] if np.ndim(given) else given
