"""Values of a model's parameters: draws from priors, and their density."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays import to_numpy
from bayesnb.families.base import Family
from bayesnb.families.fast import draw
from bayesnb.model.class_prior import ClassPrior

__all__ = ["ModelParameters", "draw_parameters", "log_prior_density", "off_boundary"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ModelParameters:
    """Values of all parameters; any leading axes.

    Attributes
    ----------
    class_prob : array, shape (..., classes)
    blocks : tuple of dict
        For each block its parameters, shape (..., classes, columns) or (..., classes, columns, categories).
    hyperparameters : dict
        Learned hyperparameters by name, shape (..., *shape of the hyperprior); empty where all are given.
    """

    class_prob: Any
    blocks: tuple[dict[str, Any], ...]
    hyperparameters: dict[str, Any] = field(default_factory=dict)


def draw_parameters(
    class_prior: ClassPrior,
    families: Sequence[Family],
    rng: np.random.Generator,
    sample_shape: tuple[int, ...] = (),
    hyperparameters: Mapping[str, Any] | None = None,
) -> ModelParameters:
    """Independent draws of all parameters from priors (or posteriors, which have their form).

    Where the priors' arrays have leading axes, one for each value of the `hyperparameters`, so have the draws.
    """

    def sample(_: str, distribution: dist.Distribution) -> np.ndarray:
        # A distribution given a parameter already drawn has the sample shape in its batch shape.
        extra = sample_shape if len(distribution.batch_shape) <= depth else ()
        return draw(distribution, rng, extra)

    with jax.enable_x64(True):
        depth = 1
        class_prob = class_prior.prior(lambda name, distribution: draw(distribution, rng, sample_shape))
        blocks = []
        for family in families:
            leaf = np.asarray(jax.tree.leaves(family)[0])
            depth = leaf.ndim
            blocks.append(to_numpy(family.prior(sample)))
        if sample_shape:
            class_prob = np.broadcast_to(class_prob, (*sample_shape, np.shape(class_prob)[-1]))
    return ModelParameters(np.asarray(class_prob), tuple(blocks), dict(hyperparameters or {}))


def off_boundary(value: Any) -> np.ndarray:
    """A parameter's draws; those that underflowed or were rounded to one are moved to the next normal number inside.

    Every density is finite there, without a logarithm of zero or a product of zero and infinity.
    """
    limits = np.finfo(np.float64)
    return np.where(np.abs(value) < limits.tiny, limits.tiny, np.where(value == 1, 1 - limits.epsneg, value))


def log_prior_density(class_prior: ClassPrior, families: Sequence[Family], parameters: ModelParameters) -> np.ndarray:
    """Log density of all parameters under their priors, the leading shape of the parameters."""

    def score(value: Any, distribution: dist.Distribution) -> np.ndarray:
        log_density = np.asarray(distribution.log_prob(off_boundary(value)))
        leading = parameters.class_prob.shape[:-1]
        return log_density.reshape(*leading, -1).sum(axis=-1)

    with jax.enable_x64(True):
        total = np.zeros(parameters.class_prob.shape[:-1])
        if class_prior.probs is None:
            total = total + score(parameters.class_prob, dist.Dirichlet(class_prior.concentration))
        for family, values in zip(families, parameters.blocks, strict=True):

            def note(name: str, distribution: dist.Distribution, values: Mapping[str, Any] = values) -> Any:
                nonlocal total
                total = total + score(values[name], distribution)
                return values[name]

            family.prior(note)
    return total
