"""Random keys."""

import jax
import numpy as np
import pytest

from bayesnb.keys import split


@pytest.mark.parametrize("kind", ["threefry2x32", "rbg"])
def test_split_keys_are_those_of_jax(kind: str) -> None:
    key = jax.random.key(7, impl=kind)
    expected = jax.random.split(key, 3)
    found = split(key, 3)
    assert [own.dtype for own in found] == [expected.dtype] * 3
    np.testing.assert_array_equal([jax.random.key_data(own) for own in found], jax.random.key_data(expected))
