"""Whether a feature depends on the class, or has one distribution for all classes.

The features of a model are its columns; a joint block is one feature. Each has two hypotheses, a parameter for
every class or one that all classes share, and both have a closed-form evidence. Features are independent given the
labels, so that sums over all subsets of them are products over features.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from scipy.special import log_expit, logit

from bayesnb.arrays import to_numpy
from bayesnb.blocks.block import Block
from bayesnb.blocks.class_prior import ClassPrior
from bayesnb.blocks.parameters import ModelParameters, draw_parameters
from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.families.base import Family
from bayesnb.families.conjugate import ConjugateFamily

__all__ = [
    "draw_averaged",
    "feature_names",
    "features_of",
    "in_column_order",
    "log_evidences",
    "log_inclusion",
    "mixed",
    "positions_of_features",
    "read_inclusion",
    "shared_families",
    "spread_inclusion",
]


def features_of(block: Block) -> tuple[Any, ...]:
    """Names of a block's features: its columns, or the block itself where a row of it is one vector."""
    return (block.name,) if block.is_joint else block.labels


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


def log_evidences(blocks: Sequence[Block], statistics: ModelStatistics) -> list[tuple[np.ndarray, np.ndarray]]:
    """Log evidence of each feature under both hypotheses, given the labels; call it in float64.

    Returns
    -------
    list of tuple of array, shape (features of the block,)
        For each block, with a parameter for each class and with a shared one.
    """
    found = []
    for block, common, counted in zip(blocks, shared_families(blocks), statistics.blocks, strict=True):
        assert isinstance(block.family, ConjugateFamily)
        own = np.asarray(block.family.given_dependence().log_evidence(counted)).sum(axis=0)
        found.append((own, np.asarray(common.log_evidence(counted.pooled()))[0]))
    return found


def log_inclusion(prior: np.ndarray, log_bayes_factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log posterior probability that a feature depends on the class, and that it does not.

    The first is log(p B / (1 - p + p B)), with p the prior probability and B the Bayes factor.
    """
    log_odds = logit(prior) + log_bayes_factor
    return log_expit(log_odds), log_expit(-log_odds)


def mixed(depends: np.ndarray, own: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Parameters of a block: each feature's own ones where it depends on the class, else the shared ones.

    Parameters
    ----------
    depends : array of bool, shape (..., features)
    own, shared : mapping
        Arrays of shape (..., columns) or (..., columns, categories), of as many leading axes as `depends`.
    """
    return {
        name: np.where(depends.reshape(*depends.shape, *[1] * (np.ndim(value) - depends.ndim)), value, shared[name])
        for name, value in own.items()
    }


def draw_averaged(
    class_prior: ClassPrior,
    families: Sequence[Family],
    shared: Sequence[Family],
    inclusion: Sequence[np.ndarray],
    rng: np.random.Generator,
    sample_shape: tuple[int, ...] = (),
) -> ModelParameters:
    """Independent draws of all parameters, each feature's shared by all classes unless it is included.

    Parameters
    ----------
    class_prior : ClassPrior
    families, shared : sequence of Family
        Distribution of each block's own parameters and of shared ones.
    inclusion : sequence of array, shape (features of the block,)
        Probability that each feature depends on the class.
    rng : numpy.random.Generator
    sample_shape : tuple of int
    """
    own = draw_parameters(class_prior, families, rng, sample_shape)
    common = draw_parameters(class_prior, shared, rng, sample_shape)
    blocks = []
    for values, of_all, prob in zip(own.blocks, common.blocks, inclusion, strict=True):
        depends = (rng.uniform(size=(*sample_shape, len(prob))) < prob)[..., None, :]
        blocks.append(to_numpy(mixed(depends, values, of_all)))
    return ModelParameters(own.class_prob, tuple(jax.tree.map(np.asarray, block) for block in blocks))
