"""NumPyro distributions drawn from by NumPy and integrated by SciPy.

JAX's gamma sampler takes some forty times as long as NumPy's on a CPU and compiles for every shape. Priors and
likelihoods are declared once, as NumPyro distributions; those met here take the fast way, any other its own ``sample``,
``cdf`` and ``icdf``.
"""

from functools import singledispatch
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import scipy.special

from bayesnb.families.gamma_vector import GammaVector

__all__ = ["as_key", "cdf", "draw", "log_gammas", "proportion", "quantile", "random_generator", "whole_number"]


def as_key(key: Any) -> jax.Array:
    """A JAX key from an int seed or a JAX key.

    Raises
    ------
    TypeError
        If it is neither.
    """
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return jax.random.key(int(key))
    if isinstance(key, jax.Array):
        return key if jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key) else jax.random.wrap_key_data(key)
    raise TypeError(f"key is {key!r}: give an int seed or a JAX key")


def whole_number(name: str, value: Any) -> int:
    """A number of rows, draws or chains.

    Raises
    ------
    ValueError
        If it is not a whole number, one or more.
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {value!r}: give a whole number, one or more")
    return int(value)


def proportion(name: str, value: Any) -> float:
    """A probability or an error rate, strictly between zero and one.

    Raises
    ------
    ValueError
        If it is no such number.
    """
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not (number and 0 < value < 1):
        raise ValueError(f"{name} is {value!r}: give a number between 0 and 1")
    return float(value)


def random_generator(key: Any) -> np.random.Generator:
    """NumPy's generator seeded by an int or a JAX key."""
    return np.random.default_rng(np.asarray(jax.random.key_data(as_key(key))).ravel().tolist())


