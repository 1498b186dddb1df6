"""Statistics of several groups of classes, joined."""

from functools import partial

import jax
import numpy as np
import pytest
from cases import CASES

import bayesnb as nb
from bayesnb.model.blocks import ModelStatistics


def check(family, X):
    model, y = nb.NaiveBayes(family), np.repeat(["a", "b"], 15)
    bound = model.bind(X, y)
    groups = [slice(0, 20), slice(5, 30), slice(0, 30)]
    joined = ModelStatistics.joined([bound.statistics(X[rows], y[rows]) for rows in groups])
    assert joined.classes.n.tolist() == [15, 5, 10, 15, 15, 15]
    labels = np.concatenate([np.char.add(str(i), y[rows]) for i, rows in enumerate(groups)])
    table = np.concatenate([X[rows] for rows in groups])
    expected = model.bind(table, labels).statistics(table, labels)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-12), joined, expected)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_joined_statistics_are_those_of_one_table_with_all_classes(case, rng):
    check(case.default, case.cells(rng, 30))


def test_joined_statistics_whose_size_follows_the_rows(rng):
    check(nb.NegativeBinomial(), rng.poisson(3.0, (30, 2)))
