"""The shape lines of a check: L-moments, the scale, the p-value over all columns, and what they find."""

from collections import Counter

import numpy as np
import pytest
import scipy.stats
from cases import Exponential

import bayesnb as nb
from bayesnb.families.bins import Resolution

SHAPES = ("L-skewness", "L-kurtosis", "share of one value")

RESOLUTIONS = {
    "whole": ([40.0, 23.0, 24.0, 40.0, np.nan], 1.0, True),
    "halves": ([1.5, 1.5, 3.0, 2.0, 7.5], 0.5, True),
    "inches": (2.54 * np.array([60, 61, 63, 63, 70, 58]), 2.54, True),
    "equal up to rounding": ([0.1 + 0.2, 0.3, 0.7], 0.4, True),
    "no value twice": ([0.37, 0.11, 5.2], 0.0, False),
    "one value": ([3.0, 3.0, 3.0], 0.0, True),
    "none": ([np.nan, np.nan], 0.0, False),
    # Of 70.1 - 70, 70.2 - 70 and so on: the values are tenths, each with an error of its own.
    "differences": (np.array([1.1, 2.2, 2.2, 3.3, 70.3]) - np.array([1.0, 2.0, 2.0 + 1e-15, 3.0, 70.0]), 0.1, True),
    "rounding of large ones": ([0.0, 1.0, 1e6, np.nextafter(1e6, 2e6)], 1.0, True),
    "no rounding": ([0.0, 1.0, 1e6], 0.0, False),
}


@pytest.mark.parametrize("name", RESOLUTIONS)
@pytest.mark.parametrize("unit", [1.0, -1.0, 2.0**-40, 2.0**40])
def test_a_column_has_the_resolution_of_its_values(name, unit):
    values, step, tied = RESOLUTIONS[name]
    values, step = np.asarray(values)[:, None] * unit, step * abs(unit)
    grid = Resolution.of(values)
    assert (grid.step[0], grid.tied[0]) == (pytest.approx(step), tied)
    if np.isfinite(values).any():
        assert (grid.first[0], grid.last[0]) == (np.nanmin(values), np.nanmax(values))
    rounding = 1e-12 * np.nan_to_num(np.abs(values)).max()
    np.testing.assert_allclose(grid.round(values), values, rtol=0, atol=rounding)
    near = values + 0.2 * step
    np.testing.assert_allclose(grid.round(near), values if step else near, rtol=0, atol=rounding)


def plain(rng):
    """Columns without ties, with tenths, and with missing cells."""
    X = rng.normal(size=(42, 3))
    X[:, 1] = X[:, 1].round(1)
    X[::5, 2] = np.nan
    return X, np.repeat(["a", "b"], [12, 30])


def of_few_rows(rng):
    """A class of four rows and one of nine; a column of three and eight cells, one that a class holds constant, one far
    from zero."""
    X = rng.gamma(2.0, size=(13, 4))
    X[:, 1] = X[:, 1].round(1)
    X[[0, 4], 1], X[[1, 2], 1] = np.nan, 1.0
    X[:4, 2] = 1.0
    X[:, 3] += 1e6
    return X, np.repeat(["a", "b"], [4, 9])


@pytest.mark.parametrize("table", [plain, of_few_rows])
def test_the_lines_are_those_of_a_loop_over_columns_classes_and_statistics(table, rng):
    """The same replicates, caught by a function of the user's, and no code of the package."""
    X, y = table(rng)
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y)
    tables = []

    def note(table, labels):
        assert (labels == y).all()
        tables.append(table.copy())
        return 0.0

    found = nb.check(posterior, X, y, statistics=["shape", note], num_replicates=60)
    for j in range(X.shape[1]):
        seen = X[~np.isnan(X[:, j]), j]
        step = np.diff(np.unique(seen)).min() if len(np.unique(seen)) < len(seen) else 0.0
        for each in tables[1:]:
            assert (np.isnan(each) == np.isnan(X)).all()
            if step:
                each[:, j] = seen.min() + step * ((each[:, j] - seen.min()) / step).round()
    numbers = np.array([shapes(each, y) for each in tables])  # (61, columns, classes, 3)
    out = np.full(numbers.shape, -np.inf)
    n = np.array([[(~np.isnan(X[y == c, j])).sum() for c in "ab"] for j in range(X.shape[1])])
    for place in np.ndindex(numbers.shape[1:]):
        values = numbers[:, *place]
        if np.isnan(values[0]):
            continue
        low, middle, high = np.nanquantile(values, [0.025, 0.5, 0.975])
        distance = np.where(values > middle, high - middle, middle - low)
        out[:, *place] = np.nan_to_num(abs(values - middle) / np.maximum(distance, 1 / n[place[:2]]), nan=-np.inf)
    largest = out[1:].reshape(60, -1).max(axis=1)
    for j in range(X.shape[1]):
        line = found.table.loc[f"shape[{j}]"]
        assert line.observed == pytest.approx(out[0, j].max())
        assert line.p_value == line.p_adjusted == (largest >= line.observed * (1 - 1e-9)).mean()
        np.testing.assert_allclose(found.replicated[f"shape[{j}]"], largest)
        label, k = np.unravel_index(out[0, j].argmax(), (2, 3))
        side = "high" if numbers[0, j, label, k] > np.nanmedian(numbers[:, j, label, k]) else "low"
        assert line.detail == f"{side} {SHAPES[k]} in {'ab'[label]}"


def shapes(table, y):
    def of(values):
        values = values[~np.isnan(values)]
        if len(values) < 4:
            return [np.nan] * 3
        values = (values - values.min()).round(9)  # SciPy loses digits far from zero
        moments = scipy.stats.lmoment(values, order=[3, 4]) if np.ptp(values) else [np.nan] * 2
        return [*moments, max(Counter(values.tolist()).values()) / len(values)]

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
    detail = found.table.loc["shape[0]", "detail"]
    assert detail.startswith(statistic.get(kind, "high L-"))
    assert f"shape[0] ({detail}): try another family for the column" in " ".join(repr(found).split())


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
    y = np.repeat([0, 1], 100)
    X = np.column_stack([rng.exponential(size=200), rng.normal(size=200), rng.poisson(2, 200), y])
    model = nb.NaiveBayes({0: Exponential(), 1: nb.Gaussian(), 2: nb.Poisson(), 3: nb.Bernoulli()})
    found = nb.check(nb.fit(model, X, y), X, y, num_replicates=100, key=1)
    assert list(found.table.filter(like="shape", axis=0).index) == ["shape[0]", "shape[1]"]
    assert not any(label.startswith("shape") for label in found.extreme)
