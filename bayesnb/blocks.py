"""The arrays behind a bound model: blocks of columns, the class prior, statistics and parameters of them all."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.arrays import log, to_numpy
from bayesnb.families.base import Family, Sample
from bayesnb.families.categorical import dirichlet_log_evidence
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.fast import draw
from bayesnb.families.log_probability import LogProbability, SampledParameters, times_log
from bayesnb.statistics.base import Statistics
from bayesnb.statistics.counts import ClassCounts

__all__ = [
    "CLASS_SITE",
    "Block",
    "ClassPrior",
    "ModelParameters",
    "ModelStatistics",
    "draw_parameters",
    "join_blocks",
    "log_evidence",
    "log_joint",
    "log_prior_density",
    "off_boundary",
    "statistics_program",
    "summed",
    "updated",
    "walk_family",
    "walk_sites",
]

CLASS_SITE = "class_prob"
"""Name of the class probabilities in results."""


@dataclass(frozen=True)
class Block:
    """Columns that one family describes, with hyperparameters of one shape.

    Attributes
    ----------
    name : str
        Name of the block, or of its column.
    family : Family
        Hyperparameters spread to (classes, columns) or (classes, columns, categories).
    columns : sequence of int
        Positions in the schema; a range where they follow each other.
    labels : tuple
        Names of the columns.
    by_column : bool
        Whether each column is a site of its own in results.
    """

    name: str
    family: Family
    columns: Sequence[int]
    labels: tuple[Any, ...]
    by_column: bool

    @property
    def is_vector(self) -> bool:
        """Whether the block's columns form one observation, a vector of counts."""
        return self.family.cell == "count vector"

    @property
    def has_categories(self) -> bool:
        """Whether the block's columns hold categories."""
        return self.family.cell == "category"

    @property
    def is_binary(self) -> bool:
        """Whether the cells are zeros and ones."""
        return self.family.cell == "number" and self.family.support is constraints.boolean

    def statistics_of_nothing(self, num_classes: int) -> Statistics:
        """Statistics of a table that has no row."""
        missing = np.full((1, len(self.columns)), 0.0 if self.is_vector else np.nan)
        return self.family.statistics(missing, np.zeros((1, num_classes)))

    @property
    def members(self) -> Sequence[int | None]:
        """What results name: each column of the block, or (None) the block as a whole."""
        return range(len(self.columns)) if self.by_column else [None]

    @property
    def group_key(self) -> Hashable:
        """Equal for blocks whose arrays may stand side by side: the same family, with fields of the same shape."""
        leaves, structure = jax.tree.flatten(self.family)
        return structure, tuple(leaf.shape[2:] for leaf in leaves)


def join_blocks(blocks: list[Block]) -> Block:
    """Several blocks as one, their columns side by side."""
    if len(blocks) == 1:
        return blocks[0]
    return Block(
        blocks[0].name,
        jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *[block.family for block in blocks]),
        tuple(column for block in blocks for column in block.columns),
        tuple(label for block in blocks for label in block.labels),
        by_column=True,
    )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ModelStatistics:
    """Sufficient statistics of a table under a model: the classes' and each block's.

    Attributes
    ----------
    classes : ClassCounts
    blocks : tuple of Statistics
    """

    classes: ClassCounts
    blocks: tuple[Statistics, ...]

    def __add__(self, other: Self) -> Self:
        blocks = tuple(mine + theirs for mine, theirs in zip(self.blocks, other.blocks, strict=True))
        return type(self)(self.classes + other.classes, blocks)

    def __sub__(self, other: Self) -> Self:
        blocks = tuple(mine - theirs for mine, theirs in zip(self.blocks, other.blocks, strict=True))
        return type(self)(self.classes - other.classes, blocks)

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.classes * factor, tuple(block * factor for block in self.blocks))


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


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ClassPrior:
    """Dirichlet prior on the class probabilities, or known probabilities.

    Attributes
    ----------
    concentration : array, shape (classes,), or None where the probabilities are known
    probs : array, shape (classes,), or None where they are learned
    """

    concentration: Any
    probs: Any

    def prior(self, sample: Callable) -> Any:
        """Draw the class probabilities, or return the known ones."""
        if self.probs is not None:
            return self.probs
        return sample(CLASS_SITE, dist.Dirichlet(self.concentration))

    def update(self, counts: ClassCounts) -> "ClassPrior":
        """Posterior given the classes' weights."""
        return self if self.probs is not None else ClassPrior(self.concentration + counts.n, None)

    def mean(self) -> Any:
        """Mean of the class probabilities, shape (classes,)."""
        if self.probs is not None:
            return self.probs
        return self.concentration / self.concentration.sum(axis=-1, keepdims=True)

    def log_likelihood(self, prob: Any, counts: ClassCounts) -> Any:
        """Log probability of the labels, shape (...,); `prob` is an array or a `LogProbability`."""
        return times_log(counts.n, prob).sum(axis=-1)

    def log_evidence(self, counts: ClassCounts) -> Any:
        """Log probability of the labels, class probabilities integrated out."""
        if self.probs is not None:
            return self.log_likelihood(self.probs, counts)
        return dirichlet_log_evidence(self.concentration, counts.n)


