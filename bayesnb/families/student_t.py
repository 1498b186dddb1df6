"""The Student-t distribution of new cells and rows."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.core.arrays import log_rising, namespace, row_pieces
from bayesnb.families.moments import Moments, Scatter
from bayesnb.families.statistics import ROUNDING

# --------------------------------------------------------------------------------------------------
# Squared distances of rows from the centre of each class, measured by a matrix, over the observed cells.
#
# Densities of vectors with an elliptical shape are functions of three numbers for each row and class: the squared
# distance :math:`(x - m)^T A^{-1} (x - m)`, the logarithm of the determinant of A, and the number of observed cells.
# Where cells of a row are missing, all three are those of the observed cells, with their rows and columns of A.
# --------------------------------------------------------------------------------------------------

SMALLEST_SHARE = 1e-14
"""Smallest share of a column's variance that the columns before it may leave."""

ROWS = 256
"""Rows with missing cells that JAX computes at a time: each row has a matrix for every class."""


class _Distances(NamedTuple):
    """What the density of a row needs.

    Attributes
    ----------
    squared, log_det : array, shape (..., rows, classes)
    observed : array, shape (rows, 1)
        Number of observed cells.
    """

    squared: Any
    log_det: Any
    observed: Any


def distances(x: Any, centre: Any, matrix: Any) -> _Distances:
    """Distances of all rows; rows in which the same cells are missing are computed together.

    Parameters
    ----------
    x : array or jax.Array, shape (rows, columns)
        Missing cells are NaN. A JAX array is for JAX to compile, to run and to differentiate; there are then no axes
        before those of the classes.
    centre : array, shape (..., classes, columns)
    matrix : array, shape (..., classes, columns, columns)
    """
    if isinstance(x, jax.Array):
        return _distances_in_jax(x, centre, matrix)
    centre, matrix = np.asarray(centre), np.asarray(matrix)
    observed = ~np.isnan(x)
    shape = (*centre.shape[:-2], len(x), centre.shape[-2])
    squared, log_dets = np.zeros(shape), np.zeros(shape)
    for rows, columns in _patterns(observed):
        whole = len(columns) == x.shape[1]
        some, middle = (matrix, centre) if whole else (matrix[..., columns[:, None], columns], centre[..., columns])
        away = x[rows][:, slice(None) if whole else columns] - middle[..., None, :]
        squared[..., rows, :] = np.swapaxes(_squared_distance(some[..., None, :, :], away), -1, -2)
        log_dets[..., rows, :] = log_det(some)[..., None, :]
    return _Distances(squared, log_dets, observed.sum(axis=1, keepdims=True))


def _patterns(observed: np.ndarray) -> list[tuple[Any, np.ndarray]]:
    """Rows in which the same cells are observed, and these columns; rows without a cell are left out."""
    if observed.all():
        return [(slice(None), np.arange(observed.shape[1]))]
    kinds, which = np.unique(observed, axis=0, return_inverse=True)
    pairs = ((np.flatnonzero(which == k), np.flatnonzero(kind)) for k, kind in enumerate(kinds))
    return [(rows, columns) for rows, columns in pairs if len(columns)]


def _squared_distance(matrix: Any, away: Any) -> Any:
    """The squared length of vectors (..., columns) as positive definite matrices (..., columns, columns) measure it.

    A matrix of a single vector axis measures all vectors along that axis.
    """
    xp, _ = namespace(matrix, away)
    factor, size = _cholesky(matrix)
    if factor.shape[-3:-2] == (1,):
        # One matrix for many vectors: its root once, and a product of matrices.
        root = xp.linalg.inv(factor[..., 0, :, :]) / size
        solved = away @ xp.swapaxes(root, -1, -2)
    else:
        solved = xp.linalg.solve(factor, (away / size)[..., None])[..., 0]
    return (solved**2).sum(axis=-1)


def log_det(matrix: Any) -> Any:
    """Logarithm of the determinant of positive definite matrices, shape (...,)."""
    xp, _ = namespace(matrix)
    factor, size = _cholesky(matrix)
    return 2 * (xp.log(xp.diagonal(factor, axis1=-2, axis2=-1)) + xp.log(size)).sum(axis=-1)


