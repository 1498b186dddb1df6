"""The likelihood of labels under weights of features and offsets of classes."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import logsumexp

from bayesnb.parallel import in_order
from bayesnb.rows import row_pieces

__all__ = ["ConditionalLikelihood"]


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
    log_prior : array, shape (rows, classes)
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
        """The likelihood given log densities of features, shape (rows, classes, features)."""
        by_class = np.moveaxis(log_density, 1, 0)
        return cls(np.ascontiguousarray(by_class[1:] - by_class[:1]), log_prior, codes, row_weights)

    @property
    def num_features(self) -> int:
        """Number of weights."""
        return self.log_ratio.shape[-1]

    @property
    def num_classes(self) -> int:
        """Number of offsets."""
        return self.log_prior.shape[-1]

    def log_proba(self, point: np.ndarray) -> np.ndarray:
        """Log class probabilities of the rows, shape (rows, classes), at weights followed by offsets."""
        weights, offsets = point[: self.num_features], point[self.num_features :]
        scores = self.log_prior + offsets
        scores[:, 1:] += (self.log_ratio @ weights).T
        return scores - logsumexp(scores, axis=1, keepdims=True)

    def take(self, rows: np.ndarray) -> Self:
        """The likelihood of some rows."""
        return type(self)(self.log_ratio[:, rows], self.log_prior[rows], self.codes[rows], self.row_weights[rows])

    def value_and_gradient(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """The log likelihood and its gradient, shape (features + classes,)."""
        log_proba = self.log_proba(point)
        residual = -np.exp(log_proba)
        residual[np.arange(len(self.codes)), self.codes] += 1.0
        residual *= self.row_weights[:, None]
        of_weights = sum(rest @ ratio for ratio, rest in zip(self.log_ratio, residual.T[1:], strict=True))
        gradient = np.concatenate([of_weights, residual.sum(axis=0)])
        return float(self.row_weights @ self._of_label(log_proba)), gradient

    def information(self, point: np.ndarray) -> np.ndarray:
        """Minus the second derivatives, shape (features + classes, features + classes)."""
        proba = np.exp(self.log_proba(point))
        pieces = list(row_pieces(len(proba), self.num_features))
        found = list(in_order(lambda rows: self._information_of(rows, proba[rows]), pieces))
        squares, crossed = (np.sum(parts, axis=0) for parts in zip(*found, strict=True))
        mass = self.row_weights[:, None] * proba
        of_offsets = np.diag(mass.sum(axis=0)) - mass.T @ proba
        return np.block([[squares, crossed], [crossed.T, of_offsets]])

    def _information_of(self, rows: slice, proba: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The parts of the weights, and of weights and offsets, that some rows add."""
        log_ratio, row_weights = self.log_ratio[:, rows], self.row_weights[rows, None]
        mass = row_weights * proba
        # Mean over the classes of the log ratios of each row.
        mean = np.zeros(log_ratio.shape[1:])
        squares, crossed = np.zeros((self.num_features,) * 2), np.zeros((self.num_features, self.num_classes))
        for c, ratio in enumerate(log_ratio, start=1):
            weighted = ratio * mass[:, c, None]
            squares += weighted.T @ ratio
            crossed[:, c] = weighted.sum(axis=0)
            mean += ratio * proba[:, c, None]
        return squares - (mean * row_weights).T @ mean, crossed - mean.T @ mass

    def _of_label(self, log_proba: np.ndarray) -> np.ndarray:
        return log_proba[np.arange(len(self.codes)), self.codes]
