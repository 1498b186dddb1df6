"""Hyperparameters that are learned: the prior as a function of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayesnb.core.deferred import dist, is_jax, jax, jnp, leaves, numpyro, pytree
from bayesnb.data.schema import Schema
from bayesnb.families.family import Sample
from bayesnb.model.blocks import Block, block_name, lay_out
from bayesnb.model.prior import FIRST_CODE, ClassPrior, ModelParameters, Prior, placeholder_codes, spread_class_prior

# --------------------------------------------------------------------------------------------------
# Hyperparameters that are learned: a distribution in the place of a number.
#
# `Family.spread` lays out numbers only. The blocks are therefore laid out twice, with ones and with different numbers
# in the places of the learned hyperparameters. The second layout shows the place of each hyperparameter. The arrays
# for any values of the hyperparameters are then a look-up, with NumPy or under JAX, for values with any leading axes.
# --------------------------------------------------------------------------------------------------


@pytree
@dataclass(frozen=True)
class LearnedPrior:
    """The prior of a model with learned hyperparameters.

    Attributes
    ----------
    hyperpriors : dict
        Distribution of each hyperparameter by name.
    numbers : Prior
        With a placeholder wherever a hyperparameter is learned.
    places : tuple of array of int
        For each array of `numbers`, places among the learned numbers; -1 where a number is given.
    names : tuple of str
        The hyperparameters in the order of their numbers.
    """

    hyperpriors: "dict[str, dist.Distribution]"
    numbers: Prior
    places: tuple[Any, ...]
    names: tuple[str, ...] = field(metadata={"static": True})

    def given(self, values: Mapping[str, Any]) -> Prior:
        """The prior for values of the hyperparameters.

        Parameters
        ----------
        values : mapping
            By name, arrays of shape (..., *batch shape of the hyperprior).

        Returns
        -------
        Prior
            Arrays with the leading axes of the values.
        """
        xp = jnp if any(is_jax(value) for value in values.values()) else np
        first = self.names[0]
        depth = len(self.hyperpriors[first].batch_shape)
        leading = np.shape(values[first])[: np.ndim(values[first]) - depth]
        line = xp.concatenate([xp.reshape(xp.asarray(values[name]), (*leading, -1)) for name in self.names], axis=-1)

        def fill(number: Any, place: Any) -> Any:
            return xp.where(place < 0, number, line[..., xp.maximum(place, 0)])

        leaves, structure = jax.tree.flatten(self.numbers)
        return jax.tree.unflatten(structure, map(fill, leaves, self.places))

    def draw(self, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> ModelParameters:
        """Independent draws from the prior of hyperparameters and parameters."""
        values = self.draw_hyperparameters(rng, sample_shape)
        return replace(self.given(values).draw(rng), hyperparameters=values)

    def draw_hyperparameters(self, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> dict[str, Any]:
        """Independent draws of the hyperparameters alone, by name."""
        from bayesnb.families.draw import draw

        with jax.enable_x64(True):
            return {name: np.asarray(draw(self.hyperpriors[name], rng, sample_shape)) for name in self.names}

    def sampled(self, sample: Sample) -> Prior:
        """The prior for hyperparameters that ``sample(name, distribution)`` gives one by one."""
        return self.given({name: sample(name, self.hyperpriors[name]) for name in self.names})


def sample_in_program(name: str, distribution: "dist.Distribution") -> Any:
    """A NumPyro sample of a hyperparameter, for `LearnedPrior.sampled`."""
    return numpyro.sample(name, distribution.to_event(len(distribution.batch_shape)))


def learned_prior(description: Any, schema: Schema, blocks: Sequence[Block], class_prior: ClassPrior) -> LearnedPrior:
    """The prior of a bound model as a function of the hyperparameters that it learns.

    Parameters
    ----------
    description : NaiveBayes
    schema : Schema
    blocks : sequence of Block
    class_prior : ClassPrior
        With ones in the places of the learned hyperparameters, as in the blocks.
    """
    coded = description.with_hyperparameters(placeholder_codes(description.hyperpriors))
    coded_blocks = lay_out(coded, schema, [block.columns for block in blocks])
    coded_classes = spread_class_prior(coded.class_concentration, coded.class_probs, schema.classes)
    numbers = Prior(class_prior, tuple(block.family for block in blocks))
    codes = Prior(coded_classes, tuple(block.family for block in coded_blocks))
    places = tuple(map(_place, leaves(numbers), leaves(codes)))
    return LearnedPrior(dict(description.hyperpriors), numbers, places, tuple(description.hyperpriors))


def _place(number: Any, code: Any) -> np.ndarray:
    return np.where(np.equal(number, code), -1, np.asarray(code) - FIRST_CODE).astype(np.int64)


def hyperparameter_axes(description: Any, schema: Schema) -> dict[str, tuple[tuple[str, tuple], ...]]:
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
