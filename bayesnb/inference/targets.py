"""The densities that NUTS samples: of all parameters, or of the hyperparameters alone if parameters have a closed form.

Missing labels are never sampled, but summed out. No parameter then has a closed form.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.special import logsumexp

from bayesnb.core.arrays import dense, in_float64
from bayesnb.families.base import Family, Parameters, Sample, filled_cells
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.inference.em import chain_quantiles, first_responsibilities
from bayesnb.inference.gibbs import relabel
from bayesnb.inference.move import Beginning, Walks, begin
from bayesnb.model.blocks import CLASS_SITE, Block, ModelParameters, ModelStatistics, Prior
from bayesnb.model.prior import LearnedPrior, learned_program, sample_in_program
from bayesnb.model.problem import Problem
from bayesnb.posterior.kinds import CollapsedPosterior, SampledPosterior

__all__ = ["Samplable", "target_of"]

Sites = dict[str, np.ndarray]
"""Arrays by site of a program, or by name."""

TEMPERATURE = 0.1
"""Chains start at draws from the posterior given a tenth of the data's weight: near, and spread wider than the
target."""


class Samplable(Protocol):
    """What NUTS needs: a density as a NumPyro program, and where to start on it.

    Attributes
    ----------
    program : callable
        One object for all densities of its kind, so that compiled code is used again.
    arguments : tuple
        Arguments of the program, numbers in float64.
    knows_scale : bool
        Whether the scale of every site is known, so that warm-up adapts only the step size.
    """

    @property
    def program(self) -> Callable: ...

    @property
    def arguments(self) -> tuple[Any, ...]: ...

    @property
    def knows_scale(self) -> bool: ...

    def begin(self, rng: np.random.Generator, number: int) -> Beginning:
        """The coordinates of the sites, the first points of the chains, and the scale."""


class Target(ABC):
    """A density as a NumPyro program, where to start on it, and how its draws become parameters.

    Attributes
    ----------
    problem : Problem
    program : callable
        The program; one object for all problems of its kind, so that compiled code is used again.
    """

    program: Callable

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.model = problem.resolved

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Arguments of the program, numbers in float64."""

        def convert(leaf: Any) -> Any:
            array = np.asarray(leaf)
            # JAX's asarray compiles a program for each shape.
            return jax.device_put(array.astype(np.float64) if np.issubdtype(array.dtype, np.floating) else array)

        return jax.tree.map(convert, self._arguments())

    @abstractmethod
    def _arguments(self) -> tuple[Any, ...]: ...

    @property
    @abstractmethod
    def knows_scale(self) -> bool:
        """Whether the closed form gives the scale of every parameter, so that warm-up adapts only the step size."""

    @abstractmethod
    def begin(self, rng: np.random.Generator, number: int) -> Beginning:
        """The coordinates of the sites, the first points of the chains, and the scale."""

    @abstractmethod
    def posterior(
        self,
        sites: Sites,
        sample_stats: Sites,
        rng: np.random.Generator,
        inference: Any,
    ) -> SampledPosterior:
        """The posterior behind draws by site, leading axes (chain, draw)."""


class _Parameters(Target):
    """All parameters, on the statistics."""

    program: Callable = staticmethod(Prior.program)

    def _arguments(self) -> tuple[Any, ...]:
        return self.model.prior, self.problem.statistics

    @property
    def knows_scale(self) -> bool:
        return self.problem.conjugate

    def begin(self, rng: np.random.Generator, number: int) -> Beginning:
        return self._begin([self.problem.statistics], rng, number)

    def _begin(self, starts: Sequence[ModelStatistics], rng: np.random.Generator, number: int) -> Beginning:
        """Begin at the closed form given these statistics; the first of them give the coordinates and the scale."""
        prior, posterior, labelled = (partial(self._walk, part) for part in (None, starts[0], self.problem.statistics))
        walks = Walks(prior, posterior, labelled, [partial(self._walk, start * TEMPERATURE) for start in starts])
        pairs = [(i, family) for i, family in enumerate(self.model.families) if isinstance(family, ConjugateFamily)]
        closed = {f"{i}.{name}" for i, family in pairs for name in family.parameter_names()}
        return begin(walks, {CLASS_SITE, *closed}, rng, number)

    def _walk(self, statistics: ModelStatistics | None, sample: Sample) -> None:
        """Call ``sample(site, distribution)`` for every site, given statistics."""
        prior = self.model.prior
        (prior if statistics is None else prior.update(statistics)).walk(sample)

    def posterior(
        self,
        sites: Sites,
        sample_stats: Sites,
        rng: np.random.Generator,
        inference: Any,
    ) -> SampledPosterior:
        leading = next(iter(sites.values())).shape[:2]
        blocks = tuple(
            {name: sites[f"{i}.{name}"] for name in family.parameter_names()}
            for i, family in enumerate(self.model.families)
        )
        known = self.model.class_prior.probs
        class_prob = sites[CLASS_SITE] if known is None else np.broadcast_to(known, (*leading, len(known)))
        return SampledPosterior(self.problem, self.model, ModelParameters(class_prob, blocks), sample_stats, inference)


def unlabelled_program(
    prior: Prior,
    statistics: ModelStatistics,
    rows: Sequence[tuple[Any, Any]],
    weights: Any,
) -> None:
    r"""The density of parameters given labelled and unlabelled rows, the missing labels summed out.

    The factor of an unlabelled row is :math:`\log \sum_c \pi_c \prod_j p(x_{ij} \mid \theta_{cj})`.

    Parameters
    ----------
    prior, statistics
        As for `Prior.program`.
    rows : sequence of tuple
        For each block what `_cells_of` gives.
    weights : array, shape (rows,)
    """
    parameters = prior.program(statistics)
    joint = jnp.log(parameters.class_prob)
    for family, values, (cells, observed) in zip(prior.families, parameters.blocks, rows, strict=True):
        joint = joint + _row_log_density(family, values, cells, observed)
    numpyro.factor("unlabelled", weights @ logsumexp(joint, axis=-1))


