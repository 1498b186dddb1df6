"""The coordinates of NUTS, by distribution."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from bayesnb.core.checking import is_jax
from bayesnb.core.deferred import compiled, constraints, dist, jax, jnp, pytree, with_derivative
from bayesnb.core.logarithms import LogProbability

# --------------------------------------------------------------------------------------------------
# Coordinates: the value at a point, the density there, and the point of a value
# --------------------------------------------------------------------------------------------------


class _Position(NamedTuple):
    """A site at a point of the sampler.

    Attributes
    ----------
    value : array or LogProbability
        Value for the program, inside the support even if the exact number underflows.
    stored : array
        Value for the results; a probability may underflow to zero.
    log_density : array, scalar
        Log density of the point under the site's prior, including the change of variables.
    """

    value: Any
    stored: Any
    log_density: Any


class Drawn(NamedTuple):
    """Draws of a site by NumPy.

    Attributes
    ----------
    value : array
    logs : tuple of array
        Logarithms that do not underflow, of a simplex, of a gamma variable, or of a probability and its complement;
        empty for any other distribution.
    """

    value: np.ndarray
    logs: tuple[np.ndarray, ...] = ()


class Coordinate(ABC):
    """A smooth bijection between unconstrained numbers z and the values of a site.

    Subclasses are registered as JAX pytrees. Their arrays tune the map to the target, as a step size does, and may come
    from the closed form. The density is the target's for all their values.
    """

    @abstractmethod
    def at(self, z: Any, prior: "dist.Distribution") -> _Position:
        """Value and log density at z, under JAX.

        Parameters
        ----------
        z : array
        prior : Distribution
            The site's distribution in the program, `Independent` and `ExpandedDistribution` taken off.
        """

    @abstractmethod
    def point(self, drawn: Drawn, prior: "dist.Distribution", rng: np.random.Generator) -> np.ndarray:
        """The z of draws, in NumPy; a random one of them if the map has more dimensions than the site.

        Parameters
        ----------
        drawn : Drawn
            One leading axis.
        prior : Distribution
            As for `at`, given the draws of the sites before.
        rng : numpy.random.Generator
        """


def unconstrained(support: Any, value: Any) -> Any:
    """The point that NumPyro's map takes to a value of the support; `compiled` makes one program of its operations."""
    return dist.biject_to(support).inv(value)


# --------------------------------------------------------------------------------------------------
# A coordinate for the logarithm of a gamma variable of any shape.
#
# Let :math:`e^u \sim \mathrm{Gamma}(a)`. For a shape far below one, u has an exponential tail of scale 1/a on the
# left and falls off like :math:`\exp(-e^u)` on the right. No step size suits both: a long step diverges on the right,
# and short steps do not cross the tail. The coordinate z with
#
# .. math:: u(z) = \log \operatorname{softplus}(z) + (1/a - 1) \log \operatorname{sigmoid}(z), \qquad a \le 1
#
# is near u a on the left and near e^u on the right, so that z has tails of scale one on both sides. For a = 1 it is
# logistic exactly: :math:`P(e^u > t) = e^{-t}` at t = softplus(z).
#
# The shape only tunes the coordinate. u is a smooth increasing function of z for every a, so that the density of z,
# which includes the derivative of u, is that of the target for every a.
# --------------------------------------------------------------------------------------------------

FAR = -30.0
"""Below this z, log softplus(z) equals z to 13 digits, and softplus(z) may underflow."""

NEWTON_STEPS = 60
"""Largest number of steps of the inverse; six are usual."""


def _slope_of_log_sigmoid(primals: Any, tangents: Any) -> Any:
    (z,), (change,) = primals, tangents
    return log_sigmoid(z), _sigmoid_of_minus(z) * change


@with_derivative(_slope_of_log_sigmoid)
def log_sigmoid(z: Any) -> Any:
    """Log of the logistic function, under JAX; twice as fast as JAX's own if value and gradient are compiled."""
    return jnp.minimum(z, 0.0) - jnp.log1p(jnp.exp(-jnp.abs(z)))


def _sigmoid_of_minus(z: Any) -> Any:
    small = jnp.exp(-jnp.abs(z))
    return jnp.where(z > 0, small, 1.0) / (1.0 + small)


def _slope_of_bend(primals: Any, tangents: Any) -> Any:
    # The derivative with respect to the shape is left out, because nothing uses it.
    u, slope, curvature = _bend_of_shape(*primals)
    return (u, jnp.log(slope)), (slope * tangents[0], curvature / slope * tangents[0])


