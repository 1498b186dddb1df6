"""A single value for every parameter."""

from typing import Any

import numpy as np

from bayesnb.arrays import log
from bayesnb.blocks.parameters import ModelParameters
from bayesnb.families.base import Family, Parameters
from bayesnb.model.bound import BoundModel
from bayesnb.model.ways import ways_to_posterior
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.by_class import parameters_by_class
from bayesnb.posterior.data import Fitting
from bayesnb.printing import Piece
from bayesnb.problem import Problem
from bayesnb.reading.cells import Cells

__all__ = ["PointPosterior", "SpreadPosterior"]


class PointPosterior(Posterior):
    """All the posterior's mass at one point: a maximum likelihood or MAP estimate, or known parameters.

    Attributes
    ----------
    parameters : ModelParameters
        The values, no leading axes.

    See Also
    --------
    MAP : The mode of the posterior.
    MLE : Maximum likelihood.
    from_parameters : A posterior of known parameters.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"]
    >>> posterior = nb.fit(nb.Bernoulli(2.0, 2.0), X, y, nb.MAP())
    >>> posterior.predict_proba([[1, 1]])
    array([[0.75, 0.25]])
    """

    def __init__(
        self,
        model: BoundModel,
        parameters: ModelParameters,
        problem: Problem | None = None,
        inference: Fitting | None = None,
    ) -> None:
        self.model = model
        self.parameters = parameters
        self.problem = problem
        self.inference = inference

    def site_moments(self, site: str) -> dict[str, Any]:
        return {"value": self.model.sites.by_name(self.parameters)[site]}

    def site_summaries(self, prob: float) -> dict[str, dict[str, Any]]:
        return {site: {"value": value} for site, value in self.mean().items()}

    def _parts(self) -> list[Piece]:
        return [*self._title(), *parameters_by_class(self.model, self.site_moments)]

    def mean_parameters(self) -> ModelParameters:
        return self.parameters

    def log_joint_of(self, cells: Cells) -> np.ndarray:
        return self.model.log_joint(self.parameters, cells)

    def feature_log_density(self, i: int, j: int, x: Any) -> np.ndarray:
        return self.model.feature_log_likelihood(self.parameters, i, j, x)

    def log_ratio_of(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        return log(self.class_probs()), self.model.log_ratio(self.parameters, cells)

    def device_densities(self) -> list[tuple[Family, Parameters | None]]:
        return [
            (block.family, dict(values))
            for block, values in zip(self.model.blocks, self.parameters.blocks, strict=True)
        ]

    def class_probs(self) -> np.ndarray:
        return np.asarray(self.parameters.class_prob)

    def parameter_draws(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        raise ValueError(
            f"a point estimate has no spread to draw from: use {ways_to_posterior(self.model)} for draws and "
            "intervals, or mean() for the values"
        )

    def draws_for_intervals(self, num_draws: int | None, key: Any) -> None:
        return None

    def _stored(self) -> tuple[ModelParameters | None, dict[str, np.ndarray] | None]:
        return self.parameters, None

    def row_parameters(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, Any], ...]:
        return tuple({name: value[codes] for name, value in block.items()} for block in self.parameters.blocks)


class SpreadPosterior(Posterior):
    """A posterior under which the parameters are uncertain."""

    def plugin(self) -> PointPosterior:
        """The posterior mean as a point estimate, which ignores that the parameters are uncertain.

        For single-trial features (Bernoulli, categorical) it predicts the same; for count vectors and Gaussians it is
        overconfident where there are few data.

        Raises
        ------
        ValueError
            If a mean is infinite, such as that of a variance with very few data.
        """
        for site, value in self.mean().items():
            if not np.isfinite(value).all():
                raise ValueError(
                    f"the posterior mean of {site!r} is infinite, so that it cannot be plugged in: predict "
                    "with the posterior itself, or give a prior with a finite mean"
                )
        return PointPosterior(self.model, self.mean_parameters())
