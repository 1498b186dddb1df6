"""Sums over counts agree with the density of each cell, in a table and beyond it."""

import numpy as np
import pytest
from scipy.stats import nbinom

from bayesnb.families.kernels import Distinct

CLASSES, COLUMNS = 3, 4
SHAPE = np.random.default_rng(0).gamma(2.0, 1.0, (CLASSES, COLUMNS))


def density(codes, columns, counts):
    return nbinom.logpmf(counts, SHAPE[codes, columns], 0.3)


def some_counts():
    """Sixty rows of four columns: few values, values far from zero, one count far above the others, zeros only."""
    rng = np.random.default_rng(1)
    x = rng.poisson([1.0, 1.0, 2.0, 0.0], (60, COLUMNS)).astype(float)
    x[:, 1] += 1000
    x[[3, 7], 2] = [1e5, 50.0]
    x[rng.random(x.shape) < 0.1] = np.nan
    x[5], x[3, 2] = np.nan, 1e5
    return x


def expected(x):
    cells = density(np.arange(CLASSES)[:, None], np.arange(COLUMNS), np.nan_to_num(x)[:, None, :])
    return np.where(np.isnan(x)[:, None, :], 0.0, cells).sum(axis=-1)


@pytest.mark.parametrize("longest", [0, 1, 5, 60, 10**6])
def test_sums_are_those_of_the_densities_of_the_cells(longest):
    x = some_counts()
    np.testing.assert_allclose(Distinct.of(x, longest).sums(density, CLASSES), expected(x), rtol=1e-12)


@pytest.mark.parametrize("shape", [(0, COLUMNS), (5, 0)])
def test_no_rows_and_no_columns(shape):
    table = Distinct.of(np.zeros(shape), 3)
    assert table.sums(density, CLASSES).tolist() == [[0.0] * CLASSES] * shape[0]


@pytest.mark.parametrize("longest", [0, 5, 60])
def test_each_cell_has_its_density(longest):
    x = some_counts()
    cells = Distinct.of(x, longest).cells(density, CLASSES)
    at = np.arange(CLASSES)[:, None], np.arange(COLUMNS), np.nan_to_num(x)[:, None, :]
    np.testing.assert_allclose(cells, np.where(np.isnan(x)[:, None, :], 0.0, density(*at)), rtol=1e-12)


def test_weights_of_codes():
    x, weights = np.array([[0.0, 2.0], [1.0, np.nan], [0.0, 1.0]]), np.array([[1.0, 0.0], [0.5, 0.25], [0.0, 2.0]])
    found = Distinct.of_codes(x, 3).weights(weights)
    assert found.T.tolist() == [[1.0, 0.5, 0.0, 0.0, 0.0, 1.0], [2.0, 0.25, 0.0, 0.0, 2.0, 0.0]]
