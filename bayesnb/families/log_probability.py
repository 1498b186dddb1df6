"""Probabilities that a sampler represents by their logarithms.

Under a small concentration a probability is often below the smallest float64, 1e-308, and its complement below the
spacing of numbers next to one, 1e-16. Their logarithms are ordinary numbers. A sampler therefore gives a family both:
the probability, and its logarithm for `Family.log_likelihood`. A family that does not use the logarithm takes the
probability, which is rounded up to the smallest number, so that no density is infinite.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays import namespace

__all__ = ["LogProbability", "SampledParameters", "in_logs", "log_and_log_rest", "log_of", "times_log"]


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


def in_logs(parameters: Mapping[str, Any], name: str) -> Any:
    """A probability among the parameters: its logarithms if they are known, else the array."""
    logs = parameters.logs if isinstance(parameters, SampledParameters) else {}
    return logs.get(name, parameters[name])


def log_of(parameters: Mapping[str, Any], name: str) -> Any:
    """Logarithm of a probability among the parameters; of zero minus infinity."""
    prob = in_logs(parameters, name)
    if isinstance(prob, LogProbability):
        return prob.log
    with np.errstate(divide="ignore"):
        return namespace(prob)[0].log(prob)


def log_and_log_rest(parameters: Mapping[str, Any], name: str) -> tuple[Any, Any]:
    """Logarithms of a probability p among the parameters, and of 1 - p."""
    prob = in_logs(parameters, name)
    if isinstance(prob, LogProbability):
        return prob.log, prob.log_rest
    xp, _ = namespace(prob)
    with np.errstate(divide="ignore"):
        return xp.log(prob), xp.log1p(-prob)


def times_log(count: Any, prob: Any) -> Any:
    """Product of a count and log p, zero where the count is zero; `prob` is an array or a `LogProbability`."""
    if isinstance(prob, LogProbability):
        return count * prob.log
    _, special = namespace(prob, count)
    return special.xlogy(count, prob)
