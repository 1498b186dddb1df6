"""The joint density as a pure function of an array, which JAX's transformations take."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import gcd
from typing import Any

import numpy as np

from bayesnb.core.cells import LARGEST_COUNT, LARGEST_NUMBER
from bayesnb.core.checking import a_type, require_readable
from bayesnb.core.deferred import constraints, jax, jit, jnp, map_tree, with_derivative
from bayesnb.data.schema import Schema
from bayesnb.families.family import Family
from bayesnb.families.hyperparameters import accepts_fractions
from bayesnb.model.bound import BoundModel
from bayesnb.posterior.density import RowDensity

NUMBERS = 2**19, 2**24
"""Densities of cells that are computed at a time on a CPU, so that they stay near its cache, and on other devices, so
that each operation takes longer than its start."""


def function_of_array(model: BoundModel, density: RowDensity) -> Callable[[Any], Any]:
    """A pure function of an array of cells; `Posterior.log_joint_function` describes it.

    Parameters
    ----------
    model : BoundModel
    density : RowDensity
        That of the model's blocks.
    """
    num_columns, num_classes = len(model.schema.source_columns), len(model.schema.classes)
    families = list(model.families)
    sizes = {position: len(categories) for position, categories in model.schema.categories.items()}
    places = [
        (
            np.take(model.schema.sources, block.columns).astype(np.int32),
            np.array([float(sizes[position]) for position in block.columns]) if block.has_categories else None,
            {j: own for j, position in enumerate(block.columns) if (own := _made_in_jax(model.schema, position))},
        )
        for block in model.blocks
    ]
    of_blocks, arrays = density.jax_density()
    of_rows = jax.tree_util.Partial(_log_joint_of_array, jax.tree_util.Partial(of_blocks), families, places, arrays)
    numbers = num_columns * num_classes * density.num_at_a_time

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
            raise TypeError(
                f"a density of {sorted({family.family_name for family in families})} needs numbers, which JAX does "
                "not know under a transformation: write it with jax.numpy, without conditions on its arguments"
            ) from error

    return log_joint


def _made_in_jax(schema: Schema, position: int) -> "jax.tree_util.Partial | None":
    """How the cells of a column follow from those of its source, for JAX; None where they are the same.

    Raises
    ------
    ValueError
        If they follow from dates, which an array of numbers does not hold.
    """
    if position in schema.edges:
        return jax.tree_util.Partial(_code_of_bin, np.array(schema.edges[position]))
    column, source = schema.derivation(position), schema.sources[position]
    if column is None or column.is_copy:
        return None
    if column.recipe == "missing":
        return jax.tree_util.Partial(jnp.isnan)
    if column.recipe != "category":
        raise ValueError(
            f"the model reads dates of the column {column.of!r}, which arrays of numbers do not hold: take log_joint, "
            'or fit it without, NaiveBayesClassifier(descriptions="columns")'
        )
    own = schema.categories[position]
    places = {category: float(code) for code, category in enumerate(own)}
    if source in schema.categories:  # the array holds codes of the source's categories
        values = np.arange(len(schema.categories[source]), dtype=np.float64)
        codes = [places.get(category, len(own) - 1.0) for category in schema.categories[source]]
    else:
        values, codes = np.sort(np.array(own[:-1], dtype=np.float64)), [places[v] for v in sorted(own[:-1])]
    return jax.tree_util.Partial(_code_of_value, values, np.array(codes), len(own) - 1.0)


def _code_of_bin(edges: Any, x: Any) -> Any:
    return jnp.where(jnp.isnan(x), jnp.nan, jnp.searchsorted(edges, x, side="right"))


def _code_of_value(values: Any, codes: Any, other: float, x: Any) -> Any:
    place = jnp.clip(jnp.searchsorted(values, x), 0, len(values) - 1)
    return jnp.where(jnp.isnan(x), jnp.nan, jnp.where(values[place] == x, codes[place], other))


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
    of_cpu, of_others = (partial(_in_pieces, once, max(1, most // numbers)) for most in NUMBERS)
    return jax.lax.platform_dependent(rows, cpu=of_cpu, default=of_others)


def _in_pieces(function: Callable[[Any], Any], size: int, rows: Any) -> Any:
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


def _log_joint_of_array(
    density: Callable[[Any, Sequence[Any]], Any],
    families: Sequence[Family],
    places: Sequence[tuple[Any, Any, Any]],
    arrays: Any,
    rows: Any,
) -> Any:
    """Log joint densities, shape (rows, classes); NaN in rows that the model does not allow."""
    pairs = [_encoded(family, rows, *place) for family, place in zip(families, places, strict=True)]
    cells, allowed = zip(*pairs, strict=True)
    return jnp.where(jnp.stack(allowed).all(axis=0)[:, None], density(arrays, cells), jnp.nan)


def _encoded(family: Family, rows: Any, columns: Any, sizes: Any, made: Mapping[int, Any]) -> tuple[Any, Any]:
    """Cells of a block, shape (rows, columns), and which rows the family allows, shape (rows,), as `check_cells` does.

    `columns` are the positions of the block's columns in the table, shape (rows, columns of the table). `sizes` has the
    number of categories of each column if cells are their codes. `made` has, by position in the block, functions that
    make cells of those of the source.
    """
    x = jnp.take(rows, columns, axis=1)
    for j, own in made.items():
        x = x.at[:, j].set(own(x[:, j]).astype(x.dtype))
    if sizes is not None:
        allowed = (x >= 0) & (x < sizes) & (x == jnp.rint(x)) | jnp.isnan(x)
        return x, allowed.all(axis=1)
    support = constraints.nonnegative if accepts_fractions(family) else family.support
    allowed = support(x) & (x < jnp.inf)
    if support is constraints.nonnegative_integer:
        allowed &= x <= LARGEST_COUNT
    elif x.dtype == jnp.float64:  # no smaller type holds LARGEST_NUMBER
        allowed &= jnp.abs(x) <= LARGEST_NUMBER
    if family.cell == "number":
        allowed |= jnp.isnan(x)
    return x, allowed.all(axis=1)
