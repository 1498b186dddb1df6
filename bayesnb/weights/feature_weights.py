"""The posterior of the weights of features."""

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["FeatureWeights"]


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
    """

    weight: np.ndarray
    offset: np.ndarray
    weight_draws: np.ndarray
    offset_draws: np.ndarray
    spread_draws: np.ndarray | None
    num_rows: int

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
