"""Sufficient statistics: values that add up.

A statistic of two tables together is the sum of their statistics, and taking a table away is a subtraction.
``update``, ``forget``, leave-one-out, cross-validation without refitting and distributed fitting all rest on
this one property. The leading axis of every array is the class.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import jax
import numpy as np
import scipy.sparse

from bayesnb.arrays import namespace

__all__ = [
    "ClassCounts",
    "Counts",
    "Moments",
    "Statistics",
    "class_sums",
    "dense",
    "filled",
    "missing_entries",
    "moments",
    "observed_weight",
]


class Statistics(ABC):
    """A mergeable summary of a block of columns, per class."""

    @abstractmethod
    def __add__(self, other: Self) -> Self:
        """Statistics of both tables together."""

    @abstractmethod
    def __sub__(self, other: Self) -> Self:
        """Statistics of what is left when the rows behind `other` are taken away."""

    @abstractmethod
    def __mul__(self, factor: float) -> Self:
        """Statistics of the same rows with every weight multiplied by `factor`."""

    def without_rounding(self, before: Self) -> Self:
        """What a subtraction from `before` left, with differences that are only rounding set to zero."""
        return jax.tree.map(_clear, self, before)

    @abstractmethod
    def pooled(self) -> Self:
        """Statistics of all classes together; the class axis stays, with length one."""


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
        Weighted sum of log h(x), the part of the log density that no parameter enters (minus log x! for a Poisson
        count); evidence needs it, posteriors do not.
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

    def pooled(self) -> Self:
        return jax.tree.map(lambda leaf: leaf.sum(axis=0, keepdims=True), self)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Moments(Statistics):
    """Weight, mean and sum of squared deviations from the mean.

    Raw sums of squares lose every digit of the variance once the mean is large; these do not. They merge by the
    formulas of Chan, Golub and LeVeque (1983), *The American Statistician* 37(3), 242-247.

    Attributes
    ----------
    n, mean, ssd : array, shape (classes, columns)
    """

    n: Any
    mean: Any
    ssd: Any

    @property
    def variance(self) -> Any:
        """Ssd / n, zero where nothing was observed."""
        return _share(self.ssd, self.n)

    def __add__(self, other: Self) -> Self:
        n = self.n + other.n
        share = _share(other.n, n)
        delta = other.mean - self.mean
        return type(self)(n, self.mean + delta * share, self.ssd + other.ssd + delta**2 * self.n * share)

    def __sub__(self, other: Self) -> Self:
        n = self.n - other.n
        xp, _ = namespace(n)
        mean = xp.where(n == 0, 0.0, self.mean + (self.mean - other.mean) * _share(other.n, n))
        ssd = self.ssd - other.ssd - (other.mean - mean) ** 2 * n * _share(other.n, self.n)
        # Where no weight is left, whatever spread is left says that other rows were taken away than were there.
        excess = abs(self.ssd - other.ssd) + other.n * (self.mean - other.mean) ** 2
        return type(self)(n, mean, xp.where(n == 0, -excess, ssd))

    def without_rounding(self, before: Self) -> Self:
        n = _clear(self.n, before.n)
        scale = before.ssd + before.n * (1e-3 * before.mean) ** 2
        return type(self)(n, self.mean, np.where(np.abs(self.ssd) <= 1e-11 * scale, 0.0, self.ssd))

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.n * factor, self.mean, self.ssd * factor)

    def pooled(self) -> Self:
        n = self.n.sum(axis=0, keepdims=True)
        mean = (_share(self.n, n) * self.mean).sum(axis=0, keepdims=True)
        mean = mean + (_share(self.n, n) * (self.mean - mean)).sum(axis=0, keepdims=True)
        ssd = (self.ssd + self.n * (self.mean - mean) ** 2).sum(axis=0, keepdims=True)
        return type(self)(n, mean, ssd)


def _clear(after: Any, before: Any) -> Any:
    return np.where(np.abs(after) <= 1e-11 * np.abs(before), 0.0, after)


def _share(part: Any, whole: Any) -> Any:
    """Part / whole, zero where the whole is empty."""
    xp, _ = namespace(part, whole)
    empty = whole == 0
    return xp.where(empty, 0.0, part / xp.where(empty, 1.0, whole))


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


def observed_weight(x: Any, membership: np.ndarray) -> np.ndarray:
    """Weight of the cells that are not missing, shape (classes, columns)."""
    if scipy.sparse.issparse(x):
        missing = missing_entries(x)
        if missing.nnz:
            return membership.sum(axis=0)[:, None] - class_sums(missing, membership)
    else:
        missing = np.isnan(x)
        if missing.any():
            return membership.T @ (~missing).astype(np.float64)
    return np.repeat(membership.sum(axis=0)[:, None], x.shape[1], axis=1)


def missing_entries(x: Any) -> Any:
    """Ones where a sparse array stores NaN, as a sparse array of the same shape."""
    marks = scipy.sparse.csr_array(x, copy=True)
    marks.data = np.isnan(x.data).astype(np.float64)
    marks.eliminate_zeros()
    return marks


def dense(x: Any) -> np.ndarray:
    """The cells as a NumPy array, whatever they came as."""
    return x.toarray() if scipy.sparse.issparse(x) else x


def filled(x: Any) -> Any:
    """The cells with zeros for the missing ones, dense or sparse."""
    if not scipy.sparse.issparse(x):
        return np.nan_to_num(x)
    if not np.isnan(x.data).any():
        return x
    result = x.copy()
    result.data = np.nan_to_num(result.data)
    return result


def moments(x: np.ndarray, membership: np.ndarray) -> Moments:
    """Weighted moments per class of a table whose missing cells are NaN.

    The deviations are taken from the class's own mean of the same rows, and the rounding error of that mean is taken
    out again, so that the result keeps its digits at any mean (the corrected two-pass algorithm of Chan, Golub and
    LeVeque, 1983).

    Parameters
    ----------
    x : array, shape (rows, columns)
    membership : array, shape (rows, classes)

    Returns
    -------
    Moments
        Arrays of shape (classes, columns).
    """
    missing = np.isnan(x)
    complete = not missing.any()
    n = observed_weight(x, membership)
    mean = np.zeros_like(n)
    ssd = np.zeros_like(n)
    for c in range(membership.shape[1]):
        rows = np.flatnonzero(membership[:, c])
        if rows.size == 0:
            continue
        weight = membership[rows, c]
        cells = x[rows]
        present = 1.0 if complete else ~missing[rows]
        cells = cells if complete else np.where(present, cells, 0.0)
        approximate = _share(weight @ cells, n[c])
        deviation = (cells - approximate) * present
        correction = _share(weight @ deviation, n[c])
        mean[c] = approximate + correction
        ssd[c] = weight @ deviation**2 - n[c] * correction**2
    # Deviations below the spacing of the numbers themselves are rounding, not spread: a constant column has none.
    rounding = n * (4 * np.finfo(np.float64).eps * mean) ** 2
    return Moments(n, mean, np.where(ssd <= rounding, 0.0, ssd))
