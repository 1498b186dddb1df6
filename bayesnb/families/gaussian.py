"""Gaussian and log-normal columns, and the Student-t distribution of their new cells."""

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.core.arrays import row_pieces, sqrt
from bayesnb.core.deferred import dist, jax, jit, jnp, namespace, pytree
from bayesnb.core.logarithms import log_rising
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.exponential import ExponentialFamily
from bayesnb.families.family import Hyperparameter, Parameters, Sample, distributions
from bayesnb.families.hyperparameters import POSITIVE, with_defaults
from bayesnb.families.moments import Moments
from bayesnb.families.mutual_information import gaussian_information, gaussians_by_chance
from bayesnb.families.needs import CentredSquares
from bayesnb.families.statistics import ROUNDING
from bayesnb.serve.scorer import StudentT

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
"""Smallest share of a spread that must remain without a cell or a row; below, the difference is too inaccurate."""

GROUP = 8
"""Number of factors that share a logarithm, because multiplying is faster."""


def default_rate(pooled: Moments) -> Any:
    """Default `rate` given the moments of all classes together; a constant column takes its own magnitude for s."""
    xp, _ = namespace(pooled.mean)
    variance = pooled.variance
    magnitude = xp.where(pooled.mean == 0, 1.0, pooled.mean**2)
    return RATE * xp.where(variance > 0, variance, magnitude)


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


def student_t(family: Any) -> tuple[Any, Any, Any, Any]:
    r"""The predictive density of a `Gaussian` cell, in the form that a pass over the cells computes.

    Student-t with 2 a degrees of freedom, location loc and squared scale :math:`b (\kappa + 1) / (a \kappa)` is
    :math:`c - (a + 1/2) \log(1 + p (x - loc)^2)` with :math:`p = \kappa / (2 b (\kappa + 1))`.

    Returns
    -------
    loc, precision, exponent, constant : array, shape (..., classes, columns)
        The location, p, -(a + 1/2) and c.
    """
    xp, _ = namespace(family.rate)
    a, precision = family.concentration, family.kappa / (2 * family.rate * (family.kappa + 1))
    constant = log_rising(a, xp.asarray(0.5)) + 0.5 * xp.log(precision / np.pi)
    return family.loc, precision, -(a + 0.5), constant


def _log_density_of_cells(x: Any, loc: Any, precision: Any, exponent: Any, constant: Any) -> Any:
    """Log density of cells, which broadcast against the results of `student_t`."""
    return constant + exponent * namespace(x, loc)[0].log1p((x - loc) ** 2 * precision)


def rows_of_student_t(x: Any, loc: Any, precision: Any, exponent: Any, constant: Any, *, compiled: bool) -> Any:
    """Log density of each row under each class, summed over the observed cells, shape (rows, classes).

    Parameters
    ----------
    x : array, shape (rows, columns)
        Missing cells are NaN.
    loc, precision, exponent, constant : array, shape (classes, columns)
        Results of `student_t`.
    compiled : bool
        Whether to compile, for many rows.
    """
    if compiled:
        group = GROUP if (exponent == exponent[:, :1]).all() else 1
        sums, complete = _log_kernels(x, loc, precision, exponent, group=group)
        found = np.asarray(sums)
        if np.isfinite(found).all():
            return found + (constant.sum(axis=1) if complete else ~np.isnan(x) @ constant.T)
    result = np.empty((len(x), len(loc)))
    for rows in row_pieces(len(x), loc.size):
        cells = x[rows, None]
        densities = _log_density_of_cells(cells, loc, precision, exponent, constant)
        result[rows] = np.where(np.isnan(cells), 0.0, densities).sum(axis=-1)
    return result


@jit(static_argnames="group")
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


def _left_out_density(
    whole: Any, statistics: Moments, x: np.ndarray, codes: np.ndarray, *, compiled: bool
) -> np.ndarray | None:
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
        sums = _compiled_sums_left_out if compiled else _sums_left_out
        log_density, largest = sums(x, codes, *tables)
    # Where one cell makes nearly all of the spread, the difference has too few digits. Of one cell, and of cells that
    # are all equal, the share is not a number.
    return np.asarray(log_density) if largest < 1 - SMALLEST_REST else None


