"""How much each column says of the class: what its features add to log densities, and the mean absolute log odds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.core.deferred import in_float64
from bayesnb.core.running import random_generator
from bayesnb.data.read import Rows
from bayesnb.data.tables import items_at
from bayesnb.model.blocks import feature_names, features_of, in_column_order
from bayesnb.model.bound import BoundModel
from bayesnb.posterior.left_out import features_left_out

MOST_ROWS, MOST_NUMBERS = 2000, 2**20
"""Rows of a fit without a weight for each feature, and densities of their features and classes, at most."""


def described_columns(model: BoundModel) -> dict[tuple[int, int], Sequence[int]]:
    """For each feature, by block and place in it, the positions of the table's columns that it describes.

    Those that it takes as given are not among them.
    """
    return {
        (i, j): items_at(model.schema.sources, block.described if block.is_joint else block.columns[j : j + 1])
        for i, block in enumerate(model.blocks)
        for j, _ in enumerate(features_of(block))
    }


def _shares_of_columns(posterior: Any) -> Any:
    """The weight with which each feature counts for each column of the table, a CSR array (features, columns).

    Features are in the order of `feature_names`. One that describes several columns counts for each in equal parts.
    """
    model, weights = posterior.model, posterior.feature_weights
    described = described_columns(model)
    by_block = [[own for (k, _), own in described.items() if k == i] for i, _ in enumerate(model.blocks)]
    columns = in_column_order(model.blocks, by_block)
    number = np.array([len(own) for own in columns])
    weight = (1.0 if weights is None else weights.weight) / number
    start = np.concatenate([[0], np.cumsum(number)])
    shape = len(columns), len(model.schema.source_columns)
    return scipy.sparse.csr_array((np.repeat(weight, number), np.concatenate([*columns]), start), shape)


def importances(posterior: Any, added: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The mean absolute log odds of each column of the table, shape (columns,); zero for those left out.

    Parameters
    ----------
    posterior : Posterior
    added : array, shape (classes, rows, features)
        Log densities of features, up to a term that all classes share, in the order of `feature_names`.
    weights : array, shape (rows,)
    """
    by_column = added.reshape(-1, added.shape[-1]) @ _shares_of_columns(posterior)
    return mean_absolute_log_odds(by_column.reshape(*added.shape[:2], -1), posterior.class_probs(), weights)


@in_float64
def importances_of_some(posterior: Any, rows: Rows, key: Any) -> np.ndarray | None:
    """As `importances`, of at most `MOST_ROWS` rows of the fit, each left out.

    None if densities are zero or infinite, or columns are words of count vectors, which share one density.
    """
    if any(block.has_totals for block in posterior.model.blocks):
        return None
    some, rng = rows.counting(), random_generator(key)
    most = min(MOST_ROWS, max(1, MOST_NUMBERS // (len(rows.classes) * len(feature_names(posterior.model.blocks)))))
    chosen = np.sort(rng.choice(len(some), most, replace=False)) if most < len(some) else None
    left_out = features_left_out(posterior.plain, some, chosen)
    if not np.isfinite(left_out.log_density).all():
        return None
    return importances(posterior, np.moveaxis(left_out.log_density, 1, 0), left_out.rows.weights)


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
    pairs = (1 - (class_prob**2).sum()) / 2  # zero of a single class
    return np.asarray(weights @ (prob * (values * below - sum_below)).sum(axis=0) / weights.sum() / (pairs or 1.0))