def draw(distribution: dist.Distribution, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> np.ndarray:
    """Independent draws, shape sample_shape + batch_shape + event_shape, float64."""
    return np.asarray(_draw(distribution, rng, (*sample_shape, *distribution.batch_shape)))


def log_gammas(concentration: Any, rng: np.random.Generator, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Logarithms of independent gamma variables of rate one, which do not underflow.

    Gamma(a) is distributed as Gamma(a + 1) U^(1 / a), with U uniform.

    Parameters
    ----------
    concentration : array
    rng : numpy.random.Generator
    shape : tuple of int, optional
        By default that of `concentration`.
    """
    concentration = np.asarray(concentration)
    shape = concentration.shape if shape is None else shape
    return np.log(rng.standard_gamma(concentration + 1, shape)) + np.log(rng.uniform(size=shape)) / concentration


@singledispatch
def _draw(distribution: dist.Distribution, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    key = jax.random.key(int(rng.integers(2**32)))
    return distribution.sample(key, shape[: len(shape) - len(distribution.batch_shape)])


@_draw.register
def _(distribution: dist.Beta, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.beta(distribution.concentration1, distribution.concentration0, shape)


@_draw.register
def _(distribution: dist.Dirichlet, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    concentration = np.asarray(distribution.concentration)
    # With logarithms, a small concentration does not underflow to a row of zeros.
    log_gamma = log_gammas(concentration, rng, (*shape, concentration.shape[-1]))
    weight = np.exp(log_gamma - log_gamma.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True)


@_draw.register
def _(distribution: dist.Gamma, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.standard_gamma(distribution.concentration, shape) / np.asarray(distribution.rate)


@_draw.register
def _(distribution: GammaVector, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    size = (*shape, *distribution.event_shape)
    return rng.standard_gamma(distribution.concentration, size) / np.asarray(distribution.rate)


@_draw.register
def _(distribution: dist.InverseGamma, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return np.asarray(distribution.rate) / rng.standard_gamma(distribution.concentration, shape)


@_draw.register
def _(distribution: dist.Normal, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.normal(distribution.loc, distribution.scale, shape)


@_draw.register
def _(distribution: dist.BernoulliProbs, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return (rng.uniform(size=shape) < np.asarray(distribution.probs)).astype(np.float64)


@_draw.register
def _(distribution: dist.CategoricalProbs, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    edges = np.cumsum(np.asarray(distribution.probs), axis=-1)
    uniform = rng.uniform(size=shape)[..., None] * edges[..., -1:]
    return np.minimum((uniform >= edges).sum(axis=-1), edges.shape[-1] - 1).astype(np.float64)


@_draw.register
def _(distribution: dist.Poisson, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.poisson(distribution.rate, shape).astype(np.float64)


@_draw.register
def _(distribution: dist.MultinomialProbs, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    probs = np.asarray(distribution.probs, dtype=np.float64)
    return rng.multinomial(np.asarray(distribution.total_count), probs / probs.sum(-1, keepdims=True), shape).astype(
        float
    )


@_draw.register
def _(distribution: dist.DirichletMultinomial, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    concentration = np.broadcast_to(distribution.concentration, (*shape, *distribution.event_shape))
    prob = draw(dist.Dirichlet(concentration), rng)
    counts = rng.multinomial(np.asarray(distribution.total_count), prob / prob.sum(-1, keepdims=True), shape)
    return counts.astype(float)


@singledispatch
def cdf(distribution: dist.Distribution, x: Any) -> np.ndarray:
    """Cumulative distribution function, float64."""
    with jax.enable_x64(True):
        return np.asarray(distribution.cdf(x))


@cdf.register
def _(distribution: dist.Beta, x: Any) -> np.ndarray:
    return scipy.special.betainc(np.asarray(distribution.concentration1), np.asarray(distribution.concentration0), x)


@cdf.register
def _(distribution: dist.Gamma, x: Any) -> np.ndarray:
    return scipy.special.gammainc(np.asarray(distribution.concentration), x * np.asarray(distribution.rate))


@cdf.register
def _(distribution: dist.InverseGamma, x: Any) -> np.ndarray:
    return scipy.special.gammaincc(np.asarray(distribution.concentration), np.asarray(distribution.rate) / x)


@cdf.register
def _(distribution: dist.Normal, x: Any) -> np.ndarray:
    return scipy.special.ndtr((x - np.asarray(distribution.loc)) / np.asarray(distribution.scale))


@cdf.register
def _(distribution: dist.StudentT, x: Any) -> np.ndarray:
    z = (x - np.asarray(distribution.loc)) / np.asarray(distribution.scale)
    return scipy.special.stdtr(np.asarray(distribution.df), z)


@singledispatch
def quantile(distribution: dist.Distribution, level: np.ndarray) -> np.ndarray:
    """Inverse of the cumulative distribution function, float64."""
    with jax.enable_x64(True):
        return np.asarray(distribution.icdf(level))


@quantile.register
def _(distribution: dist.Delta, level: np.ndarray) -> np.ndarray:
    return np.broadcast_to(np.asarray(distribution.v), np.broadcast_shapes(level.shape, distribution.batch_shape))


@quantile.register
def _(distribution: dist.Beta, level: np.ndarray) -> np.ndarray:
    a, b = np.asarray(distribution.concentration1), np.asarray(distribution.concentration0)
    return scipy.special.betaincinv(a, b, level)


@quantile.register
def _(distribution: dist.Gamma, level: np.ndarray) -> np.ndarray:
    return scipy.special.gammaincinv(np.asarray(distribution.concentration), level) / np.asarray(distribution.rate)


@quantile.register
def _(distribution: dist.InverseGamma, level: np.ndarray) -> np.ndarray:
    return np.asarray(distribution.rate) / scipy.special.gammainccinv(np.asarray(distribution.concentration), level)


@quantile.register
def _(distribution: dist.StudentT, level: np.ndarray) -> np.ndarray:
    z = scipy.special.stdtrit(np.asarray(distribution.df), level)
    return np.asarray(distribution.loc) + np.asarray(distribution.scale) * z
