"""Mutual information of a posterior's parameters: at their mean, and averaged over draws."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from bayesnb.blocks.block import Block
from bayesnb.blocks.class_prior import ClassPrior
from bayesnb.blocks.parameters import draw_parameters
from bayesnb.densities_under_draws import flatten
from bayesnb.families.base import Family, Parameters
from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.information import PIECE_CELLS
from bayesnb.keys import random_generator
from bayesnb.model.inclusion import draw_averaged
from bayesnb.posterior.averaged import AveragedPosterior
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.point import PointPosterior
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.tables.columns import first_few
from bayesnb.validate import whole_number
from bayesnb.warn import warn

__all__ = ["family_of_each_column", "information", "information_at_mean", "labels_of_information", "mean_information"]

CHAINS, DRAWS = 4, 50
"""Number of draws from a closed form, unless the user gives it."""


def labels_of_information(block: Block) -> tuple[Any, ...]:
    """Names of what `mutual_information` has a row for: a block's columns, or the block where its family says so."""
    return (block.name,) if block.family.informs_as_one else block.labels


def information_at_mean(posterior: Posterior) -> list[np.ndarray]:
    """Mutual information at the posterior mean, in nats, for each block an array of shape (columns,)."""
    with np.errstate(divide="ignore"):  # an infinite mean
        mean = posterior.mean_parameters()
    class_prob = np.asarray(mean.class_prob)[None, :, None]
    found = []
    for block, parameters in zip(posterior.model.blocks, mean.blocks, strict=True):
        values = block.family.parameters_of_each_column(parameters)
        values = {name: np.asarray(value)[None] for name, value in values.items()}
        pieces = [
            information(block, columns, class_prob, {name: value[:, :, columns] for name, value in values.items()})
            for columns in _pieces(block, 1, class_prob.shape[1])
        ]
        found.append(np.concatenate(pieces, axis=1)[0])
    return found


def mean_information(posterior: Posterior, num_draws: int | None, key: Any) -> list[np.ndarray]:
    """Mutual information averaged over draws, in nats, for each block an array of shape (columns,).

    NaN for a point estimate, which has no distribution.
    """
    blocks = posterior.model.blocks
    if isinstance(posterior, PointPosterior):
        return [np.full(len(labels_of_information(block)), np.nan) for block in blocks]
    draws = _Draws(posterior, num_draws, key)
    class_prob = draws.class_prob[..., None]
    return [
        np.concatenate(
            [
                information(block, columns, class_prob, draws.of_columns(i, columns)).mean(axis=0)
                for columns in _pieces(block, len(class_prob), len(posterior.classes))
            ]
        )
        for i, block in enumerate(blocks)
    ]


def information(block: Block, columns: slice, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
    """Mutual information of some columns, in nats; NaN, with a warning, if the family cannot compute it.

    Parameters
    ----------
    block : Block
    columns : slice
        Those of the block that the parameters describe.
    class_prob : array, shape (draws, classes, 1) or (draws, classes, columns)
    parameters : mapping
        Arrays of shape (draws, classes, columns, ...).

    Returns
    -------
    array, shape (draws, columns)
    """
    finite = [np.isfinite(value).reshape(*value.shape[:3], -1).all(axis=(1, 3)) for value in parameters.values()]
    known = np.logical_and.reduce(finite)
    reason = "the integral of the likelihood over its support is not accurate"
    try:
        found = family_of_each_column(block).mutual_information(class_prob, parameters)
    except NotImplementedError as error:
        reason = str(error) or "the family does not compute it"
        found = np.full(known.shape, np.nan)
    lost = (np.isnan(found) & known).any(axis=0)
    if lost.any():
        names = [label for label, without in zip(labels_of_information(block)[columns], lost, strict=True) if without]
        shown = first_few(list(map(repr, names)), 3)
        warn(
            f"column {shown}: the mutual information of {block.family.family_name} is NaN, because {reason}: define "
            "mutual_information(class_prob, parameters) in the class, or give the likelihood icdf or cdf",
            UserWarning,
        )
    return found


class _Draws:
    """Draws of the parameters, some columns at a time, because those of a large vocabulary do not fit in memory.

    Attributes
    ----------
    class_prob : array, shape (draws, classes)
    """

    def __init__(self, posterior: Posterior, num_draws: int | None, key: Any) -> None:
        self._posterior = posterior
        self._rng = random_generator(key)
        self._vectors: dict[int, Any] = {}
        if isinstance(posterior, SampledPosterior):
            given = flatten(posterior.parameter_draws(None, num_draws, key))
            self.class_prob = given.class_prob
            self._given = [
                block.family.parameters_of_each_column(parameters)
                for block, parameters in zip(posterior.model.blocks, given.blocks, strict=True)
            ]
            return
        assert isinstance(posterior, ExactPosterior | AveragedPosterior)
        number = CHAINS * whole_number("num_draws", DRAWS if num_draws is None else num_draws)
        self.class_prob = draw_parameters(posterior.class_posterior, (), self._rng, (number,)).class_prob

    def of_columns(self, block: int, columns: slice) -> dict[str, np.ndarray]:
        """Draws of the parameters of some columns of a block, shape (draws, classes, columns, ...)."""
        posterior = self._posterior
        if isinstance(posterior, SampledPosterior):
            return {name: np.asarray(value)[:, :, columns] for name, value in self._given[block].items()}
        family = posterior.model.blocks[block].family
        if family.of_each_column() is None:
            if block not in self._vectors:
                whole = self._drawn(block, lambda family: family, lambda inclusion: inclusion)
                self._vectors = {block: family.parameters_of_each_column(whole)}
            return {name: np.asarray(value)[:, :, columns] for name, value in self._vectors[block].items()}
        number = len(labels_of_information(posterior.model.blocks[block]))
        return self._drawn(
            block,
            lambda family: _marginal(family, columns),
            lambda inclusion: np.broadcast_to(inclusion, number)[columns],
        )

    def _drawn(
        self, block: int, part: Callable[[Family], Family], of_part: Callable[[np.ndarray], np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Draws of the parameters of a part of a block, given the part of its family and of its inclusion."""
        posterior, shape = self._posterior, self.class_prob.shape[:1]
        assert isinstance(posterior, ExactPosterior | AveragedPosterior)
        nothing = ClassPrior(None, np.ones(1))
        own = part(posterior.families[block])
        if isinstance(posterior, ExactPosterior):
            return draw_parameters(nothing, [own], self._rng, shape).blocks[0]
        shared, weights = part(posterior.shared[block]), of_part(posterior.inclusion[block])
        return draw_averaged(nothing, [own], [shared], [weights], self._rng, shape).blocks[0]


def family_of_each_column(block: Block) -> Family:
    """The family of a block's columns on their own; of whether a token is that word, in a count vector."""
    return block.family.of_each_column() or Bernoulli()


def _marginal(family: Family, columns: slice) -> Family:
    """The distribution of some columns' parameters on their own."""
    alone = family.of_each_column()
    assert alone is not None
    return alone.take((slice(None), columns))


def _pieces(block: Block, num_draws: int, num_classes: int) -> Iterator[slice]:
    """Columns of a block, as many at a time as have draws that fit in memory."""
    categories = np.shape(jax.tree.leaves(block.family)[0])[2:]
    step = max(1, PIECE_CELLS // (num_draws * num_classes * int(np.prod(categories))))
    number = len(labels_of_information(block))
    for start in range(0, number, step):
        yield slice(start, min(start + step, number))
