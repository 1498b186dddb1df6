"""Formulas that run on NumPy arrays and on JAX arrays.

The closed forms are plain arithmetic and a few special functions, so that the same code runs on NumPy arrays (instant,
float64, no compilation) and on JAX arrays (inside ``jit``, ``grad`` and ``vmap``).
"""

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np
import scipy.special

__all__ = [
    "close",
    "digamma_rise",
    "in_float64",
    "log",
    "log_beta",
    "log_rising",
    "namespace",
    "sqrt",
    "stirling_rest",
    "to_numpy",
]


HALF_LOG_2_PI = 0.5 * float(np.log(2 * np.pi))


def namespace(*arrays: Any) -> tuple[ModuleType, ModuleType]:
    """Array library and special functions that fit the given values.

    Parameters
    ----------
    *arrays
        Values of a formula.

    Returns
    -------
    tuple of module
        ``(jax.numpy, jax.scipy.special)`` if any value is a JAX array or tracer, else
        ``(numpy, scipy.special)``.
    """
    if any(isinstance(array, jax.Array) for array in arrays):
        return jnp, jax.scipy.special
    return np, scipy.special


def close(one: Any, other: Any) -> bool:
    """Whether two trees have the same structure and the same numbers, up to rounding."""
    structures: list[Any] = [jax.tree.structure(tree) for tree in (one, other)]
    return bool(structures[0] == structures[1]) and all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-9, atol=1e-12)
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


def log(values: Any) -> np.ndarray:
    """Elementwise logarithm; log(0) is -inf, without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(values))


def sqrt(values: Any) -> Any:
    """Elementwise square root, in the array library of the values."""
    return namespace(values)[0].sqrt(values)


def log_beta(a: Any, b: Any) -> Any:
    """Log of the Beta function.

    SciPy's ``betaln`` is accurate if one argument is large. JAX's loses half of its digits for small arguments, so that
    JAX arrays use log-gamma functions.
    """
    xp, special = namespace(a, b)
    if xp is np:
        return special.betaln(a, b)
    # One call of the function, whose derivatives are long formulas, compiles in a third of the time of three.
    of_a, of_b, of_sum = special.gammaln(jnp.stack(jnp.broadcast_arrays(a, b, a + b)))
    return of_a + of_b - of_sum


def log_rising(a: Any, x: Any) -> Any:
    r"""Log of the rising factorial, :math:`\log\Gamma(a + x) - \log\Gamma(a)`, for a > 0 and a + x > 0.

    For a >= 16 it is a difference of two Stirling series. No term of it is larger than the result if `a` is large, so
    that the relative error is a few roundings. Do not subtract a number of nearly the same size from the result: the
    digits cancel. The forms in `families.large_counts` avoid that.
    """
    xp, _ = namespace(a, x)
    if xp is jnp:
        dtype = jnp.result_type(a, x, 1.0)
        return _rising_in_jax(jnp.asarray(a, dtype), jnp.asarray(x, dtype))
    small = a < 16
    if np.all(small):
        return _rising_by_log_gamma(a, x)
    by_series = _rising_by_series(a, x)
    return np.where(small, _rising_by_log_gamma(a, x), by_series) if np.any(small) else by_series


@jax.custom_jvp
@jax.jit
def _rising_in_jax(a: Any, x: Any) -> Any:
    # What both branches need is outside them, so that it is compiled once.
    small, by_series = a < 16, _rising_by_series(a, x)
    return jax.lax.cond(
        jnp.any(small), lambda: jnp.where(small, _rising_by_log_gamma(a, x), by_series), lambda: by_series
    )


@_rising_in_jax.defjvp
def _(at: tuple[Any, Any], direction: tuple[Any, Any]) -> tuple[Any, Any]:
    """Derivatives by digamma functions. They compile in a quarter of the time of the formulas' own derivatives."""
    (a, x), (da, dx) = at, direction
    return _rising_in_jax(a, x), digamma_rise(a, x) * da + jax.scipy.special.digamma(a + x) * dx


def digamma_rise(a: Any, x: Any) -> Any:
    """Difference of the digamma functions of a + x and of a, under JAX, for a > 0 and x >= 0.

    For a >= 16 by series, as in `log_rising`: the functions themselves are nearly equal if a is large and x small.
    """
    large = jnp.maximum(a, 16.0)
    by_series = jnp.log1p(x / large) + (_digamma_rest(large + x) - _digamma_rest(large))
    return jnp.where(a < 16, jax.scipy.special.digamma(a + x) - jax.scipy.special.digamma(a), by_series)


def _digamma_rest(z: Any) -> Any:
    """Difference between the digamma function and the logarithm, for z >= 16, with an error of 1e-15."""
    square = 1 / z**2
    return -0.5 / z - square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))


def _rising_by_log_gamma(a: Any, x: Any) -> Any:
    _, special = namespace(a, x)
    return special.gammaln(a + x) - special.gammaln(a)


def _rising_by_series(a: Any, x: Any) -> Any:
    """`log_rising` for a >= 16; for smaller a, a finite number without meaning."""
    xp, _ = namespace(a, x)
    large = xp.maximum(a, 16.0)
    logs = (large + x - 0.5) * xp.log1p(x / large) + x * (xp.log(large) - 1)
    return logs + (stirling_rest(large + x) - _rest_by_series(large))


def stirling_rest(z: Any) -> Any:
    r"""Difference between the log-gamma function and Stirling's formula, for z > 0.

    .. math:: \log\Gamma(z) - (z - \tfrac12) \log z + z - \tfrac12 \log 2\pi

    For z >= 16 by the series 1/(12 z) - 1/(360 z³) + ..., with an error of 1e-14. For smaller z by the log-gamma
    function.
    """
    xp, _ = namespace(z)
    if xp is jnp:
        return _rest_in_jax(z)
    small, by_series = z < 16, _rest_by_series(z)
    return np.where(small, _rest_of_small(z), by_series) if np.any(small) else by_series


@jax.jit
def _rest_in_jax(z: Any) -> Any:
    small, by_series = z < 16, _rest_by_series(z)
    return jax.lax.cond(jnp.any(small), lambda: jnp.where(small, _rest_of_small(z), by_series), lambda: by_series)


def _rest_of_small(z: Any) -> Any:
    """`stirling_rest` for z < 16; for larger z, a finite number without meaning."""
    xp, special = namespace(z)
    low = xp.where(z < 16, z, 1.0)
    return special.gammaln(low) - (low - 0.5) * xp.log(low) + low - HALF_LOG_2_PI


def _rest_by_series(z: Any) -> Any:
    xp, _ = namespace(z)
    large = xp.maximum(z, 16.0)
    square = 1 / large**2
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / large


def in_float64[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with JAX in float64. The user's global setting does not change."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return wrapped


def to_numpy(tree: Any) -> Any:
    """Copy every JAX array of a tree into a NumPy array, whose precision does not depend on JAX's settings."""
    return jax.tree.map(lambda leaf: np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf, tree)
