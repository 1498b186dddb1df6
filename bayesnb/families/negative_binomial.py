"""Overdispersed counts: failures before a known number of successes, with a Beta prior."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro.distributions import constraints
from numpyro.distributions.util import validate_sample

from bayesnb.arrays import namespace
from bayesnb.families.base import Hyperparameter, Parameters
from bayesnb.families.hyperparameters import format_number
from bayesnb.families.large_counts import log_beta_negative_binomial, log_choose, log_negative_binomial
from bayesnb.families.log_probability import log_and_log_rest
from bayesnb.families.total_count import TotalCountFamily
from bayesnb.statistics.counts import Counts

__all__ = ["NegativeBinomial"]


class GammaPoisson(dist.GammaPoisson):
    """NumPyro's distribution, whose own density loses half of its digits to a difference of log-gamma functions."""

    @validate_sample
    def log_prob(self, value: Any) -> Any:
        return log_negative_binomial(jnp.asarray(value, jnp.result_type(float)), self.concentration, self.rate)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NegativeBinomial(TotalCountFamily):
    r"""Columns of counts that spread wider than Poisson counts; :math:`\theta_{cj} \sim \mathrm{Beta}(a, b)`.

    A cell is the number of failures before success number r, which is known:

    .. math:: p(x \mid \theta) = \frac{\Gamma(r + x)}{\Gamma(r)\, x!}\, \theta^r (1 - \theta)^x, \quad x = 0, 1, \dots

    It is a Poisson count whose rate has a gamma distribution of shape r. The mean is :math:`m = r (1 - \theta) /
    \theta` and the variance :math:`m + m^2 / r`, so that a large r gives nearly Poisson counts. With N observed cells
    of sum S, the posterior is :math:`\mathrm{Beta}(a + r N,\, b + S)` and the predictive beta negative binomial: Fink
    (1997), *A Compendium of Conjugate Priors*.

    Parameters
    ----------
    total_count : float or array of shape (columns,)
        Number r of successes, positive, and not necessarily whole: a constant of the likelihood, which is neither
        learned nor given a prior. With one number for each column, results name each column.
    concentration1, concentration0 : float or array, default 1.0
        Prior weight of a success and of a failure; each broadcasts to (columns,) or (classes, columns). Both 1 is the
        uniform prior on the probability of success.

    Raises
    ------
    TypeError, ValueError
        If `total_count` is not a positive finite number or one for each column, or a concentration is not positive and
        finite.

    Notes
    -----
    Numerical domain: counts up to 2**53, beyond which float64 does not hold every whole number. Such a cell is refused.
    With q the smaller one of r and the mean of the cells, from 1e-6 to 1e12 for r and from 0.1 to 1e15 for the mean, a
    log predictive density has an error, measured against 60 digits, of 2e-14 for q up to 10, 8e-14 at 1e3, 2e-12 at
    1e6, 9e-11 at 1e9 and 5e-9 at 1e12. A density under a given probability has an error of 7e-12 for q = 1e3 and 5e-10
    for 1e6; the evidence of 100 cells one of 2e-11 and 7e-8.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.NegativeBinomial(2.5), [[0], [3], [1], [9], [30], [4]], ["a"] * 3 + ["b"] * 3)
    >>> posterior.predict_proba([[2], [12]]).round(3)
    array([[0.823, 0.177],
           [0.031, 0.969]])
    """

    total_count: Any = field(metadata={"static": True})
    concentration1: Hyperparameter = 1.0
    concentration0: Hyperparameter = 1.0

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
