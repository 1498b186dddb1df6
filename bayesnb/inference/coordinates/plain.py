"""The coordinate of any other distribution: NumPyro's map onto its support."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import biject_to

from bayesnb.families.compiled import compiled
from bayesnb.inference.coordinates.base import Coordinate, Drawn, Position, unconstrained

__all__ = ["Plain"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Plain(Coordinate):
    """NumPyro's ``biject_to`` of the support: the logarithm of a positive number, a real number as it is."""

    def at(self, z: Any, prior: dist.Distribution) -> Position:
        transform = biject_to(prior.support)
        value = transform(z)
        log_density = prior.log_prob(value).sum() + transform.log_abs_det_jacobian(z, value).sum()
        return Position(value, value, log_density)

    def point(self, drawn: Drawn, prior: dist.Distribution, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(compiled(unconstrained, prior.support, drawn.value))
