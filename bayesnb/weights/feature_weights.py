"""The posterior of the weights of features."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

__all__ = ["FeatureWeights", "Gaussian"]

SPREAD = 0.5
"""Standard deviation of each weight around one, under the prior of weights that learn on from batch to batch."""


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
    """

    weight: np.ndarray
    offset: np.ndarray
    weight_draws: np.ndarray
    offset_draws: np.ndarray
    spread_draws: np.ndarray | None
    num_rows: int
    gaussian: Gaussian | None = None

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
