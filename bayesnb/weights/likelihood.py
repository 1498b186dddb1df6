"""The likelihood of labels under weights of features and offsets of classes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np

from bayesnb.parallel import added, in_order
from bayesnb.rows import PIECE_CELLS, row_pieces

__all__ = ["ConditionalLikelihood", "some_rows"]

MOST_NUMBERS = 10**7
"""Densities in memory, 80 MB; of a larger table a random subset of the rows is used."""

type Parts = tuple[Any, ...]
"""Numbers and arrays that some rows add to a sum."""


@dataclass(frozen=True)
class ConditionalLikelihood:
    r"""The log likelihood of labels given features, as a function of weights w and offsets b.

    .. math::
        \ell(w, b) = \sum_i \omega_i \log p(y_i \mid x_i), \qquad
        p(y_i = c \mid x_i) \propto \pi_{ic} \, e^{b_c} \prod_j p(x_{ij} \mid c)^{w_j}

    It is a multinomial logistic regression without free coefficients for classes, and therefore concave.

    Attributes
    ----------
    log_ratio : array, shape (classes - 1, rows, features)
        log p(x_ij | c) - log p(x_ij | first class), for each class but the first.
    log_prior : array, shape (classes, rows)
        log pi.
    codes : array of int, shape (rows,)
        Position of each row's class.
    row_weights : array, shape (rows,)
    """

    log_ratio: np.ndarray
    log_prior: np.ndarray
    codes: np.ndarray
    row_weights: np.ndarray

    @classmethod
    def of(cls, log_density: np.ndarray, log_prior: np.ndarray, codes: np.ndarray, row_weights: np.ndarray) -> Self:
        """The likelihood given log densities of features (rows, classes, features) and of classes (rows, classes)."""
        by_class = np.moveaxis(log_density, 1, 0)
        return cls(np.ascontiguousarray(by_class[1:] - by_class[:1]), log_prior.T.copy(), codes, row_weights)

    @property
    def num_features(self) -> int:
        """Number of weights."""
        return self.log_ratio.shape[-1]

    @property
    def num_classes(self) -> int:
        """Number of offsets."""
        return len(self.log_prior)

    def value_and_gradient(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """The log likelihood and its gradient, shape (features + classes,), at weights followed by offsets."""
        return self._sum(_value_and_gradient, point)

    def information(self, point: np.ndarray) -> np.ndarray:
        """Minus the second derivatives, shape (features + classes, features + classes)."""
        squares, crossed, of_offsets = self._sum(_information, point)
        return np.block([[squares, crossed], [crossed.T, of_offsets]])

    def take(self, rows: slice | np.ndarray) -> Self:
        """The likelihood of some rows."""
        return type(self)(self.log_ratio[:, rows], self.log_prior[:, rows], self.codes[rows], self.row_weights[rows])

    def _sum(self, part: Callable[[Self, np.ndarray], Parts], point: np.ndarray) -> Parts:
        """The sum of the parts of all rows, computed in pieces by several threads."""
        # A piece adds a matrix of all pairs of features: it has at least as many rows as that has columns.
        pieces = list(row_pieces(len(self.codes), min(self.num_features, PIECE_CELLS // self.num_features)))
        return reduce(added, in_order(lambda rows: part(self.take(rows), point), pieces))

    def proba(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log probability of each row's label (rows,), and class probabilities (classes, rows)."""
        weights, offsets = point[: self.num_features], point[self.num_features :]
        scores = self.log_prior + offsets[:, None]
        scores[1:] += self.log_ratio @ weights
        scores -= scores.max(axis=0)
        of_label = scores[self.codes, np.arange(len(self.codes))]
        proba = np.exp(scores, out=scores)
        total = proba.sum(axis=0)
        proba /= total
        return of_label - np.log(total), proba


def _value_and_gradient(rows: ConditionalLikelihood, point: np.ndarray) -> Parts:
    log_likelihood, residual = rows.proba(point)
    np.negative(residual, out=residual)
    residual[rows.codes, np.arange(len(rows.codes))] += 1.0
    residual *= rows.row_weights
    of_weights = sum(rest @ ratio for ratio, rest in zip(rows.log_ratio, residual[1:], strict=True))
    return rows.row_weights @ log_likelihood, np.concatenate([of_weights, residual.sum(axis=1)])


def _information(rows: ConditionalLikelihood, point: np.ndarray) -> Parts:
    """The parts of the weights, of weights and offsets, and of the offsets.

    Each row adds the covariance, over the classes, of its log ratios and of the indicators of the classes. The log
    ratios are centred before they are squared: where one class is nearly certain, the difference of two sums of
    squares would lose digits.
    """
    _, proba = rows.proba(point)
    root = np.sqrt(rows.row_weights * proba)
    mean = np.einsum("crj,cr->rj", rows.log_ratio, proba[1:])
    centred = np.empty((rows.num_classes, *mean.shape))
    np.negative(mean, out=centred[0])
    np.subtract(rows.log_ratio, mean, out=centred[1:])
    centred *= root[..., None]
    crossed = np.einsum("crj,cr->jc", centred, root)
    stacked = centred.reshape(-1, rows.num_features)
    mass = rows.row_weights * proba
    return stacked.T @ stacked, crossed, np.diag(mass.sum(axis=1)) - mass @ proba.T


def some_rows(num_rows: int, numbers: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of all rows, or of a random subset if `numbers` of each row are too many."""
    most = max(MOST_NUMBERS // numbers, 1)
    return np.arange(num_rows) if num_rows <= most else np.sort(rng.choice(num_rows, most, replace=False))
