"""The prior on the annotators' probabilities, and the labels at which iterations start."""

from typing import Any

import numpy as np

from bayesnb.arrays import log
from bayesnb.crowd.read import AnnotationTable
from bayesnb.inference.em import probabilities

__all__ = ["diagonal_concentration", "first_guess"]

OWN, OTHER, LEAST_OTHER = 4.8, 3.2, 16 / 15
"""Prior weight of the class's own label, of all other labels together, and the least weight of each of them."""

AGREEMENT = 0.7
"""Probability of the class's own label at the start."""


def diagonal_concentration(annotations: AnnotationTable) -> np.ndarray:
    """The default prior weight of each label in each class, shape (classes, labels).

    The class's own label has the weight 4.8. The other labels share the weight 3.2, and each has 16/15 at least. Up to
    four labels this is the default of the R package rater: an annotator is right with the mean probability .6, and the
    prior weighs as much as eight annotations of items of the class. A class that is no label has the weight 2 for each
    label.
    """
    num_labels = len(annotations.labels)
    other = max(OTHER / max(num_labels - 1, 1), LEAST_OTHER)
    own = annotations.own_label
    weights = np.full((len(own), num_labels), 2.0)
    weights[own >= 0] = other
    weights[own >= 0, own[own >= 0]] = OWN
    return weights


def first_guess(annotations: AnnotationTable, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Probabilities of the classes of some items, shape (rows, classes), if all annotators are alike.

    An annotator gives the label of the item's class with probability .7, and each other label with the same
    probability. In a class that is no label, the probabilities of the labels are random for each annotator, because
    several such classes would otherwise stay equal.
    """
    num_labels, own = len(annotations.labels), annotations.own_label
    prob: Any = rng.dirichlet(np.ones(num_labels), size=(len(own), len(annotations.annotators)))
    for c, label in enumerate(own):
        if label >= 0 and num_labels > 1:
            prob[c] = (1 - AGREEMENT) / (num_labels - 1)
            prob[c, :, label] = AGREEMENT
    return probabilities(annotations.counts[rows] @ log(prob.reshape(len(own), -1)).T)[0]
