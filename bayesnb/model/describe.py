"""Features of a model: columns whose categories it lists, names, whether they depend on the class."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bayesnb.core.checking import a_type
from bayesnb.data.schema import Schema
from bayesnb.data.tables import is_missing, items_at
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import Family, listed_categories
from bayesnb.model.blocks import Block

# --------------------------------------------------------------------------------------------------
# Columns of categories, and those that the model lists
# --------------------------------------------------------------------------------------------------


def categorical_columns(
    features: Mapping[Any, tuple[Family, Any]], schema: Schema
) -> Iterator[tuple[int, Family, tuple | None]]:
    """Position and family of every column of categories, and the categories that the model lists for it."""
    for name, (family, columns) in features.items():
        if family.cell == "category":
            positions = schema.positions(name, columns)
            names = schema.names(positions)
            _require_known_columns(family, [*names])
            for position, column in zip(positions, names, strict=True):
                yield position, family, declared_categories(family, column)


def declared_categories(family: Family, column: Any) -> tuple | None:
    """Categories that the model lists for a column."""
    declared = listed_categories(family)
    if _lists_columns(declared):
        declared = dict(declared).get(column)
    if declared is None:
        return None
    for category in declared:
        if is_missing(category):
            raise ValueError(f"{family.family_name}(categories=...) lists {category!r}, which marks a missing cell")
        if not isinstance(category, Hashable):
            raise TypeError(
                f"{family.family_name}(categories=...) lists {category!r}, {a_type(category)}, which "
                "cannot be a category: give text, numbers, booleans or tuples"
            )
    for category, times in Counter(declared).items():
        if times > 1:
            raise ValueError(f"{family.family_name}(categories=...) lists {category!r} twice")
    return tuple(declared)


def _require_known_columns(family: Family, columns: list[Any]) -> None:
    """Refuse categories listed for a column that the feature does not have."""
    declared = listed_categories(family)
    for column, _ in declared if _lists_columns(declared) else ():
        if column not in columns:
            raise ValueError(
                f"{family.family_name}(categories=...) names the column {column!r}, its columns are {columns}"
            )


def _lists_columns(declared: Any) -> bool:
    """Whether categories are listed as pairs of a column and its categories."""
    return bool(declared) and all(isinstance(entry, tuple) and len(entry) == 2 for entry in declared)


# --------------------------------------------------------------------------------------------------
# Whether a feature depends on the class, or has one distribution for all classes.
#
# The features of a model are its columns; a joint block is one feature. Each has two hypotheses, a parameter for
# every class or one that all classes share, and both have a closed-form evidence. Features are independent given the
# labels, so that sums over all subsets of them are products over features.
# --------------------------------------------------------------------------------------------------


def features_of(block: Block) -> tuple[Any, ...]:
    """Names of a block's features: its columns, or the block itself where a row of it is one vector."""
    return (block.name,) if block.is_joint else block.labels


def subjects_of(block: Block, schema: Schema) -> list[tuple[Any, Any]]:
    """What each feature of a block describes: a column, or the columns of a joint block together.

    Returns
    -------
    list of (key, name)
        Features of one column have the same key, also those of a column given others, and so have count vectors of the
        same columns. Keys sort in the order of the table's columns.
    """
    own = block.described
    if not block.is_vector:
        return columns_alone(schema, own)
    own = items_at(schema.sources, own) if block.has_totals else own
    return [((own[0], tuple(own)), block.name)]


def columns_alone(schema: Schema, positions: Sequence[int]) -> list[tuple[Any, Any]]:
    """Key and name of columns that are described alone, as `subjects_of` gives them."""
    return [((source, ()), schema.columns[source]) for source in items_at(schema.sources, positions)]


def feature_names(blocks: Sequence[Block]) -> list[Any]:
    """Names of all features, in the order of the table's columns."""
    return in_column_order(blocks, [features_of(block) for block in blocks])


