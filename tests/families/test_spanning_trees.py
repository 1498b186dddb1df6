"""Sums over spanning trees: against enumeration by Pruefer's sequences, exact integers and counts of draws."""

import itertools
from fractions import Fraction
from math import log, prod

import jax
import numpy as np
import pytest
from pruefer import pruefer_trees

from bayesnb.families.spanning_trees import draw_trees, edge_probabilities, log_sum_over_trees, log_sums_near


def symmetric(weights):
    upper = np.triu(weights, 1)
    return upper + np.swapaxes(upper, -1, -2)


def exact_sum(weights):
    """The matrix-tree theorem with fractions: the determinant of the Laplacian without its last node."""
    nodes = len(weights)
    laplacian = [
        [sum(map(Fraction, weights[i])) if i == j else -Fraction(weights[i][j]) for j in range(nodes - 1)]
        for i in range(nodes - 1)
    ]
    found = Fraction(1)
    for k in range(nodes - 1):
        found *= laplacian[k][k]
        for i in range(k + 1, nodes - 1):
            ratio = laplacian[i][k] / laplacian[k][k]
            laplacian[i] = [a - ratio * b for a, b in zip(laplacian[i], laplacian[k], strict=True)]
    return found


def log_of(fraction):
    """Log of a fraction whose parts may be beyond float64."""

    def log_of_int(number):
        shift = max(number.bit_length() - 60, 0)
        return log(number >> shift) + shift * log(2)

    return log_of_int(fraction.numerator) - log_of_int(fraction.denominator)


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 6])
def test_sums_and_edges_are_those_of_every_tree_written_out(nodes):
    log_weights = symmetric(np.random.default_rng(nodes).normal(scale=3.0, size=(2, 3, nodes, nodes)))
    trees = pruefer_trees(nodes)
    assert len(trees) == nodes ** (nodes - 2)
    sums, probabilities = log_sum_over_trees(log_weights), edge_probabilities(log_weights)
    assert sums.shape == (2, 3)
    assert np.allclose(np.asarray(jax.jit(log_sum_over_trees)(log_weights)), sums, rtol=1e-5)
    for at in np.ndindex(2, 3):
        weight = {tree: np.exp(sum(log_weights[at][edge] for edge in tree)) for tree in trees}
        whole = sum(weight.values())
        assert np.isclose(sums[at], np.log(whole), rtol=1e-12, atol=1e-12)
        for i, j in itertools.combinations(range(nodes), 2):
            share = sum(own for tree, own in weight.items() if (i, j) in tree) / whole
            assert np.isclose(probabilities[at][i, j], share, rtol=0, atol=1e-12)


@pytest.mark.parametrize("nodes", [3, 4, 6])
@pytest.mark.parametrize("order", [1, -1])
def test_weights_that_span_2_to_the_6000_agree_with_integers(nodes, order):
    generator = np.random.default_rng(nodes)
    power = symmetric(generator.integers(0, 6001, size=(nodes, nodes)))[::order, ::order]
    odd = symmetric(generator.integers(1, 1000, size=(nodes, nodes)))[::order, ::order]
    weights = [[int(odd[i, j]) << int(power[i, j]) if i != j else 0 for j in range(nodes)] for i in range(nodes)]
    with np.errstate(divide="ignore"):
        log_weights = np.log(odd) + power * np.log(2)
    whole = exact_sum(weights)
    assert np.isclose(log_sum_over_trees(log_weights), log_of(whole), rtol=1e-14)
    probabilities = edge_probabilities(log_weights)
    for i, j in itertools.combinations(range(nodes), 2):
        cut = [row.copy() for row in weights]
        cut[i][j] = cut[j][i] = 0
        assert np.isclose(probabilities[i, j], float(1 - exact_sum(cut) / whole), rtol=0, atol=1e-12)


def test_unit_weights_count_the_trees():
    assert np.isclose(log_sum_over_trees(np.zeros((7, 7))), 5 * log(7), rtol=1e-14)
    assert np.allclose(edge_probabilities(np.zeros((7, 7))), 2 / 7 * (1 - np.eye(7)), rtol=1e-13)
    assert log_sum_over_trees(np.zeros((1, 1))) == 0.0


@pytest.mark.parametrize("nodes", [2, 30, 150])
def test_edges_of_large_graphs_sum_to_the_nodes_less_one(nodes):
    log_weights = symmetric(np.random.default_rng(nodes).normal(scale=40.0, size=(nodes, nodes)))
    probabilities = edge_probabilities(log_weights)
    assert np.isclose(probabilities.sum() / 2, nodes - 1, rtol=1e-12)
    assert np.array_equal(probabilities, probabilities.T)
    # The log sum grows with an edge's log weight by the probability of the edge.
    moved = log_weights.copy()
    moved[0, 1] = moved[1, 0] = log_weights[0, 1] + 1e-4
    growth = (log_sum_over_trees(moved) - log_sum_over_trees(log_weights)) / 1e-4
    assert np.isclose(growth, probabilities[0, 1], atol=1e-4)


def test_pairs_without_an_edge():
    weights = np.array([[0, 2, 0, 0], [2, 0, 3, 0], [0, 3, 0, 5], [0, 0, 5, 0]], dtype=float)
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    assert np.isclose(log_sum_over_trees(log_weights), log(30))
    assert np.allclose(edge_probabilities(log_weights), weights > 0)
    trees = draw_trees(log_weights, 5, np.random.default_rng(0))
    assert {tuple(map(tuple, tree)) for tree in trees.tolist()} == {((0, 1), (1, 2), (2, 3))}
    log_weights[2, 3] = log_weights[3, 2] = -np.inf
    assert log_sum_over_trees(log_weights) == -np.inf


@pytest.mark.parametrize("scale", [0.0, 1.5])
def test_draws_follow_the_weights_of_the_trees(scale):
    nodes, number = 5, 20_000
    log_weights = symmetric(np.random.default_rng(3).normal(scale=scale, size=(nodes, nodes)))
    trees = sorted(pruefer_trees(nodes), key=sorted)
    weight = np.array([prod(np.exp(log_weights[edge]) for edge in tree) for tree in trees])
    drawn = draw_trees(log_weights, number, np.random.default_rng(11))
    assert drawn.shape == (number, nodes - 1, 2)
    place = {tree: k for k, tree in enumerate(trees)}
    counts = np.bincount([place[frozenset(map(tuple, tree))] for tree in drawn.tolist()], minlength=len(trees))
    expected = number * weight / weight.sum()
    # A chi-squared statistic of 124 degrees of freedom: 5 sd above its mean, about 1e-6.
    assert ((counts - expected) ** 2 / expected).sum() < 124 + 5 * np.sqrt(2 * 124)


@pytest.mark.parametrize("nodes", [1, 2, 3, 9, 20])
@pytest.mark.parametrize("scale", [1.0, 30.0, 2000.0])
def test_sums_near_one_graph_are_those_of_logarithms(nodes, scale):
    """Also where weights are further apart than float64 holds, and where a graph is not like the one."""
    generator = np.random.default_rng(nodes)
    one = symmetric(generator.normal(scale=scale, size=(nodes, nodes)))
    for spread in (10.0, 400.0):
        log_factors = symmetric(generator.normal(scale=spread, size=(6, nodes, nodes)))
        found = log_sums_near(one, log_factors)
        np.testing.assert_allclose(found, log_sum_over_trees(one + log_factors), rtol=1e-13, atol=1e-12)
