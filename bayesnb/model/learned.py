"""Hyperparameters that are learned: a distribution in the place of a number.

`Family.spread` lays out numbers only. The blocks are therefore laid out twice, with ones and with different numbers in
the places of the learned hyperparameters. The second layout shows the place of each hyperparameter. The arrays for any
values of the hyperparameters are then a look-up, with NumPy or under JAX, for values with any leading axes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.blocks.block import Block
from bayesnb.blocks.class_prior import ClassPrior, spread_class_prior
from bayesnb.blocks.density import statistics_program, walk_family
from bayesnb.blocks.parameters import ModelParameters, draw_parameters
from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.families.base import Family, Sample
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.draw import draw
from bayesnb.model.describe import Description
from bayesnb.model.layout import lay_out
from bayesnb.model.read import block_name
from bayesnb.tables.schema import Schema

__all__ = [
    "LearnedPrior",
    "hyperparameter_axes",
    "learned_prior",
    "learned_program",
    "placeholder_codes",
    "sample_hyperparameters",
    "walk_learned",
]

FIRST_CODE = 2.0
"""Smallest of the numbers that mark learned hyperparameters; above one, because one is the placeholder."""


def placeholder_codes(hyperpriors: Mapping[str, dist.Distribution]) -> dict[str, np.ndarray]:
    """Different numbers for all learned hyperparameters, in the order in which `LearnedPrior.given` lines them up."""
    codes = {}
    start = FIRST_CODE
    for name, distribution in hyperpriors.items():
        size = int(np.prod(distribution.batch_shape))
        codes[name] = np.arange(start, start + size).reshape(distribution.batch_shape)
        start += size
    return codes


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LearnedPrior:
    """The prior of a model with learned hyperparameters.

    Attributes
    ----------
    hyperpriors : dict
        Distribution of each hyperparameter by name.
    class_prior : ClassPrior
    families : tuple of Family
        Those of the blocks, with a placeholder wherever a hyperparameter is learned.
    places : tuple of array of int
        For each array of class prior and families, places among the learned numbers; -1 where a number is given.
    names : tuple of str
        The hyperparameters in the order of their numbers.
    """

    hyperpriors: dict[str, dist.Distribution]
    class_prior: ClassPrior
    families: tuple[Family, ...]
    places: tuple[Any, ...]
    names: tuple[str, ...] = field(metadata={"static": True})

    def given(self, values: Mapping[str, Any]) -> tuple[ClassPrior, tuple[Family, ...]]:
        """The prior for values of the hyperparameters.

        Parameters
        ----------
        values : mapping
            By name, arrays of shape (..., *batch shape of the hyperprior).

        Returns
        -------
        tuple of ClassPrior and tuple of Family
            Arrays with the leading axes of the values.
        """
        xp = jnp if any(isinstance(value, jax.Array) for value in values.values()) else np
        first = self.names[0]
        depth = len(self.hyperpriors[first].batch_shape)
        leading = np.shape(values[first])[: np.ndim(values[first]) - depth]
        line = xp.concatenate([xp.reshape(xp.asarray(values[name]), (*leading, -1)) for name in self.names], axis=-1)

        def fill(number: Any, place: Any) -> Any:
            return xp.where(place < 0, number, line[..., xp.maximum(place, 0)])

        leaves, structure = jax.tree.flatten((self.class_prior, self.families))
        return jax.tree.unflatten(structure, map(fill, leaves, self.places))

    def draw(self, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> ModelParameters:
        """Independent draws from the prior of hyperparameters and parameters."""
        values = self.draw_hyperparameters(rng, sample_shape)
        class_prior, families = self.given(values)
        return draw_parameters(class_prior, families, rng, hyperparameters=values)

    def draw_hyperparameters(self, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> dict[str, Any]:
        """Independent draws of the hyperparameters alone, by name."""
        with jax.enable_x64(True):
            return {name: np.asarray(draw(self.hyperpriors[name], rng, sample_shape)) for name in self.names}


def learned_prior(
    description: Description, schema: Schema, blocks: Sequence[Block], class_prior: ClassPrior
) -> LearnedPrior:
    """The prior of a bound model as a function of the hyperparameters that it learns.

    Parameters
    ----------
    description : Description
    schema : Schema
    blocks : sequence of Block
    class_prior : ClassPrior
        With ones in the places of the learned hyperparameters, as in the blocks.
    """
    coded = description.with_hyperparameters(placeholder_codes(description.hyperpriors))
    coded_blocks = lay_out(coded, schema, [block.columns for block in blocks])
    coded_classes = spread_class_prior(coded.class_concentration, coded.class_probs, schema.classes)
    numbers = class_prior, tuple(block.family for block in blocks)
    codes = coded_classes, tuple(block.family for block in coded_blocks)
    places = tuple(map(_place, jax.tree.leaves(numbers), jax.tree.leaves(codes)))
    return LearnedPrior(dict(description.hyperpriors), *numbers, places, tuple(description.hyperpriors))


def _place(number: Any, code: Any) -> np.ndarray:
    return np.where(np.equal(number, code), -1, np.asarray(code) - FIRST_CODE).astype(np.int64)


def sample_hyperparameters(hyperpriors: Mapping[str, dist.Distribution]) -> dict[str, Any]:
    """A NumPyro sample of each hyperparameter, by name."""
    return {
        name: numpyro.sample(name, distribution.to_event(len(distribution.batch_shape)))
        for name, distribution in hyperpriors.items()
    }


def walk_learned(prior: LearnedPrior, sample: Sample) -> None:
    """Call ``sample(site, distribution)`` for every site of `learned_program`."""
    _, families = prior.given({name: sample(name, prior.hyperpriors[name]) for name in prior.names})
    for i, family in enumerate(families):
        if not isinstance(family, ConjugateFamily):
            walk_family(i, family, sample)


def learned_program(prior: LearnedPrior, statistics: ModelStatistics) -> None:
    """Density of the hyperparameters given statistics, parameters with a closed form integrated out."""
    class_prior, families = prior.given(sample_hyperparameters({name: prior.hyperpriors[name] for name in prior.names}))
    statistics_program(class_prior, families, statistics, integrated=True)


def hyperparameter_axes(description: Description, schema: Schema) -> dict[str, tuple[tuple[str, tuple], ...]]:
    """Name and labels of every axis of each learned hyperparameter: classes and columns where its shape has them.

    A third axis is that of the categories.
    """
    classes = ("class", tuple(schema.classes.tolist()))
    found = {}
    if description.learns_classes:
        found["class_concentration"] = (classes,) * len(description.class_concentration.batch_shape)
    for name, feature, field_name in description.learned_fields():
        family, columns = description.features[feature]
        labels = tuple(schema.columns[position] for position in schema.positions(feature, columns))
        shape = family.hyperparameters()[field_name].batch_shape
        every = (classes, (f"{block_name(feature)}_column", labels), ("category", ()))
        usual = every if len(shape) == len(every) else every[2 - len(shape) : 2]
        found[name] = tuple(
            axis if len(axis[1]) == size else (f"{name}_{axis[0]}", tuple(range(size)))
            for axis, size in zip(usual, shape, strict=True)
        )
    return found
