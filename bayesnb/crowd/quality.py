"""The quality of annotators under draws of the parameters."""

import numpy as np
from scipy.special import rel_entr

from bayesnb.blocks.parameters import ModelParameters
from bayesnb.crowd.read import AnnotationTable

__all__ = ["accuracy", "information", "label_bias", "num_annotations"]


def accuracy(annotations: AnnotationTable, draws: ModelParameters) -> np.ndarray:
    """Probability that an annotator gives an item the label of its class, shape (draws, annotators)."""
    prob = draws.blocks[0]["prob"]
    total = np.zeros((len(prob), len(annotations.annotators)))
    for c, label in enumerate(annotations.own_label):
        total += draws.class_prob[:, c, None] * prob[:, c, :, label]
    return total


def information(draws: ModelParameters) -> np.ndarray:
    """Mutual information of the class of a new item and the label of each annotator, in nats, shape (annotators,)."""
    joint = np.einsum("sc,scjl->cjl", draws.class_prob, draws.blocks[0]["prob"]) / len(draws.class_prob)
    independent = joint.sum(axis=2, keepdims=True) * joint.sum(axis=0)
    return np.maximum(rel_entr(joint, independent).sum(axis=(0, 2)), 0.0)


def label_bias(annotations: AnnotationTable, draws: ModelParameters) -> np.ndarray:
    """Mean probability of each label of an annotator less that of its class, shape (annotators, labels)."""
    prob = draws.blocks[0]["prob"]
    given = sum(np.einsum("s,sjl->jl", draws.class_prob[:, c], prob[:, c]) for c in range(prob.shape[1])) / len(prob)
    expected = np.zeros(len(annotations.labels))
    expected[annotations.own_label] = draws.class_prob.mean(axis=0)
    return np.asarray(given - expected)


def num_annotations(annotations: AnnotationTable) -> np.ndarray:
    """Number of annotations of each annotator, shape (annotators,)."""
    annotator = annotations.counts.indices // len(annotations.labels)
    number = np.bincount(annotator, annotations.counts.data, minlength=len(annotations.annotators))
    return number.astype(np.int64)
