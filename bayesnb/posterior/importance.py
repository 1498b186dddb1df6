"""How much each column says of the class: what its features add to log densities, and the mean absolute log odds."""

from collections.abc import Sequence

import numpy as np

from bayesnb.data.tables import items_at
from bayesnb.model.blocks import features_of, in_column_order
from bayesnb.model.bound import BoundModel


def described_columns(model: BoundModel) -> dict[tuple[int, int], Sequence[int]]:
    """For each feature, by block and place in it, the positions of the table's columns that it describes.

    Those that it takes as given are not among them.
    """
    return {
        (i, j): items_at(model.schema.sources, block.described if block.is_joint else block.columns[j : j + 1])
        for i, block in enumerate(model.blocks)
        for j, _ in enumerate(features_of(block))
    }


def shares_of_columns(model: BoundModel) -> np.ndarray:
    """The part of each feature that counts for each column of the table, shape (features, columns).

    Features are in the order of `feature_names`. One that describes several columns counts for each in equal parts.
    """
    described = described_columns(model)
    places = in_column_order(
        model.blocks, [[(i, j) for j, _ in enumerate(features_of(block))] for i, block in enumerate(model.blocks)]
    )
    shares = np.zeros((len(places), len(model.schema.source_columns)))
    for feature, place in enumerate(places):
        own = list(described[place])
        shares[feature, own] = 1 / len(own)
    return shares


def mean_absolute_log_odds(added: np.ndarray, class_prob: np.ndarray, weights: np.ndarray) -> np.ndarray:
    r"""Mean over rows of the absolute log odds that columns add, over pairs of classes, shape (columns,).

    A pair of the classes c and k counts in proportion to :math:`\pi_c \pi_k`. With the classes in the order of what a
    column adds, :math:`\sum_{c < k} \pi_c \pi_k |a_c - a_k| = \sum_k \pi_k (a_k \sum_{c<k} \pi_c - \sum_{c<k} \pi_c
    a_c)`, as in Gini's mean difference.

    Parameters
    ----------
    added : array, shape (classes, rows, columns)
        What each column adds to log densities.
    class_prob : array, shape (classes,)
    weights : array, shape (rows,)
    """
    order = np.argsort(added, axis=0)
    values, prob = np.take_along_axis(added, order, axis=0), class_prob[order]
    below, sum_below = np.cumsum(prob, axis=0) - prob, np.cumsum(prob * values, axis=0) - prob * values
    pairs = (1 - (class_prob**2).sum()) / 2
    return np.asarray(weights @ (prob * (values * below - sum_below)).sum(axis=0) / weights.sum() / pairs)
