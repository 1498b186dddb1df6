"""Overdispersed counts of unknown mean and dispersion."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import jax
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.arrays import namespace
from bayesnb.families.base import Family, Hyperparameter, Parameters, Sample
from bayesnb.families.count_table import ROWS_AN_ENTRY, CountTable
from bayesnb.families.gamma_poisson import GammaPoisson
from bayesnb.families.hyperparameters import format_number
from bayesnb.families.large_counts import log_negative_binomial
from bayesnb.families.maximum import maximum
from bayesnb.sparse import dense
from bayesnb.statistics.base import safe_ratio
from bayesnb.statistics.occurrences import Occurrences, occurrences

__all__ = ["LearnedNegativeBinomial"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LearnedNegativeBinomial(Family):
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

    support: ClassVar[Any] = constraints.nonnegative_integer
    holds: ClassVar[str] = "a count 0, 1, 2, ..."
    hint: ClassVar[str] = "use nb.Gaussian() for measurements, or mark the cell as missing (NaN)"
    positive: ClassVar[tuple[str, ...]] = ("loc", "scale", "concentration", "rate")
    why_no_maximum_likelihood: ClassVar[str] = (
        "no observed cell above zero, or no more spread than Poisson counts have, for which there is nb.Poisson()"
    )
    why_no_mode: ClassVar[str] = "a prior whose density has no single maximum, as for a concentration up to one"

    def prior(self, sample: Sample) -> dict[str, Any]:
        xp, _ = namespace(self.loc)
        mean = sample("mean", dist.LogNormal(xp.log(self.loc), self.scale))
        return {"mean": mean, "dispersion": sample("dispersion", dist.Gamma(self.concentration, self.rate))}

    def likelihood(self, mean: Any, dispersion: Any) -> dist.Distribution:
        return GammaPoisson(1 / dispersion, 1 / (dispersion * mean))

    def statistics(self, x: Any, membership: np.ndarray) -> Occurrences:
        return occurrences(x, membership)

    def possible(self, statistics: Occurrences) -> Any:
        return statistics.possible()

    def log_likelihood(self, parameters: Parameters, statistics: Occurrences) -> Any:
        mean, dispersion = (parameters[name] for name in ("mean", "dispersion"))
        xp, _ = namespace(mean, statistics.n)
        place = xp.asarray(statistics.values.place).astype(int)
        of_place = (value.reshape(*value.shape[:-2], -1)[..., place] for value in (mean, dispersion))
        return statistics.sums(_log_density(statistics.values.number, *of_place))

    def on_scale_of(self, pooled: Occurrences) -> Self:
        mean, variance = _moments(pooled)
        mean, variance = np.where(mean > 0, mean, 1.0), np.where(mean > 0, np.maximum(mean, variance), 1.0)
        spread = variance / mean**2
        given = {
            "loc": mean if self.loc is None else self.loc,
            "scale": 2 * np.sqrt(np.log1p(spread)) if self.scale is None else self.scale,
            "rate": self.concentration / spread if self.rate is None else self.rate,
        }
        return replace(self, **{k: np.broadcast_to(v, np.shape(self.concentration)) for k, v in given.items()})

    def maximum_likelihood(self, statistics: Occurrences) -> dict[str, Any]:
        resolved = self.on_scale_of(statistics.pooled())
        return maximum(resolved, statistics, _estimate(statistics), with_prior=False)

    def maximum_a_posteriori(self, statistics: Occurrences) -> dict[str, Any]:
        return maximum(self, statistics, _estimate(statistics), with_prior=True)

    def row_log_likelihood(self, parameters: Parameters, x: Any) -> Any:
        *leading, num_classes, num_columns = np.shape(parameters["mean"])
        mean, dispersion = (np.reshape(parameters[name], (-1, num_columns)) for name in ("mean", "dispersion"))

        def density(places: Any, columns: Any, counts: Any) -> Any:
            return _log_density(counts, mean[places, columns], dispersion[places, columns])

        cells = dense(x)
        sums = CountTable.of(cells, len(cells) // ROWS_AN_ENTRY).sums(density, len(mean))
        return np.moveaxis(sums.reshape(len(cells), *leading, num_classes), 0, -2)

    @property
    def family_name(self) -> str:
        return "NegativeBinomial"

    def story(self) -> tuple[str, list[str]]:
        loc, scale, a, b = (format_number(value) for value in self.hyperparameters().values())
        return "NegativeBinomial(mean, dispersion)", [
            f"log mean ~ Normal(log({loc}), {scale})",
            f"dispersion ~ Gamma({a}, {b})",
        ]


def _log_density(x: Any, mean: Any, dispersion: Any) -> Any:
    return log_negative_binomial(x, 1 / dispersion, 1 / (dispersion * mean))


def _moments(statistics: Occurrences) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the cells, shape (classes, columns); zero where there is none."""
    number, place = statistics.values.number, statistics.values.place
    mean = safe_ratio(statistics.sums(number), statistics.n)
    return mean, safe_ratio(statistics.sums((number - mean.ravel()[place]) ** 2), statistics.n)


def _estimate(statistics: Occurrences) -> dict[str, np.ndarray]:
    """First values for the search of a maximum: by moments, not positive where they give none."""
    mean, variance = _moments(statistics)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {"mean": mean, "dispersion": (variance - mean) / mean**2}
