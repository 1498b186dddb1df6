"""Positive measurements whose logarithms are Gaussian, with a Normal-inverse-gamma prior."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import jax
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.arrays import namespace, sqrt
from bayesnb.families.base import Hyperparameter
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.student_t import default_rate
from bayesnb.statistics.moments import Moments

__all__ = ["LogNormal"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LogNormal(Gaussian):
    r"""Columns of positive numbers whose logarithms are Gaussian, with a Normal-inverse-gamma prior.

    .. math:: \log x_{ij} \sim \mathrm{Normal}(\mu_{cj},\, \sigma^2_{cj}), \quad
              \sigma^2_{cj} \sim \mathrm{InverseGamma}(a, b), \quad
              \mu_{cj} \mid \sigma^2_{cj} \sim \mathrm{Normal}(m,\, \sigma^2_{cj} / \kappa)

    The formulas are those of `Gaussian` for the logarithms: Murphy (2007), *Conjugate Bayesian analysis of the Gaussian
    distribution*, section 6; Gelman et al. (2013), section 3.3. The predictive density is a log Student-t density. The
    parameters `mean` and `variance` are those of the logarithm. Densities are those of the numbers themselves, 1/x
    times the density of the logarithm, so that the evidence may be compared with that of `Gaussian`.

    Hyperparameters that are not given follow the logarithms, as those of `Gaussian` follow its cells, so that the unit
    of a column changes no prediction. With s² the variance of the column's logarithms, all classes together: `loc` is
    their mean, `kappa` is 0.1, `concentration` is 1 and `rate` is 0.1 s². A constant column takes 1 for s.

    Parameters
    ----------
    loc : float or array, optional
        Prior mean of the class's mean logarithm; broadcasts, like the others, to (columns,) or (classes, columns).
    kappa : float or array, default 0.1
        Prior weight of `loc`, in observations.
    concentration : float or array, default 1.0
        Shape of the inverse gamma prior of the logarithms' variance.
    rate : float or array, optional
        Scale of the inverse gamma prior of the logarithms' variance.

    Raises
    ------
    ValueError
        If `kappa`, `concentration` or `rate` is not positive and finite.

    See Also
    --------
    Gaussian : Numbers.
    Gamma : Positive numbers, without a closed form.

    Notes
    -----
    Numerical domain: that of `Gaussian` for the logarithms, with the error that is stated there.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1.0], [2.0], [1.5], [30.0], [80.0], [45.0]], ["a"] * 3 + ["b"] * 3
    >>> posterior = nb.fit(nb.LogNormal(), X, y)
    >>> posterior.predict_proba([[3.0], [10.0], [None]]).round(3)
    array([[0.984, 0.016],
           [0.252, 0.748],
           [0.5  , 0.5  ]])
    """

    loc: Hyperparameter = None
    kappa: Hyperparameter = 0.1
    concentration: Hyperparameter = 1.0
    rate: Hyperparameter = None

    support: ClassVar[Any] = constraints.positive
    holds: ClassVar[str] = "a positive number"
    hint: ClassVar[str] = (
        "use nb.Gaussian() for a column with zeros or negative numbers, or mark the cell as missing (NaN)"
    )
    nearer_zero: ClassVar[str] = "divide the column by a number near exp({mean:.3g})"

    def likelihood(self, mean: Any, variance: Any) -> dist.Distribution:
        return dist.LogNormal(mean, sqrt(variance))

    def terms(self, x: Any, origin: Any) -> tuple[Any, Any]:
        return super().terms(_logs(x), origin)

    def log_base(self, x: Any, origin: Any) -> Any:
        return -_logs(x)

    def statistics(self, x: np.ndarray, membership: np.ndarray) -> Moments:
        return super().statistics(_logs(x), membership)

    def statistics_by_class(self, x: np.ndarray, codes: np.ndarray, num_classes: int) -> Moments:
        return super().statistics_by_class(_logs(x), codes, num_classes)

    def device_statistics(self, x: Any, codes: Any, membership: Any) -> Moments:
        return super().device_statistics(_logs(x), codes, membership)

    def on_scale_of(self, pooled: Moments) -> Self:
        # Another unit adds a number to all logarithms: their magnitude is no scale for the spread of a constant column.
        rate = default_rate(replace(pooled, mean=0.0 * pooled.mean)) if self.rate is None else self.rate
        return replace(super().on_scale_of(pooled), rate=np.broadcast_to(rate, np.shape(self.kappa)))

    def log_likelihood(self, parameters: Any, statistics: Moments) -> Any:
        return super().log_likelihood(parameters, statistics) - _sum_of_logs(statistics)

    def log_evidence(self, statistics: Moments) -> Any:
        return super().log_evidence(statistics) - _sum_of_logs(statistics)

    def cell_log_predictive(self, x: Any) -> Any:
        logs = _logs(x)
        return super().cell_log_predictive(logs) - logs

    def row_log_predictive(self, x: np.ndarray) -> Any:
        logs = _logs(x)
        return super().row_log_predictive(logs) - _of_rows(logs)[:, None]

    def device_log_predictive(self, x: Any) -> Any:
        # Logarithms of 32 bits would lose digits that the cells have.
        logs = _logs(x.astype(np.float64))
        return super().device_log_predictive(logs) - _of_rows(logs)[:, None]

    def row_log_left_out(self, x: np.ndarray, codes: np.ndarray, statistics: Moments) -> np.ndarray | None:
        logs = _logs(x)
        found = super().row_log_left_out(logs, codes, statistics)
        return None if found is None else found - _of_rows(logs)

    def row_log_refitted(
        self, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Moments, held: np.ndarray
    ) -> np.ndarray:
        logs = _logs(x)
        return super().row_log_refitted(logs, codes, weights, statistics, held) - _of_rows(logs)[:, None]

    @property
    def parameter_note(self) -> str:
        return "mean and variance are those of the logarithm"

    def story(self) -> tuple[str, list[str]]:
        return "LogNormal(mean and variance of the logarithm)", super().story()[1]


def _logs(x: Any) -> Any:
    """Logarithms of cells; missing ones stay NaN, and a derivative with respect to them is zero."""
    xp, _ = namespace(x)
    missing = xp.isnan(x)
    return xp.where(missing, xp.nan, xp.log(xp.where(missing, 1.0, x)))


def _of_rows(logs: Any) -> Any:
    """Sum of each row's logarithms: minus the log of the factor that makes a density of them one of the numbers."""
    xp, _ = namespace(logs)
    return xp.where(xp.isnan(logs), 0.0, logs).sum(axis=-1)


def _sum_of_logs(statistics: Moments) -> Any:
    return statistics.n * statistics.mean
