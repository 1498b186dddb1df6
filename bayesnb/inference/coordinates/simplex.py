"""Coordinates of probabilities with a Dirichlet prior, or a Beta prior (two categories)."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax.scipy.special import gammaln, logsumexp

from bayesnb.families.draw import log_gammas
from bayesnb.families.log_probability import LogProbability
from bayesnb.inference.coordinates.base import Coordinate, Drawn, Position
from bayesnb.inference.coordinates.bend import bend, log_sigmoid, unbend

__all__ = ["BentSimplex", "Logit", "Sticks", "concentration_of"]


def concentration_of(prior: Any) -> Any:
    """Concentrations of a Dirichlet, or of a Beta as a Dirichlet of two, first that of the probability itself.

    Returns
    -------
    array, shape (..., categories)
    """
    if isinstance(prior, dist.Beta):
        xp = jnp if isinstance(prior.concentration1, jax.Array) else np
        return xp.stack(xp.broadcast_arrays(prior.concentration1, prior.concentration0), axis=-1)
    return prior.concentration


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Logit(Coordinate):
    r"""The logit of a probability with a Beta prior, for concentrations of one and above.

    With :math:`\log p = \log \sigma(z)` and :math:`\log(1 - p) = \log p - z`, the density of z is
    :math:`a \log p + b \log(1 - p)`: the change of variables adds one to both exponents of the prior.

    Attributes
    ----------
    log_normaliser : array, scalar, or None
        Of the prior's density; None where a concentration depends on another site.
    """

    log_normaliser: Any

    def at(self, z: Any, prior: dist.Distribution) -> Position:
        log_prob = log_sigmoid(z)
        log_rest = log_prob - z
        log_density = (prior.concentration1 * log_prob + prior.concentration0 * log_rest).sum()
        log_density += _log_normaliser(self.log_normaliser, concentration_of(prior), z.shape)
        return Position(LogProbability(log_prob, log_rest), jnp.exp(log_prob), log_density)

    def point(self, drawn: Drawn, prior: dist.Distribution, rng: np.random.Generator) -> np.ndarray:
        return drawn.logs[0] - drawn.logs[1]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sticks(Coordinate):
    r"""Stick-breaking, for concentrations of one and above.

    Category k takes the share sigmoid(z_k) of the rest after the categories before it. In logarithms,

    .. math:: \log p_k = \log \sigma(z_k) + \sum_{j<k} \log \sigma(-z_j), \qquad
              \log \left| \partial p / \partial z \right| = \sum_k \log p_k ,

    so that the density of z is :math:`\sum_k \alpha_k \log p_k`, without any subtraction from one.

    Attributes
    ----------
    log_normaliser : array, scalar, or None
        As for `Logit`.
    """

    log_normaliser: Any

    def at(self, z: Any, prior: dist.Distribution) -> Position:
        taken = log_sigmoid(z)
        left = jnp.cumsum(taken - z, axis=-1)
        edge = ((0, 0),) * (z.ndim - 1)
        log_prob = jnp.pad(taken, (*edge, (0, 1))) + jnp.pad(left, (*edge, (1, 0)))
        log_density = (prior.concentration * log_prob).sum()
        log_density += _log_normaliser(self.log_normaliser, prior.concentration, log_prob.shape[:-1])
        return Position(LogProbability(log_prob), jnp.exp(log_prob), log_density)

    def point(self, drawn: Drawn, prior: dist.Distribution, rng: np.random.Generator) -> np.ndarray:
        log_prob = drawn.logs[0]
        left = np.exp(log_prob[..., :0:-1]).cumsum(axis=-1)[..., ::-1]
        return log_prob[..., :-1] - np.log(left)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BentSimplex(Coordinate):
    r"""Proportions of independent gamma variables, each in its bent coordinate, for concentrations below one.

    There are as many z as categories: with :math:`u_k = u(z_k)` of `bend` and :math:`s = \log \sum_k e^{u_k}`,

    .. math:: \log p_k = u_k - s .

    The proportions p and s are independent under the density

    .. math:: \log f(p) + \sum_k \log p_k + h(s) + \sum_k \log u'(z_k), \qquad h(s) = B s - e^s ,

    where f is the density of p, prior and likelihood, and h that of the logarithm of a Gamma(B) variable. Any h leaves
    the distribution of p as it is; with B the sum of the posterior's concentrations, the :math:`e^{u_k}` are
    independent gamma variables.

    Attributes
    ----------
    excess : array, shape (..., categories)
        Parameters of the bends: 1 / a - 1 with a the smaller of one and the posterior's concentration.
    total : array, shape (...)
        B.
    log_normaliser : array, scalar, or None
        As for `Logit`.
    """

    excess: Any
    total: Any
    log_normaliser: Any

    def at(self, z: Any, prior: dist.Distribution) -> Position:
        u, log_slope = bend(z, self.excess)
        log_total = logsumexp(u, axis=-1)
        log_prob = u - log_total[..., None]
        concentration = concentration_of(prior)
        log_density = (
            (concentration * log_prob).sum()
            + (self.total * log_total - jnp.exp(log_total)).sum()
            + log_slope.sum()
            + _log_normaliser(self.log_normaliser, concentration, log_total.shape)
        )
        parts = (log_prob[..., 0], log_prob[..., 1]) if isinstance(prior, dist.Beta) else (log_prob,)
        value = LogProbability(*parts)
        return Position(value, jnp.exp(value.log), log_density)

    def point(self, drawn: Drawn, prior: dist.Distribution, rng: np.random.Generator) -> np.ndarray:
        log_prob = drawn.logs[0] if len(drawn.logs) == 1 else np.stack(drawn.logs, axis=-1)
        log_total = log_gammas(np.broadcast_to(self.total, log_prob.shape[:-1]), rng)
        return unbend(log_prob + log_total[..., None], self.excess)


def _log_normaliser(known: Any, concentration: Any, shape: tuple[int, ...]) -> Any:
    """Log of the product of the constants of a site's densities, one for each element of `shape`."""
    if known is not None:
        return known
    of_each = gammaln(concentration.sum(axis=-1)) - gammaln(concentration).sum(axis=-1)
    return jnp.broadcast_to(of_each, shape).sum()
