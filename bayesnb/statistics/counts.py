"""Weights and weighted sums of counts, per class."""

from dataclasses import dataclass, replace
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from bayesnb.arrays import namespace
from bayesnb.sparse import filled, missing_entries
from bayesnb.statistics.base import ROUNDING, Statistics

__all__ = ["ClassCounts", "Counts", "class_sums", "count_cells", "count_trues", "observed_weight", "trues_by_class"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ClassCounts(Statistics):
    """Total weight of the rows of each class.

    Attributes
    ----------
    n : array, shape (classes,)
    """

    n: Any

    def __add__(self, other: Self) -> Self:
        return type(self)(self.n + other.n)

    def __sub__(self, other: Self) -> Self:
        return type(self)(self.n - other.n)

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.n * factor)

    def pooled(self) -> Self:
        return type(self)(self.n.sum(keepdims=True))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Counts(Statistics):
    """Weighted sums of what was counted.

    Attributes
    ----------
    n : array, shape (classes, columns)
        Weight of the observed cells; ``(classes, 1)`` where a row is one count vector.
    total : array, shape (classes, columns) or (classes, columns, categories)
        Weighted sum of the cells, or of their category indicators.
    log_base : array, shape of `n`
        Weighted sum of log h(x), the part of the log density without a parameter (minus log x! for a Poisson count).
        Evidences need it, posteriors do not.

    See Also
    --------
    Statistics : The base class of sufficient statistics.
    Levels : Sums that are zero in most cells.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [1, 1], [0, 1]], ["a", "a", "b"]
    >>> counts = nb.NaiveBayes(nb.Bernoulli()).bind(X, y).statistics(X, y).blocks[0]
    >>> counts.n
    array([[2., 2.],
           [1., 1.]])
    >>> counts.total
    array([[2., 1.],
           [0., 1.]])
    """

    n: Any
    total: Any
    log_base: Any

    def __add__(self, other: Self) -> Self:
        return type(self)(self.n + other.n, self.total + other.total, self.log_base + other.log_base)

    def __sub__(self, other: Self) -> Self:
        return type(self)(self.n - other.n, self.total - other.total, self.log_base - other.log_base)

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.n * factor, self.total * factor, self.log_base * factor)

    def without_rounding(self, before: Self) -> Self:
        cleared = super().without_rounding(before)
        if cleared.total.shape != cleared.n.shape:
            return cleared
        return cleared.with_all_ones(before.n)

    def with_all_ones(self, weight: Any) -> Self:
        """Of zeros and ones that are all ones, the total is `n`; no zero of a weight like -1e-17 is left over.

        Parameters
        ----------
        weight : array, shape (classes, columns)
            A difference of total and `n` is a rounding error where it is small beside this weight.
        """
        all_ones = abs(self.total - self.n) <= ROUNDING * weight
        return replace(self, total=namespace(self.total)[0].where(all_ones, self.n, self.total))

    def pooled(self) -> Self:
        return jax.tree.map(lambda leaf: leaf.sum(axis=0, keepdims=True), self)


def trues_by_class(x: np.ndarray, codes: np.ndarray, num_classes: int) -> np.ndarray:
    """How many rows of each class are true, column by column.

    Bytes are summed as they are, over at most 255 rows at a time, so that no sum overflows.

    Parameters
    ----------
    x : array of bool, shape (rows, columns)
    codes : array of int, shape (rows,)

    Returns
    -------
    array, shape (classes, columns)
    """
    num_rows, num_columns = x.shape
    group = codes + num_classes * (np.arange(num_rows) // 255)
    num_groups = num_classes * -(-num_rows // 255)
    indicator = scipy.sparse.csc_array(
        (np.ones(num_rows, np.uint8), group, np.arange(num_rows + 1)), shape=(num_groups, num_rows)
    )
    sums = indicator @ x.view(np.uint8)
    return sums.reshape(-1, num_classes, num_columns).sum(axis=0, dtype=np.float64)


def class_sums(x: Any, membership: np.ndarray) -> np.ndarray:
    """Weighted column sums per class.

    Parameters
    ----------
    x : array or SciPy sparse array, shape (rows, columns)
    membership : array, shape (rows, classes)
        Weight of each row in each class.

    Returns
    -------
    array, shape (classes, columns)
    """
    if scipy.sparse.issparse(x):
        return np.ascontiguousarray((x.T @ membership).T)
    return membership.T @ x


def observed_weight(x: Any, membership: Any) -> Any:
    """Weight of the cells that are not missing, shape (classes, columns); NumPy, SciPy sparse or JAX arrays."""
    if scipy.sparse.issparse(x):
        missing = missing_entries(x)
        if missing.nnz:
            return membership.sum(axis=0)[:, None] - class_sums(missing, membership)
    else:
        xp, _ = namespace(x)
        missing = xp.isnan(x)
        if xp is not np or missing.any():
            return membership.T @ (~missing).astype(np.float64)
    return np.repeat(membership.sum(axis=0)[:, None], x.shape[1], axis=1)


def count_cells(x: Any, membership: Any) -> Counts:
    """Weight and sum of the observed cells; NumPy, SciPy sparse or JAX arrays."""
    n = observed_weight(x, membership)
    cells = jnp.nan_to_num(x) if isinstance(x, jax.Array) else filled(x)
    return Counts(n, class_sums(cells, membership), 0.0 * n)


def count_trues(x: np.ndarray, codes: np.ndarray, num_classes: int) -> Counts:
    """As `count_cells` of booleans, for rows of one class (rows,) and of weight one each."""
    total = trues_by_class(x, codes, num_classes)
    n = np.repeat(np.bincount(codes, minlength=num_classes)[:, None].astype(np.float64), x.shape[1], axis=1)
    return Counts(n, total, np.zeros_like(n))
