"""The posterior of weights of features, given arrays."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np
from scipy.special import log_ndtr, logsumexp

from bayesnb.core.arrays import PIECE_CELLS, row_pieces
from bayesnb.core.plain_formulas import mixed
from bayesnb.core.running import added, results_in_order
from bayesnb.model.truncated_normal import TruncatedNormal

# --------------------------------------------------------------------------------------------------
# The posterior of the weights of features
# --------------------------------------------------------------------------------------------------

SPREAD = 0.5
"""Standard deviation of each weight around one, under the prior of weights that learn on from batch to batch."""


def share_without_information(num_rows: float, class_probs: np.ndarray) -> float:
    r"""Probability that a feature of a row, or all of them together, say nothing about the row's label.

    .. math:: s = \frac{1}{2 + n (1 - \sum_c \pi_c^2)}

    It is the posterior mean of a share with a uniform prior after m rows, none of which belongs to the share (Laplace's
    rule of succession). Of n rows that say nothing, the share :math:`\sum_c \pi_c^2` has the right label by chance, so
    that m is the number of the others.

    Parameters
    ----------
    num_rows : float
        Total weight of the rows.
    class_probs : array, shape (classes,)
    """
    return float(1.0 / (2.0 + num_rows * (1.0 - class_probs @ class_probs)))


def mixed_features(log_density: np.ndarray, log_class_prob: np.ndarray, share: float) -> np.ndarray:
    """As `mixed`, of several features, shape (rows, classes, features), given log class probabilities of the rows."""
    found = np.empty_like(log_density)

    def fill(rows: slice) -> None:
        own = mixed(np.moveaxis(log_density[rows], 1, -1), log_class_prob[rows, None], share)
        found[rows] = np.moveaxis(own, -1, 1)

    list(results_in_order(fill, list(row_pieces(len(found), log_density[:1].size))))
    return found


@dataclass(frozen=True)
class FeatureWeights:
    """Weights of features and offsets of classes: the values that predict, and draws.

    Attributes
    ----------
    weight : array, shape (features,)
        The posterior mode, features in the order of the table's columns.
    offset : array, shape (classes,)
        The posterior mode of the terms that are added to the log class probabilities.
    weight_draws : array, shape (chain, draw, features)
    offset_draws : array, shape (chain, draw, classes)
    spread_draws : array of shape (chain, draw), or None
        The spread of the weights around their level; None if all features share one weight.
    num_rows : int
        Number of rows that the weights were learned from.
    gaussian : NormalWeights, optional
        What `learn_on` updates; None for weights that do not learn on.
    no_information : float, default 0.0
        Probability that a feature of a row, or all of them together, say nothing about the row's label. If all features
        share one weight, it is that of all features together only.
    """

    weight: np.ndarray
    offset: np.ndarray
    weight_draws: np.ndarray
    offset_draws: np.ndarray
    spread_draws: np.ndarray | None
    num_rows: int
    gaussian: "NormalWeights | None" = None
    no_information: float = 0.0

    @classmethod
    def of(cls, mode: np.ndarray, draws: np.ndarray, size: int, **others: Any) -> Self:
        """The weights of `size` features, given mode and draws of weights and offsets, shape (..., weights + classes).

        Where all features share one weight, there is one, and all features have the same memory. `others` are the other
        attributes.
        """
        num_weights = others["gaussian"].num_weights
        return cls(
            weight=np.broadcast_to(mode[:num_weights], size).copy(),
            offset=mode[num_weights:],
            weight_draws=np.broadcast_to(draws[..., :num_weights], (*draws.shape[:-1], size)),
            offset_draws=draws[..., num_weights:].copy(),
            **others,
        )

    @property
    def shared(self) -> bool:
        """Whether all features share one weight."""
        return self.spread_draws is None

    @property
    def no_information_in_feature(self) -> float:
        """Probability that a feature of a row says nothing; zero if all features share one weight."""
        return 0.0 if self.shared else self.no_information

    def take(self, num_chains: int, num_draws: int, rng: np.random.Generator) -> dict[str, Any]:
        """Draws by the names of `WeightedParameters`, leading axes (chain, draw).

        They are different ones of the draws where there are enough, else some occur several times.
        """
        draws = {"weight": self.weight_draws, "offset": self.offset_draws, "spread": self.spread_draws}
        available, wanted = self.weight_draws.shape[0] * self.weight_draws.shape[1], num_chains * num_draws
        chosen = rng.permutation(available)[:wanted] if wanted <= available else rng.integers(available, size=wanted)
        chain, step = np.divmod(chosen.reshape(num_chains, num_draws), self.weight_draws.shape[1])
        return {name: None if values is None else values[chain, step] for name, values in draws.items()}

    def summary(self, prob: float) -> dict[str, dict[str, Any]]:
        """Columns of `Posterior.summary` by site."""
        shape = self.weight.shape
        of_weights = _summary_columns(self.weight_draws[..., :1] if self.shared else self.weight_draws, prob)
        found = {"feature_weight": {name: np.broadcast_to(column, shape) for name, column in of_weights.items()}}
        found["class_offset"] = _summary_columns(self.offset_draws, prob)
        if self.spread_draws is not None:
            found["weight_spread"] = _summary_columns(self.spread_draws, prob)
        return found


def _summary_columns(draws: np.ndarray, prob: float) -> dict[str, Any]:
    lower, upper = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2], axis=(0, 1))
    return {"mean": draws.mean(axis=(0, 1)), "sd": draws.std(axis=(0, 1), ddof=1), "lower": lower, "upper": upper}


# --------------------------------------------------------------------------------------------------
# The likelihood of labels under weights of features and offsets of classes
# --------------------------------------------------------------------------------------------------

MOST_NUMBERS = 10**7
"""Densities in memory, 80 MB; of a larger table a random subset of the rows is used."""

type Parts = tuple[Any, ...]
"""The terms that some rows add to a sum."""


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
        squares, crossed, of_offsets = self._sum(_second_derivatives, point)
        return np.block([[squares, crossed], [crossed.T, of_offsets]])

    def take(self, rows: slice | np.ndarray) -> Self:
        """The likelihood of some rows."""
        return type(self)(self.log_ratio[:, rows], self.log_prior[:, rows], self.codes[rows], self.row_weights[rows])

    def of_features(self, which: Any) -> Self:
        """The likelihood of the weights at some positions, the others zero."""
        return replace(self, log_ratio=np.ascontiguousarray(self.log_ratio[..., which]))

    def _sum(self, part: Callable[[Self, np.ndarray], Parts], point: np.ndarray) -> Parts:
        """The sum of the parts of all rows, computed in pieces by several threads."""
        # Each piece adds a matrix of all pairs of features, and has at least as many rows as there are features.
        pieces = list(row_pieces(len(self.codes), min(self.num_features, PIECE_CELLS // self.num_features)))
        return reduce(added, results_in_order(lambda rows: part(self.take(rows), point), pieces))

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


def _second_derivatives(rows: ConditionalLikelihood, point: np.ndarray) -> Parts:
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


# --------------------------------------------------------------------------------------------------
# The prior of weights of features and offsets of classes.
#
# .. math::
#     \tau \sim \mathrm{Uniform}\{.05, .1, .2, .4, .8, 1.6\}, \quad
#     \eta \sim N(1, 1), \quad
#     w_j \mid \eta, \tau \sim N(\eta, \tau^2), \quad
#     b_c \sim N(0, 1),
#
# restricted to :math:`w \geq 0`. With the level :math:`\eta` integrated out, the weights are jointly normal with mean
# one and covariance :math:`\tau^2 I + 1 1^T`. Features that describe columns once more come last. Their level is zero,
# so that many of them that do not help cost little. The last of these are readings of columns, whose spread is r tau:
#
# .. math:: r \sim \mathrm{Uniform}\{0, 1/4, 1/2, 1, 2\}.
#
# Useless readings then make r small, and not the spread of all other weights.
# --------------------------------------------------------------------------------------------------

SPREADS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Grid of tau, the spread of the weights around their level."""

