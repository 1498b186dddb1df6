"""Predictions of every posterior."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, Concatenate

import numpy as np

from bayesnb.core.arrays import log
from bayesnb.core.checking import one_of, proportion
from bayesnb.core.deferred import pd
from bayesnb.data.labels import as_labels
from bayesnb.data.read import as_rows, is_dask, map_partitions
from bayesnb.model.bound import BoundModel
from bayesnb.model.reading import Cells, with_fallback
from bayesnb.posterior.belief import Belief
from bayesnb.posterior.density import function_of_array

# --------------------------------------------------------------------------------------------------
# Predictions for Dask collections, one partition at a time
# --------------------------------------------------------------------------------------------------


def _partition_by_partition[**P](
    method: Callable[Concatenate[Any, Any, P], np.ndarray],
) -> Callable[Concatenate[Any, Any, P], np.ndarray]:
    """Let a method that returns an array by rows return a Dask array if X is a Dask array or data frame."""

    @wraps(method)
    def wrapped(self: Any, X: Any, *args: P.args, **kwargs: P.kwargs) -> np.ndarray:
        if not is_dask(X):
            return method(self, X, *args, **kwargs)
        return map_partitions(partial(_method_of_partition, self, method.__name__, args, kwargs), X)

    return wrapped


def _method_of_partition(posterior: Any, method: str, args: tuple, kwargs: dict[str, Any], X: Any) -> np.ndarray:
    # The method is sent to Dask by name: pickle would look up the inner function by name and find the wrapped one.
    return getattr(posterior, method)(X, *args, **kwargs)


# --------------------------------------------------------------------------------------------------
# Decisions about rows: labels of least expected loss, and abstention
# --------------------------------------------------------------------------------------------------

Rule = Callable[[np.ndarray], np.ndarray]
"""Maps log class probabilities, shape (rows, classes), to decisions, shape (rows,)."""

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


def _decision_rule(
    classes: np.ndarray, *, loss: Any = None, confidence: float | None = None, abstain: Any = None
) -> Rule:
    """From class probabilities, shape (rows, classes), to labels, shape (rows,); arguments as for `Posterior.predict`.

    Raises
    ------
    TypeError, ValueError
        If the losses do not fit the classes, or the arguments do not go together.
    """
    if loss is not None and confidence is not None:
        raise ValueError(
            "loss and confidence are both given, and each is a rule of its own: give loss alone, a pandas frame with "
            "one more row that holds the loss of abstaining"
        )
    if confidence is None and abstain is not None:
        raise ValueError(
            f"abstain is {abstain!r} and there is no confidence below which to abstain: give confidence, or put the "
            "action into the index of loss"
        )
    if loss is not None:
        actions, losses = _read_loss(loss, classes)
        return lambda proba: actions[(proba @ losses.T).argmin(axis=1)]
    if confidence is not None:
        labels, least = _with_marker(classes, abstain), proportion("confidence", confidence, or_one=True)
        return lambda proba: labels[np.where(proba.max(axis=1) >= least, proba.argmax(axis=1), len(classes))]
    return lambda proba: classes[proba.argmax(axis=1)]


def _with_marker(classes: np.ndarray, abstain: Any) -> np.ndarray:
    """The classes and the marker, in the classes' type if the marker fits it, else as objects."""
    kind = classes.dtype.kind
    if kind != "O" and np.ndim(abstain) == 0 and np.asarray(abstain).dtype.kind == kind:
        return np.append(classes, abstain)
    labels = np.empty(len(classes) + 1, dtype=object)
    labels[:-1] = classes.astype(object)
    labels[-1] = abstain
    return labels


def _read_loss(loss: Any, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The actions, and the loss of each under each class, shape (actions, classes)."""
    labels, actions = classes.tolist(), classes
    if isinstance(loss, pd.DataFrame):
        _require_labels(loss, labels)
        actions, loss = as_labels(loss.index.tolist()), loss[labels]
    elif hasattr(loss, "columns"):
        raise TypeError(
            f"loss is a {type(loss).__module__.split('.')[0]} table, whose rows have no labels: give a pandas "
            "frame with the actions as index, or an array"
        )
    try:
        losses = np.asarray(loss, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"loss is {loss!r}: give an array or a pandas frame of numbers") from None
    if losses.shape != (len(actions), len(labels)):
        raise ValueError(
            f"loss has shape {losses.shape}, there are {len(labels)} classes: give an array of shape "
            f"({len(labels)}, {len(labels)}), a row for each label decided and a column for each that is true, "
            f"both in the order {labels}; a pandas frame may have other actions in its index"
        )
    for a, c in np.argwhere(~np.isfinite(losses)):
        raise ValueError(
            f"the loss of deciding {actions.tolist()[a]!r} where {labels[c]!r} is true is {losses[a, c]}: give finite "
            "numbers; a large one excludes the action"
        )
    return actions, losses


def _require_labels(loss: Any, labels: list[Any]) -> None:
    """Raise for a frame whose columns are not the labels, or whose index lacks an action or repeats one."""
    actions, truths = loss.index.tolist(), loss.columns.tolist()
    missing = [label for label in labels if label not in truths]
    strange = [truth for truth in truths if truth not in labels]
    if missing or strange:
        which = f"no column {missing[0]!r}" if missing else f"the column {strange[0]!r}, which is no class"
        raise ValueError(
            f"loss has {which}: its columns are the labels that may be true, which are {labels}; other actions than "
            "these go into the index"
        )
    for names, axis in ((truths, "columns"), (actions, "index")):
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"loss names {name!r} twice in its {axis}: give each label once")
    if not actions:
        raise ValueError("loss has no rows: give one for each action, with the action as its index")


# --------------------------------------------------------------------------------------------------
# Densities of rows, and predictions of their labels
# --------------------------------------------------------------------------------------------------


class Predictions(ABC):
    """Densities and class probabilities of rows, with the parameters integrated out.

    A subclass has a `belief`.
    """

    belief: Belief

    @property
    @abstractmethod
    def model(self) -> BoundModel:
        """The model with every default resolved to the numbers used."""

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
            array or data frame, here and in the methods of prediction, a Dask array in the same partitions, computed
            lazily.

        Raises
        ------
        ValueError, TypeError
            If X does not have the columns of the fit, or a cell is outside its family's support.
        """
        return self._filled(self.belief.density.put_log_joint, X)

    def _filled(self, put: Callable[[Cells, np.ndarray], None], X: Any) -> np.ndarray:
        return self.model.read(as_rows(X)).fill(put, len(self.model.schema.classes))

    @_partition_by_partition
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log of `predict_proba`, computed without leaving the log scale.

        Returns
        -------
        array, shape (rows, classes)
        """
        return with_fallback(self._filled(self.belief.density.put_log_proba, X), -np.inf, log(self.class_probs()))

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
        return with_fallback(self._filled(self.belief.density.put_proba, X), 0.0, self.class_probs())

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
        >>> decisions = ["ill", "well", "test again"]
        >>> loss = pd.DataFrame({"ill": [0, 10, 1], "well": [1, 0, 0.5]}, index=decisions)
        >>> posterior.predict([[1], [0], [np.nan]], loss=loss).tolist()
        ['ill', 'test again', 'ill']
        >>> posterior.predict([[1], [0], [np.nan]], confidence=0.7)
        array(['ill', 'well', None], dtype=object)
        """
        decide = _decision_rule(self.model.schema.classes, loss=loss, confidence=confidence, abstain=abstain)
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
        return function_of_array(self.model, *self.belief.density.in_jax())
