"""Sums of looked-up log probabilities, for any number of columns and values."""

import numpy as np
import pytest

from bayesnb.families.kernels import ValueTable


@pytest.mark.parametrize("num_values", [1, 2, 3, 7])
@pytest.mark.parametrize("num_columns", [1, 2, 5, 6])
@pytest.mark.parametrize("leading", [(), (4,)])
def test_each_row_sums_its_entries(num_values, num_columns, leading):
    rng = np.random.default_rng(0)
    log_prob = np.log(rng.dirichlet(np.ones(num_values), (*leading, 3, num_columns)))
    x = rng.integers(0, num_values, (30, num_columns)).astype(float)
    x[rng.random(x.shape) < 0.2] = np.nan
    cells = log_prob[..., np.arange(num_columns), np.nan_to_num(x).astype(int)]
    expected = np.moveaxis(np.where(np.isnan(x), 0.0, cells).sum(axis=-1), -1, -2)
    np.testing.assert_allclose(ValueTable(log_prob).of_rows(x), expected, rtol=1e-12, atol=1e-12)


def test_an_impossible_value_takes_no_part_in_other_rows():
    with np.errstate(divide="ignore"):
        log_prob = np.log([[[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]] * 2)
    sums = ValueTable(log_prob).of_rows(np.array([[0, 1, 0], [2, 1, 0], [0, 2, 2]]))
    np.testing.assert_allclose(np.exp(sums), [[0.15] * 2, [0.0] * 2, [0.0] * 2])
