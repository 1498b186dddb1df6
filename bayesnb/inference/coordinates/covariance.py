"""The coordinate of a covariance matrix with an inverse Wishart prior."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import biject_to, constraints

from bayesnb.families.compiled import compiled
from bayesnb.inference.coordinates.base import Coordinate, Drawn, Position, unconstrained

__all__ = ["ScaledCovariance"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ScaledCovariance(Coordinate):
    r"""The Cholesky factor of :math:`\Omega`, with :math:`\Sigma = R \Omega R^T` and logarithms on its diagonal.

    R is the Cholesky factor of the posterior's scale matrix, so that :math:`\Omega` is near a multiple of the identity
    for any correlations of the columns. The determinant of the map from :math:`\Omega` to :math:`\Sigma` is
    :math:`|R|^{p + 1}` for p columns.

    Attributes
    ----------
    root : array, shape (..., columns, columns)
        R.
    """

    root: Any

    def at(self, z: Any, prior: dist.Distribution) -> Position:
        transform = biject_to(constraints.positive_definite)
        scaled = transform(z)
        value = self.root @ scaled @ jnp.swapaxes(self.root, -1, -2)
        value = (value + jnp.swapaxes(value, -1, -2)) / 2
        log_root = jnp.log(jnp.diagonal(self.root, axis1=-2, axis2=-1)).sum()
        log_density = prior.log_prob(value).sum() + transform.log_abs_det_jacobian(z, scaled).sum()
        return Position(value, value, log_density + (value.shape[-1] + 1) * log_root)

    def point(self, drawn: Drawn, prior: dist.Distribution, rng: np.random.Generator) -> np.ndarray:
        half = np.linalg.solve(self.root, drawn.value)
        scaled = np.linalg.solve(self.root, np.swapaxes(half, -1, -2))
        symmetric = (scaled + np.swapaxes(scaled, -1, -2)) / 2
        return np.asarray(compiled(unconstrained, constraints.positive_definite, symmetric))
