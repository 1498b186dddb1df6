"""Hyperparameters that are themselves learned: a distribution where a number may stand.

A model's arrays are laid out by `Family.spread`, which knows numbers only. So the layout is found once, by spreading
places instead of values; from then on the arrays for any values of the hyperparameters are a look-up, with NumPy or
under JAX, whatever leading axes the values have.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.blocks import (
    ClassPrior,
    ModelParameters,
    ModelStatistics,
    draw_parameters,
    statistics_program,
    walk_family,
)
from bayesnb.families.base import Family, Sample
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.fast import draw

__all__ = [
    "LearnedPrior",
    "learned_program",
    "placeholder",
    "placeholder_codes",
    "sample_hyperparameters",
    "walk_learned",
]

FIRST_CODE = 2.0
"""Places are numbered from here; one stands for every learned hyperparameter in the arrays beside them."""


def placeholder(distribution: dist.Distribution) -> np.ndarray:
    """A value that any hyperparameter may have, to stand for one that is learned."""
    return np.ones(distribution.batch_shape)


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

    @classmethod
    def of(
        cls,
        hyperpriors: Mapping[str, dist.Distribution],
        numbers: tuple[ClassPrior, tuple[Family, ...]],
        codes: tuple[ClassPrior, tuple[Family, ...]],
    ) -> "LearnedPrior":
        """Find the places of learned hyperparameters.

        Parameters
        ----------
        hyperpriors : mapping
        numbers : tuple of ClassPrior and tuple of Family
            With `placeholder` in place of every hyperprior.
        codes : tuple of ClassPrior and tuple of Family
            With `placeholder_codes`.
        """

        def place(number: Any, code: Any) -> np.ndarray:
            return np.where(np.equal(number, code), -1, np.asarray(code) - FIRST_CODE).astype(np.int64)

        places = map(place, jax.tree.leaves(numbers), jax.tree.leaves(codes))
        return cls(dict(hyperpriors), *numbers, tuple(places), tuple(hyperpriors))

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
