"""Needs counted by JAX on the device that has the cells: pieces of rows, added up in float64."""

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from bayesnb.core.deferred import jax, jit, jnp, map_tree
from bayesnb.families.host_sums import CellsOfRows, count_need, stated_needs
from bayesnb.families.moments import Moments, Scatter, moments_beyond_rounding, scatter_beyond_rounding
from bayesnb.families.needs import (
    CellWeight,
    CentredProducts,
    CentredSquares,
    Frequencies,
    Need,
    RowWeight,
    Sums,
    ValueCounts,
    fill_needs,
    list_needs,
)
from bayesnb.families.statistics import Tally, class_sums, safe_ratio

LARGEST_TALLY = 4096
"""Numbers 0, 1, ... that a device counts of a column; where larger ones occur, the host counts."""


class _CellsOfPiece(CellsOfRows):
    missing: Any = property(lambda self: jnp.isnan(self.x))


@singledispatch
def _count_in_piece(need: Need, cells: _CellsOfPiece) -> Any:
    """As `count_need`, of one piece."""
    raise NotImplementedError(f"a device does not count {type(need).__name__}")


for _as_the_host_does in (RowWeight, CellWeight, Sums):
    _count_in_piece.register(_as_the_host_does, count_need)


@_count_in_piece.register
def _(need: CentredSquares, cells: _CellsOfPiece) -> Moments:
    mean, deviation = _about_means(cells.filled_with(0.0), ~cells.missing, cells.weight, cells.membership)
    return Moments(cells.weight, mean, class_sums(deviation**2, cells.membership))


@_count_in_piece.register
def _(need: CentredProducts, cells: _CellsOfPiece) -> Scatter:
    n = cells.membership.sum(axis=0)[:, None]
    mean, deviation = _about_means(jnp.nan_to_num(cells.x), True, n, cells.membership)
    products = jnp.einsum("rc,rj,rk->cjk", cells.membership, deviation, deviation, precision="highest")
    return Scatter(n, mean, (products + products.mT) / 2)


def _about_means(x: Any, observed: Any, n: Any, membership: Any) -> tuple[Any, Any]:
    """Means of the classes, and deviations from that of each row's class, which correct the mean's rounding error."""
    mean = safe_ratio(class_sums(x, membership), n)
    deviation = jnp.where(observed, x - (membership != 0).astype(jnp.float64) @ mean, 0.0)
    return mean + safe_ratio(class_sums(deviation, membership), n), deviation


@_count_in_piece.register
def _(need: Frequencies, cells: _CellsOfPiece) -> Any:
    shape = cells.membership.shape[1], cells.x.shape[1], need.size
    weight = jnp.where(cells.missing, 0.0, cells.membership.sum(axis=1)[:, None])
    place = cells.membership.argmax(axis=1)[:, None] * shape[1] + jnp.arange(shape[1])
    at = place * need.size + cells.filled_with(0.0).astype(int)
    return jnp.zeros(shape).ravel().at[at].add(weight).reshape(shape)


# --------------------------------------------------------------------------------------------------
# The needs of all blocks of columns, piece by piece
# --------------------------------------------------------------------------------------------------


def count_on_device(
    read: Callable[[Any], Any],
    families: Sequence[Any],
    whole: tuple[bool, ...],
    num_classes: int,
    size: int,
    *given: Any,
) -> tuple[np.ndarray, list[Any]] | None:
    """Weight of each class, and the statistics of each family.

    Parameters
    ----------
    read : jax.tree_util.Partial
        From rows in float64 to the cells of each family, (rows, columns) with missing ones NaN, and which of the rows
        it can hold.
    families : sequence of Family
    whole : tuple of bool
        Whether each family leaves out rows that lack a cell.
    num_classes : int
    size : int
        Rows of a piece.
    *given : jax.Array
        The rows (rows, columns), the codes of their classes (rows,), and their weights (rows,), or None for ones.

    Returns
    -------
    tuple, or None
        None if a family cannot hold a cell, or numbers are too large to tally.

    Raises
    ------
    NotImplementedError
        If a device does not count what a family needs.
    """
    trees, tally = [stated_needs(family) for family in families], 0
    if any(isinstance(need, ValueCounts) for tree in trees for need in list_needs(tree)):
        largest, countable = jax.device_get(_largest_number(read, families, given[0]))
        if not countable or largest >= LARGEST_TALLY:
            return None
        tally = 1 << int(largest).bit_length()
    held, classes, found = jax.device_get(
        _sums(read, families, *given, whole, num_classes, min(size, len(given[0])), tally)
    )
    if not held:
        return None
    results = [map(_as_on_host, list_needs(tree), own) for tree, own in zip(trees, found, strict=True)]
    return np.array(classes), list(map(fill_needs, trees, results))


