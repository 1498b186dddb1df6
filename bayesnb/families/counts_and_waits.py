"""Counts and waiting times: of a rate with a gamma prior, or of a probability of success with a beta prior."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.core.cells import LARGEST_COUNT
from bayesnb.core.deferred import dist, namespace, pytree
from bayesnb.core.logarithms import (
    log_and_log_rest,
    log_beta_ratio,
    log_choose,
    log_factorial,
    log_negative_binomial,
    log_rising,
)
from bayesnb.families.categories import BETA_PRIOR, BetaFamily
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.exponential import ExponentialFamily
from bayesnb.families.family import LIKELIEST, Family, Hyperparameter, Parameters, Sample, distributions
from bayesnb.families.hyperparameters import NONNEGATIVE, NONNEGATIVE_INTEGER, Support, with_defaults
from bayesnb.families.statistics import Counts, safe_ratio
from bayesnb.families.two_parameters import LearnedNegativeBinomial
from bayesnb.serve.scorer import RisingFactorials, StudentT

# --------------------------------------------------------------------------------------------------
# What families of a rate share: a gamma prior on it
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _RateFamily(ExponentialFamily, ConjugateFamily):
    r"""Cells from zero on whose density has a rate, with the prior :math:`\mathrm{Gamma}(a, b)` of rate b.

    With N events in the time S the posterior is :math:`\mathrm{Gamma}(a + N,\, b + S)`. The fields `concentration` and
    `rate` are a and b. A subclass states `events` besides its density.
    """

    concentration: Hyperparameter = 1.0
    rate: Hyperparameter = None

    positive: ClassVar[tuple[str, ...]] = ("concentration", "rate")
    flat_prior: ClassVar[dict[str, float]] = {"concentration": 1.0, "rate": 0.0}

    @abstractmethod
    def events(self, statistics: Counts) -> tuple[Any, Any]:
        """Number of the events behind statistics, and the time that they took, shape (..., classes, columns)."""

    def prior(self, sample: Sample) -> dict[str, Any]:
        return {"rate": sample("rate", dist.Gamma(self.concentration, self.rate))}

    def terms(self, x: Any) -> tuple[Any]:
        return (x,)

    def on_scale_of(self, pooled: Counts) -> Self:
        number, time = self.events(pooled)
        wait = safe_ratio(time, number)
        return with_defaults(self, rate=self.concentration * namespace(wait)[0].where(wait > 0, wait, 1.0))

    def update(self, statistics: Counts) -> Self:
        number, time = self.events(statistics)
        after: dict[str, Any] = {"concentration": self.concentration + number, "rate": self.rate + time}
        return replace(self, **after)

    def possible(self, statistics: Counts) -> Any:
        return (statistics.n >= 0) & (statistics.total >= 0) & ((statistics.n > 0) | (statistics.total == 0))

    def log_evidence(self, statistics: Counts) -> Any:
        a, b, after = self.concentration, self.rate, self.update(statistics)
        xp, _ = namespace(b, after.rate)
        of_gamma = log_rising(a, after.concentration - a)
        return statistics.log_base + of_gamma + a * xp.log(b) - after.concentration * xp.log(after.rate)

    def maximum_likelihood(self, statistics: Counts) -> dict[str, Any]:
        number, time = self.events(statistics)
        with np.errstate(invalid="ignore", divide="ignore"):
            return {"rate": np.where(time > 0, number / time, np.nan)}

    def maximum_a_posteriori(self, statistics: Counts) -> dict[str, Any]:
        after = self.update(statistics)
        return {"rate": np.where(after.concentration >= 1, (after.concentration - 1) / after.rate, np.nan)}


# --------------------------------------------------------------------------------------------------
# Counts with a gamma prior on their rate
# --------------------------------------------------------------------------------------------------


@pytree
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

    fractional: bool = field(default=False, metadata={"static": True})

    support = NONNEGATIVE_INTEGER
    holds: ClassVar[str] = "a count 0, 1, 2, ..."
    hint: ClassVar[str] = "use nb.Gaussian() for measurements"
    _story: ClassVar[tuple[str, ...]] = ("Poisson(rate)", "rate ~ Gamma({concentration}, {rate})")

    def likelihood(self, rate: Any) -> "dist.Distribution":
        return dist.Poisson(rate)

    def events(self, statistics: Counts) -> tuple[Any, Any]:
        return statistics.total, statistics.n

    def natural(self, parameters: Parameters) -> tuple[tuple[Any], Any]:
        rate = parameters["rate"]
        return (namespace(rate)[0].log(rate),), rate

    def log_base(self, x: Any) -> Any:
        return -log_factorial(x)

    def cell_log_predictive(self, x: Any) -> Any:
        return log_negative_binomial(x, self.concentration, self.rate)

    def scorer(self) -> RisingFactorials:
        constant = -self.concentration * np.log1p(1 / self.rate)
        return RisingFactorials.of(np.nan, self.concentration, np.log1p(self.rate), constant)


# --------------------------------------------------------------------------------------------------
# Waiting times with a gamma prior on their rate
# --------------------------------------------------------------------------------------------------


@pytree
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

    support = NONNEGATIVE
    holds: ClassVar[str] = "a number from zero on"
    hint: ClassVar[str] = "mark the cell as missing (NaN), or use nb.Gaussian() for numbers of either sign"
    why_no_estimate: ClassVar[dict[str, str]] = Family.why_no_estimate | {
        LIKELIEST: "no observed cell above zero",
    }
    _story: ClassVar[tuple[str, ...]] = ("Exponential(rate)", "rate ~ Gamma({concentration}, {rate})")

    def likelihood(self, rate: Any) -> "dist.Distribution":
        return distributions.ExponentialFromZero(rate)

    def events(self, statistics: Counts) -> tuple[Any, Any]:
        return statistics.n, statistics.total

    def natural(self, parameters: Parameters) -> tuple[tuple[Any], Any]:
        rate = parameters["rate"]
        return (-rate,), -namespace(rate)[0].log(rate)

    def cell_log_predictive(self, x: Any) -> Any:
        xp, _ = namespace(x, self.rate)
        return xp.log(self.concentration) - xp.log(self.rate) - (self.concentration + 1) * xp.log1p(x / self.rate)

    def scorer(self) -> StudentT:
        constant = np.log(self.concentration) - np.log(self.rate)
        found = StudentT.of(0.0 * self.rate, self.rate, -(self.concentration + 1), constant)
        return replace(found, is_linear=np.ones_like(found.is_linear))


# --------------------------------------------------------------------------------------------------
# What families of successes and failures share: a Beta prior on the probability of success, and a known `total_count`
# --------------------------------------------------------------------------------------------------


class _SuccessFamily(ExponentialFamily, BetaFamily):
    """Cells that count successes and failures of one probability, one of them up to a constant `total_count`.

    The constant is one number for all columns or one for each. Formulas take one number. Columns with different numbers
    therefore are different blocks of the model: `spread` gives each of them a family with its number.
    """

    total_count: Any

    whole: ClassVar[bool] = False
    """Whether the number has to be whole."""
    meaning: ClassVar[str] = "the number of successes"
    """What the number counts, for the error message."""
    why_no_estimate: ClassVar[dict[str, str]] = Family.why_no_estimate | {LIKELIEST: "no observed cell"}

    def possible(self, statistics: Counts) -> Any:
        successes, failures = self.trials(statistics)
        return (statistics.n >= 0) & (successes >= 0) & (failures >= 0) & ((statistics.n > 0) | (failures == 0))

    def log_evidence(self, statistics: Counts) -> Any:
        ratio = log_beta_ratio(*self.trials(statistics), self.concentration1, self.concentration0)
        return statistics.log_base + ratio

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "total_count", self._read(self.total_count))

    def _read(self, given: Any) -> Any:
        """A number, or a tuple of one number for each column, which JAX can compare and hash."""
        where = f"{type(self).__name__}(total_count={given!r})"
        wanted = f"give {self.meaning}, {'a whole number from 1 to 2**53' if self.whole else 'a positive number'}"
        listed = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
        numbers = list(given) if listed and np.ndim(given) == 1 else [given]
        for number in numbers:
            if not isinstance(number, int | float | np.integer | np.floating) or isinstance(number, bool):
                raise TypeError(f"{where}: {wanted}, or a list of one for each column")
            if not 0 < number < np.inf or (self.whole and (number > LARGEST_COUNT or number != np.rint(number))):
                raise ValueError(f"{where}: {number} is not allowed; {wanted}")
        kind = int if self.whole else float
        return tuple(map(kind, numbers)) if listed else kind(given)

    @property
    def by_column(self) -> bool:
        """Whether results name each column: each has a number of its own."""
        return isinstance(self.total_count, tuple)

    def spread(self, num_classes: int, names: tuple, sizes: tuple[int, ...]) -> list[tuple[Sequence[int], Self]]:
        """As `Family.spread`; columns with another `total_count` are another entry.

        Raises
        ------
        ValueError
            If `total_count` does not have one number for each column, or a hyperparameter has the wrong shape.
        """
        if not isinstance(self.total_count, tuple):
            return super().spread(num_classes, names, sizes)
        if len(self.total_count) != len(names):
            raise ValueError(
                f"{type(self).__name__}(total_count=...) has {len(self.total_count)} numbers for {len(names)} columns: "
                "give one number for all columns, or a list of one for each"
            )
        found: list[tuple[Sequence[int], Self]] = []
        for number in dict.fromkeys(self.total_count):
            columns = [j for j, other in enumerate(self.total_count) if other == number]
            constant: dict[str, Any] = {"total_count": number}
            ((_, family),) = replace(self, **constant).spread(num_classes, names, sizes)
            found.append((columns, family.take((slice(None), columns))))
        return found


# --------------------------------------------------------------------------------------------------
# Numbers of failures before the first success, with a Beta prior
# --------------------------------------------------------------------------------------------------


class _FailuresFamily(_SuccessFamily):
    r"""Cells that count the failures before success number r, `total_count`, in trials of one probability.

    With N observed cells of sum S, the posterior is :math:`\mathrm{Beta}(a + r N,\, b + S)`.
    """

    support = NONNEGATIVE_INTEGER

    def terms(self, x: Any) -> tuple[Any]:
        return (x,)

    def natural(self, parameters: Parameters) -> tuple[tuple[Any], Any]:
        log_success, log_failure = log_and_log_rest(parameters, "prob")
        return (log_failure,), -self.total_count * log_success

    def trials(self, statistics: Counts) -> tuple[Any, Any]:
        return self.total_count * statistics.n, statistics.total

    def cell_log_predictive(self, x: Any) -> Any:
        return self.log_base(x) + log_beta_ratio(self.total_count, x, self.concentration1, self.concentration0)

    def scorer(self) -> RisingFactorials:
        of_successes = log_rising(self.concentration1, self.total_count)
        both = self.concentration1 + self.concentration0
        return RisingFactorials.of(self.total_count, self.concentration0, both, of_successes)


@pytree
class Geometric(_FailuresFamily):
    r"""Columns of numbers of failures before the first success; :math:`\theta_{cj} \sim \mathrm{Beta}(a, b)`.

    .. math:: p(x \mid \theta) = \theta\, (1 - \theta)^x, \quad x = 0, 1, 2, \dots

    With N observed cells of sum S, the posterior is :math:`\mathrm{Beta}(a + N,\, b + S)` and the predictive
    :math:`B(a + 1,\, b + x) / B(a, b)`, a beta negative binomial distribution: Fink (1997), *A Compendium of Conjugate
    Priors*, with numbers of failures in place of numbers of trials.

    Parameters
    ----------
    concentration1, concentration0 : float or array, default 1.0
        Prior weight of a success, in observations, and of a failure; each broadcasts to (columns,) or (classes,
        columns). Both 1 is the uniform prior on the probability of success.

    Raises
    ------
    ValueError
        If a concentration is not positive and finite.

    See Also
    --------
    NegativeBinomial : Counts with more spread than a Poisson distribution.
    Poisson : Counts.

    Notes
    -----
    Cells count failures. Subtract one from a column of numbers of trials, which begins at 1.

    Numerical domain: counts up to 1e9. A log density has an error of about 2e-12 at counts of 1e3, 2e-9 at 1e6 and
    2e-6 at 1e9. Larger counts give a warning, and counts above 2**53, of which float64 does not hold every one, an
    error.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[0], [1], [0], [4], [7], [2]], ["often"] * 3 + ["seldom"] * 3
    >>> posterior = nb.fit(nb.Geometric(), X, y)
    >>> posterior.predict_proba([[0], [3], [None]]).round(3)
    array([[0.75 , 0.25 ],
           [0.253, 0.747],
           [0.5  , 0.5  ]])
    """

    concentration1: Hyperparameter = 1.0
    concentration0: Hyperparameter = 1.0

    total_count = 1.0
    holds: ClassVar[str] = "a number of failures 0, 1, 2, ..."
    hint: ClassVar[str] = "use nb.Exponential() for waiting times that are not whole, or mark the cell as missing (NaN)"
    _story: ClassVar[tuple[str, ...]] = ("Geometric(prob)", BETA_PRIOR)

    def likelihood(self, prob: Any) -> "dist.Distribution":
        return dist.GeometricProbs(prob)


# --------------------------------------------------------------------------------------------------
# Numbers of successes in a known number of trials, with a Beta prior
# --------------------------------------------------------------------------------------------------


@pytree
class Binomial(_SuccessFamily):
    r"""Columns of numbers of successes in n trials, n known; :math:`\theta_{cj} \sim \mathrm{Beta}(a, b)`.

    .. math:: p(x \mid \theta) = \binom{n}{x} \theta^x (1 - \theta)^{n - x}, \quad x = 0, 1, \dots, n

    With N observed cells of sum S, the posterior is :math:`\mathrm{Beta}(a + S,\, b + n N - S)` and the predictive
    beta-binomial, :math:`\binom{n}{x} B(a + x,\, b + n - x) / B(a, b)`: Gelman et al. (2013), *Bayesian Data Analysis*,
    3rd edition, section 2.4; Murphy (2012), *Machine Learning: a Probabilistic Perspective*, section 3.3.

    Parameters
    ----------
    total_count : int or array of shape (columns,)
        Number of trials of each cell, one or more: a constant of the likelihood, which is neither learned nor given a
        prior. With one number for each column, results name each column.
    concentration1, concentration0 : float or array, default 1.0
        Prior weight of a success and of a failure, in trials; each broadcasts to (columns,) or (classes, columns). Both
        1 is the uniform prior on the probability of success.

    Raises
    ------
    TypeError, ValueError
        If `total_count` is not a whole number from 1 to 2**53 or one for each column, or a concentration is not
        positive and finite.

    See Also
    --------
    Bernoulli : Zeros and ones.
    Poisson : Counts.

    Notes
    -----
    Numerical domain: `total_count` up to 1e9. A log density has an error of about 2e-12 for 1e3 trials, 2e-9 for 1e6
    and 2e-6 for 1e9, and an evidence one of 3e-16 times the number of trials in all its cells. More trials, up to
    2**53, are allowed, and lose more digits.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.Binomial(10), [[2], [5], [9], [8]], ["no", "no", "yes", "yes"])
    >>> posterior.predict_proba([[6]]).round(3)
    array([[0.536, 0.464]])
    """

    total_count: Any = field(metadata={"static": True})
    concentration1: Hyperparameter = 1.0
    concentration0: Hyperparameter = 1.0

    whole: ClassVar[bool] = True
    meaning: ClassVar[str] = "the number of trials of each cell"
    hint: ClassVar[str] = "give the number of trials of this column as total_count, or mark the cell as missing (NaN)"
    _story: ClassVar[tuple[str, ...]] = ("Binomial({total_count}, prob)", BETA_PRIOR)

    @property
    def support(self) -> Any:
        """Which numbers a cell may hold."""
        return self.own_support.constraint

    @property
    def own_support(self) -> Support:
        """The support, in NumPy."""
        most = self.total_count
        return Support("integer_interval", lambda x: (x <= most) & NONNEGATIVE_INTEGER(x), 0.0, True, (0, most))

    @property
    def holds(self) -> str:  # type: ignore[override]
        """What a cell may hold, in words."""
        return f"a whole number from 0 to total_count={self.total_count}"

    def likelihood(self, prob: Any) -> "dist.Distribution":
        return dist.BinomialProbs(prob, self.total_count)

    def terms(self, x: Any) -> tuple[Any, Any]:
        return x, self.total_count - x

    def log_base(self, x: Any) -> Any:
        return log_choose(x, self.total_count - x)

    def natural(self, parameters: Parameters) -> tuple[tuple[Any, Any], Any]:
        log_success, log_failure = log_and_log_rest(parameters, "prob")
        return (log_success, log_failure), namespace(log_success)[0].zeros_like(log_success)

    def trials(self, statistics: Counts) -> tuple[Any, Any]:
        return statistics.total[..., 0], statistics.total[..., 1]

    def cell_log_predictive(self, x: Any) -> Any:
        return self.log_base(x) + log_beta_ratio(*self.terms(x), self.concentration1, self.concentration0)


# --------------------------------------------------------------------------------------------------
# Overdispersed counts: failures before a number of successes, which is known or learned
# --------------------------------------------------------------------------------------------------


@pytree
class NegativeBinomial(_FailuresFamily):
    r"""Columns of counts that spread wider than Poisson counts; :math:`\theta_{cj} \sim \mathrm{Beta}(a, b)`.

    A cell is the number of failures before success number r:

    .. math:: p(x \mid \theta) = \frac{\Gamma(r + x)}{\Gamma(r)\, x!}\, \theta^r (1 - \theta)^x, \quad x = 0, 1, \dots

    It is a Poisson count whose rate has a gamma distribution of shape r. The mean is :math:`m = r (1 - \theta) /
    \theta` and the variance :math:`m + m^2 / r`, so that a large r gives nearly Poisson counts. With a known r and N
    observed cells of sum S, the posterior is :math:`\mathrm{Beta}(a + r N,\, b + S)` and the predictive beta negative
    binomial: Fink (1997), *A Compendium of Conjugate Priors*.

    Without `total_count`, r is learned for each class and column. The posterior then has no closed form: `NUTS` draws
    from it, and `MAP` and `MLE` find a maximum. The parameters are the mean m and the dispersion :math:`\phi = 1 / r`,
    with the variance :math:`m + \phi m^2`. Their information matrix is diagonal (Lawless 1987, *Canadian Journal of
    Statistics* 15(3), 209-225), so that NUTS samples them well. A dispersion near zero gives Poisson counts; it has a
    mean and a standard deviation under the posterior, which r need not have. The priors are

    .. math:: m_{cj} \sim \mathrm{LogNormal}(\log l,\, s), \qquad \phi_{cj} \sim \mathrm{Gamma}(a, b).

    Hyperparameters that are not given follow the data. With M the mean and V the variance of the whole column, all
    classes together, and V at least M: `loc` is M, `scale` is :math:`2 \sqrt{\log(1 + V / M^2)}`, twice the standard
    deviation of the logarithm of a log-normal variable with the column's coefficient of variation, and `rate` is
    :math:`a M^2 / V`. The prior mean of the excess of variance over mean, :math:`\phi M^2`, is then the variance of the
    column. A column of zeros takes M = V = 1.

    Parameters
    ----------
    total_count : float or array of shape (columns,), optional
        Number r of successes, positive, and not necessarily whole: a constant of the likelihood, which is neither
        learned nor given a prior. With one number for each column, results name each column. By default it is learned.
    concentration1, concentration0 : float or array, default 1.0
        With a known `total_count`: prior weight of a success and of a failure; each broadcasts to (columns,) or
        (classes, columns). Both 1 is the uniform prior on the probability of success.
    loc, scale : float or array, optional
        With a learned `total_count`: prior median of the mean, and prior standard deviation of its logarithm.
    concentration : float or array, default 1.5
        With a learned `total_count`: shape of the gamma prior of the dispersion. Above one, a mode exists.
    rate : float or array, optional
        With a learned `total_count`: rate of the gamma prior of the dispersion.

    Raises
    ------
    TypeError, ValueError
        If `total_count` is neither None, nor a positive finite number, nor one for each column; if a hyperparameter is
        not positive and finite, or belongs to the other case.

    See Also
    --------
    Poisson : Counts.
    Geometric : Failures before the first success.

    Notes
    -----
    Numerical domain: counts up to 1e9. A log density has an error of about 2e-12 at counts of 1e3, 2e-9 at 1e6 and
    2e-6 at 1e9. Larger counts give a warning, and counts above 2**53, of which float64 does not hold every one, an
    error.

    NUTS reads how often each count occurs in a class, so that a step takes time in proportion to the number of
    different counts.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[0], [3], [1], [9], [30], [4]], ["a"] * 3 + ["b"] * 3
    >>> posterior = nb.fit(nb.NegativeBinomial(2.5), X, y)
    >>> posterior.predict_proba([[2], [12]]).round(3)
    array([[0.823, 0.177],
           [0.031, 0.969]])
    >>> learned = nb.fit(nb.NegativeBinomial(), X, y, nb.MAP())
    >>> learned.predict_proba([[2], [12]]).round(3)
    array([[0.745, 0.255],
           [0.   , 1.   ]])
    """

    total_count: Any = field(default=None, metadata={"static": True})
    concentration1: Hyperparameter = 1.0
    concentration0: Hyperparameter = 1.0
    _story: ClassVar[tuple[str, ...]] = ("NegativeBinomial({total_count}, prob)", BETA_PRIOR)

    def __new__(cls, total_count: Any = None, *values: Any, **named: Any) -> Any:
        """Return a `LearnedNegativeBinomial` if `total_count` is learned: it has another prior and no closed form."""
        if total_count is not None:
            return super().__new__(cls, **named)
        prior = [one.name for one in fields(LearnedNegativeBinomial)]
        others = [*map(repr, values), *(name for name in named if name not in prior)]
        if others:
            raise TypeError(
                f"NegativeBinomial(total_count=None) has a prior with {', '.join(prior)}, given by name: {others[0]} "
                "is none of them; give a number as total_count for a prior of the probability of success"
            )
        return LearnedNegativeBinomial(**named)

    def __getnewargs__(self) -> tuple[Any]:
        # For pickle and copy, which call __new__.
        return (self.total_count,)

    holds: ClassVar[str] = "a count 0, 1, 2, ..."
    hint: ClassVar[str] = "use nb.Gaussian() for measurements, or mark the cell as missing (NaN)"

    def likelihood(self, prob: Any) -> "dist.Distribution":
        return distributions.GammaPoisson(self.total_count, prob / (1 - prob))

    def log_base(self, x: Any) -> Any:
        # The binomial coefficient of r + x - 1 and x: of the orders of r + x trials, r / (r + x) end with a success.
        return log_choose(x, self.total_count) - namespace(x)[0].log1p(x / self.total_count)