def _cholesky(matrix: Any) -> tuple[Any, Any]:
    """Cholesky factor of the matrix with ones on its diagonal, and the square roots that scale it so.

    So scaled, the units of the columns do not matter, and no product of them overflows.

    Raises
    ------
    ValueError
        If a column has no variance of its own beside the others, up to the digits of float64; under NumPy only.
    """
    xp, _ = namespace(matrix)
    size = xp.sqrt(xp.diagonal(matrix, axis1=-2, axis2=-1))
    scaled = matrix / size[..., :, None] / size[..., None, :]
    try:
        factor = xp.linalg.cholesky(scaled)
        singular = xp is np and bool((np.diagonal(factor, axis1=-2, axis2=-1) ** 2 < SMALLEST_SHARE).any())
    except np.linalg.LinAlgError:
        singular = True
    if singular:
        raise ValueError(
            "a matrix of MultivariateGaussian is singular in float64: columns of the block determine each other, and "
            "`scale` is too small beside their spread; leave `scale` out, give a larger one, or drop a column"
        )
    return factor, size


def _distances_in_jax(x: Any, centre: Any, matrix: Any) -> _Distances:
    """Where no cell is missing, there is one Cholesky factor for each class, else one for each row and class."""
    x = x.astype(jnp.float64)
    observed = ~jnp.isnan(x)
    cells = jnp.where(observed, x, 0.0)

    def of_whole_rows() -> tuple[Any, Any]:
        squared = jax.vmap(_squared_distance, (0, 1), 1)(matrix[:, None], cells[:, None] - centre)
        return squared, jnp.broadcast_to(log_det(matrix), squared.shape)

    def of_rows() -> tuple[Any, Any]:
        each = partial(_distance_of_row, centre=centre, matrix=matrix)
        return jax.lax.map(each, (cells, observed), batch_size=ROWS)

    squared, log_dets = jax.lax.cond(observed.all(), of_whole_rows, of_rows)
    return _Distances(squared, log_dets, observed.sum(axis=1, keepdims=True))


def _distance_of_row(row: tuple[Any, Any], *, centre: Any, matrix: Any) -> tuple[Any, Any]:
    """Squared distance and log determinant of the observed cells of one row, shape (classes,) each.

    A missing cell gets a row and a column of the identity, and the distance zero.
    """
    cells, observed = row
    both = observed[:, None] & observed
    filled = jnp.where(both, matrix, jnp.eye(len(cells)))
    return _squared_distance(filled, jnp.where(observed, cells - centre, 0.0)), log_det(filled)


# --------------------------------------------------------------------------------------------------
# Log Student-t densities summed over columns, and the same with a cell left out
# --------------------------------------------------------------------------------------------------

RATE = 0.1
"""Default `rate` of a Gaussian column, in variances of the column."""

SMALLEST_RATE = np.finfo(np.float64).tiny / np.finfo(np.float64).eps
"""Smallest default of `rate`, about 1e-292: float64 holds the variances of classes with all digits from here."""

FARTHEST = 1e12
"""Largest allowed distance of a mean from zero, in standard deviations."""

SMALLEST_REST = 1e-6
"""Smallest share of a spread that must remain without a cell; below, the difference is too inaccurate."""

GROUP = 8
"""Number of factors under one logarithm: a multiplication is faster than a logarithm."""


def default_rate(pooled: Moments) -> np.ndarray:
    """Default `rate` given the moments of all classes together; a constant column takes its own magnitude for s."""
    variance = pooled.variance
    magnitude = np.where(pooled.mean == 0, 1.0, pooled.mean**2)
    return RATE * np.where(variance > 0, variance, magnitude)


def too_narrow(pooled: Moments) -> tuple[np.ndarray, str]:
    """Means of the columns whose default `rate` is too small for float64, as `Family.beyond_float64` gives them."""
    return np.where(default_rate(pooled) < SMALLEST_RATE, pooled.mean, np.nan), (
        ": its cells lie near {mean:.3g} and spread so little that float64 does not hold their variance: multiply the "
        "column by a common factor"
    )


def too_far(mean: np.ndarray, deviation: np.ndarray, remedy: str) -> tuple[np.ndarray, str]:
    """Means that are too many standard deviations from zero, as `Family.beyond_float64` gives them."""
    return np.where(np.abs(mean) > FARTHEST * deviation, mean, np.nan), (
        " has the mean {mean:.6g}, more than 1e12 standard deviations from zero, which leaves its densities too few "
        f"digits: {remedy}"
    )


