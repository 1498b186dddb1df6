"""Random keys."""

import jax
import numpy as np
import pytest

from bayesnb.core.running import as_key, split


@pytest.mark.parametrize(("kind", "number"), [("threefry2x32", 3), ("threefry2x32", 17), ("rbg", 3)])
def test_split_keys_are_those_of_jax(kind: str, number: int) -> None:
    key = jax.random.key(7, impl=kind)
    expected = jax.random.split(key, number)
    found = split(key, number)
    assert [own.dtype for own in found] == [expected.dtype] * number
    np.testing.assert_array_equal([jax.random.key_data(own) for own in found], jax.random.key_data(expected))


@pytest.mark.parametrize("seed", [-(2**63), 2**63 - 1])
def test_seeds_have_64_bits(seed: int) -> None:
    as_key(seed)
    beyond = seed + (1 if seed > 0 else -1)
    with pytest.raises(ValueError, match=rf"^key is {beyond}: give an int seed of 64 bits"):
        as_key(beyond)
