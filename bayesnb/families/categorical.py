"""Categorical columns with a Dirichlet prior."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import scipy.sparse
from numpyro.distributions import constraints

from bayesnb.arrays import log, log_rising
from bayesnb.families.base import Hyperparameter, Parameters, Sample
from bayesnb.families.bernoulli import log_of_rest
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.hyperparameters import format_number
from bayesnb.families.information import divergence
from bayesnb.families.log_probability import in_logs, times_log
from bayesnb.sparse import shared_csr
from bayesnb.statistics.counts import Counts

__all__ = ["Categorical", "look_up"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Categorical(ConjugateFamily):
    r"""Columns of categories of any type; :math:`\theta_{cj\cdot} \sim \mathrm{Dirichlet}(\alpha)`.

    The posterior adds the counts of the categories to the concentration, and the predictive probability of category k
    is :math:`(\alpha_k + N_{cjk}) / \sum_l (\alpha_l + N_{cjl})`: Murphy (2012), Eqs. 3.41 and 3.51. Columns may differ
    in their categories.

    Parameters
    ----------
    concentration : float or array, default 1.0
        Prior weight of each category: one number, or one per column (columns,) or per class and column
        (classes, columns); for a single column also one per category, (categories,) or (classes, categories), and for
        columns of as many categories (classes, columns, categories).
    categories : sequence, or mapping from column name to sequence, optional
        Values that may occur, in the order wanted. By default those that the table declares (a pandas categorical, a
        polars enum) or else shows in rows of positive weight, sorted; later rows, in `Posterior.update`, may then bring
        more.
    other : bool, default False
        Reserve one more category, with prior weight of its own, for every value that is not among the categories.
        Without it, such a value counts as a missing cell, with a warning.

    Raises
    ------
    ValueError
        If a concentration is not positive and finite.

    Notes
    -----
    Numerical domain: all weights and concentrations. Predictive probabilities are ratios of sums; evidences, measured
    against 60 digits, have a relative error of 4e-15 up to concentrations of 1e14 and 1e12 cells.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.NaiveBayes(nb.Categorical()), [["red"], ["blue"], ["red"]], [0, 1, 0])
    >>> posterior.predict_proba([["red"]]).round(3)
    array([[0.771, 0.229]])
    """

    concentration: Hyperparameter = 1.0
    categories: Any = field(default=None, metadata={"static": True})
    other: bool = field(default=False, metadata={"static": True})

    cell: ClassVar[Any] = "category"
    support: ClassVar[Any] = constraints.nonnegative_integer
    holds: ClassVar[str] = "a category"
    positive: ClassVar[tuple[str, ...]] = ("concentration",)
    compact: ClassVar[bool] = True
    mean_predicts: ClassVar[bool] = True

    def prior(self, sample: Sample) -> dict[str, Any]:
        return {"prob": sample("prob", dist.Dirichlet(self.concentration))}

    def likelihood(self, prob: Any) -> dist.Distribution:
        return dist.Categorical(probs=prob)

    def statistics(self, x: np.ndarray, membership: np.ndarray) -> Counts:
        size = np.shape(self.concentration)[-1]
        sums = one_hot(x, size).T @ membership
        total = np.ascontiguousarray(np.moveaxis(sums.reshape(x.shape[1], size + 1, -1), -1, 0)[..., :size])
        n = total.sum(axis=-1)
        return Counts(n, total, np.zeros_like(n))

    def statistics_by_class(self, x: np.ndarray, codes: np.ndarray, num_classes: int) -> Counts:
        shape = (num_classes, x.shape[1], np.shape(self.concentration)[-1] + 1)
        counted = np.bincount(places_by_class(x, codes, shape).ravel(), minlength=math.prod(shape)).reshape(shape)
        total = counted[..., :-1].astype(np.float64)
        n = total.sum(axis=-1)
        return Counts(n, total, np.zeros_like(n))

    def device_statistics(self, x: Any, codes: Any, membership: Any) -> Counts:
        categories = jnp.arange(float(np.shape(self.concentration)[-1]))
        # One category after the other, so that no array is larger than the cells.
        total = jnp.moveaxis(jax.lax.map(lambda k: membership.T @ (x == k).astype(x.dtype), categories), 0, -1)
        n = total.sum(axis=-1)
        return Counts(n, total, jnp.zeros_like(n))

    def possible(self, statistics: Counts) -> Any:
        return (statistics.total >= 0).all(axis=-1)

    def log_likelihood(self, parameters: Parameters, statistics: Counts) -> Any:
        return times_log(statistics.total, in_logs(parameters, "prob")).sum(axis=-1)

    def maximum_likelihood(self, statistics: Counts) -> dict[str, Any]:
        with np.errstate(invalid="ignore"):
            return {"prob": statistics.total / statistics.n[..., None]}

    def update(self, statistics: Counts) -> Self:
        return replace(self, concentration=self.concentration + statistics.total)

    def predictive(self) -> dist.Distribution:
        concentration = jnp.asarray(self.concentration)
        return dist.Categorical(probs=concentration / concentration.sum(axis=-1, keepdims=True))

    def log_evidence(self, statistics: Counts) -> Any:
        return dirichlet_log_evidence(self.concentration, statistics.total)

    def mean(self) -> dict[str, Any]:
        return {"prob": self.concentration / self.concentration.sum(axis=-1, keepdims=True)}

    def mode(self) -> dict[str, Any]:
        return {"prob": dirichlet_mode(self.concentration)}

    def mutual_information(self, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
        return divergence(class_prob, np.asarray(parameters["prob"]))

    def row_log_likelihood(self, parameters: Parameters, x: np.ndarray) -> Any:
        return look_up(log(parameters["prob"]), x)

    def row_log_predictive(self, x: np.ndarray) -> Any:
        concentration = np.asarray(self.concentration)
        return look_up(np.log(concentration) - np.log(concentration.sum(axis=-1, keepdims=True)), x)

    def device_log_likelihood(self, parameters: Parameters, x: Any) -> Any:
        return _device_look_up(jnp.log(parameters["prob"]), x)

    def device_log_predictive(self, x: Any) -> Any:
        log_total = jnp.log(self.concentration.sum(axis=-1, keepdims=True))
        return _device_look_up(jnp.log(self.concentration) - log_total, x)

    def row_log_left_out(self, x: np.ndarray, codes: np.ndarray, statistics: Counts) -> np.ndarray:
        concentration = np.asarray(self.concentration)
        log_total = np.log(concentration.sum(axis=-1) + np.maximum(statistics.n - 1, 0))
        log_prob = log_of_rest(concentration, statistics.total) - log_total[..., None]
        table = with_certain_last(log_prob)
        return table.take(places_by_class(x, codes, table.shape)) @ np.ones(x.shape[1])

    def story(self) -> tuple[str, list[str]]:
        return "Categorical(prob)", [f"prob ~ Dirichlet({format_number(self.concentration)})"]

    def power_scaled(self, statistics: Counts, power: float) -> dict[str, Any]:
        return {"concentration": self.update(statistics).concentration + (power - 1) * (self.concentration - 1)}


def dirichlet_log_evidence(concentration: Any, total: Any) -> Any:
    """Log density of a sequence of draws with the given counts, one Dirichlet along the last axis.

    Murphy (2012), Eq. 5.24 without the multinomial coefficient.
    """
    of_all = log_rising(concentration.sum(axis=-1), total.sum(axis=-1))
    return log_rising(concentration, total).sum(axis=-1) - of_all


def dirichlet_mode(concentration: Any) -> Any:
    """Mode of a Dirichlet along the last axis; the mean where it is flat, NaN where it is unbounded."""
    concentration = np.asarray(concentration)
    size = concentration.shape[-1]
    excess = concentration - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        mode = excess / excess.sum(axis=-1, keepdims=True)
    flat = (concentration == 1).all(axis=-1, keepdims=True)
    unbounded = (concentration < 1).any(axis=-1, keepdims=True) & (size > 1)
    return np.where(flat | (size == 1), 1 / size, np.where(unbounded, np.nan, mode))


def look_up(log_prob: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Sum over columns of the log probability of each cell's category, shape (..., rows, classes)."""
    *leading, num_classes, num_columns, size = log_prob.shape
    table = with_certain_last(log_prob).reshape(-1, num_columns * (size + 1))
    sums = one_hot(x, size) @ np.ascontiguousarray(table.T)
    return np.moveaxis(sums.reshape(x.shape[0], *leading, num_classes), 0, -2)


