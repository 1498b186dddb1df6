"""Rows of an array of JAX as the families of a model take them, and statistics of an array on a device."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.core.cells import ACCURATE_COUNT, LARGEST_COUNT, OTHER
from bayesnb.core.deferred import jax, jnp
from bayesnb.core.device_arrays import PIECE_SIZES, DeviceArray, result_on_device
from bayesnb.core.number_form import is_number
from bayesnb.data.derived import ArrangedTable
from bayesnb.data.schema import Schema
from bayesnb.data.tables import DeviceTable, Table
from bayesnb.families.device_sums import count_on_device
from bayesnb.families.family import Family
from bayesnb.families.hyperparameters import held_by
from bayesnb.families.statistics import ClassCounts
from bayesnb.model.blocks import Block, ModelStatistics

# --------------------------------------------------------------------------------------------------
# The cells of blocks from rows of numbers
# --------------------------------------------------------------------------------------------------


def cells_in_jax(schema: Schema, blocks: Sequence[Block], places: Sequence[int], *, coded: bool) -> Any:
    """A function of rows that gives the cells of each block, and which rows each block's family can hold.

    Parameters
    ----------
    schema : Schema
    blocks : sequence of Block
    places : sequence of int
        For each column of the schema, the position of its cells in a row.
    coded : bool
        Whether rows hold the codes of categories, rather than their values.

    Returns
    -------
    jax.tree_util.Partial

    Raises
    ------
    ValueError
        If cells follow from dates, which an array of numbers does not hold.
    """
    readers = []
    for block in blocks:
        sizes = None
        if block.has_categories:
            sizes = np.array([float(len(schema.categories[position])) for position in block.columns])
        makers = ((j, _maker(schema, position)) for j, position in enumerate(block.columns))
        made = [(np.array([j]), maker) for j, maker in makers if maker is not None]
        lookups = ((j, _codes_by_value(schema, position, coded=coded)) for j, position in enumerate(block.columns))
        if looked_up := {j: found for j, found in lookups if found is not None}:
            maker = jax.tree_util.Partial(_codes_of_values, *_lookup_arrays([*looked_up.values()]))
            made.append((np.array([*looked_up]), maker))
        columns = np.take(places, block.columns).astype(np.int32)
        readers.append((block.family, columns, sizes, made, LARGEST_COUNT if coded else ACCURATE_COUNT))
    return jax.tree_util.Partial(_read_blocks, readers)


def _read_blocks(readers: Sequence[Any], rows: Any) -> tuple[list[Any], list[Any]]:
    cells, allowed = zip(*(_encoded(rows, *reader) for reader in readers), strict=True)
    return list(cells), list(allowed)


def _recipe(schema: Schema, position: int) -> str | None:
    """How a column is made of its source, other than by bins; None for a copy."""
    column = schema.derivation(position)
    return None if column is None or column.is_copy or position in schema.edges else column.recipe


def _maker(schema: Schema, position: int) -> Any:
    """What makes the cells of a column of those of its source; None where codes are looked up, or for a copy."""
    if position in schema.edges:
        return jax.tree_util.Partial(_code_of_bin, np.array(schema.edges[position]))
    recipe = _recipe(schema, position)
    if recipe in (None, "category"):
        return None
    if recipe == "missing":
        return jax.tree_util.Partial(jnp.isnan)
    (name,) = schema.names([position])
    raise ValueError(
        f"the model reads dates of the column {name!r}, which arrays of numbers do not hold: take log_joint, "
        'or fit it without, NaiveBayesClassifier(descriptions="columns")'
    )


def _codes_by_value(schema: Schema, position: int, *, coded: bool) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Sorted numbers in a column's source, their codes, and the code of all others; None where no code is looked up."""
    own, source, recipe = schema.categories.get(position), schema.sources[position], _recipe(schema, position)
    if own is None or position in schema.edges or recipe == "missing":
        return None
    if recipe is None and (coded or schema.counts_from_zero[position]):
        return None
    other = len(own) - 1.0 if own[-1] == OTHER else -1.0
    if coded and source in schema.categories:  # an array of codes of the source's categories
        places = {category: float(code) for code, category in enumerate(own)}
        found = {float(code): places.get(category, other) for code, category in enumerate(schema.categories[source])}
    else:
        numbers = ((category, float(code)) for code, category in enumerate(own) if is_number(category))
        found = {float(value): code for value, code in numbers if abs(value) < LARGEST_COUNT}
    values = np.array(sorted(found), dtype=np.float64)
    return values, np.array([found[value] for value in values.tolist()]), other


