"""The joint density of rows and classes as a pure function, which JAX's transformations take."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from bayesnb.core.checking import a_type
from bayesnb.families.base import Family, of_column, parameters_of_column
from bayesnb.model.bound import BoundModel
from bayesnb.model.device import encoded, log_joint_of_blocks
from bayesnb.model.weights import mixed

__all__ = [
    "function_of_array",
    "log_joint_of_averages",
    "log_joint_of_weighted",
    "log_mean_of_closed_forms",
    "log_mean_under_draws",
]

DRAWS = 64
"""Draws whose densities of single cells are in memory at a time."""


def function_of_array(
    model: BoundModel, density: Callable[[Any, Sequence[Any]], Any], arrays: Any
) -> Callable[[Any], Any]:
    """A pure function of an array of cells; `Posterior.log_joint_function` describes it.

    Parameters
    ----------
    model : BoundModel
    density : callable
        A function of a module: maps `arrays` and the cells of each block to log joint densities (rows, classes).
    arrays : pytree
    """
    num_columns, num_classes = len(model.schema.columns), len(model.schema.classes)
    families = list(model.families)
    places = [
        (
            np.asarray(block.columns, dtype=np.int32),
            _codes([len(model.schema.categories[position]) for position in block.columns])
            if block.has_categories
            else None,
        )
        for block in model.blocks
    ]
    of_rows = Partial(_log_joint, Partial(density), families, places, arrays)

    def log_joint(x: Any) -> Any:
        cells = _as_numbers(x)
        if cells.shape[-1:] != (num_columns,):
            raise ValueError(
                f"x has shape {cells.shape}: its last axis must be the {num_columns} columns of the fit, "
                f"{list(model.schema.columns[:10])}{' and so on' if num_columns > 10 else ''}"
            )
        try:
            found = _in_float64(of_rows, cells.reshape(-1, num_columns))
        except jax.errors.JAXTypeError as error:
            raise TypeError(
                f"a density of {sorted({family.family_name for family in families})} needs numbers, which JAX does "
                "not know under a transformation: write it with jax.numpy, without conditions on its arguments"
            ) from error
        return found.reshape(*cells.shape[:-1], num_classes)

    return log_joint


def _codes(sizes: Sequence[int]) -> Any:
    """The codes of a block's categories as `encoded` takes them, given the number of categories of each column."""
    if len({*sizes}) == 1:
        return np.float64(sizes[0])
    codes = np.arange(float(max(sizes)))
    return np.where(codes < np.array(sizes)[:, None], codes, np.nan)


def _as_numbers(x: Any) -> Any:
    """An array of floating-point numbers, at least float32."""
    try:
        array = jnp.asarray(x)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"x is {a_type(x)} that JAX cannot hold ({error}): give an array of numbers, with the codes of "
            "categories, which are positions in posterior.model.schema.categories[column]"
        ) from None
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise TypeError("x holds complex numbers: give an array of real numbers")
    return array.astype(jnp.promote_types(array.dtype, jnp.float32))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _in_float64(of_rows: Partial, rows: Any) -> Any:
    """A function of rows, each on its own, computed in float64 and returned in the precision of the rows."""
    with jax.enable_x64(True):
        return _values(of_rows, rows)


@_in_float64.defjvp
def _(of_rows: Partial, at: tuple[Any], along: tuple[Any]) -> tuple[Any, Any]:
    # JAX runs a backward pass outside this block, in its own precision. All derivatives are therefore computed here.
    (rows,), (direction,) = at, along
    with jax.enable_x64(True):
        found, slopes = _values_and_slopes(of_rows, rows)
    return found, jnp.einsum("crj,rj->rc", slopes, direction)


@jax.jit
def _values(of_rows: Partial, rows: Any) -> Any:
    return of_rows(rows.astype(jnp.float64)).astype(rows.dtype)


@jax.jit
def _values_and_slopes(of_rows: Partial, rows: Any) -> tuple[Any, Any]:
    """The function, shape (rows, classes), and its slopes along the columns, shape (classes, rows, columns)."""
    found, backwards = jax.vjp(of_rows, rows.astype(jnp.float64))
    classes = jnp.eye(found.shape[-1])
    (slopes,) = jax.vmap(lambda of_class: backwards(jnp.broadcast_to(of_class, found.shape)))(classes)
    return found.astype(rows.dtype), slopes.astype(rows.dtype)


