"""Draws that are right and correlated, as a Markov chain's are, and draws that are spoiled on purpose."""

from collections.abc import Callable

import numpy as np
import numpyro.distributions as dist
import scipy.signal
from scipy.special import ndtr, ndtri

import bayesnb as nb
from bayesnb.families.distributions import BetaOfLogs
from bayesnb.families.formulas import quantile
from bayesnb.model.prior import CLASS_SITE, ModelParameters

Spoil = Callable[[str, np.ndarray], np.ndarray]
"""Changes the uniform numbers, shape (chains, draws, ...), of which a parameter is made; first argument its name."""


def correlated_draws(exact, rng, ess, *, num_chains=4, num_draws=1000, spoil: Spoil = lambda name, u: u):
    """Draws by site, whose every parameter is a stationary autoregressive series in its exact distribution.

    Parameters
    ----------
    exact : ExactPosterior
    rng : numpy.random.Generator
    ess : float
        Effective number of all draws together, no more than their number.
    """
    share = ess / (num_chains * num_draws)
    correlation = (1 - share) / (1 + share)

    def sample(name, distribution):
        # What is given a parameter already drawn has the axes of chains and draws in its batch shape.
        extra = (num_chains, num_draws)
        shape = distribution.batch_shape
        shape = (*extra, *(shape[2:] if shape[:2] == extra else shape), *distribution.event_shape)
        u = spoil(name, ndtr(autoregressive(rng, shape, correlation)))
        return _sticks(distribution, u) if distribution.event_shape else _inverse(distribution, u)

    class_prob = np.asarray(exact.closed_form.classes.prior(sample))
    blocks = tuple(family.prior(sample) for family in exact.families)
    blocks = tuple({name: np.asarray(value) for name, value in block.items()} for block in blocks)
    return exact.model.sites.by_name(ModelParameters(class_prob, blocks))


def autoregressive(rng, shape, correlation):
    """Standard normal series of shape (chains, draws, ...)."""
    noise = rng.standard_normal(shape) * np.sqrt(1 - correlation**2)
    noise[:, 0] /= np.sqrt(1 - correlation**2)
    return scipy.signal.lfilter([1], [1, -correlation], noise, axis=1)


def _inverse(distribution, u):
    if isinstance(distribution, dist.Normal):
        return np.asarray(distribution.loc) + np.asarray(distribution.scale) * ndtri(u)
    return quantile(distribution, u)


def _sticks(dirichlet, u):
    """A Dirichlet vector from its components' shares of what those before them leave; the last number is not used."""
    a = np.asarray(dirichlet.concentration)
    rest = np.cumsum(a[..., ::-1], axis=-1)[..., ::-1]
    share = np.concatenate(
        [quantile(BetaOfLogs(a[..., :-1], rest[..., 1:]), u[..., :-1]), np.ones_like(u[..., :1])], -1
    )
    left = np.cumprod(1 - share, axis=-1)
    return share * np.concatenate([np.ones_like(u[..., :1]), left[..., :-1]], axis=-1)


def gaussians(rng, rows=6, columns=4):
    """A model of measurements and data of two classes, so many rows each."""
    y = np.repeat([0, 1], rows)
    return nb.NaiveBayes(nb.Gaussian()), rng.normal(0.7 * y[:, None], 1.0, (len(y), columns)), y


def coins(rng, rows=6, columns=8):
    """A model of zeros and ones and data of two classes, so many rows each."""
    y = np.repeat([0, 1], rows)
    return nb.NaiveBayes(nb.Bernoulli()), (rng.uniform(size=(len(y), columns)) < 0.3 + 0.3 * y[:, None]) * 1.0, y


def coins_apart(rng):
    """As `coins`, where the classes differ in the first column, so that draws with them changed over are wrong."""
    while True:
        model, X, y = coins(rng)
        if X[y == 0, 0].sum() != X[y == 1, 0].sum():
            return model, X, y


def one_common_uniform(name, u):
    """Every parameter from the first parameter's numbers: the right marginal distributions, and no independence."""
    flat = u.reshape(*u.shape[:2], -1)
    return np.broadcast_to(flat[:, :, :1], flat.shape).reshape(u.shape)


def two_alike(name, u):
    """One parameter from another's numbers."""
    if name == CLASS_SITE:
        return u
    u[:, :, 0, 1] = u[:, :, 0, 0]
    return u


def scored(change: Callable[[np.ndarray], np.ndarray]) -> Spoil:
    """Changes the normal scores of one parameter, the first cell of every parameter but the class probabilities."""

    def spoil(name, u):
        if name in ("mean", "prob"):
            u[:, :, 0, 0] = ndtr(np.clip(change(ndtri(u[:, :, 0, 0])), -8, 8))
        return u

    return spoil


def means_of_other_draws(draws):
    """Means that go with other draws of the variances: one chain's means beside the next chain's variances."""
    return draws | {"x_mean": np.roll(draws["x_mean"], 1, axis=0)}


def classes_swapped(draws):
    """The first column's parameters with the classes changed over."""
    swapped = {site: value.copy() for site, value in draws.items()}
    for site, value in swapped.items():
        if site != CLASS_SITE:
            value[:, :, :, 0] = value[:, :, ::-1, 0]
    return swapped
