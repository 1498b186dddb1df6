"""Exchangeable classes, relabelled so that a label means the same in every draw."""

import jax
import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from bayesnb.arrays import in_float64
from bayesnb.blocks.parameters import ModelParameters
from bayesnb.densities_under_draws import flatten, in_pieces
from bayesnb.inference.em import label_log_joint
from bayesnb.problem import Problem

__all__ = ["exchangeable", "on_groupings", "relabel"]

MATCHED_ROWS = 500
"""Number of evenly spaced rows whose label probabilities determine the relabelling."""


MOST_STEPS = 100
"""Largest number of references."""


def exchangeable(problem: Problem) -> list[np.ndarray]:
    """Groups of two or more exchangeable classes: the posterior does not depend on their order.

    They have no labelled row, and the same prior. Classes that each have a learned hyperparameter of their own are not
    exchangeable, because the draws of the hyperparameters name the classes.
    """
    model = problem.resolved
    learned = model.learned.places if model.hyperpriors else ()
    alike: dict[bytes, list[int]] = {}
    for c in np.flatnonzero(problem.statistics.classes.n == 0).tolist():
        prior = jax.tree.map(lambda leaf, c=c: np.asarray(leaf)[c], (model.class_prior, model.families, learned))
        key = b"".join(np.ascontiguousarray(leaf).tobytes() for leaf in jax.tree.leaves(prior))
        alike.setdefault(key, []).append(c)
    return [np.array(group) for group in alike.values() if len(group) > 1]


def on_groupings(problem: Problem) -> str:
    """What a warning of draws adds where classes are exchangeable; empty where they are not."""
    if not exchangeable(problem):
        return ""
    return (
        " The chains may hold different groupings, and the share of chains in one is then not its probability: fewer "
        "classes or some known labels help."
    )


@in_float64
def relabel(problem: Problem, parameters: ModelParameters, log_density: np.ndarray) -> ModelParameters:
    """Draws with exchangeable classes in an order that they share.

    The posterior does not depend on the order of such classes. Chains, and draws of one chain, may have them in any
    order, and averages over draws then have no meaning (Stephens 2000, *Journal of the Royal Statistical Society B*
    62(4), 795-809). Here each draw's classes take the order in which its probabilities of the rows' labels agree most
    with a reference. The first reference is the draw of highest density, the pivot (the equivalence classes
    representatives algorithm of Papastamoulis and Iliopoulos 2010, *Journal of Computational and Graphical Statistics*
    19(2), 313-331, with probabilities in place of labels). The next is the mean of the reordered draws, until no order
    changes, as in Stephens' algorithm. A single draw as the reference would be noise in every summary.

    Parameters
    ----------
    problem : Problem
    parameters : ModelParameters
        Leading axes (chain, draw).
    log_density : array, shape (chain, draw)

    Returns
    -------
    ModelParameters
        The same draws, up to the names of classes.
    """
    groups = exchangeable(problem)
    if not groups or problem.unlabelled is None:
        return parameters
    number = len(problem.unlabelled)
    rows = problem.unlabelled.take(np.linspace(0, number - 1, min(number, MATCHED_ROWS)).round().astype(int))
    flat = flatten(parameters)
    pivot = jax.tree.map(lambda value: value[np.argmax(log_density)], flat)
    reference = softmax(label_log_joint(problem.resolved, rows, pivot), axis=-1)
    pieces = in_pieces(parameters, rows.blocks)
    drawn = np.concatenate([softmax(label_log_joint(problem.resolved, rows, piece), axis=-1) for piece in pieces])
    order = _orders(drawn, reference * rows.weights[:, None], groups)
    # Each step makes the draws agree more with their mean, so that no order comes back.
    for _ in range(MOST_STEPS):
        reference = np.take_along_axis(drawn, order[:, None], axis=2).mean(axis=0)
        before, order = order, _orders(drawn, reference * rows.weights[:, None], groups)
        if np.array_equal(order, before):
            break
    order = order.reshape(*log_density.shape, -1)

    def reorder(value: np.ndarray) -> np.ndarray:
        return np.take_along_axis(value, order.reshape(*order.shape, *[1] * (value.ndim - 3)), axis=2)

    blocks = tuple({name: reorder(value) for name, value in block.items()} for block in parameters.blocks)
    return ModelParameters(reorder(parameters.class_prob), blocks, parameters.hyperparameters)


def _orders(responsibilities: np.ndarray, reference: np.ndarray, groups: list[np.ndarray]) -> np.ndarray:
    """For each draw, the class at each position, shape (draws, classes)."""
    agreement = np.einsum("src,rk->skc", responsibilities, reference)
    order = np.tile(np.arange(reference.shape[1]), (len(responsibilities), 1))
    for group in groups:
        for s, matrix in enumerate(agreement[:, group[:, None], group]):
            order[s, group] = group[linear_sum_assignment(matrix, maximize=True)[1]]
    return order
