"""Bins of real numbers, and an open tail on each side: which of them holds a number, and the density within it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.arrays import namespace
from bayesnb.families.look_up import look_up_cells

__all__ = ["Binned", "Bins", "averages_between"]


@dataclass(frozen=True)
class Bins:
    """The parts of the real line: the tail below the bins, the bins in order, and the tail above.

    Within a bin the density is uniform. In a tail, at the distance d from the bins, it is s / (s + d)², with s the
    width of the bin beside it: half of the tail is within that width.

    Attributes
    ----------
    edges : tuple of float
        Strictly increasing.
    step : float
        Distance of the values of a lattice, on which draws lie; zero for none. The first edge is half a step from it.
    """

    edges: tuple[float, ...]
    step: float = 0.0

    @property
    def size(self) -> int:
        """Number of parts: the bins and both tails."""
        return len(self.edges) + 1

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Each part as an interval."""
        edges = [f"{edge:.6g}" for edge in self.edges]
        if len({*edges}) < len(edges):
            edges = [repr(edge) for edge in self.edges]
        return (f"below {edges[0]}", *(f"[{low}, {high})" for low, high in pairwise(edges)), f"from {edges[-1]}")

    @cached_property
    def widths(self) -> np.ndarray:
        """Width of each part, shape (size,); of a tail that of the bin beside it."""
        inner = np.diff(self.edges)
        return np.concatenate([inner[:1], inner, inner[-1:]])

    def codes(self, x: Any) -> Any:
        """Position of the part that holds each number, in float64; NaN for NaN. The last bin holds its upper edge."""
        xp, _ = namespace(x)
        edges = xp.asarray(self.edges, dtype=np.float64)
        found = xp.searchsorted(edges, x.astype(np.float64), side="right")
        found = xp.where(x == self.edges[-1], self.size - 2, found)
        return xp.where(xp.isnan(x), np.nan, found.astype(np.float64))

    def log_density(self, x: Any) -> Any:
        """Log density of each number within its part, zero for NaN."""
        xp, _ = namespace(x)
        x = x.astype(np.float64)
        codes = self.codes(x)
        missing = xp.isnan(codes)
        width = xp.asarray(self.widths)[xp.where(missing, 0, codes).astype(int)]
        beyond = xp.maximum(xp.maximum(self.edges[0] - x, x - self.edges[-1]), 0.0)
        beyond = xp.where(missing, 0.0, beyond)
        return xp.where(missing, 0.0, xp.log(width) - 2 * xp.log(width + beyond))

    def draws(self, codes: Any, uniform: Any) -> Any:
        """Numbers of the parts with these codes, where `uniform` is uniform between zero and one."""
        xp, _ = namespace(codes, uniform)
        edges = np.array([self.edges[0], *self.edges])
        start, width = xp.asarray(edges)[codes], xp.asarray(self.widths)[codes]
        step = width * uniform
        tail = step / (1 - uniform)
        x = start + xp.where(codes == 0, -tail, xp.where(codes == self.size - 1, tail, step))
        if not self.step:
            return x
        return self.edges[0] + self.step * (xp.floor((x - self.edges[0]) / self.step) + 0.5)


class Binned(dist.Distribution):
    """Numbers whose part of the real line is drawn by `prob`, and which have the density of `Bins` within it.

    Parameters
    ----------
    prob : array, shape (..., parts)
    bins : Bins
    """

    support = constraints.real
    pytree_data_fields = ("prob",)
    pytree_aux_fields = ("bins",)

    def __init__(self, prob: Any, bins: Bins, *, validate_args: bool | None = None) -> None:
        self.prob, self.bins = prob, bins
        super().__init__(batch_shape=np.shape(prob)[:-1], validate_args=validate_args)

    def log_prob(self, value: Any) -> Any:
        """Log density."""
        value = jnp.asarray(value, jnp.result_type(float))
        return look_up_cells(jnp.log(self.prob), self.bins.codes(value)) + self.bins.log_density(value)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Independent numbers, shape sample_shape + batch_shape."""
        own, key = jax.random.split(key)
        shape = (*sample_shape, *self.batch_shape)
        codes = jax.random.categorical(own, jnp.log(self.prob), shape=shape)
        return self.bins.draws(codes, jax.random.uniform(key, shape))


def averages_between(
    edges: np.ndarray, steps: Sequence[float], density: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Averages between neighbouring edges of a density that is constant between steps.

    Parameters
    ----------
    edges : array, shape (bars + 1,)
    steps : sequence of float
    density : callable
        Of values (values,), shape (values, classes).

    Returns
    -------
    array, shape (bars, classes)
    """
    within = [step for step in steps if edges[0] < step < edges[-1]]
    breaks = np.unique(np.concatenate([edges, within]))
    middle = (breaks[1:] + breaks[:-1]) / 2
    mass = density(middle) * np.diff(breaks)[:, None]
    return np.add.reduceat(mass, np.searchsorted(breaks, edges[:-1]), axis=0) / np.diff(edges)[:, None]
