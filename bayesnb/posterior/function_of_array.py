"""The joint density as a pure function of an array, which JAX's transformations take."""

from collections.abc import Callable
from functools import partial
from math import gcd
from typing import Any

import numpy as np

from bayesnb.core.checking import a_type, require_readable
from bayesnb.core.deferred import jax, jit, jnp, map_tree, with_derivative
from bayesnb.core.device_arrays import PIECE_SIZES, result_on_device
from bayesnb.model.bound import BoundModel
from bayesnb.model.device_rows import cells_in_jax
from bayesnb.model.reading import Chunks
from bayesnb.posterior.density import RowDensity


def function_of_array(model: BoundModel, density: RowDensity) -> Callable[[Any], Any]:
    """A pure function of an array of cells; `Posterior.log_joint_function` describes it.

    Parameters
    ----------
    model : BoundModel
    density : RowDensity
        That of the model's blocks.
    """
    num_columns, num_classes = len(model.schema.source_columns), len(model.schema.classes)
    read = cells_in_jax(model.schema, model.blocks, model.schema.sources, coded=True)
    of_rows, numbers = _of_rows(read, density), num_columns * num_classes * density.num_at_a_time

    def of_cells(cells: Any) -> Any:
        found = _rows_in_float64(of_rows, numbers, cells.reshape(-1, num_columns))
        return found.reshape(*cells.shape[:-1], num_classes)

    def log_joint(x: Any) -> Any:
        cells = _floating_array(x)
        if cells.shape[-1:] != (num_columns,):
            raise ValueError(
                f"x has shape {cells.shape}: its last axis must be the {num_columns} columns of the fit, "
                f"{list(model.schema.source_columns[:10])}{' and so on' if num_columns > 10 else ''}"
            )
        try:
            return _where_they_are(of_cells, cells)
        except jax.errors.JAXTypeError as error:
            names = sorted({family.family_name for family in model.families})
            raise TypeError(
                f"a density of {names} needs numbers, which JAX does not know under a transformation: write it with "
                "jax.numpy, without conditions on its arguments"
            ) from error

    return log_joint


def _floating_array(x: Any) -> Any:
    """An array of floating-point numbers, at least float32."""
    require_readable("x", x)
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


def _where_they_are(of_cells: Callable[[Any], Any], cells: Any) -> Any:
    """A function of cells that gives each row on the devices that hold it, also on a mesh with Explicit axes."""
    place = jax.typeof(cells).sharding
    if not place.mesh.explicit_axes:
        return of_cells(cells)
    spec = jax.sharding.PartitionSpec(*place.spec[:-1], None)
    return jax.sharding.auto_axes(of_cells, out_sharding=jax.sharding.NamedSharding(place.mesh, spec))(cells)


def _slope_in_float64(of_rows: "jax.tree_util.Partial", numbers: int, at: tuple[Any], along: tuple[Any]) -> Any:
    # JAX runs a backward pass outside this block, in its own precision. All derivatives are therefore computed here.
    (rows,), (direction,) = at, along
    with jax.enable_x64(True):
        found, slopes = _row_values_and_slopes(of_rows, numbers, rows)
    # At their default precision, products of float32 on a GPU keep three digits.
    return found, jnp.einsum("rcj,rj->rc", slopes, direction, precision="highest")


@with_derivative(_slope_in_float64, nondiff_argnums=(0, 1))
def _rows_in_float64(of_rows: "jax.tree_util.Partial", numbers: int, rows: Any) -> Any:
    """A function of rows, each on its own, computed in float64 and returned in the precision of the rows.

    `numbers` is the largest number of densities of cells that it has of a row at a time.
    """
    with jax.enable_x64(True):
        return _row_values(of_rows, numbers, rows)


@jit(static_argnums=1)
def _row_values(of_rows: "jax.tree_util.Partial", numbers: int, rows: Any) -> Any:
    return _by_pieces(lambda part: of_rows(part.astype(jnp.float64)).astype(rows.dtype), numbers, rows)