def updated(
    class_prior: ClassPrior, families: Sequence[Family], statistics: ModelStatistics
) -> tuple[ClassPrior, tuple[Family, ...]]:
    """Class prior and families given statistics; a family without a closed form stays as its prior."""
    given = tuple(
        family.update(counted) if isinstance(family, ConjugateFamily) else family
        for family, counted in zip(families, statistics.blocks, strict=True)
    )
    return class_prior.update(statistics.classes), given


def log_evidence(class_prior: ClassPrior, families: Sequence[Family], statistics: ModelStatistics) -> Any:
    """Log density of labels and cells, every parameter integrated out; needs conjugate families."""
    total = class_prior.log_evidence(statistics.classes)
    for family, counted in zip(families, statistics.blocks, strict=True):
        total = total + family.log_evidence(counted).sum()  # type: ignore[attr-defined]
    return total


def log_joint(class_prob: Any, densities: Iterable[Any]) -> np.ndarray:
    """Log density of each row and each class, shape (..., rows, classes), given those of its blocks."""
    return log(class_prob)[..., None, :] + summed(densities)


def summed(densities: Iterable[Any]) -> np.ndarray:
    """Sum of log densities, one of which is made at a time; a single one is itself, and not copied."""
    return reduce(np.add, map(np.asarray, densities))


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


def walk_sites(class_prior: ClassPrior, families: Sequence[Family], sample: Sample) -> None:
    """Call ``sample(site, distribution)`` for every site of `statistics_program`."""
    class_prior.prior(sample)
    for i, family in enumerate(families):
        walk_family(i, family, sample)


def walk_family(i: int, family: Family, sample: Sample) -> None:
    """Call ``sample(site, distribution)`` for every site of the family at position `i`."""
    family.prior(lambda name, distribution: sample(f"{i}.{name}", distribution))


def statistics_program(
    class_prior: ClassPrior, families: Sequence[Family], statistics: ModelStatistics, *, integrated: bool = False
) -> ModelParameters:
    """The model's density given statistics, as a NumPyro program; `NaiveBayes.program` up to a constant.

    Sites are ``class_prob`` and ``<block>.<parameter>`` with the block's position, arrays of a whole block. Where
    `integrated`, all parameters that have a closed form are integrated out and have no site. A sampler may set a
    probability's site to a `LogProbability`, whose logarithms the families' log likelihood then takes. Returns the
    values of the sites.
    """
    class_prob = None
    blocks: list[dict[str, Any]] = []
    if integrated:
        numpyro.factor("classes", class_prior.log_evidence(statistics.classes))
    else:
        drawn = class_prior.prior(numpyro.sample)
        numpyro.factor("classes", class_prior.log_likelihood(drawn, statistics.classes))
        class_prob = jnp.asarray(drawn.prob if isinstance(drawn, LogProbability) else drawn)
    for i, (family, counted) in enumerate(zip(families, statistics.blocks, strict=True)):
        if integrated and isinstance(family, ConjugateFamily):
            numpyro.factor(f"{i}", family.log_evidence(counted).sum())
            blocks.append({})
            continue
        logs: dict[str, LogProbability] = {}

        def sample(name: str, distribution: dist.Distribution, i: int = i, logs: dict[str, Any] = logs) -> Any:
            value = numpyro.sample(f"{i}.{name}", distribution.to_event(len(distribution.batch_shape)))
            if isinstance(value, LogProbability):
                logs[name] = value
                return value.prob
            return value

        values = family.prior(sample)
        numpyro.factor(f"{i}", family.log_likelihood(SampledParameters(values, logs), counted).sum())
        blocks.append(values)
    return ModelParameters(class_prob, tuple(blocks))
