"""JAX arrays as tables; they may be in the memory of an accelerator."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays import in_float64
from bayesnb.tables.array import ArrayTable
from bayesnb.tables.columns import as_index

__all__ = ["DeviceTable", "is_on_device", "on_accelerator"]

FEW_NUMBERS = 1024
"""The device finds the distinct whole numbers of a column if their range is at most this long."""


def is_on_device(X: Any) -> bool:
    """Whether X is a JAX array of numbers that NumPy must copy from an accelerator or whose type NumPy lacks."""
    if not isinstance(X, jax.Array) or not (X.dtype == bool or jnp.issubdtype(X.dtype, jnp.number)):
        return False
    return on_accelerator(X) or X.dtype.kind == "V"


def on_accelerator(array: jax.Array) -> bool:
    """Whether an array is in the memory of an accelerator."""
    return next(iter(array.devices())).platform != "cpu"


@dataclass(frozen=True)
class DeviceTable(ArrayTable):
    """A two-dimensional JAX array of numbers, perhaps in the memory of an accelerator.

    The methods copy the cells that they return to the host.
    """

    def stored(self, columns: Sequence[int], rows: slice) -> np.ndarray:
        start, stop, _ = rows.indices(self.num_rows)
        return _on_host(_rows_of(self.array, start, size=stop - start))[:, as_index(columns)]

    def values(self, column: int, rows: slice) -> np.ndarray:
        start, stop, _ = rows.indices(self.num_rows)
        return _on_host(_rows_of(_column_of(self.array, column), start, size=stop - start))

    def distinct_values(self, column: int) -> np.ndarray:
        least, largest, shown, whole = _on_host(_shown_numbers(self.array, column))
        if not whole or largest - least >= FEW_NUMBERS:
            return super().distinct_values(column)
        return (least + np.flatnonzero(shown)).astype(_host_type(self.array.dtype))


@in_float64
def _on_host(values: Any) -> Any:
    """JAX arrays as NumPy arrays of a type that NumPy has."""
    return jax.tree.map(lambda leaf: np.asarray(leaf).astype(_host_type(leaf.dtype), copy=False), values)


def _host_type(dtype: Any) -> Any:
    return dtype if dtype.kind in "biuf" else np.dtype(np.float32)


@in_float64
@partial(jax.jit, static_argnames="size")
def _rows_of(array: Any, start: Any, *, size: int) -> Any:
    return jax.lax.dynamic_slice_in_dim(array, start, size)


@in_float64
@jax.jit
def _column_of(array: Any, column: Any) -> Any:
    return jax.lax.dynamic_index_in_dim(array, column, axis=1, keepdims=False)


@in_float64
@jax.jit
def _shown_numbers(array: Any, column: Any) -> tuple[Any, Any, Any, Any]:
    """The whole numbers that occur in a column.

    Returns
    -------
    tuple of array
        The least and the largest number; for each of the `FEW_NUMBERS` whole numbers from the least on, whether it
        occurs; whether all numbers are whole.
    """
    cells = _column_of(array, column).astype(jnp.float64)
    observed = ~jnp.isnan(cells)
    least = cells.min(initial=jnp.inf, where=observed)
    largest = cells.max(initial=-jnp.inf, where=observed)
    whole = jnp.isfinite(least) & (~observed | (cells == jnp.rint(cells)) & (jnp.abs(cells) < 2**53)).all()
    place = jnp.where(observed & whole, jnp.minimum(cells - least, FEW_NUMBERS), FEW_NUMBERS).astype(jnp.int32)
    return least, largest, jnp.zeros(FEW_NUMBERS, bool).at[place].set(True, mode="drop"), whole
