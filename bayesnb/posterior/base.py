"""What every posterior answers, however it was made."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial, wraps
from html import escape
from threading import Lock
from typing import Any, Concatenate, Protocol, Self

import jax
import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays import log, warn
from bayesnb.decisions import NATS, decision_rule, entropy_split
from bayesnb.device import log_joint_on_device
from bayesnb.families.base import Family, Parameters
from bayesnb.families.fast import draw, proportion, random_generator, whole_number
from bayesnb.growth import count_more
from bayesnb.model.bound import BoundModel
from bayesnb.model.parameters import ModelParameters
from bayesnb.parallel import in_order
from bayesnb.partitions import map_partitions
from bayesnb.problem import Problem
from bayesnb.rows import row_pieces
from bayesnb.tables.device_array import DeviceTable
from bayesnb.tables.read import as_table, is_dask
from bayesnb.tables.table import Table

__all__ = ["Fitting", "Posterior", "flatten", "in_pieces", "log_normalised", "normalise"]

HTML_ROWS = 5000
"""Parameters beyond which a notebook shows the story without a table."""

DRAW_BYTES = 2**26
"""Memory for the densities of many draws at a time."""


class Fitting(Protocol):
    """What a posterior keeps of the inference that made it: enough to run it again on other statistics."""

    def fit(self, problem: Problem, *, key: Any) -> "Posterior":
        """Condition the problem's model on its data."""


def _partition_by_partition[**P](
    method: Callable[Concatenate[Any, Any, P], np.ndarray],
) -> Callable[Concatenate[Any, Any, P], np.ndarray]:
    """Let a method that returns an array by rows return a Dask array if X is a Dask array or data frame."""

    @wraps(method)
    def wrapped(self: Any, X: Any, *args: P.args, **kwargs: P.kwargs) -> np.ndarray:
        if not is_dask(X):
            return method(self, X, *args, **kwargs)
        return map_partitions(partial(_answer, self, method.__name__, args, kwargs), X)

    return wrapped


