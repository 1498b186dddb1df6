"""Overdispersed counts: failures before a number of successes, which is known or learned."""

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import jax
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.arrays import namespace
from bayesnb.families.base import Hyperparameter, Parameters
from bayesnb.families.gamma_poisson import GammaPoisson
from bayesnb.families.hyperparameters import format_number
from bayesnb.families.large_counts import log_beta_negative_binomial, log_choose
from bayesnb.families.learned_negative_binomial import LearnedNegativeBinomial
from bayesnb.families.log_probability import log_and_log_rest
from bayesnb.families.total_count import TotalCountFamily
from bayesnb.statistics.counts import Counts

__all__ = ["NegativeBinomial"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NegativeBinomial(TotalCountFamily):
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
    Numerical domain: counts up to 2**53, above which float64 does not hold every whole number; larger ones are errors.
    With q the smaller one of r and the mean of the cells, from 1e-6 to 1e12 for r and from 0.1 to 1e15 for the mean, a
    log predictive density has an error, measured against 60 digits, of 2e-14 for q up to 10, 8e-14 at 1e3, 2e-12 at
    1e6, 9e-11 at 1e9 and 5e-9 at 1e12. A density under a given probability has an error of 7e-12 for q = 1e3 and 5e-10
    for 1e6; the evidence of 100 cells one of 2e-11 and 7e-8.

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

    def __new__(cls, total_count: Any = None, *values: Any, **named: Any) -> Any:
        """A family of another class where `total_count` is learned, because it has another prior and no closed form."""
        if total_count is not None:
            return super().__new__(cls)
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

    whole: ClassVar[bool] = False
    meaning: ClassVar[str] = "the number of successes"
    support: ClassVar[Any] = constraints.nonnegative_integer
    holds: ClassVar[str] = "a count 0, 1, 2, ..."
    hint: ClassVar[str] = "use nb.Gaussian() for measurements, or mark the cell as missing (NaN)"

    def likelihood(self, prob: Any) -> dist.Distribution:
        return GammaPoisson(self.total_count, prob / (1 - prob))

    def terms(self, x: Any) -> tuple[Any]:
        return (x,)

    def log_base(self, x: Any) -> Any:
        # The binomial coefficient of r + x - 1 and x.
        return log_choose(x, self.total_count) - namespace(x)[0].log1p(x / self.total_count)

    def natural(self, parameters: Parameters) -> tuple[tuple[Any], Any]:
        log_success, log_failure = log_and_log_rest(parameters, "prob")
        return (log_failure,), -self.total_count * log_success

    def trials(self, statistics: Counts) -> tuple[Any, Any]:
        return self.total_count * statistics.n, statistics.total

    def cell_log_predictive(self, x: Any) -> Any:
        return log_beta_negative_binomial(x, self.total_count, self.concentration1, self.concentration0)

    def story(self) -> tuple[str, list[str]]:
        return f"NegativeBinomial({format_number(self.total_count)}, prob)", self.prior_story()
