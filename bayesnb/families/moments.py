"""Sufficient statistics that are moments."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Self

import numpy as np

from bayesnb.core.arrays import close
from bayesnb.core.deferred import namespace, pytree
from bayesnb.families.statistics import (
    ROUNDING,
    Membership,
    Statistics,
    clear_rounding,
    entries_of,
    rows_by_class,
    safe_ratio,
)

ROUNDING_OF_CELLS = 4 * np.finfo(np.float64).eps
"""Relative deviation of cells from their mean that is a rounding error."""

# --------------------------------------------------------------------------------------------------
# Weights, means and spreads about the mean, which merge without loss of digits
# --------------------------------------------------------------------------------------------------


class _CentredSums(Statistics):
    """Weight, mean and spread about the mean: the sum of squares, or of products, of deviations.

    They merge by the formulas of Chan, Golub and LeVeque (1983), *The American Statistician* 37(3), 242-247.
    """

    n: Any
    mean: Any

    @property
    def spread(self) -> Any:
        """The third field."""
        return getattr(self, fields(self)[2].name)  # type: ignore[arg-type]

    @staticmethod
    def at_distance(weight: Any, deviation: Any) -> Any:
        """The spread of rows of a weight that are all at one distance from the mean."""
        return weight * deviation**2

    def __add__(self, other: Self) -> Self:
        n = self.n + other.n
        share = safe_ratio(other.n, n)
        delta = other.mean - self.mean
        # Two libraries may round the logarithm of one number to neighbours: this is no spread.
        xp, _ = namespace(delta)
        apart = xp.where(abs(delta) <= ROUNDING_OF_CELLS * abs(self.mean), 0.0, delta)
        between = self.at_distance(self.n * share, apart)
        return type(self)(n, self.mean + delta * share, self.spread + other.spread + between)  # type: ignore[call-arg]

    def __sub__(self, other: Self) -> Self:
        n = self.n - other.n
        xp, _ = namespace(n)
        # If the remaining weight is a rounding error, the mean has no meaning.
        n = xp.where(abs(n) <= ROUNDING * abs(self.n), 0.0, n)
        mean = xp.where(n == 0, 0.0, self.mean + (self.mean - other.mean) * safe_ratio(other.n, n))
        left = self.spread - other.spread
        # If no weight remains but a spread does, the removed rows were not among the data.
        excess = abs(left) + abs(self.at_distance(other.n, self.mean - other.mean))
        left = left - self.at_distance(n * safe_ratio(other.n, self.n), other.mean - mean)
        nothing = xp.expand_dims(n == 0, tuple(range(n.ndim, left.ndim)))
        return type(self)(n, mean, xp.where(nothing, -excess, left))  # type: ignore[call-arg]

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.n * factor, self.mean, self.spread * factor)  # type: ignore[call-arg]

    def pooled(self) -> Self:
        n = self.n.sum(axis=0, keepdims=True)
        mean = (safe_ratio(self.n, n) * self.mean).sum(axis=0, keepdims=True)
        mean = mean + (safe_ratio(self.n, n) * (self.mean - mean)).sum(axis=0, keepdims=True)
        spread = self.spread + self.at_distance(self.n, self.mean - mean)
        return type(self)(n, mean, spread.sum(axis=0, keepdims=True))  # type: ignore[call-arg]


# --------------------------------------------------------------------------------------------------
# Weight, mean and sum of squared deviations of numbers, per class
# --------------------------------------------------------------------------------------------------


@pytree
class Moments(_CentredSums):
    """Weight, mean and sum of squared deviations from the mean.

    Raw sums of squares lose the digits of the variance if the mean is large; sums of squared deviations do not. They
    merge by the formulas of Chan, Golub and LeVeque (1983), *The American Statistician* 37(3), 242-247.

    Attributes
    ----------
    n, mean, ssd : array, shape (classes, columns)

    See Also
    --------
    Statistics : The base class of sufficient statistics.
    Scatter : Means and scatter matrices.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1.0], [2.0], [4.0]], ["a", "a", "b"]
    >>> moments = nb.NaiveBayes(nb.Gaussian()).bind(X, y).statistics(X, y).blocks[0]
    >>> moments
    Moments(n=array([[2.],
           [1.]]), mean=array([[1.5],
           [4. ]]), ssd=array([[0.5],
           [0. ]]))
    """

    n: Any
    mean: Any
    ssd: Any

    @property
    def variance(self) -> Any:
        """Ssd / n, zero where nothing was observed."""
        return safe_ratio(self.ssd, self.n)

    def without_rounding(self, before: Self) -> Self:
        (xp, _), n = namespace(self.n), clear_rounding(self.n, before.n)
        scale = before.ssd + before.n * (1e-3 * before.mean) ** 2
        ssd = xp.where(xp.abs(self.ssd) <= ROUNDING * scale, 0.0, self.ssd)
        # Rows that went earlier left rounding errors of their own size, of which a class that has become small keeps no
        # trace. All classes of a column together show the size of its cells. Below zero, such an error is no spread.
        size = xp.maximum(xp.abs(before.mean), xp.sqrt(before.variance)).max(axis=0)
        ssd = xp.where((ssd < 0) & (ssd >= -ROUNDING * before.n.sum(axis=0) * size**2), 0.0, ssd)
        # If all cells are equal, every class has that value as its mean. A rounding error of the subtraction would
        # count as a spread between the classes.
        grid = xp.ldexp(1.0, xp.frexp(1e-13 * size)[1])
        return type(self)(n, xp.where(ssd == 0, xp.rint(self.mean / grid) * grid, self.mean), ssd)

    def same_rows(self, other: Statistics) -> bool:
        if not isinstance(other, Moments) or np.shape(self.n) != np.shape(other.n) or not close(self.n, other.n):
            return False
        # A mean has the rounding error of the cells for any spread, and so does the origin of the deviations.
        n, mean, ssd = np.asarray(self.n), np.asarray(self.mean), np.asarray(self.ssd)
        rounding = 8 * np.finfo(np.float64).eps * np.abs(mean)
        off = np.abs(mean - other.mean), np.abs(ssd - other.ssd)
        far = off[0] > 1e-9 * np.sqrt(safe_ratio(ssd, n)) + rounding
        wide = off[1] > 1e-9 * ssd + 2 * rounding * np.sqrt(n * ssd) + n * rounding**2
        return not (far | wide).any()


def moments(x: np.ndarray, membership: np.ndarray) -> Moments:
    """Weighted moments per class of a table whose missing cells are NaN.

    The deviations are taken from the class's own mean of the same rows, and the rounding error of that mean is
    corrected, so that the result is accurate for any mean (the corrected two-pass algorithm of Chan, Golub and LeVeque,
    1983).

    Parameters
    ----------
    x : array, shape (rows, columns)
    membership : array, shape (rows, classes)

    Returns
    -------
    Moments
        Arrays of shape (classes, columns).
    """
    n, mean, ssd = np.zeros((3, membership.shape[1], x.shape[1]))
    # NumPy takes rows of an array in C order without copying it all.
    x = np.ascontiguousarray(x)
    for c, rows, weight in _of_classes(membership):
        n[c], mean[c], ssd[c] = _moments_of_class(x.take(rows, axis=0), weight, weight.sum())
    return moments_beyond_rounding(n, mean, ssd)


def moments_beyond_rounding(n: np.ndarray, mean: np.ndarray, ssd: np.ndarray) -> Moments:
    """Moments without a spread below the rounding of the numbers, which is none: a constant column has no spread."""
    return Moments(n, mean, np.where(ssd <= n * (ROUNDING_OF_CELLS * mean) ** 2, 0.0, ssd))


def _of_classes(membership: Any) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Each class that has rows, their positions, and their weights."""
    if isinstance(membership, Membership) and membership.data.all():
        for c, rows in rows_by_class(membership.indices, membership.shape[1]):
            yield c, rows, membership.data[rows]
        return
    row, owner, weight = entries_of(membership)
    for c, entries in rows_by_class(owner, membership.shape[1]):
        yield c, row[entries], weight[entries]


