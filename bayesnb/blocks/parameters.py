"""Values of the parameters of a model, draws of them, and their density under the prior."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays import in_float64, to_numpy
from bayesnb.blocks.class_prior import ClassPrior
from bayesnb.families.base import Family, Sample
from bayesnb.families.draw import draw
from bayesnb.families.log_prob import log_prob

__all__ = [
    "ModelParameters",
    "draw_from_prior",
    "draw_parameters",
    "log_prior_density",
    "off_boundary",
    "prior_densities",
    "require_prior_shape",
]

PIECE = 250
"""Draws whose densities under the prior are computed at a time."""


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

    If the priors' arrays have leading axes (one entry for each value of the `hyperparameters`), the draws have them
    too.
    """

    def sample(name: str, distribution: dist.Distribution) -> np.ndarray:
        # A distribution given a parameter already drawn has the sample shape in its batch shape.
        extra = sample_shape if len(distribution.batch_shape) <= ranks.get(name, depth) else ()
        require_prior_shape(family, name, distribution)
        return draw(distribution, rng, extra)

    with jax.enable_x64(True):
        class_prob = class_prior.prior(lambda name, distribution: draw(distribution, rng, sample_shape))
        blocks = []
        for family in families:
            leaf = np.asarray(jax.tree.leaves(family)[0])
            depth = leaf.ndim
            ranks = _batch_ranks(family) if family.joint else {}
            blocks.append(to_numpy(draw_from_prior(family, sample)))
        if sample_shape:
            class_prob = np.broadcast_to(class_prob, (*sample_shape, np.shape(class_prob)[-1]))
    return ModelParameters(np.asarray(class_prob), tuple(blocks), dict(hyperparameters or {}))


def _batch_ranks(family: Family) -> dict[str, int]:
    """Number of batch axes of each parameter's distribution, given one value of the parameters drawn before it.

    A joint family may draw vectors and matrices, one for each class, whose distributions have no batch axis of columns.
    """
    ranks = {}
    rng = np.random.default_rng(0)

    def note(name: str, distribution: dist.Distribution) -> np.ndarray:
        ranks[name] = len(distribution.batch_shape)
        return draw(distribution, rng)

    family.take(slice(0, 1)).prior(note)
    return ranks


def draw_from_prior(family: Family, sample: Sample) -> dict[str, Any]:
    """What the family's `prior` gives: its parameters by name.

    Raises
    ------
    TypeError
        If `prior` does not give a dict with the names that it draws, which are those of the likelihood's arguments.
    """
    names = sorted(family.parameter_names())

    def require(it_is_so: bool, what: str) -> None:
        if not it_is_so:
            raise TypeError(
                f"prior of {type(family).__name__} {what}: draw and return a dict of the likelihood's arguments, "
                f"{names}, "
                'as in return {"rate": sample("rate", distribution)}'
            )

    def checked(name: str, distribution: dist.Distribution) -> Any:
        require(name in names, f"draws {name!r}")
        return sample(name, distribution)

    values = family.prior(checked)
    require(isinstance(values, dict), f"returns an object of the class {type(values).__name__}")
    require(sorted(values) == names, f"returns {sorted(values)}")
    return values


def require_prior_shape(family: Family, name: str, distribution: dist.Distribution) -> None:
    """Raise an error if a prior gives several classes or columns one parameter.

    Parameters
    ----------
    family : Family
        With arrays for hyperparameters.
    name : str
        Name of the parameter.
    distribution : numpyro.distributions.Distribution
        What the family's `prior` draws it from. If parameters were drawn before it, its shape begins with their draws.

    Raises
    ------
    ValueError
        If the distribution's shape does not hold that of the hyperparameters, (classes, columns).
    """
    fields = np.shape(jax.tree.leaves(family)[0])
    expected = fields[:-1] if family.cell == "category" else fields
    found, size = tuple(distribution.shape()), len(expected)
    if expected not in {found[start : start + size] for start in range(len(found))}:
        raise ValueError(
            f"the prior of {type(family).__name__} draws {name!r} from {type(distribution).__name__} of shape "
            f"{found}, where each class and column needs a parameter of its own, in the shape {expected} of the "
            "fields: give the distribution the shape of a field, .expand(jnp.shape(self.FIELD))"
        )


