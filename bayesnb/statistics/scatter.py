"""Weight, mean and scatter matrix of rows of numbers, per class."""

from dataclasses import dataclass
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays import namespace
from bayesnb.statistics.base import ROUNDING, Statistics, clear_rounding, safe_ratio
from bayesnb.statistics.moments import Moments

__all__ = ["Scatter", "device_scatter", "scatter"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Scatter(Statistics):
    """Weight, mean and scatter matrix, the sum of the outer products of deviations from the mean.

    The matrices merge as sums of squared deviations do (`Moments`), so that they keep their digits where means are
    large. Axes may follow that of the classes: leave-one-out has one of rows.

    Attributes
    ----------
    n : array, shape (classes, 1)
        Weight of the rows.
    mean : array, shape (classes, columns)
    scatter : array, shape (classes, columns, columns)

    See Also
    --------
    Statistics : The base class of sufficient statistics.
    Moments : Means and sums of squares.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1.0, 2.0], [2.0, 3.0], [4.0, 0.0]], ["a", "a", "b"]
    >>> scatter = nb.NaiveBayes(nb.MultivariateGaussian()).bind(X, y).statistics(X, y).blocks[0]
    >>> scatter.mean
    array([[1.5, 2.5],
           [4. , 0. ]])
    >>> scatter.scatter[0]
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    n: Any
    mean: Any
    scatter: Any

    @property
    def of_columns(self) -> Moments:
        """The moments of each column on its own."""
        xp, _ = namespace(self.mean)
        squares = xp.diagonal(self.scatter, axis1=-2, axis2=-1)
        return Moments(xp.broadcast_to(self.n, squares.shape), self.mean, squares)

    def __add__(self, other: Self) -> Self:
        n = self.n + other.n
        share = safe_ratio(other.n, n)
        delta = other.mean - self.mean
        between = _outer(delta) * (self.n * share)[..., None]
        return type(self)(n, self.mean + delta * share, self.scatter + other.scatter + between)

    def __sub__(self, other: Self) -> Self:
        n = self.n - other.n
        xp, _ = namespace(n)
        # If the remaining weight is a rounding error, the mean has no meaning.
        n = xp.where(abs(n) <= ROUNDING * abs(self.n), 0.0, n)
        mean = xp.where(n == 0, 0.0, self.mean + (self.mean - other.mean) * safe_ratio(other.n, n))
        between = _outer(other.mean - mean) * (n * safe_ratio(other.n, self.n))[..., None]
        # If no weight remains but a spread does, the removed rows were not among the data.
        excess = abs(self.scatter - other.scatter) + _outer(self.mean - other.mean) * other.n[..., None]
        left = xp.where(n[..., None] == 0, -abs(excess), self.scatter - other.scatter - between)
        return type(self)(n, mean, left)

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.n * factor, self.mean, self.scatter * factor)

    def without_rounding(self, before: Self) -> Self:
        columns = self.of_columns.without_rounding(before.of_columns)
        root = np.sqrt(np.abs(before.of_columns.ssd))
        left = np.where(np.abs(self.scatter) <= ROUNDING * root[..., None] * root[..., None, :], 0.0, self.scatter)
        # A column without spread has no covariance with another.
        still = columns.ssd == 0
        left = np.where(still[..., None] | still[..., None, :], 0.0, left)
        identity = np.eye(left.shape[-1], dtype=bool)
        left = np.where(identity, columns.ssd[..., None], left)
        return type(self)(clear_rounding(self.n, before.n), columns.mean, left)

    def same_rows(self, other: Statistics) -> bool:
        if not isinstance(other, Scatter) or not self.of_columns.same_rows(other.of_columns):
            return False
        # As for the columns on their own: the rounding error of the cells shifts the means and all deviations.
        root = np.sqrt(np.abs(self.of_columns.ssd))
        rounding = 8 * np.finfo(np.float64).eps * np.abs(self.mean)
        wide = 1e-9 * root + np.sqrt(self.n) * rounding
        return bool((np.abs(self.scatter - other.scatter) <= 3 * wide[..., None] * (root + wide)[..., None, :]).all())

    def pooled(self) -> Self:
        columns = self.of_columns.pooled()
        between = _outer(self.mean - columns.mean) * self.n[..., None]
        n = self.n.sum(axis=0, keepdims=True)
        return type(self)(n, columns.mean, (self.scatter + between).sum(axis=0, keepdims=True))


def _outer(vector: Any) -> Any:
    return vector[..., :, None] * vector[..., None, :]


def scatter(x: np.ndarray, membership: np.ndarray) -> Scatter:
    """Weighted scatter per class of rows without missing cells; rows of weight zero may have them.

    The deviations are taken from the class's own mean of the same rows, and the rounding error of that mean is
    corrected: the corrected two-pass algorithm of Chan, Golub and LeVeque (1983), *The American Statistician* 37(3),
    242-247.

    Parameters
    ----------
    x : array, shape (rows, columns)
    membership : array, shape (rows, classes)

    Returns
    -------
    Scatter
    """
    num_classes, num_columns = membership.shape[1], x.shape[1]
    n, mean = membership.sum(axis=0)[:, None].astype(np.float64), np.zeros((num_classes, num_columns))
    sums = np.zeros((num_classes, num_columns, num_columns))
    for c in np.flatnonzero(n[:, 0]):
        rows = np.flatnonzero(membership[:, c])
        weight, cells = membership[rows, c], x[rows]
        approximate = weight @ cells / n[c]
        deviations = cells - approximate
        correction = weight @ deviations / n[c]
        mean[c] = approximate + correction
        products = (deviations * weight[:, None]).T @ deviations - n[c] * _outer(correction)
        # The products of matrices are not symmetric to the last digit.
        sums[c] = (products + products.T) / 2
    return Scatter(n, mean, _without_rounding_of_cells(n, mean, sums))


def device_scatter(x: Any, codes: Any, membership: Any) -> Scatter:
    """As `scatter`, for JAX to compile, and for rows in one class each.

    Parameters
    ----------
    x : jax.Array, float64, shape (rows, columns)
    codes : jax.Array of int, shape (rows,)
    membership : jax.Array, float64, shape (rows, classes)
    """
    n = membership.sum(axis=0)[:, None]
    cells = jnp.where(jnp.isnan(x), 0.0, x)
    approximate = safe_ratio(membership.T @ cells, n)
    deviations = cells - approximate[codes]
    correction = safe_ratio(membership.T @ deviations, n)
    # One class at a time: all together would take memory for rows times classes times columns.
    products = jax.lax.map(lambda weight: (deviations * weight[:, None]).T @ deviations, membership.T)
    sums = (products + jnp.swapaxes(products, -1, -2)) / 2 - n[..., None] * _outer(correction)
    mean = approximate + correction
    return Scatter(n, mean, _without_rounding_of_cells(n, mean, sums))


def _without_rounding_of_cells(n: Any, mean: Any, sums: Any) -> Any:
    """Scatter matrices in which a constant column has no spread."""
    xp, _ = namespace(sums)
    squares = xp.diagonal(sums, axis1=-2, axis2=-1)
    still = squares <= n * (4 * np.finfo(np.float64).eps * mean) ** 2
    return xp.where(still[..., None] | still[..., None, :], 0.0, sums)
