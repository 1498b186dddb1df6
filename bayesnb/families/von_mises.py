"""Angles as von Mises variables of unknown direction and concentration."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.arrays import namespace
from bayesnb.families.base import Hyperparameter, Parameters, Sample
from bayesnb.families.circle import Direction, nearest_turn
from bayesnb.families.concentrated import Concentrated
from bayesnb.families.hyperparameters import format_number
from bayesnb.statistics.counts import Counts

__all__ = ["VonMises"]

LARGE = 1e3
"""Concentration from which a series replaces the Bessel function, whose derivatives lose their digits."""

LARGEST = float(np.float32(np.pi))
"""Pi as float32 has it, a little more than pi: angles may come from a table of float32."""

ROUNDING = 1e-13
"""Distance from one below which a mean resultant length is one: concentrations of more than 5e12 are infinite."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class VonMises(Concentrated):
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

    support: ClassVar[Any] = constraints.interval(-LARGEST, LARGEST)
    holds: ClassVar[str] = "an angle in radians from -pi to pi"
    hint: ClassVar[str] = (
        "convert degrees by np.deg2rad(x), move radians into the interval by np.angle(np.exp(1j * x)), or mark the "
        "cell as missing (NaN)"
    )
    positive: ClassVar[tuple[str, ...]] = ("concentration", "rate")
    why_no_maximum_likelihood: ClassVar[str] = "no observed cell, all of them equal, or no direction"
    why_no_mode: ClassVar[str] = "no observed cell, and so no direction; or a prior concentration below one"

    def prior(self, sample: Sample) -> dict[str, Any]:
        loc = sample("loc", Direction(np.shape(self.concentration)))
        return {"loc": loc, "concentration": sample("concentration", dist.Gamma(self.concentration, self.rate))}

    def likelihood(self, loc: Any, concentration: Any) -> dist.Distribution:
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

    def story(self) -> tuple[str, list[str]]:
        a, b = (format_number(value) for value in self.hyperparameters().values())
        return "VonMises(loc, concentration)", ["loc ~ Uniform(-pi, pi)", f"concentration ~ Gamma({a}, {b})"]


def _log_bessel(concentration: Any) -> Any:
    """Log of the Bessel function I0 times exp(-concentration).

    For large concentrations by its asymptotic series (Abramowitz and Stegun 1964, *Handbook of Mathematical Functions*,
    Eq. 9.7.1), with an error of 3e-16.
    """
    xp, special = namespace(concentration)
    small, u = xp.minimum(concentration, LARGE), 0.125 / xp.maximum(concentration, LARGE)
    series = xp.log1p(u * (1 + u * (9 / 2 + u * (75 / 2 + u * 3675 / 8)))) + 0.5 * xp.log(4 * u / np.pi)
    return xp.where(concentration < LARGE, xp.log(special.i0e(small)), series)