def _lookup_arrays(columns: Sequence[tuple[np.ndarray, np.ndarray, float]]) -> tuple[np.ndarray, ...]:
    """What is looked up in several columns, shapes (columns, values), (columns, values) and (columns,)."""
    others = np.array([other for _, _, other in columns])
    shape = len(columns), 1 + max(len(values) for values, _, _ in columns)
    values, codes = np.full(shape, np.inf), np.broadcast_to(others[:, None], shape).copy()
    for j, (own, code, _) in enumerate(columns):
        values[j, : len(own)], codes[j, : len(own)] = own, code
    return values, codes, others


def _code_of_bin(edges: Any, x: Any) -> Any:
    return jnp.where(jnp.isnan(x), jnp.nan, jnp.searchsorted(edges, x, side="right"))


def _codes_of_values(values: Any, codes: Any, others: Any, x: Any) -> Any:
    def of_column(values: Any, codes: Any, other: Any, x: Any) -> Any:
        at = jnp.minimum(jnp.searchsorted(values, x), len(values) - 1)
        return jnp.where(jnp.isnan(x), jnp.nan, jnp.where(values[at] == x, codes[at], other))

    return jax.vmap(of_column, in_axes=(0, 0, 0, 1), out_axes=1)(values, codes, others, x)


def _encoded(
    rows: Any, family: Family, columns: Any, sizes: Any, made: Sequence[tuple[Any, Any]], most: float
) -> tuple[Any, Any]:
    """Cells of a block, shape (rows, columns), and which rows the family allows, shape (rows,), as `check_cells` does.

    `columns` are the positions of the block's columns in the table, shape (rows, columns of the table). `sizes` has the
    number of categories of each column if cells are their codes. `made` has functions that make cells of those of the
    source, each with the positions of its columns in the block. `most` is the largest count.
    """
    x = jnp.take(rows, columns, axis=1)
    for own, make in made:
        x = x.at[:, own].set(make(x[:, own]).astype(x.dtype))
    if sizes is not None:
        allowed = (x >= 0) & (x < sizes) & (x == jnp.rint(x)) | jnp.isnan(x)
        return x, allowed.all(axis=1)
    allowed = held_by(x, family, most)
    if family.cell == "number":
        allowed |= jnp.isnan(x)
    return x, allowed.all(axis=1)


# --------------------------------------------------------------------------------------------------
# Statistics and densities of a table whose cells lie on a device
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowsOnDevice:
    """The rows of a table on a device, and how a model's blocks read them.

    Attributes
    ----------
    rows : DeviceArray, shape (rows, columns)
    read : jax.tree_util.Partial
        As `cells_in_jax` gives it.
    """

    rows: DeviceArray
    read: Any

    @classmethod
    def of(cls, schema: Schema, blocks: Sequence[Block], table: Table) -> "RowsOnDevice | None":
        """None if the table is elsewhere, or a device cannot read it for the model."""
        inner, places = (table.cells, table.places) if isinstance(table, ArrangedTable) else (table, schema.sources)
        if not isinstance(inner, DeviceTable):
            return None
        try:
            return cls(inner.cells, cells_in_jax(schema, blocks, places, coded=False))
        except ValueError:
            return None

    def piece_size(self, width: int) -> int:
        """Rows of a piece, where each needs `width` numbers."""
        (device,) = self.rows.array.devices()
        return max(1, PIECE_SIZES[device.platform != "cpu"] // width)

    def count(self, blocks: Sequence[Block], codes: Any, weights: Any, num_classes: int) -> ModelStatistics | None:
        """The statistics of the rows, as `Chunks.count` has them; None if the host has to count."""
        whole = tuple(block.whole_rows for block in blocks)
        size = self.piece_size(num_classes + sum(len(block.columns) for block in blocks))
        families = [block.family for block in blocks]

        def count() -> Any:
            given = self.rows.array, self.rows.beside(codes), None if weights is None else self.rows.beside(weights)
            return count_on_device(self.read, families, whole, num_classes, size, *given)

        found = result_on_device(count)
        return None if found is None else ModelStatistics(ClassCounts(found[0]), tuple(found[1]))
