"""Probabilities of the classes of items under draws of the parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import jax
import numpy as np

from bayesnb.arrays import log
from bayesnb.blocks.parameters import ModelParameters
from bayesnb.crowd.read import AnnotationTable
from bayesnb.families.product import Weights
from bayesnb.inference.em import probabilities
from bayesnb.parallel import in_order

__all__ = ["LabelDraws"]

FEWEST_DRAWS = 200
"""Averages are over so many draws at least, where there are as many."""

MOST_CELLS = 10**8
"""Draws times items times classes, above which some of the draws are left out."""

PIECE_CELLS = 2**21
"""Numbers of each piece of items; 16 MiB of float64."""


@dataclass(frozen=True)
class LabelDraws:
    """Probabilities of the classes of items under draws of the parameters, some items at a time.

    Attributes
    ----------
    annotations : AnnotationTable
    class_prob : array, shape (draws, classes)
    prob : array, shape (draws, classes, annotators, labels)
    weights : Weights
        Logarithms of `prob`, for products with the counts of the items.
    """

    annotations: AnnotationTable
    class_prob: np.ndarray
    prob: np.ndarray
    weights: Weights

    @classmethod
    def of(cls, annotations: AnnotationTable, draws: ModelParameters) -> Self:
        """Evenly spaced draws, as many as are needed.

        Parameters
        ----------
        annotations : AnnotationTable
        draws : ModelParameters
            One leading axis.
        """
        number, num_classes = draws.class_prob.shape
        kept = min(number, max(FEWEST_DRAWS, MOST_CELLS // (len(annotations.items) * num_classes)))
        some = np.linspace(0, number - 1, kept).round().astype(int)
        thinned = jax.tree.map(lambda value: np.asarray(value)[some], draws)
        prob = thinned.blocks[0]["prob"]
        weights = Weights.of(log(prob).reshape(kept * num_classes, -1))
        return cls(annotations, thinned.class_prob, prob, weights)

    def of_items(self, items: np.ndarray) -> np.ndarray:
        """Probabilities of the classes of some items, shape (items, draws, classes); ones and zeros if known.

        Parameters
        ----------
        items : array of int
            Positions of the items.
        """
        known = self.annotations.known[items]
        proba = self._given(self.annotations.counts[items])
        proba[known >= 0] = self._certain(known[known >= 0])
        return proba

    def pieces(self, number: int, cells: int = 0) -> list[slice]:
        """Positions of so many items in pieces.

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
        return self._of_all(lambda proba: quantiles(np.moveaxis(proba, 1, 2), levels))

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
            return np.column_stack([mean, quantiles(np.take_along_axis(proba, best, axis=2)[:, :, 0], levels)])

        found = self._of_all(summary)
        return found[:, : -len(levels)], found[:, -len(levels) :]

    def _of_all(self, summary: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """A summary of the probabilities of all items; items with the same annotations have the same one."""
        known = self.annotations.known
        result = summary(self._certain(known))
        rows, of_items = self.annotations.unknown
        if len(rows):
            counts = rows.blocks[0]
            found = in_order(lambda piece: summary(self._given(counts[piece])), self.pieces(len(rows)))
            result[known < 0] = np.concatenate(list(found))[of_items]
        return result

    def _given(self, counts: Any) -> np.ndarray:
        """Probabilities of the classes given annotations, shape (items, draws, classes)."""
        joint = self.weights.of_rows(counts).T.reshape(counts.shape[0], *self.class_prob.shape)
        return probabilities(joint + log(self.class_prob))[0]

    def _certain(self, codes: np.ndarray) -> np.ndarray:
        """Probabilities of classes that are known, shape (items, 1, classes)."""
        return np.eye(self.class_prob.shape[1])[codes][:, None]


def quantiles(values: np.ndarray, levels: list[float]) -> np.ndarray:
    """Quantiles along the last axis, which the levels replace."""
    # NumPy sorts a contiguous axis several times as fast as it finds two quantiles on another.
    ordered = np.sort(values, axis=-1)
    return np.moveaxis(np.quantile(ordered, levels, axis=-1, overwrite_input=True), 0, -1)