@with_derivative(_slope_of_bend)
def bend(z: Any, excess: Any) -> tuple[Any, Any]:
    """The logarithm u(z), and the logarithm of its derivative, under JAX.

    Parameters
    ----------
    z : array
    excess : array
        1 / a - 1, not negative.
    """
    u, slope, _ = _bend_of_shape(z, excess)
    return u, jnp.log(slope)


def _bend_of_shape(z: Any, excess: Any) -> tuple[Any, Any, Any]:
    """u(z) and its first two derivatives."""
    below = _sigmoid_of_minus(z)
    log_above = log_sigmoid(z)
    far = z < FAR
    # Not z - log_above, which loses its digits for negative z.
    softplus = jnp.maximum(z, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(z)))
    log_softplus = jnp.where(far, z, jnp.log(jnp.where(far, 1.0, softplus)))
    ratio = jnp.exp(log_above - log_softplus)
    slope = ratio + excess * below
    curvature = ratio * (below - ratio) - excess * below * (1.0 - below)
    return log_softplus + excess * log_above, slope, curvature


def unbend(u: np.ndarray, excess: Any) -> np.ndarray:
    """The z whose u(z) is given, in NumPy.

    u(z) is concave, and at most z / a and at most log softplus(z). The larger of the two z from these bounds is to the
    left of the solution, and Newton's method increases from there to the solution.
    """
    u, excess = np.broadcast_arrays(u, excess)
    shape = 1 / (1 + excess)
    z = np.maximum(shape * u, _inverse_softplus(np.exp(np.minimum(u, 700.0))))
    for _ in range(NEWTON_STEPS):
        value, slope = _value_and_slope(z, excess)
        step = (u - value) / slope
        z = z + step
        if np.all(np.abs(step) <= 1e-9 * (1 + np.abs(z))):
            break
    return z


