"""Families of a rate with a gamma prior: Poisson counts and exponential waiting times."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import jax
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints
from scipy.special import xlogy

from bayesnb.core.arrays import namespace, row_pieces
from bayesnb.families.base import Hyperparameter, Parameters, Sample
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.exponential import ExponentialFamily
from bayesnb.families.hyperparameters import format_number
from bayesnb.families.information import of_poisson_counts
from bayesnb.families.large_counts import (
    ROWS_AN_ENTRY,
    CountTable,
    log_density_of_cells,
    log_gamma,
    log_negative_binomial,
    log_poisson,
    log_ratio,
)
from bayesnb.families.statistics import Counts, class_sums, observed_weight, safe_ratio

__all__ = ["Exponential", "Poisson", "RateCounts", "rate_counts"]

# --------------------------------------------------------------------------------------------------
# Sufficient statistics of Poisson cells, which keep the digits of an evidence of large counts
# --------------------------------------------------------------------------------------------------


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
        # Rounding may leave a small negative number.
        some = (rest.n > 0) & (rest.total > 0)
        left = replace(rest, n=rest.n * (rest.n > 0), total=rest.total * some)
        return replace(rest, log_base=rest.log_base - left.at(self.mean) - other.at(self.mean))

    def pooled(self) -> Self:
        whole = super().pooled()
        return replace(whole, log_base=whole.log_base + self.at(whole.mean).sum(axis=0, keepdims=True))


def rate_counts(counts: Counts) -> RateCounts:
    """Statistics from counts whose ``log_base`` is the sum of -log x!, as files of format 1 hold them."""
    mean = counts.total / np.where(counts.n == 0, 1.0, counts.n)
    return RateCounts(counts.n, counts.total, counts.log_base + xlogy(counts.total, mean) - counts.total)


def count_with_rates(x: Any, membership: Any, log_density: Callable[[Any, Any], Any]) -> RateCounts:
    """Statistics of cells (rows, columns), given the weight of each row in each class (rows, classes).

    Parameters
    ----------
    x : array, shape (rows, columns)
        Missing cells are NaN.
    membership : array, shape (rows, classes)
    log_density : callable
        Log density of counts (rows, columns) under rates (columns,).
    """
    xp, _ = namespace(x)
    observed = ~xp.isnan(x)
    counts = xp.where(observed, x, 0.0)
    rate = counts.sum(axis=0) / xp.maximum(observed.sum(axis=0), 1)
    of_cells = xp.where(observed, log_density(counts, rate), 0.0)
    at_rate = class_sums(of_cells, membership)
    counted = RateCounts(observed_weight(x, membership), class_sums(counts, membership), at_rate)
    return replace(counted, log_base=at_rate - counted.at(rate))


# --------------------------------------------------------------------------------------------------
# Poisson rows predicted from the other rows
# --------------------------------------------------------------------------------------------------


def left_out(prior: Any, x: np.ndarray, codes: np.ndarray, statistics: Counts) -> np.ndarray:
    """As `ConjugateFamily.row_log_left_out`."""
    own = partial(WithoutCell.of(prior, statistics).own, weights=1.0)
    return _table(x, len(statistics.n)).sums_of_own_class(own, codes, len(statistics.n))


def refitted(
    prior: Any, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Counts, held: np.ndarray
) -> np.ndarray:
    """As `ConjugateFamily.row_log_refitted`: without a row, only the default rate and the row's own class change."""
    without, num_classes = WithoutCell.of(prior, statistics), held.shape[1]
    if (weights == 1.0).all():
        table = _table(x, num_classes)
        result = held + table.sums(partial(without.change, weights=1.0), num_classes)
        own = table.sums_of_own_class(partial(without.own, weights=1.0), codes, num_classes)
        result[np.arange(len(x)), codes] = own
        return result
    result = held.copy()
    columns = np.arange(x.shape[1])
    for rows in row_pieces(*x.shape):
        observed, of_rows = ~np.isnan(x[rows]), np.arange(len(x))[rows]
        counts, weight = np.where(observed, x[rows], 0.0), np.where(observed, weights[rows, None], 0.0)
        for c in range(num_classes):
            change = without.change(c, columns, counts, weight)
            result[rows, c] += np.where(observed, change, 0.0).sum(axis=-1)
        own = without.own(codes[rows, None], columns, counts, weight)
        result[of_rows, codes[rows]] = np.where(observed, own, 0.0).sum(axis=-1)
    return result


