"""Coordinates of a whole model: choice, density, initial state, draws."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from bayesnb.core.deferred import dist, numpyro
from bayesnb.families.distributions import BetaOfLogs
from bayesnb.families.draw import draw, log_gammas
from bayesnb.families.family import Sample
from bayesnb.inference.coordinates import (
    Anchored,
    BentGamma,
    BentSimplex,
    Coordinate,
    Drawn,
    Plain,
    ScaledCovariance,
    Sticks,
    concentration_of,
)

# --------------------------------------------------------------------------------------------------
# Draws of all sites of a program by NumPy, with logarithms of numbers that may underflow
# --------------------------------------------------------------------------------------------------

Walk = Callable[[Sample], None]
"""Calls ``sample(site, distribution)`` for every site of a program, in order."""


def _unwrapped(distribution: dist.Distribution) -> dist.Distribution:
    """The base distribution inside `Independent` and `ExpandedDistribution`."""
    while isinstance(distribution, dist.Independent | dist.ExpandedDistribution):
        distribution = distribution.base_dist
    return distribution


def distributions(walk: Walk, values: Mapping[str, np.ndarray]) -> dict[str, dist.Distribution]:
    """The distribution of each site, given the values of those before it."""
    found = {}

    def note(name: str, distribution: dist.Distribution) -> np.ndarray:
        found[name] = _unwrapped(distribution)
        return values[name]

    walk(note)
    return found


def draw_sites(walk: Walk, rng: np.random.Generator, number: int) -> dict[str, Drawn]:
    """Independent draws of every site, leading axis the draw."""
    depth: dict[str, int] = {}

    def one(name: str, distribution: dist.Distribution) -> np.ndarray:
        value = draw(distribution, rng)
        depth[name] = value.ndim
        return value

    drawn: dict[str, Drawn] = {}

    def many(name: str, distribution: dist.Distribution) -> np.ndarray:
        # A distribution that depends on an earlier site already has the leading axis of its draws.
        has_axis = len(distribution.batch_shape) + len(distribution.event_shape) > depth[name]
        leading, base = () if has_axis else (number,), _unwrapped(distribution)
        if in_logs := IN_LOGS.get(type(base)):
            drawn[name] = in_logs(base, rng, (*leading, *distribution.batch_shape, *distribution.event_shape))
        else:
            drawn[name] = Drawn(draw(distribution, rng, leading))
        return drawn[name].value

    walk(one)
    walk(many)
    return drawn


def _draw_dirichlet(distribution: Any, rng: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    log_gamma = log_gammas(distribution.concentration, rng, shape)
    log_prob = log_gamma - logsumexp(log_gamma, axis=-1, keepdims=True)
    return Drawn(np.exp(log_prob), (log_prob,))


def _beta(distribution: Any, rng: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    ones, zeros = (log_gammas(a, rng, shape) for a in (distribution.concentration1, distribution.concentration0))
    total = np.logaddexp(ones, zeros)
    return Drawn(np.exp(ones - total), (ones - total, zeros - total))


def _gamma(distribution: Any, rng: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    log_gamma = log_gammas(distribution.concentration, rng, shape) - np.log(distribution.rate)
    return Drawn(np.exp(log_gamma), (log_gamma,))


def _inverse_gamma(distribution: Any, rng: np.random.Generator, shape: tuple[int, ...]) -> Drawn:
    precision = _gamma(distribution, rng, shape)
    return Drawn(1 / precision.value, precision.logs)


IN_LOGS = {
    dist.Dirichlet: _draw_dirichlet,
    dist.Beta: _beta,
    BetaOfLogs: _beta,
    dist.Gamma: _gamma,
    dist.InverseGamma: _inverse_gamma,
}
"""By the type itself: a subclass may have another density."""


# --------------------------------------------------------------------------------------------------
# Choice of a site's coordinate, by the type of its prior distribution, for every family
# --------------------------------------------------------------------------------------------------

SHAPE_FOR_LOGARITHM = 3.0
"""The coordinate of gamma variables is a logarithm from this shape on, and a softplus below. Of 20 fits of a Gaussian
class, three have a divergence with the logarithm at shape 2 and none with softplus; at shape 26 none and two."""


@dataclass(frozen=True)
class _MovingSite:
    """Distributions of a site.

    Attributes
    ----------
    shape : tuple of int
        Of a value.
    closed : bool
        Whether it has a closed form given the labels.
    prior, posterior, labelled : Distribution
    """

    shape: tuple[int, ...]
    closed: bool
    prior: Any
    posterior: Any
    labelled: Any


def _of_simplex(site: _MovingSite) -> Coordinate:
    prior, posterior, labelled = map(concentration_of, (site.prior, site.posterior, site.labelled))
    shape = (*site.shape, 2) if isinstance(site.prior, dist.Beta) else site.shape
    if shape[-1] < 2 or np.min(prior) >= 1:
        return Sticks()
    return BentSimplex(_bend_excess(_steady(labelled, shape)), _steady(posterior, shape).sum(axis=-1))


def _of_gamma(site: _MovingSite) -> Coordinate:
    return Plain() if np.min(site.prior.concentration) >= 1 else _of_inverse_gamma(site)


def _of_inverse_gamma(site: _MovingSite) -> Coordinate:
    given, labelled = (_steady(of.concentration, site.shape) for of in (site.posterior, site.labelled))
    log_rate, bent = np.log(_steady(site.posterior.rate, site.shape)), given < SHAPE_FOR_LOGARITHM
    return BentGamma(bent, _bend_excess(labelled), log_rate) if bent.any() else BentGamma(None, None, log_rate)


def _of_normal(site: _MovingSite) -> Coordinate:
    if not site.closed:
        return Plain()
    pair = site.posterior, site.prior
    if isinstance(site.prior, dist.Normal):
        ratio = np.divide(*(np.asarray(of.scale) for of in pair))
    else:
        # Both covariance matrices are multiples of one.
        ratio = np.divide(*(np.asarray(of.scale_tril)[..., 0, :1] for of in pair))
    return Anchored(_steady(site.posterior.loc, site.shape), _steady(ratio, site.shape))


def _of_covariance(site: _MovingSite) -> Coordinate:
    return ScaledCovariance(np.linalg.cholesky(_steady(site.posterior.scale_matrix, site.shape)))


def _steady(hyperparameter: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A hyperparameter for every element of a value; its average if it depends on another site."""
    array = np.asarray(hyperparameter, dtype=np.float64)
    return np.broadcast_to(array.mean(axis=0) if array.ndim > len(shape) else array, shape)


