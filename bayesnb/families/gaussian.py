"""Gaussian and log-normal columns."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import jax
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.core.arrays import log_rising, namespace, sqrt
from bayesnb.families.base import Hyperparameter, Parameters, Sample
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.distributions import TDistribution
from bayesnb.families.exponential import ExponentialFamily
from bayesnb.families.hyperparameters import with_defaults
from bayesnb.families.information import of_gaussian_cells
from bayesnb.families.moments import Moments, moments
from bayesnb.families.student_t import StudentT, default_rate, left_out, refitted_rows, too_far, too_narrow

# --------------------------------------------------------------------------------------------------
# Measurements with a Normal-inverse-gamma prior
# --------------------------------------------------------------------------------------------------

COMPILED_FROM = 2**20
"""Densities, rows times classes times columns, from which a compiled pass gains more than compiling takes."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
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

    def likelihood(self, mean: Any, variance: Any) -> dist.Distribution:
        return dist.Normal(mean, sqrt(variance))

    def terms(self, x: Any, origin: Any) -> tuple[Any, Any]:
        return x - origin, (x - origin) ** 2

    def natural(self, parameters: Parameters, origin: Any) -> tuple[tuple[Any, Any], Any]:
        offset, variance = parameters["mean"] - origin, parameters["variance"]
        xp, _ = namespace(variance)
        return (offset / variance, -0.5 / variance), 0.5 * (offset**2 / variance + xp.log(2 * np.pi * variance))

    def origin(self, parameters: Parameters) -> Any:
        return parameters["mean"]

    def statistics(self, x: np.ndarray, membership: Any) -> Moments:
        return moments(x, membership)

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
        return StudentT.of(self).log_density(x)

    def marginals(self) -> dict[str, dist.Distribution]:
        scale = sqrt(self.rate / (self.concentration * self.kappa))
        # The hyperparameters are valid.
        return {
            "mean": TDistribution(2.0 * self.concentration, self.loc, scale, validate_args=False),
            "variance": dist.InverseGamma(self.concentration, self.rate, validate_args=False),
        }

    def maximum_a_posteriori(self, statistics: Moments) -> dict[str, Any]:
        # Joint mode of (mean, variance): the conditional normal adds 1/2 to the inverse gamma's shape + 1.
        after = self.update(statistics)
        return {"mean": after.loc, "variance": after.rate / (after.concentration + 1.5)}

    def mutual_information(self, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
        return of_gaussian_cells(class_prob, np.asarray(parameters["mean"]), np.sqrt(parameters["variance"]))

    def row_log_predictive(self, x: Any, *, ratio: bool = False) -> Any:
        return StudentT.of(self).of_rows(x, compiled=x.size * len(self.kappa) >= COMPILED_FROM)

    def row_log_left_out(
        self, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Moments, *, refitted: bool
    ) -> np.ndarray | None:
        if refitted:
            compiled = x.size * len(statistics.n) >= COMPILED_FROM
            return refitted_rows(self, statistics, x, codes, weights, compiled=compiled)
        if (weights != 1.0).any():
            return None
        return left_out(self.update(statistics), statistics, x, codes, compiled=x.size >= COMPILED_FROM // 8)

    def power_scaled(self, statistics: Moments, power: float) -> dict[str, Any]:
        # The density is v^-(shape + 3/2) exp(-(rate + kappa (mean - loc)² / 2) / v): a power multiplies all three.
        posterior = replace(self, kappa=power * self.kappa, rate=power * self.rate).update(statistics)
        shape = posterior.concentration + (power - 1) * (self.concentration + 1.5)
        return {"loc": posterior.loc, "kappa": posterior.kappa, "concentration": shape, "rate": posterior.rate}


# --------------------------------------------------------------------------------------------------
# Positive measurements whose logarithms are Gaussian, with a Normal-inverse-gamma prior
# --------------------------------------------------------------------------------------------------


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
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

    loc: Hyperparameter = None
    kappa: Hyperparameter = 0.1
    concentration: Hyperparameter = 1.0
    rate: Hyperparameter = None

    support: ClassVar[Any] = constraints.positive
    holds: ClassVar[str] = "a positive number"
    hint: ClassVar[str] = (
        "use nb.Gaussian() for a column with zeros or negative numbers, or mark the cell as missing (NaN)"
    )
    _nearer_zero: ClassVar[str] = "divide the column by a number near exp({mean:.3g})"

    def likelihood(self, mean: Any, variance: Any) -> dist.Distribution:
        return dist.LogNormal(mean, sqrt(variance))

    def terms(self, x: Any, origin: Any) -> tuple[Any, Any]:
        return super().terms(_logs(x), origin)

    def log_base(self, x: Any, origin: Any) -> Any:
        return -_logs(x)

    def statistics(self, x: np.ndarray, membership: Any) -> Moments:
        return super().statistics(_logs(x), membership)

    def on_scale_of(self, pooled: Moments) -> Self:
        # Another unit adds a number to all logarithms: their magnitude is no scale for the spread of a constant column.
        return with_defaults(self, loc=pooled.mean, rate=default_rate(replace(pooled, mean=0.0 * pooled.mean)))

    def log_likelihood(self, parameters: Any, statistics: Moments) -> Any:
        return super().log_likelihood(parameters, statistics) - _sum_of_logs(statistics)

    def log_evidence(self, statistics: Moments) -> Any:
        return super().log_evidence(statistics) - _sum_of_logs(statistics)

    def cell_log_predictive(self, x: Any) -> Any:
        logs = _logs(x)
        return super().cell_log_predictive(logs) - logs

    def row_log_predictive(self, x: Any, *, ratio: bool = False) -> Any:
        # Logarithms of 32 bits would lose digits that the cells have.
        logs = _logs(x.astype(np.float64))
        found = super().row_log_predictive(logs)
        return found if ratio else found - _of_rows(logs)[:, None]

    def row_log_left_out(
        self, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Moments, *, refitted: bool
    ) -> np.ndarray | None:
        logs = _logs(x)
        found = super().row_log_left_out(logs, codes, weights, statistics, refitted=refitted)
        return None if found is None else (found.T - _of_rows(logs)).T

    @property
    def parameter_note(self) -> str:
        return "mean and variance are those of the logarithm"

    def story(self) -> tuple[str, list[str]]:
        return "LogNormal(mean and variance of the logarithm)", super().story()[1]


def _logs(x: Any) -> Any:
    """Logarithms of cells; missing ones stay NaN, and a derivative with respect to them is zero."""
    xp, _ = namespace(x)
    missing = xp.isnan(x)
    return xp.where(missing, xp.nan, xp.log(xp.where(missing, 1.0, x)))


def _of_rows(logs: Any) -> Any:
    """Sum of each row's logarithms: minus the log of the factor that makes a density of them one of the numbers."""
    xp, _ = namespace(logs)
    return xp.where(xp.isnan(logs), 0.0, logs).sum(axis=-1)


def _sum_of_logs(statistics: Moments) -> Any:
    return statistics.n * statistics.mean
