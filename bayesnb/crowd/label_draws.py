"""Labels of items under draws, and the items to ask about next."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import entr

import bayesnb as nb
from bayesnb.core.arrays import log, probabilities
from bayesnb.core.running import in_order
from bayesnb.crowd.annotation_table import AnnotationTable

# --------------------------------------------------------------------------------------------------
# Probabilities of the classes of items under draws of the parameters
# --------------------------------------------------------------------------------------------------

FEWEST_DRAWS = 200
"""Averages use at least this many draws, if available."""

MOST_CELLS = 10**8
"""Beyond this product of draws, items and classes some draws are left out."""

PIECE_CELLS = 2**21
"""Numbers in a piece of items; 16 MiB of float64."""


@dataclass(frozen=True)
class LabelDraws:
    """Probabilities of the classes of items under draws of the parameters, some items at a time.

    Attributes
    ----------
    annotations : AnnotationTable
    class_prob : array, shape (draws, classes)
    prob : array, shape (draws, classes, annotators, labels)
    densities : callable
        Log densities of the annotations of some items under each draw, shape (draws, items, classes), given the items'
        positions.
    """

    annotations: AnnotationTable
    class_prob: np.ndarray
    prob: np.ndarray
    densities: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def of(cls, annotations: AnnotationTable, draws: Any) -> Self:
        """Evenly spaced draws, as many as are needed."""
        number, num_classes = draws.class_prob.shape
        kept = min(number, max(FEWEST_DRAWS, MOST_CELLS // (len(annotations.items) * num_classes)))
        some = np.linspace(0, number - 1, kept).round().astype(int)
        prob = draws.blocks[0]["prob"][some]
        family = nb.families.Annotations(num_labels=len(annotations.labels))
        densities = family.densities_of_rows({"prob": prob}, annotations.counts)
        return cls(annotations, draws.class_prob[some], prob, densities)

    def of_items(self, items: np.ndarray) -> np.ndarray:
        """Probabilities of the classes of some items, shape (items, draws, classes); ones and zeros if known.

        Parameters
        ----------
        items : array of int
            Positions of the items.
        """
        known = self.annotations.known[items]
        proba = self._given(items)
        proba[known >= 0] = self._certain(known[known >= 0])
        return proba

    def pieces(self, number: int, cells: int = 0) -> list[slice]:
        """Positions of the items, in pieces.

        Parameters
        ----------
        number : int
        cells : int, default 0
            Numbers that are held for each item, if they are more than its probabilities.
        """
        step = max(1, PIECE_CELLS // max(self.class_prob.size, cells))
        return [slice(start, min(start + step, number)) for start in range(0, number, step)]

    def mean(self) -> np.ndarray:
        """Mean probabilities of the classes of all items, shape (items, classes)."""
        return self._of_all(lambda proba: proba.mean(axis=1))

    def quantiles(self, levels: list[float]) -> np.ndarray:
        """Quantiles of the probabilities of the classes of all items, shape (items, classes, levels)."""
        return self._of_all(lambda proba: _draw_quantiles(np.moveaxis(proba, 1, 2), levels))

    def most_probable(self, levels: list[float]) -> tuple[np.ndarray, np.ndarray]:
        """Mean probabilities, and quantiles of the probability of the class with the highest mean.

        Parameters
        ----------
        levels : list of float

        Returns
        -------
        tuple of array
            Shapes (items, classes) and (items, levels).
        """

        def summary(proba: np.ndarray) -> np.ndarray:
            mean = proba.mean(axis=1)
            best = mean.argmax(axis=1)[:, None, None]
            return np.column_stack([mean, _draw_quantiles(np.take_along_axis(proba, best, axis=2)[:, :, 0], levels)])

        found = self._of_all(summary)
        return found[:, : -len(levels)], found[:, -len(levels) :]

    def _of_all(self, summary: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """A summary of the probabilities of all items; items with the same annotations have the same one."""
        known = self.annotations.known
        result = summary(self._certain(known))
        _, of_items = self.annotations.unknown
        if len(of_items):
            unknown = np.flatnonzero(known < 0)
            first = unknown[np.unique(of_items, return_index=True)[1]]
            found = in_order(lambda piece: summary(self._given(first[piece])), self.pieces(len(first)))
            result[unknown] = np.concatenate(list(found))[of_items]
        return result

    def _given(self, items: np.ndarray) -> np.ndarray:
        """Probabilities of the classes of some items given their annotations, shape (items, draws, classes)."""
        joint = np.moveaxis(self.densities(items), 0, 1)
        return probabilities(joint + log(self.class_prob))[0]

    def _certain(self, codes: np.ndarray) -> np.ndarray:
        """Probabilities of classes that are known, shape (items, 1, classes)."""
        return np.eye(self.class_prob.shape[1])[codes][:, None]


def _draw_quantiles(values: np.ndarray, levels: list[float]) -> np.ndarray:
    """Quantiles along the last axis, which the levels replace."""
    # NumPy sorts a contiguous axis several times faster than it finds two quantiles along another axis.
    ordered = np.sort(values, axis=-1)
    return np.moveaxis(np.quantile(ordered, levels, axis=-1, overwrite_input=True), 0, -1)


# --------------------------------------------------------------------------------------------------
# Expected information of one more annotation about the class of an item
# --------------------------------------------------------------------------------------------------

FIRST_ITEMS = 4096
"""Number of items in each step, unless more are wanted."""


def expected_information(labels: LabelDraws, items: np.ndarray, annotators: np.ndarray) -> np.ndarray:
    """Mutual information of each item's class and each annotator's next label in nats, shape (items, annotators).

    Items and annotators are given by their positions.
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
    """Positions of the items and annotators with the highest expected information, and the information, highest first.

    The information is at most the entropy of the item's class, which is given for all items. Items are taken in the
    order of their entropy, until no other item can be among the best. `items` and `annotators` are the positions to
    choose from. None means any number of items, or of annotators for each item. `again` allows an annotator to label an
    item again.
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
