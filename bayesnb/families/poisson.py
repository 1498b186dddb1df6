"""Counts with a gamma prior on their rate."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints
from scipy.special import gammaln, xlogy

from bayesnb.arrays import namespace, stirling_rest
from bayesnb.families.base import Hyperparameter, Parameters, Sample, log_weights
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.hyperparameters import format_number
from bayesnb.families.information import COUNTED, PIECE_CELLS, divergence, integrated
from bayesnb.families.large_counts import LOG_2_PI, log_negative_binomial, log_poisson, log_ratio
from bayesnb.rows import row_pieces
from bayesnb.statistics.counts import Counts, class_sums, observed_weight

__all__ = ["Poisson", "RateCounts", "rate_counts"]

LARGEST_PRODUCT = 2.0**20
"""Counts up to this use a matrix product, whose terms x log(rate) have an error of 1e-9."""

LARGEST_TABLE = 512
"""Counts up to this look their log density up, if the table has fewer densities than there are cells."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class RateCounts(Counts):
    r"""Counts of Poisson cells; ``log_base`` is the log likelihood at its maximum.

    That is :math:`\sum_i w_i \log p(x_i \mid \bar x)` with :math:`\bar x` the mean of the class's cells. The sum of
    log x! would be as large as N x log x, and an evidence is a small difference from it.

    Attributes
    ----------
    n, total, log_base : array, shape (classes, columns)
    """

    @property
    def mean(self) -> Any:
        """Total / n, zero where nothing was observed."""
        xp, _ = namespace(self.n)
        return self.total / xp.where(self.n == 0, 1.0, self.n)

    def at(self, rate: Any) -> Any:
        """Log likelihood at a rate, minus that at the mean; zero where nothing was observed."""
        xp, _ = namespace(self.n, rate)
        mean = xp.where(self.total > 0, self.mean, 1.0)
        excess = xp.where(self.total > 0, rate - mean, 0.0)
        counted = self.total * (log_ratio(excess, mean, mean + excess) - excess / mean)
        return xp.where(self.total > 0, counted, -self.n * rate)

    def __add__(self, other: Self) -> Self:
        whole = super().__add__(other)
        return replace(whole, log_base=whole.log_base + self.at(whole.mean) + other.at(whole.mean))

    def __sub__(self, other: Self) -> Self:
        rest = super().__sub__(other)
        # Rounding may leave a little less than nothing.
        some = (rest.n > 0) & (rest.total > 0)
        left = replace(rest, n=rest.n * (rest.n > 0), total=rest.total * some)
        return replace(rest, log_base=rest.log_base - left.at(self.mean) - other.at(self.mean))

    def pooled(self) -> Self:
        whole = super().pooled()
        return replace(whole, log_base=whole.log_base + self.at(whole.mean).sum(axis=0, keepdims=True))


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

    Notes
    -----
    Numerical domain: counts up to 2**53, beyond which float64 does not hold every whole number. Such a cell is refused.
    Log densities are taken in the saddle-point form of Loader (2000), *Fast and accurate computation of binomial
    probabilities*, whose error is about 1e-16 times the distance between a count and its mean. Measured against 60
    digits, up to 30 standard deviations from the mean: 2e-13 at counts of 1e3, 1e-11 at 1e6, 1e-10 at 1e9, 2e-9 at
    1e11, 2e-8 at 1e13, 8e-7 at 9e15. Evidences have an error of about 1e-16 times the log Bayes factor of the column.
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

    def statistics(self, x: np.ndarray, membership: np.ndarray) -> RateCounts:
        counts, observed = np.nan_to_num(x), ~np.isnan(x)
        pooled = counts.sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
        log_density = np.where(observed, self._cells(counts, lambda values: log_poisson(values, pooled)), 0.0)
        sums = class_sums(counts, membership), class_sums(log_density, membership)
        return _from_common_rate(observed_weight(x, membership), *sums, pooled)

    def device_statistics(self, x: Any, codes: Any, membership: Any) -> RateCounts:
        observed = ~jnp.isnan(x)
        counts = jnp.where(observed, x, 0.0)
        pooled = counts.sum(axis=0, keepdims=True) / jnp.maximum(observed.sum(axis=0, keepdims=True), 1)
        log_density = jnp.where(observed, log_poisson(counts, pooled), 0.0)
        n = membership.T @ observed.astype(x.dtype)
        return _from_common_rate(n, membership.T @ counts, membership.T @ log_density, pooled)

    def possible(self, statistics: Counts) -> Any:
        return (statistics.n >= 0) & (statistics.total >= 0) & ((statistics.n > 0) | (statistics.total == 0))

    def on_scale_of(self, pooled: Counts) -> Self:
        if self.rate is not None:
            return self
        mean = pooled.total / np.maximum(pooled.n, np.finfo(np.float64).tiny)
        return replace(self, rate=self.concentration / np.where(mean > 0, mean, 1.0))

    def log_likelihood(self, parameters: Parameters, statistics: RateCounts) -> Any:
        return statistics.at(parameters["rate"])

    def maximum_likelihood(self, statistics: Counts) -> dict[str, Any]:
        with np.errstate(invalid="ignore"):
            return {"rate": statistics.total / statistics.n}

    def update(self, statistics: Counts) -> Self:
        return replace(self, concentration=self.concentration + statistics.total, rate=self.rate + statistics.n)

    def predictive(self) -> dist.Distribution:
        return dist.GammaPoisson(self.concentration, self.rate)

    def log_evidence(self, statistics: RateCounts) -> Any:
        r"""Log density of the cells, the rate integrated out.

        By Bayes' theorem it is the likelihood times the prior density over the posterior density, for every rate. At
        the posterior mean, both gamma densities are near their modes if the prior agrees with the data.
        """
        posterior = self.update(statistics)
        rate = posterior.concentration / posterior.rate
        prior = _log_gamma_density(rate, self.concentration, self.rate)
        return (
            statistics.log_base
            + statistics.at(rate)
            + (prior - _log_gamma_density(rate, posterior.concentration, posterior.rate))
        )

    def mean(self) -> dict[str, Any]:
        return {"rate": self.concentration / self.rate}

    def mode(self) -> dict[str, Any]:
        return {"rate": np.where(self.concentration >= 1, (self.concentration - 1) / self.rate, np.nan)}

    def mutual_information(self, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
        rate = np.asarray(parameters["rate"])
        class_prob = np.broadcast_to(class_prob, rate.shape)
        highest = (rate + 9 * np.sqrt(rate) + 30).max(axis=(0, 1))
        result = np.empty((len(rate), rate.shape[2]))
        # Only columns of large counts need a long sum.
        magnitude = np.ceil(np.log2(highest))
        for power in np.unique(magnitude):
            together = magnitude == power
            at = class_prob[:, :, together], rate[:, :, together]
            result[:, together] = _information_of_counts(*at, float(highest[together].max()))
        return result

    def row_log_likelihood(self, parameters: Parameters, x: np.ndarray) -> Any:
        rate = np.asarray(parameters["rate"])
        observed = ~np.isnan(x)
        counts = np.where(observed, x, 0.0)
        if counts.max(initial=0.0) > LARGEST_PRODUCT:
            flat = rate.reshape(-1, rate.shape[-1])
            sums = [(observed * self._cells(counts, partial(log_poisson, rate=one))).sum(axis=-1) for one in flat]
            return np.swapaxes(np.reshape(sums, (*rate.shape[:-1], len(x))), -1, -2)
        with np.errstate(divide="ignore"):
            sums = log_weights(counts, np.log(rate)) - log_weights(observed.astype(np.float64), rate)
        return np.swapaxes(sums - gammaln(counts + 1.0).sum(axis=-1), -1, -2)

    def row_log_predictive(self, x: np.ndarray) -> Any:
        classes = range(np.shape(self.rate)[0])
        return np.stack([self._log_predictive_in_class(c, x).sum(axis=-1) for c in classes], axis=1)

    def cell_log_predictive(self, x: np.ndarray) -> np.ndarray:
        classes = range(np.shape(self.rate)[0])
        return np.stack([self._log_predictive_in_class(c, x) for c in classes], axis=1)

    def _log_predictive_in_class(self, c: int, x: np.ndarray) -> np.ndarray:
        """Log predictive density of each cell in the class at position c, shape (rows, columns)."""
        observed = ~np.isnan(x)
        counts = np.where(observed, x, 0.0)
        log_density = partial(log_negative_binomial, concentration=self.concentration[c], rate=self.rate[c])
        return np.where(observed, self._cells(counts, log_density), 0.0)

    def _cells(self, counts: np.ndarray, log_density: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Log density of every count, shape (rows, columns); of small counts looked up in a table."""
        highest = counts.max(initial=0.0)
        if highest <= min(LARGEST_TABLE, len(counts) / 2) and not self.fractional:
            table = log_density(np.arange(highest + 1)[:, None])
            return table.ravel().take(counts.astype(np.intp) * counts.shape[1] + np.arange(counts.shape[1]))
        return np.concatenate([log_density(counts[rows]) for rows in row_pieces(*counts.shape)])

    def row_log_left_out(self, x: np.ndarray, codes: np.ndarray, statistics: RateCounts) -> np.ndarray | None:
        result = np.empty(len(x))
        for rows in row_pieces(*x.shape):
            at = codes[rows]
            observed = ~np.isnan(x[rows])
            counts = np.where(observed, x[rows], 0.0)
            n, total = statistics.n[at] - observed, statistics.total[at] - counts
            if not np.asarray(self.possible(replace(statistics, n=n, total=total))).all():
                return None
            cells = log_negative_binomial(counts, self.concentration[at] + total, self.rate[at] + n)
            result[rows] = np.where(observed, cells, 0.0).sum(axis=-1)
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
        return _device_sums(x, lambda counts: log_poisson(counts, parameters["rate"]))

    def device_log_predictive(self, x: Any) -> Any:
        return _device_sums(x, lambda counts: log_negative_binomial(counts, self.concentration, self.rate))

    def story(self) -> tuple[str, list[str]]:
        return "Poisson(rate)", [f"rate ~ Gamma({format_number(self.concentration)}, {format_number(self.rate)})"]

    def from_older_statistics(self, kind: str, statistics: Counts) -> RateCounts:
        return rate_counts(statistics) if kind == "Counts" else super().from_older_statistics(kind, statistics)

    def power_scaled(self, statistics: Counts, power: float) -> dict[str, Any]:
        posterior = self.update(statistics)
        return {
            "concentration": posterior.concentration + (power - 1) * (self.concentration - 1),
            "rate": posterior.rate + (power - 1) * self.rate,
        }


def _refitted(
    prior: Poisson,
    whole: Poisson,
    statistics: Counts,
    x: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray,
    held: np.ndarray,
) -> np.ndarray:
    """As `Poisson.row_log_refitted`, given the prior with a default rate, and with the rate of all rows."""
    missing = np.isnan(x)
    counts, weight = np.where(missing, 0.0, x), np.where(missing, 0.0, weights[:, None])
    # Posteriors do not need log_base.
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
    density = np.where(missing, 0.0, log_negative_binomial(counts, own.concentration, own.rate)).sum(axis=-1)
    result[np.arange(len(x)), codes] = np.where(possible.all(axis=-1), density, np.nan)
    return result


def rate_counts(counts: Counts) -> RateCounts:
    """Statistics from counts whose ``log_base`` is the sum of -log x!, as files of format 1 hold them."""
    mean = counts.total / np.where(counts.n == 0, 1.0, counts.n)
    return RateCounts(counts.n, counts.total, counts.log_base + xlogy(counts.total, mean) - counts.total)


def _from_common_rate(n: Any, total: Any, log_density: Any, rate: Any) -> RateCounts:
    """Statistics of cells whose log density at one rate for all classes is known."""
    counted = RateCounts(n, total, log_density)
    return replace(counted, log_base=log_density - counted.at(rate))


def _log_gamma_density(x: Any, a: Any, b: Any) -> Any:
    """Log of the gamma density; its largest terms are differences from the mean a / b."""
    xp, _ = namespace(x, a, b)
    excess = b * x - a
    return a * log_ratio(excess, a, b * x) - excess - xp.log(x) + 0.5 * (xp.log(a) - LOG_2_PI) - stirling_rest(a)


def _information_of_counts(class_prob: np.ndarray, rate: np.ndarray, highest: float) -> np.ndarray:
    """Mutual information of counts up to `highest`, shape (draws, columns)."""

    def density(x: np.ndarray, rate: np.ndarray, _: np.ndarray | None = None) -> np.ndarray:
        return np.exp(log_poisson(x, rate))

    counts = np.arange(min(int(highest) + 1, COUNTED), dtype=np.float64)
    log_factorial = gammaln(counts + 1)
    total = np.empty((len(rate), rate.shape[2]))
    step = max(1, PIECE_CELLS // (rate.shape[1] * rate.shape[2] * len(counts)))
    for start in range(0, len(rate), step):
        piece = slice(start, start + step)
        cells = np.exp(xlogy(counts, rate[piece, ..., None]) - rate[piece, ..., None] - log_factorial)
        total[piece] = divergence(class_prob[piece], cells)
    if highest >= COUNTED:
        edge = COUNTED - 0.5
        total += integrated(class_prob, rate, np.sqrt(np.maximum(rate, 1.0)), edge, density)
        # Euler-Maclaurin: a sum from a on is the integral from a - 1/2 on, and a 24th of the slope there.
        ends = density(np.array([COUNTED - 1.0, COUNTED]), rate[..., None])
        total += divergence(class_prob, ends, np.array([-1.0, 1.0]) / 24)
    return total


def _device_sums(x: Any, log_density: Callable[[Any], Any]) -> Any:
    """Sum over observed cells of a log density, in float64, shape (rows, classes)."""
    observed = ~jnp.isnan(x)
    counts = jnp.where(observed, x.astype(jnp.float64), 0.0)
    return jnp.where(observed[:, None, :], log_density(counts[:, None, :]), 0.0).sum(axis=-1)
