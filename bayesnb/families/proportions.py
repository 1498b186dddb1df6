"""Numbers between zero and one as beta variables of unknown mean and concentration."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.arrays import log_beta, namespace
from bayesnb.families import beta
from bayesnb.families.base import Hyperparameter, Parameters, Sample
from bayesnb.families.concentrated import Concentrated
from bayesnb.families.hyperparameters import format_number
from bayesnb.statistics.counts import Counts

__all__ = ["Beta"]

ROUNDING = 1e-13
"""Spread below which a difference of logarithms is a rounding error: concentrations of more than 1e13 are infinite."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Beta(Concentrated):
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

    support: ClassVar[Any] = constraints.open_interval(0.0, 1.0)
    holds: ClassVar[str] = "a number between 0 and 1"
    hint: ClassVar[str] = (
        "divide percentages by 100, move zeros and ones inside, such as (x * (n - 1) + 0.5) / n of n rows, use "
        "nb.Bernoulli() if every cell is 0 or 1, or mark the cell as missing (NaN)"
    )
    positive: ClassVar[tuple[str, ...]] = ("concentration1", "concentration0", "concentration", "rate")

    def prior(self, sample: Sample) -> dict[str, Any]:
        mean = sample("mean", beta.Beta(self.concentration1, self.concentration0))
        return {"mean": mean, "concentration": sample("concentration", dist.Gamma(self.concentration, self.rate))}

    def likelihood(self, mean: Any, concentration: Any) -> dist.Distribution:
        return beta.Beta(mean * concentration, (1 - mean) * concentration)

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

    def story(self) -> tuple[str, list[str]]:
        ones, zeros, a, b = (format_number(value) for value in self.hyperparameters().values())
        return "Beta(mean, concentration)", [f"mean ~ Beta({ones}, {zeros})", f"concentration ~ Gamma({a}, {b})"]
