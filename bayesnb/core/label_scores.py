"""Sets of labels that hold the true one with a given probability, from leave-one-out probabilities of labels."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from bayesnb.core.checking import listed, proportion, warn

MOST_SCORES = 1000
"""Largest number of order statistics of a class."""

NO_SCORES = (
    "predict_set has no leave-one-out probabilities of labels after partial_fit or forget without kept rows, after "
    "with_class_probs, with both feature_inclusion and sample_weight, with var_smoothing above 1e-9, and in the file "
    "of a posterior or of an earlier version: fit all rows, with class_probs=... where those are given; or give the "
    "rows, classifier.posterior_.predict_set(X, fitted=(X_fit, y_fit))"
)
"""The error of `predict_set` without them."""

ROUNDING = 1e-9
"""Relative error of sums of weights."""


@dataclass(frozen=True)
class LabelScores:
    r"""Probabilities of the labels of rows, each predicted from the other rows, from which prediction sets follow.

    A set holds every class c whose probability is at least a threshold, the k-th smallest score of n rows, with
    :math:`k = \lfloor (1 - \text{coverage}) (n + 1) \rfloor` (Sadinle, Lei and Wasserman 2019, *JASA* 114, 223-234;
    Vovk, Gammerman and Shafer 2005, *Algorithmic Learning in a Random World*). With k = 0 each set holds the class.
    Rows may have weights (Tibshirani, Barber, Candès and Ramdas 2019, *NeurIPS* 32). Where other class probabilities
    than those of the rows are given, a row of class c counts given / rows times, and so does the new row under c
    (Podkopaev and Ramdas 2021, *UAI*, PMLR 161).

    Attributes
    ----------
    score : array, shape (scores,)
        p(y_i | x_i, D without i); at most `MOST_SCORES` of each class.
    code : array of int, shape (scores,)
        The position of the row's class.
    weight : array, shape (scores,)
        The total weight of the rows that share a score.
    class_ratio : array, shape (classes,)
        Given class probabilities over those of the rows; ones where none are given.
    """

    score: np.ndarray
    code: np.ndarray
    weight: np.ndarray
    class_ratio: np.ndarray

    @classmethod
    def of(cls, score: np.ndarray, code: np.ndarray, weight: np.ndarray, class_ratio: np.ndarray) -> Self:
        """The scores of rows; of many rows of a class the lowest of each of `MOST_SCORES` groups of neighbours."""
        found = []
        for c in range(len(class_ratio)):
            own = np.flatnonzero((code == c) & (weight > 0))
            own = own[np.argsort(score[own])]
            first = np.arange(len(own))
            if len(own) > MOST_SCORES:
                below = np.cumsum(weight[own]) - weight[own]
                group = np.floor(below / weight[own].sum() * MOST_SCORES)
                first = np.flatnonzero(np.diff(group, prepend=-1.0))
            found.append((score[own[first]], code[own[first]], np.add.reduceat(weight[own], first)))
        scores, codes, weights = map(np.concatenate, zip(*found, strict=True))
        return cls(scores, codes, weights, class_ratio)

    def thresholds(self, coverage: float, *, by_class: bool = False) -> np.ndarray:
        """The least probability with which each class is in a set, shape (classes,); -inf if always.

        Parameters
        ----------
        coverage : float
        by_class : bool, default False
            Whether the rows of a class give its threshold, and not all rows that of all classes.
        """
        order = np.argsort(self.score)
        score, code, weight = self.score[order], self.code[order], self.weight[order]
        found = np.empty(len(self.class_ratio))
        for c, ratio in enumerate(self.class_ratio):
            new, counted = (1.0, weight * (code == c)) if by_class else (ratio, weight * self.class_ratio[code])
            upto = np.cumsum(counted)
            # The scores from the lowest on, and the new row, weigh more than 1 - coverage of all.
            needed = (1.0 - coverage) * counted.sum() - coverage * new + ROUNDING * (counted.sum() + 1.0)
            place = min(int(np.searchsorted(upto, needed, side="right")), len(score) - 1)
            found[c] = -np.inf if needed < 0 else score[place]
        return found

    def sets(
        self, proba: np.ndarray, classes: np.ndarray, coverage: float, *, by_class: bool = False, empty: bool = False
    ) -> np.ndarray:
        """Which classes are in the set of each row, shape (rows, classes); `Posterior.predict_set` has the arguments.

        Warns
        -----
        UserWarning
            If classes are in every set because there are too few rows.
        """
        thresholds = self.thresholds(proportion("coverage", coverage), by_class=by_class)
        if always := classes[np.isneginf(thresholds)].tolist():
            least = np.ceil(1.0 / (1.0 - coverage) - ROUNDING) - 1
            of = " of a class with by_class=True" if by_class else ""
            if not by_class and (self.class_ratio != 1).any():
                of = ", and more of a class that is more probable than among the rows"
            warn(
                f"every set holds {listed(always)}: coverage={coverage:g} needs at least {least:g} rows{of}",
                UserWarning,
            )
        proba = np.asarray(proba)  # of a Dask table its partitions
        inside = proba >= thresholds
        if empty:
            return inside
        best = np.arange(len(classes)) == proba.argmax(axis=1, keepdims=True)
        return inside | (best & ~inside.any(axis=1, keepdims=True))
