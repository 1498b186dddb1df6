"""One formula for two array libraries.

The closed forms are plain arithmetic and a few special functions, so the same line serves NumPy arrays
(instant, float64, no compilation) and JAX arrays (inside ``jit``, ``grad`` and ``vmap``).
"""

import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np
import scipy.special

__all__ = ["close", "in_float64", "log", "log_beta", "log_rising", "namespace", "to_numpy", "warn"]


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
    """Whether two trees have one structure and the same numbers, up to rounding."""
    structures: list[Any] = [jax.tree.structure(tree) for tree in (one, other)]
    return bool(structures[0] == structures[1]) and all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-9, atol=1e-12)
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


def log(values: Any) -> np.ndarray:
    """Logarithms, those of zero minus infinity without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(values))


def log_beta(a: Any, b: Any) -> Any:
    """Log of the Beta function.

    SciPy's keeps its digits where one argument is large; JAX's loses half of them for small ones, so log-gammas serve
    there.
    """
    xp, special = namespace(a, b)
    if xp is np:
        return special.betaln(a, b)
    return special.gammaln(a) + special.gammaln(b) - special.gammaln(a + b)


def log_rising(a: Any, x: Any) -> Any:
    r"""Log of the rising factorial, :math:`\log\Gamma(a + x) - \log\Gamma(a)`, for a > 0 and x >= 0.

    Taken through the Beta function, so that the two terms do not cancel where `a` is large.
    """
    xp, special = namespace(a, x)
    if xp is jnp:
        return _log_rising_by_series(a, x)
    positive = xp.where(x > 0, x, 1.0)
    return xp.where(x > 0, special.gammaln(positive) - log_beta(a, positive), 0.0)


def _log_rising_by_series(a: Any, x: Any) -> Any:
    """`log_rising` where there is no `betaln` to rely on: from 16 on as a difference of Stirling's series."""
    large = jnp.maximum(a, 16.0)
    series = (large + x - 0.5) * jnp.log1p(x / large) + x * (jnp.log(large) - 1)
    series += _stirling_rest(large + x) - _stirling_rest(large)

    def with_small() -> Any:
        return jnp.where(a < 16, jax.scipy.special.gammaln(a + x) - jax.scipy.special.gammaln(a), series)

    return jax.lax.cond((a < 16).any(), with_small, lambda: series)


def _stirling_rest(z: Any) -> Any:
    """What Stirling's formula lacks of the log-gamma function; to 1e-14 from 16 on."""
    square = 1 / z**2
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / z


def in_float64[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with JAX in float64, whatever the user's global setting, which stays as it is."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return wrapped


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the caller's line, outside this package."""
    warnings.warn(message, category, skip_file_prefixes=(str(Path(__file__).parent),))


def to_numpy(tree: Any) -> Any:
    """Copy every JAX array of a tree into a NumPy array, so that its precision is the caller's to keep."""
    return jax.tree.map(lambda leaf: np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf, tree)
