"""What one more annotation is expected to tell about the class of an item."""

from typing import Any

import numpy as np
from scipy.special import entr

from bayesnb.crowd.label_draws import LabelDraws
from bayesnb.parallel import in_order

__all__ = ["expected_information", "most_informative"]

FIRST_ITEMS = 4096
"""Number of items that are taken first, if no more are wanted. Then as many again, and so on."""


def expected_information(labels: LabelDraws, items: np.ndarray, annotators: np.ndarray) -> np.ndarray:
    """Mutual information of the class of each item and the next label of each annotator, in nats.

    Parameters
    ----------
    labels : LabelDraws
    items, annotators : array of int
        Their positions.

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
    entropy: np.ndarray,
    items: np.ndarray,
    annotators: np.ndarray,
    *,
    num_items: int | None,
    num_annotators: int | None,
    again: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pairs of item and annotator with the highest expected information.

    The information is at most the entropy of the item's class. Items are taken in the order of their entropy, until no
    other item can be among the best.

    Parameters
    ----------
    labels : LabelDraws
    entropy : array, shape (all items,)
        Of the class of each item, in nats.
    items, annotators : array of int
        Positions of those to choose from.
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
    first = max(0, len(annotators) - (num_annotators or len(annotators)))
    column = np.full(len(table.annotators), -1)
    column[annotators] = np.arange(len(annotators))

    def of_piece(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        information = expected_information(labels, rows, annotators)
        if not again:
            given = table.counts[rows].tocoo()
            at = column[given.coords[1] // width]
            information[given.coords[0][at >= 0], at[at >= 0]] = -np.inf
        best = np.argpartition(information, first, axis=1)[:, first:]
        return best, np.take_along_axis(information, best, axis=1)

    items = items[np.argsort(-entropy[items], kind="stable")]
    cells = len(table.classes) * len(annotators) * width
    wanted = len(items) if num_items is None else min(num_items, len(items))
    done = 0
    found: list[tuple[np.ndarray, np.ndarray]] = []
    while done < len(items):
        step = max(FIRST_ITEMS, wanted, done)
        batch = items[done : done + step]
        found += in_order(of_piece, [batch[piece] for piece in labels.pieces(len(batch), cells)])
        done += step
        highest = np.concatenate([information.max(axis=1) for _, information in found])
        if done < len(items) and np.partition(highest, -wanted)[-wanted] >= entropy[items[done]]:
            break
    best = np.argsort(-highest, kind="stable")[:wanted]
    chosen, information = (np.concatenate(part)[best] for part in zip(*found, strict=True))
    of_items, by, numbers = np.repeat(items[best], chosen.shape[1]), annotators[chosen].ravel(), information.ravel()
    pairs = np.flatnonzero(numbers >= 0)
    order = pairs[np.argsort(-numbers[pairs], kind="stable")]
    return of_items[order], by[order], numbers[order]