def in_column_order(blocks: Sequence[Block], values: Sequence[Any]) -> list[Any]:
    """Values of the features of all blocks, in the order of the table's columns."""
    placed = [
        (position, value)
        for block, of_block in zip(blocks, values, strict=True)
        for position, value in zip(block.columns[: len(of_block)], of_block, strict=True)
    ]
    return [value for _, value in sorted(placed, key=lambda pair: pair[0])]


def positions_of_features(blocks: Sequence[Block]) -> list[list[int]]:
    """For each block the positions of its features among all, in the order of the table's columns."""
    places = [[(i, j) for j, _ in enumerate(features_of(block))] for i, block in enumerate(blocks)]
    order = {place: position for position, place in enumerate(in_column_order(blocks, places))}
    return [[order[place] for place in of_block] for of_block in places]


def read_inclusion(where: str, value: Any) -> Any:
    """Prior probabilities that features depend on the class: a number, an array, or a dictionary by feature.

    Raises
    ------
    TypeError, ValueError
        If they are not numbers from 0 to 1.
    """
    given = dict(value.items()) if isinstance(value, Mapping) or hasattr(value, "items") else value
    try:
        numbers = np.asarray(list(given.values()) if isinstance(given, dict) else given, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{where} is {value!r}: give a number from 0 to 1, or one for each feature") from None
    wrong = ~((numbers >= 0) & (numbers <= 1))
    if numbers.ndim > 1 or wrong.any():
        shown = numbers[wrong].flat[0] if wrong.any() else f"an array of shape {numbers.shape}"
        raise ValueError(f"{where} holds {shown}: give a probability from 0 to 1, or one for each feature")
    if isinstance(given, dict):
        return dict(zip(given, numbers.tolist(), strict=True))
    return numbers if numbers.ndim else float(numbers)


def spread_inclusion(where: str, value: Any, blocks: Sequence[Block]) -> tuple[np.ndarray, ...]:
    """The prior probabilities of each block's features, as `read_inclusion` gives them.

    Raises
    ------
    ValueError
        If there is not one number, or one for each feature.
    """
    names = feature_names(blocks)
    if isinstance(value, dict):
        if set(value) != set(names) or len(names) != len(set(names)):
            strange = [name for name in value if name not in names]
            lost = [name for name in names if name not in value]
            what = f"names {strange[0]!r}, which is no feature" if strange else f"does not name {lost[0]!r}"
            raise ValueError(f"{where} {what}: give a probability for each of {names}")
        by_name = value
    else:
        numbers = np.asarray(value, dtype=np.float64)
        if numbers.ndim and len(numbers) != len(names):
            raise ValueError(
                f"{where} has {len(numbers)} numbers, the model has {len(names)} features: give one number, or one "
                "for each feature in the order of the table's columns (a block that is one observation, "
                "such as count vectors, is one feature)"
            )
        by_name = dict(zip(names, np.broadcast_to(numbers, len(names)).tolist(), strict=True))
    return tuple(np.array([by_name[name] for name in features_of(block)]) for block in blocks)


def shared_families(blocks: Sequence[Block]) -> tuple[ConjugateFamily, ...]:
    """Prior of the parameters that all classes share, class axis of length one.

    It is the prior that every class has. If the priors differ by class, there is none.

    Raises
    ------
    ValueError
        If the family has no closed form, or its prior differs by class, naming the column.
    """
    shared = []
    for block in blocks:
        if not isinstance(block.family, ConjugateFamily):
            raise ValueError(
                f"column {block.labels[0]!r} is {block.family.family_name}, which has no closed-form evidence: "
                "whether a feature depends on the class is known for conjugate families"
            )
        for name, value in block.family.hyperparameters().items():
            differs = (np.asarray(value) != np.asarray(value)[:1]).any(axis=0)
            if differs.any():
                feature = block.name if block.is_joint else block.labels[int(np.argwhere(differs)[0][0])]
                raise ValueError(
                    f"column {feature!r}: the prior's {name} differs by class, so that one distribution for all "
                    "classes has no prior; give the classes the same"
                )
        shared.append(block.family.take(slice(0, 1)))
    return tuple(shared)
