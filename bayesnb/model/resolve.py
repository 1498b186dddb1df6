"""Defaults that follow the data, set to the numbers used."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.arrays import in_float64
from bayesnb.blocks.block import Block
from bayesnb.blocks.class_prior import spread_class_prior
from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.families.base import Family
from bayesnb.model.describe import Description
from bayesnb.model.layout import lay_out
from bayesnb.model.learned import placeholder_codes
from bayesnb.model.read import block_name
from bayesnb.statistics.base import Statistics
from bayesnb.tables.schema import Schema

__all__ = ["resolve"]


@in_float64
def resolve(
    description: Description, schema: Schema, blocks: Sequence[Block], statistics: ModelStatistics
) -> tuple[Description, tuple[Block, ...]]:
    """Description and blocks with the numbers that the defaults take from statistics.

    Parameters
    ----------
    description : Description
    schema : Schema
    blocks : sequence of Block
        The description laid out over the schema.
    statistics : ModelStatistics
        Those of the blocks, in their order.

    Returns
    -------
    tuple of Description and tuple of Block
        The blocks have the columns and the order that they had.

    Raises
    ------
    ValueError
        If a default depends on a hyperparameter that is learned, or the spread of a column is too small for a default.
    """
    resolved = _on_scale_of(blocks, statistics)
    numbers = description.with_placeholders()
    prior = spread_class_prior(numbers.class_concentration, numbers.class_probs, schema.classes, statistics.classes)
    concentration = 1.0 if prior.probs is not None else prior.concentration
    described = replace(
        description,
        features=_with_defaults(description, schema, resolved, statistics)
        if description.hyperpriors
        else _by_column(description, schema, resolved),
        class_concentration=description.class_concentration if description.learns_classes else concentration,
        class_probs=prior.probs,
    )
    return described, resolved


def _on_scale_of(blocks: Sequence[Block], statistics: ModelStatistics) -> tuple[Block, ...]:
    resolved = []
    for block, counted in zip(blocks, statistics.blocks, strict=True):
        pooled = counted.pooled()
        _refuse_narrow(block, pooled)
        resolved.append(replace(block, family=block.family.on_scale_of(pooled)))
    return tuple(resolved)


def _refuse_narrow(block: Block, pooled: Statistics) -> None:
    means = block.family.too_narrow(pooled)
    if means is None or np.isnan(means).all():
        return
    j = int(np.flatnonzero(~np.isnan(means[0]))[0])
    raise ValueError(
        f"column {block.labels[j]!r}: its cells lie near {means[0, j]:.3g} and spread so little that float64 does not "
        "hold their variance: multiply the column by a common factor, here and where you predict"
    )


def _by_column(description: Description, schema: Schema, blocks: Sequence[Block]) -> dict[Any, tuple[Family, Any]]:
    """The features with numbers: each column that is a site becomes a feature."""
    features: dict[Any, tuple[Family, Any]] = {}
    whole = {block.columns[0]: block for block in blocks if not block.by_column}
    single = {position: (block, j) for block in blocks if block.by_column for j, position in enumerate(block.columns)}
    for name, (_, columns) in description.features.items():
        positions = schema.positions(name, columns)
        if positions[0] in whole:
            features[name] = (whole[positions[0]].family, columns)
            continue
        for position in positions:
            block, j = single[position]
            index = (slice(None), j) if block.has_categories else (slice(None), [j])
            features[schema.columns[position]] = (block.family.take(index), None)
    return features


def _with_defaults(
    description: Description, schema: Schema, blocks: Sequence[Block], statistics: ModelStatistics
) -> dict[Any, tuple[Family, Any]]:
    """The features with numbers in the places of their defaults, and the hyperpriors as they were."""
    coded = description.with_hyperparameters(placeholder_codes(description.hyperpriors))
    others = _on_scale_of(lay_out(coded, schema, [block.columns for block in blocks]), statistics)
    features: dict[Any, tuple[Family, Any]] = {}
    for name, (family, columns) in description.features.items():
        positions = schema.positions(name, columns)
        defaults = {}
        for field, value in family.hyperparameters().items():
            if value is None:
                defaults[field] = _of_columns(blocks, field, positions)
                if (defaults[field] != _of_columns(others, field, positions)).any():
                    raise ValueError(
                        f"{block_name(name)!r}: the default of {family.family_name}({field}=...) follows from a "
                        f"hyperparameter that is learned: give {field} a number, or a distribution of its own"
                    )
        features[name] = (family.with_hyperparameters(defaults), columns)
    return features


def _of_columns(blocks: Sequence[Block], field: str, positions: Sequence[int]) -> np.ndarray:
    """A hyperparameter of some columns, shape (classes, columns); of a joint family, the array of its block."""
    found = {}
    for block in blocks:
        if block.is_joint and block.columns[0] == positions[0]:
            return np.asarray(block.family.hyperparameters()[field])
        for j, position in enumerate(block.columns):
            if position in positions:
                found[position] = np.asarray(block.family.hyperparameters()[field])[:, j]
    return np.column_stack([found[position] for position in positions])