def _as_on_host(need: Need, found: Any) -> Any:
    """What the host gives for a need."""
    found = map_tree(np.array, found)
    if isinstance(need, CentredSquares):
        return moments_beyond_rounding(found.n, found.mean, np.maximum(found.ssd, 0.0))
    if isinstance(need, CentredProducts):
        return scatter_beyond_rounding(found.n, found.mean, found.scatter)
    if isinstance(need, ValueCounts):
        found[..., 0] *= need.zeros
        shown = np.flatnonzero(found)
        place, number = np.divmod(shown, found.shape[-1])
        return Tally.of(place, number.astype(np.float64), found.ravel()[shown])
    return found


def statistics_in_jax(family: Any, x: Any, membership: Any) -> Any:
    """Statistics of the cells of a block, for JAX; of all rows at once, and no number is cleared of rounding errors.

    Raises
    ------
    NotImplementedError
        If a device does not count what the family needs.
    """
    tree, cells = stated_needs(family), _CellsOfPiece(x, membership)
    return fill_needs(tree, (_count_in_piece(need, cells.made_by(need.of)) for need in list_needs(tree)))


@jit
def _largest_number(read: Any, families: Sequence[Any], rows: Any) -> Any:
    """The largest number that is tallied, and whether all are whole and not negative."""
    pairs = zip(families, read(rows.astype(jnp.float64))[0], strict=True)
    needs = (
        (need, x) for family, x in pairs for need in list_needs(stated_needs(family)) if isinstance(need, ValueCounts)
    )
    numbers = [jnp.nan_to_num(x if need.of is None else need.of(x)) for need, x in needs]
    countable = [((each >= 0) & (each == jnp.rint(each))).all() for each in numbers]
    return jnp.stack([each.max() for each in numbers]).max(), jnp.stack(countable).all()


@jit(static_argnums=(5, 6, 7, 8))
def _sums(
    read: Any, families: Any, rows: Any, codes: Any, weights: Any, whole: Any, num_classes: int, size: int, tally: int
) -> Any:
    """Whether all rows can be held, the weight of each class, and for each family the results of its needs."""
    number = len(rows)

    def of_piece(i: Any) -> Any:
        start = jnp.minimum(i * size, number - size)

        def part(array: Any) -> Any:
            return jax.lax.dynamic_slice_in_dim(array, start, size)

        # The last piece begins with rows that the one before has, too.
        new = start + jnp.arange(size) >= i * size
        weight = jnp.where(new, 1.0 if weights is None else part(weights), 0.0)
        membership = jnp.where(part(codes)[:, None] == jnp.arange(num_classes), weight[:, None], 0.0)
        held, found = [], []
        for family, of_whole_rows, x, fine in zip(families, whole, *read(part(rows).astype(jnp.float64)), strict=True):
            # A category that occurs in rows of weight zero alone is none.
            held.append(fine | (weight == 0) if family.cell == "category" else fine)
            lacking = jnp.isnan(x).any(axis=1, keepdims=True) if of_whole_rows else False
            cells = _CellsOfPiece(x, jnp.where(lacking, 0.0, membership))
            needs = [_counted_as(need, tally) for need in list_needs(stated_needs(family))]
            found.append([_count_in_piece(need, cells.made_by(need.of)) for need in needs])
        return jnp.stack(held).all(), membership.sum(axis=0), found

    def step(total: Any, i: Any) -> Any:
        (held, classes, found), (fine, of_classes, more) = total, of_piece(i)
        added = [[one + other for one, other in zip(*own, strict=True)] for own in zip(found, more, strict=True)]
        return (held & fine, classes + of_classes, added), None

    shapes = jax.eval_shape(of_piece, 0)
    nothing = jax.tree.map(lambda leaf: jnp.full(leaf.shape, leaf.dtype == bool, leaf.dtype), shapes)
    return jax.lax.scan(step, nothing, jnp.arange(-(-number // size)))[0]


def _counted_as(need: Need, tally: int) -> Need:
    """A tally as the frequencies of the numbers below a largest one; other needs as they are."""
    return Frequencies(need.of, size=tally) if isinstance(need, ValueCounts) else need
