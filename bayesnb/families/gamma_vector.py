"""Independent gamma variables as one vector, with the sum and the proportions as a sampler's coordinates."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro.distributions import constraints, transforms
from numpyro.distributions.util import promote_shapes, validate_sample

__all__ = ["GammaVector"]


class _PositiveVector(constraints.ParameterFreeConstraint):
    """Vectors of positive numbers."""

    event_dim = 1

    def __call__(self, x: Any) -> Any:
        return (x > 0).all(axis=-1)

    def feasible_like(self, prototype: Any) -> Any:
        return jnp.ones_like(prototype)


positive_vector = _PositiveVector()


class SumAndProportions(transforms.ParameterFreeTransform):
    """The logarithm of a sum and its proportions by stick-breaking, as a vector of positive numbers."""

    domain = constraints.real_vector
    codomain = positive_vector

    def __call__(self, x: Any) -> Any:
        return jnp.exp(x[..., :1]) * transforms.StickBreakingTransform()(x[..., 1:])

    def _inverse(self, y: Any) -> Any:
        total = y.sum(axis=-1, keepdims=True)
        return jnp.concatenate([jnp.log(total), transforms.StickBreakingTransform().inv(y / total)], axis=-1)

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        """Of the proportions, times the sum for each of them."""
        sticks = transforms.StickBreakingTransform()
        return y.shape[-1] * x[..., 0] + sticks.log_abs_det_jacobian(x[..., 1:], sticks(x[..., 1:]))

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape


@transforms.biject_to.register(_PositiveVector)
def _(constraint: Any) -> Any:
    return SumAndProportions()


class GammaVector(dist.Distribution):
    """Independent gamma variables as one vector.

    The density is that of ``Gamma(concentration, rate).to_event(1)``. Where data fix the proportions of the vector far
    better than its sum, all its logarithms move together, which takes a sampler many steps; on this scale the sum is
    one coordinate.

    Parameters
    ----------
    concentration, rate : array, shape (..., size)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "concentration": constraints.independent(constraints.positive, 1),
        "rate": constraints.independent(constraints.positive, 1),
    }
    support = positive_vector

    def __init__(self, concentration: Any, rate: Any, *, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = promote_shapes(concentration, rate)
        shape = jnp.broadcast_shapes(jnp.shape(concentration), jnp.shape(rate))
        super().__init__(batch_shape=shape[:-1], event_shape=shape[-1:], validate_args=validate_args)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        shape = (*self.batch_shape, *self.event_shape)
        return dist.Gamma(self.concentration, self.rate).expand(shape).sample(key, sample_shape)

    @validate_sample
    def log_prob(self, value: Any) -> Any:
        return dist.Gamma(self.concentration, self.rate).log_prob(value).sum(axis=-1)

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def variance(self) -> Any:
        return self.concentration / self.rate**2