RATIOS = (0.25, 0.5, 1.0, 2.0)
"""Values of the ratio of the readings' spread to that of the other weights; without readings, it is zero."""

NODES = 4001
"""Nodes of the integral over the level; twenty are where the probability of a spread of .05 rises."""


@dataclass(frozen=True)
class NormalWeights:
    """A normal distribution of weights and offsets, restricted to w >= 0: a prior that rows update.

    Attributes
    ----------
    num_weights : int
    mean : array, shape (weights + classes,)
        Without the restriction.
    precision : array, shape (weights + classes, weights + classes)
        Inverse covariance without the restriction.
    log_normaliser : float, default 0.0
        Log of the integral over w >= 0 of the density without its constant, the power of 2 pi left out; zero for a
        prior that is compared with no other.
    spread : float, default 0.0
        tau, where the distribution is the prior given the spread; zero if all features share one weight.
    ratio : float, default 0.0
        r, where there are readings.
    """

    num_weights: int
    mean: np.ndarray
    precision: np.ndarray
    log_normaliser: float = 0.0
    spread: float = 0.0
    ratio: float = 0.0

    @classmethod
    def before_any_row(
        cls,
        num_weights: int,
        num_classes: int,
        num_again: int = 0,
        num_readings: int = 0,
        reading_spread: float = SPREAD,
    ) -> Self:
        """Independent weights of standard deviation 0.5, and offsets of mean zero and deviation one."""
        others = num_weights - num_readings
        deviation = np.repeat([SPREAD, reading_spread, 1.0], [others, num_readings, num_classes])
        return cls(num_weights, _mean(num_weights, num_classes, num_again), np.diag(deviation**-2))

    @classmethod
    def given_spread(
        cls,
        num_weights: int,
        num_classes: int,
        spread: float,
        num_again: int = 0,
        num_readings: int = 0,
        ratio: float = 0.0,
    ) -> Self:
        """The prior given the spread, which is zero for the one weight that all features share.

        The last `num_again` features describe columns once more; the last `num_readings` of these are readings, whose
        spread is `ratio` times that of the others.
        """
        mean = _mean(num_weights, num_classes, num_again)
        precision, variance = np.eye(len(mean)), spread**2
        if num_weights == 1:
            precision[0, 0] = 1.0 / (1.0 + variance)
            log_normaliser = np.log1p(variance) / 2 + log_ndtr(1.0 / np.sqrt(1.0 + variance))
        else:
            first = num_weights - num_again
            relative = np.repeat([1.0, ratio], [num_weights - num_readings, num_readings])
            precision[range(num_weights), range(num_weights)] = 1.0 / (variance * relative**2)
            # The inverse of tau^2 I + 1 1^T, by Sherman and Morrison.
            precision[:first, :first] -= 1.0 / (variance * (variance + first))
            log_determinant = num_weights * np.log(variance) + np.log1p(first / variance)
            log_determinant += 2 * np.log(relative).sum()
            log_normaliser = log_determinant / 2 + _log_probability(first, spread) + num_again * np.log(0.5)
        return cls(num_weights, mean, precision, float(log_normaliser), spread, ratio)

    def log_density(self, draws: np.ndarray) -> np.ndarray:
        """Log density of weights and offsets, shape (..., weights + classes), the power of 2 pi left out."""
        away = draws - self.mean
        return -np.einsum("...p,pq,...q->...", away, self.precision, away) / 2 - self.log_normaliser

    def draw(self, num_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Independent draws, shape (draws, weights + classes)."""
        factor = np.linalg.cholesky(np.linalg.inv(self.precision))
        return TruncatedNormal.of(self.mean, factor, self.num_weights).draw(num_draws, rng)


def _mean(num_weights: int, num_classes: int, num_again: int) -> np.ndarray:
    """The prior mean of weights and offsets."""
    return np.repeat([1.0, 0.0], [num_weights - num_again, num_again + num_classes])


def _log_probability(num_weights: int, spread: float) -> float:
    """Log probability that no weight is negative, by integration over the level with the trapezoidal rule."""
    nodes, step = np.linspace(-9.0, 9.0, NODES, retstep=True)
    log_density = -(nodes**2) / 2 - np.log(2 * np.pi) / 2
    return float(logsumexp(log_density + num_weights * log_ndtr((1.0 + nodes) / spread)) + np.log(step))


def priors(
    num_features: int, num_classes: int, *, shared: bool, num_again: int = 0, num_readings: int = 0
) -> list[NormalWeights]:
    """The prior given each spread, and each ratio of readings; a single one if all features share a weight.

    The last `num_again` features describe columns once more; the last `num_readings` of these are readings.
    """
    if shared or num_features == 1:
        return [NormalWeights.given_spread(1, num_classes, 0.0)]
    size = num_features, num_classes
    return [
        NormalWeights.given_spread(*size, spread, num_again, num_readings, ratio)
        for ratio in (RATIOS if num_readings else [0.0])
        for spread in SPREADS
    ]