def _value_and_slope(z: np.ndarray, excess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    log_sigmoid = log_expit(z)
    log_softplus = np.where(z < FAR, z, np.log(-log_expit(-np.maximum(z, FAR))))
    return log_softplus + excess * log_sigmoid, np.exp(log_sigmoid - log_softplus) + excess * expit(-z)


def _inverse_softplus(t: np.ndarray) -> np.ndarray:
    """The z with log(1 + e^z) = t; minus infinity where t is zero."""
    with np.errstate(divide="ignore"):
        return t + np.log(-np.expm1(-t))


# --------------------------------------------------------------------------------------------------
# The coordinate of a gamma variable, or of its inverse
# --------------------------------------------------------------------------------------------------

LARGEST_LOG = 700.0
"""Bounds of the logarithms of values for a program, within the range of float64."""


@pytree
class BentGamma(Coordinate):
    r"""A rate (Gamma prior), or the precision of a variance (InverseGamma prior), by its bent logarithm.

    :math:`\log \lambda = u(z) - \log b` with the posterior's rate b. For a shape near one, the rate or precision itself
    is softplus(z) / b, because its logarithm has a long left tail. Where the shape is large, the logarithm has the
    shorter tails, and u = z.

    Attributes
    ----------
    bent : array of bool, or None
        Where u is bent; None if it is nowhere, which saves a sampler half of the time.
    excess : array
        Parameter of the bend: 1 / a - 1 with a the smaller of one and the posterior's shape.
    log_rate : array
        log b.
    """

    bent: Any
    excess: Any
    log_rate: Any

    def at(self, z: Any, prior: "dist.Distribution") -> _Position:
        log_gamma, log_slope = z - self.log_rate, jnp.zeros(())
        if self.bent is not None:
            u, of_bend = bend(z, self.excess)
            log_gamma = jnp.where(self.bent, u, z) - self.log_rate
            log_slope = jnp.where(self.bent, of_bend, 0.0)
        shape, rate = jnp.asarray(prior.concentration), jnp.asarray(prior.rate)
        log_normaliser = shape * jnp.log(rate) - jax.scipy.special.gammaln(shape)
        log_density = (shape * log_gamma - rate * jnp.exp(log_gamma) + log_slope + log_normaliser).sum()
        log_value = -log_gamma if isinstance(prior, dist.InverseGamma) else log_gamma
        value = jnp.exp(jnp.clip(log_value, -LARGEST_LOG, LARGEST_LOG))
        return _Position(value, jnp.exp(jnp.minimum(log_value, LARGEST_LOG)), log_density)

    def point(self, drawn: Drawn, prior: "dist.Distribution", rng: np.random.Generator) -> np.ndarray:
        u = drawn.logs[0] + self.log_rate
        return u if self.bent is None else np.where(self.bent, unbend(u, self.excess), u)


# --------------------------------------------------------------------------------------------------
# The coordinate of a covariance matrix with an inverse Wishart prior
# --------------------------------------------------------------------------------------------------


@pytree
class ScaledCovariance(Coordinate):
    r"""The Cholesky factor of :math:`\Omega`, with :math:`\Sigma = R \Omega R^T` and logarithms on its diagonal.

    R is the Cholesky factor of the posterior's scale matrix, so that :math:`\Omega` is near a multiple of the identity
    for any correlations of the columns. The determinant of the map from :math:`\Omega` to :math:`\Sigma` is
    :math:`|R|^{p + 1}` for p columns.

    Attributes
    ----------
    root : array, shape (..., columns, columns)
        R.
    """

    root: Any

    def at(self, z: Any, prior: "dist.Distribution") -> _Position:
        transform = dist.biject_to(constraints.positive_definite)
        scaled = transform(z)
        value = self.root @ scaled @ jnp.swapaxes(self.root, -1, -2)
        value = (value + jnp.swapaxes(value, -1, -2)) / 2
        log_root = jnp.log(jnp.diagonal(self.root, axis1=-2, axis2=-1)).sum()
        log_density = prior.log_prob(value).sum() + transform.log_abs_det_jacobian(z, scaled).sum()
        return _Position(value, value, log_density + (value.shape[-1] + 1) * log_root)

    def point(self, drawn: Drawn, prior: "dist.Distribution", rng: np.random.Generator) -> np.ndarray:
        half = np.linalg.solve(self.root, drawn.value)
        scaled = np.linalg.solve(self.root, np.swapaxes(half, -1, -2))
        symmetric = (scaled + np.swapaxes(scaled, -1, -2)) / 2
        return np.asarray(compiled(unconstrained, constraints.positive_definite, symmetric))


# --------------------------------------------------------------------------------------------------
# The coordinates of a number, or of a vector, with a normal prior whose spread may depend on another site
# --------------------------------------------------------------------------------------------------


@pytree
class Anchored(Coordinate):
    r"""Distance from the posterior's centre, in posterior standard deviations: :math:`\mu = c + s r z`.

    Here s is the prior's standard deviation, which the program gives and which may depend on another site, and r the
    ratio of the posterior's standard deviation to it. For a vector, s is the Cholesky factor of the prior's covariance
    matrix. In a normal-inverse-gamma posterior, z is standard normal for every variance, and in a
    normal-inverse-Wishart posterior for every covariance matrix. The spread of the mean itself changes with the
    variance, and samplers are slow on such a shape.

    Attributes
    ----------
    centre : array
        c.
    ratio : array
        r, positive.
    """

    centre: Any
    ratio: Any

    def at(self, z: Any, prior: "dist.Distribution") -> _Position:
        away, lead = self.ratio * z, self.centre - prior.loc
        if isinstance(prior, dist.MultivariateNormal):
            from_prior = _solved(prior.scale_tril, lead) + away
            value = self.centre + (prior.scale_tril @ away[..., None])[..., 0]
        else:
            from_prior, value = lead / prior.scale + away, self.centre + prior.scale * away
        log_density = -0.5 * (from_prior**2).sum() + (jnp.log(self.ratio) - 0.5 * jnp.log(2 * jnp.pi)).sum()
        return _Position(value, value, log_density)

    def point(self, drawn: Drawn, prior: "dist.Distribution", rng: np.random.Generator) -> np.ndarray:
        if isinstance(prior, dist.MultivariateNormal):
            return np.asarray(compiled(_solved, prior.scale_tril, drawn.value - self.centre)) / self.ratio
        return (drawn.value - self.centre) / (np.asarray(prior.scale) * self.ratio)


def _solved(factor: Any, vector: Any) -> Any:
    """The vectors x of L x = v, for lower triangular matrices L."""
    factor, vector = jnp.asarray(factor), jnp.asarray(vector)
    shape = jnp.broadcast_shapes(factor.shape[:-1], vector.shape)
    factor = jnp.broadcast_to(factor, (*shape, shape[-1]))
    return jax.scipy.linalg.solve_triangular(factor, jnp.broadcast_to(vector, shape)[..., None], lower=True)[..., 0]


# --------------------------------------------------------------------------------------------------
# The coordinate of any other distribution: NumPyro's map onto its support
# --------------------------------------------------------------------------------------------------


@pytree
class Plain(Coordinate):
    """NumPyro's ``biject_to`` of the support: the logarithm of a positive number, a real number as it is."""

    def at(self, z: Any, prior: "dist.Distribution") -> _Position:
        transform = dist.biject_to(prior.support)
        value = transform(z)
        log_density = prior.log_prob(value).sum() + transform.log_abs_det_jacobian(z, value).sum()
        return _Position(value, value, log_density)

    def point(self, drawn: Drawn, prior: "dist.Distribution", rng: np.random.Generator) -> np.ndarray:
        return np.asarray(compiled(unconstrained, prior.support, drawn.value))


# --------------------------------------------------------------------------------------------------
# Coordinates of probabilities with a Dirichlet prior, or a Beta prior (two categories)
# --------------------------------------------------------------------------------------------------


def concentration_of(prior: Any) -> Any:
    """Concentrations of a Dirichlet, or of a Beta as a Dirichlet of two, first that of the probability itself.

    Returns
    -------
    array, shape (..., categories)
    """
    if isinstance(prior, dist.Beta):
        xp = jnp if is_jax(prior.concentration1) else np
        return xp.stack(xp.broadcast_arrays(prior.concentration1, prior.concentration0), axis=-1)
    return prior.concentration


def _position_of_logs(log_prob: Any, prior: Any, log_density: Any) -> _Position:
    r"""The position of logarithms of probabilities, shape (..., categories).

    `log_density` is what the coordinate adds to :math:`\sum_k \alpha_k \log p_k` and the prior's constant.
    """
    concentration = concentration_of(prior)
    log_normaliser = jax.scipy.special.gammaln(concentration.sum(axis=-1)) - jax.scipy.special.gammaln(
        concentration
    ).sum(axis=-1)
    of_prior = (concentration * log_prob).sum() + jnp.broadcast_to(log_normaliser, log_prob.shape[:-1]).sum()
    value = LogProbability(*((log_prob[..., 0], log_prob[..., 1]) if isinstance(prior, dist.Beta) else (log_prob,)))
    return _Position(value, jnp.exp(value.log), of_prior + log_density)


def _logs_of_draws(drawn: Drawn) -> np.ndarray:
    """Logarithms of the probabilities of draws, shape (..., categories)."""
    return drawn.logs[0] if len(drawn.logs) == 1 else np.stack(drawn.logs, axis=-1)


@pytree
class Sticks(Coordinate):
    r"""Stick-breaking, for concentrations of one and above; for a probability with a Beta prior its logit.

    Category k takes the share sigmoid(z_k) of the rest after the categories before it. In logarithms,

    .. math:: \log p_k = \log \sigma(z_k) + \sum_{j<k} \log \sigma(-z_j), \qquad
              \log \left| \partial p / \partial z \right| = \sum_k \log p_k ,

    so that the density of z is :math:`\sum_k \alpha_k \log p_k`, without any subtraction from one.
    """

    def at(self, z: Any, prior: "dist.Distribution") -> _Position:
        z = z[..., None] if isinstance(prior, dist.Beta) else z
        taken = log_sigmoid(z)
        left = jnp.cumsum(taken - z, axis=-1)
        edge = ((0, 0),) * (z.ndim - 1)
        return _position_of_logs(jnp.pad(taken, (*edge, (0, 1))) + jnp.pad(left, (*edge, (1, 0))), prior, 0.0)

    def point(self, drawn: Drawn, prior: "dist.Distribution", rng: np.random.Generator) -> np.ndarray:
        log_prob = _logs_of_draws(drawn)
        left = np.exp(log_prob[..., :0:-1]).cumsum(axis=-1)[..., ::-1]
        z = log_prob[..., :-1] - np.log(left)
        return z[..., 0] if isinstance(prior, dist.Beta) else z


@pytree
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
    """

    excess: Any
    total: Any

    def at(self, z: Any, prior: "dist.Distribution") -> _Position:
        u, log_slope = bend(z, self.excess)
        log_total = jax.scipy.special.logsumexp(u, axis=-1)
        of_total = (self.total * log_total - jnp.exp(log_total)).sum()
        return _position_of_logs(u - log_total[..., None], prior, of_total + log_slope.sum())

    def point(self, drawn: Drawn, prior: "dist.Distribution", rng: np.random.Generator) -> np.ndarray:
        from bayesnb.families.draw import log_gammas

        log_prob = _logs_of_draws(drawn)
        log_total = log_gammas(np.broadcast_to(self.total, log_prob.shape[:-1]), rng)
        return unbend(log_prob + log_total[..., None], self.excess)
