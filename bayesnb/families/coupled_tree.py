"""Halves of halves of ordered cells, whose probabilities all classes share below some nodes and not below others.

Each node of the tree is a run of cells with a left and a right half. It is *split by class* with a probability of its
own: the share of the left half is then Beta(1, 1) in each class. Otherwise it is *common*: the shares of this node and
of all nodes below it are those of one pooled tree, Beta(1, 1) each. Arrays of counts have the axes (..., classes,
columns, cells), those of nodes (..., classes, columns, nodes).
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.arrays import log_beta, namespace

__all__ = ["CoupledTree", "cell_moment", "draw_cells", "log_evidence_of_split", "log_weight", "nodes_of"]

type Node = tuple[int, int, int]
"""The first cell of a node, the first cell of its right half, and the cell after its last one."""


@cache
def nodes_of(num_cells: int) -> tuple[Node, ...]:
    """The nodes of the tree over some cells, each before those below it; one fewer than cells."""

    def below(low: int, high: int) -> tuple[Node, ...]:
        middle = (low + high) // 2
        return ((low, middle, high), *below(low, middle), *below(middle, high)) if high - low > 1 else ()

    return below(0, num_cells)


def _halves(counts: Any) -> tuple[Any, Any]:
    """Counts of the left and of the right half of each node, given those of the cells."""
    xp, _ = namespace(counts)
    before = xp.concatenate([xp.zeros_like(counts[..., :1]), xp.cumsum(counts, axis=-1)], axis=-1)
    low, middle, high = (before[..., places] for places in np.array(nodes_of(np.shape(counts)[-1])).T)
    return middle - low, high - middle


def log_weight(counts: Any) -> Any:
    """Log probability of a sequence of cells with these counts, node by node: a beta-binomial of the two halves."""
    left, right = _halves(counts)
    return log_beta(1 + left, 1 + right)


def log_evidence_of_split(split: Any, log_factor: Any, num_cells: int) -> tuple[Any, Any]:
    r"""The nodes summed over whether they are split by class, from the cells upwards.

    .. math:: \Phi = (1 - \rho) + \rho\, B\, \Phi_{left}\, \Phi_{right}

    Parameters
    ----------
    split : array, shape (..., nodes)
        Prior probability of a split.
    log_factor : array, shape (..., nodes)
        Log Bayes factor B of shares by class against common ones, at each node.
    num_cells : int

    Returns
    -------
    tuple of array, shape (..., nodes) and (...)
        Posterior probability of a split of each node, given that all nodes above it are split; and log Phi of the root.
    """
    xp, _ = namespace(split, log_factor)
    phi: dict[tuple[int, int], Any] = {}
    found = []
    with np.errstate(divide="ignore"):
        log_split, log_common = xp.log(split), xp.log1p(-split)
    for i, (low, middle, high) in reversed(tuple(enumerate(nodes_of(num_cells)))):
        below = phi.get((low, middle), 0.0) + phi.get((middle, high), 0.0)
        of_split = log_split[..., i] + log_factor[..., i] + below
        phi[low, high] = xp.logaddexp(log_common[..., i], of_split)
        found.append(xp.exp(of_split - phi[low, high]))
    return xp.stack(found[::-1], axis=-1), phi[0, num_cells]


def _down(num_cells: int, start: tuple[Any, Any], halve: Callable[[int, Any, Any], Any]) -> list[Any]:
    """What every cell gets from the root on.

    Parameters
    ----------
    start : tuple
        What the root has while all nodes above are split, and below a common one.
    halve : callable
        Gives the pairs of the left and of the right half, given the number of the node and its pair.
    """
    pairs = {(0, num_cells): start}
    for i, (low, middle, high) in enumerate(nodes_of(num_cells)):
        pairs[low, middle], pairs[middle, high] = halve(i, *pairs.pop((low, high)))
    return [sum(pairs[cell, cell + 1]) for cell in range(num_cells)]


def cell_moment(own: Any, pooled: Any, split: Any, power: int) -> Any:
    """Mean of a power of each cell's probability in each class.

    Parameters
    ----------
    own, pooled : array, shape (..., cells)
        Counts of the class, and of all classes together.
    split : array, shape (..., nodes)
        Probability of a split of each node, given that all above it are split.
    power : int
        1 or 2.

    Returns
    -------
    array, shape (..., cells)
    """
    xp, _ = namespace(own)

    def moments(counts: Any) -> tuple[Any, Any]:
        """Of the left and of the right half's share."""
        halves = _halves(counts)
        total = halves[0] + halves[1] + 2
        left, right = ((1 + half) / total * (1.0 if power == 1 else (2 + half) / (total + 1)) for half in halves)
        return left, right

    of_class, of_all = moments(own), moments(pooled)

    def halve(i: int, own_mass: Any, common: Any) -> Any:
        common = common + own_mass * (1 - split[..., i])
        own_mass = own_mass * split[..., i]
        return tuple((own_mass * of_class[side][..., i], common * of_all[side][..., i]) for side in (0, 1))

    return xp.stack(_down(np.shape(own)[-1], (1.0, 0.0), halve), axis=-1)


class CoupledTree(dist.Distribution):
    """The probabilities of the cells in every class, as the tree has them; `draw_cells` draws them.

    Parameters
    ----------
    own, pooled : array, shape (..., classes, columns, cells)
        Counts of each class, and of all classes together.
    split : array, shape (..., classes, columns, nodes)
    together : bool
        Whether the classes share the common nodes of a draw. Else each entry of their axis is drawn on its own.
    """

    support = constraints.simplex

    def __init__(self, own: Any, pooled: Any, split: Any, *, together: bool) -> None:
        self.own, self.pooled, self.split, self.together = own, pooled, split, together
        super().__init__(np.shape(own)[:-1], np.shape(own)[-1:], validate_args=False)

    @property
    def mean(self) -> Any:
        """Mean of the probabilities."""
        return cell_moment(self.own, self.pooled, self.split, 1)


def draw_cells(tree: CoupledTree, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draws of the probabilities, shape (*shape, cells), from the root downwards."""
    own, pooled, split = (np.asarray(array) for array in (tree.own, tree.pooled, tree.split))
    of_all, common_shape = _halves(pooled), shape
    if tree.together:
        of_all, split = tuple(half[..., :1, :, :] for half in of_all), split[..., :1, :, :]
        common_shape = (*shape[:-2], 1, shape[-1])
    of_class = _halves(own)

    def halve(i: int, own_mass: Any, common: Any) -> Any:
        is_split = rng.uniform(size=common_shape) < split[..., i]
        mine = rng.beta(1 + of_class[0][..., i], 1 + of_class[1][..., i], shape)
        ours = rng.beta(1 + of_all[0][..., i], 1 + of_all[1][..., i], common_shape)
        common, own_mass = common + np.where(is_split, 0.0, own_mass), np.where(is_split, own_mass, 0.0)
        return (own_mass * mine, common * ours), (own_mass * (1 - mine), common * (1 - ours))

    return np.stack(_down(own.shape[-1], (np.ones(shape), np.zeros(shape)), halve), axis=-1)
