"""Random keys for JAX and random generators for NumPy, both from one seed."""

from functools import partial
from typing import Any

import jax
import numpy as np

__all__ = ["as_key", "random_generator", "split", "split_twice"]

FEWEST = 16
"""Smallest number of keys that are split at a time."""


def as_key(key: Any) -> jax.Array:
    """A JAX key from an int seed or a JAX key.

    Raises
    ------
    TypeError
        If it is neither.
    ValueError
        If it is an int of more than 64 bits.
    """
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        if not -(2**63) <= key < 2**63:
            raise ValueError(f"key is {key}: give an int seed of 64 bits, from -2**63 to 2**63 - 1")
        return jax.random.key(int(key))
    if isinstance(key, jax.Array):
        return key if jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key) else jax.random.wrap_key_data(key)
    raise TypeError(f"key is {key!r}: give an int seed or a JAX key")


def split(key: jax.Array, number: int) -> list[jax.Array]:
    """The keys of `jax.random.split`.

    JAX compiles a program for each number of keys. The first keys do not depend on how many there are, so that their
    number is a power of two. To unpack an array of keys, JAX compiles a program of as many outputs as there are keys.
    NumPy needs none.
    """
    enough = max(FEWEST, 2 ** (number - 1).bit_length())
    numbers = np.asarray(jax.random.key_data(jax.random.split(key, enough)))
    return [jax.random.wrap_key_data(own, impl=jax.random.key_impl(key)) for own in numbers[:number]]


def split_twice(key: jax.Array, number: int, parts: int) -> tuple[list[jax.Array], list[list[jax.Array]]]:
    """The keys of `split`, and for each of them the keys of its own `split` into so many parts; in one program."""
    implementation = jax.random.key_impl(key)
    keys, of_each = (np.asarray(data) for data in _split_twice(key, number, parts))
    wrapped = partial(jax.random.wrap_key_data, impl=implementation)
    return [wrapped(own) for own in keys], [[wrapped(own) for own in parts] for parts in of_each]


@partial(jax.jit, static_argnums=(1, 2))
def _split_twice(key: jax.Array, number: int, parts: int) -> tuple[jax.Array, jax.Array]:
    keys = jax.random.split(key, number)
    of_each = jax.vmap(partial(jax.random.split, num=parts))(keys)
    return jax.random.key_data(keys), jax.random.key_data(of_each)


def random_generator(key: Any) -> np.random.Generator:
    """NumPy's generator seeded by an int or a JAX key."""
    return np.random.default_rng(np.asarray(jax.random.key_data(as_key(key))).ravel().tolist())
