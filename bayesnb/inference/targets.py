"""The densities that NUTS samples: of all parameters, or of the hyperparameters alone if parameters have a closed form.

Missing labels are never sampled, but summed out. No parameter then has a closed form.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.special import logsumexp

from bayesnb.core.arrays import dense, in_float64
from bayesnb.families.base import Family, JointFamily, Parameters, Sample, filled_cells, parameter_names
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.inference.em import chain_quantiles, first_responsibilities
from bayesnb.inference.move import Beginning, Walks, begin
from bayesnb.model.blocks import CLASS_SITE, Block, ModelParameters, ModelStatistics, Prior
from bayesnb.model.prior import LearnedPrior, sample_in_program
from bayesnb.model.problem import Problem

TEMPERATURE = 0.1
"""Chains start at draws from the posterior given a tenth of the data's weight: near, and spread wider than the
target."""


class Samplable(ABC):
    """What NUTS needs: a density as a NumPyro program, and where to start on it.

    Attributes
    ----------
    program : callable
        One object for all densities of its kind, so that compiled code is used again.
    knows_scale : bool
        Whether the scale of every site is known, so that warm-up adapts only the step size.
    """

    program: Callable
    knows_scale: bool = False

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

    @abstractmethod
    def begin(self, rng: np.random.Generator, number: int) -> Beginning:
        """The coordinates of the sites, the first points of the chains, and the scale."""


def _program(prior: Prior | LearnedPrior, statistics: ModelStatistics, *unlabelled: Any) -> None:
    r"""The density of parameters and learned hyperparameters given labelled and unlabelled rows.

    The factor of an unlabelled row is :math:`\log \sum_c \pi_c \prod_j p(x_{ij} \mid \theta_{cj})`. If hyperparameters
    are learned and every row has a label, parameters with a closed form are integrated out.

    Parameters
    ----------
    prior, statistics
        As for `Prior.program`.
    *unlabelled
        Where rows have no label, what `_cells_of` gives for each block, and weights of shape (rows,).
    """
    given = prior.sampled(sample_in_program) if isinstance(prior, LearnedPrior) else prior
    parameters = given.program(statistics, integrated=isinstance(prior, LearnedPrior) and not unlabelled)
    if unlabelled:
        rows, weights = unlabelled
        joint = jnp.log(parameters.class_prob)
        for family, values, (cells, observed) in zip(given.families, parameters.blocks, rows, strict=True):
            joint = joint + _row_log_density(family, values, cells, observed)
        numpyro.factor("unlabelled", weights @ logsumexp(joint, axis=-1))


def _row_log_density(family: Family, values: Parameters, cells: Any, observed: Any) -> Any:
    """Log density of each row under each class, shape (rows, classes)."""
    if isinstance(family, JointFamily):
        return family.row_log_likelihood(values, jnp.asarray(cells))
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


class Target(Samplable):
    """The posterior density of a problem, and how its draws become parameters.

    Attributes
    ----------
    problem : Problem
    """

    program: Callable = staticmethod(_program)

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.model = problem.resolved
        self._prior = self.model.learned if self.model.hyperpriors else self.model.prior
        self._integrated = bool(self.model.hyperpriors) and problem.unlabelled is None
        self.knows_scale = problem.model.conjugate and problem.unlabelled is None and not self.model.hyperpriors

    def _arguments(self) -> tuple[Any, ...]:
        rows = self.problem.unlabelled
        if rows is None:
            return self._prior, self.problem.statistics
        cells = tuple(_cells_of(block, x) for block, x in zip(self.model.blocks, rows.blocks, strict=True))
        return self._prior, self.problem.statistics, cells, rows.weights

    def begin(self, rng: np.random.Generator, number: int) -> Beginning:
        """As `Samplable.begin`, at the closed form given the statistics; the first start gives the scale."""
        labelled = self.problem.statistics
        starts = self._with_first_labels(rng, number)
        prior, posterior, of_labelled = (partial(self._walk, given) for given in (None, starts[0], labelled))
        walks = Walks(prior, posterior, of_labelled, [partial(self._walk, start * TEMPERATURE) for start in starts])
        pairs = [(i, family) for i, family in enumerate(self.model.families) if isinstance(family, ConjugateFamily)]
        closed = {f"{i}.{name}" for i, family in pairs for name in parameter_names(family)}
        return begin(walks, {CLASS_SITE, *closed}, rng, number)

    def _with_first_labels(self, rng: np.random.Generator, number: int) -> Sequence[ModelStatistics]:
        """Statistics of all rows near an optimum: for all chains, or for each."""
        labelled, rows = self.problem.statistics, self.problem.unlabelled
        if rows is None:
            return [labelled]
        # Every class with a labelled row leaves one start. Else each chain has its own.
        quantiles = chain_quantiles(number if (labelled.classes.n == 0).any() else 1)
        memberships = [first_responsibilities(self.problem, rng, quantile) for quantile in quantiles]
        return [labelled + rows.count(self.model, membership * rows.weights[:, None]) for membership in memberships]

    def _walk(self, statistics: ModelStatistics | None, sample: Sample) -> None:
        """Call ``sample(site, distribution)`` for every site, given statistics."""
        prior = self._prior.sampled(sample) if isinstance(self._prior, LearnedPrior) else self._prior
        if statistics is not None and not self._integrated:
            prior = prior.update(statistics)
        prior.walk(sample, integrated=self._integrated)

    @in_float64
    def parameters(self, sites: dict[str, np.ndarray], rng: np.random.Generator) -> ModelParameters:
        """The parameters behind draws by site, leading axes (chain, draw); those integrated out are drawn here."""
        values = {name: sites[name] for name in self.model.hyperpriors}
        if self._integrated:
            after = self.model.learned.given(values).update(self.problem.statistics)
            drawn = after.draw(rng)
            own = (
                {name: sites.get(f"{i}.{name}", draws) for name, draws in block.items()}
                for i, block in enumerate(drawn.blocks)
            )
            return replace(drawn, blocks=tuple(own), hyperparameters=values)
        known, leading = self.model.class_prior.probs, next(iter(sites.values())).shape[:2]
        class_prob = sites[CLASS_SITE] if known is None else np.broadcast_to(known, (*leading, len(known)))
        families = enumerate(self.model.families)
        blocks = ({name: sites[f"{i}.{name}"] for name in parameter_names(family)} for i, family in families)
        return ModelParameters(class_prob, tuple(blocks), values)