@dataclass(frozen=True)
class StudentT:
    r"""The predictive density of a Gaussian cell, in the form that a pass over the cells computes.

    Student-t with 2 a degrees of freedom, location loc and squared scale :math:`b (\kappa + 1) / (a \kappa)` is
    :math:`c - (a + 1/2) \log(1 + p (x - loc)^2)` with :math:`p = \kappa / (2 b (\kappa + 1))`.

    Attributes
    ----------
    loc, precision, exponent, constant : array, shape (..., classes, columns)
        The location, p, -(a + 1/2) and c.
    """

    loc: Any
    precision: Any
    exponent: Any
    constant: Any

    @classmethod
    def of(cls, family: Any) -> Self:
        """The predictive of a `Gaussian`."""
        xp, _ = namespace(family.rate)
        a, precision = family.concentration, family.kappa / (2 * family.rate * (family.kappa + 1))
        constant = log_rising(a, xp.asarray(0.5)) + 0.5 * xp.log(precision / np.pi)
        return cls(family.loc, precision, -(a + 0.5), constant)

    def log_density(self, x: Any) -> Any:
        """Log density of cells, which broadcast against the hyperparameters."""
        xp, _ = namespace(x, self.loc)
        return self.constant + self.exponent * xp.log1p((x - self.loc) ** 2 * self.precision)

    def of_rows(self, x: Any, *, compiled: bool) -> Any:
        """Log density of each row under each class, summed over the observed cells, shape (rows, classes).

        Parameters
        ----------
        x : array or jax.Array, shape (rows, columns)
            Missing cells are NaN. A JAX array is for JAX to compile.
        compiled : bool
            Whether to compile, for many rows.
        """
        if isinstance(x, jax.Array):
            return self._of_rows_in_jax(x)
        if compiled:
            group = GROUP if (self.exponent == self.exponent[:, :1]).all() else 1
            sums, complete = _log_kernels(x, self.loc, self.precision, self.exponent, group=group)
            found = np.asarray(sums)
            if np.isfinite(found).all():
                return found + (self.constant.sum(axis=1) if complete else ~np.isnan(x) @ self.constant.T)
        missing = np.isnan(x)
        result = np.empty((len(x), len(self.loc)))
        for c in range(len(self.loc)):
            of_class = StudentT(self.loc[c], self.precision[c], self.exponent[c], self.constant[c])
            result[:, c] = np.where(missing, 0.0, of_class.log_density(x)).sum(axis=1)
        return result

    def _of_rows_in_jax(self, x: Any) -> Any:
        missing = jnp.isnan(x)
        # Filled before the formula as well as after it: the derivative of zero times NaN is NaN.
        squared = (jnp.where(missing, 0.0, x)[:, None] - self.loc) ** 2
        excess = jnp.where(missing[:, None], 0.0, squared * self.precision)
        sums = jax.lax.cond(
            (self.exponent == self.exponent[:, :1]).all(),
            partial(_sum_of_logs, group=GROUP),
            partial(_sum_of_logs, group=1),
            excess,
            self.exponent,
        )
        # A square or a product of several may overflow. The result is then NaN, and the host computes these rows.
        sums = jnp.where(jnp.isinf(sums), jnp.nan, sums)
        return sums + jax.lax.cond(
            missing.any(),
            lambda: (~missing).astype(self.constant.dtype) @ self.constant.T,
            lambda: jnp.broadcast_to(self.constant.sum(axis=1), sums.shape),
        )


@partial(jax.jit, static_argnames="group")
def _log_kernels(x: Any, loc: Any, precision: Any, exponent: Any, *, group: int) -> tuple[Any, Any]:
    """Sum over observed columns of exponent * log(1 + (x - loc)² precision), and whether no cell is missing."""
    missing = jnp.isnan(x)
    excess = jnp.where(missing[:, None], 0.0, (x[:, None] - loc) ** 2 * precision)
    return _sum_of_logs(excess, exponent, group=group), ~missing.any()


