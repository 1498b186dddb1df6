"""Features of a model: columns whose categories it lists, names, whether they depend on the class."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.feature_inclusion import FeatureInclusion
from bayesnb.model.blocks import Block, feature_names, features_of

# --------------------------------------------------------------------------------------------------
# Whether a feature depends on the class, or has one distribution for all classes.
#
# The features of a model are its columns; a joint block is one feature. Each has two hypotheses, a parameter for
# every class or one that all classes share, and both have a closed-form evidence. Features are independent given the
# labels, so that sums over all subsets of them are products over features.
# --------------------------------------------------------------------------------------------------


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


def inclusions(blocks: Sequence[Block], probs: Sequence[np.ndarray]) -> tuple[FeatureInclusion, ...]:
    """The families of blocks, each feature of which depends on the class with a probability (features,).

    Without dependence, all classes share the prior that every class has. If the priors differ by class, there is none.

    Raises
    ------
    ValueError
        If the family has no closed form, or its prior differs by class, naming the column.
    """
    for block in blocks:
        if not isinstance(block.family, ConjugateFamily):
            raise ValueError(
                f"column {block.labels[0]!r} is {block.family.family_name}, which has no closed-form evidence: "
                "whether a feature depends on the class is known for conjugate families"
            )
        for name, value in block.family.hyperparameters().items():
            differs = False if value is None else (np.asarray(value) != np.asarray(value)[:1]).any(axis=0)
            if np.any(differs):
                feature = block.name if block.is_joint else block.labels[int(np.argwhere(differs)[0][0])]
                raise ValueError(
                    f"column {feature!r}: the prior's {name} differs by class, so that one distribution for all "
                    "classes has no prior; give the classes the same"
                )
    return tuple(FeatureInclusion.of(block.family, prob) for block, prob in zip(blocks, probs, strict=True))
