"""The shape lines of a check: L-moments, the scale, the p-value over all columns, and what they find."""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.special
import scipy.stats

import bayesnb as nb
from bayesnb.checks import statistics as lmoments
from bayesnb.checks.statistics import LMomentWeights, departures, share_at_least
from bayesnb.families.bins import Resolution

ALL_TIED = np.ones(3, dtype=bool)


@pytest.fixture
def cells(rng):
    """Columns with ties, without, and with missing cells."""
    x = np.column_stack([rng.poisson(3, 40), rng.gamma(2, size=40), rng.normal(1e6, 1.0, 40).round(1)])
    x[rng.uniform(size=40) < 0.3, 2] = np.nan
    return x


def test_l_moments_agree_with_scipy(cells):
    found = LMomentWeights.of(np.isnan(cells)).shapes(cells, ALL_TIED)
    for column, ratios in zip(cells.T, found, strict=True):
        # SciPy loses digits far from zero.
        expected = scipy.stats.lmoment(column[~np.isnan(column)] - np.nanmin(column), order=[3, 4])
        np.testing.assert_allclose(ratios[:2], expected, rtol=1e-12)
    np.testing.assert_array_equal(
        LMomentWeights.of(np.isnan(cells[:, :2])).shapes(cells[:, :2], ALL_TIED[:2]), found[:2]
    )


@pytest.mark.parametrize("number", [4, 9])
def test_l_moments_are_means_over_subsets(rng, number):
    x = rng.exponential(size=(number, 1))
    weights = {2: [-1, 1], 3: [1, -2, 1], 4: [-1, 3, -3, 1]}
    moments = {
        r: np.mean([np.dot(w, subset) for subset in combinations(np.sort(x[:, 0]), r)]) / r for r, w in weights.items()
    }
    found = LMomentWeights.of(np.isnan(x)).shapes(x, ALL_TIED[:1])[0]
    np.testing.assert_allclose(found, [moments[3] / moments[2], moments[4] / moments[2], 1 / number])


def test_the_commonest_value_is_counted(cells):
    found = LMomentWeights.of(np.isnan(cells)).shapes(cells, ALL_TIED)
    for column, share in zip(cells.T, found[:, 2], strict=True):
        seen = column[~np.isnan(column)]
        assert share == pytest.approx(max(Counter(seen.tolist()).values()) / len(seen))


def test_shapes_that_are_undefined():
    x = np.column_stack([[1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 4.0, np.nan], [np.nan] * 4])
    found = LMomentWeights.of(np.isnan(x)).shapes(x, ALL_TIED)
    np.testing.assert_array_equal(found, [[np.nan, np.nan, 1.0], [np.nan] * 3, [np.nan] * 3])
    nobody = LMomentWeights.of(np.isnan(x[:0])).shapes(x[:0], ALL_TIED)
    assert np.isnan(nobody).all()


@pytest.mark.parametrize(
    ("values", "step"),
    [
        (np.array([40.0, 23.0, 24.0, 40.0, np.nan]), 1.0),
        (np.array([1.5, 1.5, 3.0, 2.0, 7.5]), 0.5),
        (2.54 * np.array([60, 61, 63, 63, 70, 58]), 2.54),
        (np.array([0.1 + 0.2, 0.3, 0.7]), 0.4),
        (np.array([0.37, 0.11, 5.2]), 0.0),
        (np.array([3.0, 3.0, 3.0]), 0.0),
        (np.array([np.nan, np.nan]), 0.0),
    ],
)
def test_a_column_has_the_resolution_of_its_values(values, step):
    grid = Resolution.of(values[:, None])
    assert grid.step[0] == pytest.approx(step)
    rounded = grid.round(values[:, None])[:, 0]
    np.testing.assert_allclose(rounded, values, rtol=1e-12)
    assert grid.tied[0] == (len(values) > 3 or step == 0.4 or values[0] == 3.0) or np.isnan(values).all()
    fine = values + 0.2 * step
    np.testing.assert_allclose(grid.round(fine[:, None])[:, 0], values, rtol=1e-12, atol=0.21 * step * (step == 0))


def test_departures_by_hand():
    values = np.array([[5.0], [1.0], [2.0], [3.0], [np.nan]])
    low, centre, high = np.quantile([1, 2, 3, 5], [0.025, 0.5, 0.975])
    found, above = departures(values, np.array([0.1]))
    expected = [(5 - centre) / (high - centre), (centre - 1) / (centre - low), (centre - 2) / (centre - low)]
    np.testing.assert_allclose(found[:3, 0], expected)
    assert np.isnan(found[4, 0])
    assert above[:, 0].tolist() == [True, False, False, True, False]
    floored, _ = departures(values, np.array([10.0]))
    np.testing.assert_allclose(floored[0], (5 - centre) / 10)


