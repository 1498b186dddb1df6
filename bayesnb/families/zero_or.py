"""Numbers that are zero, or follow another distribution: the distribution and its support."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

__all__ = ["OrZero", "ZeroOr"]


class OrZero(constraints.Constraint):
    """Zero, and the numbers of another constraint."""

    def __init__(self, other: Any) -> None:
        self.other = other
        self.is_discrete = other.is_discrete

    def __call__(self, x: Any) -> Any:
        return (x == 0) | self.other(x)

    def feasible_like(self, prototype: Any) -> Any:
        return jnp.zeros_like(prototype)

    def tree_flatten(self) -> tuple[tuple[()], tuple[tuple[str, ...], dict[str, Any]]]:
        return (), ((), {"other": self.other, "is_discrete": self.is_discrete})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OrZero) and self.other == other.other

    def __hash__(self) -> int:
        return hash((OrZero, self.other))

    def __repr__(self) -> str:
        return f"OrZero({self.other!r})"


class ZeroOr(dist.Distribution):
    """A number that is zero with probability 1 - `nonzero_prob`, and else a draw of `other`.

    Parameters
    ----------
    nonzero_prob : array
    other : numpyro.distributions.Distribution
        A distribution of numbers that are zero with probability zero.
    """

    pytree_data_fields = ("nonzero_prob", "other")

    def __init__(self, nonzero_prob: Any, other: dist.Distribution, *, validate_args: bool | None = None) -> None:
        self.nonzero_prob, self.other = nonzero_prob, other
        shape = np.broadcast_shapes(np.shape(nonzero_prob), other.batch_shape)
        super().__init__(batch_shape=shape, validate_args=validate_args)

    @property
    def support(self) -> Any:
        """Zero, and the numbers that the other distribution holds."""
        return OrZero(self.other.support)

    def log_prob(self, value: Any) -> Any:
        """Log density; at zero the log probability of a zero."""
        is_zero = value == 0
        value = jnp.where(is_zero, self.other.support.feasible_like(jnp.ones(())), value)
        density = jnp.log(self.nonzero_prob) + self.other.log_prob(value)
        return jnp.where(is_zero, jnp.log1p(-self.nonzero_prob), density)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Independent numbers, shape sample_shape + batch_shape."""
        own, key = jax.random.split(key)
        shape = (*sample_shape, *self.batch_shape)
        is_nonzero = jax.random.uniform(own, shape) < self.nonzero_prob
        values = self.other.expand(self.batch_shape).sample(key, sample_shape)
        return jnp.where(is_nonzero, values, 0)

    @property
    def mean(self) -> Any:
        """Mean."""
        return self.nonzero_prob * self.other.mean

    @property
    def variance(self) -> Any:
        """Variance."""
        p, mean = self.nonzero_prob, self.other.mean
        return p * self.other.variance + p * (1 - p) * mean**2
