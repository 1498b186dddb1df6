"""A lower bound of the log evidence of annotations."""

import numpy as np
from scipy.special import entr

from bayesnb.blocks.statistics import log_evidence
from bayesnb.model.bound import BoundModel
from bayesnb.unlabelled import Unlabelled

__all__ = ["variational_bound"]


def variational_bound(model: BoundModel, counts: object, proba: np.ndarray) -> float:
    """The evidence lower bound for given probabilities of the labels; `AnnotationFit.log_evidence_bound` defines it.

    Given the labels' probabilities, the best distribution of the parameters is the posterior given the expected counts.
    The bound is then the log evidence of these counts, plus the entropy of the labels.

    Parameters
    ----------
    model : BoundModel
        With numbers for all hyperparameters.
    counts : CSR array, shape (items, columns)
    proba : array, shape (items, classes)
        Ones and zeros where the class is known.
    """
    statistics = Unlabelled((counts,), np.ones(len(proba))).count(model, proba)
    return float(log_evidence(model.class_prior, model.families, statistics)) + float(entr(proba).sum())
