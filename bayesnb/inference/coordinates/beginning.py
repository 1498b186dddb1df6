"""Initial state of a sampler: coordinates, first points and scale."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from bayesnb.inference.coordinates.base import Coordinate
from bayesnb.inference.coordinates.choose import choose
from bayesnb.inference.coordinates.draws import Walk, distributions, draw_sites

__all__ = ["Beginning", "Walks", "begin"]

SCALE_CELLS = 2**23
"""Largest number of values in the draws that determine the scale: a thousand draws unless the model is wide."""


class Walks(NamedTuple):
    """The distribution of every site under four conditions.

    Attributes
    ----------
    prior : Walk
    posterior : Walk
        The closed form, or an approximation of the posterior; shows where most of the posterior is.
    labelled : Walk
        The closed form given only the labelled rows; shows how heavy the tails are, because a row without a label need
        not belong to a class.
    starts : sequence of Walk
        Wider than the posterior: one for all chains, or one for each.
    """

    prior: Walk
    posterior: Walk
    labelled: Walk
    starts: Sequence[Walk]


class Beginning(NamedTuple):
    """Initial state of a sampler, by site.

    Attributes
    ----------
    coordinates : dict of Coordinate
    points : dict of array
        First points of the chains, leading axis the chain.
    variance : dict of array
        Variance of the coordinates, close to that of the target.
    """

    coordinates: dict[str, Coordinate]
    points: dict[str, np.ndarray]
    variance: dict[str, np.ndarray]


def begin(walks: Walks, closed: Collection[str], rng: np.random.Generator, number: int) -> Beginning:
    """Choose coordinates, draw the first points of the chains, and measure the scale.

    Parameters
    ----------
    walks : Walks
    closed : collection of str
        Sites that have a closed form given the labels; for the others all walks are the prior.
    rng : numpy.random.Generator
    number : int
    """
    coordinates = choose(walks.prior, walks.posterior, walks.labelled, closed, rng)

    def points(walk: Walk, number: int) -> dict[str, np.ndarray]:
        drawn = draw_sites(walk, rng, number)
        priors = distributions(walks.prior, {name: of_site.value for name, of_site in drawn.items()})
        return {name: coordinates[name].point(drawn[name], priors[name], rng) for name in drawn}

    of_chains = [points(walk, number // len(walks.starts)) for walk in walks.starts]
    starts = {name: np.concatenate([chain[name] for chain in of_chains]) for name in of_chains[0]}
    size = sum(value[0].size for value in starts.values())
    scale = points(walks.posterior, max(100, min(1000, SCALE_CELLS // max(1, size))))
    return Beginning(coordinates, starts, {name: value.var(axis=0) for name, value in scale.items()})
