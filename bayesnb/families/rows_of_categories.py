"""Distributions of numbers in bins, of rows of categories and of trees, given tables of probabilities."""

from typing import Any

import numpy as np

from bayesnb.core.deferred import constraints, dist, jax, jnp
from bayesnb.families.kernels import look_up_cells
from bayesnb.families.spanning_trees import draw_trees


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


class AnyTree(dist.Distribution):
    """A spanning tree, as the parent of each node; the first node is the root and its own parent.

    Parameters
    ----------
    log_weights : array, shape (..., classes, nodes, nodes)
    together : bool
        Whether the classes share the tree of a draw. Else each entry of their axis is drawn on its own.
    """

    support = constraints.independent(constraints.nonnegative_integer, 1)

    def __init__(self, log_weights: Any, *, together: bool) -> None:
        self.log_weights, self.together = log_weights, together
        super().__init__(np.shape(log_weights)[:-2], np.shape(log_weights)[-1:], validate_args=False)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draws of a batch shape, shape (*shape, nodes)."""
        nodes, apart = self.event_shape[0], shape[:-1] if self.together else shape
        weights = self.log_weights[..., 0, :, :] if self.together else self.log_weights
        weights = np.broadcast_to(weights, (*apart, nodes, nodes))
        first, number = weights[(0,) * len(apart)], int(np.prod(apart))
        if number and (weights == first).all():
            edges = draw_trees(first, number, rng)
        else:
            drawn = [draw_trees(one, 1, rng) for one in weights.reshape(-1, nodes, nodes)]
            edges = np.concatenate([np.zeros((0, nodes - 1, 2), dtype=np.intp), *drawn])
        parents = _parents(edges, nodes).reshape(*apart, nodes)
        return np.broadcast_to(parents[..., None, :] if self.together else parents, (*shape, nodes)) * 1.0


def _parents(edges: np.ndarray, nodes: int) -> np.ndarray:
    """Parent of each node, shape (trees, nodes), given the edges (trees, nodes - 1, 2)."""
    found = np.full((len(edges), nodes), -1)
    found[:, 0] = 0
    tree, both = np.arange(len(edges))[:, None], np.concatenate([edges, edges[..., ::-1]], axis=1)
    while (found < 0).any():
        known = (found[tree, both[..., 0]] >= 0) & (found[tree, both[..., 1]] < 0)
        at, edge = np.nonzero(known)
        found[at, both[at, edge, 1]] = both[at, edge, 0]
    return found


def _is_root(parent: Any) -> Any:
    return parent == np.arange(np.shape(parent)[-1])


class RowsOfTree(dist.Distribution):
    """Rows of codes drawn along a tree; NaN is a missing cell.

    Parameters
    ----------
    parent : array, shape (..., columns)
    prob : array, shape (..., columns, values, values)
        Probabilities of a column's values (last axis) given each value of its parent; those of the root are the first.
    sizes : tuple of int
        Number of categories of each column; its next value is a missing cell.
    observed : array of bool, shape (..., columns), optional
        Which cells are not missing, where missing ones hold a number.
    """

    support = constraints.independent(constraints.nonnegative_integer, 1)

    def __init__(self, parent: Any, prob: Any, sizes: tuple[int, ...], observed: Any = True) -> None:
        self.parent, self.prob, self.sizes, self.observed = parent, prob, sizes, observed
        super().__init__(np.shape(parent)[:-1], np.shape(parent)[-1:], validate_args=False)

    def log_prob(self, value: Any) -> Any:
        """Log probability of rows of codes."""
        missing = jnp.isnan(value) | ~jnp.asarray(self.observed)
        codes = jnp.where(missing, jnp.asarray(self.sizes), value)
        codes, parent = (each.astype(int) for each in jnp.broadcast_arrays(codes, self.parent))
        above = jnp.where(_is_root(parent), 0, jnp.take_along_axis(codes, parent, axis=-1))
        table = jnp.take_along_axis(self.prob, above[..., None, None], axis=-2)[..., 0, :]
        return jnp.log(jnp.take_along_axis(table, codes[..., None], axis=-1)[..., 0]).sum(axis=-1)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draws of a batch shape, shape (*shape, columns)."""
        shape = (*shape, *self.event_shape)
        uniform, parent = rng.uniform(size=shape)[..., None], np.broadcast_to(self.parent, shape).astype(np.intp)
        edges = np.cumsum(self.prob, axis=-1)
        edges = np.broadcast_to(edges / edges[..., -1:], (*shape, *edges.shape[-2:]))
        codes = np.zeros(shape, dtype=np.intp)
        # A value follows from the parent's value and a uniform number, so that all are right after as many steps as the
        # tree has levels.
        for _ in self.sizes:
            before, above = codes, np.where(_is_root(parent), 0, np.take_along_axis(codes, parent, axis=-1))
            own = np.take_along_axis(edges, above[..., None, None], axis=-2)[..., 0, :]
            codes = (uniform >= own).sum(axis=-1)
            if (codes == before).all():
                break
        return np.where(codes == np.array(self.sizes), np.nan, codes)
