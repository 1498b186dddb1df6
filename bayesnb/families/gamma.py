"""Positive measurements as gamma variables of unknown mean and shape."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import jax
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.arrays import namespace, stirling_rest
from bayesnb.families.base import Hyperparameter, Parameters, Sample
from bayesnb.families.concentrated import Concentrated, default_rate
from bayesnb.families.hyperparameters import format_number
from bayesnb.statistics.counts import Counts

__all__ = ["Gamma"]

ROUNDING = 1e-13
"""Difference of two logarithms below which it is a rounding error: shapes of more than 5e12 count as infinite."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Gamma(Concentrated):
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

    support: ClassVar[Any] = constraints.positive
    holds: ClassVar[str] = "a positive number"
    hint: ClassVar[str] = (
        "use nb.Gaussian() for numbers of any sign, nb.Poisson() for counts, or mark the cell as missing (NaN)"
    )
    positive: ClassVar[tuple[str, ...]] = ("loc", "scale", "concentration", "rate")

    def prior(self, sample: Sample) -> dict[str, Any]:
        xp, _ = namespace(self.loc)
        mean = sample("mean", dist.LogNormal(xp.log(self.loc), self.scale))
        return {"mean": mean, "concentration": sample("concentration", dist.Gamma(self.concentration, self.rate))}

    def likelihood(self, mean: Any, concentration: Any) -> dist.Distribution:
        return dist.Gamma(concentration, concentration / mean)

    def terms(self, x: Any) -> tuple[Any, Any]:
        xp, _ = namespace(x)
        return x, xp.log(x)

    def log_base(self, x: Any) -> Any:
        xp, _ = namespace(x)
        return -xp.log(x)

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
        given = {
            "loc": mean if self.loc is None else self.loc,
            "scale": 2 * np.sqrt(np.log1p(1 / shape)) if self.scale is None else self.scale,
            "rate": default_rate(of_column["concentration"]) if self.rate is None else self.rate,
        }
        return replace(self, **{k: np.broadcast_to(v, np.shape(self.concentration)) for k, v in given.items()})

    def story(self) -> tuple[str, list[str]]:
        loc, scale, a, b = (format_number(value) for value in self.hyperparameters().values())
        return "Gamma(mean, concentration)", [
            f"log mean ~ Normal(log({loc}), {scale})",
            f"concentration ~ Gamma({a}, {b})",
        ]
