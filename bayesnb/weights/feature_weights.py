"""The posterior of the weights of features."""

from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np

from bayesnb.arrays import namespace

__all__ = ["FeatureWeights", "Gaussian", "mixed", "mixed_features", "share_without_information"]

SPREAD = 0.5
"""Standard deviation of each weight around one, under the prior of weights that learn on from batch to batch."""

HIGHEST = 700.0
"""Logarithm of a number that is nearly the largest."""


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


def mixed(log_density: Any, log_prior: Any, share: Any) -> Any:
    r"""Log densities given the class, if with probability `share` they are the same given every class.

    .. math:: p'(x \mid c) = (1 - s) \, p(x \mid c) + s \sum_k \pi_k \, p(x \mid k)

    Parameters
    ----------
    log_density : array, shape (..., classes)
        Of NumPy or JAX. A number that all classes share changes the result by this number.
    log_prior : array, shape (..., classes)
        Log class probabilities, which add up to one.
    share : float or None
        None means zero, where JAX must know it before it has the number.

    Returns
    -------
    array, shape (..., classes)
        The log ratio of class c to another is at most the logarithm of :math:`1 + (1 - s) / (s \pi_c)`.
    """
    if isinstance(share, float | int | None) and not share:
        return log_density
    xp, _ = namespace(log_density)
    # Class by class, because short rows cost NumPy more than their numbers do.
    classes = range(log_density.shape[-1])
    highest = reduce(xp.maximum, (log_density[..., c] + log_prior[..., c] for c in classes))
    highest = xp.where(xp.isneginf(highest), 0.0, highest)[..., None]
    # Relative to the highest joint density. A class without probability may be far above, and must not be infinite.
    density = xp.exp(xp.minimum(log_density - highest, HIGHEST))
    prior = xp.exp(log_prior)
    pooled = sum(density[..., c] * prior[..., c] for c in classes)
    with np.errstate(divide="ignore"):
        return highest + xp.log((1.0 - share) * density + share * pooled[..., None])


def mixed_features(log_density: np.ndarray, log_class_prob: np.ndarray, share: float) -> np.ndarray:
    """As `mixed`, of several features, shape (rows, classes, features), given log class probabilities of the rows."""
    return np.moveaxis(mixed(np.moveaxis(log_density, 1, -1), log_class_prob[:, None], share), -1, 1)


@dataclass(frozen=True)
class Gaussian:
    """A normal distribution of weights and offsets, restricted to w >= 0, which further rows update.

    Attributes
    ----------
    num_weights : int
    mean : array, shape (weights + classes,)
        Without the restriction.
    precision : array, shape (weights + classes, weights + classes)
    """

    num_weights: int
    mean: np.ndarray
    precision: np.ndarray
    # It is compared with no other prior.
    log_normaliser: float = 0.0

    @classmethod
    def before_any_row(cls, num_weights: int, num_classes: int) -> Self:
        """Independent weights of mean one and standard deviation 0.5, and offsets of mean zero and deviation one."""
        weights, offsets = np.ones(num_weights), np.zeros(num_classes)
        return cls(num_weights, np.concatenate([weights, offsets]), np.diag([*weights / SPREAD**2, *(offsets + 1.0)]))


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
    gaussian : Gaussian, optional
        What `learn_on` updates; None in a file of an earlier version.
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
    gaussian: Gaussian | None = None
    no_information: float = 0.0

    @classmethod
    def of(cls, mode: np.ndarray, draws: np.ndarray, size: int, **others: Any) -> Self:
        """The weights of `size` features, given mode and draws of weights and offsets, shape (..., weights + classes).

        Where all features share one weight, there is one. `others` are the other attributes.
        """
        num_weights = others["gaussian"].num_weights
        return cls(
            weight=np.broadcast_to(mode[:num_weights], size).copy(),
            offset=mode[num_weights:],
            weight_draws=np.broadcast_to(draws[..., :num_weights], (*draws.shape[:-1], size)).copy(),
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
        sites = {"feature_weight": self.weight_draws, "class_offset": self.offset_draws}
        if self.spread_draws is not None:
            sites["weight_spread"] = self.spread_draws
        return {name: _columns(draws, prob) for name, draws in sites.items()}


def _columns(draws: np.ndarray, prob: float) -> dict[str, Any]:
    lower, upper = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2], axis=(0, 1))
    return {"mean": draws.mean(axis=(0, 1)), "sd": draws.std(axis=(0, 1), ddof=1), "lower": lower, "upper": upper}
