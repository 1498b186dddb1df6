"""Families without a closed form: gamma, beta, von Mises, negative binomial."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.core.arrays import dense
from bayesnb.core.deferred import dist, namespace, pytree
from bayesnb.core.logarithms import log_beta, log_negative_binomial, nearest_turn, stirling_rest
from bayesnb.families.exponential import ExponentialFamily
from bayesnb.families.family import LIKELIEST, MODE, Family, Hyperparameter, Parameters, Sample, distributions
from bayesnb.families.hyperparameters import NONNEGATIVE_INTEGER, POSITIVE, Support, with_defaults
from bayesnb.families.kernels import Distinct
from bayesnb.families.maximum import maximum
from bayesnb.families.needs import CellWeight, ValueCounts
from bayesnb.families.statistics import (
    Counts,
    Occurrences,
    safe_ratio,
)

RATE = 0.15
"""With the default shape 1.5 of the gamma prior, the prior mean of a concentration is ten times that of the column."""


class Concentrated(Family):
    """A family of a location and a concentration, or a dispersion, whose maxima are found by a search.

    The fields `concentration` and `rate` are the gamma prior of the concentration. A subclass states `estimate`, which
    is cheap. From it follow the defaults that the data determine, and the first point of the search.
    """

    concentration: Hyperparameter
    rate: Hyperparameter

    why_no_estimate: ClassVar[dict[str, str]] = {
        LIKELIEST: "no observed cell, or all of them equal",
        MODE: "no observed cell, and a prior whose density has no single maximum",
    }

    @abstractmethod
    def estimate(self, statistics: Any) -> dict[str, np.ndarray]:
        """Approximate maximum of the likelihood, shape (classes, columns), by name.

        Parameters
        ----------
        statistics : Statistics

        Returns
        -------
        dict of array
            NaN where the cells do not determine a parameter, and where the likelihood grows with it without bound.
        """

    def on_scale_of(self, pooled: Any) -> Self:
        return with_defaults(self, rate=_concentration_rate(self.estimate(pooled)["concentration"]))

    def maximum_likelihood(self, statistics: Any) -> dict[str, Any]:
        return maximum(self.on_scale_of(statistics.pooled()), statistics, self.estimate(statistics), with_prior=False)

    def maximum_a_posteriori(self, statistics: Any) -> dict[str, Any]:
        return maximum(self, statistics, self.estimate(statistics), with_prior=True)


def _concentration_rate(concentration: np.ndarray) -> np.ndarray:
    """Rate of a concentration's prior, given the concentration of the whole column; NaN counts as one.

    The prior mean is ten times the column's concentration where that is large, which is the default of `Gaussian` for
    the precision of a class. It is ten where the column is spread widely, because then the classes may be far apart.
    """
    return RATE / (1 + np.where(concentration > 0, concentration, 1.0))


ROUNDING = 1e-13
"""Difference of two logarithms, spread, or distance of a resultant length from one, below which it is a rounding error:
shapes and concentrations of more than 5e12 to 1e13 count as infinite."""

# --------------------------------------------------------------------------------------------------
# Positive measurements as gamma variables of unknown mean and shape
# --------------------------------------------------------------------------------------------------


@pytree
class Gamma(Concentrated, ExponentialFamily):
    r"""Columns of positive numbers, such as durations and amounts, which are gamma distributed in each class.

    .. math::
        p(x \mid \mu, a) = \frac{(a / \mu)^a}{\Gamma(a)} \, x^{a - 1} e^{-a x / \mu}, \qquad
        \mu_{cj} \sim \mathrm{LogNormal}(\log l,\, s), \quad a_{cj} \sim \mathrm{Gamma}(c, r)

    The parameters are the mean :math:`\mu` and the shape a, called `concentration`. Their information matrix is
    diagonal (Cox and Reid 1987, *Journal of the Royal Statistical Society B* 49(1), 1-39), so that NUTS samples them
    well. The coefficient of variation is :math:`1 / \sqrt a`. The posterior has no closed form: `NUTS` draws from it,
    and `MAP` and `MLE` find a maximum.

    Hyperparameters that are not given follow the data, so that the unit of a column changes no prediction. With m the
    mean and k the estimated shape of the whole column, all classes together: `loc` is m, `scale` is
    :math:`2 \sqrt{\log(1 + 1/k)}`, twice the standard deviation of the logarithm of a log-normal variable with the
    column's coefficient of variation, and `rate` is 0.15 / (1 + k). A column of one value takes k = 1.

    Parameters
    ----------
    loc : float or array, optional
        Prior median of the mean; broadcasts, like the others, to (columns,) or (classes, columns).
    scale : float or array, optional
        Prior standard deviation of the logarithm of the mean.
    concentration : float or array, default 1.5
        Shape of the gamma prior of the shape.
    rate : float or array, optional
        Rate of the gamma prior of the shape.

    Raises
    ------
    ValueError
        If a hyperparameter is not positive and finite.

    See Also
    --------
    LogNormal : Positive numbers whose logarithms are normal.
    Exponential : Waiting times.

    Notes
    -----
    Zeros are errors, because their density is zero or infinite. The default k is the approximation of Minka (2002),
    *Estimating a Gamma distribution*, to the maximum likelihood estimate, within 1.5 % of it.

    NUTS needs many steps if a posterior is narrow: some hundred steps a draw at a relative standard deviation of the
    mean of 1e-5. Beyond 1e-6 trajectories are cut off, with a warning. `Gaussian` is then the better family.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.from_parameters(
    ...     nb.Gamma(),
    ...     classes=["bus", "train"],
    ...     class_probs=[0.5, 0.5],
    ...     parameters={"mean": [[4.0], [8.0]], "concentration": [[2.0], [8.0]]},
    ... )
    >>> posterior.predict_proba([[3.0], [8.0]]).round(3)
    array([[0.886, 0.114],
           [0.208, 0.792]])
    """

    loc: Hyperparameter = None
    scale: Hyperparameter = None
    concentration: Hyperparameter = 1.5
    rate: Hyperparameter = None

    support = POSITIVE
    holds: ClassVar[str] = "a positive number"
    hint: ClassVar[str] = (
        "use nb.Gaussian() for numbers of any sign, nb.Poisson() for counts, or mark the cell as missing (NaN)"
    )
    positive: ClassVar[tuple[str, ...]] = ("loc", "scale", "concentration", "rate")
    _story: ClassVar[tuple[str, ...]] = (
        "Gamma(mean, concentration)",
        "log mean ~ Normal(log({loc}), {scale})",
        "concentration ~ Gamma({concentration}, {rate})",
    )

    def prior(self, sample: Sample) -> dict[str, Any]:
        mean = sample("mean", dist.LogNormal(namespace(self.loc)[0].log(self.loc), self.scale))
        return {"mean": mean, "concentration": sample("concentration", dist.Gamma(self.concentration, self.rate))}

    def likelihood(self, mean: Any, concentration: Any) -> "dist.Distribution":
        return dist.Gamma(concentration, concentration / mean)

    def terms(self, x: Any) -> tuple[Any, Any]:
        return x, namespace(x)[0].log(x)

    def log_base(self, x: Any) -> Any:
        return -namespace(x)[0].log(x)

    def natural(self, parameters: Parameters) -> tuple[tuple[Any, Any], Any]:
        mean, shape = parameters["mean"], parameters["concentration"]
        xp, _ = namespace(mean, shape)
        # log Gamma(a) - a log a by Stirling's formula, which leaves no large terms to cancel.
        partition = shape * (xp.log(mean) - 1) + 0.5 * (np.log(2 * np.pi) - xp.log(shape)) + stirling_rest(shape)
        return (-shape / mean, shape), partition

    def estimate(self, statistics: Counts) -> dict[str, np.ndarray]:
        total, of_logs = np.moveaxis(np.asarray(statistics.total), -1, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / statistics.n
            gap = np.log(mean) - of_logs / statistics.n
            shape = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
        return {"mean": mean, "concentration": np.where(gap > ROUNDING, shape, np.nan)}

    def on_scale_of(self, pooled: Counts) -> Self:
        of_column = self.estimate(pooled)
        mean, shape = (np.where(value > 0, value, 1.0) for value in of_column.values())
        scale = 2 * np.sqrt(np.log1p(1 / shape))
        return with_defaults(self, loc=mean, scale=scale, rate=_concentration_rate(of_column["concentration"]))


# --------------------------------------------------------------------------------------------------
# Numbers between zero and one as beta variables of unknown mean and concentration
# --------------------------------------------------------------------------------------------------


@pytree
class Beta(Concentrated, ExponentialFamily):
    r"""Columns of numbers between zero and one, such as shares and rates, which are beta distributed in each class.

    .. math::
        p(x \mid \mu, k) = \frac{x^{\mu k - 1} (1 - x)^{(1 - \mu) k - 1}}{B(\mu k, (1 - \mu) k)}, \qquad
        \mu_{cj} \sim \mathrm{Beta}(a, b), \quad k_{cj} \sim \mathrm{Gamma}(c, r)

    The parameters are the mean :math:`\mu` and the concentration k, the sum of the two exponents of the usual form
    (Ferrari and Cribari-Neto 2004, *Journal of Applied Statistics* 31(7), 799-815). The variance is
    :math:`\mu (1 - \mu) / (k + 1)`. The posterior has no closed form: `NUTS` draws from it, and `MAP` and `MLE` find a
    maximum. `Bernoulli` is the family for columns of zeros and ones.

    Parameters
    ----------
    concentration1, concentration0 : float or array, default 1.0
        Beta prior of the mean; each broadcasts, like the others, to (columns,) or (classes, columns). Both 1 is the
        uniform prior.
    concentration : float or array, default 1.5
        Shape of the gamma prior of the concentration.
    rate : float or array, optional
        Rate of the gamma prior of the concentration. By default 0.15 / (1 + k), with k the estimated concentration of
        the whole column, all classes together, so that columns of nearly equal numbers have a prior of their scale. A
        column of one value takes k = 1.

    Raises
    ------
    ValueError
        If a hyperparameter is not positive and finite.

    See Also
    --------
    Gaussian : Numbers.
    VonMises : Angles.

    Notes
    -----
    Zeros and ones are errors, because their density is zero or infinite. The default k is that of Johnson, Kotz and
    Balakrishnan (1995), *Continuous Univariate Distributions*, volume 2, section 25.4, an approximation to the maximum
    likelihood estimate. It follows from the geometric means of x and of 1 - x.
    If one of the exponents is far below one, most of the distribution is nearer to an end than float64 resolves.
    Simulated cells are then the number nearest to 0 or 1.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.from_parameters(
    ...     nb.Beta(),
    ...     classes=["low", "high"],
    ...     class_probs=[0.5, 0.5],
    ...     parameters={"mean": [[0.2], [0.6]], "concentration": [[10.0], [5.0]]},
    ... )
    >>> posterior.predict_proba([[0.1], [0.5]]).round(3)
    array([[0.97 , 0.03 ],
           [0.158, 0.842]])
    """

    concentration1: Hyperparameter = 1.0
    concentration0: Hyperparameter = 1.0
    concentration: Hyperparameter = 1.5
    rate: Hyperparameter = None

    support = Support("open_interval", lambda x: (x > 0) & (x < 1), 0.5, ends=(0.0, 1.0))
    holds: ClassVar[str] = "a number between 0 and 1"
    hint: ClassVar[str] = (
        "divide percentages by 100, move zeros and ones inside, such as (x * (n - 1) + 0.5) / n of n rows, use "
        "nb.Bernoulli() if every cell is 0 or 1, or mark the cell as missing (NaN)"
    )
    positive: ClassVar[tuple[str, ...]] = ("concentration1", "concentration0", "concentration", "rate")
    _story: ClassVar[tuple[str, ...]] = (
        "Beta(mean, concentration)",
        "mean ~ Beta({concentration1}, {concentration0})",
        "concentration ~ Gamma({concentration}, {rate})",
    )

    def prior(self, sample: Sample) -> dict[str, Any]:
        mean = sample("mean", distributions.BetaOfLogs(self.concentration1, self.concentration0))
        return {"mean": mean, "concentration": sample("concentration", dist.Gamma(self.concentration, self.rate))}

    def likelihood(self, mean: Any, concentration: Any) -> "dist.Distribution":
        return distributions.BetaOfLogs(mean * concentration, (1 - mean) * concentration)

    def terms(self, x: Any) -> tuple[Any, Any]:
        xp, _ = namespace(x)
        return xp.log(x), xp.log1p(-x)

    def log_base(self, x: Any) -> Any:
        xp, _ = namespace(x)
        return -xp.log(x) - xp.log1p(-x)

    def natural(self, parameters: Parameters) -> tuple[tuple[Any, Any], Any]:
        mean, concentration = parameters["mean"], parameters["concentration"]
        a, b = mean * concentration, (1 - mean) * concentration
        return (a, b), log_beta(a, b)

    def estimate(self, statistics: Counts) -> dict[str, np.ndarray]:
        with np.errstate(invalid="ignore", divide="ignore"):
            of_x, of_rest = np.exp(np.moveaxis(np.asarray(statistics.total), -1, 0) / statistics.n)
            spread = 1 - of_x - of_rest
            a, b = (0.5 + 0.5 * geometric_mean / spread for geometric_mean in (of_x, of_rest))
            concentration = np.where(spread > ROUNDING, a + b, np.nan)
            mean = np.where(spread > ROUNDING, a / (a + b), of_x / (of_x + of_rest))
        return {"mean": mean, "concentration": concentration}


# --------------------------------------------------------------------------------------------------
# Angles as von Mises variables of unknown direction and concentration
# --------------------------------------------------------------------------------------------------

LARGE = 1e3
"""Concentration from which a series replaces the Bessel function, whose derivatives lose their digits."""

LARGEST = float(np.float32(np.pi))
"""Pi in float32, a little more than pi: angles may come from a table of float32."""


@pytree
class VonMises(Concentrated, ExponentialFamily):
    r"""Columns of angles in radians, such as directions and times of day, from -pi to pi.

    .. math::
        p(x \mid \mu, \kappa) = \frac{e^{\kappa \cos(x - \mu)}}{2 \pi I_0(\kappa)}, \qquad
        \mu_{cj} \sim \mathrm{Uniform}(-\pi, \pi), \quad \kappa_{cj} \sim \mathrm{Gamma}(c, r)

    The parameters are the direction :math:`\mu`, called `loc`, and the concentration :math:`\kappa`: Mardia and Jupp
    (2000), *Directional Statistics*, section 3.5.4. A concentration of zero is the uniform distribution; a large one is
    nearly a normal distribution of variance :math:`1 / \kappa`. The same rotation of all cells changes no prediction.
    The posterior has no closed form: `NUTS` draws from it, and `MAP` and `MLE` find a maximum.

    The circle has no ends. The sampler moves across pi without a boundary. Draws of a direction are given within half a
    turn of their mean direction, so that means and intervals are those of numbers on a line. Draws near pi may
    therefore be a little larger than pi.

    Parameters
    ----------
    concentration : float or array, default 1.5
        Shape of the gamma prior of the concentration; broadcasts to (columns,) or (classes, columns).
    rate : float or array, optional
        Rate of the gamma prior of the concentration. By default 0.15 / (1 + k), with k the estimated concentration of
        the whole column, all classes together. A column of one value takes k = 1.

    Raises
    ------
    ValueError
        If a hyperparameter is not positive and finite.

    See Also
    --------
    Gaussian : Numbers.
    Beta : Numbers between 0 and 1.

    Notes
    -----
    Angles outside -pi to pi are errors, because they may be degrees. ``numpy.deg2rad(x)`` gives radians and
    ``numpy.angle(numpy.exp(1j * x))`` moves radians into the interval. A time of day in hours is
    ``(hours - 12) * numpy.pi / 12``. The default k is the approximation of Banerjee, Dhillon, Ghosh and Sra (2005),
    *Journal of Machine Learning Research* 6, 1345-1382, to the maximum likelihood estimate.

    Examples
    --------
    Birds that fly north and birds that fly south, an angle of zero is north:

    >>> import numpy as np
    >>> import bayesnb as nb
    >>> posterior = nb.from_parameters(
    ...     nb.VonMises(),
    ...     classes=["north", "south"],
    ...     class_probs=[0.5, 0.5],
    ...     parameters={"loc": [[0.0], [np.pi]], "concentration": [[1.0], [2.0]]},
    ... )
    >>> posterior.predict_proba(np.deg2rad([[90], [-170]])).round(3)
    array([[0.643, 0.357],
           [0.086, 0.914]])
    """

    concentration: Hyperparameter = 1.5
    rate: Hyperparameter = None

    support = Support("interval", lambda x: abs(x) <= LARGEST, 0.0, ends=(-LARGEST, LARGEST))
    holds: ClassVar[str] = "an angle in radians from -pi to pi"
    hint: ClassVar[str] = (
        "convert degrees by np.deg2rad(x), move radians into the interval by np.angle(np.exp(1j * x)), or mark the "
        "cell as missing (NaN)"
    )
    positive: ClassVar[tuple[str, ...]] = ("concentration", "rate")
    why_no_estimate: ClassVar[dict[str, str]] = {
        LIKELIEST: "no observed cell, all of them equal, or no direction",
        MODE: "no observed cell, and so no direction; or a prior concentration below one",
    }
    _story: ClassVar[tuple[str, ...]] = (
        "VonMises(loc, concentration)",
        "loc ~ Uniform(-pi, pi)",
        "concentration ~ Gamma({concentration}, {rate})",
    )

    def prior(self, sample: Sample) -> dict[str, Any]:
        loc = sample("loc", distributions.Direction(np.shape(self.concentration)))
        return {"loc": loc, "concentration": sample("concentration", dist.Gamma(self.concentration, self.rate))}

    def likelihood(self, loc: Any, concentration: Any) -> "dist.Distribution":
        return dist.VonMises(loc, concentration)

    def terms(self, x: Any) -> tuple[Any, Any]:
        xp, _ = namespace(x)
        return xp.cos(x), xp.sin(x)

    def natural(self, parameters: Parameters) -> tuple[tuple[Any, Any], Any]:
        loc, concentration = parameters["loc"], parameters["concentration"]
        xp, _ = namespace(loc, concentration)
        partition = concentration + np.log(2 * np.pi) + _log_bessel(concentration)
        return (concentration * xp.cos(loc), concentration * xp.sin(loc)), partition

    def estimate(self, statistics: Counts) -> dict[str, np.ndarray]:
        with np.errstate(invalid="ignore", divide="ignore"):
            cosine, sine = np.moveaxis(np.asarray(statistics.total), -1, 0) / statistics.n
            length = np.hypot(cosine, sine)
            concentration = length * (2 - length**2) / (1 - length**2)
        return {
            "loc": np.arctan2(sine, cosine),
            "concentration": np.where(length < 1 - ROUNDING, concentration, np.nan),
        }

    def on_a_line(self, draws: Parameters) -> Parameters:
        loc = np.asarray(draws["loc"])
        mean_direction = np.angle(np.exp(1j * loc).mean(axis=(0, 1)))
        return {**draws, "loc": nearest_turn(loc, mean_direction)}


def _log_bessel(concentration: Any) -> Any:
    """Log of the Bessel function I0 times exp(-concentration).

    For large concentrations by its asymptotic series (Abramowitz and Stegun 1964, *Handbook of Mathematical Functions*,
    Eq. 9.7.1), with an error of 3e-16.
    """
    xp, special = namespace(concentration)
    small, u = xp.minimum(concentration, LARGE), 0.125 / xp.maximum(concentration, LARGE)
    series = xp.log1p(u * (1 + u * (9 / 2 + u * (75 / 2 + u * 3675 / 8)))) + 0.5 * xp.log(4 * u / np.pi)
    return xp.where(concentration < LARGE, xp.log(special.i0e(small)), series)


# --------------------------------------------------------------------------------------------------
# Overdispersed counts of unknown mean and dispersion
# --------------------------------------------------------------------------------------------------


@pytree
class LearnedNegativeBinomial(Concentrated):
    r"""Columns of overdispersed counts whose number of successes is learned: ``nb.NegativeBinomial()``.

    .. math::
        p(x \mid m, \phi) = \frac{\Gamma(r + x)}{\Gamma(r)\, x!}
        \Big(\frac{r}{r + m}\Big)^r \Big(\frac{m}{r + m}\Big)^x,\quad
        r = 1 / \phi, \qquad
        m_{cj} \sim \mathrm{LogNormal}(\log l,\, s), \quad \phi_{cj} \sim \mathrm{Gamma}(a, b)

    The parameters are the mean m and the dispersion :math:`\phi`; the variance is :math:`m + \phi m^2`. Their
    information matrix is diagonal (Lawless 1987, *Canadian Journal of Statistics* 15(3), 209-225), so that NUTS samples
    them well. `bayesnb.NegativeBinomial` describes the hyperparameters.

    Parameters
    ----------
    loc, scale, concentration, rate : float or array, optional
        l, s, a and b; each broadcasts to (columns,) or (classes, columns).

    Raises
    ------
    ValueError
        If a hyperparameter is not positive and finite.
    """

    loc: Hyperparameter = None
    scale: Hyperparameter = None
    concentration: Hyperparameter = 1.5
    rate: Hyperparameter = None

    support = NONNEGATIVE_INTEGER
    holds: ClassVar[str] = "a count 0, 1, 2, ..."
    hint: ClassVar[str] = "use nb.Gaussian() for measurements, or mark the cell as missing (NaN)"
    positive: ClassVar[tuple[str, ...]] = ("loc", "scale", "concentration", "rate")
    why_no_estimate: ClassVar[dict[str, str]] = {
        LIKELIEST: "no observed cell above zero, or no more spread than Poisson counts have, for which there is "
        "nb.Poisson()",
        MODE: "a prior whose density has no single maximum, as for a concentration up to one",
    }
    _story: ClassVar[tuple[str, ...]] = (
        "NegativeBinomial(mean, dispersion)",
        "log mean ~ Normal(log({loc}), {scale})",
        "dispersion ~ Gamma({concentration}, {rate})",
    )

    def prior(self, sample: Sample) -> dict[str, Any]:
        mean = sample("mean", dist.LogNormal(namespace(self.loc)[0].log(self.loc), self.scale))
        return {"mean": mean, "dispersion": sample("dispersion", dist.Gamma(self.concentration, self.rate))}

    def likelihood(self, mean: Any, dispersion: Any) -> "dist.Distribution":
        return distributions.GammaPoisson(1 / dispersion, 1 / (dispersion * mean))

    def needs(self) -> Any:
        values: Any = ValueCounts()
        return Occurrences(CellWeight(), values)

    def possible(self, statistics: Occurrences) -> Any:
        return statistics.possible()

    def log_likelihood(self, parameters: Parameters, statistics: Occurrences) -> Any:
        mean, dispersion = (parameters[name] for name in ("mean", "dispersion"))
        place = namespace(mean, statistics.n)[0].asarray(statistics.values.place).astype(int)
        of_place = (value.reshape(*value.shape[:-2], -1)[..., place] for value in (mean, dispersion))
        return statistics.sums(_log_density_of_counts(statistics.values.number, *of_place))

    def on_scale_of(self, pooled: Occurrences) -> Self:
        mean, variance = _mean_and_variance(pooled)
        mean, variance = np.where(mean > 0, mean, 1.0), np.where(mean > 0, np.maximum(mean, variance), 1.0)
        spread = variance / mean**2
        scale = 2 * np.sqrt(np.log1p(spread))
        return with_defaults(self, loc=mean, scale=scale, rate=self.concentration / spread)

    def estimate(self, statistics: Occurrences) -> dict[str, np.ndarray]:
        # By moments: not positive where they give no value.
        mean, variance = _mean_and_variance(statistics)
        with np.errstate(invalid="ignore", divide="ignore"):
            return {"mean": mean, "dispersion": (variance - mean) / mean**2}

    def density_kernel(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        *leading, num_classes, num_columns = np.shape(parameters["mean"])
        mean, dispersion = (np.reshape(parameters[name], (-1, num_columns)) for name in ("mean", "dispersion"))

        def density(places: Any, columns: Any, counts: Any) -> Any:
            return _log_density_of_counts(counts, mean[places, columns], dispersion[places, columns])

        def of_rows(rows: slice) -> np.ndarray:
            sums = Distinct.of(dense(x[rows])).sums(density, len(mean))
            return np.moveaxis(sums.reshape(len(sums), *leading, num_classes), 0, -2)

        return of_rows

    @property
    def family_name(self) -> str:
        return "NegativeBinomial"


def _log_density_of_counts(x: Any, mean: Any, dispersion: Any) -> Any:
    return log_negative_binomial(x, 1 / dispersion, 1 / (dispersion * mean))


def _mean_and_variance(statistics: Occurrences) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the cells, shape (classes, columns); zero where there is none."""
    number, place = statistics.values.number, statistics.values.place
    mean = safe_ratio(statistics.sums(number), statistics.n)
    return mean, safe_ratio(statistics.sums((number - mean.ravel()[place]) ** 2), statistics.n)