def _sum_of_logs(excess: Any, exponent: Any, *, group: int) -> Any:
    r"""Sum over columns of exponent * log(1 + excess), in float64, shape (rows, classes).

    A multiplication is faster than a logarithm. Columns with the same exponent e therefore share one logarithm,

    .. math:: e \log(1 + u) + e \log(1 + v) + \dots = e \log\big((1 + u)(1 + v) \cdots\big),

    over `group` columns, which must have the exponent in common. If u is far below one, 1 + u loses its digits. The
    products are therefore stored minus one, (1 + u)(1 + v) - 1 = u + v + u v, and log1p is taken of the result.

    Parameters
    ----------
    excess : jax.Array, shape (rows, classes, columns)
    exponent : array, shape (..., classes, columns)
    """
    width = excess.shape[-1] // group
    grouped = width * group
    factors = excess[..., :grouped].reshape(*excess.shape[:2], group, width)
    products = jax.lax.reduce(factors, np.zeros((), excess.dtype), lambda u, v: u + v + u * v, (2,))
    logs = exponent[..., :width] * jnp.log1p(products)
    rest = exponent[..., grouped:] * jnp.log1p(excess[..., grouped:])
    return logs.sum(axis=-1) + rest.sum(axis=-1)


def left_out(whole: Any, statistics: Moments, x: np.ndarray, codes: np.ndarray, *, compiled: bool) -> np.ndarray | None:
    """Log density of each row given the others of its class, shape (rows,); None where a difference has too few digits.

    Parameters
    ----------
    whole : Gaussian
        The posterior given all rows.
    statistics : Moments
        Of all rows, shape (classes, columns).
    x : array, shape (rows, columns)
    codes : array of int, shape (rows,)
    compiled : bool
        Whether to compile, for many rows.
    """
    # The rate without a cell is rate - (x - loc)² kappa / (2 (kappa - 1)): the update of one cell, undone.
    with np.errstate(invalid="ignore", divide="ignore"):
        share = whole.kappa / (2 * whole.rate * (whole.kappa - 1))
        constant = log_rising(whole.concentration - 0.5, np.array(0.5)) + 0.5 * np.log(share / np.pi)
        constant += np.log1p(-1 / whole.kappa)
        spread = statistics.n / ((statistics.n - 1) * statistics.ssd)
        tables = whole.loc, share, whole.concentration - 0.5, constant, statistics.mean, spread
        sums = _compiled_left_out if compiled else _left_out
        log_density, largest = sums(x, codes, *tables)
    # Where one cell makes nearly all of the spread, the difference has too few digits. Of one cell, and of cells that
    # are all equal, the share is not a number.
    return np.asarray(log_density) if largest < 1 - SMALLEST_REST else None


def _left_out(
    x: Any, codes: Any, loc: Any, share: Any, concentration: Any, constant: Any, mean: Any, spread: Any
) -> tuple[Any, Any]:
    """Log density of each row given the others of its class, and the largest share of a cell in its spread."""
    xp, _ = namespace(x)
    missing = xp.isnan(x)
    cells = constant[codes] + concentration[codes] * xp.log1p(-((x - loc[codes]) ** 2) * share[codes])
    shares = (x - mean[codes]) ** 2 * spread[codes]
    return xp.where(missing, 0.0, cells).sum(axis=1), xp.where(missing, 0.0, shares).max()


_compiled_left_out = jax.jit(_left_out)


