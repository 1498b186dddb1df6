"""Densities, quantiles and moments of NumPyro's distributions, in NumPy and SciPy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.special
from scipy import stats
from scipy.special import gammaln, xlogy

from bayesnb.core.deferred import compiled, dist, in_float64
from bayesnb.families import distributions as beta
from bayesnb.families.distributions import BetaOfLogs, GammaVector

# --------------------------------------------------------------------------------------------------
# Functions of NumPyro's distributions with a formula of their own for some classes
# --------------------------------------------------------------------------------------------------


def inherited_from(kind: type, formulas: Mapping[Any, Any], method: str) -> type | None:
    """The nearest class with a formula from which a class inherits a method; None if the class defines its own."""
    nearest = next((one for one in kind.__mro__ if one in formulas), None)
    return nearest if nearest is not None and getattr(kind, method, None) is getattr(nearest, method, None) else None


# --------------------------------------------------------------------------------------------------
# Densities, distribution functions, quantiles and moments: SciPy's, or NumPyro's compiled.
#
# JAX compiles a density for every shape, which takes longer than SciPy takes for thousands of draws.
# --------------------------------------------------------------------------------------------------

SCIPY: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    dist.Beta: lambda d: (stats.beta, d.concentration1, d.concentration0),
    beta.BetaOfLogs: lambda d: (stats.beta, d.concentration1, d.concentration0),
    dist.Exponential: lambda d: (stats.expon, 0.0, 1 / np.asarray(d.rate)),
    dist.Gamma: lambda d: (stats.gamma, d.concentration, 0.0, 1 / np.asarray(d.rate)),
    dist.InverseGamma: lambda d: (stats.invgamma, d.concentration, 0.0, d.rate),
    dist.LogNormal: lambda d: (stats.lognorm, d.scale, 0.0, np.exp(d.loc)),
    dist.Normal: lambda d: (stats.norm, d.loc, d.scale),
    dist.StudentT: lambda d: (stats.t, d.df, d.loc, d.scale),
}
"""SciPy's distribution of the same numbers, and its arguments."""


def _scipy(distribution: dist.Distribution, method: str, of_numpyro: str, *at: Any) -> np.ndarray | None:
    """What a method of SciPy's distribution gives, float64; None if NumPyro's method has to serve."""
    kind = inherited_from(type(distribution), SCIPY, of_numpyro)
    if kind is None:
        return None
    own, *arguments = SCIPY[kind](distribution)
    with np.errstate(all="ignore"):
        return np.asarray(getattr(own, method)(*at, *map(np.asarray, arguments)))


def _call(distribution: dist.Distribution, x: Any, method: str) -> Any:
    """A method of a distribution; what `compiled` makes of it serves all distributions of a class and shape."""
    return getattr(distribution, method)(x)


def log_prob(distribution: dist.Distribution, x: Any) -> np.ndarray:
    """The log density of a distribution at numbers of its support, which are not checked; float64.

    Parameters
    ----------
    distribution : numpyro.distributions.Distribution
    x : array

    Returns
    -------
    array
    """
    x = np.asarray(x)
    if type(distribution) is GammaVector:
        return log_prob(dist.Gamma(distribution.concentration, distribution.rate), x).sum(axis=-1)
    if type(distribution) is dist.Dirichlet:
        concentration = np.asarray(distribution.concentration)
        of_all = gammaln(concentration.sum(axis=-1)) - gammaln(concentration).sum(axis=-1)
        return np.asarray(xlogy(concentration - 1, x).sum(axis=-1) + of_all)
    found = _scipy(distribution, "logpdf", "log_prob", x)
    return np.asarray(compiled(_call, distribution, x, method="log_prob")) if found is None else found


