"""The coordinate of a gamma variable, or of its inverse."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax.scipy.special import gammaln

from bayesnb.inference.coordinates.base import Coordinate, Drawn, Position
from bayesnb.inference.coordinates.bend import bend, unbend

__all__ = ["BentGamma"]

LARGEST_LOG = 700.0
"""Bounds of the logarithms of values for a program, within the range of float64."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BentGamma(Coordinate):
    r"""A rate (Gamma prior), or the precision of a variance (InverseGamma prior), by its bent logarithm.

    :math:`\log \lambda = u(z) - \log b` with the posterior's rate b. For a shape near one, the rate or precision itself
    is softplus(z) / b, because its logarithm has a long left tail. Where the shape is large, the logarithm has the
    shorter tails, and u = z.

    Attributes
    ----------
    bent : array of bool, or None
        Where u is bent; None if it is nowhere, which saves a sampler half of the time.
    excess : array
        Parameter of the bend: 1 / a - 1 with a the smaller of one and the posterior's shape.
    log_rate : array
        log b.
    log_normaliser : array, scalar, or None
        Of the prior's density; None where the hyperparameters depend on another site.
    """

    bent: Any
    excess: Any
    log_rate: Any
    log_normaliser: Any

    def at(self, z: Any, prior: dist.Distribution) -> Position:
        log_gamma, log_slope = z - self.log_rate, jnp.zeros(())
        if self.bent is not None:
            u, of_bend = bend(z, self.excess)
            log_gamma = jnp.where(self.bent, u, z) - self.log_rate
            log_slope = jnp.where(self.bent, of_bend, 0.0)
        shape, rate = jnp.asarray(prior.concentration), jnp.asarray(prior.rate)
        log_density = (shape * log_gamma - rate * jnp.exp(log_gamma) + log_slope).sum()
        if self.log_normaliser is None:
            constant = shape * jnp.log(rate) - gammaln(shape)
            log_density += jnp.broadcast_to(constant, log_gamma.shape).sum()
        else:
            log_density += self.log_normaliser
        log_value = -log_gamma if isinstance(prior, dist.InverseGamma) else log_gamma
        value = jnp.exp(jnp.clip(log_value, -LARGEST_LOG, LARGEST_LOG))
        return Position(value, jnp.exp(jnp.minimum(log_value, LARGEST_LOG)), log_density)

    def point(self, drawn: Drawn, prior: dist.Distribution, rng: np.random.Generator) -> np.ndarray:
        u = drawn.logs[0] + self.log_rate
        return u if self.bent is None else np.where(self.bent, unbend(u, self.excess), u)
