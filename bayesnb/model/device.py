"""Densities of the cells of blocks, for JAX to compile."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from numpyro.distributions import constraints

from bayesnb.families.base import Family, Parameters
from bayesnb.model.cells import LARGEST_COUNT, LARGEST_NUMBER

__all__ = ["encoded", "log_joint_of_blocks"]


def log_joint_of_blocks(arrays: tuple[Any, Sequence[tuple[Family, Parameters | None]]], cells: Sequence[Any]) -> Any:
    """Log joint densities of encoded rows and each class, for JAX to compile.

    Parameters
    ----------
    arrays : tuple of array of shape (classes,) and sequence of tuple
        Log class probabilities, and for each block its family and parameters; None in place of parameters means the
        predictive density.
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
