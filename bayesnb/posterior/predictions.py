"""Predictions, draws and summaries of every posterior."""

from collections.abc import Callable, Mapping
from functools import partial, wraps
from itertools import chain
from typing import Any, Concatenate

import numpy as np

from bayesnb.core.arrays import log
from bayesnb.core.checking import one_of, proportion
from bayesnb.core.decisions import decision_rule
from bayesnb.core.deferred import leaves, pd
from bayesnb.core.panels import percent
from bayesnb.core.plain_formulas import with_fallback
from bayesnb.data.dask_table import map_partitions
from bayesnb.data.read import as_rows, is_dask
from bayesnb.model.blocks import parameter_notes
from bayesnb.model.bound import BoundModel
from bayesnb.model.prior import ModelParameters
from bayesnb.model.problem import Problem
from bayesnb.model.program import Sites
from bayesnb.model.reading import Cells, log_normalised, normalise_into
from bayesnb.posterior.belief import Belief
from bayesnb.posterior.density import LabelDensity
from bayesnb.posterior.function_of_array import function_of_array, log_joint_on_device
from bayesnb.posterior.lazy_predictions import gives_table, lazy_predictions
from bayesnb.posterior.under_draws import log_joint_under, proba_quantiles_under, proba_under, uncertainty_under

# --------------------------------------------------------------------------------------------------
# Predictions for Dask collections, one partition at a time
# --------------------------------------------------------------------------------------------------


def _partition_by_partition[**P](
    method: Callable[Concatenate[Any, Any, P], np.ndarray],
) -> Callable[Concatenate[Any, Any, P], np.ndarray]:
    """Let a method that returns an array by rows take tables that are computed later.

    It returns a Dask array if X is one, and of a lazy table the table with the columns of the prediction.
    """

    @wraps(method)
    def wrapped(self: Any, X: Any, *args: P.args, **kwargs: P.kwargs) -> np.ndarray:
        if gives_table(X, method.__name__):
            return lazy_predictions(self, method.__name__, X, kwargs)
        if not is_dask(X):
            return method(self, X, *args, **kwargs)
        return map_partitions(partial(_method_of_partition, self, method.__name__, args, kwargs), X)

    return wrapped


def _method_of_partition(posterior: Any, method: str, args: tuple, kwargs: dict[str, Any], X: Any) -> np.ndarray:
    # The method is sent to Dask by name: pickle would look up the inner function by name and find the wrapped one.
    return getattr(posterior, method)(X, *args, **kwargs)


NATS = {"nats": 1.0, "bits": float(np.log(2))}
"""Units of entropy, in nats."""


def nats_of(unit: Any, units: Mapping[str, float] = NATS) -> float:
    """The nats of a unit.

    Raises
    ------
    ValueError
        If the unit is not among the units.
    """
    one_of("unit", unit, units)
    return units[unit]


# --------------------------------------------------------------------------------------------------
# The table of a posterior's parameters
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


# --------------------------------------------------------------------------------------------------
# Densities of rows, predictions of their labels, and the parameters
# --------------------------------------------------------------------------------------------------


FEW = 250
"""Draws from each chain of a closed form, by default, for what passes over the rows once for each draw."""


KEPT_BYTES = 2**26
"""Most bytes of draws that a posterior keeps."""

type Terms = Callable[[Cells], tuple[np.ndarray, np.ndarray]]
"""From encoded rows to two terms of their log joint densities, shapes (classes,) and (rows, classes)."""


def _add_into(out: np.ndarray, log_prior: np.ndarray, log_density: np.ndarray) -> None:
    np.add(log_prior, log_density, out=out)


def _log_normalise_into(out: np.ndarray, log_prior: np.ndarray, log_density: np.ndarray) -> None:
    out[...] = log_normalised(log_prior + log_density)


