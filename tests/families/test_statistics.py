"""Sufficient statistics at sizes and means where careless ones fail."""

import operator
import tracemalloc
from fractions import Fraction

import jax
import numpy as np
import pytest
from cases import CASES

import bayesnb as nb
from bayesnb.families.moments import Moments, Scatter, moments
from bayesnb.families.statistics import ROUNDING, ClassCounts, Counts, Membership
from bayesnb.model.blocks import ModelStatistics


def exact_moments(values):
    numbers = [Fraction(float(value)) for value in values]
    mean = sum(numbers) / len(numbers)
    return float(mean), float(sum((number - mean) ** 2 for number in numbers))


@pytest.mark.parametrize("mean", [0.0, 1e4, 1e8, -1e8])
@pytest.mark.parametrize("pieces", [1, 7])
def test_moments_keep_their_digits_at_any_mean(rng, mean, pieces):
    x = rng.normal(mean, 1.0, 1000)
    one = np.ones((1000, 1))
    total = None
    for part, weight in zip(np.array_split(x[:, None], pieces), np.array_split(one, pieces), strict=True):
        counted = moments(part, weight)
        total = counted if total is None else total + counted
    exact_mean, exact_ssd = exact_moments(x)
    # One piece: the nearest float64 there is; seven pieces: a unit in the last place more.
    assert total.mean[0, 0] == pytest.approx(exact_mean, rel=1.2e-16 * (1 if pieces == 1 else 3), abs=1e-16)
    assert total.ssd[0, 0] == pytest.approx(exact_ssd, rel=1e-7 if abs(mean) == 1e8 else 1e-11)


def test_moments_unmerge_at_a_large_mean(rng):
    x = rng.normal(1e8, 1.0, (500, 1))
    one = np.ones((500, 1))
    rest = moments(x, one) - moments(x[:200], one[:200])
    np.testing.assert_allclose(rest.ssd, moments(x[200:], one[200:]).ssd, rtol=1e-6)
    np.testing.assert_allclose(rest.mean, moments(x[200:], one[200:]).mean, rtol=1e-15)


def test_a_constant_column_has_no_spread(rng):
    x = np.full((1000, 3), [0.1, 1e8 / 7, 1 / 3])
    np.testing.assert_array_equal(moments(x, rng.uniform(0.1, 2.0, (1000, 5))).ssd, 0.0)


def test_a_billion_rows_are_counted_exactly():
    """Thirty doublings of a table with one row more each time: float32 would have stopped at 2^24."""
    model = nb.NaiveBayes(nb.Bernoulli()).bind([[1], [0]], ["a", "b"])
    one = model.statistics([[1]], ["a"])
    total = one
    for _ in range(30):
        total = total + total + one
    assert total.classes.n[0] == 2**31 - 1
    assert total.blocks[0].total[0, 0] == 2**31 - 1
    assert (total - one).blocks[0].n[0, 0] == 2**31 - 2
    many = Moments(np.array([[1e9]]), np.array([[5.0]]), np.array([[1e9]]))
    left = (many + many) - many
    assert left.n[0, 0] == 1e9
    assert left.ssd[0, 0] == pytest.approx(1e9, rel=1e-15)


