"""Formulas of NumPyro's distributions, compiled as a whole where JAX can trace them."""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays import in_float64

__all__ = ["compiled", "log_density"]


@in_float64
def compiled(formula: Callable[..., Any], *arguments: Any, **settings: Hashable) -> Any:
    """The value of a formula, in float64.

    NumPyro's densities are a dozen operations or more. JAX compiles each of them for every shape if they run one by
    one, which takes longer than to compile them together.

    Parameters
    ----------
    formula : callable
        A function of a module, so that the second call with arguments of the same shapes compiles nothing.
    *arguments
        Families and arrays.
    **settings
        Arguments that are not arrays, such as a shape. JAX compiles the formula for each of their values.

    Returns
    -------
    jax.Array
    """
    try:
        return _traced(formula, tuple(settings.items()), *arguments)
    except (TypeError, ValueError, AttributeError):
        # A family of the user's may need numbers, for NumPy's functions or a condition. A distribution of the user's
        # may have attributes that JAX does not pass on. Their own errors come again.
        return formula(*arguments, **settings)


def log_density(distribution: dist.Distribution, x: Any) -> np.ndarray:
    """The log density of a distribution, in float64.

    The parameters are arguments of the compiled function, so that all distributions of a class and shape share it.

    Parameters
    ----------
    distribution : numpyro.distributions.Distribution
    x : array
        Numbers of the support; not checked.

    Returns
    -------
    array
    """
    return np.asarray(compiled(_log_density, distribution, x))


def _log_density(distribution: dist.Distribution, x: Any) -> Any:
    return distribution.log_prob(x)


@partial(jax.jit, static_argnums=(0, 1))
def _traced(formula: Callable[..., Any], settings: tuple[tuple[str, Hashable], ...], *arguments: Any) -> Any:
    return formula(*arguments, **dict(settings))