def test_single_step_p_values_by_hand():
    # Two columns, four replicates: the largest of each is 3, 2, 5 and 4.
    replicated = np.array([[3, 1], [2, 2], [0, 5], [4, 1]]).max(axis=1)
    assert share_at_least(np.array([3.0, 6.0, 1.0]), replicated).tolist() == [0.75, 0.0, 1.0]


def test_the_lines_are_those_of_a_loop_over_columns_classes_and_statistics(rng):
    """The same replicates, caught by a function of the user's, and no code of the package."""
    y = np.repeat(["a", "b"], [12, 30])
    X = rng.normal(size=(42, 3))
    X[:, 1] = X[:, 1].round(1)
    X[::5, 2] = np.nan
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y)
    tables = []

    def note(table, labels):
        assert (labels == y).all()
        tables.append(table)
        return 0.0

    found = nb.check(posterior, X, y, statistics=["shape", note], num_replicates=60)
    step = np.diff(np.unique(X[:, 1])).min()
    for table in tables[1:]:
        assert (np.isnan(table) == np.isnan(X)).all()
        table[:, 1] = X[:, 1].min() + step * ((table[:, 1] - X[:, 1].min()) / step).round()
    numbers = np.array([shapes(np.round(table, 9), y) for table in tables])  # (61, columns, classes, 3)
    out = np.zeros(numbers.shape)
    n = [[12, 30], [12, 30], [9, 24]]
    assert [[(~np.isnan(X[y == c, j])).sum() for c in "ab"] for j in range(3)] == n
    for place in np.ndindex(numbers.shape[1:]):
        values = numbers[:, *place]
        middle = np.median(values)
        for s, value in enumerate(values):
            distance = abs(np.quantile(values, 0.975 if value > middle else 0.025) - middle)
            out[s, *place] = abs(value - middle) / max(distance, 1 / n[place[0]][place[1]])
    largest = out[1:].reshape(60, -1).max(axis=1)
    for j in range(3):
        line = found.table.loc[f"shape[{j}]"]
        assert line.observed == pytest.approx(out[0, j].max())
        assert line.p_value == (largest >= line.observed * (1 - 1e-9)).mean()
        np.testing.assert_allclose(found.replicated[f"shape[{j}]"], largest)
        label, k = np.unravel_index(out[0, j].argmax(), (2, 3))
        assert line.detail.endswith(f"{lmoments.SHAPES[k]} in {'ab'[label]}")
        side = numbers[0, j, label, k] > np.median(numbers[:, j, label, k])
        assert line.detail.startswith("high" if side else "low")


def shapes(table, y):
    def of(values):
        values = values[~np.isnan(values)]
        return [*scipy.stats.lmoment(values, order=[3, 4]), max(Counter(values.tolist()).values()) / len(values)]

    return [[of(table[y == c, j]) for c in "ab"] for j in range(table.shape[1])]


def wrong_column(kind, rng, y):
    """Ten columns, the first of which has a shape that no normal distribution has."""
    X = rng.normal(y[:, None], 1.0, (len(y), 10))
    n = len(y)
    X[:, 0] = {
        "zeros": lambda: np.where(rng.uniform(size=n) < 0.92, 0.0, rng.lognormal(size=n)),
        "log-normal": lambda: y + rng.lognormal(size=n),
        "t2": lambda: y + rng.standard_t(2, n),
        "bimodal": lambda: y + rng.choice([-1.5, 1.5], n) + 0.5 * rng.normal(size=n),
        "uniform": lambda: y + rng.uniform(-1.7, 1.7, n),
    }[kind]()
    return X


def shape_lines(X, y, replicates, key):
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y)
    return nb.check(posterior, X, y, statistics="shape", num_replicates=replicates, key=key)


@pytest.mark.parametrize("kind", ["zeros", "log-normal", "t2", "bimodal"])
def test_a_wrong_shape_among_ten_columns_is_named(kind):
    y = np.repeat([0, 1], 100)
    found = shape_lines(wrong_column(kind, np.random.default_rng(5), y), y, 100, 0)
    assert "shape[0]" in found.extreme
    statistic = {"zeros": "high share of one value", "bimodal": "low L-kurtosis", "t2": "high L-kurtosis"}
    assert found.table.loc["shape[0]", "detail"].startswith(statistic.get(kind, "high L-"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "least"), [("zeros", 19), ("log-normal", 19), ("t2", 19), ("bimodal", 19), ("uniform", 16)]
)
def test_wrong_shapes_are_found_in_twenty_tables(kind, least):
    y = np.repeat([0, 1], 100)
    found = [
        "shape[0]" in shape_lines(wrong_column(kind, np.random.default_rng([s, 20]), y), y, 300, s).extreme
        for s in range(20)
    ]
    assert sum(found) >= least


