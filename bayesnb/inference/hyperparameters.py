"""Draws of learned hyperparameters given statistics, the parameters integrated out."""

import math
from dataclasses import replace
from functools import cached_property
from operator import itemgetter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions import biject_to

from bayesnb.arrays import to_numpy
from bayesnb.blocks.class_prior import ClassPrior
from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.families.base import Family
from bayesnb.families.compiled import compiled
from bayesnb.families.draw import draw
from bayesnb.inference.coordinates.base import unconstrained
from bayesnb.model.bound import BoundModel
from bayesnb.problem import Problem
from bayesnb.statistics.counts import ClassCounts

__all__ = ["ChainHyperparameters"]

WIDTH = 3.0
"""Width of the interval in which a slice is searched, in the unconstrained coordinate: of a positive number, a factor
of twenty."""


class ChainHyperparameters:
    """The learned hyperparameters of each chain.

    They move by slice sampling (Neal 2003, *Annals of Statistics* 31(3), 705-767). The density is that of the
    hyperpriors times the evidence of the statistics, in unconstrained coordinates, all hyperparameters of a chain in
    one line. A sweep moves one number after another, and then all numbers together, because the concentrations of a
    Dirichlet distribution vary together. Nothing needs tuning.

    Given the statistics, classes depend on each other only through hyperparameters that they share. Where they share
    none, the numbers of all classes move side by side.

    Parameters
    ----------
    model : BoundModel
        Its families are conjugate. It may learn no hyperparameter.
    num_chains : int
    rng : numpy.random.Generator
        For the hyperparameters at the start, draws from the hyperpriors.
    """

    def __init__(self, model: BoundModel, num_chains: int, rng: np.random.Generator) -> None:
        self._model = model
        self._hyperpriors = tuple(model.hyperpriors.values())
        drawn = [draw(prior, rng, (num_chains,)) for prior in self._hyperpriors]
        self._line = np.concatenate(
            [np.zeros((num_chains, 0))]
            + [
                np.reshape(compiled(unconstrained, prior.support, value), (num_chains, -1))
                for prior, value in zip(self._hyperpriors, drawn, strict=True)
            ],
            axis=1,
        )

    @property
    def values(self) -> dict[str, np.ndarray]:
        """The hyperparameters by name, leading axis the chain."""
        return self._at(self._line)[0]

    def priors(self) -> tuple[ClassPrior, tuple[Family, ...]]:
        """Class prior and families of all chains, leading axis the chain."""
        if not self._hyperpriors:
            return self._same_for_all
        return self._model.learned.given(self.values)

    @cached_property
    def _same_for_all(self) -> tuple[ClassPrior, tuple[Family, ...]]:
        number = len(self._line)
        prior = self._model.class_prior, self._model.families
        return jax.tree.map(lambda leaf: np.broadcast_to(leaf, (number, *np.shape(leaf))), prior)

    def with_numbers(self, problem: Problem) -> list[Problem]:
        """The problem with the hyperparameters of each chain in place of the hyperpriors."""
        if not self._hyperpriors:
            return [problem] * len(self._line)
        return [
            replace(problem, model=problem.model.with_hyperparameters(jax.tree.map(itemgetter(s), self.values)))
            for s in range(len(self._line))
        ]

    def move(self, statistics: ModelStatistics, rng: np.random.Generator) -> None:
        """Move all hyperparameters once, given statistics whose class axis holds the classes of all chains."""
        if not self._hyperpriors:
            return
        for moved in self._moves:
            self._line = self._slice(self._line, moved, statistics, rng)

    def _slice(
        self, line: np.ndarray, moved: np.ndarray, statistics: ModelStatistics, rng: np.random.Generator
    ) -> np.ndarray:
        """A draw from the density along some of the numbers, by one shift for each chain and each owner."""
        height = self._log_density(line, statistics)
        height = height - rng.exponential(size=height.shape)
        lower = -WIDTH * rng.uniform(size=height.shape)
        upper = lower + WIDTH
        shift, found = np.zeros(height.shape), np.zeros(height.shape, dtype=bool)
        while not found.all():
            shift = np.where(found, shift, rng.uniform(lower, upper))
            proposal = line + moved * shift[:, self._owner]
            found |= self._log_density(proposal, statistics) >= height
            lower = np.where(shift < 0, shift, lower)
            upper = np.where(shift < 0, upper, shift)
        return proposal

    def _log_density(self, line: np.ndarray, statistics: ModelStatistics) -> np.ndarray:
        """Log density of the numbers of each owner, shape (chains, owners); -inf where it overflows."""
        values, of_numbers = self._at(line)
        class_prior, families = self._model.learned.given(values)
        # The families get one class axis with the classes of all chains, as the statistics have it.
        flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), families)
        evidence = sum(
            np.asarray(family.log_evidence(counted)).sum(axis=-1)
            for family, counted in zip(flat, statistics.blocks, strict=True)
        )
        by_class = np.reshape(evidence, (len(line), -1))
        if self._num_owners == 1:
            of_labels = class_prior.log_evidence(ClassCounts(statistics.classes.n.reshape(by_class.shape)))
            by_class = (by_class.sum(axis=1) + of_labels)[:, None]
        total = of_numbers @ np.eye(self._num_owners)[self._owner] + by_class
        return np.where(np.isnan(total), -np.inf, total)

    def _at(self, line: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Hyperparameters by name, and the log density of each number of the line."""
        if not self._hyperpriors:
            return {}, line
        values, of_numbers = to_numpy(_constrained(self._hyperpriors, line))
        return dict(zip(self._model.hyperpriors, values, strict=True)), of_numbers

    @property
    def _num_owners(self) -> int:
        return int(self._owner.max()) + 1

    @cached_property
    def _owner(self) -> np.ndarray:
        """Class that each number belongs to, shape (numbers,); all zero if classes share a number."""
        learned, size = self._model.learned, self._line.shape[1]
        alone = np.zeros(size, dtype=np.int64)
        of_class_prior = len(jax.tree.leaves(learned.class_prior))
        if any((places >= 0).any() for places in learned.places[:of_class_prior]):
            return alone
        found = np.full(size, -1)
        for places in learned.places[of_class_prior:]:
            for c, of_class in enumerate(places):
                numbers = np.unique(of_class[of_class >= 0])
                if not np.isin(found[numbers], (-1, c)).all():
                    return alone
                found[numbers] = c
        return np.maximum(found, 0)

    @cached_property
    def _moves(self) -> list[np.ndarray]:
        """Which numbers move at a time, each of shape (numbers,)."""
        rank = np.array([np.count_nonzero(self._owner[:k] == owner) for k, owner in enumerate(self._owner)])
        moves = [rank == r for r in range(rank.max() + 1)]
        return moves if len(moves) == 1 else [*moves, np.ones(len(rank), dtype=bool)]


@jax.jit
def _constrained(hyperpriors: tuple[Any, ...], line: Any) -> tuple[list[Any], Any]:
    """Hyperparameters from a line of unconstrained numbers, and the log density of each number under its hyperprior."""
    values, densities, start = [], [], 0
    for prior in hyperpriors:
        size = math.prod(prior.batch_shape)
        free = line[..., start : start + size].reshape(*line.shape[:-1], *prior.batch_shape)
        start += size
        transform = biject_to(prior.support)
        value = transform(free)
        density = prior.log_prob(value) + transform.log_abs_det_jacobian(free, value)
        values.append(value)
        densities.append(density.reshape(*line.shape[:-1], size))
    return values, jnp.concatenate(densities, axis=-1)
