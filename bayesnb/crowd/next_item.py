"""What one more annotation is expected to tell about the class of an item."""

from typing import Any

import numpy as np
from scipy.special import entr

from bayesnb.crowd.label_draws import LabelDraws

__all__ = ["expected_information", "most_informative"]


def expected_information(labels: LabelDraws, items: Any, annotators: np.ndarray) -> np.ndarray:
    """Mutual information of the class of each item and the next label of each annotator, in nats.

    Parameters
    ----------
    labels : LabelDraws
    items : slice or array of int
        Positions of the items.
    annotators : array of int
        Positions of the annotators.

    Returns
    -------
    array, shape (items, annotators)
    """
    proba, prob = labels.of_items(items), labels.prob[:, :, annotators]
    num_draws, num_classes, num_annotators, num_labels = prob.shape
    joint_entropy: Any = 0.0
    of_label: Any = 0.0
    for c in range(num_classes):
        joint = proba[:, :, c] @ prob[:, c].reshape(num_draws, -1) / num_draws
        of_label = of_label + joint
        joint_entropy = joint_entropy + entr(joint)
    shape = len(proba), num_annotators, num_labels
    of_class = entr(proba.mean(axis=1)).sum(axis=1)[:, None]
    information = of_class + (entr(of_label) - joint_entropy).reshape(shape).sum(axis=2)
    return np.maximum(information, 0.0)


def most_informative(
    labels: LabelDraws,
    items: np.ndarray | None,
    annotators: np.ndarray,
    *,
    num_items: int | None,
    num_annotators: int | None,
    again: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pairs of item and annotator with the highest expected information.

    Parameters
    ----------
    labels : LabelDraws
    items : array of int or None
        Positions of the items; None for all of them.
    annotators : array of int
        Positions of the annotators.
    num_items : int or None
        Number of items; None for all of them.
    num_annotators : int or None
        Number of annotators of each item; None for all of them.
    again : bool
        Whether an annotator may label an item again.

    Returns
    -------
    tuple of array
        Positions of the items, positions of the annotators and the information, the highest first.
    """
    table = labels.annotations
    width = len(table.labels)
    kept = len(annotators) if num_annotators is None else min(num_annotators, len(annotators))
    column = np.full(len(table.annotators), -1)
    column[annotators] = np.arange(len(annotators))

    def of_piece(rows: Any) -> tuple[np.ndarray, np.ndarray]:
        information = expected_information(labels, rows, annotators)
        if not again:
            given = table.counts[rows].tocoo()
            at = column[given.coords[1] // width]
            information[given.coords[0][at >= 0], at[at >= 0]] = -np.inf
        best = np.argsort(-information, axis=1, kind="stable")[:, :kept]
        return best, np.take_along_axis(information, best, axis=1)

    cells = len(table.classes) * len(annotators) * width
    places, found = map(np.concatenate, zip(*labels.in_pieces(of_piece, items, cells), strict=True))
    order = np.argsort(-found[:, 0], kind="stable")[:num_items]
    positions = order if items is None else items[order]
    positions, chosen, found = np.repeat(positions, kept), annotators[places[order]].ravel(), found[order].ravel()
    possible = np.flatnonzero(found >= 0)
    order = possible[np.argsort(-found[possible], kind="stable")]
    return positions[order], chosen[order], found[order]
