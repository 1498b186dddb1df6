"""Statistics of several groups of classes, joined and split again."""

import jax
import numpy as np
import pytest
from cases import CASES

import bayesnb as nb
from bayesnb.blocks.statistics import ModelStatistics


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_joined_statistics_split_into_their_parts(case, rng):
    model = nb.NaiveBayes(case.default)
    X, y = case.cells(rng, 30), np.repeat(["a", "b"], 15)
    bound = model.bind(X, y)
    parts = [bound.statistics(X[rows], y[rows]) for rows in (slice(0, 20), slice(5, 30), slice(0, 30))]
    joined = ModelStatistics.joined(parts)
    assert joined.classes.n.tolist() == [15, 5, 10, 15, 15, 15]
    for part, again in zip(parts, joined.split(3), strict=True):
        jax.tree.map(np.testing.assert_array_equal, part, again)