def _table(x: np.ndarray, num_classes: int) -> CountTable:
    return CountTable.of(x, len(x) // (ROWS_AN_ENTRY * num_classes))


@dataclass(frozen=True)
class WithoutCell:
    """Densities of a cell given the other cells of its column.

    Attributes
    ----------
    prior : Poisson
        Its rate may be None, which is the default that follows the data.
    whole : Poisson
        The prior with the rate that follows from all cells.
    statistics, pooled : Counts, shapes (classes, columns) and (1, columns)
        Of all cells, by class and together. Posteriors do not need their ``log_base``, which is zero.
    """

    prior: Any
    whole: Any
    statistics: Counts
    pooled: Counts

    @classmethod
    def of(cls, prior: Any, statistics: Counts) -> "WithoutCell":
        """The prior and the statistics of all cells."""
        plain = Counts(statistics.n, statistics.total, np.zeros_like(statistics.n))
        return cls(prior, prior.on_scale_of(statistics.pooled()), plain, plain.pooled())

    def own(self, codes: Any, columns: Any, counts: Any, weights: Any) -> np.ndarray:
        """Log density of counts in their own class; NaN for a count that cannot be in the class.

        The classes, columns, counts and weights broadcast.
        """
        of_class = _rest(self.statistics, codes, columns, counts, weights)
        possible = self.prior.possible(of_class)
        rest = Counts(*(np.where(possible, leaf, 0.0) for leaf in (of_class.n, of_class.total, of_class.log_base)))
        scale = _rest(self.pooled, 0, columns, counts, weights)
        posterior = self.prior.take((codes, columns)).on_scale_of(scale).update(rest)
        density = log_negative_binomial(counts, posterior.concentration, posterior.rate)
        return np.where(possible, density, np.nan)

    def change(self, codes: Any, columns: Any, counts: Any, weights: Any) -> np.ndarray:
        """What a count's log density in other classes gains when the default rate follows the other cells only.

        The shape a of the posterior is the same without the cell, and its rate is b + change.
        """
        scale = _rest(self.pooled, 0, columns, counts, weights)
        a = self.prior.concentration[codes, columns] + self.statistics.total[codes, columns]
        b = self.whole.rate[codes, columns] + self.statistics.n[codes, columns]
        change = self.prior.take((codes, columns)).on_scale_of(scale).rate - self.whole.rate[codes, columns]
        return -counts * np.log1p(change / (1 + b)) - a * np.log1p(-change / ((b + change) * (1 + b)))


def _rest(statistics: Counts, codes: Any, columns: Any, counts: Any, weights: Any) -> Counts:
    """The statistics of a class and column without a count."""
    n, total, counts, weights = np.broadcast_arrays(
        statistics.n[codes, columns], statistics.total[codes, columns], counts, weights
    )
    before, zero = Counts(n, total, np.zeros(n.shape)), np.zeros(n.shape)
    return (before - Counts(weights, weights * counts, zero)).without_rounding(before)


# --------------------------------------------------------------------------------------------------
# What families of a rate share: a gamma prior on it
# --------------------------------------------------------------------------------------------------


class RateFamily(ExponentialFamily, ConjugateFamily):
    r"""Cells from zero on whose density has a rate, with the prior :math:`\mathrm{Gamma}(a, b)` of rate b.

    A subclass has the fields `concentration` and `rate`, a and b.
    """

    concentration: Hyperparameter
    rate: Hyperparameter

    positive: ClassVar[tuple[str, ...]] = ("concentration", "rate")
    flat_prior: ClassVar[dict[str, float]] = {"concentration": 1.0, "rate": 0.0}

    def prior(self, sample: Sample) -> dict[str, Any]:
        return {"rate": sample("rate", dist.Gamma(self.concentration, self.rate))}

    def possible(self, statistics: Counts) -> Any:
        return (statistics.n >= 0) & (statistics.total >= 0) & ((statistics.n > 0) | (statistics.total == 0))

    def mean(self) -> dict[str, Any]:
        return {"rate": self.concentration / self.rate}

    def mode(self) -> dict[str, Any]:
        return {"rate": np.where(self.concentration >= 1, (self.concentration - 1) / self.rate, np.nan)}

    def prior_story(self) -> list[str]:
        """The prior, as the model's repr shows it."""
        return [f"rate ~ Gamma({format_number(self.concentration)}, {format_number(self.rate)})"]


# --------------------------------------------------------------------------------------------------
# Counts with a gamma prior on their rate
# --------------------------------------------------------------------------------------------------

TINY = float(np.finfo(np.float64).tiny)

LARGEST_PRODUCT = 2.0**20
"""Counts up to this are multiplied with log(rate) itself, which leaves an error of 1e-9."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Poisson(RateFamily):
    r"""Columns of counts; :math:`\lambda_{cj} \sim \mathrm{Gamma}(a, b)` with rate b.

    With N observed cells of sum S, the posterior is :math:`\mathrm{Gamma}(a + S,\, b + N)` and the predictive negative
    binomial: Gelman et al. (2013), *Bayesian Data Analysis*, 3rd edition, section 2.6.

    Parameters
    ----------
    concentration : float or array, default 1.0
        Shape of the gamma prior; broadcasts to (columns,) or (classes, columns).
    rate : float or array, optional
        Rate of the gamma prior. By default `concentration` over the column's mean, so that the prior's mean is the mean
        of the data in any unit.
    fractional : bool, default False
        Accept numbers that are not counts. The formulas then have gamma functions in place of factorials, and the
        result is not a probability of the data.

    Raises
    ------
    ValueError
        If a hyperparameter is not positive and finite.

    See Also
    --------
    NegativeBinomial : Counts with more spread than a Poisson distribution.
    Hurdle : Many zeros, and another family for the rest.
    Multinomial : Count vectors.

    Notes
    -----
    Numerical domain: counts up to 2**53, above which float64 does not hold every whole number; larger ones are errors.
    Log densities are taken in the saddle-point form of Loader (2000), *Fast and accurate computation of binomial
    probabilities*, whose error is about 1e-16 times the distance between a count and its mean. Measured against 60
    digits, up to 30 standard deviations from the mean: 2e-13 at counts of 1e3, 1e-11 at 1e6, 1e-10 at 1e9, 2e-9 at
    1e11, 2e-8 at 1e13, 8e-7 at 9e15. Evidences have an error of about 1e-16 times the log Bayes factor of the column.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.Poisson(), [[3], [0], [4], [9], [7], [12]], ["a"] * 3 + ["b"] * 3)
    >>> posterior.predict_proba([[2], [8], [None]]).round(2)
    array([[0.96, 0.04],
           [0.06, 0.94],
           [0.5 , 0.5 ]])
    """

    concentration: Hyperparameter = 1.0
    rate: Hyperparameter = None
    fractional: bool = field(default=False, metadata={"static": True})

    support: ClassVar[Any] = constraints.nonnegative_integer
    holds: ClassVar[str] = "a count 0, 1, 2, ..."
    hint: ClassVar[str] = "use nb.Gaussian() for measurements"

    def likelihood(self, rate: Any) -> dist.Distribution:
        return dist.Poisson(rate)

    def terms(self, x: Any, origin: Any) -> tuple[Any]:
        return (x,)

    def natural(self, parameters: Parameters, origin: Any) -> tuple[tuple[Any], Any]:
        # With the origin near the rate, large counts multiply a small number.
        rate = parameters["rate"]
        excess = rate - origin
        return (log_ratio(excess, namespace(rate)[0].maximum(origin, TINY), rate),), excess

    def log_base(self, x: Any, origin: Any) -> Any:
        return log_density_of_cells(log_poisson, x, origin, are_counts=not self.fractional)

    def origin(self, parameters: Parameters) -> Any:
        return parameters["rate"]

    def common_origin(self, x: np.ndarray) -> float | None:
        return None if np.nanmax(x, initial=0.0) > LARGEST_PRODUCT else 1.0

    def statistics(self, x: Any, membership: Any) -> RateCounts:
        return count_with_rates(x, membership, self.log_base)

    def on_scale_of(self, pooled: Counts) -> Self:
        if self.rate is not None:
            return self
        mean = pooled.total / np.maximum(pooled.n, TINY)
        return replace(self, rate=self.concentration / np.where(mean > 0, mean, 1.0))

    def log_likelihood(self, parameters: Parameters, statistics: RateCounts) -> Any:
        return statistics.at(parameters["rate"])

    def maximum_likelihood(self, statistics: Counts) -> dict[str, Any]:
        with np.errstate(invalid="ignore"):
            return {"rate": statistics.total / statistics.n}

    def update(self, statistics: Counts) -> Self:
        return replace(self, concentration=self.concentration + statistics.total, rate=self.rate + statistics.n)

    def log_evidence(self, statistics: RateCounts) -> Any:
        r"""Log density of the cells, the rate integrated out.

        By Bayes' theorem it is the likelihood times the prior density over the posterior density, for every rate. At
        the posterior mean, both gamma densities are near their modes if the prior agrees with the data.
        """
        posterior = self.update(statistics)
        a, b = posterior.concentration, posterior.rate
        ratio = log_gamma(a / b, self.concentration, self.rate) - log_gamma(a / b, a, b)
        return statistics.log_base + statistics.at(a / b) + ratio

    def cell_log_predictive(self, x: Any) -> Any:
        return log_negative_binomial(x, self.concentration, self.rate)

    def mutual_information(self, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
        return of_poisson_counts(class_prob, np.asarray(parameters["rate"]))

    def row_log_left_out(self, x: np.ndarray, codes: np.ndarray, statistics: RateCounts) -> np.ndarray:
        return left_out(self, x, codes, statistics)

    def row_log_refitted(
        self, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Counts, held: np.ndarray
    ) -> np.ndarray:
        return refitted(self, x, codes, weights, statistics, held)

    def story(self) -> tuple[str, list[str]]:
        return "Poisson(rate)", self.prior_story()

    def from_older_statistics(self, kind: str, statistics: Counts) -> RateCounts:
        return rate_counts(statistics) if kind == "Counts" else super().from_older_statistics(kind, statistics)


# --------------------------------------------------------------------------------------------------
# Waiting times with a gamma prior on their rate
# --------------------------------------------------------------------------------------------------

LEFT = 1e-6
"""Share of a sum that is left without one cell, below which the difference has lost too many digits."""


class _Exponential(dist.Exponential):
    """NumPyro's distribution, whose support leaves out zero, at which it has a density."""

    support = constraints.nonnegative


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Exponential(RateFamily):
    r"""Columns of waiting times, from zero on; :math:`\lambda_{cj} \sim \mathrm{Gamma}(a, b)` with rate b.

    With N observed cells of sum S, the posterior is :math:`\mathrm{Gamma}(a + N,\, b + S)`. The predictive density is a
    Lomax density (a Pareto density shifted to zero) of shape a and scale b: Gelman et al. (2013), *Bayesian Data
    Analysis*, 3rd edition, section 2.6; Fink (1997), *A Compendium of Conjugate Priors*.

    Parameters
    ----------
    concentration : float or array, default 1.0
        Shape of the gamma prior, in observations; broadcasts to (columns,) or (classes, columns).
    rate : float or array, optional
        Rate of the gamma prior, a sum of waiting times, in the unit of the column. By default `concentration` times the
        column's mean: the prior's mean rate is then one over the mean of the data, and a change of the column's unit
        changes no prediction. A column of zeros counts as one of mean 1.

    Raises
    ------
    ValueError
        If a hyperparameter is not positive and finite.

    See Also
    --------
    Gamma : Positive numbers, without a closed form.
    LogNormal : Positive numbers whose logarithms are normal.

    Notes
    -----
    Numerical domain: cells of any unit, zeros among them. Measured against 60 digits, with concentrations from 1e-6 to
    1e12, rates from 1e-200 to 1e200 and cells up to 1e4 times the mean: a log predictive density d has an error of
    2e-15 max(1, abs(d)). The evidence of up to 1e12 cells has an error of 2e-13 for each cell.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[0.2], [0.3], [4.0], [7.0]], ["a", "a", "b", "b"]
    >>> posterior = nb.fit(nb.NaiveBayes(nb.Exponential()), X, y)
    >>> posterior.predict_proba([[0.4], [9.0]]).round(3)
    array([[0.746, 0.254],
           [0.144, 0.856]])
    """

    concentration: Hyperparameter = 1.0
    rate: Hyperparameter = None

    support: ClassVar[Any] = constraints.nonnegative
    holds: ClassVar[str] = "a number from zero on"
    hint: ClassVar[str] = "mark the cell as missing (NaN), or use nb.Gaussian() for numbers of either sign"
    why_no_maximum_likelihood: ClassVar[str] = "no observed cell above zero"

    def likelihood(self, rate: Any) -> dist.Distribution:
        return _Exponential(rate)

    def terms(self, x: Any) -> tuple[Any]:
        return (x,)

    def natural(self, parameters: Parameters) -> tuple[tuple[Any], Any]:
        rate = parameters["rate"]
        return (-rate,), -namespace(rate)[0].log(rate)

    def on_scale_of(self, pooled: Counts) -> Self:
        if self.rate is not None:
            return self
        mean = safe_ratio(pooled.total, pooled.n)
        return replace(self, rate=self.concentration * np.where(mean > 0, mean, 1.0))

    def maximum_likelihood(self, statistics: Counts) -> dict[str, Any]:
        with np.errstate(invalid="ignore", divide="ignore"):
            return {"rate": np.where(statistics.total > 0, statistics.n / statistics.total, np.nan)}

    def update(self, statistics: Counts) -> Self:
        return replace(self, concentration=self.concentration + statistics.n, rate=self.rate + statistics.total)

    def log_evidence(self, statistics: Counts) -> Any:
        # Bayes' theorem at the posterior mean, where both gamma densities are near their modes if the prior agrees with
        # the data.
        posterior = self.update(statistics)
        a, b = posterior.concentration, posterior.rate
        rate = a / b
        likelihood = statistics.n * namespace(rate)[0].log(rate) - statistics.total * rate
        return likelihood + log_gamma(rate, self.concentration, self.rate) - log_gamma(rate, a, b)

    def cell_log_predictive(self, x: Any) -> Any:
        xp, _ = namespace(x, self.rate)
        return xp.log(self.concentration) - xp.log(self.rate) - (self.concentration + 1) * xp.log1p(x / self.rate)

    def row_log_refitted(
        self, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Counts, held: np.ndarray
    ) -> np.ndarray:
        if self.rate is not None:
            return np.full(held.shape, np.nan)
        found = np.empty(held.shape)
        pooled = statistics.pooled()
        for rows in row_pieces(len(x), x.shape[1] * held.shape[1]):
            observed = ~np.isnan(x[rows])[:, None, :]
            cells = np.where(observed, x[rows][:, None, :], 0.0)
            weight = observed * weights[rows, None, None]
            own = weight * (codes[rows, None] == np.arange(held.shape[1]))[..., None]
            others, rest = pooled.n - weight, pooled.total - weight * cells
            # The general way handles rows after which only a rounding error, or nothing, is left.
            n, total = statistics.n - own, statistics.total - own * cells
            clear = (others > 0) & (rest > LEFT * pooled.total) & (n >= 0) & (total >= -LEFT * statistics.total)
            a = self.concentration + n
            with np.errstate(divide="ignore", invalid="ignore"):
                b = self.concentration * rest / others + total
                densities = np.log(a) - np.log(b) - (a + 1) * np.log1p(cells / b)
            found[rows] = np.where(observed, np.where(clear, densities, np.nan), 0.0).sum(axis=-1)
        return found

    def story(self) -> tuple[str, list[str]]:
        return "Exponential(rate)", self.prior_story()
