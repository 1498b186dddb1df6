"""The interface of every posterior."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import numpy as np

from bayesnb.arrays import log, warns_once
from bayesnb.blocks.parameters import ModelParameters
from bayesnb.decisions import NATS, decision_rule
from bayesnb.densities_under_draws import log_joint_under, proba_quantiles_under, proba_under
from bayesnb.device import log_joint_of_blocks
from bayesnb.families.base import Family, Parameters
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.growth import count_more
from bayesnb.model.bound import BoundModel
from bayesnb.posterior.by_partition import partition_by_partition
from bayesnb.posterior.in_jax import function_of_array
from bayesnb.posterior.linear import linear_rule
from bayesnb.posterior.simulate import mean_total_count, simulate_rows
from bayesnb.posterior.summary import headline, html, summary_frame
from bayesnb.posterior.uncertainty import uncertainty_under
from bayesnb.problem import Problem
from bayesnb.reading.cells import Cells
from bayesnb.reading.normalise import with_fallback
from bayesnb.tables.read import as_table
from bayesnb.validate import proportion

__all__ = ["Fitting", "Posterior"]


class Fitting(Protocol):
    """The interface of the inference that a posterior keeps, to run it again on other statistics."""

    def fit(self, problem: Problem, *, key: Any) -> "Posterior":
        """Condition the problem's model on its data."""