def _moments_of_class(cells: np.ndarray, weight: np.ndarray, whole: Any) -> tuple[Any, Any, Any]:
    """Weight, mean and sum of squared deviations of each column, given the whole weight; the cells are overwritten."""
    n = divisor = whole
    # Where the result is small, `@` keeps Python's lock, and `dot` does not.
    total = np.dot(weight, cells)
    missing = np.isnan(cells) if np.isnan(total).any() else None
    if missing is not None:
        cells[missing] = 0.0
        n, total = weight @ ~missing, np.dot(weight, cells)
        divisor = np.where(n == 0, 1.0, n)
    approximate = total / divisor
    cells -= approximate
    if missing is not None:
        cells[missing] = 0.0
    correction = np.dot(weight, cells) / divisor
    return n, approximate + correction, np.dot(weight, np.square(cells, out=cells)) - n * correction**2


# --------------------------------------------------------------------------------------------------
# Weight, mean and scatter matrix of rows of numbers, per class
# --------------------------------------------------------------------------------------------------


@pytree
class Scatter(_CentredSums):
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

    def without_rounding(self, before: Self) -> Self:
        (xp, _), columns = namespace(self.n), self.of_columns.without_rounding(before.of_columns)
        root = xp.sqrt(xp.abs(before.of_columns.ssd))
        left = xp.where(xp.abs(self.scatter) <= ROUNDING * root[..., None] * root[..., None, :], 0.0, self.scatter)
        # A column without spread has no covariance with another.
        still = columns.ssd == 0
        left = xp.where(still[..., None] | still[..., None, :], 0.0, left)
        identity = xp.eye(left.shape[-1], dtype=bool)
        left = xp.where(identity, columns.ssd[..., None], left)
        return type(self)(clear_rounding(self.n, before.n), columns.mean, left)

    def same_rows(self, other: Statistics) -> bool:
        if not isinstance(other, Scatter) or not self.of_columns.same_rows(other.of_columns):
            return False
        # As for the columns on their own: the rounding error of the cells shifts the means and all deviations.
        root = np.sqrt(np.abs(self.of_columns.ssd))
        rounding = 8 * np.finfo(np.float64).eps * np.abs(self.mean)
        wide = 1e-9 * root + np.sqrt(self.n) * rounding
        return bool((np.abs(self.scatter - other.scatter) <= 3 * wide[..., None] * (root + wide)[..., None, :]).all())

    @staticmethod
    def at_distance(weight: Any, deviation: Any) -> Any:
        return weight[..., None] * _outer(deviation)


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
    for c, rows, weight in _of_classes(membership):
        cells = x[rows]
        approximate = weight @ cells / n[c]
        deviations = cells - approximate
        correction = weight @ deviations / n[c]
        mean[c] = approximate + correction
        products = (deviations * weight[:, None]).T @ deviations - n[c] * _outer(correction)
        # The products of matrices are not symmetric to the last digit.
        sums[c] = (products + products.T) / 2
    return scatter_beyond_rounding(n, mean, sums)


def scatter_beyond_rounding(n: np.ndarray, mean: np.ndarray, sums: np.ndarray) -> Scatter:
    """As `moments_beyond_rounding`, of matrices."""
    still = np.diagonal(sums, axis1=-2, axis2=-1) <= n * (ROUNDING_OF_CELLS * mean) ** 2
    return Scatter(n, mean, np.where(still[..., None] | still[..., None, :], 0.0, sums))
