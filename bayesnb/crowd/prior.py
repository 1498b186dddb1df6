"""The prior on the annotators' probabilities, and the labels at which iterations start."""

from typing import Any

import numpy as np
import numpyro.distributions as dist

from bayesnb.crowd.read import AnnotationTable
from bayesnb.families.hyperparameters import format_number
from bayesnb.inference.em import probabilities

__all__ = ["around", "counted_concentration", "first_guess", "interior_concentration"]

NUM_ANNOTATIONS = 4.0
"""Number of annotations of each class and annotator that the default prior of draws counts as."""

OWN, OTHER = 5.0, 1.5
"""Prior weight of the class's own label, and of each other label, where the density needs a mode."""

SPREAD = 1.0
"""Standard deviation of the logarithm of a concentration that is learned."""

AGREEMENT = 0.7
"""Probability of the class's own label: the mean of the default prior of draws, and the start of iterations."""


def counted_concentration(annotations: AnnotationTable) -> np.ndarray:
    """The default prior weight of each label in each class for draws, shape (classes, labels).

    The weights of a class sum to 4, and the class's own label has 70 % of it. They are those of four annotations,
    whatever the number of labels.
    """
    return NUM_ANNOTATIONS * _alike(annotations)


def interior_concentration(annotations: AnnotationTable) -> np.ndarray:
    """Prior weights whose density has a mode without zeros, shape (classes, labels): 5 for the own label, 1.5 else.

    A mode needs weights above one. They are the default of point estimates, and the medians of concentrations that are
    learned.
    """
    weights = np.full((len(annotations.classes), len(annotations.labels)), OTHER)
    weights[np.arange(len(weights)), annotations.own_label] = OWN
    return weights


def around(concentration: Any, annotations: AnnotationTable) -> dist.Distribution:
    """The hyperprior of learned concentrations, shape (classes, labels): log-normal, with given medians.

    Raises
    ------
    TypeError
        If a distribution is given, which is a hyperprior itself.
    ValueError
        If the medians are not positive, or have an axis of annotators, who share the concentrations.
    """
    if isinstance(concentration, dist.Distribution):
        raise TypeError(
            f"concentration is {format_number(concentration)}, which is learned in any case: leave out "
            "hierarchical=True, or give numbers, the medians of the hyperprior"
        )
    shape = len(annotations.classes), len(annotations.labels)
    medians = np.asarray(concentration, dtype=np.float64)
    if medians.shape not in {(), shape}:
        raise ValueError(
            f"concentration has shape {medians.shape}, and with hierarchical=True all annotators share the "
            f"concentrations: give one number, or an array of shape {shape} (classes, labels)"
        )
    if not (np.isfinite(medians).all() and (medians > 0).all()):
        raise ValueError(f"concentration holds {medians.min()}: give positive numbers")
    return dist.LogNormal(np.broadcast_to(np.log(medians), shape), SPREAD)


def first_guess(annotations: AnnotationTable, counts: Any) -> np.ndarray:
    """Probabilities of the classes of items, shape (rows, classes), if all annotators are alike.

    An annotator gives the label of the item's class with probability .7, and each other label with the same
    probability. `counts` is a CSR array as `AnnotationTable.counts`.
    """
    of_columns = np.tile(np.log(_alike(annotations)), len(annotations.annotators))
    return probabilities(counts @ of_columns.T)[0]


def _alike(annotations: AnnotationTable) -> np.ndarray:
    """Probability of each label in each class, shape (classes, labels): .7 for the own label, the others are equal."""
    num_classes, num_labels = len(annotations.classes), len(annotations.labels)
    prob = np.full((num_classes, num_labels), (1 - AGREEMENT) / (num_labels - 1))
    prob[np.arange(num_classes), annotations.own_label] = AGREEMENT
    return prob
