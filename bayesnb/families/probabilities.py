"""Probabilities and their logarithms, for NumPy and JAX."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayesnb.core.arrays import namespace
from bayesnb.core.deferred import jnp
from bayesnb.core.gamma_functions import log_rising

# --------------------------------------------------------------------------------------------------
# Probabilities that a sampler represents by their logarithms.
#
# Under a small concentration a probability is often below the smallest float64, 1e-308, and its complement below the
# spacing of numbers next to one, 1e-16. Their logarithms are ordinary numbers. A sampler therefore gives a family
# both: the probability, and its logarithm for `Family.log_likelihood`. A family that does not use the logarithm takes
# the probability, which is rounded up to the smallest number, so that no density is infinite.
# --------------------------------------------------------------------------------------------------


class LogProbability(NamedTuple):
    """Logarithms of a probability p, JAX arrays.

    Attributes
    ----------
    log : array
        log p.
    log_rest : array, optional
        log(1 - p); not given for the parts of a simplex.
    """

    log: Any
    log_rest: Any = None

    @property
    def prob(self) -> Any:
        """The probability, strictly between zero and one."""
        limits = jnp.finfo(self.log.dtype)
        prob = jnp.exp(jnp.maximum(self.log, jnp.log(limits.tiny)))
        return prob if self.log_rest is None else jnp.minimum(prob, 1 - limits.epsneg)


class SampledParameters(dict[str, Any]):
    """Parameters by name, as arrays; some of them also have their logarithms.

    Attributes
    ----------
    logs : mapping
        `LogProbability` by the name of the parameter.
    """

    def __init__(self, values: Mapping[str, Any], logs: Mapping[str, LogProbability]) -> None:
        super().__init__(values)
        self.logs = logs


def _known(parameters: Mapping[str, Any], name: str) -> Any:
    """A probability among the parameters: its logarithms if they are known, else the array."""
    logs = parameters.logs if isinstance(parameters, SampledParameters) else {}
    return logs.get(name, parameters[name])


def log_of_prob(prob: Any) -> Any:
    """Logarithm of a probability, which is an array or a `LogProbability`; of zero minus infinity."""
    if isinstance(prob, LogProbability):
        return prob.log
    with np.errstate(divide="ignore"):
        return namespace(prob)[0].log(prob)


def log_of(parameters: Mapping[str, Any], name: str) -> Any:
    """Logarithm of a probability among the parameters."""
    return log_of_prob(_known(parameters, name))


def log_and_log_rest(parameters: Mapping[str, Any], name: str) -> tuple[Any, Any]:
    """Logarithms of a probability p among the parameters, and of 1 - p."""
    prob = _known(parameters, name)
    if isinstance(prob, LogProbability):
        return prob.log, prob.log_rest
    xp, _ = namespace(prob)
    with np.errstate(divide="ignore"):
        return xp.log(prob), xp.log1p(-prob)


# --------------------------------------------------------------------------------------------------
# Formulas of distributions
# --------------------------------------------------------------------------------------------------


def beta_mode(a: Any, b: Any) -> Any:
    """Mode of Beta(a, b); the mean where the density is flat, NaN where it is unbounded."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mode = np.where((a == 1) & (b == 1), 0.5, (a - 1) / (a + b - 2))
    return np.where((a < 1) | (b < 1), np.nan, mode)


def log_negative_binomial(x: Any, concentration: Any, rate: Any) -> Any:
    """Log density of a Poisson count whose rate has a gamma distribution.

    Parameters
    ----------
    x : array
        Numbers from zero.
    concentration, rate : array
        Positive; broadcast against `x`.

    Returns
    -------
    array
    """
    xp, special = namespace(x, concentration, rate)
    of_gamma = log_rising(concentration, x) - special.gammaln(x + 1.0)
    return of_gamma - concentration * xp.log1p(1 / rate) - x * xp.log1p(rate)


def nearest_turn(angle: Any, centre: Any) -> Any:
    """The same angle, moved by whole turns to within half a turn of a centre."""
    xp, _ = namespace(angle)
    return angle - 2 * np.pi * xp.round((angle - centre) / (2 * np.pi))
