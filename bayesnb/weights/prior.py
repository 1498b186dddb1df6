r"""The prior of weights of features and offsets of classes.

.. math::
    \tau \sim \mathrm{Uniform}\{.05, .1, .2, .4, .8, 1.6\}, \quad
    \eta \sim N(1, 1), \quad
    w_j \mid \eta, \tau \sim N(\eta, \tau^2), \quad
    b_c \sim N(0, 1),

restricted to :math:`w \geq 0`. With the level :math:`\eta` integrated out, the weights are jointly normal with mean one
and covariance :math:`\tau^2 I + 1 1^T`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, logsumexp

from bayesnb.weights.truncated_normal import TruncatedNormal

__all__ = ["SPREADS", "WeightPrior", "priors"]

SPREADS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Values of the spread of the weights around their level."""

NODES = 4001
"""Nodes of the integral over the level; twenty are where the probability of a spread of .05 rises."""


@dataclass(frozen=True)
class WeightPrior:
    """The prior of weights and offsets, given the spread of the weights.

    Attributes
    ----------
    num_weights, num_classes : int
    spread : float
        tau; zero if all features share one weight, which `num_weights` then counts as one.
    """

    num_weights: int
    num_classes: int
    spread: float

    @property
    def mean(self) -> np.ndarray:
        """Mean of the normal distribution, shape (weights + classes,)."""
        return np.concatenate([np.ones(self.num_weights), np.zeros(self.num_classes)])

    @cached_property
    def precision(self) -> np.ndarray:
        """Inverse covariance of the normal distribution."""
        found = np.eye(self.num_weights + self.num_classes)
        # The inverse of tau^2 I + 1 1^T, by Sherman and Morrison.
        variance, size = self.spread**2, self.num_weights
        if size > 1:
            found[:size, :size] = (np.eye(size) - 1.0 / (variance + size)) / variance
        else:
            found[:size, :size] = 1.0 / (1.0 + variance)
        return found

    @property
    def log_normaliser(self) -> float:
        """Log of the integral over w >= 0 of the density without its constant, the power of 2 pi left out."""
        variance, size = self.spread**2, self.num_weights
        if size > 1:
            log_determinant = size * np.log(variance) + np.log1p(size / variance)
            return float(log_determinant / 2 + self._log_probability())
        return float(np.log1p(variance) / 2 + log_ndtr(1.0 / np.sqrt(1.0 + variance)))

    def log_density(self, draws: np.ndarray) -> np.ndarray:
        """Log density of weights and offsets, shape (..., weights + classes), the power of 2 pi left out."""
        away = draws - self.mean
        return -np.einsum("...p,pq,...q->...", away, self.precision, away) / 2 - self.log_normaliser

    def draw(self, num_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Independent draws, shape (draws, weights + classes)."""
        factor = np.linalg.cholesky(np.linalg.inv(self.precision))
        return TruncatedNormal.of(self.mean, factor, self.num_weights).draw(num_draws, rng)

    def _log_probability(self) -> float:
        """Log probability that no weight is negative, by integration over the level with the trapezoidal rule."""
        nodes, step = np.linspace(-9.0, 9.0, NODES, retstep=True)
        log_density = -(nodes**2) / 2 - np.log(2 * np.pi) / 2
        return float(logsumexp(log_density + self.num_weights * log_ndtr((1.0 + nodes) / self.spread)) + np.log(step))


def priors(num_features: int, num_classes: int, *, shared: bool) -> list[WeightPrior]:
    """The prior given each spread; a single one if all features share a weight."""
    if shared or num_features == 1:
        return [WeightPrior(1, num_classes, 0.0)]
    return [WeightPrior(num_features, num_classes, spread) for spread in SPREADS]