def _answer(posterior: Any, method: str, args: tuple, kwargs: dict[str, Any], X: Any) -> np.ndarray:
    # By its name, because pickle finds the wrapped method under the name of the method inside.
    return getattr(posterior, method)(X, *args, **kwargs)


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
        What made the posterior; None where its draws or parameters were given.
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
        """What a sampler reported of each draw; only sampled posteriors have it.

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
    def _log_joint(self, chunk: tuple[Any, ...]) -> np.ndarray:
        """Log p(x, y=c | data) of encoded rows, shape (rows, classes)."""

    def _log_ratio(self, chunk: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Two terms, shapes (classes,) and (rows, classes), whose sum is `_log_joint` but for a number in each row."""
        return np.zeros(len(self.classes)), self._log_joint(chunk)

    @abstractmethod
    def _class_probs(self) -> np.ndarray:
        """Predictive class probabilities before any feature is seen, shape (classes,)."""

    @abstractmethod
    def _mean_parameters(self) -> ModelParameters:
        """Posterior mean of all parameters, no leading axes."""

    @abstractmethod
    def _parameters(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        """Draws of all parameters, leading axes (chain, draw)."""

    @abstractmethod
    def _row_parameters(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, Any], ...]:
        """Parameters of rows of the given classes, drawn anew for each row, shape (rows, columns, ...)."""

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
            array or data frame, here and in the methods of prediction, a Dask array in the same partitions, computed
            when it is asked for.

        Raises
        ------
        ValueError, TypeError
            If X does not have the columns of the fit, or a cell is outside its family's support.
        """
        return self._by_chunk(X, self._log_joint, normalised=False)

    @_partition_by_partition
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log of `predict_proba`, computed without leaving the log scale.

        Returns
        -------
        array, shape (rows, classes)
        """
        log_proba = self._by_chunk(X, lambda chunk: log_normalised(np.add(*self._log_ratio(chunk))), normalised=True)
        return _with_fallback(log_proba, -np.inf, log(self._class_probs()))

    @_partition_by_partition
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
        table = as_table(X)
        if isinstance(table, DeviceTable):
            log_proba = self.predict_log_proba(X)
            return np.exp(log_proba, out=log_proba)
        proba = np.empty((table.num_rows, len(self.classes)))

        def put(rows: slice, chunk: tuple[Any, ...]) -> None:
            _normalise_into(proba[rows], *self._log_ratio(chunk))

        list(self.model.map_chunks(put, table))
        return _with_fallback(proba, 0.0, self._class_probs())

    @_partition_by_partition
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
            What stands for an abstention.

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
        parameters = self._parameters(num_chains, self._for_densities(num_draws), key)
        joint = self._log_joint_under(X, parameters)
        return np.exp(normalise(joint, parameters.class_prob[:, :, None, :]))

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
        return self._log_joint_under(X, self._parameters(num_chains, self._for_densities(num_draws), key))

    def _log_joint_under(self, X: Any, parameters: ModelParameters) -> np.ndarray:
        def one_chunk(chunk: tuple[Any, ...]) -> np.ndarray:
            joint = np.concatenate([self.model.log_joint(piece, chunk) for piece in in_pieces(parameters, chunk)])
            return joint.reshape(*parameters.class_prob.shape[:-1], *joint.shape[1:])

        return self._by_chunk(X, one_chunk, row_axis=2)

    def _for_densities(self, num_draws: int | None) -> int | None:
        """Draws in a chain where each costs a pass over the rows, unless the user says."""
        return num_draws

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
        draws = self.proba_draws(X, num_draws=num_draws, num_chains=num_chains, key=key)
        ends = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2], axis=(0, 1))
        return np.moveaxis(ends, 0, -1)

    def uncertainty(
        self,
        X: Any,
        *,
        unit: str = "nats",
        num_draws: int | None = None,
        num_chains: int | None = None,
        key: Any = 0,
    ) -> Any:
        r"""How unsure the label of each row is, and how much of that more data could take away.

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
            As for `proba_draws`. All rows see the same draws.

        Returns
        -------
        pandas.DataFrame
            A row for each row of X, by position: ``total``; ``aleatoric``, which would be left if the parameters were
            known; and ``epistemic``, their difference, the mutual information between label and parameters. The last
            says which labels are worth asking for (Lindley 1956, *Annals of Mathematical Statistics* 27, 986-1005;
            Houlsby, Huszár, Ghahramani and Lengyel 2011, arXiv:1112.5745, who call it BALD).

        Raises
        ------
        ValueError
            If the posterior is a point, which says nothing about how unsure its parameters are; or the unit is unknown.

        Notes
        -----
        The average is that of `proba_draws`, not `predict_proba`: the label's distribution under the parameters as the
        data leave them, before the row itself speaks about them. Only with that average are the two parts those of one
        whole, both of them expectations over the same draws. The entropy of `predict_proba` differs from ``total`` by
        the order of the parameters' posterior variance.

        The entropy of an average over S independent draws is too small by (classes - 1) / (2 S) nats at most, to first
        order, and ``epistemic`` with it: 0.0005 for two classes and the default's thousand draws.

        Examples
        --------
        A coin seen often, and one that was seen twice: the same entropy, and another reason.

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
        import pandas as pd

        if unit not in NATS:
            raise ValueError(f"unit is {unit!r}: give one of {list(NATS)}")
        parameters = self._parameters(num_chains, self._for_densities(num_draws), key)

        def one_chunk(chunk: tuple[Any, ...]) -> np.ndarray:
            return entropy_split(
                np.exp(normalise(self.model.log_joint(piece, chunk), piece.class_prob[:, None, :]))
                for piece in in_pieces(parameters, chunk)
            )

        total, aleatoric = self._by_chunk(X, one_chunk).T / NATS[unit]
        parts = {"total": total, "aleatoric": aleatoric, "epistemic": total - aleatoric}
        return pd.DataFrame(parts, index=pd.RangeIndex(len(total), name="row"))

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
        parameters = self._parameters(num_chains, num_draws, key)
        sites = self.model.sites.by_name(parameters)
        return {name: np.array(value, dtype=np.float64) for name, value in sites.items()}

    def mean(self) -> dict[str, np.ndarray]:
        """Posterior mean of every parameter, by site; the value itself for a point.

        Returns
        -------
        dict
            The shapes of `draws` without the chain and draw axes.
        """
        return {name: np.array(value) for name, value in self.model.sites.by_name(self._mean_parameters()).items()}

    def hyperparameters(self) -> dict[str, np.ndarray]:
        """Hyperparameters that were learned, by name; their posterior mean for a sampled posterior.

        Returns
        -------
        dict
            Empty where all were given.
        """
        if self.problem is None or self.problem.learned_from is None:
            return {name: np.array(value) for name, value in self._mean_parameters().hyperparameters.items()}
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
        import pandas as pd

        proportion("prob", prob)
        labels = self.model.sites.scalar_labels()
        pieces = []
        for site, columns in self._summaries(prob).items():
            size = len(labels[site])
            cells = {name: np.broadcast_to(np.ravel(np.asarray(value)), size) for name, value in columns.items()}
            pieces.append(pd.DataFrame(cells, index=pd.Index(labels[site], name="parameter")))
        return pd.concat(pieces)

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
        num_rows = whole_number("num_rows", num_rows)
        rng = random_generator(key)
        probs = np.broadcast_to(self._class_probs(), (num_rows, len(self.classes)))
        codes = draw(dist.CategoricalProbs(probs), rng).astype(np.intp)
        if total_count is None:
            total_count = self._mean_total_count()
        return self.model.draw_rows(codes, self._row_parameters(codes, rng), rng, total_count)

    def _mean_total_count(self) -> int | None:
        if self.problem is None:
            return None
        for block, counted in zip(self.model.blocks, self.problem.statistics_to_pool, strict=True):
            if block.is_vector and counted.n.sum() > 0:  # type: ignore[attr-defined]
                return round(float(counted.total.sum() / counted.n.sum()))  # type: ignore[attr-defined]
        return None

    @property
    def log_evidence(self) -> float:
        """Log density of the data, all parameters integrated out.

        Count vectors are described given their totals. Evidences compare models of the same data in the same form only.

        It belongs to the model and its data, so that every inference of the same problem gives the same number: a
        maximum likelihood estimate, too, reports the evidence under the priors that it did not use.

        Raises
        ------
        ValueError
            If there are no data, or a family has no closed form.
        """
        problem = self._require_data("log_evidence")
        if not problem.conjugate:
            names = [type(family).__name__ for family in problem.model.families]
            raise ValueError(f"log_evidence is known in closed form for conjugate families only, not for {names}")
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
        y : labels, shape (rows,)
        sample_weight : array, shape (rows,), optional
        decay : float, default 1.0
            What the data so far count for from now on, above 0 and at most 1: their statistics are multiplied by it
            before the new ones are added, so that a row weighs ``decay**age``, its age counted in updates. The prior
            does not fade. Batches of n rows come to weigh n / (1 - decay) rows in all.
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
        """The posterior without data that it was given, the same as a fit to the rest.

        No class and no category is removed.

        Parameters
        ----------
        X : table, shape (rows, columns)
        y : labels, shape (rows,)
        sample_weight : array, shape (rows,), optional
            The weight that the rows have: what they were given with, times every `decay` since.
        key : int or JAX key, default 0
            For posteriors that are sampled.

        Raises
        ------
        ValueError
            If these rows cannot have been among the data; nothing changes.
        """
        problem, inference = self._require_fit("forget")
        problem, counted = count_more(problem, X, y, sample_weight)
        return inference.fit(problem.take_away(counted), key=key)  # type: ignore[return-value]

    def decision_boundary(self) -> tuple[np.ndarray, float]:
        """Weights and bias of the linear rule that tells two classes apart by 0/1 features.

        Returns
        -------
        tuple of array of shape (columns,) and float
            w and a, such that log p(y=classes[1] | x) - log p(y=classes[0] | x) = w . x + a. The text behind this
            formula (Barber 2012, *Bayesian Reasoning and Machine Learning*, section 10.2.1) leaves out the logarithms.

        Raises
        ------
        ValueError
            If there are not two classes, or a column holds other numbers than 0 and 1.
        """
        if len(self.classes) != 2:
            raise ValueError(f"there are {len(self.classes)} classes {self.classes.tolist()}: a linear rule parts two")
        for block in self.model.blocks:
            if not block.is_binary:
                raise ValueError(
                    f"column {block.labels[0]!r} is {type(block.family).__name__}: the rule is linear in 0/1 "
                    "features only"
                )
        sizes = [len(block.columns) for block in self.model.blocks]
        at_zero = self._log_joint(tuple(np.zeros((1, size)) for size in sizes))
        bias = float(at_zero[0, 1] - at_zero[0, 0])
        weights: dict[int, float] = {}
        for i, block in enumerate(self.model.blocks):
            chunk = tuple(np.eye(size) if i == k else np.zeros((sizes[i], size)) for k, size in enumerate(sizes))
            joint = self._log_joint(chunk)
            weights |= dict(zip(block.columns, joint[:, 1] - joint[:, 0] - bias, strict=True))
        return np.array([weights[column] for column in sorted(weights)]), bias

    def to_datatree(self, X: Any = None, y: Any = None, **options: Any) -> Any:
        """The posterior as an ``xarray.DataTree`` for ArviZ; see `bayesnb.datatree.to_datatree`."""
        from bayesnb.datatree import to_datatree

        return to_datatree(self, X, y, **options)

    def save(self, path: Any) -> None:
        """Write the posterior to a netCDF file, which `bayesnb.load` and xarray read; needs ``bayesnb[io]``."""
        from bayesnb.files import save

        save(self, path)

    def _require_data(self, verb: str) -> Problem:
        if self.problem is None:
            raise ValueError(f"{verb} needs data: these parameters were given, not fitted; use nb.fit(model, X, y)")
        return self.problem

    def _require_fit(self, verb: str) -> tuple[Problem, Fitting]:
        problem = self._require_data(verb)
        if self.inference is None:
            raise ValueError(
                f"{verb} would need the sampler that made these draws: run it again on the new data and hand them over "
                "with nb.from_samples, or use nb.fit(model, X, y)"
            )
        problem.require_labels(verb, "fit all the rows again, nb.fit(model, X, y, ...)")
        return problem, self.inference

    def _by_chunk(self, X: Any, function: Any, row_axis: int = 0, normalised: bool | None = None) -> np.ndarray:
        """A function of chunks, put together; `normalised` says of log joint densities which they are."""
        table = as_table(X)
        if not table.num_rows:
            list(self.model.encode(table))  # refuses a table without the model's columns
            return function(tuple(np.empty((0, len(block.columns))) for block in self.model.blocks))
        result: list[np.ndarray] = []
        first = Lock()

        def put(rows: slice, piece: np.ndarray) -> None:
            with first:
                if not result:
                    shape = [*piece.shape[:row_axis], table.num_rows, *piece.shape[row_axis + 1 :]]
                    result.append(piece if piece.shape[row_axis] == table.num_rows else np.empty(shape))
            if result[0] is not piece:
                result[0][(slice(None),) * row_axis + (rows,)] = piece

        mapping = in_order if normalised is None else self._mapping(table, normalised)
        for found in self.model.map_chunks(lambda rows, chunk: put(rows, function(chunk)), table, mapping=mapping):
            if found is not None:
                put(*found)
        return result[0]

    def _mapping(self, table: Table, normalised: bool) -> Any:
        """What computes log joint densities chunk by chunk: the device of the table, where it has one."""
        densities = self._device_densities()
        if not isinstance(table, DeviceTable) or densities is None:
            return in_order
        model, schema = self.model, self.model.schema
        where = schema, model.blocks, model.columns_in(table)
        return log_joint_on_device(table, *where, self._class_probs(), densities, normalised=normalised)

    def _device_densities(self) -> list[tuple[Family, Parameters | None]] | None:
        """For each block a family, and its parameters or None for its predictive; None where the host has to do it."""
        return None

    def __repr__(self) -> str:
        rows = "" if self.problem is None else f"{self.problem.statistics.classes.n.sum():g} rows, "
        if self.problem is not None and self.problem.unlabelled is not None:
            rows += f"{self.problem.unlabelled.weights.sum():g} without a label, "
        story = repr(self.model).split("\n", 1)[1]
        return f"{type(self).__name__}: {rows}classes {_elided(self.classes.tolist())}{self._details()}\n{story}"

    def _repr_html_(self) -> str:
        first, _, story = repr(self).partition("\n")
        table = ""
        if sum(len(labels) for labels in self.model.sites.scalar_labels().values()) <= HTML_ROWS:
            table = self.summary().to_html(max_rows=20, float_format=lambda value: f"{value:.4g}")
        return f"<p><b>{escape(first)}</b></p><pre>{escape(story)}</pre>{table}"

    def _details(self) -> str:
        return ""


def normalise(log_joint: np.ndarray, class_probs: np.ndarray) -> np.ndarray:
    """Log class probabilities from log joint densities, shape (..., rows, classes).

    Rows whose joint density is zero under every class get the class probabilities, with a warning.
    """
    return _with_fallback(log_normalised(log_joint), -np.inf, log(class_probs))


def log_normalised(log_joint: np.ndarray) -> np.ndarray:
    """Log class probabilities; minus infinity in every class where the joint density is zero in every class."""
    result = np.empty(log_joint.shape)
    for rows in row_pieces(log_joint.shape[-2], log_joint[..., :1, :].size):
        by_class = _less_highest(log_joint[..., rows, :])
        total = log(np.exp(by_class).sum(axis=0))
        total[np.isneginf(total)] = 0.0
        result[..., rows, :] = np.moveaxis(by_class - total, 0, -1)
    return result


def _normalise_into(proba: np.ndarray, log_prior: np.ndarray, log_density: np.ndarray) -> None:
    """Put class probabilities into an array, shape (rows, classes); zero in every class where the joint density is."""
    for rows in row_pieces(*log_density.shape):
        by_class = _less_highest(log_prior + log_density[rows])
        total = np.exp(by_class, out=by_class).sum(axis=0)
        total[total == 0] = 1.0
        proba[rows] = (by_class / total).T


def _less_highest(log_joint: np.ndarray) -> np.ndarray:
    """Log joint densities less the highest of each row, the classes first."""
    # Class by class, because short rows cost NumPy more than their numbers do.
    by_class = np.moveaxis(log_joint, -1, 0).copy()
    highest = by_class.max(axis=0)
    highest[np.isneginf(highest)] = 0.0
    by_class -= highest
    return by_class


def _with_fallback(found: np.ndarray, nothing: float, instead: np.ndarray) -> np.ndarray:
    """What stands in for rows that are nothing in every class, with a warning."""
    lost = found[..., 0] == nothing
    lost[lost] = (found[lost] == nothing).all(axis=-1)
    if lost.any():
        warn(
            f"{int(lost.sum())} row(s), the first of them row {int(np.argwhere(lost)[0][-1])}, have probability zero "
            "under every class, because an estimate is exactly 0 or 1; they get the class probabilities. A posterior "
            "(nb.Exact(), nb.NUTS()) does not have this trouble",
            UserWarning,
        )
        return np.where(lost[..., None], np.broadcast_to(instead, found.shape), found)
    return found


def flatten(parameters: ModelParameters) -> ModelParameters:
    """Chain and draw axes as one."""
    shape = parameters.class_prob.shape[:-1]

    def flat(value: Any) -> np.ndarray:
        array = np.asarray(value)
        return array.reshape(int(np.prod(shape)), *array.shape[len(shape) :])

    return jax.tree.map(flat, parameters)


def in_pieces(parameters: ModelParameters, chunk: tuple[Any, ...]) -> Iterator[ModelParameters]:
    """Draws, chain and draw axes as one, a memory-sized number at a time."""
    flat = flatten(parameters)
    num_draws, num_classes = flat.class_prob.shape
    cells = sum(x.shape[0] * x.shape[1] for x in chunk) * num_classes
    step = max(1, DRAW_BYTES // max(8 * cells, 1))
    for start in range(0, num_draws, step):
        piece = slice(start, start + step)
        yield jax.tree.map(lambda value, piece=piece: value[piece], flat)


def _elided(labels: list[Any]) -> str:
    return str(labels) if len(labels) <= 10 else f"{str(labels[:8])[:-1]}, ... ({len(labels)} in all)]"