def _bend_excess(shape: np.ndarray) -> np.ndarray:
    """`excess` of the bend for gamma variables of these shapes."""
    return 1 / np.minimum(1.0, shape) - 1


CHOICES = {
    dist.Dirichlet: _of_simplex,
    dist.Beta: _of_simplex,
    BetaOfLogs: _of_simplex,
    dist.Gamma: _of_gamma,
    dist.InverseGamma: _of_inverse_gamma,
    dist.Normal: _of_normal,
    dist.MultivariateNormal: _of_normal,
    dist.InverseWishart: _of_covariance,
}
"""By the type itself: a subclass may have another density."""


# --------------------------------------------------------------------------------------------------
# A program's log density as a function of the coordinates of its sites
# --------------------------------------------------------------------------------------------------


class _At(numpyro.primitives.Messenger):
    """Runs a NumPyro program at a point: sets every site, and adds up priors, changes of variables and factors.

    Attributes
    ----------
    log_density : array, scalar
    stored : dict of array
        Values of the sites, for the results.
    """

    def __init__(self, coordinates: Mapping[str, Coordinate], point: Mapping[str, Any]) -> None:
        super().__init__()
        self.coordinates, self.point = coordinates, point
        self.log_density: Any = 0.0
        self.stored: dict[str, Any] = {}

    def process_message(self, msg: dict[str, Any]) -> None:
        if msg["type"] != "sample":
            return
        if msg["is_observed"]:
            self.log_density = self.log_density + msg["fn"].log_prob(msg["value"]).sum()
            return
        name = msg["name"]
        position = self.coordinates[name].at(self.point[name], _unwrapped(msg["fn"]))
        self.log_density = self.log_density + position.log_density
        self.stored[name] = position.stored
        msg["value"] = position.value