def _log_joint(
    density: Callable[[Any, Sequence[Any]], Any],
    families: Sequence[Family],
    places: Sequence[tuple[Any, Any]],
    arrays: Any,
    rows: Any,
) -> Any:
    """Log joint densities, shape (rows, classes); NaN in rows that the model does not allow."""
    pairs = [encoded(family, rows, *place) for family, place in zip(families, places, strict=True)]
    cells, allowed = zip(*pairs, strict=True)
    return jnp.where(jnp.stack(allowed).all(axis=0)[:, None], density(arrays, cells), jnp.nan)


def log_mean_under_draws(arrays: tuple[Any, Sequence[Family], Any], cells: Sequence[Any]) -> Any:
    """As `bayesnb.posterior.under_draws.log_mean_joint`, given log class probabilities, families, and draws."""
    log_class_probs, families, draws = arrays

    def of_draw(draw: Any) -> Any:
        log_prior, parameters = draw
        return log_joint_of_blocks((log_prior, list(zip(families, parameters, strict=True))), cells)

    return _log_mean(of_draw, (log_class_probs, draws))


def log_mean_of_closed_forms(arrays: tuple[Any, Sequence[Family]], cells: Sequence[Any]) -> Any:
    """Log of the average of closed forms, given log class probabilities and families, axis of the forms first."""

    def of_form(form: Any) -> Any:
        log_prior, families = form
        return log_joint_of_blocks((log_prior, [(family, None) for family in families]), cells)

    return _log_mean(of_form, arrays)


def _log_mean(of_one: Callable[[Any], Any], many: Any) -> Any:
    """Log of the mean of exponentials of a function of each entry of a pytree's first axis."""
    # The backward pass computes the densities again, so that only their sums are kept.
    found = jax.lax.map(jax.checkpoint(of_one), many, batch_size=DRAWS)
    return jax.scipy.special.logsumexp(found, axis=0) - np.log(len(found))


def log_joint_of_averages(arrays: tuple[Any, Sequence[tuple[Any, ...]]], cells: Sequence[Any]) -> Any:
    """The average over two hypotheses for each feature, of log joint densities of rows and classes.

    Parameters
    ----------
    arrays : tuple of array of shape (classes,) and sequence of tuple
        Log class probabilities; for each block the family with parameters for each class, that with parameters that
        all classes share, and the log probabilities of the two hypotheses.
    cells : sequence of jax.Array, shape (rows, columns)
    """
    total, blocks = arrays
    for block, x in zip(blocks, cells, strict=True):
        total += _of_features(block, x).sum(axis=-1)
    return total


def log_joint_of_weighted(arrays: tuple[Any, ...], cells: Sequence[Any]) -> Any:
    """The log of the product of densities of features, each to the power of its weight, mixed as `mixed` says.

    Parameters
    ----------
    arrays : tuple
        Log class probabilities without and with offsets; the probability that a feature of a row, and that all of them
        together, say nothing; for each block the weights of its features, and a tuple: the family; the four arrays of
        `log_joint_of_averages`; or the family and a dictionary of its parameters under draws.
    cells : sequence of jax.Array, shape (rows, columns)
    """
    log_class_prob, log_prior, in_feature, in_row, blocks = arrays
    total = jnp.zeros_like(log_prior)
    for (weights, block), x in zip(blocks, cells, strict=True):
        by_feature = jnp.moveaxis(_of_features(block, x), 1, -1)
        total += (weights[:, None] * mixed(by_feature, log_class_prob, in_feature)).sum(axis=1)
    return log_prior + mixed(total, log_prior, in_row)


def _of_features(block: tuple[Any, ...], x: Any) -> Any:
    """Log density of each feature of a block, shape (rows, classes, features): of the class, or averaged."""
    if len(block) == 2:
        return _of_features_under_draws(*block, x)
    densities = [
        family.device_log_predictive(x)[..., None] if family.joint else family.device_cells_log_predictive(x)
        for family in block[:2]
    ]
    if len(block) == 1:
        return densities[0]
    _, _, log_in, log_out = block
    averages = jnp.logaddexp(log_in + densities[0], log_out + densities[1])
    return averages if block[0].joint else jnp.where(jnp.isnan(x)[:, None, :], 0.0, averages)


def _of_features_under_draws(family: Family, draws: dict[str, Any], x: Any) -> Any:
    """Log of the mean over draws of the density of each feature, shape (rows, classes, features)."""
    if family.joint:
        return _log_mean(lambda values: family.device_log_likelihood(values, x), draws)[..., None]
    found = []
    for j in range(x.shape[1]):
        alone = of_column(family, j)

        def of_draw(one: Any, alone: Family = alone, cells: Any = x[:, j : j + 1]) -> Any:
            return alone.device_log_likelihood(one, cells)

        found.append(_log_mean(of_draw, parameters_of_column(draws, j, 1)))
    return jnp.stack(found, axis=-1)
