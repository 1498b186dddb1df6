"""Families of a rate with a gamma prior: Poisson counts and exponential waiting times."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import jax
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.core.arrays import log_factorial, log_rising, namespace, row_pieces
from bayesnb.families.base import LIKELIEST, Family, Hyperparameter, Parameters, Sample
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.distributions import log_negative_binomial
from bayesnb.families.exponential import ExponentialFamily
from bayesnb.families.statistics import Counts, safe_ratio

# --------------------------------------------------------------------------------------------------
# What families of a rate share: a gamma prior on it
# --------------------------------------------------------------------------------------------------


class _RateFamily(ExponentialFamily, ConjugateFamily):
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

    def maximum_a_posteriori(self, statistics: Counts) -> dict[str, Any]:
        after = self.update(statistics)
        return {"rate": np.where(after.concentration >= 1, (after.concentration - 1) / after.rate, np.nan)}


# --------------------------------------------------------------------------------------------------
# Counts with a gamma prior on their rate
# --------------------------------------------------------------------------------------------------

TINY = float(np.finfo(np.float64).tiny)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Poisson(_RateFamily):
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
    _story: ClassVar[tuple[str, ...]] = ("Poisson(rate)", "rate ~ Gamma({concentration}, {rate})")

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
class Exponential(_RateFamily):
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
    why_no_estimate: ClassVar[dict[str, str]] = Family.why_no_estimate | {
        LIKELIEST: "no observed cell above zero",
    }
    _story: ClassVar[tuple[str, ...]] = ("Exponential(rate)", "rate ~ Gamma({concentration}, {rate})")

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

    def row_log_left_out(
        self, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Counts, *, refitted: bool
    ) -> np.ndarray | None:
        if not refitted or self.rate is not None:
            return None
        shape = len(x), len(statistics.n)
        found = np.empty(shape)
        pooled = statistics.pooled()
        for rows in row_pieces(len(x), x.shape[1] * shape[1]):
            observed = ~np.isnan(x[rows])[:, None, :]
            cells = np.where(observed, x[rows][:, None, :], 0.0)
            weight = observed * weights[rows, None, None]
            own = weight * (codes[rows, None] == np.arange(shape[1]))[..., None]
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