def test_whole_years_are_no_misfit(rng):
    y = np.repeat([0, 1], 100)
    ages = rng.normal(35 + 10 * y[:, None], 8.0, (200, 5)).round()
    assert shape_lines(ages, y, 100, 0).extreme == ()
    # Without the rounding of replicates, each of the columns would be one.
    shares = [Counter(ages[y == c, j]).most_common(1)[0][1] for c in (0, 1) for j in range(5)]
    assert min(shares) >= 6


def test_only_a_small_p_value_of_a_shape_is_extreme(rng):
    y = np.repeat(["a", "b"], 60)
    X = rng.normal(size=(120, 8))
    X[:, 0] = rng.lognormal(size=120)
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y)
    found = nb.check(posterior, X, y, statistics=["shape", "mean"], num_replicates=100)
    assert (found.table["p_value"] > 0.99).any()
    assert found.extreme == ("shape[0]",)
    assert found.by_extremity.index[0] == "shape[0]"
    assert (found.table["p_adjusted"] == found.table["p_value"])[[f"shape[{j}]" for j in range(8)]].all()


def test_measurements_of_other_families_have_a_shape_and_counts_do_not(rng):
    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Waiting(nb.Gaussian):
        """Cells that are positive by their support; the formulas do not matter here."""

        support = dist.constraints.positive

        def likelihood(self, mean, variance):
            return dist.Exponential(np.ones(np.shape(mean)))

    y = np.repeat([0, 1], 100)
    X = np.column_stack([rng.exponential(size=200), rng.normal(size=200), rng.poisson(2, 200), y])
    model = nb.NaiveBayes({0: Waiting(), 1: nb.Gaussian(), 2: nb.Poisson(), 3: nb.Bernoulli()})
    found = nb.check(nb.fit(model, X, y), X, y, num_replicates=100, key=1)
    assert list(found.table.filter(like="shape", axis=0).index) == ["shape[0]", "shape[1]"]
    assert not any(label.startswith("shape") for label in found.extreme)
    counts = nb.fit(nb.NaiveBayes(nb.Poisson()), X[:, [2]], y)
    with pytest.raises(ValueError, match="'shape' needs columns of measurements"):
        nb.check(counts, X[:, [2]], y, statistics="shape")


def test_a_wrong_shape_misleads_mutual_information():
    rng = np.random.default_rng(2)
    y = np.repeat(["a", "b"], 5000)
    some = rng.uniform(size=10_000) < np.where(y == "a", 0.01, 0.16)
    amount = np.where(some, rng.lognormal(size=10_000), 0.0)
    normal = nb.fit(nb.NaiveBayes(nb.Gaussian()), amount[:, None], y)
    bins = nb.fit(nb.NaiveBayes(nb.Categorical()), np.digitize(amount, [1e-9, 0.5, 1.0, 2.0])[:, None], y)
    misled, right = (nb.mutual_information(one, unit="bits")["mean"].iloc[0] for one in (normal, bins))
    shares = [0.01, 0.16]
    entropies = [scipy.stats.entropy([p, 1 - p], base=2) for p in [*shares, np.mean(shares)]]
    assert right == pytest.approx(entropies[2] - np.mean(entropies[:2]), abs=0.01)
    assert misled > 5 * right
    found = nb.check(normal, amount[:, None], y, statistics="shape", num_replicates=100)
    assert found.extreme == ("shape[0]",)
    assert "nb.mutual_information of the column misleads" in " ".join(repr(found).split())


def resolution(values):
    """Smallest value, step and whether a value occurs twice."""
    found = Resolution.of(values[:, None])
    return found.first[0], found.step[0], found.tied[0]


def test_ties_and_steps_do_not_depend_on_the_unit():
    values = np.array([0.3, 0.1 + 0.2, 0.4, 0.7, 0.4])
    first, step, tied = resolution(values)
    assert (first, step, tied) == (0.3, pytest.approx(0.1), True)
    for unit in (2.0**-40, 2.0**40):  # exact
        assert resolution(values * unit) == (first * unit, step * unit, tied)


def test_the_rounding_errors_of_differences_are_no_steps():
    """Of 70.1 - 70, 70.2 - 70 and so on: the values are tenths, each with an error of its own."""
    values = np.array([1.1, 2.2, 2.2, 3.3, 70.3]) - np.array([1.0, 2.0, 2.0 + 1e-15, 3.0, 70.0])
    first, step, tied = resolution(values)
    assert (first, step, tied) == (pytest.approx(0.1), pytest.approx(0.1), True)


def test_values_that_differ_by_rounding_are_one():
    """On either side of zero."""
    values = np.array([0.0, 1.0, 1e6, np.nextafter(1e6, 2e6)])
    assert resolution(values) == (0.0, 1.0, True)
    assert resolution(-values)[1:] == (1.0, True)
    assert resolution(values[:3]) == (0.0, 0.0, False)
