"""Modes and draws of weights: draws that are taken from them, and their summary."""

import numpy as np
import pytest

from bayesnb.model.weights import FeatureWeights


@pytest.fixture
def weights():
    """Draws that show their chain and step."""
    number = np.arange(12.0).reshape(2, 6)
    return FeatureWeights(
        weight=np.array([0.5, 1.5]),
        offset=np.zeros(3),
        weight_draws=np.stack([number, 100 + number], axis=-1),
        offset_draws=np.stack([number, number + 0.25, number + 0.5], axis=-1),
        spread_draws=number / 10,
        num_rows=9,
    )


@pytest.mark.parametrize(("chains", "steps"), [(2, 6), (3, 2), (1, 1), (4, 5)])
def test_draws_are_taken_together(weights, rng, chains, steps):
    found = weights.take(chains, steps, rng)
    number = found["weight"][..., 0]
    assert number.shape == (chains, steps)
    assert found["offset"].shape == (chains, steps, 3)
    np.testing.assert_array_equal(found["weight"][..., 1], 100 + number)
    np.testing.assert_array_equal(found["offset"][..., 2], number + 0.5)
    np.testing.assert_array_equal(found["spread"], number / 10)
    if chains * steps <= 12:
        assert len(np.unique(number)) == chains * steps
    else:
        assert len(np.unique(number)) > 6


def test_different_keys_take_different_draws(weights):
    one, other = (weights.take(2, 6, np.random.default_rng(seed))["spread"] for seed in (1, 2))
    assert (one != other).any()


def test_summary(weights):
    found = weights.summary(0.8)
    assert list(found) == ["feature_weight", "class_offset", "weight_spread"]
    pooled = np.arange(12.0)
    np.testing.assert_allclose(found["feature_weight"]["mean"], [5.5, 105.5])
    np.testing.assert_allclose(found["feature_weight"]["sd"], np.sqrt(13.0))  # (n^2 - 1) / 12 times n / (n - 1)
    np.testing.assert_allclose(found["class_offset"]["lower"], np.quantile(pooled, 0.1) + np.arange(3) / 4)
    np.testing.assert_allclose(found["weight_spread"]["upper"], np.quantile(pooled, 0.9) / 10)


def test_a_shared_weight_has_no_spread(weights, rng):
    shared = FeatureWeights(
        weights.weight, weights.offset, weights.weight_draws, weights.offset_draws, None, weights.num_rows
    )
    assert shared.shared
    assert not weights.shared
    assert list(shared.summary(0.89)) == ["feature_weight", "class_offset"]
    assert shared.take(1, 3, rng)["spread"] is None