@jit(static_argnums=1)
def _row_values_and_slopes(of_rows: "jax.tree_util.Partial", numbers: int, rows: Any) -> tuple[Any, Any]:
    """The function, shape (rows, classes), and its slopes along the columns, shape (rows, classes, columns)."""

    def of_piece(part: Any) -> tuple[Any, Any]:
        found, backwards = jax.vjp(of_rows, part.astype(jnp.float64))
        classes = jnp.eye(found.shape[-1])
        (slopes,) = jax.vmap(lambda of_class: backwards(jnp.broadcast_to(of_class, found.shape)), out_axes=1)(classes)
        return found.astype(rows.dtype), slopes.astype(rows.dtype)

    return _by_pieces(of_piece, numbers, rows)


def _by_pieces(function: Callable[[Any], Any], numbers: int, rows: Any) -> Any:
    """A function of rows by pieces of them; the size of a piece follows the platform that runs it."""
    once = jax.jit(function)  # which is traced once for the same size
    of_cpu, of_others = (partial(computed_in_pieces, once, max(1, most // numbers)) for most in PIECE_SIZES)
    return jax.lax.platform_dependent(rows, cpu=of_cpu, default=of_others)


def computed_in_pieces(function: Callable[[Any], Any], size: int, rows: Any) -> Any:
    """A function of rows, each on its own, some at a time; the rows are the first axis of each array that it gives."""
    number = len(rows)
    if number <= size:
        return function(rows)
    # Of rows that lie on several devices, each device has an equal share of every piece: nothing moves between them.
    shares = gcd(number, jax.device_count())
    own, size = number // shares, -(-size // shares)
    parts = rows.reshape(shares, own, -1)

    def put(found: Any, i: Any) -> Any:
        # JAX moves the last piece back until it ends at the last row: its first rows are then computed twice.
        piece = jax.lax.dynamic_slice_in_dim(parts, i * size, size, axis=1)
        of_piece = map_tree(lambda part: part.reshape(shares, size, *part.shape[1:]), function(merged(piece)))
        place = partial(jax.lax.dynamic_update_slice_in_dim, start_index=i * size, axis=1)
        return map_tree(place, found, of_piece), None

    def merged(part: Any) -> Any:
        return part.reshape(-1, *part.shape[2:])

    shapes = jax.eval_shape(function, rows[: shares * size])
    nothing = map_tree(lambda part: jnp.zeros((shares, own, *part.shape[1:]), part.dtype), shapes)
    found, _ = jax.lax.scan(put, nothing, jnp.arange(-(-own // size)))
    return map_tree(merged, found)


def _of_rows(read: Any, density: RowDensity) -> Any:
    """Log joint densities of rows, as a pytree."""
    of_blocks, arrays = density.jax_density()
    return jax.tree_util.Partial(_log_joint_of_array, jax.tree_util.Partial(of_blocks), read, arrays)


def _log_joint_of_array(density: Callable[..., Any], read: Callable[[Any], Any], arrays: Any, rows: Any) -> Any:
    """Log joint densities, shape (rows, classes); NaN in rows that the model does not allow."""
    cells, allowed = read(rows)
    return jnp.where(jnp.stack(allowed).all(axis=0)[:, None], density(arrays, cells), jnp.nan)


def log_joint_on_device(density: RowDensity, chunks: Chunks) -> np.ndarray | None:
    """Log joint densities of a table on a device, shape (rows, classes); None where the host has to compute them."""
    if (there := chunks.device_rows) is None:
        return None
    width = len(chunks.schema.source_columns) * len(chunks.schema.classes) * density.num_at_a_time

    def log_joint() -> Any:
        of_rows = _of_rows(there.read, density)
        return jax.device_get(_log_joint_by_pieces(of_rows, there.piece_size(width), there.rows.array))

    found = result_on_device(log_joint)
    return None if found is None or np.isnan(found).any() else np.array(found)


@jit(static_argnums=1)
def _log_joint_by_pieces(of_rows: "jax.tree_util.Partial", size: int, rows: Any) -> Any:
    return computed_in_pieces(lambda part: of_rows(part.astype(jnp.float64)), size, rows)
