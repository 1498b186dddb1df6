"""Logarithms of gamma functions and of probabilities, exact where the plain formulas lose digits."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from bayesnb.core.checking import is_jax
from bayesnb.core.deferred import jax, jit, jnp, namespace, with_derivative
from bayesnb.core.plain_formulas import rest_by_series, rising_by_series

HALF_LOG_2_PI = 0.5 * float(np.log(2 * np.pi))


def log_beta(a: Any, b: Any) -> Any:
    """Log of the Beta function, on NumPy and JAX arrays.

    Parameters
    ----------
    a, b : array
        Positive; they broadcast.

    Returns
    -------
    array

    See Also
    --------
    log_rising : A difference of log-gamma functions.
    namespace : The array library that fits the values of a formula.

    Examples
    --------
    >>> import bayesnb as nb
    >>> round(float(nb.families.log_beta(2.0, 3.0)), 3)  # log(1 / 12)
    -2.485
    """
    # SciPy's betaln is accurate if one argument is large. JAX's loses half of its digits for small arguments, so that
    # JAX arrays use log-gamma functions.
    xp, special = namespace(a, b)
    if xp is np:
        return special.betaln(a, b)
    # One call compiles in a third of the time of three: the derivatives are long formulas.
    of_a, of_b, of_sum = special.gammaln(jnp.stack(jnp.broadcast_arrays(a, b, a + b)))
    return of_a + of_b - of_sum


LOG_FACTORIALS = scipy.special.gammaln(np.arange(256) + 1.0)


def log_factorial(counts: Any) -> Any:
    """Log of x!, in NumPy looked up in a table if all that it holds are whole numbers, as most counts are."""
    xp, special = namespace(counts)
    if xp is np and counts.size and counts.min() >= 0:
        longest = len(LOG_FACTORIALS) - 1
        small = np.minimum(counts, longest) if counts.max() > longest else counts
        whole = small.astype(np.uint8)
        if (whole == small).all():
            found = np.asarray(LOG_FACTORIALS[whole])
            if small is not counts:
                large = counts > longest
                found[large] = special.gammaln(counts[large] + 1.0)
            return found
    return special.gammaln(counts + 1.0)


def log_rising(a: Any, x: Any) -> Any:
    r"""Log of the rising factorial, :math:`\log\Gamma(a + x) - \log\Gamma(a)`, on NumPy and JAX arrays.

    It keeps the digits that the difference of two log-gamma functions loses where `a` is large.

    Parameters
    ----------
    a : array
        Positive.
    x : array
        Above -a; the two broadcast.

    Returns
    -------
    array

    See Also
    --------
    log_beta : Log of the Beta function.
    namespace : The array library that fits the values of a formula.

    Examples
    --------
    >>> import bayesnb as nb
    >>> round(float(nb.families.log_rising(2.0, 3.0)), 3)  # log(2 * 3 * 4)
    3.178
    """
    # For a >= 16 it is a difference of two Stirling series. No term of it is larger than the result if `a` is large, so
    # that the relative error is a few roundings.
    xp, _ = namespace(a, x)
    if xp is jnp:
        dtype = jnp.result_type(a, x, 1.0)
        return _rising_in_jax(jnp.asarray(a, dtype), jnp.asarray(x, dtype))
    if np.all(a < 16):
        return _rising_by_log_gamma(a, x)
    return _from_sixteen(a, rising_by_series(a, x, rest=stirling_rest), lambda: _rising_by_log_gamma(a, x))


def _from_sixteen(z: Any, by_series: Any, below: Callable[[], Any]) -> Any:
    """Values by a series for z >= 16, and others below; these are computed only if a z is below."""
    small = z < 16
    if namespace(z)[0] is jnp:
        return jax.lax.cond(jnp.any(small), lambda: jnp.where(small, below(), by_series), lambda: by_series)
    return np.where(small, below(), by_series) if np.any(small) else by_series


def _slope_of_rising(at: tuple[Any, Any], direction: tuple[Any, Any]) -> tuple[Any, Any]:
    """Derivatives by digamma functions. They compile in a quarter of the time of the formulas' own derivatives."""
    (a, x), (da, dx) = at, direction
    return _rising_in_jax(a, x), _digamma_rise(a, x) * da + jax.scipy.special.digamma(a + x) * dx


@with_derivative(_slope_of_rising)
@jit
def _rising_in_jax(a: Any, x: Any) -> Any:
    return _from_sixteen(a, rising_by_series(a, x, jnp, stirling_rest), lambda: _rising_by_log_gamma(a, x))


def _digamma_rise(a: Any, x: Any) -> Any:
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


def stirling_rest(z: Any) -> Any:
    r"""Difference between the log-gamma function and Stirling's formula, for z > 0.

    .. math:: \log\Gamma(z) - (z - \tfrac12) \log z + z - \tfrac12 \log 2\pi

    For z >= 16 by the series 1/(12 z) - 1/(360 z³) + ..., with an error of 1e-14. For smaller z by the log-gamma
    function.
    """
    return (_rest_in_jax if is_jax(z) else _rest)(z)


def _rest(z: Any) -> Any:
    return _from_sixteen(z, rest_by_series(namespace(z)[0].maximum(z, 16.0)), lambda: _rest_of_small(z))


_rest_in_jax = jit(_rest)


def _rest_of_small(z: Any) -> Any:
    """`stirling_rest` for z < 16; for larger z, a finite number without meaning."""
    xp, special = namespace(z)
    low = xp.where(z < 16, z, 1.0)
    return special.gammaln(low) - (low - 0.5) * xp.log(low) + low - HALF_LOG_2_PI


def log_choose(one: Any, other: Any) -> Any:
    r"""Log of the binomial coefficient :math:`\Gamma(s + f + 1) / (\Gamma(s + 1)\, \Gamma(f + 1))`.

    Parameters
    ----------
    one, other : array
        Numbers s and f from zero; they broadcast.

    Returns
    -------
    array
    """
    xp, special = namespace(one, other)
    fewer = xp.minimum(one, other)
    return log_rising(xp.maximum(one, other) + 1.0, fewer) - special.gammaln(fewer + 1.0)


def log_beta_ratio(one: Any, other: Any, a: Any, b: Any) -> Any:
    r"""Log of :math:`B(a + s, b + f) / B(a, b)`, the density of a sequence of s successes and f failures.

    Parameters
    ----------
    one, other : array
        Numbers s and f from zero.
    a, b : array
        Positive; all arguments broadcast.

    Returns
    -------
    array
    """
    return log_rising(a, one) + log_rising(b, other) - log_rising(a + b, one + other)


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
