"""Leave-one-out probabilities of labels, from which the sets of labels of `predict_set` follow."""

from typing import Any

import numpy as np

from bayesnb.core.label_scores import LabelScores
from bayesnb.core.running import random_generator
from bayesnb.data.read import Rows
from bayesnb.posterior.left_out import leave_one_out

INSTEAD = "nb.kfold(model, X, y, inference=...), whose exp(elpd_i) are probabilities of labels without their rows"
"""What is left without exact leave-one-out, for errors."""

MOST_ROWS, FEWEST_OF_CLASS = 2000, 100
"""Rows that are left out of a fit without weights of features: so many, and from each class at least the second."""


def label_scores(posterior: Any, of_label: np.ndarray, rows: Rows, weights: np.ndarray) -> LabelScores:
    """The scores of rows, given the log probabilities of their labels and the weights with which they count."""
    problem = posterior.problem
    n = problem.statistics.classes.n
    ratio = np.ones(len(n))
    if problem.rows_class_prior is not None:
        ratio = np.divide(posterior.class_probs() * n.sum(), n, out=np.full(len(n), np.inf), where=n > 0)
    return LabelScores.of(np.exp(of_label), rows.codes, weights, ratio)


def scores_of_rows(posterior: Any, rows: Rows, weights: np.ndarray) -> LabelScores:
    """The scores of rows of a closed form, each predicted from the others; errors as for `leave_one_out`."""
    return label_scores(posterior, leave_one_out(posterior, rows).of_label, rows, weights)


def scores_of_some(posterior: Any, rows: Rows, key: Any) -> LabelScores:
    """As `scores_of_rows`, of at most `MOST_ROWS` rows, drawn at random from each class."""
    rng, most = random_generator(key), max(MOST_ROWS // len(rows.classes), FEWEST_OF_CLASS)
    chosen, weights = [], rows.weights.copy()
    for c in range(len(rows.classes)):
        own = np.flatnonzero((rows.codes == c) & (rows.weights > 0))
        some = own if len(own) <= most else rng.choice(own, most, replace=False)
        weights[some] *= weights[own].sum() / weights[some].sum() if len(own) > most else 1.0
        chosen.append(some)
    which = np.concatenate(chosen)
    return scores_of_rows(posterior, rows.take(which).alone(), weights[which])