def mean_and_sd(distribution: dist.Distribution) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each number, float64; infinite or NaN where they do not exist."""
    return mean_of(distribution), np.sqrt(variance_of(distribution))


def mean_of(distribution: dist.Distribution) -> np.ndarray:
    """Mean of each number, float64; infinite where it does not exist."""
    return _moment(distribution, "mean", "mean")


def variance_of(distribution: dist.Distribution) -> np.ndarray:
    """Variance of each number, float64; infinite or NaN where it does not exist."""
    return _moment(distribution, "var", "variance")


@in_float64
def _moment(distribution: dist.Distribution, method: str, of_numpyro: str) -> np.ndarray:
    found = _scipy(distribution, method, of_numpyro)
    if found is not None:
        return found
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(getattr(distribution, of_numpyro))


def cdf(distribution: Any, x: Any) -> np.ndarray:
    """Cumulative distribution function, float64; of an angle the probability from -pi on."""
    if isinstance(distribution, MixtureOfTwo):
        return distribution.cdf(x)
    if isinstance(distribution, dist.VonMises):
        # SciPy's function counts on over whole turns.
        loc, concentration = np.asarray(distribution.loc), np.asarray(distribution.concentration)
        return stats.vonmises.cdf(x - loc, concentration) - stats.vonmises.cdf(-np.pi - loc, concentration)
    found = _scipy(distribution, "cdf", "cdf", x)
    return np.asarray(compiled(_call, distribution, x, method="cdf")) if found is None else found


def quantile(distribution: Any, level: np.ndarray) -> np.ndarray:
    """Inverse of the cumulative distribution function, float64; by bisection of ``cdf`` if there is no other.

    Raises
    ------
    NotImplementedError
        If the distribution has neither ``icdf`` nor ``cdf``.
    """
    if isinstance(distribution, dist.Delta):
        return np.broadcast_to(np.asarray(distribution.v), np.broadcast_shapes(level.shape, distribution.batch_shape))
    if isinstance(distribution, MixtureOfTwo):
        return _by_bisection(distribution, level)
    found = _scipy(distribution, "ppf", "icdf", level)
    if found is not None:
        return found
    try:
        return np.asarray(compiled(_call, distribution, level, method="icdf"))
    except (NotImplementedError, ImportError):
        # NumPyro takes some quantiles from a library that need not be installed.
        return _by_bisection(distribution, np.asarray(level))


def _by_bisection(distribution: Any, level: np.ndarray) -> np.ndarray:
    """Smallest number of the support at which ``cdf`` reaches the level.

    The bisection halves intervals of bit patterns, not of numbers: 64 steps find any float64, whatever its magnitude.
    """
    shape = np.broadcast_shapes(level.shape, distribution.batch_shape)
    low, high = (np.broadcast_to(_ordered_bits(np.asarray(end, dtype=np.float64)), shape) for end in ends(distribution))
    for _ in range(64):
        # The average of two integers, whose sum may be too large.
        middle = (low & high) + ((low ^ high) >> 1)
        with np.errstate(all="ignore"):
            below = cdf(distribution, _from_order(middle)) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return _from_order(high)


def ends(distribution: Any) -> tuple[Any, Any]:
    """Smallest and largest number that the support of a distribution of numbers holds, infinite where it has no end."""
    support = distribution.support
    return getattr(support, "lower_bound", -np.inf), getattr(support, "upper_bound", np.inf)


def _ordered_bits(x: np.ndarray) -> np.ndarray:
    """Whole numbers in the order of the numbers given: their bits, those of negative numbers turned round."""
    bits = np.nan_to_num(x).view(np.int64)
    return bits ^ ((bits >> 63) & np.iinfo(np.int64).max)


def _from_order(order: np.ndarray) -> np.ndarray:
    """Inverse of `_ordered_bits`."""
    return (order ^ ((order >> 63) & np.iinfo(np.int64).max)).view(np.float64)


# --------------------------------------------------------------------------------------------------
# Mixtures of two distributions of numbers
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MixtureOfTwo:
    """A number from one of two distributions; `mean_and_sd`, `cdf` and `quantile` take it.

    Attributes
    ----------
    weight : array
        Probability of the first distribution.
    first, second : numpyro.distributions.Distribution
        The weights and the second distribution broadcast to the batch shape of the first.
    """

    weight: np.ndarray
    first: dist.Distribution
    second: dist.Distribution

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the numbers."""
        return self.first.batch_shape

    @property
    def support(self) -> Any:
        """Where the numbers may be."""
        return self.first.support

    @property
    def mean(self) -> np.ndarray:
        """Mean of each number."""
        return self._weighted(mean_of)

    @property
    def variance(self) -> np.ndarray:
        """Variance of each number."""
        with np.errstate(invalid="ignore"):  # with very few data, some means and variances are infinite
            unsure = self.weight * (1 - self.weight)
            between = np.where(unsure == 0, 0.0, unsure * (mean_of(self.first) - mean_of(self.second)) ** 2)
        return self._weighted(variance_of) + between

    def cdf(self, x: Any) -> np.ndarray:
        """Cumulative distribution function."""
        return self._weighted(lambda part: cdf(part, x))

    def _weighted(self, function: Callable[[dist.Distribution], np.ndarray]) -> np.ndarray:
        return weighted_mean(self.weight, function(self.first), function(self.second))


def weighted_mean(weight: np.ndarray, first: Any, second: Any) -> np.ndarray:
    """Mean of two numbers, of which the first has a weight; one of weight zero adds nothing, even if infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(weight == 0, 0.0, weight * first) + np.where(weight == 1, 0.0, (1 - weight) * second)


# --------------------------------------------------------------------------------------------------
# The distribution of each number of a vector
# --------------------------------------------------------------------------------------------------


def component_marginal(distribution: dist.Distribution) -> dist.Distribution | None:
    """Distribution of each number that a distribution draws, of the draws' shape; None if it is not known."""
    if isinstance(distribution, dist.Dirichlet):
        return dirichlet_marginal(distribution.concentration)
    return None if distribution.event_shape else distribution


def dirichlet_marginal(concentration: object) -> dist.Distribution:
    """Beta distribution of each component of a Dirichlet. A single component is one with certainty."""
    numbers = np.asarray(concentration)
    if numbers.shape[-1] == 1:
        return dist.Delta(np.ones_like(numbers))
    rest = numbers.sum(axis=-1, keepdims=True) - numbers
    # The rest may be rounded to zero, of which the checks of parameters would say that it is not positive.
    return BetaOfLogs(numbers, rest, validate_args=False)