class Posterior(ABC):
    """Distribution of a model's parameters given data.

    Attributes
    ----------
    model : BoundModel
        The model with every default resolved to the numbers used.
    classes : array, shape (classes,)
        Labels, in the column order of `predict_proba`.
    problem : Problem or None
        Model and statistics of the data; None where the parameters were given without data.
    inference : object or None
        The inference that made the posterior; None if its draws or parameters were given.
    """

    model: BoundModel
    problem: Problem | None
    inference: Fitting | None

    @property
    def classes(self) -> np.ndarray:
        """Labels, in the column order of `predict_proba`."""
        return self.model.schema.classes

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
    def log_joint_of(self, cells: Cells) -> np.ndarray:
        """Log p(x, y=c | data) of rows that `BoundModel.encode` encoded, shape (rows, classes)."""

    def log_ratio_of(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Two terms, shapes (classes,) and (rows, classes), whose sum differs from `log_joint_of` by row only."""
        return np.zeros(len(self.classes)), self.log_joint_of(cells)

    @abstractmethod
    def class_probs(self) -> np.ndarray:
        """Predictive class probabilities before any feature is seen, shape (classes,)."""

    @abstractmethod
    def mean_parameters(self) -> ModelParameters:
        """Posterior mean of all parameters, block by block; `mean` gives them by site."""

    @abstractmethod
    def parameter_draws(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        """Draws of all parameters, block by block, leading axes (chain, draw); `draws` gives them by site."""

    @abstractmethod
    def row_parameters(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, Any], ...]:
        """Parameters of rows of the given classes, drawn independently for each row, shape (rows, columns, ...)."""

    def device_densities(self) -> list[tuple[Family, Parameters | None]] | None:
        """For each block its family and the parameters, or None for its predictive, that an accelerator computes with.

        None instead of the list if only the host can compute the densities.
        """
        return None

    def density_in_jax(self) -> tuple[Callable[[Any, Sequence[Any]], Any], Any]:
        """`log_joint_of` for JAX: a pure function, and the arrays that are its first argument.

        The second argument is the cells of each block, shape (rows, columns), all of them inside the support.
        """
        densities = self.device_densities()
        assert densities is not None
        return log_joint_of_blocks, (log(self.class_probs()), densities)

    def log_joint_function(self) -> Callable[[Any], Any]:
        """`log_joint` as a pure function of an array, which ``jax.jit``, ``jax.vmap`` and ``jax.grad`` take.

        Returns
        -------
        callable
            Maps an array of numbers, shape (..., columns), to log p(x, y=c | data), shape (..., classes), in the order
            of `classes`. A single row has shape (columns,).

            The columns are those of the fit, in the order of ``posterior.model.schema.columns``. A cell of a column of
            categories is a code: the position of its value in ``posterior.model.schema.categories[column]``. A missing
            cell is NaN: it adds nothing, and its derivative is zero. Codes, zeros and ones are looked up, so that the
            derivative with respect to them is zero too: compare two values instead. The derivative with respect to a
            count is that of the density written with gamma functions.

            Nothing is checked, since JAX may not know the numbers yet. A row with a cell that `log_joint` would refuse
            gives NaN, as does a missing cell of a count vector.

        Raises
        ------
        TypeError, ValueError
            By the function: if its argument is not an array of real numbers or has another number of columns, or if a
            density of the user's own does not run in JAX.

        Notes
        -----
        The computation is in float64. The argument and the result have JAX's precision, float32 by default: for the
        digits of `log_joint`, and for second derivatives, switch on ``jax.config.update("jax_enable_x64", True)``.

        Derivatives take memory for rows times classes times columns, and a sampled posterior for draws times rows
        times classes: give many rows in batches.

        Examples
        --------
        How fast the log odds of two classes grow with the first feature of a row, the other one missing:

        >>> import jax
        >>> import numpy as np
        >>> import bayesnb as nb
        >>> X = [[1.0, 5.0], [2.0, 4.0], [3.0, 7.0], [4.0, 9.0]]
        >>> posterior = nb.fit(nb.Gaussian(), X, ["a", "a", "b", "b"])
        >>> log_joint = posterior.log_joint_function()
        >>> def log_odds(x):
        ...     of_a, of_b = log_joint(x)
        ...     return of_b - of_a
        >>> print(jax.grad(log_odds)(np.array([2.5, np.nan])).round(2))
        [4.42 0.  ]
        >>> jax.vmap(log_odds)(np.array(X)).shape
        (4,)
        """
        return function_of_array(self.model, *self.density_in_jax())

    @partition_by_partition
    def log_joint(self, X: Any) -> np.ndarray:
        """Log density of each row together with each class.

        Parameters
        ----------
        X : table, shape (rows, columns)

        Returns
        -------
        array, shape (rows, classes)
            log p(x, y=c | data), the parameters integrated out of the product (Murphy 2012, Eqs. 3.64-3.65). For a Dask
            array or data frame, here and in the methods of prediction, a Dask array in the same partitions, computed
            when it is asked for.

        Raises
        ------
        ValueError, TypeError
            If X does not have the columns of the fit, or a cell is outside its family's support.
        """
        return self.model.read(X).densities(self, "log_joint")

    @partition_by_partition
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log of `predict_proba`, computed without leaving the log scale.

        Returns
        -------
        array, shape (rows, classes)
        """
        return with_fallback(self.model.read(X).densities(self, "log_proba"), -np.inf, log(self.class_probs()))

    @partition_by_partition
    def predict_proba(self, X: Any) -> np.ndarray:
        """Posterior predictive class probabilities.

        Parameters
        ----------
        X : table, shape (rows, columns)

        Returns
        -------
        array, shape (rows, classes)
            p(y=c | x, data): the joint density averaged over the posterior, then normalised, classes in the order of
            `classes`. The average of the class probabilities of single draws is another quantity: `proba_draws`.

        Warns
        -----
        UserWarning
            If a row has probability zero under every class (only point estimates can do that): it gets the class
            probabilities, as if no feature had been seen.
        """
        return with_fallback(self.model.read(X).densities(self, "proba"), 0.0, self.class_probs())

    @partition_by_partition
    def predict(self, X: Any, *, loss: Any = None, confidence: float | None = None, abstain: Any = None) -> np.ndarray:
        r"""The label to decide for in each row: the most probable one, or the one of least expected loss.

        Parameters
        ----------
        X : table, shape (rows, columns)
        loss : array of shape (classes, classes) or pandas.DataFrame, optional
            ``loss[a, c]``, the loss of deciding for a where c is true, both in the order of `classes`. The columns of a
            frame are the labels that may be true, in any order, and its index the actions, which need not be labels:
            ``"refer"``, say, with the loss of asking somebody else.
        confidence : float, optional
            Abstain where no label has at least this probability, above 0 and at most 1.
        abstain : scalar, default None
            The value that means an abstention.

        Returns
        -------
        array, shape (rows,)
            Without a loss or a confidence, the most probable labels, in the type of `classes`. With a loss, the actions
            that minimise :math:`\sum_c L(a, c) \, p(y=c \mid x, D)`, the first of them where several do (Berger 1985,
            *Statistical Decision Theory and Bayesian Analysis*, section 4.4; Murphy 2012, section 5.7). With a
            confidence, the most probable labels and `abstain`: in the type of `classes` where `abstain` has it, else
            Python objects.

        Raises
        ------
        TypeError, ValueError
            If the losses are not finite numbers for each action and class, the confidence is no probability, both are
            given, or `abstain` is given without a confidence.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> import bayesnb as nb
        >>> posterior = nb.fit(nb.Bernoulli(), [[1], [1], [0], [0]], ["ill", "ill", "well", "well"])
        >>> posterior.predict_proba([[1], [0], [np.nan]])
        array([[0.75, 0.25],
               [0.25, 0.75],
               [0.5 , 0.5 ]])
        >>> loss = pd.DataFrame({"ill": [0, 10, 1], "well": [1, 0, 0.5]}, index=["ill", "well", "test again"])
        >>> posterior.predict([[1], [0], [np.nan]], loss=loss).tolist()
        ['ill', 'test again', 'ill']
        >>> posterior.predict([[1], [0], [np.nan]], confidence=0.7)
        array(['ill', 'well', None], dtype=object)
        """
        decide = decision_rule(self.classes, loss=loss, confidence=confidence, abstain=abstain)
        return decide(self.predict_proba(X))

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
        X = as_table(X)  # refuses what it cannot read before the draws
        return proba_under(self.model, X, self._draws_for_densities(num_chains, num_draws, key))

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
        X = as_table(X)
        return log_joint_under(self.model, X, self._draws_for_densities(num_chains, num_draws, key))

    def _draws_for_densities(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        """Draws of all parameters; each costs a pass over the rows, so that a closed form draws fewer by default."""
        return self.parameter_draws(num_chains, num_draws, key)

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
        X = as_table(X)
        parameters = self._draws_for_densities(num_chains, num_draws, key)
        return proba_quantiles_under(self.model, X, parameters, [(1 - prob) / 2, (1 + prob) / 2])

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
            shows which labels are worth asking for (Lindley 1956, *Annals of Mathematical Statistics* 27, 986-1005;
            Houlsby, Huszár, Ghahramani and Lengyel 2011, arXiv:1112.5745, who call it BALD).

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
        if unit not in NATS:
            raise ValueError(f"unit is {unit!r}: give one of {list(NATS)}")
        X = as_table(X)
        return uncertainty_under(self.model, X, self._draws_for_densities(num_chains, num_draws, key), unit)

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
        sites = self.model.sites.by_name(parameters)
        return {name: np.array(value, dtype=np.float64) for name, value in sites.items()}

    def mean(self) -> dict[str, np.ndarray]:
        """Posterior mean of every parameter, by site; the value itself for a point.

        Returns
        -------
        dict
            The shapes of `draws` without the chain and draw axes.
        """
        return {name: np.array(value) for name, value in self.model.sites.by_name(self.mean_parameters()).items()}

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

    @abstractmethod
    def _summaries(self, prob: float) -> dict[str, dict[str, Any]]:
        """Columns of `summary` by site, arrays of the site's shape."""

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
            ``ess_bulk``, ``ess_tail`` and ``r_hat`` too for a sampled one; ``value`` for a point.
        """
        proportion("prob", prob)
        return summary_frame(self.model.sites, self._summaries(prob))

    def simulate(self, num_rows: int = 100, *, key: Any = 0, total_count: Any = None) -> tuple[Any, np.ndarray]:
        """New rows and labels from the posterior predictive distribution.

        Each row has its own draw of the parameters, so that rows are independent draws of p(x, y | data).

        Parameters
        ----------
        num_rows : int, default 100
        key : int or JAX key, default 0
        total_count : int or array of shape (rows,), optional
            Total of each count vector; by default the mean total of the data. For totals like those of the data, draw
            from them: ``total_count=rng.choice(X.sum(axis=1), num_rows)``.

        Returns
        -------
        tuple
            The table (a pandas frame where the columns have names, else an array) and the labels.
        """
        if total_count is None:
            total_count = mean_total_count(self.problem)
        return simulate_rows(self.model, self.class_probs(), self.row_parameters, num_rows, total_count, key)

    @property
    def log_evidence(self) -> float:
        """Log density of the data, all parameters integrated out.

        Count vectors are described given their totals. Evidences compare models of the same data in the same form only.

        It depends on the model and its data only, so that every inference of the same problem gives the same number.
        For a maximum likelihood estimate, too, it is the evidence under the model's priors.

        Raises
        ------
        ValueError
            If there are no data, or a family has no closed form.
        """
        problem = self.require_data("log_evidence")
        if not problem.conjugate:
            families = problem.model.families
            names = [type(family).__name__ for family in families if not isinstance(family, ConjugateFamily)]
            raise ValueError(
                f"log_evidence is known in closed form for conjugate families only, not for {names}: "
                "nb.compare_models compares models by leave-one-out, too"
            )
        problem.require_numbers()
        return problem.log_evidence

    def update(self, X: Any, y: Any, *, sample_weight: Any = None, decay: float = 1.0, key: Any = 0) -> Self:
        """The posterior with more data, the same as a fit to all of them together.

        Closed forms and point estimates are exact in the statistics; a sampled posterior is sampled anew from the
        merged statistics with the same settings. Defaults that follow the data's scale follow all the data.

        A category that only the new rows show becomes the last of its column, with the prior and the counts that a fit
        to all rows would have had. If the model lists the categories, or was bound to a table before the fit, no
        category is added, and another value counts as a missing cell, with a warning, as in a fit to all rows. With
        ``Categorical(other=True)`` a new value counts as "other"; a fit to all rows would have given it a category of
        its own.

        Parameters
        ----------
        X : table, shape (rows, columns)
        y : labels of shape (rows,) or str
        sample_weight : array, shape (rows,), optional
        decay : float, default 1.0
            Factor for the weight of the data so far, above 0 and at most 1: their statistics are multiplied by it
            before the new ones are added, so that a row has the weight ``decay**age``, with its age in updates. The
            weight of the prior does not change. With batches of n rows, the total weight tends to n / (1 - decay).
        key : int or JAX key, default 0
            For posteriors that are sampled.

        Raises
        ------
        TypeError, ValueError
            If the data do not fit the model; if they contain a new category and the prior has one concentration for
            each known category, and therefore none for a new one; or if the decay is outside its range.

        Examples
        --------
        >>> import bayesnb as nb
        >>> posterior = nb.fit(nb.Categorical(), [["red"], ["blue"]], ["a", "b"])
        >>> posterior.update([["green"]], ["a"]).mean()["0_prob"].round(2)
        array([[0.2 , 0.4 , 0.4 ],
               [0.5 , 0.25, 0.25]])
        >>> nb.fit(nb.Categorical(), [["red"], ["blue"], ["green"]], ["a", "b", "a"]).mean()["0_prob"].round(2)
        array([[0.2 , 0.4 , 0.4 ],
               [0.5 , 0.25, 0.25]])
        """
        problem, inference = self._require_fit("update")
        problem, counted = count_more(problem, X, y, sample_weight)
        return inference.fit(problem.add(counted, decay=decay), key=key)  # type: ignore[return-value]

    def forget(self, X: Any, y: Any, *, sample_weight: Any = None, key: Any = 0) -> Self:
        """The posterior after rows are removed from its data, the same as a fit to the remaining rows.

        No class and no category is removed.

        Parameters
        ----------
        X : table, shape (rows, columns)
        y : labels of shape (rows,) or str
        sample_weight : array, shape (rows,), optional
            The weight that the rows have now: their first weight, times `decay` for each later update.
        key : int or JAX key, default 0
            For posteriors that are sampled.

        Raises
        ------
        ValueError
            If these rows cannot have been among the data.
        """
        problem, inference = self._require_fit("forget")
        problem, counted = count_more(problem, X, y, sample_weight)
        return inference.fit(problem.take_away(counted), key=key)  # type: ignore[return-value]

    def decision_boundary(self) -> tuple[np.ndarray, float]:
        """Weights and bias of the linear rule that tells two classes apart by 0/1 features.

        Returns
        -------
        tuple of array of shape (columns,) and float
            w and a, such that log p(y=classes[1] | x) - log p(y=classes[0] | x) = w . x + a. The source of this formula
            (Barber 2012, *Bayesian Reasoning and Machine Learning*, section 10.2.1) leaves out the logarithms.

        Raises
        ------
        ValueError
            If there are not two classes, or a column holds other numbers than 0 and 1.
        """
        return linear_rule(self.model, self)

    @warns_once
    def to_datatree(
        self,
        X: Any = None,
        y: Any = None,
        *,
        predictions: Any = None,
        num_chains: int | None = None,
        num_draws: int | None = None,
        key: Any = 0,
    ) -> Any:
        """The posterior as an ``xarray.DataTree`` in ArviZ's groups.

        Parameters
        ----------
        X : table, shape (rows, columns), optional
        y : labels of shape (rows,) or str, optional
            With both, the tree also has the groups that need data.
        predictions : table, shape (new rows, columns), optional
            Rows without labels, for the group of that name.
        num_chains, num_draws : int, optional
            As for `Posterior.draws`. Exact draws come in chains, like NUTS's, so that ArviZ treats both alike.
        key : int or JAX key, default 0

        Returns
        -------
        xarray.DataTree
            Always: ``posterior`` and ``prior``, with the dimensions chain, draw, class, ``<block>_column`` and
            ``<column>_category``, all labelled; ``log_prior``, the log prior density of each site at the posterior's
            draws. Of a sampled posterior: ``sample_stats``. With data: ``observed_data`` (``y`` as positions among the
            classes, whose labels are in its attributes), ``constant_data`` (the features that are numbers),
            ``log_likelihood`` with two variables, of which ``arviz.loo`` takes one (``var_name="y"``, log
            p(y | x, theta), to judge the classifier; ``var_name="joint"``, log p(x, y | theta), to judge the model of
            features and labels together), ``posterior_predictive`` and ``prior_predictive`` with labels ``y`` drawn
            given each row's features. With `predictions`: drawn labels ``y`` and class probabilities ``proba`` of the
            new rows.

        Raises
        ------
        ValueError
            If the posterior is a point, which has no draws; or if one of X and y comes without the other.
        """
        from bayesnb.datatree import tree_of_draws

        if (X is None) != (y is None):
            raise ValueError("X and y come together: log p(y | x, theta) needs both")
        parameters = self.parameter_draws(num_chains, num_draws, key)
        stats = self._stats_of_draws(num_chains, num_draws)
        made_by = "given" if self.inference is None else repr(self.inference)
        return tree_of_draws(
            self.model,
            parameters,
            stats,
            X,
            y,
            predictions=predictions,
            library=self._library,
            inference=made_by,
            key=key,
        )

    _library = "bayesnb"
    """Name of the package that made the draws, for ArviZ."""

    def _stats_of_draws(self, num_chains: int | None, num_draws: int | None) -> dict[str, np.ndarray]:
        """The sampler's statistics of the draws that `draws` gives; empty if no sampler made them."""
        return {}

    def save(self, path: Any) -> None:
        """Write the posterior to a netCDF file, which `bayesnb.load` and ``xarray.open_datatree`` read.

        The file holds the model as JSON text and its numbers as float64 arrays, so that the posterior that `load`
        returns predicts bit for bit the same. Rows without a label are in the file as they were given.

        The file is written beside its place, and put there in one step when it is whole. An error, an interruption or
        another process that saves to the same path never leaves a part of a file there. The file ends with a checksum
        of all its bytes, which `load` compares.

        Parameters
        ----------
        path : path-like
            A file of this name is replaced.

        Raises
        ------
        ImportError
            Without h5netcdf and h5py, the extra ``bayesnb[io]``.
        OSError
            If the folder does not exist (FileNotFoundError) or may not be written to (PermissionError), the disk is
            full, or the path names a folder or a device. What was at the path is unchanged.
        TypeError
            If a class or category label is neither text, number nor boolean, or the inference is a class of your own.
        """
        from bayesnb.files.save import save

        stored = self._stored()
        save(path, type(self).__name__, self.model, self.problem, self.inference, *stored)

    def _stored(self) -> tuple[ModelParameters | None, dict[str, np.ndarray] | None]:
        """Parameters and sampler's statistics for a file; None for a closed form, which the problem determines."""
        return None, None

    def require_data(self, verb: str) -> Problem:
        """The model and the statistics of its data.

        Parameters
        ----------
        verb : str
            What needs the data, for the error.

        Raises
        ------
        ValueError
            If the parameters were given without data.
        """
        if self.problem is None:
            raise ValueError(f"{verb} needs data: these parameters were given, not fitted; use nb.fit(model, X, y)")
        return self.problem

    def _require_fit(self, verb: str) -> tuple[Problem, Fitting]:
        problem = self.require_data(verb)
        if self.inference is None:
            raise ValueError(
                f"{verb} would need the sampler that made these draws: run it again on the new data and hand them over "
                "with nb.from_samples, or use nb.fit(model, X, y)"
            )
        problem.require_labels(verb, "fit all the rows again, nb.fit(model, X, y, ...)")
        return problem, self.inference

    def __repr__(self) -> str:
        story = repr(self.model).split("\n", 1)[1]
        return f"{headline(type(self).__name__, self.classes.tolist(), self.problem, self._details())}\n{story}"

    def _repr_html_(self) -> str:
        return html(repr(self), self.model.sites, self.summary)

    def _details(self) -> str:
        """The end of the repr's first line: how the posterior was made."""
        return ""
