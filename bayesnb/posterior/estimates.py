"""Posterior means of the parameters, and a summary of their distribution."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from bayesnb.blocks.parameters import ModelParameters
from bayesnb.model.bound import BoundModel
from bayesnb.model.story import parameter_notes
from bayesnb.pictures.text import percent
from bayesnb.posterior.summary import summary_frame
from bayesnb.problem import Problem
from bayesnb.validate import proportion

__all__ = ["Estimates"]


class Estimates(ABC):
    """Posterior means and a summary of the parameters.

    A subclass defines `mean_parameters` and `site_summaries`. Its `problem` may be None.
    """

    problem: Problem | None

    @property
    @abstractmethod
    def drawn_model(self) -> BoundModel:
        """The model that names the parameters."""

    @abstractmethod
    def mean_parameters(self) -> ModelParameters:
        """Posterior mean of all parameters, block by block; `mean` gives them by site."""

    @abstractmethod
    def site_summaries(self, prob: float) -> dict[str, dict[str, Any]]:
        """Columns of `summary` by site, arrays of the site's shape."""

    def site_moments(self, site: str) -> dict[str, Any]:
        """``mean`` and ``sd`` of the parameters of a site, or ``value`` of a point, arrays of the site's shape.

        The default takes them from `site_summaries`. A subclass may compute those of the site alone.

        Raises
        ------
        NotImplementedError
            If the family states no marginal distributions.
        """
        columns = self.site_summaries(0.5)[site]
        return {name: columns[name] for name in ("mean", "sd", "value") if name in columns}

    def mean(self) -> dict[str, np.ndarray]:
        """Posterior mean of every parameter, by site; the value itself for a point.

        Returns
        -------
        dict
            The shapes of `draws` without the chain and draw axes.
        """
        return {name: np.array(value) for name, value in self.drawn_model.sites.by_name(self.mean_parameters()).items()}

    def hyperparameters(self) -> dict[str, np.ndarray]:
        """Hyperparameters that were learned, by name; their posterior mean for a sampled posterior.

        Returns
        -------
        dict
            Empty where all were given.
        """
        if self.problem is None or self.problem.learned_from is None:
            return {name: np.array(value) for name, value in self.mean_parameters().hyperparameters.items()}
        return self.problem.model.description.hyperparameters_like(self.problem.learned_from.description)

    def summary(self, *, prob: float = 0.89) -> Any:
        """Every scalar parameter in a row.

        Parameters
        ----------
        prob : float, default 0.89
            Posterior probability between ``lower`` and ``upper``.

        Returns
        -------
        pandas.DataFrame
            ``mean``, ``sd``, ``lower`` and ``upper`` (equal tails), in closed form for an exact posterior;
            ``ess_bulk``, ``ess_tail`` and ``r_hat`` too for a sampled one; ``value`` for a point. The parameters of
            some families are not those of the cells: those of `LogNormal` are of the logarithm. The printed frame
            says so.
        """
        proportion("prob", prob)
        from bayesnb.frames import PrintedFrame

        frame = summary_frame(self.drawn_model.sites, self.site_summaries(prob))
        number = len(frame)
        heading = f"{number} parameter{'s' * (number != 1)}"
        if "lower" in frame:
            heading += f", lower and upper: {percent(prob)} interval"
        return PrintedFrame(frame, heading, parameter_notes(self.drawn_model.blocks))
