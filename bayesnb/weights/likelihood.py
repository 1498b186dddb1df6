"""The likelihood of labels under weights of features and offsets of classes."""

from dataclasses import dataclass
from functools import reduce
from typing import Self

import numpy as np

from bayesnb.parallel import in_order
from bayesnb.rows import PIECE_CELLS, row_pieces

__all__ = ["ConditionalLikelihood"]

type Parts = tuple[np.ndarray, np.ndarray]
"""Second derivatives of the weights, and of weights and offsets."""


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
        log_likelihood, residual = self._proba(point)
        np.negative(residual, out=residual)
        residual[self.codes, np.arange(len(self.codes))] += 1.0
        residual *= self.row_weights
        of_weights = sum(rest @ ratio for ratio, rest in zip(self.log_ratio, residual[1:], strict=True))
        return float(self.row_weights @ log_likelihood), np.concatenate([of_weights, residual.sum(axis=1)])

    def information(self, point: np.ndarray) -> np.ndarray:
        """Minus the second derivatives, shape (features + classes, features + classes)."""
        _, proba = self._proba(point)
        # A piece adds a matrix of all pairs of features: it has at least as many rows as that has columns.
        pieces = list(row_pieces(len(self.codes), min(self.num_features, PIECE_CELLS // self.num_features)))
        found = in_order(lambda rows: self._information_of(rows, proba[:, rows]), pieces)
        squares, crossed = reduce(_added, found)
        mass = proba * self.row_weights
        of_offsets = np.diag(mass.sum(axis=1)) - mass @ proba.T
        return np.block([[squares, crossed], [crossed.T, of_offsets]])

    def take(self, rows: np.ndarray) -> Self:
        """The likelihood of some rows."""
        return type(self)(self.log_ratio[:, rows], self.log_prior[:, rows], self.codes[rows], self.row_weights[rows])

    def _proba(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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

    def _information_of(self, rows: slice, proba: np.ndarray) -> Parts:
        """The parts of the weights, and of weights and offsets, that some rows add."""
        log_ratio, row_weights = self.log_ratio[:, rows], self.row_weights[rows, None]
        mass = row_weights * proba.T
        # Mean over the classes of the log ratios of each row.
        mean = np.zeros(log_ratio.shape[1:])
        squares, crossed = np.zeros((self.num_features,) * 2), np.zeros((self.num_features, self.num_classes))
        for c, ratio in enumerate(log_ratio, start=1):
            weighted = ratio * mass[:, c, None]
            squares += weighted.T @ ratio
            crossed[:, c] = weighted.sum(axis=0)
            mean += ratio * proba[c, :, None]
        return squares - (mean * row_weights).T @ mean, crossed - mean.T @ mass


def _added(one: Parts, other: Parts) -> Parts:
    return one[0] + other[0], one[1] + other[1]
