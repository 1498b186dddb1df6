"""The coordinates of a number, or of a vector, with a normal prior whose spread may depend on another site."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from bayesnb.families.compiled import compiled
from bayesnb.inference.coordinates.base import Coordinate, Drawn, Position

__all__ = ["Anchored", "AnchoredVector"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Anchored(Coordinate):
    r"""Distance from the posterior's centre, in posterior standard deviations: :math:`\mu = c + s r z`.

    Here s is the prior's standard deviation, which the program gives and which may depend on another site, and r the
    ratio of the posterior's standard deviation to it. In a normal-inverse-gamma posterior, z is standard normal for
    every variance. The spread of the mean itself changes with the variance, and samplers are slow on such a shape.

    Attributes
    ----------
    centre : array
        c.
    ratio : array
        r, positive.
    """

    centre: Any
    ratio: Any

    def at(self, z: Any, prior: dist.Distribution) -> Position:
        from_prior = (self.centre - prior.loc) / prior.scale + self.ratio * z
        log_density = -0.5 * (from_prior**2).sum() + (jnp.log(self.ratio) - 0.5 * jnp.log(2 * jnp.pi)).sum()
        value = self.centre + prior.scale * self.ratio * z
        return Position(value, value, log_density)

    def point(self, drawn: Drawn, prior: dist.Distribution, rng: np.random.Generator) -> np.ndarray:
        return (drawn.value - self.centre) / (np.asarray(prior.scale) * self.ratio)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AnchoredVector(Coordinate):
    r"""As `Anchored`, for vectors: :math:`\mu = c + r L z` with the Cholesky factor L of the prior's covariance matrix.

    In a normal-inverse-Wishart posterior, z is standard normal for every covariance matrix.

    Attributes
    ----------
    centre : array, shape (..., columns)
        c.
    ratio : array, shape (..., columns)
        r, positive.
    """

    centre: Any
    ratio: Any

    def at(self, z: Any, prior: dist.Distribution) -> Position:
        from_prior = _solved(prior.scale_tril, self.centre - prior.loc) + self.ratio * z
        log_density = -0.5 * (from_prior**2).sum() + (jnp.log(self.ratio) - 0.5 * jnp.log(2 * jnp.pi)).sum()
        value = self.centre + (prior.scale_tril @ (self.ratio * z)[..., None])[..., 0]
        return Position(value, value, log_density)

    def point(self, drawn: Drawn, prior: dist.Distribution, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(compiled(_solved, prior.scale_tril, drawn.value - self.centre)) / self.ratio


def _solved(factor: Any, vector: Any) -> Any:
    """The vectors x of L x = v, for lower triangular matrices L."""
    factor, vector = jnp.asarray(factor), jnp.asarray(vector)
    shape = jnp.broadcast_shapes(factor.shape[:-1], vector.shape)
    factor = jnp.broadcast_to(factor, (*shape, shape[-1]))
    return jax.scipy.linalg.solve_triangular(factor, jnp.broadcast_to(vector, shape)[..., None], lower=True)[..., 0]