def off_boundary(value: Any) -> np.ndarray:
    """Draws of a parameter; values that underflowed or were rounded to one become the next number inside the support.

    Every density is finite there, without a logarithm of zero or a product of zero and infinity.
    """
    limits = np.finfo(np.float64)
    return np.where(np.abs(value) < limits.tiny, limits.tiny, np.where(value == 1, 1 - limits.epsneg, value))


def log_prior_density(class_prior: ClassPrior, families: Sequence[Family], parameters: ModelParameters) -> np.ndarray:
    """Log density of all parameters under their priors, the leading shape of the parameters."""
    leading = parameters.class_prob.shape[:-1]
    of_classes, of_blocks = prior_densities(class_prior, families, parameters)
    total = np.zeros(leading) if of_classes is None else of_classes
    for density in (density for block in of_blocks for density in block.values()):
        total = total + density.reshape(*leading, -1).sum(axis=-1)
    return total


@in_float64
def prior_densities(
    class_prior: ClassPrior, families: Sequence[Family], parameters: ModelParameters
) -> tuple[np.ndarray | None, tuple[dict[str, np.ndarray], ...]]:
    """Log density of each parameter under its prior.

    Parameters
    ----------
    class_prior, families
        If hyperparameters are learned, their arrays have the parameters' leading axes.
    parameters : ModelParameters

    Returns
    -------
    tuple of array and tuple of dict
        That of the class probabilities, None where they are known. For each block those of its parameters, with the
        parameters' leading axes and the batch shape of the distribution.
    """
    leading = parameters.class_prob.shape[:-1]
    learned = np.ndim(jax.tree.leaves(class_prior)[0]) > 1
    of_classes = None
    if class_prior.probs is None:
        of_classes = _in_pieces(_log_class_prior, class_prior, parameters.class_prob, leading, learned)
    pairs = zip(families, parameters.blocks, strict=True)
    return of_classes, tuple(_in_pieces(_log_priors, family, values, leading, learned) for family, values in pairs)


def _in_pieces(density: Callable[..., Any], prior: Any, values: Any, leading: tuple[int, ...], learned: bool) -> Any:
    """A density of values under a prior, computed for `PIECE` draws at a time, which bounds the memory."""
    number = math.prod(leading)

    def flat(leaf: Any) -> np.ndarray:
        return np.reshape(leaf, (number, *np.shape(leaf)[len(leading) :]))

    values = jax.tree.map(flat, values)
    prior = jax.tree.map(flat, prior) if learned else prior
    found = []
    for start in range(0, number, PIECE):
        piece = itemgetter(slice(start, start + PIECE))
        of_piece = jax.tree.map(piece, prior) if learned else prior
        found.append(density(of_piece, jax.tree.map(piece, values)))
    return jax.tree.map(lambda *of: np.concatenate(of).reshape((*leading, *of[0].shape[1:])), *found)


def _log_class_prior(class_prior: ClassPrior, class_prob: Any) -> np.ndarray:
    """Log density of class probabilities."""
    return log_prob(dist.Dirichlet(class_prior.concentration), off_boundary(class_prob))


def _log_priors(family: Family, values: dict[str, Any]) -> dict[str, np.ndarray]:
    """Log density of each parameter of a block; none of parameters that classes may share."""
    if family.couples_classes:
        return {}
    found: dict[str, np.ndarray] = {}

    def note(name: str, distribution: dist.Distribution) -> Any:
        found[name] = log_prob(distribution, off_boundary(values[name]))
        return values[name]

    family.prior(note)
    return found
