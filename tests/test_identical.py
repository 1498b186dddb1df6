"""Equal rows become one: against Python's dict of rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from bayesnb.core import arrays as equal_rows
from bayesnb.core.arrays import distinct_rows
from bayesnb.model.problem import Unlabelled


def mixed():
    rng = np.random.default_rng(20261121)
    x = rng.choice([0.0, 1.0, -2.5, np.nan], p=[0.6, 0.2, 0.1, 0.1], size=(3000, 3))
    return x, sp.csr_array(rng.poisson(0.2, (3000, 4)).astype(float))


TABLES = {
    "mixed": mixed(),
    "a sparse cell has a place": (sp.csr_array(np.eye(3)[[0, 0, 2, 0, 1, 2]]),),
    "rows without entries": (sp.csr_array(np.array([[0.0, 0], [0, 3], [0, 0], [0, 3], [3, 0]])),),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_distinct_rows_are_those_of_a_dict(name):
    blocks, seen, expected = TABLES[name], {}, []
    first, position = distinct_rows(blocks, 1.0)
    for row in zip(*(x.toarray() if sp.issparse(x) else x for x in blocks), strict=True):
        expected.append(seen.setdefault(str([part.tolist() for part in row]), len(seen)))
    np.testing.assert_array_equal(position, expected)
    np.testing.assert_array_equal(position[first], np.arange(len(first)))
    assert first.tolist() == sorted(first.tolist())


def test_many_distinct_rows_stay_apart():
    x = np.array([[0.0], [1], [2], [0]])
    assert distinct_rows((x,), 0.5) is None
    assert distinct_rows((x,), 0.75)[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_with_one_key_that_differ_stay_apart(monkeypatch, form):
    x = form(np.array([[1.0, 2], [1, 2], [2, 1]]))
    assert distinct_rows((x,), 1.0)[1].tolist() == [0, 0, 1]
    monkeypatch.setattr(equal_rows, "_mixed_bits", lambda cells, of_columns: np.ones(cells.shape, dtype=np.uint64))
    assert distinct_rows((x,), 1.0) is None


def test_the_weight_of_equal_rows_is_the_sum_and_rows_of_fractional_weight_stay_apart():
    x = np.array([[5.0], [7], [5], [5], [7], [5]])
    rows, position = Unlabelled.of((x,), np.array([1.0, 2, 3, 1, 1, 4]))
    assert rows.blocks[0].tolist() == [[5], [7]]
    assert rows.weights.tolist() == [9, 3]
    assert position.tolist() == [0, 1, 0, 0, 1, 0]
    x, weights = np.zeros((4, 1)), np.array([0.5, 0.5, 1, 2])
    rows, position = Unlabelled.of((x,), weights)
    assert rows.blocks[0] is x
    assert rows.weights is weights
    assert position.tolist() == [0, 1, 2, 3]
