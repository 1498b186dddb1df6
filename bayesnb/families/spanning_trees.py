"""Sums over all spanning trees of a graph, the probabilities of its edges, and draws of trees.

The weight of a tree is the product of the weights of its edges. The sum over all trees is a determinant (the
matrix-tree theorem), whose differences lose digits and whose numbers overflow. Elimination of one node after the other
only adds positive numbers. Without node k, the other nodes i and j have an edge of the weight

    w'_ij = w_ij + w_ik w_kj / S_k,    S_k = sum_l w_kl over the nodes that are left,

and the sum over all trees is S_k times the sum over the trees of the graph without k.
"""

from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from bayesnb.core.deferred import namespace


def _eliminated(log_weights: Any) -> tuple[list[Any], list[Any]]:
    """Log weights of the graphs of the first 1, 2, ... nodes, and log S of the last node of each; zero for one node."""
    xp, special = namespace(log_weights)
    graphs, log_sums = [log_weights], []
    with np.errstate(divide="ignore"):
        for k in range(np.shape(log_weights)[-1] - 1, 0, -1):
            own, rest = graphs[-1][..., k, :k], graphs[-1][..., :k, :k]
            log_sum = special.logsumexp(own, axis=-1)
            shared = own - xp.where(xp.isfinite(log_sum), log_sum, 0.0)[..., None]
            graphs.append(xp.logaddexp(rest, own[..., :, None] + shared[..., None, :]))
            log_sums.append(log_sum)
    log_sums.append(xp.zeros(np.shape(log_weights)[:-2]))
    return graphs[::-1], log_sums[::-1]


def log_sum_over_trees(log_weights: Any) -> Any:
    """Log of the sum over all spanning trees of the products of their edges' weights.

    Source: M. Meila and T. Jaakkola (2006), "Tractable Bayesian learning of tree belief networks", *Statistics and
    Computing* 16(1), 77-92, for the sum; the elimination is that of W. Grassmann, M. Taksar and D. Heyman (1985),
    "Regenerative analysis and steady state distributions for Markov chains", *Operations Research* 33(5), 1107-1116.

    Parameters
    ----------
    log_weights : array, shape (..., nodes, nodes)
        Symmetric; -inf where there is no edge. The diagonal is not read.

    Returns
    -------
    array, shape (...)
        -inf for a graph that is not connected. Zero for one node.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb.families.spanning_trees import log_sum_over_trees
    >>> float(np.exp(log_sum_over_trees(np.zeros((4, 4)))).round(6))
    16.0
    """
    return sum(_eliminated(log_weights)[1])


FAR = 300.0
"""Largest factor, as a logarithm, for which sums take no logarithms."""


def log_sums_near(log_weights: np.ndarray, log_factors: np.ndarray) -> np.ndarray:
    """As `log_sum_over_trees(log_weights + log_factors)`, mostly without logarithms, for many graphs like one graph.

    Each edge has a unit of its own, so that numbers neither overflow nor underflow: the smallest weight on the path
    between its nodes in the tree of the largest weights. An edge is never much heavier than its unit, and where it is
    much lighter it hardly ever is in a tree. The nodes are in the order in which Prim's algorithm adds them. The unit
    of two nodes is then the smallest weight by which those from one to the other were added, and elimination from the
    last node on multiplies by powers that are at most one.

    Parameters
    ----------
    log_weights : array, shape (nodes, nodes)
        Of a connected graph.
    log_factors : array, shape (..., nodes, nodes)
        What multiplies the weights in each graph.

    Returns
    -------
    array, shape (...)
    """
    if np.abs(log_factors).max(initial=0.0) > FAR:
        return log_sum_over_trees(log_weights + log_factors)
    order, units = _units(log_weights)
    at = order[:, None], order
    weights = np.exp(log_factors[..., *at] + (log_weights[at] - units), order="C")
    found = np.full(weights.shape[:-2], np.diag(units, -1).sum())
    for k in range(len(units) - 1, 0, -1):
        own = weights[..., k, :k]
        shares = own * np.exp(units[k, :k] - units[k, k - 1])
        total = shares.sum(axis=-1, keepdims=True)
        found += np.log(total[..., 0])
        # Above the diagonal, which is not read, powers might be large.
        powers = np.exp(np.minimum(units[k, :k] - units[:k, :k], 0.0))
        weights[..., :k, :k] += (shares / total)[..., :, None] * (own[..., None, :] * powers)
    return found


