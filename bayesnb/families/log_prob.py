"""Log densities under NumPyro's distributions, by NumPy where the formula is short.

JAX compiles a density for every shape, which takes longer than NumPy takes for thousands of draws. The distributions
that priors are declared with are registered here. All others are compiled.
"""

from typing import Any

import numpy as np
import numpyro.distributions as dist
from scipy.special import betaln, gammaln, xlog1py, xlogy

from bayesnb.arrays import HALF_LOG_2_PI, log_rising
from bayesnb.families import beta
from bayesnb.families.compiled import log_density
from bayesnb.families.dispatch import dispatch
from bayesnb.families.gamma_vector import GammaVector

__all__ = ["log_prob"]


def log_prob(distribution: dist.Distribution, x: Any) -> np.ndarray:
    """The log density of a distribution at numbers of its support, which are not checked; float64.

    Parameters
    ----------
    distribution : numpyro.distributions.Distribution
    x : array

    Returns
    -------
    array
    """
    with np.errstate(all="ignore"):
        return np.asarray(_log_prob(distribution, np.asarray(x)))


_log_prob = dispatch("log_prob")(log_density)


@_log_prob.register(dist.Beta)
@_log_prob.register(beta.Beta)
def _(distribution: dist.Beta, x: Any) -> Any:
    a, b = np.asarray(distribution.concentration1), np.asarray(distribution.concentration0)
    return xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b)


@_log_prob.register
def _(distribution: dist.Dirichlet, x: Any) -> Any:
    concentration = np.asarray(distribution.concentration)
    of_all = gammaln(concentration.sum(axis=-1)) - gammaln(concentration).sum(axis=-1)
    return xlogy(concentration - 1, x).sum(axis=-1) + of_all


@_log_prob.register
def _(distribution: dist.Gamma, x: Any) -> Any:
    return _log_gamma(distribution, x)


@_log_prob.register
def _(distribution: GammaVector, x: Any) -> Any:
    return _log_gamma(distribution, x).sum(axis=-1)


@_log_prob.register
def _(distribution: dist.InverseGamma, x: Any) -> Any:
    a, rate = np.asarray(distribution.concentration), np.asarray(distribution.rate)
    return a * np.log(rate) - gammaln(a) - (a + 1) * np.log(x) - rate / x


@_log_prob.register
def _(distribution: dist.Normal, x: Any) -> Any:
    scale = np.asarray(distribution.scale)
    return -0.5 * ((x - np.asarray(distribution.loc)) / scale) ** 2 - np.log(scale) - HALF_LOG_2_PI


@_log_prob.register
def _(distribution: dist.LogNormal, x: Any) -> Any:
    return _log_prob(dist.Normal(distribution.loc, distribution.scale), np.log(x)) - np.log(x)


@_log_prob.register
def _(distribution: dist.Exponential, x: Any) -> Any:
    return np.log(np.asarray(distribution.rate)) - distribution.rate * x


@_log_prob.register
def _(distribution: dist.StudentT, x: Any) -> Any:
    df, scale = np.asarray(distribution.df), np.asarray(distribution.scale)
    squares = ((x - np.asarray(distribution.loc)) / scale) ** 2
    constant = log_rising(df / 2, 0.5) - 0.5 * np.log(np.pi * df) - np.log(scale)
    return constant - 0.5 * (df + 1) * np.log1p(squares / df)


@_log_prob.register
def _(distribution: dist.LogNormal, x: Any) -> Any:
    return _log_prob(dist.Normal(distribution.loc, distribution.scale), np.log(x)) - np.log(x)


def _log_gamma(distribution: Any, x: Any) -> Any:
    a, rate = np.asarray(distribution.concentration), np.asarray(distribution.rate)
    return a * np.log(rate) - gammaln(a) + xlogy(a - 1, x) - rate * x