def _row_log_density(family: Family, values: Parameters, cells: Any, observed: Any) -> Any:
    """Log density of each row under each class, shape (rows, classes)."""
    if family.joint:
        return family.device_log_likelihood(values, cells)
    spread = {name: value[None] for name, value in values.items()}
    log_density = family.likelihood(**spread).log_prob(cells[:, None])
    return jnp.where(observed[:, None], log_density, 0.0).sum(axis=-1)


def _cells_of(block: Block, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """Cells of rows, and which of them are observed; a joint family takes NaN for the missing ones itself."""
    cells = dense(x)
    if block.is_joint:
        return cells, ~np.isnan(cells)
    observed, cells = filled_cells(block.family, cells)
    return cells.astype(np.int64) if block.has_categories else cells, observed


class _Mixture(_Parameters):
    """All parameters, on the statistics of the labelled rows and on the other rows."""

    program: Callable = staticmethod(unlabelled_program)

    def _arguments(self) -> tuple[Any, ...]:
        rows = self.problem.unlabelled
        assert rows is not None
        cells = tuple(_cells_of(block, x) for block, x in zip(self.model.blocks, rows.blocks, strict=True))
        return *super()._arguments(), cells, rows.weights

    knows_scale = False

    def begin(self, rng: np.random.Generator, number: int) -> Beginning:
        rows = self.problem.unlabelled
        assert rows is not None
        # Every class with a labelled row leaves one start. Else each chain has its own.
        quantiles = chain_quantiles(number if (self.problem.statistics.classes.n == 0).any() else 1)
        memberships = (first_responsibilities(self.problem, rng, quantile) for quantile in quantiles)
        counted = [rows.count(self.model, membership * rows.weights[:, None]) for membership in memberships]
        return self._begin([self.problem.statistics + of_rows for of_rows in counted], rng, number)

    def posterior(
        self,
        sites: Sites,
        sample_stats: Sites,
        rng: np.random.Generator,
        inference: Any,
    ) -> SampledPosterior:
        drawn = super().posterior(sites, sample_stats, rng, inference).parameters
        named = relabel(self.problem, drawn, sample_stats["lp"])
        return SampledPosterior(self.problem, self.model, named, sample_stats, inference)


def learned_unlabelled_program(
    prior: LearnedPrior, statistics: ModelStatistics, rows: Sequence[tuple[Any, Any]], weights: Any
) -> None:
    """The density of hyperparameters and parameters given labelled and unlabelled rows; see `unlabelled_program`."""
    unlabelled_program(prior.sampled(sample_in_program), statistics, rows, weights)


class _LearnedMixture(_Mixture):
    """All hyperparameters and parameters, on the statistics of the labelled rows and on the other rows."""

    program = staticmethod(learned_unlabelled_program)

    def _arguments(self) -> tuple[Any, ...]:
        _, *rest = super()._arguments()
        return self.model.learned, *rest

    def _walk(self, statistics: ModelStatistics | None, sample: Sample) -> None:
        prior = self.model.learned.sampled(sample)
        (prior if statistics is None else prior.update(statistics)).walk(sample)

    def posterior(
        self,
        sites: Sites,
        sample_stats: Sites,
        rng: np.random.Generator,
        inference: Any,
    ) -> SampledPosterior:
        drawn = super().posterior(sites, sample_stats, rng, inference)
        values = {name: sites[name] for name in self.model.learned.names}
        parameters = replace(drawn.parameters, hyperparameters=values)
        return SampledPosterior(self.problem, self.model, parameters, sample_stats, inference)


class _Hyperparameters(Target):
    """The learned hyperparameters, and the parameters that have no closed form given them."""

    program = staticmethod(learned_program)

    def _arguments(self) -> tuple[Any, ...]:
        return self.model.learned, self.problem.statistics

    @cached_property
    def _sampled_blocks(self) -> list[int]:
        return [i for i, family in enumerate(self.model.families) if not isinstance(family, ConjugateFamily)]

    knows_scale = False

    def begin(self, rng: np.random.Generator, number: int) -> Beginning:
        def prior(sample: Sample) -> None:
            self.model.learned.sampled(sample).walk(sample, integrated=True)

        return begin(Walks(prior, prior, prior, [prior]), (), rng, number)

    @in_float64
    def posterior(
        self,
        sites: Sites,
        sample_stats: Sites,
        rng: np.random.Generator,
        inference: Any,
    ) -> SampledPosterior:
        values = {name: sites[name] for name in self.model.learned.names}
        drawn = self.model.learned.given(values).update(self.problem.statistics).draw(rng, hyperparameters=values)
        blocks = tuple(
            {name: sites[f"{i}.{name}"] for name in block} if i in self._sampled_blocks else block
            for i, block in enumerate(drawn.blocks)
        )
        parameters = ModelParameters(drawn.class_prob, blocks, values)
        kind = SampledPosterior if self._sampled_blocks else CollapsedPosterior
        return kind(self.problem, self.model, parameters, sample_stats, inference)


def target_of(problem: Problem) -> Target:
    """The density that NUTS samples for a problem."""
    if problem.unlabelled is not None:
        return _LearnedMixture(problem) if problem.model.hyperpriors else _Mixture(problem)
    return _Hyperparameters(problem) if problem.model.hyperpriors else _Parameters(problem)
