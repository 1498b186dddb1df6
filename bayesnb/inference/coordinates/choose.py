"""Choice of a site's coordinate, by the type of its prior distribution, for every family."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpyro.distributions as dist
from scipy.special import gammaln

from bayesnb.families.beta import Beta
from bayesnb.inference.coordinates.base import Coordinate
from bayesnb.inference.coordinates.covariance import ScaledCovariance
from bayesnb.inference.coordinates.draws import Walk, distributions, draw_sites
from bayesnb.inference.coordinates.gamma import BentGamma
from bayesnb.inference.coordinates.normal import Anchored, AnchoredVector
from bayesnb.inference.coordinates.plain import Plain
from bayesnb.inference.coordinates.simplex import BentSimplex, Logit, Sticks, concentration_of

__all__ = ["choose"]

SHAPE_FOR_LOGARITHM = 3.0
"""The coordinate of gamma variables is a logarithm from this shape on, and a softplus below. Of 20 fits of a Gaussian
class, three have a divergence with the logarithm at shape 2 and none with softplus; at shape 26 none and two."""


def choose(
    prior: Walk, posterior: Walk, labelled: Walk, closed: Collection[str], rng: np.random.Generator
) -> dict[str, Coordinate]:
    """A coordinate for every site.

    Parameters
    ----------
    prior, posterior, labelled : Walk
        As in `Walks`.
    closed : collection of str
        Sites that have a closed form given the labels; for the others both posteriors are the prior.
    rng : numpy.random.Generator
        For draws of sites on which other sites depend.
    """
    # Two draws along a leading axis: distributions that depend on another site have that axis too.
    values = {name: drawn.value for name, drawn in draw_sites(posterior, rng, 2).items()}
    found = [distributions(walk, values) for walk in (prior, posterior, labelled)]
    return {
        name: _coordinate(_Site(value.shape[1:], name in closed, *(of_walk[name] for of_walk in found)))
        for name, value in values.items()
    }


@dataclass(frozen=True)
class _Site:
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


def _coordinate(site: _Site) -> Coordinate:
    return CHOICES.get(type(site.prior), _plain)(site)


def _plain(_: _Site) -> Coordinate:
    return Plain()


def _of_simplex(site: _Site) -> Coordinate:
    prior, posterior, labelled = map(concentration_of, (site.prior, site.posterior, site.labelled))
    shape = (*site.shape, 2) if isinstance(site.prior, dist.Beta) else site.shape
    normaliser = None
    if np.ndim(prior) <= len(shape):
        of_each = gammaln(prior.sum(axis=-1)) - gammaln(prior).sum(axis=-1)
        normaliser = np.broadcast_to(of_each, shape[:-1]).sum()
    if shape[-1] < 2 or np.min(prior) >= 1:
        return Logit(normaliser) if isinstance(site.prior, dist.Beta) else Sticks(normaliser)
    return BentSimplex(_excess(_steady(labelled, shape)), _steady(posterior, shape).sum(axis=-1), normaliser)


def _of_gamma(site: _Site) -> Coordinate:
    return Plain() if np.min(site.prior.concentration) >= 1 else _of_inverse_gamma(site)


def _of_inverse_gamma(site: _Site) -> Coordinate:
    shape, rate = site.prior.concentration, site.prior.rate
    normaliser = None
    if max(np.ndim(shape), np.ndim(rate)) <= len(site.shape):
        normaliser = np.broadcast_to(shape * np.log(rate) - gammaln(shape), site.shape).sum()
    given, labelled = (_steady(of.concentration, site.shape) for of in (site.posterior, site.labelled))
    log_rate, bent = np.log(_steady(site.posterior.rate, site.shape)), given < SHAPE_FOR_LOGARITHM
    if not bent.any():
        return BentGamma(None, None, log_rate, normaliser)
    return BentGamma(bent, _excess(labelled), log_rate, normaliser)


def _of_normal(site: _Site) -> Coordinate:
    if not site.closed:
        return Plain()
    ratio = np.asarray(site.posterior.scale) / np.asarray(site.prior.scale)
    return Anchored(_steady(site.posterior.loc, site.shape), _steady(ratio, site.shape))


def _of_normal_vector(site: _Site) -> Coordinate:
    if not site.closed:
        return Plain()
    # Both covariance matrices are multiples of one.
    first = (np.asarray(of.scale_tril)[..., 0, :1] for of in (site.posterior, site.prior))
    return AnchoredVector(_steady(site.posterior.loc, site.shape), _steady(np.divide(*first), site.shape))


def _of_covariance(site: _Site) -> Coordinate:
    return ScaledCovariance(np.linalg.cholesky(_steady(site.posterior.scale_matrix, site.shape)))


def _steady(hyperparameter: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A hyperparameter for every element of a value; its average if it depends on another site."""
    array = np.asarray(hyperparameter, dtype=np.float64)
    return np.broadcast_to(array.mean(axis=0) if array.ndim > len(shape) else array, shape)


def _excess(shape: np.ndarray) -> np.ndarray:
    """`excess` of the bend for gamma variables of these shapes."""
    return 1 / np.minimum(1.0, shape) - 1


CHOICES = {
    dist.Dirichlet: _of_simplex,
    dist.Beta: _of_simplex,
    Beta: _of_simplex,
    dist.Gamma: _of_gamma,
    dist.InverseGamma: _of_inverse_gamma,
    dist.Normal: _of_normal,
    dist.MultivariateNormal: _of_normal_vector,
    dist.InverseWishart: _of_covariance,
}
"""By the type itself: a subclass may have another density."""
