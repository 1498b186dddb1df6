"""Distribution functions at draws, which are uniform numbers if the draws are right."""

from functools import singledispatch

import numpy as np
import numpyro.distributions as dist
import scipy.special

from bayesnb.families.cdf import cdf
from bayesnb.families.gamma_vector import GammaVector
from bayesnb.families.inverse_wishart import bartlett_of

__all__ = ["independent_pit", "pit"]

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
    low, high = _ends(distribution, x)
    return np.where(rounded, _between(low, high, rng), found)


@singledispatch
def _ends(distribution: dist.Distribution, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distribution function at both ends of the interval that was rounded to `x`."""
    return np.where(x == 0, 0.0, cdf(distribution, x)), cdf(distribution, np.where(x == 0, SMALLEST, x))


@_ends.register
def _(distribution: dist.Beta, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
def _(distribution: dist.Delta, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.full(np.shape(x), np.nan)


@independent_pit.register
def _(distribution: dist.Independent, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return independent_pit(distribution.base_dist, x, rng)


@independent_pit.register
def _(distribution: GammaVector, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return pit(dist.Gamma(distribution.concentration, distribution.rate), x, rng)


@independent_pit.register
def _(distribution: dist.MultivariateNormal, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    away = np.asarray(x) - np.asarray(distribution.loc)
    return scipy.special.ndtr(np.linalg.solve(np.asarray(distribution.scale_tril), away[..., None])[..., 0])


@independent_pit.register
def _(distribution: dist.InverseWishart, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The elements of Bartlett's triangular matrix in the places of those of the covariance matrix."""
    return bartlett_of(distribution.concentration, distribution.scale_matrix, np.asarray(x))


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
