"""Densities of rows, and predictions of their labels."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bayesnb.arrays import log
from bayesnb.decisions import decision_rule
from bayesnb.device import log_joint_of_blocks
from bayesnb.families.base import Family, Parameters
from bayesnb.model.bound import BoundModel
from bayesnb.posterior.by_partition import partition_by_partition
from bayesnb.posterior.in_jax import function_of_array
from bayesnb.posterior.linear import linear_rule
from bayesnb.reading.cells import Cells
from bayesnb.reading.normalise import with_fallback

__all__ = ["Predictions"]


class Predictions(ABC):
    """Densities and class probabilities of rows, with the parameters integrated out.

    A subclass defines `log_joint_of` and `class_probs`. For speed it may override `log_ratio_of` and
    `device_densities`. For `log_joint_function` it overrides one of `device_densities` and `density_in_jax`.
    """

    model: BoundModel

    @property
    def classes(self) -> np.ndarray:
        """Labels, in the column order of `predict_proba`."""
        return self.model.schema.classes

    @abstractmethod
    def log_joint_of(self, cells: Cells) -> np.ndarray:
        """Log p(x, y=c | data) of rows that `BoundModel.encode` encoded, shape (rows, classes)."""

    @abstractmethod
    def class_probs(self) -> np.ndarray:
        """Predictive class probabilities before any feature is seen, shape (classes,)."""

    def log_ratio_of(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Two terms whose sum is log p(x, y=c | data) plus a number for each row, which cancels in class probabilities.

        Returns
        -------
        tuple of array, shapes (classes,) and (rows, classes)
        """
        return np.zeros(len(self.classes)), self.log_joint_of(cells)

    def device_densities(self) -> list[tuple[Family, Parameters | None]] | None:
        """What an accelerator computes the densities from.

        Returns
        -------
        list of tuple, or None
            For each block its family and the parameters; None in place of the parameters means the family's predictive
            density. None in place of the list means that only the host can compute the densities.
        """
        return None

    def density_in_jax(self) -> tuple[Callable[[Any, Sequence[Any]], Any], Any]:
        """`log_joint_of` for JAX.

        Returns
        -------
        tuple of callable and pytree
            A pure function, and the arrays that are its first argument. Its second argument is the cells of each block,
            shape (rows, columns), all of them inside the support.
        """
        densities = self.device_densities()
        assert densities is not None
        return log_joint_of_blocks, (log(self.class_probs()), densities)

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
            lazily.

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
        decide = decision_rule(self.classes, loss=loss, confidence=confidence, abstain=abstain)
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
        return linear_rule(self.model, self)

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
