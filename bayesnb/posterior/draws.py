"""Draws and estimates of every posterior."""

from abc import ABC
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from bayesnb.core.checking import proportion
from bayesnb.core.deferred import pd
from bayesnb.core.panels import percent
from bayesnb.data.read import as_rows
from bayesnb.model.blocks import parameter_notes
from bayesnb.model.bound import BoundModel
from bayesnb.model.prior import ModelParameters
from bayesnb.model.problem import Problem
from bayesnb.model.program import Sites
from bayesnb.posterior.belief import Belief
from bayesnb.posterior.predictions import nats_of
from bayesnb.posterior.under_draws import log_joint_under, proba_quantiles_under, proba_under, uncertainty_under

# --------------------------------------------------------------------------------------------------
# The table of a posterior's parameters, and the first line of its printed form
# --------------------------------------------------------------------------------------------------


def summary_frame(sites: Sites, columns: Mapping[str, Mapping[str, Any]]) -> Any:
    """A pandas frame with a row for every scalar parameter.

    Parameters
    ----------
    sites : Sites
    columns : mapping
        For each site its columns, arrays of the site's shape.
    """
    labels = sites.scalar_labels()
    cells = {
        name: np.concatenate(
            [np.broadcast_to(np.ravel(own.get(name, np.nan)), len(labels[site])) for site, own in columns.items()]
        )
        for name in dict.fromkeys(chain.from_iterable(columns.values()))
    }
    return pd.DataFrame(cells, index=pd.Index([label for site in columns for label in labels[site]], name="parameter"))


def headline(name: str, classes: list[Any], problem: Problem | None) -> str:
    """The name of the posterior, the number of rows of its data, and the labels."""
    weight = 0.0 if problem is None else float(problem.statistics.classes.n.sum())
    rows = "" if problem is None else f"{weight:g} row{'s' * (weight != 1)}, "
    if problem is not None and problem.unlabelled is not None:
        rows += f"{problem.unlabelled.weights.sum():g} without a label, "
    shown = str(classes) if len(classes) <= 10 else f"{str(classes[:8])[:-1]}, ... ({len(classes)} in all)]"
    return f"{name}: {rows}classes {shown}"


# --------------------------------------------------------------------------------------------------
# Draws of the parameters, and predictions of rows under each draw
# --------------------------------------------------------------------------------------------------


FEW = 250
"""Draws from each chain of a closed form, by default, for what passes over the rows once for each draw."""


class Draws(ABC):
    """Draws and summaries of the parameters, and densities and class probabilities of rows under each draw.

    A subclass has a `belief`. Its `problem` may be None.
    """

    belief: Belief
    problem: Problem | None

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
        parameters = self.belief.draw(num_chains, num_draws, key)
        sites = self.belief.model.sites.by_name(parameters)
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
        return proba_under(*self._under(X, num_chains, num_draws, key))

    def _under(
        self, X: Any, num_chains: int | None, num_draws: int | None, key: Any
    ) -> tuple[BoundModel, Any, ModelParameters]:
        """Model, rows and draws of the parameters; unreadable rows raise before anything is drawn."""
        X = as_rows(X)
        return self.belief.model, X, self.belief.draw(num_chains, num_draws, key, FEW)

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
        return log_joint_under(*self._under(X, num_chains, num_draws, key))

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
        levels = [(1 - prob) / 2, (1 + prob) / 2]
        return proba_quantiles_under(*self._under(X, num_chains, num_draws, key), levels)

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
        scale = nats_of(unit)
        total, aleatoric = uncertainty_under(*self._under(X, num_chains, num_draws, key)).T / scale
        parts = {"total": total, "aleatoric": aleatoric, "epistemic": total - aleatoric}
        return pd.DataFrame(parts, index=pd.RangeIndex(len(total), name="row"))

    def mean(self) -> dict[str, np.ndarray]:
        """Posterior mean of every parameter, by site; the value itself for a point.

        Returns
        -------
        dict
            The shapes of `draws` without the chain and draw axes.
        """
        by_name = self.belief.model.sites.by_name(self.belief.mean())
        return {name: np.array(value) for name, value in by_name.items()}

    def hyperparameters(self) -> dict[str, np.ndarray]:
        """Hyperparameters that were learned, by name; their posterior mean for a sampled posterior.

        Returns
        -------
        dict
            Empty where all were given.
        """
        if self.problem is None or self.problem.learned_from is None:
            return {name: np.array(value) for name, value in self.belief.mean().hyperparameters.items()}
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
        from bayesnb.core.frames import PrintedFrame

        frame = summary_frame(self.belief.model.sites, self.belief.summaries(prob))
        number = len(frame)
        heading = f"{number} parameter{'s' * (number != 1)}"
        if "lower" in frame:
            heading += f", lower and upper: {percent(prob)} interval"
        return PrintedFrame(frame, heading, parameter_notes(self.belief.model.blocks))
