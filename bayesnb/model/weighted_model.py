"""A model with weights of features and offsets of classes: densities of rows, names of the parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayesnb.core.deferred import pytree
from bayesnb.core.sparse import dense
from bayesnb.families.matrix_product import times
from bayesnb.model.blocks import feature_names, positions_of_features
from bayesnb.model.bound import BoundModel
from bayesnb.model.feature_weights import priors
from bayesnb.model.prior import ModelParameters


@pytree
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
    other : ModelParameters or None
        Independent values of the parameters without weights, for densities that are as uncertain as those of dependent
        features; see `WeightedModel`.
    """

    weight: Any = None
    offset: Any = None
    spread: Any = None
    other: ModelParameters | None = None

    @classmethod
    def of(cls, parameters: ModelParameters, weight: Any, offset: Any, spread: Any, other: Any = None) -> Self:
        """Parameters of the model without weights, with weights beside them."""
        return cls(**vars(parameters), weight=weight, offset=offset, spread=spread, other=other)

    def weights(self) -> dict[str, Any]:
        found = {"feature_weight": self.weight, "class_offset": self.offset, "weight_spread": self.spread}
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, repr=False)
class WeightedModel(BoundModel):
    r"""A bound model with weights of features and offsets of classes.

    .. math:: p(y=c \mid x) \propto \pi_c \, e^{b_c} \prod_j p(x_j \mid c)^{w_j}

    Attributes
    ----------
    shared : bool
        Whether all features share one weight.
    """

    shared: bool = False

    @cached_property
    def positions(self) -> list[list[int]]:
        """For each block the positions of its features among the weights."""
        return positions_of_features(self.blocks)

    @property
    def weight_axes(self) -> dict[str, tuple[tuple[str, tuple], ...]]:
        return {
            "feature_weight": (("feature", tuple(feature_names(self.blocks))),),
            "class_offset": (("class", tuple(self.schema.classes.tolist())),),
            **({} if self.shared else {"weight_spread": ()}),
        }

    def joint_of_rows(self, parameters: ModelParameters, chunk: tuple[Any, ...]) -> Callable[[slice], np.ndarray]:
        """Log of the weighted product for each row and each class given parameters, shape (..., rows, classes)."""
        return lambda rows: self._weighted(parameters, tuple(x[rows] for x in chunk))

    def _weighted(self, parameters: ModelParameters, chunk: tuple[Any, ...]) -> np.ndarray:
        total = self.log_class_prob(parameters)[..., None, :]
        for i, x in enumerate(chunk):
            for j, _ in enumerate(self.positions[i]):
                if self.blocks[i].is_joint:
                    total = total + self._of_feature(parameters, i, j, x)
                    continue
                # Columns often have few distinct values; the density of each is computed once.
                values, places = np.unique(dense(x[:, j : j + 1]), return_inverse=True)
                total = total + self._of_feature(parameters, i, j, values[:, None]).take(places.ravel(), axis=-2)
        return total

    def log_class_prob(self, parameters: ModelParameters) -> np.ndarray:
        """Log class probabilities with the offsets, up to a number that all classes share, shape (..., classes)."""
        assert isinstance(parameters, WeightedParameters)
        return super().log_class_prob(parameters) + parameters.offset

    def _of_feature(self, parameters: ModelParameters, i: int, j: int, x: Any) -> np.ndarray:
        r"""The log density times its weight, with the variance of dependent features if there are other values.

        A weight of 1/m says that m features carry the same evidence. Then the errors of their log densities are equal
        too, and the variance of their sum is m times that of independent draws. A draw has this variance, and the same
        mean, if a multiple of its difference to another draw is added:

        .. math:: w \ell + \tfrac12 \bigl(\sqrt{w (2 - w)} - w\bigr) (\ell - \ell'), \qquad w \leq 1,

        has variance w times that of one log density l, in place of w squared.
        """
        assert isinstance(parameters, WeightedParameters)
        weight = np.asarray(parameters.weight)[..., self.positions[i][j], None, None]
        own = super()._of_feature(parameters, i, j, x)
        if parameters.other is None:
            return times(weight, own)
        other = super()._of_feature(parameters.other, i, j, x)
        with np.errstate(invalid="ignore"):
            difference = own - other
        difference[~np.isfinite(difference)] = 0.0
        below_one = np.minimum(weight, 1.0)
        return times(weight, own) + (np.sqrt(below_one * (2.0 - below_one)) - below_one) / 2.0 * difference

    def draw_prior(self, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> WeightedParameters:
        """Independent draws of all parameters from the prior; the weights' own prior is that of `weight_features`."""
        parameters = super().draw_prior(rng, sample_shape)
        num_features, num_draws = sum(map(len, self.positions)), int(np.prod(sample_shape))
        given = priors(num_features, len(self.schema.classes), shared=self.shared, num_again=self.num_again)
        which = rng.integers(len(given), size=num_draws)
        draws = np.empty((num_draws, len(given[0].mean)))
        for k, prior in enumerate(given):
            draws[which == k] = prior.draw(int((which == k).sum()), rng)
        weight, offset = np.split(draws, [given[0].num_weights], axis=1)
        return WeightedParameters.of(
            parameters,
            np.broadcast_to(weight, (num_draws, num_features)).reshape(*sample_shape, num_features),
            offset.reshape(*sample_shape, -1),
            None if self.shared else np.array([prior.spread for prior in given])[which].reshape(sample_shape),
        )
