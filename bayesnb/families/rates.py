"""Families of a rate with a gamma prior: Poisson counts and exponential waiting times."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import jax
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.core.arrays import log_rising, namespace, row_pieces
from bayesnb.families.base import Hyperparameter, Parameters, Sample
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.counts import log_factorial, log_negative_binomial
from bayesnb.families.exponential import ExponentialFamily
from bayesnb.families.hyperparameters import format_number
from bayesnb.families.look_up import ROWS_AN_ENTRY, CountTable
from bayesnb.families.statistics import Counts, safe_ratio

__all__ = [
    "Exponential",
    "Poisson",
]

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

    def log_evidence(self, statistics: Counts) -> Any:
        a, b, after = self.concentration, self.rate, self.update(statistics)
        xp, _ = namespace(b, after.rate)
        of_gamma = log_rising(a, after.concentration - a)
        return statistics.log_base + of_gamma + a * xp.log(b) - after.concentration * xp.log(after.rate)

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
    Numerical domain: counts up to 1e9. A log density has an error of about 2e-12 at counts of 1e3, 2e-9 at 1e6 and
    2e-6 at 1e9, and an evidence one of 2e-16 times the sum of the column's counts times its logarithm. Larger counts
    give a warning, and counts above 2**53, of which float64 does not hold every one, an error.

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

    def terms(self, x: Any) -> tuple[Any]:
        return (x,)

    def natural(self, parameters: Parameters) -> tuple[tuple[Any], Any]:
        rate = parameters["rate"]
        return (namespace(rate)[0].log(rate),), rate

    def log_base(self, x: Any) -> Any:
        return -log_factorial(x)

    def on_scale_of(self, pooled: Counts) -> Self:
        if self.rate is not None:
            return self
        mean = pooled.total / np.maximum(pooled.n, TINY)
        return replace(self, rate=self.concentration / np.where(mean > 0, mean, 1.0))

    def maximum_likelihood(self, statistics: Counts) -> dict[str, Any]:
        with np.errstate(invalid="ignore"):
            return {"rate": statistics.total / statistics.n}

    def update(self, statistics: Counts) -> Self:
        return replace(self, concentration=self.concentration + statistics.total, rate=self.rate + statistics.n)

    def cell_log_predictive(self, x: Any) -> Any:
        return log_negative_binomial(x, self.concentration, self.rate)

    def row_log_left_out(self, x: np.ndarray, codes: np.ndarray, statistics: Counts) -> np.ndarray:
        return left_out(self, x, codes, statistics)

    def row_log_refitted(
        self, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Counts, held: np.ndarray
    ) -> np.ndarray:
        return refitted(self, x, codes, weights, statistics, held)

    def story(self) -> tuple[str, list[str]]:
        return "Poisson(rate)", self.prior_story()


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
