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

    def of_items(self, rows: Any) -> np.ndarray:
        """Probabilities of the classes of some items, shape (items, draws, classes); ones and zeros if known.

        Parameters
        ----------
        rows : slice or array of int
            Positions of the items.
        """
        known = self.annotations.known[rows]
        joint = self.weights.of_rows(self.annotations.counts[rows]).T.reshape(len(known), *self.class_prob.shape)
        proba = probabilities(joint + log(self.class_prob))[0]
        proba[known >= 0] = np.eye(self.class_prob.shape[1])[known[known >= 0], None]
        return proba

    def in_pieces[R](self, function: Callable[[Any], R], rows: np.ndarray | None = None, cells: int = 0) -> list[R]:
        """Results of a function of positions of items, some items at a time, in several threads.

        Parameters
        ----------
        function : callable
            Takes a slice or an array of positions.
        rows : array of int, optional
            Positions of the items; by default all items.
        cells : int, default 0
            Numbers that the function holds for each item, if they are more than the probabilities.
        """
        step = max(1, PIECE_CELLS // max(self.class_prob.size, cells))
        number = len(self.annotations.items) if rows is None else len(rows)
        pieces = [slice(start, min(start + step, number)) for start in range(0, number, step)]
        return list(in_order(function, pieces if rows is None else [rows[piece] for piece in pieces]))

    def mean(self) -> np.ndarray:
        """Mean probabilities of the classes of all items, shape (items, classes)."""
        return np.concatenate(self.in_pieces(lambda rows: self.of_items(rows).mean(axis=1)))

    def quantiles(self, levels: list[float]) -> np.ndarray:
        """Quantiles of the probabilities of the classes of all items, shape (items, classes, levels)."""
        return np.concatenate(self.in_pieces(lambda rows: quantiles(np.moveaxis(self.of_items(rows), 1, 2), levels)))

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

        def of_piece(rows: Any) -> tuple[np.ndarray, np.ndarray]:
            proba = self.of_items(rows)
            mean = proba.mean(axis=1)
            best = mean.argmax(axis=1)[:, None, None]
            return mean, quantiles(np.take_along_axis(proba, best, axis=2)[:, :, 0], levels)

        means, found = zip(*self.in_pieces(of_piece), strict=True)
        return np.concatenate(means), np.concatenate(found)


def quantiles(values: np.ndarray, levels: list[float]) -> np.ndarray:
    """Quantiles along the last axis, which the levels replace."""
    # NumPy sorts a contiguous axis several times as fast as it finds two quantiles on another.
    ordered = np.sort(values, axis=-1)
    return np.moveaxis(np.quantile(ordered, levels, axis=-1, overwrite_input=True), 0, -1)