def refitted_rows(
    prior: Any, statistics: Moments, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, *, compiled: bool
) -> np.ndarray:
    """As `ConjugateFamily.row_log_left_out`, refitted.

    Parameters
    ----------
    prior : Gaussian
        The prior with its defaults not set.
    statistics : Moments
        Of all rows, shape (classes, columns).
    x : array, shape (rows, columns)
    codes : array of int, shape (rows,)
    weights : array, shape (rows,)
    compiled : bool
        Whether to compile, for many rows of one weight.

    Returns
    -------
    array, shape (rows, classes)
        Not finite where a difference has too few digits, or a row cannot have been among the data.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        if (weights == weights[:1]).all():
            return _refitted(prior, statistics, x, codes, weights[0], compiled=compiled)
        # Each row has its own numbers for every class and column.
        result = np.empty((len(x), len(statistics.n)))
        for rows in row_pieces(len(x), x.shape[1] * len(statistics.n)):
            weight = weights[rows, None, None]
            result[rows] = _refitted(prior, statistics, x[rows], codes[rows], weight, compiled=False)
        return result


def _refitted(
    prior: Any, statistics: Moments, x: np.ndarray, codes: np.ndarray, weight: Any, *, compiled: bool
) -> np.ndarray:
    """As `refitted_rows`; the weight is one number for all rows, or an array of shape (rows, 1, 1)."""
    log_sums: Any = _compiled_log_sums if compiled else partial(_log_sums, add=_plain_sum)
    observed = (~np.isnan(x)).astype(np.float64)
    found = []
    for own in (False, True):
        table, constant = _without_a_cell(prior, statistics, weight, own=own)
        together = constant.ndim == 2
        constants = observed @ constant.T if together else (observed[:, None] * constant).sum(axis=-1)
        options = {"group": GROUP if (table[:, 0] == table[:, 0, :1]).all() else 1} if compiled else {}
        found.append(np.asarray(log_sums(table, x, statistics.mean, **options)) + constants)
    return np.where(codes[:, None] == np.arange(len(statistics.n)), found[1], found[0])


def _without_a_cell(prior: Any, statistics: Moments, weight: Any, *, own: bool) -> tuple[np.ndarray, np.ndarray]:
    """How the predictive of a cell depends on the cell, if `loc` and `rate` follow all rows except the cell's own.

    All quantities are polynomials in t = x - mean of the class. With m, S, N the column's mean, sum of squared
    deviations and weight, d = x - m and w the row's weight, the defaults of the rest are

        loc = m - w d / (N - w),    rate = RATE (S - d² w N / (N - w)) / (N - w),

    and the row's own class has weight n - w, mean - w t / (n - w) and ssd - t² w n / (n - w). With B the posterior's
    rate given all rows, b the rate and a the concentration given the rest, and k = kappa / (2 B (kappa + 1)),

        b / B = 1 + p0 + p1 t + p2 t²,    sqrt(k) (x - loc) = q0 + q1 t,

    so that the log density is

        log rising(a, 1/2) + 1/2 log(k / pi) + a log(b / B) - (a + 1/2) log(b / B + k (x - loc)²).

    Parameters
    ----------
    own : bool
        Whether the class is the row's own class, from which the row is also removed.

    Returns
    -------
    tuple of array, shape (..., classes, 7, columns), and array, shape (..., classes, columns)
        The numbers a, p0, p1, p2, q0, q1 and the largest t² that a cell of the class can have; and the first two terms.
        Where no weight is left the numbers are not finite.
    """
    pooled, whole = statistics.pooled(), prior.on_scale_of(statistics.pooled())
    every = whole.update(statistics)
    from_all, left = statistics.mean - pooled.mean, _left(pooled.n, weight)
    # The prior: loc = that of all rows - pull * d, rate = rate0 - rate2 * d².
    pull = weight / left if prior.loc is None else 0.0
    spreads = (pooled.ssd > 0) & (prior.rate is None)
    rate0 = np.where(spreads, RATE * pooled.ssd / left, whole.rate)
    rate2 = np.where(spreads, RATE * weight * pooled.n / left**2, 0.0)
    # The data: the mean of the class less the prior's loc is gap0 + gap1 * t.
    taken = weight if own else 0.0
    n = _left(statistics.n, taken)
    shift = taken / n if own else 0.0
    gap0, gap1 = statistics.mean - whole.loc + pull * from_all, pull - shift
    kappa, pulled = prior.kappa + n, prior.kappa * n / (prior.kappa + n)
    a, precision = every.concentration - 0.5 * taken, kappa / (2 * every.rate * (kappa + 1))
    scale = statistics.ssd * (1 + ROUNDING) + statistics.n * (1e-8 * statistics.mean) ** 2
    table = [
        a,
        (rate0 - rate2 * from_all**2 + 0.5 * (statistics.ssd + pulled * gap0**2)) / every.rate - 1,
        (pulled * gap0 * gap1 - 2 * rate2 * from_all) / every.rate,
        (0.5 * (pulled * gap1**2 - shift * statistics.n) - rate2) / every.rate,
        np.sqrt(precision) * gap0 * prior.kappa / kappa,
        np.sqrt(precision) * (1 + pull - gap1 * n / kappa),
        scale / (shift * statistics.n) if own else np.inf,
    ]
    constant = log_rising(a, np.array(0.5)) + 0.5 * np.log(precision / np.pi)
    return np.stack(np.broadcast_arrays(*table), axis=-2), np.nan_to_num(constant)


def _left(n: Any, weight: Any) -> Any:
    """Remaining weight; NaN if there was some and none remains."""
    return np.where((n - weight > ROUNDING * n) | (n == 0), n - weight, np.nan)


def _log_sums(table: Any, x: Any, mean: Any, *, add: Any) -> Any:
    """Sum over observed columns of a log(b / B) - (a + 1/2) log(b / B + k (x - loc)²), shape (rows, classes).

    Parameters
    ----------
    table : array, shape (..., classes, 7, columns)
        Result of `_without_a_cell`.
    x : array, shape (rows, columns)
    mean : array, shape (classes, columns)
    add : callable
        Sums exponent * log(1 + excess) over columns, given excess and exponent.
    """
    xp, _ = namespace(x)
    a, p0, p1, p2, q0, q1, largest = (table[..., i, :] for i in range(7))
    missing = xp.isnan(x)[:, None]
    t = xp.where(missing, 0.0, x[:, None] - mean)
    shrunk = p0 + t * (p1 + t * p2)
    # Where the cell makes nearly all of the rate, the difference has too few digits.
    good = (shrunk > SMALLEST_REST - 1) & (t**2 <= largest)
    shrunk = xp.where(missing, 0.0, xp.where(good, shrunk, xp.nan))
    excess = shrunk + xp.where(missing, 0.0, (q0 + t * q1) ** 2)
    return add(shrunk, a) - add(excess, a + 0.5)


def _plain_sum(excess: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    return (exponent * np.log1p(excess)).sum(axis=-1)


@partial(jax.jit, static_argnames="group")
def _compiled_log_sums(table: Any, x: Any, mean: Any, *, group: int) -> Any:
    return _log_sums(table, x, mean, add=partial(_sum_of_logs, group=group))


# --------------------------------------------------------------------------------------------------
# Densities of rows that are multivariate Student-t, and the same with the row left out of its class
# --------------------------------------------------------------------------------------------------

SMALLEST_REST_OF_ROWS = 1e-6
"""Smallest share of a spread that must remain without a row; below, the difference is too inaccurate."""


def log_multivariate_gamma_ratio(df: Any, more: Any, size: int) -> Any:
    r"""Log of :math:`\Gamma_p((\nu + n) / 2) / \Gamma_p(\nu / 2)`, the multivariate gamma functions of p columns.

    Parameters
    ----------
    df, more : array
        The degrees of freedom and what is added to them.
    size : int
        The number p.
    """
    return sum(log_rising((df - j) / 2, more / 2) for j in range(size))


def predictive_matrix(family: Any) -> Any:
    r"""The matrix that measures distances in the predictive density, :math:`\Psi (\kappa + 1) / \kappa`."""
    return family.scale * ((family.kappa + 1) / family.kappa)[..., None]


def log_student_t(df: Any, of_rows: _Distances) -> Any:
    r"""Log density of the observed cells of rows whose matrix and degrees of freedom are those of all columns.

    With k observed cells and squared distance d by the matrix A,

    .. math:: \log\Gamma((\nu + k) / 2) - \log\Gamma(\nu / 2) - \tfrac{k}{2} \log \pi - \tfrac12 \log |A|
              - \tfrac{\nu + k}{2} \log(1 + d).

    Parameters
    ----------
    df : array, shape (classes,)
        The :math:`\nu` of the predictive density, which does not depend on the cells observed.
    of_rows : Distances
    """
    xp, _ = namespace(of_rows.squared, df)
    number = of_rows.observed
    constant = log_rising(df / 2 + 0.0 * number, number / 2) - 0.5 * number * np.log(np.pi)
    return constant - 0.5 * of_rows.log_det - 0.5 * (df + number) * xp.log1p(of_rows.squared)


def log_normal(of_rows: _Distances) -> Any:
    """Log density of the observed cells of rows with a multivariate normal distribution."""
    return -0.5 * (of_rows.squared + of_rows.log_det + of_rows.observed * np.log(2 * np.pi))


def vectors_left_out(whole: Any, statistics: Scatter, x: np.ndarray, codes: np.ndarray) -> np.ndarray | None:
    r"""Log density of each row given the others of its class, shape (rows,); None where a difference loses its digits.

    Without the row the scale matrix is :math:`\Psi - \frac{\kappa}{\kappa - 1} d d^T` with d the distance from the
    location, a change of rank one: its determinant is that of :math:`\Psi` times
    :math:`1 - \frac{\kappa}{\kappa - 1} d^T \Psi^{-1} d`. The density of the row is the ratio of the normalisers of
    both posteriors.

    Parameters
    ----------
    whole : MultivariateGaussian
        The posterior given all rows.
    statistics : Scatter
        Of all rows.
    x : array, shape (rows, columns)
    codes : array of int, shape (rows,)
    """
    columns = statistics.of_columns
    if np.isnan(x).any() or (statistics.n <= 1).any() or (columns.ssd <= 0).any():
        return None
    share = (x - columns.mean[codes]) ** 2 * (columns.n / ((columns.n - 1) * columns.ssd))[codes]
    found = np.empty(len(x))
    size = x.shape[1]
    for c in np.unique(codes):
        rows = np.flatnonzero(codes == c)
        kappa, df = whole.kappa[c, 0], whole.df[c, 0]
        distance = _squared_distance(whole.scale[c][None], x[rows] - whole.loc[c]) * kappa / (kappa - 1)
        if distance.max() > 1 - SMALLEST_REST_OF_ROWS:
            return None
        constant = log_rising((df - size) / 2, np.array(size / 2)) - 0.5 * size * np.log(np.pi)
        constant += 0.5 * size * np.log1p(-1 / kappa) - 0.5 * log_det(whole.scale[c])
        found[rows] = constant + 0.5 * (df - 1) * np.log1p(-distance)
    return found if share.max(initial=0.0) < 1 - SMALLEST_REST_OF_ROWS else None


def vectors_refitted(
    prior: Any, statistics: Scatter, x: np.ndarray, codes: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """As `ConjugateFamily.row_log_left_out`, refitted, by the posterior of each class without each row.

    Parameters
    ----------
    prior : MultivariateGaussian
        The prior with its defaults not set.
    statistics : Scatter
        Of all rows.
    x : array, shape (rows, columns)
    codes : array of int, shape (rows,)
    weights : array, shape (rows,)

    Returns
    -------
    array, shape (rows, classes)
        NaN where a row cannot have been among the data, or lacks a cell.
    """
    num_classes, size = statistics.mean.shape
    result = np.full((len(x), num_classes), np.nan)
    before, given = (
        _with_axis_of_rows(kind, names)
        for kind, names in ((statistics, ("n", "mean", "scatter")), (prior, ("loc", "kappa", "df", "scale")))
    )
    for rows in row_pieces(len(x), num_classes * size * size):
        cells = x[rows]
        own = np.where(codes[rows] == np.arange(num_classes)[:, None], weights[rows], 0.0)[..., None]
        mean = np.broadcast_to(cells, (num_classes, *cells.shape))
        row = Scatter(own, mean, np.zeros((*mean.shape, size)))
        with np.errstate(invalid="ignore"):
            rest = (before - row).without_rounding(before)
            possible = prior.possible(rest).all(axis=(0, 2)) & ~np.isnan(cells).any(axis=1)
        some = np.flatnonzero(possible)
        rest = Scatter(rest.n[:, some], rest.mean[:, some], rest.scatter[:, some])
        after = given.on_scale_of(rest.pooled()).update(rest)
        matrix = predictive_matrix(after)
        squared = _squared_distance(matrix, cells[some] - after.loc)
        of_rows = _Distances(squared, log_det(matrix), np.full((1, 1), size))
        result[rows][some] = log_student_t(after.df[..., 0] - size + 1, of_rows).T
    return result


def _with_axis_of_rows(kind: Any, names: tuple[str, ...]) -> Any:
    """Arrays (classes, ...) with an axis of rows, of length one, behind that of the classes."""
    values = {name: getattr(kind, name) for name in names}
    return type(kind)(**{name: None if value is None else np.asarray(value)[:, None] for name, value in values.items()})