def test_reading_copies_chunks_only(rng):
    X = rng.integers(0, 2, (200_000, 40)).astype(bool)
    y = rng.integers(0, 2, 200_000)
    nb.fit(nb.NaiveBayes(nb.Bernoulli()), X[:100], y[:100])
    tracemalloc.start()
    nb.fit(nb.NaiveBayes(nb.Bernoulli()), X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # In float64 the table would take 64 MB; chunks and one vector of labels and weights take far less.
    assert peak < 25e6


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rounding_is_cleared_on_any_scale_of_the_weights(case, rng):
    x, weights = case.cells(rng, 40), np.eye(2)[np.arange(40) % 2] * rng.uniform(0.1, 1.0, (40, 1))
    whole = case.family.statistics(x, weights)
    rest = whole - case.family.statistics(x[2:], weights[2:])
    for factor in (2.0**-40, 2.0**40):  # exact
        found = (rest * factor).without_rounding(whole * factor)
        for mine, other in zip(
            jax.tree.leaves(found), jax.tree.leaves(rest.without_rounding(whole) * factor), strict=True
        ):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("scale", [2.0**-20, 1.0, 2.0**20])
def test_a_spread_below_zero_is_rounding_on_the_scale_of_the_cells(scale):
    before = Moments(np.array([[6.0], [4.0]]), scale * np.array([[3.0], [1.0]]), scale**2 * np.array([[2.0], [9.0]]))
    # The cells are of size 3, ten of them have a weight.
    limit = -ROUNDING * 10 * (3 * scale) ** 2
    for factor, expected in ((0.9, 0.0), (1.1, 1.1 * limit)):
        rest = Moments(np.array([[3.0], [4.0]]), before.mean, np.array([[factor * limit], [9.0 * scale**2]]))
        found = rest.without_rounding(before)
        assert found.ssd[0, 0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("share", "kept"), [(0.9, False), (1.1, True)])
def test_a_small_spread_is_rounding_on_the_scale_of_the_mean(share, kept):
    n, mean = np.full((1, 1), 6.0), np.full((1, 1), -3e9)
    limit = ROUNDING * (1 + 6 * (1e-3 * mean) ** 2)
    found = Moments(n / 2, mean, share * limit).without_rounding(Moments(n, mean, n / 6))
    assert bool(found.ssd[0, 0]) == kept


def test_a_class_without_rows_has_moments_of_zero():
    found = moments(np.array([[3.0, 4.0], [5.0, 8.0]]), np.array([[1.0, 0.0], [1.0, 0.0]]))
    np.testing.assert_array_equal(found.mean, [[4, 6], [0, 0]])
    np.testing.assert_array_equal(found.ssd, [[2, 8], [0, 0]])


def test_a_column_without_spread_keeps_no_covariance():
    spread = np.array([[[4.0, 1.0, 2.0], [1.0, 9.0, 3.0], [2.0, 3.0, 16.0]]])
    before = Scatter(np.array([[8.0]]), np.ones((1, 3)), spread)
    # The spread of the first column is a rounding error. Its covariances are larger than rounding errors.
    left = np.array([[[1e-13, 1e-5, 1e-5], [1e-5, 9.0, 3.0], [1e-5, 3.0, 16.0]]])
    found = Scatter(np.array([[5.0]]), np.ones((1, 3)), left).without_rounding(before)
    np.testing.assert_array_equal(found.scatter[0], [[0, 0, 0], [0, 9, 3], [0, 3, 16]])


@pytest.mark.parametrize("merge", [operator.add, operator.sub])
def test_statistics_of_different_models_do_not_merge(merge, rng):
    counted = moments(rng.normal(size=(10, 2)), np.ones((10, 1)))
    one, two = (ModelStatistics(ClassCounts(np.array([10.0])), blocks) for blocks in ((counted,), (counted, counted)))
    for mine, other in ((one, two), (two, one)):
        with pytest.raises(ValueError, match="zip"):
            merge(mine, other)


def test_counts_of_rows_are_pooled_to_their_sum():
    pooled = ClassCounts(np.array([2.0, 3.5, 0.0])).pooled()
    assert pooled.n.tolist() == [5.5]


def test_moments_of_other_columns_are_of_other_rows(rng):
    x, everyone = rng.normal(size=(9, 2)), np.ones((9, 1))
    both = moments(x, everyone)
    assert both.same_rows(moments(x[::-1], everyone))
    assert not both.same_rows(moments(x[:, :1], everyone))
    assert not both.same_rows(moments(x[:, ::-1], everyone))
    assert not both.same_rows(ClassCounts(both.n))


def test_columns_of_other_covariance_are_of_other_rows(rng):
    x, everyone = rng.normal(size=(9, 2)), np.ones((9, 1))
    both, other = (nb.MultivariateGaussian().statistics(np.c_[x[:, 0], y], everyone) for y in (x[:, 1], x[::-1, 1]))
    assert both.of_columns.same_rows(other.of_columns)
    assert not both.same_rows(other)


@pytest.mark.parametrize(("sum_of_other_column", "same"), [(1e-3, True), (10.0, False)])
def test_sums_may_differ_by_the_rounding_of_the_largest(sum_of_other_column, same):
    n = np.ones((1, 1))
    one, other = (Counts(n, np.array([[1e9, small]]), n) for small in (0.0, sum_of_other_column))
    assert one.same_rows(other) == same


def test_weights_of_rows_are_summed_along_every_axis():
    membership = Membership.of(np.array([0, 2, 0]), np.array([0.5, 1.0, 2.0]), 3)
    for axis in (None, 0, 1):
        np.testing.assert_array_equal(np.sum(membership, axis=axis), np.asarray(membership).sum(axis=axis))
