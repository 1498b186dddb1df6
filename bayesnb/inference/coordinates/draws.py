"""Draws of all sites of a program by NumPy, with logarithms of numbers that may underflow."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpyro.distributions as dist
from scipy.special import logsumexp

from bayesnb.families.base import Sample
from bayesnb.families.beta import Beta
from bayesnb.families.draw import draw, log_gammas
from bayesnb.inference.coordinates.base import Drawn

__all__ = ["Walk", "distributions", "draw_sites", "unwrapped"]

Walk = Callable[[Sample], None]
"""Calls ``sample(site, distribution)`` for every site of a program, in order."""


def unwrapped(distribution: dist.Distribution) -> dist.Distribution:
    """The base distribution inside `Independent` and `ExpandedDistribution`."""
    while isinstance(distribution, dist.Independent | dist.ExpandedDistribution):
        distribution = distribution.base_dist
    return distribution


def distributions(walk: Walk, values: Mapping[str, np.ndarray]) -> dict[str, dist.Distribution]:
    """The distribution of each site, given the values of those before it."""
    found = {}

    def note(name: str, distribution: dist.Distribution) -> np.ndarray:
        found[name] = unwrapped(distribution)
        return values[name]

    walk(note)
    return found


def draw_sites(walk: Walk, rng: np.random.Generator, number: int) -> dict[str, Drawn]:
    """Independent draws of every site, leading axis the draw."""
    depth: dict[str, int] = {}

    def one(name: str, distribution: dist.Distribution) -> np.ndarray:
        value = draw(distribution, rng)
        depth[name] = value.ndim
        return value

    drawn: dict[str, Drawn] = {}

    def many(name: str, distribution: dist.Distribution) -> np.ndarray:
        # A distribution that depends on an earlier site already has the leading axis of its draws.
        has_axis = len(distribution.batch_shape) + len(distribution.event_shape) > depth[name]
        drawn[name] = _drawn(distribution, rng, () if has_axis else (number,))
        return drawn[name].value

    walk(one)
    walk(many)
    return drawn


def _drawn(distribution: dist.Distribution, rng: np.random.Generator, leading: tuple[int, ...]) -> Drawn:
    base = unwrapped(distribution)
    in_logs = IN_LOGS.get(type(base))
    if in_logs is None:
        return Drawn(draw(distribution, rng, leading))
    return in_logs(base, rng, (*leading, *distribution.batch_shape, *distribution.event_shape))


def _dirichlet(distribution: Any, rng: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    log_gamma = log_gammas(distribution.concentration, rng, shape)
    log_prob = log_gamma - logsumexp(log_gamma, axis=-1, keepdims=True)
    return Drawn(np.exp(log_prob), (log_prob,))


def _beta(distribution: Any, rng: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    ones, zeros = (log_gammas(a, rng, shape) for a in (distribution.concentration1, distribution.concentration0))
    total = np.logaddexp(ones, zeros)
    return Drawn(np.exp(ones - total), (ones - total, zeros - total))


def _gamma(distribution: Any, rng: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    log_gamma = log_gammas(distribution.concentration, rng, shape) - np.log(distribution.rate)
    return Drawn(np.exp(log_gamma), (log_gamma,))


def _inverse_gamma(distribution: Any, rng: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    precision = _gamma(distribution, rng, shape)
    return Drawn(1 / precision.value, precision.logs)


IN_LOGS = {
    dist.Dirichlet: _dirichlet,
    dist.Beta: _beta,
    Beta: _beta,
    dist.Gamma: _gamma,
    dist.InverseGamma: _inverse_gamma,
}
"""By the type itself: a subclass may have another density."""
