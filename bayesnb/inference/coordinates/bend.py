r"""A coordinate for the logarithm of a gamma variable of any shape.

Let :math:`e^u \sim \mathrm{Gamma}(a)`. For a shape far below one, u has an exponential tail of scale 1/a on the left
and falls off like :math:`\exp(-e^u)` on the right. No step size suits both: a long step diverges on the right, and
short steps do not cross the tail. The coordinate z with

.. math:: u(z) = \log \operatorname{softplus}(z) + (1/a - 1) \log \operatorname{sigmoid}(z), \qquad a \le 1

is near u a on the left and near e^u on the right, so that z has tails of scale one on both sides. For a = 1 it is
logistic exactly: :math:`P(e^u > t) = e^{-t}` at t = softplus(z).

The shape only tunes the coordinate. u is a smooth increasing function of z for every a, so that the density of z, which
includes the derivative of u, is that of the target for every a.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import expit, log_expit

__all__ = ["bend", "log_sigmoid", "unbend"]

FAR = -30.0
"""Below this, log softplus(z) is z to 13 digits, and softplus(z) may underflow."""

NEWTON_STEPS = 60
"""Largest number of steps of the inverse; six are usual."""


@jax.custom_jvp
def log_sigmoid(z: Any) -> Any:
    """Log of the logistic function, under JAX; twice as fast as JAX's own if value and gradient are compiled."""
    return jnp.minimum(z, 0.0) - jnp.log1p(jnp.exp(-jnp.abs(z)))


@log_sigmoid.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (z,), (change,) = primals, tangents
    return log_sigmoid(z), _sigmoid_of_minus(z) * change


def _sigmoid_of_minus(z: Any) -> Any:
    small = jnp.exp(-jnp.abs(z))
    return jnp.where(z > 0, small, 1.0) / (1.0 + small)


@jax.custom_jvp
def bend(z: Any, excess: Any) -> tuple[Any, Any]:
    """The logarithm u(z), and the logarithm of its derivative, under JAX.

    Parameters
    ----------
    z : array
    excess : array
        1 / a - 1, not negative.
    """
    u, slope, _ = _bend(z, excess)
    return u, jnp.log(slope)


@bend.defjvp
def _(primals: Any, tangents: Any) -> Any:
    # The derivative with respect to the shape is left out, because nothing uses it.
    u, slope, curvature = _bend(*primals)
    return (u, jnp.log(slope)), (slope * tangents[0], curvature / slope * tangents[0])


def _bend(z: Any, excess: Any) -> tuple[Any, Any, Any]:
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
