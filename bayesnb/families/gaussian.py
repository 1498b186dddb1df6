"""Measurements with a Normal-inverse-gamma prior."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays import log_rising, namespace
from bayesnb.families.base import Hyperparameter, Parameters, Sample
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.hyperparameters import format_number
from bayesnb.families.information import integrated
from bayesnb.families.student_t import GROUP, RATE, SMALLEST_REST, refitted, sum_of_logs
from bayesnb.rows import row_pieces
from bayesnb.statistics.moments import Moments, device_moments, moments, moments_by_class

__all__ = ["Gaussian"]

LOG_2_PI = float(np.log(2 * np.pi))

COMPILED_FROM = 2**20
"""Densities, rows times classes times columns, from which a compiled pass gains more than compiling takes."""

FARTHEST = 1e12
"""Largest allowed distance of a mean from zero, in standard deviations."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Gaussian(ConjugateFamily):
    r"""Columns of real numbers with a Normal-inverse-gamma prior.

    .. math:: \sigma^2_{cj} \sim \mathrm{InverseGamma}(a, b), \quad
              \mu_{cj} \mid \sigma^2_{cj} \sim \mathrm{Normal}(m,\, \sigma^2_{cj} / \kappa)

    The posterior has the same form and the predictive is Student-t with :math:`2a` degrees of freedom, location
    :math:`m` and squared scale :math:`b (\kappa + 1) / (a \kappa)`: Murphy (2007), *Conjugate Bayesian analysis of the
    Gaussian distribution*, section 6; Gelman et al. (2013), section 3.3.

    Hyperparameters that are not given follow the data, so that the unit of a column changes no prediction. With s² the
    variance of the whole column, all classes together: `loc` is the column's mean, `kappa` is 0.1 (class means spread
    about three within-class standard deviations), `concentration` is 1 and `rate` is 0.1 s² (half of the prior lies
    below a within-class variance of 0.14 s²). A constant column takes its own magnitude for s.

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

    Notes
    -----
    Numerical domain: means of up to 1e12 standard deviations of their class. Float64 holds a cell near a mean of r
    standard deviations, and the mean itself, to 1e-16 r standard deviations. With z the distance of a cell from the
    mean in standard deviations, a log density has an error of about 1e-16 r z. Measured against 50 digits, up to z = 4:
    4e-10 at r = 1e6, 6e-8 at 1e8, 5e-6 at 1e10, 3e-4 at 1e12; the rounding of the cells to float64 alone causes 3e-10,
    2e-8, 8e-7 and 8e-5. Beyond 1e12 a fit raises an error: subtract a number near the mean before the cells become
    float64. A change of unit does not change r and the error.
    """

    loc: Hyperparameter = None
    kappa: Hyperparameter = 0.1
    concentration: Hyperparameter = 1.0
    rate: Hyperparameter = None

    hint: ClassVar[str] = "mark the cell as missing (NaN) or clip it"
    positive: ClassVar[tuple[str, ...]] = ("kappa", "concentration", "rate")

    def prior(self, sample: Sample) -> dict[str, Any]:
        variance = sample("variance", dist.InverseGamma(self.concentration, self.rate))
        mean = sample("mean", dist.Normal(self.loc, jnp.sqrt(variance / self.kappa)))
        return {"mean": mean, "variance": variance}

    def likelihood(self, mean: Any, variance: Any) -> dist.Distribution:
        return dist.Normal(mean, jnp.sqrt(variance))

    def statistics(self, x: np.ndarray, membership: np.ndarray) -> Moments:
        return moments(x, membership)

    def statistics_by_class(self, x: np.ndarray, codes: np.ndarray, num_classes: int) -> Moments:
        return moments_by_class(x, codes, num_classes)

    def device_statistics(self, x: Any, codes: Any, membership: Any) -> Moments:
        return device_moments(x, codes, membership)

    def possible(self, statistics: Moments) -> Any:
        return (statistics.n >= 0) & (statistics.ssd >= 0)

    def too_far_from_zero(self, statistics: Moments) -> np.ndarray:
        posterior = self.update(statistics)
        deviation = np.sqrt(posterior.rate / posterior.concentration)
        return np.where(np.abs(posterior.loc) > FARTHEST * deviation, posterior.loc, np.nan)

    def on_scale_of(self, pooled: Moments) -> Self:
        loc = pooled.mean if self.loc is None else self.loc
        if self.rate is not None:
            return replace(self, loc=np.broadcast_to(loc, np.shape(self.rate)))
        variance = pooled.variance
        magnitude = np.where(pooled.mean == 0, 1.0, pooled.mean**2)
        rate = RATE * np.where(variance > 0, variance, magnitude)
        shape = np.shape(self.kappa)
        return replace(self, loc=np.broadcast_to(loc, shape), rate=np.broadcast_to(rate, shape))

    def log_likelihood(self, parameters: Parameters, statistics: Moments) -> Any:
        mean, variance = parameters["mean"], parameters["variance"]
        xp, _ = namespace(mean, statistics.n)
        spread = statistics.ssd + statistics.n * (statistics.mean - mean) ** 2
        return -0.5 * (statistics.n * (LOG_2_PI + xp.log(variance)) + spread / variance)

    def maximum_likelihood(self, statistics: Moments) -> dict[str, Any]:
        with np.errstate(invalid="ignore"):
            variance = statistics.ssd / statistics.n
        mean = np.where(statistics.n > 0, statistics.mean, np.nan)
        return {"mean": mean, "variance": np.where(variance > 0, variance, np.nan)}

    def update(self, statistics: Moments) -> Self:
        n = statistics.n
        kappa = self.kappa + n
        offset = statistics.mean - self.loc
        return type(self)(
            loc=self.loc + offset * n / kappa,
            kappa=kappa,
            concentration=self.concentration + 0.5 * n,
            rate=self.rate + 0.5 * (statistics.ssd + self.kappa * n * offset**2 / kappa),
        )

    def predictive(self) -> dist.Distribution:
        scale = jnp.sqrt(self.rate * (self.kappa + 1) / (self.concentration * self.kappa))
        return dist.StudentT(2 * jnp.asarray(self.concentration), self.loc, scale)

    def log_evidence(self, statistics: Moments) -> Any:
        xp, _ = namespace(self.rate, statistics.n)
        posterior = self.update(statistics)
        return (
            log_rising(self.concentration, 0.5 * statistics.n)
            + self.concentration * xp.log(self.rate)
            - posterior.concentration * xp.log(posterior.rate)
            + 0.5 * (xp.log(self.kappa) - xp.log(posterior.kappa))
            - 0.5 * statistics.n * LOG_2_PI
        )

    def marginals(self) -> dict[str, dist.Distribution]:
        scale = jnp.sqrt(self.rate / (self.concentration * self.kappa))
        return {
            "mean": dist.StudentT(2 * jnp.asarray(self.concentration), self.loc, scale),
            "variance": dist.InverseGamma(self.concentration, self.rate),
        }

    def mode(self) -> dict[str, Any]:
        # Joint mode of (mean, variance): the conditional normal adds 1/2 to the inverse gamma's shape + 1.
        return {"mean": np.asarray(self.loc), "variance": self.rate / (self.concentration + 1.5)}

    def mutual_information(self, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
        mean, deviation = np.asarray(parameters["mean"]), np.sqrt(parameters["variance"])
        # The same shift and change of unit for all classes do not change the information, and keep densities in range.
        unit = deviation.max(axis=1, keepdims=True)
        unit = np.where(np.isfinite(unit), unit, np.nan)
        mean, deviation = (mean - mean.mean(axis=1, keepdims=True)) / unit, deviation / unit

        def density(x: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
            z = (x - mean) / deviation
            return np.exp(-0.5 * z**2) / (deviation * np.sqrt(2 * np.pi))

        return integrated(class_prob, mean, deviation, -np.inf, density)

    def row_log_likelihood(self, parameters: Parameters, x: np.ndarray) -> Any:
        mean = np.expand_dims(parameters["mean"], -2)
        variance = np.expand_dims(parameters["variance"], -2)
        cells = -0.5 * (LOG_2_PI + np.log(variance) + (x - mean) ** 2 / variance)
        return np.swapaxes(np.where(np.isnan(x), 0.0, cells).sum(axis=-1), -1, -2)

    def row_log_predictive(self, x: np.ndarray) -> Any:
        loc, kappa, a, b = (np.asarray(value) for value in (self.loc, self.kappa, self.concentration, self.rate))
        # Student-t: (x - loc)² over (degrees of freedom times squared scale) is (x - loc)² kappa / (2 b (kappa + 1)).
        precision = kappa / (2 * b * (kappa + 1))
        constant = log_rising(a, np.array(0.5)) + 0.5 * np.log(precision / np.pi)
        if x.size * loc.shape[0] >= COMPILED_FROM:
            group = GROUP if (a == a[:, :1]).all() else 1
            kernels, complete = _log_kernels(x, loc, precision, -(a + 0.5), group=group)
            result = np.asarray(kernels)
            if np.isfinite(result).all():
                return result + (constant.sum(axis=-1) if complete else ~np.isnan(x) @ constant.T)
        missing = np.isnan(x)
        result = np.empty((x.shape[0], loc.shape[0]))
        for c in range(loc.shape[0]):
            cells = constant[c] - (a[c] + 0.5) * np.log1p((x - loc[c]) ** 2 * precision[c])
            result[:, c] = np.where(missing, 0.0, cells).sum(axis=-1)
        return result

    def device_log_predictive(self, x: Any) -> Any:
        a = self.concentration
        precision = self.kappa / (2 * self.rate * (self.kappa + 1))
        constant = log_rising(a, 0.5) + 0.5 * jnp.log(precision / jnp.pi)
        # Where x is float32, so are both parts of a location, whose difference from x keeps the digits that x has.
        high = jax.lax.reduce_precision(self.loc, 8, 23) if x.dtype == jnp.float32 else self.loc
        high, low, scale, exponent = (
            value.astype(x.dtype) for value in (high, self.loc - high, jnp.sqrt(precision), -(a + 0.5))
        )
        missing = jnp.isnan(x)
        excess = jnp.where(missing[:, None], 0, ((x[:, None] - high - low) * scale) ** 2)
        sums = jax.lax.cond(
            (a == a[:, :1]).all(), partial(sum_of_logs, group=GROUP), partial(sum_of_logs, group=1), excess, exponent
        )
        # A square or a product of several that overflows: not a number sends the rows to the host.
        sums = jnp.where(jnp.isinf(sums), jnp.nan, sums)
        return sums + jax.lax.cond(
            missing.any(),
            lambda: (~missing).astype(constant.dtype) @ constant.T,
            lambda: jnp.broadcast_to(constant.sum(axis=-1), sums.shape),
        )

    def row_log_left_out(self, x: np.ndarray, codes: np.ndarray, statistics: Moments) -> np.ndarray | None:
        if (statistics.n <= 1).any() or (statistics.ssd <= 0).any():
            return None
        whole = self.update(statistics)
        # The rate without a cell is rate - (x - loc)² kappa / (2 (kappa - 1)): the update of one cell, undone.
        share = whole.kappa / (2 * whole.rate * (whole.kappa - 1))
        constant = log_rising(whole.concentration - 0.5, np.array(0.5)) + 0.5 * np.log(share / np.pi)
        constant += np.log1p(-1 / whole.kappa)
        spread = statistics.n / ((statistics.n - 1) * statistics.ssd)
        tables = whole.loc, share, whole.concentration - 0.5, constant, statistics.mean, spread
        sums = _compiled_left_out if x.size >= COMPILED_FROM // 8 else _left_out
        with np.errstate(invalid="ignore", divide="ignore"):
            log_density, largest = sums(x, codes, *tables)
        # Where one cell makes nearly all of the spread, the difference has too few digits.
        return np.asarray(log_density) if largest < 1 - SMALLEST_REST else None

    def row_log_refitted(
        self, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Moments, held: np.ndarray
    ) -> np.ndarray:
        with np.errstate(invalid="ignore", divide="ignore"):
            if (weights == weights[:1]).all():
                compiled = x.size * len(statistics.n) >= COMPILED_FROM
                return refitted(self, statistics, x, codes, weights[0], compiled=compiled)
            # Each row has its own numbers for every class and column.
            result = np.empty(held.shape)
            for rows in row_pieces(len(x), x.shape[1] * len(statistics.n)):
                weight = weights[rows, None, None]
                result[rows] = refitted(self, statistics, x[rows], codes[rows], weight, compiled=False)
            return result

    def story(self) -> tuple[str, list[str]]:
        loc, kappa, a, b = (format_number(value) for value in self.hyperparameters().values())
        prior = [f"mean ~ Normal({loc}, variance / {kappa})", f"variance ~ InverseGamma({a}, {b})"]
        return "Normal(mean, variance)", prior

    def power_scaled(self, statistics: Moments, power: float) -> dict[str, Any]:
        # The density is v^-(shape + 3/2) exp(-(rate + kappa (mean - loc)² / 2) / v): a power multiplies all three.
        posterior = replace(self, kappa=power * self.kappa, rate=power * self.rate).update(statistics)
        shape = posterior.concentration + (power - 1) * (self.concentration + 1.5)
        return {"loc": posterior.loc, "kappa": posterior.kappa, "concentration": shape, "rate": posterior.rate}


@partial(jax.jit, static_argnames="group")
def _log_kernels(x: Any, loc: Any, precision: Any, exponent: Any, *, group: int) -> tuple[Any, Any]:
    """Sum over columns of exponent * log(1 + (x - loc)² precision), shape (rows, classes); missing cells add nothing.

    The second result says whether no cell is missing.

    The logarithm is taken of products over `group` columns, which must have the exponent in common. They are kept less
    one, (1 + u)(1 + v) - 1 = u + v + u v, so that what is small beside one keeps its digits.
    """
    missing = jnp.isnan(x)
    excess = jnp.where(missing[:, None], 0.0, (x[:, None] - loc) ** 2 * precision)
    return sum_of_logs(excess, exponent, group=group), ~missing.any()


def _left_out(
    x: Any, codes: Any, loc: Any, share: Any, concentration: Any, constant: Any, mean: Any, spread: Any
) -> tuple[Any, Any]:
    """Log density of each row given the others of its class, and the largest share that a cell has in its spread."""
    xp, _ = namespace(x)
    missing = xp.isnan(x)
    cells = constant[codes] + concentration[codes] * xp.log1p(-((x - loc[codes]) ** 2) * share[codes])
    shares = (x - mean[codes]) ** 2 * spread[codes]
    return xp.where(missing, 0.0, cells).sum(axis=-1), xp.where(missing, 0.0, shares).max()


_compiled_left_out = jax.jit(_left_out)
