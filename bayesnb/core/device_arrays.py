"""Arrays of JAX on a device from which NumPy reads nothing without a copy."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.core.checking import is_jax, is_traced
from bayesnb.core.deferred import jax, jnp

PIECE_SIZES = 2**19, 2**24
"""Numbers of cells that are computed at a time on a CPU, so that they stay near its cache, and on other devices, so
that each operation takes longer than its start."""


def is_concrete(x: Any) -> bool:
    """Whether a value is an array of JAX that is neither traced nor deleted."""
    return is_jax(x) and not is_traced(x) and not x.is_deleted()


def lies_on_device(x: Any) -> bool:
    """Whether an array of JAX lies on one device, other than the CPU that computes NumPy arrays."""
    return is_concrete(x) and len(x.devices()) == 1 and x.devices() != {host_device()}


def host_device() -> Any:
    """The first CPU of JAX, from which NumPy reads arrays without a copy; None if JAX has no CPU."""
    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError:
        return None


def result_on_device(function: Callable[[], Any]) -> Any:
    """What a function finds on a device; None where the host has to compute it.

    That is where a formula of a family needs numbers, or a device has no way. The host then raises its own error if
    something is wrong.
    """
    try:
        with jax.enable_x64(True):
            return function()
    except (TypeError, ValueError, AttributeError, NotImplementedError):
        return None


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that stays on its device: comparisons and sums are computed there, and all else takes a copy.

    Attributes
    ----------
    array : jax.Array
        Committed to its device.
    """

    def __init__(self, array: Any) -> None:
        self.array = jax.device_put(array, array.sharding)

    def beside(self, values: Any, dtype: Any = None) -> Any:
        """Values as an array of JAX on the device of this array, by default in their own type."""
        with jax.enable_x64(True):
            there = values.array if isinstance(values, DeviceArray) else jax.device_put(values, self.array.sharding)
            return there.astype(dtype or values.dtype)

    @cached_property
    def copied(self) -> np.ndarray:
        """The array in the memory of the CPU."""
        return np.array(jax.device_get(self.array))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "array":
            raise AttributeError(name)
        return getattr(self.array if name in ("shape", "ndim", "size", "dtype", "device") else self.copied, name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.copied, dtype, copy=copy)

    def __len__(self) -> int:
        return int(self.array.shape[0])

    def __getitem__(self, index: Any) -> Any:
        """Some entries, copied; those at given positions are taken on the device."""
        if getattr(index, "dtype", np.dtype(bool)).kind in "iu":
            return np.array(jax.device_get(self.array[index]))
        return self.copied[index]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return getattr(ufunc, method)(*(np.asarray(each) for each in inputs), **options)
        with jax.enable_x64(True):
            return DeviceArray(getattr(jnp, ufunc.__name__)(*(getattr(each, "array", each) for each in inputs)))

    def distinct(self) -> np.ndarray:
        """The distinct values, sorted, with one NaN if there is any."""
        with jax.enable_x64(True):
            return np.array(jax.device_get(jnp.unique(self.array)))

    def positions(self, values: np.ndarray) -> "DeviceArray | None":
        """The position of each number among others; None if some are not among these."""
        order = np.argsort(values)
        with jax.enable_x64(True):
            known, places = jnp.asarray(values[order]), jnp.asarray(order.astype(np.int32))
            at = jnp.minimum(jnp.searchsorted(known, self.array), len(order) - 1)
            found = DeviceArray(places[at])
            return found if bool(jax.device_get((known[at] == self.array).all())) else None

    def any(self) -> bool:
        return bool(jax.device_get(self.array.any()))

    def all(self) -> bool:
        return bool(jax.device_get(self.array.all()))

    def sum(self) -> float:
        with jax.enable_x64(True):
            return float(jax.device_get(self.array.sum()))