def _units(log_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nodes in the order of Prim's algorithm, and the log unit of each edge; infinite on the diagonal."""
    nodes = len(log_weights)
    order, best = np.zeros(nodes, dtype=np.intp), np.array(log_weights[0])
    units = np.full((nodes, nodes), np.inf)
    for k in range(1, nodes):
        best[order[:k]] = -np.inf
        order[k] = node = int(best.argmax())
        units[:k, k] = units[k, :k] = np.minimum(units[:k, k - 1], best[node])
        best = np.maximum(best, log_weights[node])
    return order, units


def edge_probabilities(log_weights: np.ndarray) -> np.ndarray:
    """Probability that a tree has each edge, where a tree's probability is proportional to its weight.

    It is the derivative of the log sum over trees by the edge's log weight. The nodes are put back one by one: an edge
    of the smaller graph is one of the larger graph with the probability w_ij / w'_ij, and else passes through node k.

    Parameters
    ----------
    log_weights : array, shape (..., nodes, nodes)
        As for `log_sum_over_trees`, of connected graphs.

    Returns
    -------
    array, shape (..., nodes, nodes)
        Symmetric, with a zero diagonal. Half of its sum is the number of nodes less one.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb.families.spanning_trees import edge_probabilities
    >>> edge_probabilities(np.log([[1.0, 3.0, 1.0], [3.0, 1.0, 1.0], [1.0, 1.0, 1.0]])).round(3)
    array([[0.   , 0.857, 0.571],
           [0.857, 0.   , 0.571],
           [0.571, 0.571, 0.   ]])
    """
    graphs, log_sums = _eliminated(np.asarray(log_weights, dtype=np.float64))
    found = np.zeros(graphs[-1].shape)
    for k in range(1, len(graphs)):
        graph, kept = graphs[k], found[..., :k, :k]
        direct = kept * _kept_share(graph, graphs[k - 1])
        through = (kept - direct).sum(axis=-1)
        own = np.exp(graph[..., k, :k] - log_sums[k][..., None])
        own = own * (1 - through.sum(axis=-1, keepdims=True) / 2) + through
        found[..., :k, :k] = direct
        found[..., k, :k] = found[..., :k, k] = np.clip(own, 0.0, 1.0)
    lower = np.tril(found, -1)
    return lower + np.swapaxes(lower, -1, -2)


def draw_trees(log_weights: np.ndarray, number: int, generator: np.random.Generator) -> np.ndarray:
    """Independent spanning trees, each with a probability proportional to its weight.

    The nodes are put back one by one. Each edge of the smaller graph's tree stays with the probability w_ij / w'_ij.
    Every part that the edges which stay connect gets an edge to node k, from its node i with a probability
    proportional to w_ik. The time does not depend on the weights, unlike that of a random walk.

    Parameters
    ----------
    log_weights : array, shape (nodes, nodes)
        As for `log_sum_over_trees`, of a connected graph.
    number : int
    generator : numpy.random.Generator

    Returns
    -------
    array of int, shape (number, nodes - 1, 2)
        The edges of each tree; the second node of an edge is the larger one.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb.families.spanning_trees import draw_trees
    >>> draw_trees(np.zeros((3, 3)), 1, np.random.default_rng(0)).shape
    (1, 2, 2)
    """
    graphs, _ = _eliminated(np.asarray(log_weights, dtype=np.float64))
    tree, one, other = (np.zeros(0, dtype=np.intp) for _ in range(3))
    for k in range(1, len(graphs)):
        stays = generator.random(len(tree)) < _kept_share(graphs[k], graphs[k - 1])[one, other]
        tree, one, other = tree[stays], one[stays], other[stays]
        # The parts of all trees are those of one graph, which has k nodes for each tree.
        places, shape = (tree * k + one, tree * k + other), (number * k, number * k)
        parts, part = connected_components(scipy.sparse.coo_array((np.ones(len(tree)), places), shape), directed=False)
        # The largest of log weights with Gumbel noise is the node of a part that gets the edge.
        noisy = np.tile(graphs[k][k, :k], number) + generator.gumbel(size=number * k)
        order = np.lexsort((noisy, part))
        chosen = order[np.searchsorted(part[order], np.arange(parts), side="right") - 1]
        tree, one = np.append(tree, chosen // k), np.append(one, chosen % k)
        other = np.append(other, np.full(parts, k))
    order = np.argsort(tree, kind="stable")
    return np.stack([one[order], other[order]], axis=-1).reshape(number, len(graphs) - 1, 2)


def _kept_share(graph: np.ndarray, smaller: np.ndarray) -> np.ndarray:
    """Shares w_ij / w'_ij of the edges of the graph without its last node; zero where there is none."""
    k = smaller.shape[-1]
    return np.exp(graph[..., :k, :k] - np.where(np.isfinite(smaller), smaller, np.inf))
