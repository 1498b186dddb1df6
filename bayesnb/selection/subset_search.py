"""The features with which labels are predicted best: a greedy search that drops features and adds them back."""

from dataclasses import dataclass

import numpy as np

from bayesnb.rows import row_pieces
from bayesnb.selection.label_score import ROUNDING

__all__ = ["LabelRatios", "Step", "while_rising"]


@dataclass(frozen=True)
class LabelRatios:
    """What each feature says about the label of each row, given the other rows.

    Attributes
    ----------
    of_classes : array, shape (rows, classes)
        Log probability of each class minus that of the row's own class.
    of_features : array, shape (rows, classes, features)
        Log density of each feature under each class minus that under the row's own class.
    weights : array, shape (rows,)
        A row of weight w counts as w rows.
    """

    of_classes: np.ndarray
    of_features: np.ndarray
    weights: np.ndarray

    def log_proba(self, kept: np.ndarray) -> np.ndarray:
        """Log probability of each row's label, shape (rows,), given which features (features,) the model has."""
        return _of_own_class((self.of_classes + self.of_features @ kept)[..., None])[:, 0]

    def scores_of_changes(self, kept: np.ndarray) -> np.ndarray:
        """Sum of the log probabilities after each feature is dropped, or added if it is not kept, shape (features,)."""
        sign = np.where(kept, -1.0, 1.0)
        total = self.of_classes + self.of_features @ kept
        scores = np.zeros(len(kept))
        for rows in row_pieces(len(total), self.of_features[:1].size):
            changed = total[rows, :, None] + sign * self.of_features[rows]
            scores += self.weights[rows] @ _of_own_class(changed)
        return scores

    def difference(self, log_proba: np.ndarray, to: np.ndarray) -> tuple[float, float]:
        """Difference of two scores, and its standard error, from the log probabilities (rows,) of both."""
        of_rows = log_proba - to
        total = float(self.weights @ of_rows)
        spread = of_rows - total / self.weights.sum()
        return total, float(np.sqrt(self.weights @ spread**2))


@dataclass(frozen=True)
class Step:
    """A subset of the features, and the leave-one-out score of the labels with it.

    Attributes
    ----------
    feature : int or None
        The feature that was dropped or added; None for the first step, which has all features.
    kept : array, shape (features,)
        One for each feature that the subset has, else zero.
    score : float
        Sum of the log probabilities of the labels.
    difference, se : float
        The score minus that of all features, and the standard error of the sum of the rows' differences.
    """

    feature: int | None
    kept: np.ndarray
    score: float
    difference: float
    se: float


def while_rising(ratios: LabelRatios) -> list[Step]:
    """Drop or add the feature that raises the score most, again and again, while the score rises.

    One feature always remains. Of changes that are equally good, the one of the last feature is made, so that the
    first of columns that are copies of each other remains.

    Returns
    -------
    list of Step
        The first has all features, and the last the best subset that was found.
    """
    kept = np.ones(ratios.of_features.shape[-1])
    of_all = ratios.log_proba(kept)
    steps = [Step(None, kept, float(ratios.weights @ of_all), 0.0, 0.0)]
    while len(kept) > 1:
        scores = ratios.scores_of_changes(kept)
        if kept.sum() == 1:
            scores[kept == 1] = -np.inf
        feature = int(np.flatnonzero(scores >= scores.max() - ROUNDING)[-1])
        kept = kept.copy()
        kept[feature] = 1.0 - kept[feature]
        # The score of a subset does not depend on the path that led to it, so that no subset comes twice.
        log_proba = ratios.log_proba(kept)
        score = float(ratios.weights @ log_proba)
        if score <= steps[-1].score + ROUNDING:
            break
        steps.append(Step(feature, kept, score, *ratios.difference(log_proba, of_all)))
    return steps


def _of_own_class(log_ratio: np.ndarray) -> np.ndarray:
    """Log probability of a row's own class, whose ratio is zero, from log ratios (rows, classes, subsets)."""
    highest = log_ratio.max(axis=1)
    return -highest - np.log(np.exp(log_ratio - highest[:, None]).sum(axis=1))
