"""Counts with a gamma prior on their rate."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints
from scipy.special import gammaln

from bayesnb.arrays import log_rising, namespace
from bayesnb.families.base import ConjugateFamily, Hyperparameter, Parameters, Sample, format_number, log_weights
from bayesnb.stats import Counts, class_sums, observed_weight, row_pieces

__all__ = ["Poisson"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Poisson(ConjugateFamily):
    r"""Columns of counts; :math:`\lambda_{cj} \sim \mathrm{Gamma}(a, b)` with rate b.

    With N observed cells of sum S, the posterior is :math:`\mathrm{Gamma}(a + S,\, b + N)` and the predictive negative
    binomial: Gelman et al. (2013), *Bayesian Data Analysis*, 3rd edition, section 2.6.

    Parameters
    ----------
    concentration : float or array, default 1.0
        Shape of the gamma prior; broadcasts to (columns,) or (classes, columns).
    rate : float or array, optional
        Rate of the gamma prior. By default `concentration` over the column's mean, so that the prior's mean is the mean
        of the data, whatever the unit.
    fractional : bool, default False
        Accept numbers that are no counts. The formulas go through with gamma functions for factorials, but what comes
        out is no probability of anything that was observed.

    Raises
    ------
    ValueError
        If a hyperparameter is not positive and finite.
    """

    concentration: Hyperparameter = 1.0
    rate: Hyperparameter = None
    fractional: bool = field(default=False, metadata={"static": True})

    support: ClassVar[Any] = constraints.nonnegative_integer
    holds: ClassVar[str] = "a count 0, 1, 2, ..."
    hint: ClassVar[str] = "use nb.Gaussian() for measurements"
    positive: ClassVar[tuple[str, ...]] = ("concentration", "rate")

    @property
    def accepts_fractions(self) -> bool:
        return self.fractional

    def prior(self, sample: Sample) -> dict[str, Any]:
        return {"rate": sample("rate", dist.Gamma(self.concentration, self.rate))}

    def likelihood(self, rate: Any) -> dist.Distribution:
        return dist.Poisson(rate)

    def statistics(self, x: np.ndarray, membership: np.ndarray) -> Counts:
        counts = np.nan_to_num(x)
        log_base = -class_sums(gammaln(counts + 1.0), membership)
        return Counts(observed_weight(x, membership), class_sums(counts, membership), log_base)

    def device_statistics(self, x: Any, codes: Any, membership: Any) -> Counts:
        observed = ~jnp.isnan(x)
        counts = jnp.where(observed, x, 0.0)
        n = membership.T @ observed.astype(x.dtype)
        return Counts(n, membership.T @ counts, -membership.T @ jax.scipy.special.gammaln(counts + 1))

    def possible(self, statistics: Counts) -> Any:
        return (statistics.n >= 0) & (statistics.total >= 0) & ((statistics.n > 0) | (statistics.total == 0))

    def on_scale_of(self, pooled: Counts) -> Self:
        if self.rate is not None:
            return self
        mean = pooled.total / np.maximum(pooled.n, np.finfo(np.float64).tiny)
        return replace(self, rate=self.concentration / np.where(mean > 0, mean, 1.0))

    def log_likelihood(self, parameters: Parameters, statistics: Counts) -> Any:
        rate = parameters["rate"]
        _, special = namespace(rate, statistics.n)
        return special.xlogy(statistics.total, rate) - statistics.n * rate

    def maximum_likelihood(self, statistics: Counts) -> dict[str, Any]:
        with np.errstate(invalid="ignore"):
            return {"rate": statistics.total / statistics.n}

    def update(self, statistics: Counts) -> Self:
        return replace(self, concentration=self.concentration + statistics.total, rate=self.rate + statistics.n)

    def predictive(self) -> dist.Distribution:
        return dist.GammaPoisson(self.concentration, self.rate)

    def log_evidence(self, statistics: Counts) -> Any:
        xp, special = namespace(self.concentration, statistics.n)
        posterior = self.update(statistics)
        return (
            statistics.log_base
            + special.gammaln(posterior.concentration)
            - special.gammaln(self.concentration)
            + self.concentration * xp.log(self.rate)
            - posterior.concentration * xp.log(posterior.rate)
        )

    def mean(self) -> dict[str, Any]:
        return {"rate": self.concentration / self.rate}

    def mode(self) -> dict[str, Any]:
        return {"rate": np.where(self.concentration >= 1, (self.concentration - 1) / self.rate, np.nan)}

    def row_log_likelihood(self, parameters: Parameters, x: np.ndarray) -> Any:
        rate = np.asarray(parameters["rate"])
        observed = ~np.isnan(x)
        counts = np.where(observed, x, 0.0)
        with np.errstate(divide="ignore"):
            sums = log_weights(counts, np.log(rate)) - log_weights(observed.astype(np.float64), rate)
        return np.swapaxes(sums - gammaln(counts + 1.0).sum(axis=-1), -1, -2)

    def row_log_predictive(self, x: np.ndarray) -> Any:
        observed = ~np.isnan(x)
        counts = np.where(observed, x, 0.0)
        result = np.empty((x.shape[0], np.shape(self.rate)[0]))
        for c in range(result.shape[1]):
            cells = _log_predictive(self.concentration[c], self.rate[c], counts)
            result[:, c] = np.where(observed, cells, 0.0).sum(axis=-1)
        return result

    def row_log_refitted(
        self, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Counts, held: np.ndarray
    ) -> np.ndarray:
        whole = self.on_scale_of(statistics.pooled())
        result = np.empty(held.shape)
        for rows in row_pieces(*x.shape):
            result[rows] = _refitted(self, whole, statistics, x[rows], codes[rows], weights[rows], held[rows])
        return result

    def device_log_likelihood(self, parameters: Parameters, x: Any) -> Any:
        rate = parameters["rate"]
        return _device_sums(x, lambda counts: jnp.where(counts > 0, counts * jnp.log(rate), 0.0) - rate)

    def device_log_predictive(self, x: Any) -> Any:
        a, b = self.concentration, self.rate
        constant, log_weight = a * jnp.log1p(1 / b), jnp.log1p(b)
        return _device_sums(x, lambda counts: log_rising(a, counts) - constant - counts * log_weight)

    def story(self) -> tuple[str, list[str]]:
        return "Poisson(rate)", [f"rate ~ Gamma({format_number(self.concentration)}, {format_number(self.rate)})"]


def _refitted(
    prior: Poisson,
    whole: Poisson,
    statistics: Counts,
    x: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray,
    held: np.ndarray,
) -> np.ndarray:
    """As `Poisson.row_log_refitted`, given the prior with its rate open, and with that of all rows."""
    missing = np.isnan(x)
    counts, weight = np.where(missing, 0.0, x), np.where(missing, 0.0, weights[:, None])
    # Posteriors do without log_base.
    cell = Counts(weight, weight * counts, np.zeros_like(x))
    pooled = Counts(statistics.n, statistics.total, np.zeros_like(statistics.n)).pooled()
    of_class = Counts(statistics.n[codes], statistics.total[codes], np.zeros_like(x))
    scale, rest = (pooled - cell).without_rounding(pooled), (of_class - cell).without_rounding(of_class)
    result = held.copy()
    for c in range(held.shape[1]):
        # Without the row the posterior rate b of another class is b + change, and its shape a is the same.
        a, b = prior.concentration[c] + statistics.total[c], whole.rate[c] + statistics.n[c]
        change = prior.take(c).on_scale_of(scale).rate - whole.rate[c]
        of_count, of_shape = np.log1p(change / (1 + b)), np.log1p(-change / ((b + change) * (1 + b)))
        result[:, c] -= np.where(missing, 0.0, counts * of_count + a * of_shape).sum(axis=-1)
    possible = prior.possible(rest)
    own = prior.take(codes).on_scale_of(scale).update(jax.tree.map(lambda leaf: np.where(possible, leaf, 0.0), rest))
    density = np.where(missing, 0.0, _log_predictive(own.concentration, own.rate, counts)).sum(axis=-1)
    result[np.arange(len(x)), codes] = np.where(possible.all(axis=-1), density, np.nan)
    return result


def _log_predictive(a: Any, b: Any, counts: np.ndarray) -> np.ndarray:
    """Log density of counts whose rate has a gamma distribution of shape a and rate b, negative binomial."""
    return log_rising(a, counts) - gammaln(counts + 1.0) - a * np.log1p(1 / b) - counts * np.log1p(b)


def _device_sums(x: Any, log_density: Callable[[Any], Any]) -> Any:
    """Sum over observed cells of a log density less log x!, in float64, shape (rows, classes)."""
    observed = ~jnp.isnan(x)
    counts = jnp.where(observed, x.astype(jnp.float64), 0.0)
    sums = jnp.where(observed[:, None, :], log_density(counts[:, None, :]), 0.0).sum(axis=-1)
    return sums - jax.scipy.special.gammaln(counts + 1).sum(axis=-1, keepdims=True)
