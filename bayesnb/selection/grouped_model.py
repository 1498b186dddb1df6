"""A model with joint blocks in the place of some of its columns."""

from collections.abc import Mapping
from dataclasses import replace

from bayesnb.families.base import Family
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import Model
from bayesnb.selection.category_blocks import ZERO_AND_ONE
from bayesnb.selection.rewritten_features import rewritten_features

__all__ = ["grouped_model"]


def grouped_model(model: Model, bound: BoundModel, merged: Mapping[tuple[int, ...], Family]) -> Model:
    """The model with joint blocks, each where its first column was; other columns keep their families.

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
    placed_in = {column: columns for columns in merged for column in columns}
    features = rewritten_features(model, bound, placed_in, merged)
    if not isinstance(model, BoundModel):
        return replace(model, features=features)
    categories = {
        column: ZERO_AND_ONE for columns, family in merged.items() if family.cell == "category" for column in columns
    }
    description = replace(model.description, features=features)
    return BoundModel.of(description, replace(bound.schema, categories=categories | dict(bound.schema.categories)))
