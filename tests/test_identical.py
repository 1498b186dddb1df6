"""Equal rows become one: against Python's dict of rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from bayesnb.core import arrays as identical
from bayesnb.core.arrays import distinct_rows
from bayesnb.model.problem import Unlabelled


def table(rng, num_rows=3000):
    x = rng.choice([0.0, 1.0, -2.5, np.nan], p=[0.6, 0.2, 0.1, 0.1], size=(num_rows, 3))
    words = sp.csr_array(rng.poisson(0.2, (num_rows, 4)).astype(float))
    return x, words


def expected(blocks):
    cells = [np.asarray(x.toarray() if sp.issparse(x) else x) for x in blocks]
    seen, position = {}, []
    for row in zip(*cells, strict=True):
        position.append(seen.setdefault(str([part.tolist() for part in row]), len(seen)))
    return np.array(position)


def test_the_distinct_rows_are_those_of_a_dict(rng):
    blocks = table(rng)
    first, position = distinct_rows(blocks, 1.0)
    np.testing.assert_array_equal(position, expected(blocks))
    np.testing.assert_array_equal(position[first], np.arange(len(first)))
    assert first.tolist() == sorted(first.tolist())
    for x in blocks:
        difference = x[first][position] != x
        if not sp.issparse(x):
            difference &= ~np.isnan(x)
        assert difference.sum() == 0


@pytest.mark.parametrize("column", [0, 1])
def test_a_sparse_cell_has_a_place(column):
    one = sp.csr_array(np.eye(3)[[column, column, 2, column]])
    _, position = distinct_rows((one,), 1.0)
    assert position.tolist() == [0, 0, 1, 0]


def test_rows_without_entries_are_equal():
    x = sp.csr_array(np.array([[0.0, 0], [0, 3], [0, 0], [0, 3], [3, 0]]))
    assert distinct_rows((x,), 1.0)[1].tolist() == [0, 1, 0, 1, 2]


def test_many_distinct_rows_stay_apart():
    x = np.array([[0.0], [1], [2], [0]])
    assert distinct_rows((x,), 0.5) is None
    assert distinct_rows((x,), 0.75)[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_with_one_key_that_differ_stay_apart(monkeypatch, form):
    x = form(np.array([[1.0, 2], [1, 2], [2, 1]]))
    assert distinct_rows((x,), 1.0)[1].tolist() == [0, 0, 1]
    monkeypatch.setattr(identical, "_mixed", lambda cells, of_columns: np.ones(cells.shape, dtype=np.uint64))
    assert distinct_rows((x,), 1.0) is None


def test_the_weight_of_equal_rows_is_the_sum():
    x = np.array([[5.0], [7], [5], [5], [7], [5]])
    rows, position = Unlabelled.of((x,), np.array([1.0, 2, 3, 1, 1, 4]))
    assert rows.blocks[0].tolist() == [[5], [7]]
    assert rows.weights.tolist() == [9, 3]
    assert position.tolist() == [0, 1, 0, 0, 1, 0]


def test_rows_of_fractional_weight_stay_apart():
    x, weights = np.zeros((4, 1)), np.array([0.5, 0.5, 1, 2])
    rows, position = Unlabelled.of((x,), weights)
    assert rows.blocks[0] is x
    assert rows.weights is weights
    assert position.tolist() == [0, 1, 2, 3]
