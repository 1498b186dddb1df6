"""What families need: formulas that run on JAX as on NumPy, and statistics that a family computes itself."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from cases import CASES, CLASSES, Exponential, with_holes

import bayesnb as nb
from bayesnb.families.host_sums import HostStatistics, count_on_host, stated_needs
from bayesnb.families.needs import list_needs


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_formulas_of_needs_take_their_library_from_the_cells(case, rng, float64):
    """What a formula makes of a JAX array is a JAX array of the same numbers, missing ones among them."""
    x = with_holes(rng, case.cells(rng, 40))
    x = x.toarray() if scipy.sparse.issparse(x) else np.asarray(x, np.float64)
    x = x[~np.isnan(x).any(axis=1)] if getattr(case.family, "whole_rows", False) else x
    for need in list_needs(stated_needs(case.family)):
        if isinstance(need, HostStatistics):
            continue
        on_host, on_device = (cells if need.of is None else need.of(cells) for cells in (x, jnp.asarray(x)))
        assert isinstance(on_device, jax.Array)
        np.testing.assert_allclose(on_device, on_host, rtol=1e-13)
        if (terms := getattr(need, "terms", None)) is not None:
            observed = on_host[~np.isnan(on_host)]
            for mine, other in zip(*map(jax.tree.leaves, (terms(jnp.asarray(observed)), terms(observed))), strict=True):
                np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-13)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Halved(Exponential):
    """Counts every cell at half of its value, in a `statistics` of its own."""

    def statistics(self, x, membership):
        return super().statistics(x / 2, membership)


def test_statistics_of_a_family_from_outside_are_asked_for():
    """Also where the family inherits needs, and inside another family."""
    x, membership = np.array([[0.0], [2.0], [6.0], [np.nan]]), np.eye(2)[[0, 0, 1, 1]]
    alone = Halved().statistics(x[1:], membership[1:])
    assert alone.total.tolist() == [[1.0], [3.0]]
    assert [type(need) for need in list_needs(stated_needs(Halved()))] == [HostStatistics]
    inside = nb.Hurdle(Halved()).statistics(x, membership)
    assert inside.values.total.tolist() == [[1.0], [3.0]]
    assert inside.nonzero.total.tolist() == [[1.0], [1.0]]


def test_cells_are_made_once_for_all_needs_of_a_block(rng):
    calls = []

    def double(x):
        calls.append(1)
        return 2 * x

    x, membership = rng.uniform(1.0, 2.0, (20, 3)), np.eye(CLASSES)[np.arange(20) % CLASSES]
    needs = nb.families.CellWeight(double), nb.families.Sums(double), nb.families.Sums(double, np.square)
    weight, total, squares = count_on_host(needs, x, membership)
    assert len(calls) == 1
    np.testing.assert_allclose(total, 2 * membership.T @ x)
    np.testing.assert_allclose(squares, 4 * membership.T @ x**2)
    assert weight.tolist() == [[10.0] * 3] * 2


def test_a_family_without_statistics_says_what_to_define():
    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Nothing(nb.families.Family):
        def prior(self, sample):
            return {}

        def likelihood(self):
            return None

        def log_likelihood(self, parameters, statistics):
            return 0.0

    with pytest.raises(NotImplementedError, match=r"Nothing has no statistics: define needs\(self\), or statistics"):
        nb.fit(Nothing(), [[1.0]], ["a"])