class Predictions:
    """Predictions of rows with the parameters integrated out and under draws, and summaries of the parameters.

    A subclass has a `belief`. Its `problem` may be None.
    """

    belief: Belief
    problem: Problem | None

    @property
    def model(self) -> BoundModel:
        """The model with every default resolved to the numbers used."""
        return self.belief.plain.model

    def class_probs(self) -> np.ndarray:
        """Predictive class probabilities before any feature is seen, shape (classes,)."""
        return self.belief.class_probs()

    @_partition_by_partition
    def log_joint(self, X: Any) -> np.ndarray:
        """Log density of each row together with each class.

        Parameters
        ----------
        X : table, shape (rows, columns)

        Returns
        -------
        array, shape (rows, classes)
            log p(x, y=c | data), the parameters integrated out of the product (Murphy 2012, Eqs. 3.64-3.65). For a Dask
            array, here and in the methods of prediction, a Dask array in the same partitions, computed lazily.

        Raises
        ------
        ValueError, TypeError
            If X does not have the columns of the fit, or a cell is outside its family's support.
        """
        density, nothing = self.belief.density, np.zeros(len(self.model.schema.classes))
        return self._filled(density, lambda cells: (nothing, density.log_joint(cells)), _add_into, X)

    def _filled(self, density: LabelDensity, terms: Terms, put: Callable[..., None], X: Any) -> np.ndarray:
        """What a function puts into an array (rows, classes), given it and two terms of the log joint densities."""
        chunks, num_classes = self.model.read(as_rows(X)), len(self.model.schema.classes)
        known = None if chunks.device_rows is None else log_joint_on_device(self.belief.density, chunks)
        if known is None:
            return density.chunks(chunks).fill(lambda cells, out: put(out, *terms(cells)), num_classes)
        put(known, np.zeros(num_classes), known.copy())
        return known

    @_partition_by_partition
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log of `predict_proba`, computed without leaving the log scale.

        Returns
        -------
        array, shape (rows, classes)
        """
        density = self.belief.predicting
        return with_fallback(
            self._filled(density, density.log_ratio, _log_normalise_into, X), -np.inf, log(self.class_probs())
        )

    @_partition_by_partition
    def predict_proba(self, X: Any) -> np.ndarray:
        """Posterior predictive class probabilities.

        Parameters
        ----------
        X : table, shape (rows, columns)
            Or a lazy table: a DuckDB relation, a Polars LazyFrame, a Spark or Dask data frame, an Ibis table.

        Returns
        -------
        array, shape (rows, classes)
            p(y=c | x, data): the joint density averaged over the posterior, then normalised, classes in the order of
            `classes`. The average of the class probabilities of single draws is another quantity: `proba_draws`.
            Of a lazy table, the table with a column ``proba_<class>`` for each class, which its engine computes when it
            is asked. A row with a number that its family does not hold, an error in memory, has null in these columns,
            and nothing warns of cells that count as missing.

        Raises
        ------
        TypeError, ValueError
            If X does not have the columns of the fit, or a cell is outside its family's support. Of a lazy table, also
            if the posterior has no flat form, such as one of draws, or a column has the name of a new one.

        Warns
        -----
        UserWarning
            If a row has probability zero under every class (only point estimates can do that): it gets the class
            probabilities, as if no feature had been seen.
        """
        density = self.belief.predicting
        return with_fallback(self._filled(density, density.log_ratio, normalise_into, X), 0.0, self.class_probs())

    @_partition_by_partition
    def predict(self, X: Any, *, loss: Any = None, confidence: float | None = None, abstain: Any = None) -> np.ndarray:
        r"""The label to decide for in each row: the most probable one, or the one of least expected loss.

        Parameters
        ----------
        X : table, shape (rows, columns)
        loss : array of shape (classes, classes) or pandas.DataFrame, optional
            ``loss[a, c]``, the loss of deciding for a where c is true, both in the order of `classes`. The columns of a
            frame are the labels that may be true, in any order, and its index the actions, which need not be labels:
            for example ``"refer"`` with the cost of a referral.
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
            Python objects. Of a lazy table, the table with the column ``prediction``, as for `predict_proba`.

        Raises
        ------
        TypeError, ValueError
            If the losses are not finite numbers for each action and class, the confidence is no probability, both are
            given, or `abstain` is given without a confidence; if one of them is given with a lazy table.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> import bayesnb as nb
        >>> posterior = nb.fit(nb.Bernoulli(), [[1], [1], [0], [0]], ["ill", "ill", "well", "well"])
        >>> posterior.predict_proba([[1], [0], [np.nan]])
        array([[0.75, 0.25],
               [0.25, 0.75],
               [0.5 , 0.5 ]])
        >>> decisions = ["ill", "well", "test again"]
        >>> loss = pd.DataFrame({"ill": [0, 10, 1], "well": [1, 0, 0.5]}, index=decisions)
        >>> posterior.predict([[1], [0], [np.nan]], loss=loss).tolist()
        ['ill', 'test again', 'ill']
        >>> posterior.predict([[1], [0], [np.nan]], confidence=0.7)
        array(['ill', 'well', None], dtype=object)
        """
        decide = decision_rule(self.model.schema.classes, loss=loss, confidence=confidence, abstain=abstain)
        return decide(self.predict_proba(X))

    def decision_boundary(self) -> tuple[np.ndarray, float]:
        """Weights and bias of the linear rule for two classes of 0/1 features.

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
        classes, blocks = self.model.schema.classes.tolist(), self.model.blocks
        if len(classes) != 2:
            raise ValueError(
                f"there are {len(classes)} classes {classes}, and a linear rule needs two: fit two of them"
            )
        for block in blocks:
            if not block.is_binary:
                raise ValueError(
                    f"column {block.labels[0]!r} is {block.family.family_name}: the rule is linear in 0/1 features only"
                )
        # The row of zeros, and then one row for each column, in the order of the blocks.
        columns = np.concatenate([block.columns for block in blocks])
        ones = np.concatenate([np.zeros((1, len(columns))), np.eye(len(columns))])
        ends = np.cumsum([len(block.columns) for block in blocks])
        joint = self.belief.density.log_joint(tuple(np.split(ones, ends[:-1], axis=1)))
        bias, *with_one = (joint[:, 1] - joint[:, 0]).tolist()
        return np.array(with_one)[np.argsort(columns)] - bias, bias

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
            By the function: if its argument is not an array of real numbers, is sparse, is in a GPU's memory and of
            another library, or has another number of columns, or if a density of the user's own does not run in JAX.

        Notes
        -----
        The computation is in float64. The argument and the result have JAX's precision, float32 by default: for the
        digits of `log_joint`, and for second derivatives, switch on ``jax.config.update("jax_enable_x64", True)``.

        Rows are computed some at a time, so that beside argument and result the memory does not depend on their number.
        This needs the rows in one call, ``log_joint(X)``: in ``jax.vmap(log_joint)(X)`` JAX asks for all of them at
        once. A derivative keeps a number for each row, class and column.

        Rows on several devices stay there, and so do their densities, if their number is a multiple of the number of
        devices and the sharded axis comes first. A NumPy array is taken to JAX's default device, as by any function of
        JAX.

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
        return function_of_array(self.model, self.belief.density)

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
        return self.belief.model, X, self.few_draws(num_chains, num_draws, key)

    def few_draws(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        """Draws of all parameters for what passes over rows, leading axes (chain, draw): `FEW` in each of four chains.

        The last ones of the default number are kept, up to `KEPT_BYTES`, for further calls with the same key.
        """
        if num_chains is not None or num_draws is not None or not isinstance(key, int):
            return self.belief.draw(num_chains, num_draws, key, FEW)
        kept, drawn = vars(self).get("_kept_draws", (None, None))
        if drawn is None or kept != key:
            drawn = self.belief.draw(None, None, key, FEW)
            if sum(np.size(leaf) for leaf in leaves(drawn)) * 8 <= KEPT_BYTES:
                self._kept_draws = key, drawn
        return drawn

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