def _sums_left_out(
    x: Any, codes: Any, loc: Any, share: Any, concentration: Any, constant: Any, mean: Any, spread: Any
) -> tuple[Any, Any]:
    """Log density of each row given the others of its class, and the largest share of a cell in its spread."""
    xp, _ = namespace(x)
    missing = xp.isnan(x)
    cells = constant[codes] + concentration[codes] * xp.log1p(-((x - loc[codes]) ** 2) * share[codes])
    shares = (x - mean[codes]) ** 2 * spread[codes]
    return xp.where(missing, 0.0, cells).sum(axis=1), xp.where(missing, 0.0, shares).max()


_compiled_sums_left_out = jit(_sums_left_out)


def _refitted_density(
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
    """As `_refitted_density`; the weight is one number for all rows, or an array of shape (rows, 1, 1)."""
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


@jit(static_argnames="group")
def _compiled_log_sums(table: Any, x: Any, mean: Any, *, group: int) -> Any:
    return _log_sums(table, x, mean, add=partial(_sum_of_logs, group=group))


# --------------------------------------------------------------------------------------------------
# Measurements with a Normal-inverse-gamma prior
# --------------------------------------------------------------------------------------------------

COMPILED_FROM = 2**20
"""From this number of densities (rows times classes times columns) on, compiling pays."""


@pytree
class Gaussian(ExponentialFamily, ConjugateFamily):
    r"""Columns of real numbers with a Normal-inverse-gamma prior.

    .. math:: \sigma^2_{cj} \sim \mathrm{InverseGamma}(a, b), \quad
              \mu_{cj} \mid \sigma^2_{cj} \sim \mathrm{Normal}(m,\, \sigma^2_{cj} / \kappa)

    The posterior has the same form and the predictive is Student-t with :math:`2a` degrees of freedom, location
    :math:`m` and squared scale :math:`b (\kappa + 1) / (a \kappa)`: Murphy (2007), *Conjugate Bayesian analysis of the
    Gaussian distribution*, section 6; Gelman et al. (2013), section 3.3.

    Hyperparameters that are not given follow the data, so that the unit of a column changes no prediction. With s² the
    variance of the whole column, all classes together: `loc` is the column's mean, `kappa` is 0.1 (the prior
    standard deviation of a class mean is about three within-class ones), `concentration` is 1 and `rate` is 0.1 s²
    (half of the prior is below a within-class variance of 0.14 s²). A constant column takes its own magnitude for s.

    Parameters
    ----------
    loc : float or array, optional
        Prior mean of the class mean; broadcasts, like the others, to (columns,) or (classes, columns).
    kappa : float or array, default 0.1
        Prior weight of `loc`, in observations.
    concentration : float or array, default 1.0
        Shape of the variance's inverse gamma prior.
    rate : float or array, optional
        Scale of the variance's inverse gamma prior (the rate of the precision's gamma prior).

    Raises
    ------
    ValueError
        If `kappa`, `concentration` or `rate` is not positive and finite.

    See Also
    --------
    MultivariateGaussian : Numbers that depend on each other.
    LogNormal : Positive numbers whose logarithms are normal.
    Histogram : Numbers of any shape, in bins.

    Notes
    -----
    Numerical domain: means of up to 1e12 standard deviations of their class. Float64 holds a cell near a mean of r
    standard deviations, and the mean itself, to 1e-16 r standard deviations. With z the distance of a cell from the
    mean in standard deviations, a log density has an error of about 1e-16 r z. Measured against 50 digits, up to z = 4:
    4e-10 at r = 1e6, 6e-8 at 1e8, 5e-6 at 1e10, 3e-4 at 1e12; the rounding of the cells to float64 alone causes 3e-10,
    2e-8, 8e-7 and 8e-5. Beyond 1e12 a fit raises an error: subtract a number near the mean before the cells become
    float64. A change of unit changes neither r nor the error.

    Cells beyond 1e150 are an error, because float64 does not hold sums of their squares. Without `rate`, columns with a
    standard deviation below 3e-146 are an error too, because float64 rounds their variance.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1.1], [1.4], [0.9], [3.9], [4.2], [4.4]], ["a"] * 3 + ["b"] * 3
    >>> posterior = nb.fit(nb.Gaussian(), X, y)
    >>> posterior.predict_proba([[1.2], [2.7], [None]]).round(2)
    array([[1.  , 0.  ],
           [0.43, 0.57],
           [0.5 , 0.5 ]])
    """

    loc: Hyperparameter = None
    kappa: Hyperparameter = 0.1
    concentration: Hyperparameter = 1.0
    rate: Hyperparameter = None

    hint: ClassVar[str] = "mark the cell as missing (NaN) or clip it"
    _nearer_zero: ClassVar[str] = "subtract a number near {mean:.3g} from the column"
    positive: ClassVar[tuple[str, ...]] = ("kappa", "concentration", "rate")
    _story: ClassVar[tuple[str, ...]] = (
        "Normal(mean, variance)",
        "mean ~ Normal({loc}, variance / {kappa})",
        "variance ~ InverseGamma({concentration}, {rate})",
    )

    def prior(self, sample: Sample) -> dict[str, Any]:
        variance = sample("variance", dist.InverseGamma(self.concentration, self.rate))
        mean = sample("mean", dist.Normal(self.loc, sqrt(variance / self.kappa)))
        return {"mean": mean, "variance": variance}

    def likelihood(self, mean: Any, variance: Any) -> "dist.Distribution":
        return dist.Normal(mean, sqrt(variance))

    def terms(self, x: Any, origin: Any) -> tuple[Any, Any]:
        return x - origin, (x - origin) ** 2

    def natural(self, parameters: Parameters, origin: Any) -> tuple[tuple[Any, Any], Any]:
        offset, variance = parameters["mean"] - origin, parameters["variance"]
        xp, _ = namespace(variance)
        return (offset / variance, -0.5 / variance), 0.5 * (offset**2 / variance + xp.log(2 * np.pi * variance))

    def origin(self, parameters: Parameters) -> Any:
        return parameters["mean"]

    def needs(self) -> Any:
        return CentredSquares()

    def possible(self, statistics: Moments) -> Any:
        return (statistics.n >= 0) & (statistics.ssd >= 0)

    def beyond_float64(self, statistics: Moments) -> tuple[np.ndarray, str] | None:
        if self.rate is None:
            return too_narrow(statistics)
        if self.loc is None:
            return None
        posterior = self.update(statistics)
        deviation = np.sqrt(posterior.rate / posterior.concentration)
        return too_far(posterior.loc, deviation, self._nearer_zero)

    def on_scale_of(self, pooled: Moments) -> Self:
        return with_defaults(self, loc=pooled.mean, rate=default_rate(pooled))

    def log_likelihood(self, parameters: Parameters, statistics: Moments) -> Any:
        # At the origin of the cells' own mean, the sum of their first terms is zero.
        (_, of_square), log_partition = self.natural(parameters, statistics.mean)
        return of_square * statistics.ssd - statistics.n * log_partition

    def maximum_likelihood(self, statistics: Moments) -> dict[str, Any]:
        with np.errstate(invalid="ignore"):
            variance = statistics.ssd / statistics.n
        mean = np.where(statistics.n > 0, statistics.mean, np.nan)
        return {"mean": mean, "variance": np.where(variance > 0, variance, np.nan)}

    def update(self, statistics: Moments) -> Self:
        # The prior counts like kappa cells of mean loc and squared deviations 2 rate.
        whole = Moments(self.kappa, self.loc, 2 * self.rate) + statistics
        return type(self)(whole.mean, whole.n, self.concentration + 0.5 * statistics.n, 0.5 * whole.ssd)

    def log_evidence(self, statistics: Moments) -> Any:
        xp, _ = namespace(self.rate, statistics.n)
        posterior = self.update(statistics)
        return (
            log_rising(self.concentration, 0.5 * statistics.n)
            + self.concentration * xp.log(self.rate)
            - posterior.concentration * xp.log(posterior.rate)
            + 0.5 * (xp.log(self.kappa) - xp.log(posterior.kappa) - statistics.n * np.log(2 * np.pi))
        )

    def cell_log_predictive(self, x: Any) -> Any:
        return _log_density_of_cells(x, *student_t(self))

    def scorer(self) -> StudentT:
        return StudentT.of(*student_t(self))

    def marginals(self) -> "dict[str, dist.Distribution]":
        scale = sqrt(self.rate / (self.concentration * self.kappa))
        # No validation: the hyperparameters were checked before.
        return {
            "mean": distributions.TDistribution(2.0 * self.concentration, self.loc, scale, validate_args=False),
            "variance": dist.InverseGamma(self.concentration, self.rate, validate_args=False),
        }

    def maximum_a_posteriori(self, statistics: Moments) -> dict[str, Any]:
        # Joint mode of (mean, variance): the conditional normal adds 1/2 to the inverse gamma's shape + 1.
        after = self.update(statistics)
        return {"mean": after.loc, "variance": after.rate / (after.concentration + 1.5)}

    def mutual_information(self, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
        return gaussian_information(class_prob, np.asarray(parameters["mean"]), np.sqrt(parameters["variance"]))

    def information_by_chance(self, weight: np.ndarray, statistics: Moments) -> tuple[np.ndarray, np.ndarray]:
        return gaussians_by_chance(weight)

    def predictive_kernel(self, x: Any, *, ratio: bool = False) -> Any:
        return rows_of_student_t(x, *student_t(self), compiled=x.size * len(self.kappa) >= COMPILED_FROM)

    def row_log_left_out(
        self, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Moments, *, refitted: bool
    ) -> np.ndarray | None:
        if refitted:
            compiled = x.size * len(statistics.n) >= COMPILED_FROM
            return _refitted_density(self, statistics, x, codes, weights, compiled=compiled)
        if (weights != 1.0).any():
            return None
        return _left_out_density(self.update(statistics), statistics, x, codes, compiled=x.size >= COMPILED_FROM // 8)

    def power_scaled(self, statistics: Moments, power: float) -> dict[str, Any]:
        # The density is v^-(shape + 3/2) exp(-(rate + kappa (mean - loc)² / 2) / v): a power multiplies all three.
        posterior = replace(self, kappa=power * self.kappa, rate=power * self.rate).update(statistics)
        shape = posterior.concentration + (power - 1) * (self.concentration + 1.5)
        return {"loc": posterior.loc, "kappa": posterior.kappa, "concentration": shape, "rate": posterior.rate}


# --------------------------------------------------------------------------------------------------
# Positive measurements whose logarithms are Gaussian, with a Normal-inverse-gamma prior
# --------------------------------------------------------------------------------------------------


@pytree
class LogNormal(Gaussian):
    r"""Columns of positive numbers whose logarithms are Gaussian, with a Normal-inverse-gamma prior.

    .. math:: \log x_{ij} \sim \mathrm{Normal}(\mu_{cj},\, \sigma^2_{cj}), \quad
              \sigma^2_{cj} \sim \mathrm{InverseGamma}(a, b), \quad
              \mu_{cj} \mid \sigma^2_{cj} \sim \mathrm{Normal}(m,\, \sigma^2_{cj} / \kappa)

    The formulas are those of `Gaussian` for the logarithms: Murphy (2007), *Conjugate Bayesian analysis of the Gaussian
    distribution*, section 6; Gelman et al. (2013), section 3.3. The predictive density is a log Student-t density. The
    parameters `mean` and `variance` are those of the logarithm. Densities are those of the numbers themselves, 1/x
    times the density of the logarithm, so that the evidence may be compared with that of `Gaussian`.

    Hyperparameters that are not given follow the logarithms, as those of `Gaussian` follow its cells, so that the unit
    of a column changes no prediction. With s² the variance of the column's logarithms, all classes together: `loc` is
    their mean, `kappa` is 0.1, `concentration` is 1 and `rate` is 0.1 s². A constant column takes 1 for s.

    Parameters
    ----------
    loc : float or array, optional
        Prior mean of the class's mean logarithm; broadcasts, like the others, to (columns,) or (classes, columns).
    kappa : float or array, default 0.1
        Prior weight of `loc`, in observations.
    concentration : float or array, default 1.0
        Shape of the inverse gamma prior of the logarithms' variance.
    rate : float or array, optional
        Scale of the inverse gamma prior of the logarithms' variance.

    Raises
    ------
    ValueError
        If `kappa`, `concentration` or `rate` is not positive and finite.

    See Also
    --------
    Gaussian : Numbers.
    Gamma : Positive numbers, without a closed form.

    Notes
    -----
    Numerical domain: that of `Gaussian` for the logarithms, with the error that is stated there.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1.0], [2.0], [1.5], [30.0], [80.0], [45.0]], ["a"] * 3 + ["b"] * 3
    >>> posterior = nb.fit(nb.LogNormal(), X, y)
    >>> posterior.predict_proba([[3.0], [10.0], [None]]).round(3)
    array([[0.984, 0.016],
           [0.252, 0.748],
           [0.5  , 0.5  ]])
    """

    support = POSITIVE
    holds: ClassVar[str] = "a positive number"
    hint: ClassVar[str] = (
        "use nb.Gaussian() for a column with zeros or negative numbers, or mark the cell as missing (NaN)"
    )
    _nearer_zero: ClassVar[str] = "divide the column by a number near exp({mean:.3g})"
    parameter_note: ClassVar[str] = "mean and variance are those of the logarithm"

    def likelihood(self, mean: Any, variance: Any) -> "dist.Distribution":
        return dist.LogNormal(mean, sqrt(variance))

    def terms(self, x: Any, origin: Any) -> tuple[Any, Any]:
        return super().terms(_logs_of_cells(x), origin)

    def log_base(self, x: Any, origin: Any) -> Any:
        return -_logs_of_cells(x)

    def needs(self) -> Any:
        return CentredSquares(_logs_of_cells)

    def on_scale_of(self, pooled: Moments) -> Self:
        # A change of unit shifts all logarithms, so that their magnitude is no scale for a constant column.
        return with_defaults(self, loc=pooled.mean, rate=default_rate(replace(pooled, mean=0.0 * pooled.mean)))

    def log_likelihood(self, parameters: Any, statistics: Moments) -> Any:
        return super().log_likelihood(parameters, statistics) - _total_of_logs(statistics)

    def log_evidence(self, statistics: Moments) -> Any:
        return super().log_evidence(statistics) - _total_of_logs(statistics)

    def cell_log_predictive(self, x: Any) -> Any:
        logs = _logs_of_cells(x)
        return super().cell_log_predictive(logs) - logs

    def scorer(self) -> StudentT:
        found = super().scorer()
        return replace(found, is_log=np.ones_like(found.is_log))

    def predictive_kernel(self, x: Any, *, ratio: bool = False) -> Any:
        # Logarithms in float32 would lose digits of the cells.
        logs = _logs_of_cells(x.astype(np.float64))
        found = super().predictive_kernel(logs)
        return found if ratio else found - _sums_of_row_logs(logs)[:, None]

    def row_log_left_out(
        self, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Moments, *, refitted: bool
    ) -> np.ndarray | None:
        logs = _logs_of_cells(x)
        found = super().row_log_left_out(logs, codes, weights, statistics, refitted=refitted)
        return None if found is None else (found.T - _sums_of_row_logs(logs)).T

    def story(self) -> tuple[str, list[str]]:
        return "LogNormal(mean and variance of the logarithm)", super().story()[1]


def _logs_of_cells(x: Any) -> Any:
    """Logarithms of cells; missing ones stay NaN, and a derivative with respect to them is zero."""
    xp, _ = namespace(x)
    missing = xp.isnan(x)
    return xp.where(missing, xp.nan, xp.log(xp.where(missing, 1.0, x)))


def _sums_of_row_logs(logs: Any) -> Any:
    """Sum of each row's logarithms: minus the log of the factor that makes a density of them one of the numbers."""
    xp, _ = namespace(logs)
    return xp.where(xp.isnan(logs), 0.0, logs).sum(axis=-1)


def _total_of_logs(statistics: Moments) -> Any:
    return statistics.n * statistics.mean