def _device_look_up(log_prob: Any, x: Any) -> Any:
    """As `look_up` without leading axes; cells in the precision of `x`, their sum in float64."""
    num_classes, num_columns, size = log_prob.shape
    table = jnp.pad(log_prob.astype(x.dtype), ((0, 0), (0, 0), (0, 1))).reshape(num_classes, -1)
    codes = jnp.where(jnp.isnan(x), size, x).astype(jnp.int32) + (size + 1) * jnp.arange(num_columns, dtype=jnp.int32)
    return jnp.take(table, codes, axis=1).sum(axis=-1, dtype=jnp.float64).T


def one_hot(x: np.ndarray, num_categories: int) -> scipy.sparse.csr_array:
    """Rows as sparse vectors with a one for each cell: in the place of its category, or one after where it is missing.

    Parameters
    ----------
    x : array, shape (rows, columns)
        Codes; missing ones NaN.
    num_categories : int

    Returns
    -------
    CSR array, shape (rows, columns * (num_categories + 1))
    """
    num_rows, num_columns = x.shape
    width = num_categories + 1
    places = with_missing_last(x, num_categories).astype(np.int32)
    places += width * np.arange(num_columns, dtype=np.int32)
    edges = np.arange(0, places.size + 1, max(num_columns, 1), dtype=np.int32)
    return shared_csr(np.ones(places.size), places.ravel(), edges, (num_rows, num_columns * width))


def places_by_class(x: np.ndarray, codes: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Where each cell stands in a flat table of class, column and category, the last of which is a missing cell's.

    Parameters
    ----------
    x : array, shape (rows, columns)
    codes : array of int, shape (rows,)
        Position of each row's class.
    shape : tuple of int
        Classes, columns, categories and one more.
    """
    places = np.arange(0, math.prod(shape), shape[-1]).reshape(shape[:2]).take(codes, axis=0)
    places += with_missing_last(x, shape[-1] - 1)
    return places


def with_certain_last(log_prob: np.ndarray) -> np.ndarray:
    """Log probabilities of the categories, and that of a missing cell, which is certain under every class."""
    return np.concatenate([log_prob, np.zeros((*log_prob.shape[:-1], 1))], axis=-1)


def with_missing_last(x: np.ndarray, num_categories: int) -> np.ndarray:
    """Codes as signed integers, that after the last for a missing cell."""
    codes = x if x.dtype.kind in "iu" else np.where(np.isnan(x), num_categories, x)
    return codes.astype(np.intp, copy=False)