def run_at(
    program: Callable, arguments: tuple[Any, ...], coordinates: Mapping[str, Coordinate], point: Mapping[str, Any]
) -> _At:
    """A NumPyro program without plates, run at unconstrained numbers by site."""
    at = _At(coordinates, point)
    with at:
        program(*arguments)
    return at


def potential(*program_and_point: Any) -> Any:
    """Minus the log density of a point, the potential energy of a Hamiltonian sampler; parameters as for `run_at`."""
    return -run_at(*program_and_point).log_density


# --------------------------------------------------------------------------------------------------
# Initial state of a sampler: coordinates, first points and scale
# --------------------------------------------------------------------------------------------------

SCALE_CELLS = 2**23
"""Largest number of values in the draws that determine the scale: a thousand draws unless the model is wide."""


class Walks(NamedTuple):
    """The distribution of every site under four conditions.

    Attributes
    ----------
    prior : Walk
    posterior : Walk
        The closed form, or an approximation of the posterior; shows where most of the posterior is.
    labelled : Walk
        The closed form given only the labelled rows; shows how heavy the tails are, because a row without a label need
        not belong to a class.
    starts : sequence of Walk
        Wider than the posterior: one for all chains, or one for each.
    """

    prior: Walk
    posterior: Walk
    labelled: Walk
    starts: Sequence[Walk]


class Beginning(NamedTuple):
    """Initial state of a sampler, by site.

    Attributes
    ----------
    coordinates : dict of Coordinate
    points : dict of array
        First points of the chains, leading axis the chain.
    variance : dict of array
        Variance of the coordinates, close to that of the target.
    """

    coordinates: dict[str, Coordinate]
    points: dict[str, np.ndarray]
    variance: dict[str, np.ndarray]


def begin(walks: Walks, closed: Collection[str], rng: np.random.Generator, number: int) -> Beginning:
    """Choose coordinates, draw the first points of the chains, and measure the scale.

    Parameters
    ----------
    walks : Walks
    closed : collection of str
        Sites that have a closed form given the labels; for the others all walks are the prior.
    rng : numpy.random.Generator
    number : int
    """
    # Two draws along a leading axis: distributions that depend on another site have that axis too.
    values = {name: drawn.value for name, drawn in draw_sites(walks.posterior, rng, 2).items()}
    found = [distributions(walk, values) for walk in (walks.prior, walks.posterior, walks.labelled)]
    coordinates: dict[str, Coordinate] = {}
    for name, value in values.items():
        site = _MovingSite(value.shape[1:], name in closed, *(of_walk[name] for of_walk in found))
        coordinates[name] = CHOICES.get(type(site.prior), lambda site: Plain())(site)

    def points(walk: Walk, number: int) -> dict[str, np.ndarray]:
        drawn = draw_sites(walk, rng, number)
        priors = distributions(walks.prior, {name: of_site.value for name, of_site in drawn.items()})
        return {name: coordinates[name].point(drawn[name], priors[name], rng) for name in drawn}

    of_chains = [points(walk, number // len(walks.starts)) for walk in walks.starts]
    starts = {name: np.concatenate([chain[name] for chain in of_chains]) for name in of_chains[0]}
    size = sum(value[0].size for value in starts.values())
    scale = points(walks.posterior, max(100, min(1000, SCALE_CELLS // max(1, size))))
    return Beginning(coordinates, starts, {name: value.var(axis=0) for name, value in scale.items()})
