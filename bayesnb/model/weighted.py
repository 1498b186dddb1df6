"""A model with weights of features and offsets of classes: densities of rows and names of the parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import jax
import numpy as np
from scipy.special import log_softmax

from bayesnb.arrays import in_float64
from bayesnb.blocks.parameters import ModelParameters
from bayesnb.families.product import times
from bayesnb.model.bound import BoundModel
from bayesnb.model.inclusion import feature_names, positions_of_features
from bayesnb.model.sites import Sites
from bayesnb.weights.feature_weights import FeatureWeights, mixed
from bayesnb.weights.prior import priors

__all__ = ["WeightedModel", "WeightedParameters"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class WeightedParameters(ModelParameters):
    """Values of all parameters, with weights and offsets.

    Attributes
    ----------
    weight : array, shape (..., features)
        Features in the order of the table's columns.
    offset : array, shape (..., classes)
    spread : array of shape (...,), or None
        Spread of the weights around their level; None if all features share one weight.
    """

    weight: Any = None
    offset: Any = None
    spread: Any = None


@dataclass(frozen=True, repr=False)
class WeightedModel(BoundModel):
    r"""A bound model with weights of features and offsets of classes.

    .. math:: p(y=c \mid x) \propto \pi_c \, e^{b_c} \prod_j p(x_j \mid c)^{w_j}

    Each density of a feature, and then the product, is that of all classes together with a small probability; `mixed`
    has the formula.

    Attributes
    ----------
    shared : bool
        Whether all features share one weight.
    nothing_in_feature, nothing_in_row : float
        Probability that a feature of a row, and that all of them together, say nothing about the label.
    """

    shared: bool = False
    nothing_in_feature: float = 0.0
    nothing_in_row: float = 0.0

    @classmethod
    def weighing(cls, model: BoundModel, weights: FeatureWeights) -> Self:
        """A model with weights."""
        shares = weights.no_information_in_feature, weights.no_information
        return cls(model.description, model.schema, model.blocks, weights.shared, *shares)

    @cached_property
    def positions(self) -> list[list[int]]:
        """For each block the positions of its features among the weights."""
        return positions_of_features(self.blocks)

    @cached_property
    def sites(self) -> Sites:
        """Names of all parameters in results, the weights among them."""
        own = BoundModel(self.description, self.schema, self.blocks).sites
        return WeightedSites(own, feature_names(self.blocks), self.schema.classes.tolist(), shared=self.shared)

    @in_float64
    def log_joint(self, parameters: ModelParameters, chunk: tuple[Any, ...]) -> np.ndarray:
        """Log of the weighted product for each row and each class given parameters, shape (..., rows, classes)."""
        log_prior = self.log_class_prob(parameters)[..., None, :]
        parts = [
            self.feature_log_likelihood(parameters, i, j, x)
            for i, x in enumerate(chunk)
            for j, _ in enumerate(self.positions[i])
        ]
        return log_prior + mixed(sum(parts), log_prior, self.nothing_in_row)

    def log_class_prob(self, parameters: ModelParameters) -> np.ndarray:
        """Log class probabilities with the offsets, shape (..., classes)."""
        assert isinstance(parameters, WeightedParameters)
        return log_softmax(super().log_class_prob(parameters) + parameters.offset, axis=-1)

    def feature_log_likelihood(self, parameters: ModelParameters, i: int, j: int, x: Any) -> np.ndarray:
        """The feature's log density, times its weight."""
        assert isinstance(parameters, WeightedParameters)
        weight = np.asarray(parameters.weight)[..., self.positions[i][j], None, None]
        log_prior = super().log_class_prob(parameters)[..., None, :]
        density = super().feature_log_likelihood(parameters, i, j, x)
        return times(weight, mixed(density, log_prior, self.nothing_in_feature))

    def draw_prior(self, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> WeightedParameters:
        """Independent draws of all parameters from the prior; the weights' own prior is that of `weight_features`."""
        parameters = super().draw_prior(rng, sample_shape)
        num_features, num_draws = sum(map(len, self.positions)), int(np.prod(sample_shape))
        given = priors(num_features, len(self.schema.classes), shared=self.shared)
        which = rng.integers(len(given), size=num_draws)
        draws = np.empty((num_draws, given[0].num_weights + given[0].num_classes))
        for k, prior in enumerate(given):
            draws[which == k] = prior.draw(int((which == k).sum()), rng)
        weight, offset = np.split(draws, [given[0].num_weights], axis=1)
        return WeightedParameters(
            parameters.class_prob,
            parameters.blocks,
            parameters.hyperparameters,
            np.broadcast_to(weight, (num_draws, num_features)).reshape(*sample_shape, num_features),
            offset.reshape(*sample_shape, -1),
            None if self.shared else np.array([prior.spread for prior in given])[which].reshape(sample_shape),
        )


class WeightedSites(Sites):
    """The sites of a model, and those of the weights: ``feature_weight``, ``class_offset``, ``weight_spread``."""

    def __init__(self, sites: Sites, features: Sequence[Any], classes: Sequence[Any], *, shared: bool) -> None:
        self._own = sites
        self._added = {
            "feature_weight": (("feature", tuple(features)),),
            "class_offset": (("class", tuple(classes)),),
            **({} if shared else {"weight_spread": ()}),
        }

    def __iter__(self) -> Any:
        return iter(self._own)

    def axes(self) -> dict[str, tuple[tuple[str, tuple], ...]]:
        return self._own.axes() | self._added

    def by_name(self, parameters: ModelParameters) -> dict[str, Any]:
        assert isinstance(parameters, WeightedParameters)
        added = {"feature_weight": parameters.weight, "class_offset": parameters.offset}
        if parameters.spread is not None:
            added["weight_spread"] = parameters.spread
        return self._own.by_name(parameters) | added
