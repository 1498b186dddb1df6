"""Statistics and densities of some rows of a table, computed on the accelerator whose memory holds it.

One compiled function computes all blocks of a model. It also checks whether the model allows every cell.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions import constraints

from bayesnb.core.arrays import log
from bayesnb.data.read import DeviceTable
from bayesnb.data.schema import OTHER, Schema
from bayesnb.families.base import Family, Parameters
from bayesnb.families.statistics import ClassCounts
from bayesnb.model.blocks import Block, ModelStatistics
from bayesnb.model.cells import LARGEST_COUNT, LARGEST_NUMBER

__all__ = ["count_on_device", "encoded", "log_joint_of_blocks", "log_joint_on_device"]

DEVICE_CELLS = 2**24
"""Cells read at a time; a temporary array of float64 takes 128 mebibytes."""

DEVICE_DENSITIES = 2**26
"""Densities (rows times classes times columns) computed at a time, in case they need an array of their own."""


def count_on_device(
    table: DeviceTable,
    schema: Schema,
    blocks: Sequence[Block],
    columns: Sequence[Sequence[int]],
    codes: np.ndarray,
    weights: np.ndarray | None,
) -> Callable[[slice, int, int], ModelStatistics | None]:
    """A function that counts some rows of a table on its device.

    Parameters
    ----------
    table : DeviceTable
    schema : Schema
    blocks : sequence of Block
    columns : sequence of sequence of int
        Positions of each block's columns in the table.
    codes : array of int, shape (rows,)
        Position of each row's class.
    weights : array, shape (rows,), or None

    Returns
    -------
    callable
        Arguments: the rows to count, the first row to read, and the number of rows to read. The rows to read include
        the rows to count. It returns NumPy arrays, or None if the model does not allow a cell.

    Raises
    ------
    NotImplementedError
        If only the host can read the table.
    """
    cells = [_cells_of(table, schema, *which) for which in zip(blocks, columns, strict=True)]
    families = [block.family for block in blocks]
    labels = jnp.asarray(codes, jnp.int32), None if weights is None else jnp.asarray(weights)
    number = len(schema.classes)

    def count(rows: slice, start: int, size: int) -> ModelStatistics | None:
        skipped = rows.start - start
        arguments = table.array, start, skipped, *labels, families, cells
        counted, fine = _count(*arguments, size=size, num_classes=number)
        return jax.tree.map(np.array, counted) if fine else None

    return count


def log_joint_on_device(
    table: DeviceTable,
    schema: Schema,
    blocks: Sequence[Block],
    columns: Sequence[Sequence[int]],
    class_probs: np.ndarray,
    densities: Sequence[tuple[Family, Parameters | None]],
    *,
    normalised: bool,
) -> Callable[[slice, int, int], np.ndarray | None]:
    """A function that computes log joint densities of some rows of a table and each class, on its device.

    Parameters
    ----------
    table, schema, blocks, columns
        As for `count_on_device`.
    class_probs : array, shape (classes,)
    densities : sequence of tuple
        For each block its family and parameters. None in place of parameters means the predictive density.
    normalised : bool
        Whether to give log class probabilities instead.

    Returns
    -------
    callable
        As for `count_on_device`; it returns densities, shape (rows, classes).

    Raises
    ------
    NotImplementedError
        If only the host can read the table.
    """
    cells = [_cells_of(table, schema, *which) for which in zip(blocks, columns, strict=True)]
    log_prior = log(class_probs)

    def log_joint(rows: slice, start: int, size: int) -> np.ndarray | None:
        found, fine = _log_joint(table.array, start, log_prior, densities, cells, size=size)
        found = _log_normalised(found) if normalised else found
        return np.array(found)[rows.start - start :] if fine else None

    return log_joint


def _cells_of(table: DeviceTable, schema: Schema, block: Block, columns: Sequence[int]) -> tuple[Any, Any]:
    """Columns of a block (None for all columns of the table), and its categories.

    The categories are given by their number if they are 0, 1, 2, ... in every column, else by an array of shape
    (columns, categories), filled up with NaN, and by None for a block without categories.

    Raises
    ------
    NotImplementedError
        If a category is not a number that a cell of a JAX array can hold.
    """
    index = None if columns == range(len(table.names)) else jnp.asarray(list(columns), jnp.int32)
    if not block.has_categories:
        return index, None
    each = [[_as_number(category) for category in schema.categories[column]] for column in block.columns]
    longest = max(map(len, each))
    # Columns of a joint block may differ in their number of categories.
    numbers = np.array([[*numbers, *[np.nan] * (longest - len(numbers))] for numbers in each])
    own_codes = bool((numbers == np.arange(numbers.shape[1])).all())
    return index, jnp.asarray(float(numbers.shape[1]) if own_codes else numbers)


def _as_number(category: Any) -> float:
    if category == OTHER:
        return np.nan  # equal to no cell
    number = float(category) if isinstance(category, bool | int | float) else np.inf
    if abs(number) >= 2**53:
        raise NotImplementedError
    return number


@partial(jax.jit, static_argnames=("size", "num_classes"))
def _count(
    array: Any,
    start: Any,
    skipped: Any,
    codes: Any,
    weights: Any,
    families: Sequence[Family],
    cells: Sequence[tuple[Any, Any]],
    *,
    size: int,
    num_classes: int,
) -> tuple[ModelStatistics, Any]:
    """Statistics of some rows without the first `skipped` ones, and whether the model counts their cells."""
    rows = jax.lax.dynamic_slice_in_dim(array, start, size).astype(jnp.float64)
    codes = jax.lax.dynamic_slice_in_dim(codes, start, size)
    weight = 1.0 if weights is None else jax.lax.dynamic_slice_in_dim(weights, start, size)[:, None]
    weight = jnp.where(jnp.arange(size)[:, None] >= skipped, weight, 0.0)
    membership = weight * jax.nn.one_hot(codes, num_classes, dtype=jnp.float64)
    blocks, fine = [], jnp.bool_(True)
    for family, which in zip(families, cells, strict=True):
        x, allowed = encoded(family, rows, *which)
        counted = jnp.where(jnp.isnan(x).any(axis=1)[:, None], 0.0, membership) if family.whole_rows else membership
        blocks.append(family.device_statistics(x, codes, counted))
        fine &= allowed.all()
    return ModelStatistics(ClassCounts(membership.sum(axis=0)), tuple(blocks)), fine


@partial(jax.jit, static_argnames="size")
def _log_joint(
    array: Any,
    start: Any,
    log_prior: Any,
    densities: Sequence[tuple[Family, Parameters | None]],
    cells: Sequence[tuple[Any, Any]],
    *,
    size: int,
) -> tuple[Any, Any]:
    """Log joint densities of some rows, and whether the model allows their cells."""
    precision = jnp.float32 if jnp.issubdtype(array.dtype, jnp.floating) and array.dtype.itemsize < 8 else jnp.float64
    rows = jax.lax.dynamic_slice_in_dim(array, start, size).astype(precision)
    blocks, allowed = zip(
        *(encoded(family, rows, *which) for (family, _), which in zip(densities, cells, strict=True)), strict=True
    )
    total = log_joint_of_blocks((log_prior, densities), blocks)
    return total, jnp.stack(allowed).all() & ~jnp.isnan(total).any()


def log_joint_of_blocks(arrays: tuple[Any, Sequence[tuple[Family, Parameters | None]]], cells: Sequence[Any]) -> Any:
    """Log joint densities of encoded rows and each class, for JAX to compile.

    Parameters
    ----------
    arrays : tuple of array of shape (classes,) and sequence of tuple
        Log class probabilities, and for each block its family and parameters, as for `log_joint_on_device`.
    cells : sequence of jax.Array, shape (rows, columns)
        Cells of each block.

    Returns
    -------
    jax.Array, shape (rows, classes)
    """
    total, densities = arrays
    for (family, parameters), x in zip(densities, cells, strict=True):
        if parameters is None:
            total += family.device_log_predictive(x)  # type: ignore[attr-defined]
        else:
            total += family.device_log_likelihood(parameters, x)
    return total


@jax.jit
def _log_normalised(log_joint: Any) -> Any:
    """Log class probabilities; -inf in every class for rows whose joint density is zero in every class."""
    highest = log_joint.max(axis=1, keepdims=True)
    relative = log_joint - jnp.where(jnp.isneginf(highest), 0.0, highest)
    total = jnp.exp(relative).sum(axis=1, keepdims=True)
    return relative - jnp.where(total == 0, 0.0, jnp.log(total))


def encoded(family: Family, rows: Any, columns: Any, categories: Any) -> tuple[Any, Any]:
    """Cells of a block, and which rows the family allows, as `check_cells` does.

    Parameters
    ----------
    family : Family
    rows : jax.Array, shape (rows, columns of the table)
    columns : jax.Array of int, shape (columns,), or None
        Positions of the block's columns in the table; None for all of them.
    categories : jax.Array or None
        None for a block without categories; their number, if cells are codes; else the categories themselves, shape
        (columns, categories).

    Returns
    -------
    tuple of jax.Array of shape (rows, columns) and jax.Array of bool of shape (rows,)
    """
    x = rows if columns is None else jnp.take(rows, columns, axis=1)
    if categories is None:
        support = constraints.nonnegative if family.accepts_fractions else family.support
        allowed = support(x) & (x < jnp.inf)
        if support is constraints.nonnegative_integer:
            allowed &= x <= LARGEST_COUNT
        elif x.dtype == jnp.float64:  # no smaller type holds LARGEST_NUMBER
            allowed &= jnp.abs(x) <= LARGEST_NUMBER
        allowed = allowed | jnp.isnan(x) if family.cell == "number" else allowed
    elif categories.ndim == 0:
        allowed = (x >= 0) & (x < categories) & (x == jnp.rint(x)) | jnp.isnan(x)
    else:
        same = x[:, :, None] == categories
        allowed = same.any(axis=-1) | jnp.isnan(x)
        x = jnp.where(jnp.isnan(x), jnp.nan, same.argmax(axis=-1)).astype(x.dtype)
    return x, allowed.all(axis=1)
