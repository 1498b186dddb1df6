"""Draws of the parameters, and predictions of rows under each draw."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from bayesnb.blocks.parameters import ModelParameters
from bayesnb.decisions import nats_of
from bayesnb.densities_under_draws import log_joint_under, proba_quantiles_under, proba_under
from bayesnb.model.bound import BoundModel
from bayesnb.posterior.uncertainty import uncertainty_under
from bayesnb.tables.row import as_rows
from bayesnb.validate import proportion

__all__ = ["Draws"]


class Draws(ABC):
    """Draws of the parameters, and densities and class probabilities of rows under each draw.

    A subclass defines `parameter_draws`.
    """

    model: BoundModel

    @property
    def drawn_model(self) -> BoundModel:
        """The model whose parameters `draws` gives."""
        return self.model

    @property
    def sample_stats(self) -> dict[str, np.ndarray]:
        """The sampler's statistics of each draw; only sampled posteriors have them.

        Raises
        ------
        AttributeError
            If the posterior was not sampled.
        """
        raise AttributeError(
            f"{type(self).__name__} has no sample_stats, because no sampler made it: fit with nb.NUTS() to have them; "
            "independent draws of a closed form, draws(), need no diagnostics"
        )

    @abstractmethod
    def parameter_draws(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        """Draws of all parameters, block by block, leading axes (chain, draw); `draws` gives them by site."""

    def draws_for_densities(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        """Draws for the methods that pass over the rows once for each draw; a closed form makes fewer by default."""
        return self.parameter_draws(num_chains, num_draws, key)

    def draws_for_intervals(self, num_draws: int | None, key: Any) -> ModelParameters | None:
        """As `draws_for_densities`; None if the parameters have no spread."""
        return self.draws_for_densities(None, num_draws, key)

    def draws(
        self, *, num_chains: int | None = None, num_draws: int | None = None, key: Any = 0
    ) -> dict[str, np.ndarray]:
        """Draws of every parameter.

        Parameters
        ----------
        num_chains, num_draws : int, optional
            By default 4 chains of 1000 draws from an exact posterior, and all there are of a sampled one.
        key : int or JAX key, default 0

        Returns
        -------
        dict
            Arrays of shape (chain, draw, ...) by site: ``class_prob`` (classes,); ``<block>_<parameter>`` (classes,
            columns); ``<column>_<parameter>`` (classes,) or (classes, categories).
        """
        parameters = self.parameter_draws(num_chains, num_draws, key)
        sites = self.drawn_model.sites.by_name(parameters)
        return {name: np.array(value, dtype=np.float64) for name, value in sites.items()}

    def proba_draws(
        self, X: Any, *, num_draws: int | None = None, num_chains: int | None = None, key: Any = 0
    ) -> np.ndarray:
        """Class probabilities under each draw of the parameters.

        Parameters
        ----------
        X : table, shape (rows, columns)
        num_draws, num_chains : int, optional
            Draws in each chain, and chains; by default 250 in 4 for an exact posterior and all there are for a sampled
            one.
        key : int or JAX key, default 0

        Returns
        -------
        array, shape (chain, draw, rows, classes)
            p(y=c | x, theta) for each draw theta. Its average over draws is not `predict_proba`, which averages the
            joint density.
        """
        X = as_rows(X)  # refuses what it cannot read before the draws
        return proba_under(self.drawn_model, X, self.draws_for_densities(num_chains, num_draws, key))

    def log_joint_draws(
        self, X: Any, *, num_draws: int | None = None, num_chains: int | None = None, key: Any = 0
    ) -> np.ndarray:
        """Log density of each row together with each class, under each draw of the parameters.

        Parameters
        ----------
        X, num_draws, num_chains, key
            As for `proba_draws`.

        Returns
        -------
        array, shape (chain, draw, rows, classes)
            log p(x, y=c | theta) for each draw theta.
        """
        X = as_rows(X)
        return log_joint_under(self.drawn_model, X, self.draws_for_densities(num_chains, num_draws, key))

    def proba_interval(
        self, X: Any, *, prob: float = 0.89, num_draws: int | None = None, num_chains: int | None = None, key: Any = 0
    ) -> np.ndarray:
        """Equal-tailed credible interval of the class probabilities.

        Parameters
        ----------
        X : table, shape (rows, columns)
        prob : float, default 0.89
            Posterior probability of the interval.
        num_draws, num_chains, key
            As for `proba_draws`.

        Returns
        -------
        array, shape (rows, classes, 2)
            Lower and upper end for p(y=c | x, theta).
        """
        proportion("prob", prob)
        X = as_rows(X)
        parameters = self.draws_for_densities(num_chains, num_draws, key)
        return proba_quantiles_under(self.drawn_model, X, parameters, [(1 - prob) / 2, (1 + prob) / 2])

    def uncertainty(
        self,
        X: Any,
        *,
        unit: str = "nats",
        num_draws: int | None = None,
        num_chains: int | None = None,
        key: Any = 0,
    ) -> Any:
        r"""Uncertainty of each row's label, and the part of it that more data could remove.

        With :math:`\bar p_c = \mathrm{E}_{\theta \mid D} \, p(y=c \mid x, \theta)` and H the entropy of a label,

        .. math::
            \underbrace{H(\bar p)}_{\text{total}}
            = \underbrace{\mathrm{E}_{\theta \mid D} \, H(p(y \mid x, \theta))}_{\text{aleatoric}}
            + \underbrace{I(y; \theta)}_{\text{epistemic}} .

        Parameters
        ----------
        X : table, shape (rows, columns)
        unit : {"nats", "bits"}, default "nats"
        num_draws, num_chains, key
            As for `proba_draws`. All rows use the same draws.

        Returns
        -------
        pandas.DataFrame
            A row for each row of X, by position: ``total``; ``aleatoric``, which would be left if the parameters were
            known; and ``epistemic``, their difference, the mutual information between label and parameters. The last
            shows which rows are worth labelling, in active learning (Lindley 1956, *Annals of Mathematical Statistics*
            27, 986-1005; Houlsby, Huszár, Ghahramani and Lengyel 2011, arXiv:1112.5745, who call it BALD).

        Raises
        ------
        ValueError
            If the posterior is a point, whose parameters have no uncertainty; or the unit is unknown.

        Notes
        -----
        The average is that of `proba_draws`, not `predict_proba`: the label's distribution under the posterior of the
        parameters, without information from the features of the row itself. Only with that average do the two parts add
        up to the total, because both are expectations over the same draws. The entropy of `predict_proba` differs from
        ``total`` by the order of the parameters' posterior variance.

        The entropy of an average over S independent draws is too small by (classes - 1) / (2 S) nats at most, to first
        order, and ``epistemic`` with it: 0.0005 for two classes and the default's thousand draws.

        Examples
        --------
        One coin was tossed 400 times, the other twice. The entropy is the same, for different reasons.

        >>> import pandas as pd
        >>> import bayesnb as nb
        >>> tosses = pd.DataFrame({"coin": ["old"] * 400 + ["new"] * 2})
        >>> posterior = nb.fit(nb.NaiveBayes({"coin": nb.Categorical()}), tosses, ["heads", "tails"] * 201)
        >>> posterior.uncertainty(pd.DataFrame({"coin": ["old", "new"]}), unit="bits", key=0).round(2)
             total  aleatoric  epistemic
        row
        0      1.0       1.00       0.00
        1      1.0       0.84       0.16
        """
        nats_of(unit)
        X = as_rows(X)
        return uncertainty_under(self.drawn_model, X, self.draws_for_densities(num_chains, num_draws, key), unit)
