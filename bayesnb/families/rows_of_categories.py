"""Distributions of numbers in bins, and of rows of categories, given a table of probabilities."""

from typing import Any

import numpy as np

from bayesnb.core.deferred import constraints, dist, jax, jnp
from bayesnb.families.look_up import look_up_cells


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

    def __init__(self, prob: Any, bins: Any, *, validate_args: bool | None = None) -> None:
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


class CombinationOfCategories(dist.Distribution):
    """Rows of categories whose combination is drawn by `prob`.

    Parameters
    ----------
    prob : array, shape (..., entries)
    combinations : Combinations
    observed : array of bool, shape (..., columns), optional
        Which cells of the rows the density is about; it sums over the others.
    """

    support = constraints.independent(constraints.nonnegative_integer, 1)
    pytree_data_fields = ("prob", "observed")
    pytree_aux_fields = ("combinations",)

    def __init__(
        self, prob: Any, combinations: Any, observed: Any = None, *, validate_args: bool | None = None
    ) -> None:
        self.prob, self.combinations, self.observed = prob, combinations, observed
        event_shape = (len(combinations.sizes),)
        super().__init__(batch_shape=np.shape(prob)[:-1], event_shape=event_shape, validate_args=validate_args)

    def log_prob(self, value: Any) -> Any:
        """Log probability of rows of codes."""
        value, log_prob = jnp.asarray(value), jnp.log(self.prob)
        if self.observed is None:
            entries = self.combinations.entries(self.combinations.codes(value.astype(int)))
            return look_up_cells(self.combinations.log_each(log_prob), entries)
        cells = jnp.where(self.observed, value, jnp.nan)
        batch = jnp.broadcast_shapes(cells.shape[:-1], log_prob.shape[:-1])
        rows = jnp.broadcast_to(cells, (*batch, *self.event_shape)).reshape(-1, *self.event_shape)
        of_rows = jnp.broadcast_to(log_prob, (*batch, log_prob.shape[-1])).reshape(len(rows), -1)
        found = jax.vmap(lambda row, own: self.combinations.log_prob_in_jax(own, row[None])[0])(rows, of_rows)
        return found.reshape(batch)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Independent rows, shape sample_shape + batch_shape + (columns,); combinations not held are drawn evenly."""
        own, key = jax.random.split(key)
        shape = (*sample_shape, *self.batch_shape)
        entry = jax.random.categorical(own, jnp.log(self.prob), shape=shape)
        return self.combinations.rows(entry, jax.random.randint(key, shape, 0, max(self.combinations.num_unseen, 1)))