# --------------------------------------------------------------------------------------------------
# Distribution functions at draws, which are uniform numbers if the draws are right
# --------------------------------------------------------------------------------------------------

NEAR_ONE = 1e-9
"""Distance from one below which a large part of a distribution may be rounded to the same number."""

SMALLEST = np.nextafter(0.0, 1.0)
HALF_STEP = np.finfo(np.float64).epsneg / 2
"""Half of the distance between one and the next float below."""


def pit(distribution: dist.Distribution, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Probability integral transform of draws of scalars.

    A draw that was rounded to zero, or to a number next to one, represents an interval. Its result is a uniform number
    between the distribution function at both ends, so that results are uniform even if much of the probability is
    rounded, as with a Beta distribution of concentration 0.01.

    Parameters
    ----------
    distribution : numpyro.distributions.Distribution
        Of scalars.
    x : array, shape (..., *batch_shape)
    rng : numpy.random.Generator

    Returns
    -------
    array, shape of `x`

    Raises
    ------
    NotImplementedError
        If NumPyro has no distribution function.
    """
    found = np.clip(cdf(distribution, x), 0.0, 1.0)
    rounded = (x == 0) | (np.abs(1 - x) < NEAR_ONE)
    if not rounded.any():
        return found
    low, high = _rounding_interval(distribution, x)
    return np.where(rounded, _between(low, high, rng), found)


def _rounding_interval(distribution: dist.Distribution, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distribution function at both ends of the interval that was rounded to `x`."""
    if not isinstance(distribution, dist.Beta):
        return np.where(x == 0, 0.0, cdf(distribution, x)), cdf(distribution, np.where(x == 0, SMALLEST, x))
    a, b = np.asarray(distribution.concentration1), np.asarray(distribution.concentration0)
    # Near one, 1 - x has more digits than x.
    rest = 1 - x
    low, high = (1 - scipy.special.betainc(b, a, np.maximum(rest + step, 0.0)) for step in (HALF_STEP, -HALF_STEP))
    return np.where(x == 0, 0.0, low), np.where(x == 0, scipy.special.betainc(a, b, SMALLEST), high)


def _between(low: np.ndarray, high: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return low + (high - low) * rng.uniform(size=np.shape(low))


@singledispatch
def independent_pit(distribution: dist.Distribution, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draws as numbers that are uniform and independent of each other if the draws are right.

    Scalars go through their distribution function; a vector through those of its components, each given the ones before
    it (Rosenblatt 1952, *Annals of Mathematical Statistics* 23(3), 470-472).

    Parameters
    ----------
    distribution : numpyro.distributions.Distribution
    x : array, shape (..., *batch_shape, *event_shape)
    rng : numpy.random.Generator
        For draws that were rounded; see `pit`.

    Returns
    -------
    array, shape of `x`
        NaN if the others determine a component, and if no distribution function is known.
    """
    nothing = np.full(np.shape(x), np.nan)
    if distribution.event_shape or distribution.is_discrete:
        return nothing
    try:
        return pit(distribution, np.asarray(x), rng)
    except NotImplementedError:
        return nothing


@independent_pit.register
def _(distribution: dist.Independent, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return independent_pit(distribution.base_dist, x, rng)


@independent_pit.register
def _(distribution: dist.MultivariateNormal, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    away = np.asarray(x) - np.asarray(distribution.loc)
    return scipy.special.ndtr(np.linalg.solve(np.asarray(distribution.scale_tril), away[..., None])[..., 0])


@independent_pit.register
def _(distribution: dist.Dirichlet, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each component's share of the rest after those before it is Beta; the others determine the last one."""
    concentration = np.asarray(distribution.concentration)
    a, b = concentration[..., :-1], _sums_from_the_end(concentration)[..., 1:]
    left = _sums_from_the_end(np.asarray(x))
    component, whole, rest = x[..., :-1], left[..., :-1], left[..., 1:]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        share, other, smallest = component / whole, rest / whole, np.minimum(SMALLEST / whole, 1.0)
    found = np.where(
        share < 0.5, scipy.special.betainc(a, b, share), 1 - scipy.special.betainc(b, a, np.minimum(other, 1.0))
    )
    rounded = (component == 0) | (rest == 0)
    if rounded.any():
        # A component below the smallest float has a share below `smallest`, and so has the rest where that is zero.
        low = np.where(rest == 0, 1 - scipy.special.betainc(b, a, smallest), 0.0)
        high = np.where(component == 0, scipy.special.betainc(a, b, smallest), 1.0)
        unknown = whole == 0
        low, high = np.where(unknown, 0.0, low), np.where(unknown, 1.0, high)
        found = np.where(rounded, _between(low, high, rng), found)
    return np.concatenate([found, np.full((*found.shape[:-1], 1), np.nan)], axis=-1)


def _sums_from_the_end(x: np.ndarray) -> np.ndarray:
    return np.cumsum(x[..., ::-1], axis=-1)[..., ::-1]
