"""Measurements with a Normal-inverse-gamma prior."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays import log_rising, namespace
from bayesnb.families.base import ConjugateFamily, Hyperparameter, Parameters, Sample, format_number
from bayesnb.stats import Moments, moments, moments_by_class

__all__ = ["Gaussian"]

LOG_2_PI = float(np.log(2 * np.pi))


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

    def possible(self, statistics: Moments) -> Any:
        return (statistics.n >= 0) & (statistics.ssd >= 0)

    def on_scale_of(self, pooled: Moments) -> Self:
        loc = pooled.mean if self.loc is None else self.loc
        if self.rate is not None:
            return replace(self, loc=np.broadcast_to(loc, np.shape(self.rate)))
        variance = pooled.variance
        magnitude = np.where(pooled.mean == 0, 1.0, pooled.mean**2)
        rate = 0.1 * np.where(variance > 0, variance, magnitude)
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
        xp, special = namespace(self.rate, statistics.n)
        posterior = self.update(statistics)
        return (
            special.gammaln(posterior.concentration)
            - special.gammaln(self.concentration)
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
        missing = np.isnan(x)
        result = np.empty((x.shape[0], loc.shape[0]))
        for c in range(loc.shape[0]):
            cells = constant[c] - (a[c] + 0.5) * np.log1p((x - loc[c]) ** 2 * precision[c])
            result[:, c] = np.where(missing, 0.0, cells).sum(axis=-1)
        return result

    def story(self) -> tuple[str, list[str]]:
        loc, kappa, a, b = (format_number(value) for value in self.hyperparameters().values())
        prior = [f"mean ~ Normal({loc}, variance / {kappa})", f"variance ~ InverseGamma({a}, {b})"]
        return "Normal(mean, variance)", prior
