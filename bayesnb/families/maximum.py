"""Newton's method for all classes and columns at once."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from bayesnb.core.deferred import dist, in_float64, jax, jit, jnp
from bayesnb.families.family import Family

MAX_STEPS = 100
"""Largest number of steps; about ten are usual."""

LONGEST_STEP = 2.0
"""Largest change of a coordinate in one step."""

FARTHEST_COORDINATE = 32.0
"""Distance of a coordinate, such as the logarithm of a concentration, from its start at which the search is given up, a
factor of 8e13."""

FLAT = 1e-10
"""With a smaller curvature of the density, a maximum is not unique."""

ROUNDING_OF_DENSITY = 1e-12
"""Relative error of a density."""

NEAR = 0.1
"""A step of smaller expected gain is taken untested: rounding may hide the gain of a density with large terms."""

SETTLED = 1e-12
"""The search ends at a smaller expected gain, a millionth of a standard deviation from the maximum."""

ROUNDED = 1e-6
"""The search ends at a smaller expected gain if a step has not lowered it: the rest is rounding of the slopes."""


@in_float64
def maximum(family: Family, statistics: Any, start: Mapping[str, Any], *, with_prior: bool) -> dict[str, np.ndarray]:
    """Parameters at which the likelihood, or the posterior density, has its maximum.

    The density of the parameters as named is maximised. Newton's method moves in unconstrained coordinates, the
    logarithm of a positive number, with the absolute values of the Hessian's eigenvalues, so that every step goes
    uphill (Nocedal and Wright 2006, *Numerical Optimization*, 2nd edition, section 3.4). JAX differentiates.

    Parameters
    ----------
    family : Family
        Every hyperparameter a number; parameters of shape (classes, columns), independent of each other's cells.
    statistics : Statistics
    start : mapping
        A first value of each parameter, shape (classes, columns); where the support does not hold it, the coordinate is
        zero.
    with_prior : bool
        Whether the prior density counts.

    Returns
    -------
    dict of array, shape (classes, columns)
        NaN in all parameters of a class and column whose density has no maximum, or more than one.
    """
    of = partial(_expansion, family, statistics, float(with_prior))
    first = z = np.nan_to_num(np.asarray(_coordinates(family, dict(start))), posinf=0.0, neginf=0.0)
    height, gradient, hessian = map(np.asarray, of(z))
    settled, before = np.zeros(height.shape, bool), np.full(height.shape, np.inf)
    for _ in range(MAX_STEPS):
        step, curvature, gain = _step(gradient, hessian)
        settled |= (gain <= SETTLED) | ((gain <= ROUNDED) & (gain >= before))
        step, before = np.where(settled, 0.0, step), gain
        if (settled | (np.abs(z - first) > FARTHEST_COORDINATE).any(axis=0)).all():
            break
        for _ in range(30):
            proposed, *slopes = map(np.asarray, of(z + step))
            worse = (gain > NEAR) & ~(proposed >= height - ROUNDING_OF_DENSITY * np.abs(height))
            if not worse.any():
                break
            step = np.where(worse, step / 4, step)
        z = z + step
        height, (gradient, hessian) = proposed, slopes
    found = settled & (np.abs(z - first) <= FARTHEST_COORDINATE).all(axis=0) & (curvature > FLAT)
    return {name: np.where(found, np.asarray(value), np.nan) for name, value in _values_at(family, z).items()}


def _step(gradient: np.ndarray, hessian: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Newton's step (numbers, classes, columns), the least curvature and the expected gain (classes, columns)."""
    curvature, axes = np.linalg.eigh(np.moveaxis(hessian, (0, 1), (-2, -1)))
    along = np.einsum("...ik,i...->...k", axes, gradient) / np.maximum(np.abs(curvature), FLAT)
    step = np.einsum("...ik,...k->i...", axes, along)
    gain = 0.5 * (gradient * step).sum(axis=0)
    step *= np.minimum(1.0, LONGEST_STEP / np.maximum(np.abs(step).max(axis=0), LONGEST_STEP))
    return step, -curvature.max(axis=-1), gain


@jit
def _expansion(family: Family, statistics: Any, power: Any, z: Any) -> tuple[Any, Any, Any]:
    """Log density at a point, the prior's to a power, its gradient and its Hessian, which link no two classes."""

    def log_density(z: Any) -> Any:
        values, log_prior = _at(family, z)
        height = family.log_likelihood(values, statistics) + power * log_prior
        return height.sum(), height

    (gradient, height), along = jax.linearize(jax.grad(log_density, has_aux=True), z)
    units = jnp.broadcast_to(jnp.eye(len(z))[:, :, None, None], (len(z), *z.shape))
    return height, gradient, jax.vmap(lambda unit: along(unit)[0])(units)


def _at(family: Family, z: Any) -> tuple[dict[str, Any], Any]:
    """Parameters at a point, and their log density under the prior."""
    values: dict[str, Any] = {}
    densities = []

    def place(name: str, distribution: "dist.Distribution") -> Any:
        values[name] = dist.biject_to(distribution.support)(z[len(values)])
        densities.append(distribution.log_prob(values[name]))
        return values[name]

    family.prior(place)
    return values, sum(densities)


@jit
def _values_at(family: Family, z: Any) -> dict[str, Any]:
    return _at(family, z)[0]


@jit
def _coordinates(family: Family, values: dict[str, Any]) -> Any:
    found = []

    def note(name: str, distribution: "dist.Distribution") -> Any:
        found.append(dist.biject_to(distribution.support).inv(values[name]))
        return values[name]

    family.prior(note)
    return jnp.stack(found)
