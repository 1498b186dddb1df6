"""The density of a model: of rows given the class, and of parameters given statistics."""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.arrays import log
from bayesnb.blocks.class_prior import ClassPrior
from bayesnb.blocks.parameters import ModelParameters, draw_from_prior, require_prior_shape
from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.families.base import Family, Sample
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.log_probability import LogProbability, SampledParameters

__all__ = ["log_joint", "statistics_program", "summed", "walk_family", "walk_sites"]


def log_joint(class_prob: Any, densities: Iterable[Any]) -> np.ndarray:
    """Log density of each row and each class, shape (..., rows, classes), given those of its blocks."""
    return log(class_prob)[..., None, :] + summed(densities)


def summed(densities: Iterable[Any]) -> np.ndarray:
    """Sum of log densities, computed one at a time. A single term is returned without a copy."""
    return reduce(np.add, map(np.asarray, densities))


def walk_sites(class_prior: ClassPrior, families: Sequence[Family], sample: Sample) -> None:
    """Call ``sample(site, distribution)`` for every site of `statistics_program`."""
    class_prior.prior(sample)
    for i, family in enumerate(families):
        walk_family(i, family, sample)


def walk_family(i: int, family: Family, sample: Sample) -> None:
    """Call ``sample(site, distribution)`` for every site of the family at position `i`."""

    def checked(name: str, distribution: dist.Distribution) -> Any:
        require_prior_shape(family, name, distribution)
        return sample(f"{i}.{name}", distribution)

    draw_from_prior(family, checked)


def statistics_program(
    class_prior: ClassPrior, families: Sequence[Family], statistics: ModelStatistics, *, integrated: bool = False
) -> ModelParameters:
    """The model's density given statistics, as a NumPyro program; `NaiveBayes.program` up to a constant.

    Sites are ``class_prob`` and ``<block>.<parameter>`` with the block's position, arrays of a whole block. Where
    `integrated`, all parameters that have a closed form are integrated out and have no site. A sampler may set a
    probability's site to a `LogProbability`, whose logarithms the families' log likelihood then uses. Returns the
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

        values = draw_from_prior(family, sample)
        numpyro.factor(f"{i}", family.log_likelihood(SampledParameters(values, logs), counted).sum())
        blocks.append(values)
    return ModelParameters(class_prob, tuple(blocks))
