"""The inverse Wishart distribution of covariance matrices: draws, and the distribution of each element."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import scipy.special
from numpyro.distributions import constraints
from scipy.optimize.elementwise import bracket_root, find_root

from bayesnb.core.arrays import log_rising, namespace

__all__ = ["CovarianceElement", "bartlett_of", "draw_inverse_wishart"]

NODES = 40
"""Points of the quadrature over each of three parts of the variance, in the distribution function of a covariance."""

TAIL = 1e-16
"""Probability of the variance on either side that the quadrature leaves out."""

RIDGE = 1e-13
"""What is added to the diagonal of a matrix of correlations, so that rounding does not make it singular."""

LARGEST_LOG = 700.0
"""Largest number whose exponential float64 holds, rounded down."""

_NODES = tuple(
    values / 2 + offset for values, offset in zip(np.polynomial.legendre.leggauss(NODES), (0.5, 0.0), strict=True)
)


def draw_inverse_wishart(df: Any, scale: Any, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    r"""Independent draws of covariance matrices, by the decomposition of Bartlett (1933).

    With :math:`\Psi = L L^T` and a lower triangular T, of independent elements
    :math:`T_{ii}^2 \sim \chi^2_{\nu - i + 1}` and :math:`T_{ij} \sim \mathrm{Normal}(0, 1)`, the matrix
    :math:`L (T T^T)^{-1} L^T` is a draw: Anderson (2003), *An Introduction to Multivariate Statistical Analysis*,
    sections 7.2 and 7.7.

    Parameters
    ----------
    df : array, shape (...,)
    scale : array, shape (..., columns, columns)
    rng : numpy.random.Generator
    shape : tuple of int
        Of the draws, without the axes of the matrix.

    Returns
    -------
    array, shape (*shape, columns, columns)
    """
    scale = np.asarray(scale)
    size = scale.shape[-1]
    factor = np.tril(rng.standard_normal((*shape, size, size)), -1)
    on_diagonal = np.arange(size)
    squares = 2 * rng.standard_gamma((np.asarray(df)[..., None] - on_diagonal) / 2, (*shape, size))
    factor[..., on_diagonal, on_diagonal] = np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny))
    root = np.linalg.solve(factor, np.swapaxes(np.linalg.cholesky(scale), -1, -2))
    drawn = np.swapaxes(root, -1, -2) @ root
    return (drawn + np.swapaxes(drawn, -1, -2)) / 2 * (1 + RIDGE * np.eye(size))


def bartlett_of(df: Any, scale: Any, covariance: np.ndarray) -> np.ndarray:
    """The elements of Bartlett's T behind covariance matrices, as numbers that are uniform and independent.

    Parameters
    ----------
    df : array, shape (...,)
    scale : array, shape (..., columns, columns)
    covariance : array, shape (..., columns, columns)
        Draws.

    Returns
    -------
    array, shape (..., columns, columns)
        NaN above the diagonal.
    """
    size = covariance.shape[-1]
    # The covariance is U U' with U upper triangular, a Cholesky factor from the last column to the first. With the
    # scale L L', the matrix T T' is that of the inverse of U times L, and T the triangular factor of its rows.
    deviation = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))[..., None]
    correlation = covariance / deviation / np.swapaxes(deviation, -1, -2) + RIDGE * np.eye(size)
    upper = np.linalg.cholesky(correlation[..., ::-1, ::-1])[..., ::-1, ::-1]
    rows = np.linalg.solve(upper, np.linalg.cholesky(np.asarray(scale)) / deviation)
    factor = np.swapaxes(np.linalg.qr(rows, mode="r"), -1, -2)
    factor = factor * np.sign(np.diagonal(factor, axis1=-2, axis2=-1))[..., None, :]
    found = scipy.special.ndtr(factor)
    on_diagonal = np.arange(size)
    halves = (np.asarray(df)[..., None] - on_diagonal) / 2
    found[..., on_diagonal, on_diagonal] = scipy.special.gammainc(
        halves, factor[..., on_diagonal, on_diagonal] ** 2 / 2
    )
    return np.where(np.tri(size, dtype=bool), found, np.nan)


class CovarianceElement(dist.Distribution):
    r"""The distribution of every element of a covariance matrix with an inverse Wishart distribution.

    With :math:`\nu' = \nu - p + 1` for p columns, a variance is :math:`\mathrm{InverseGamma}(\nu' / 2, \Psi_{jj} / 2)`.
    A covariance is the product of such a variance :math:`\Sigma_{jj}` and the independent coefficient of a regression
    on column j, Student-t with :math:`\nu' + 1` degrees of freedom, location :math:`\Psi_{jk} / \Psi_{jj}` and squared
    scale :math:`(\Psi_{kk} - \Psi_{jk}^2 / \Psi_{jj}) / (\Psi_{jj} (\nu' + 1))`: Press (1982), *Applied Multivariate
    Analysis*, section 5.2; Gelman et al. (2013), *Bayesian Data Analysis*, appendix A. Its distribution function is an
    integral over the variance, by Gauss and Legendre.

    Parameters
    ----------
    df : array, shape (..., 1)
    scale : array, shape (..., columns, columns)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {"df": constraints.positive, "scale": constraints.real}
    support = constraints.real

    def __init__(self, df: Any, scale: Any) -> None:
        self.scale = np.asarray(scale)
        self.df = np.asarray(df)
        super().__init__(batch_shape=self.scale.shape)

    @property
    def _reduced(self) -> Any:
        """Degrees of freedom of a variance, which follow from the number of columns."""
        return self.df[..., None] - self.scale.shape[-1] + 1

    @property
    def mean(self) -> Any:
        rest = self._reduced - 2
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(rest > 0, self.scale / rest, np.inf)

    @property
    def variance(self) -> Any:
        size = self.scale.shape[-1]
        rest = self.df[..., None] - size
        squares = np.diagonal(self.scale, axis1=-2, axis2=-1)
        product = squares[..., :, None] * squares[..., None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            known = ((rest + 1) * self.scale**2 + (rest - 1) * product) / (rest * (rest - 1) ** 2 * (rest - 3))
        return np.where(rest > 3, known, np.inf)

    def cdf(self, value: Any) -> Any:
        xp, special = namespace(value)
        variances, parts = self._parts
        positive = xp.where(value > 0, value, np.inf)
        of_variance = xp.where(value > 0, special.gammaincc(parts[0] / 2, parts[1] / 2 / positive), 0.0)
        return xp.where(variances, of_variance, _covariance_cdf(value, *parts))

    def log_prob(self, value: Any, intermediates: Any = None) -> Any:
        xp, _ = namespace(value)
        variances, (df, given, slope, spread) = self._parts
        shape, rate = df / 2, given / 2
        positive = xp.where(value > 0, value, 1.0)
        constant = shape * np.log(rate) - scipy.special.gammaln(shape)
        of_variance = xp.where(value > 0, constant - (shape + 1) * xp.log(positive) - rate / positive, -np.inf)
        return xp.where(variances, of_variance, _covariance_log_density(value, df, given, slope, spread))

    def icdf(self, q: Any) -> Any:
        variances, parts = self._parts
        level = np.broadcast_to(np.asarray(q, dtype=np.float64), np.broadcast_shapes(np.shape(q), self.scale.shape))
        of_variance = parts[1] / 2 / scipy.special.gammainccinv(parts[0] / 2, level)
        found = np.array(np.broadcast_to(of_variance, level.shape))
        others = np.broadcast_to(~variances, level.shape)
        if others.any():
            given = [np.broadcast_to(part, level.shape)[others] for part in parts]
            found[others] = _covariance_quantile(level[others], *given)
        return found

    @property
    def _parts(self) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Which elements are variances, and what the distribution of each element depends on."""
        squares = np.diagonal(self.scale, axis1=-2, axis2=-1)
        given, other = (np.broadcast_to(part, self.scale.shape) for part in (squares[..., None], squares[..., None, :]))
        slope = self.scale / given
        identity = np.eye(self.scale.shape[-1], dtype=bool)
        reduced = np.broadcast_to(self._reduced, self.scale.shape)
        left = np.where(identity, 1.0, np.maximum(other - self.scale * slope, np.finfo(np.float64).eps * other))
        return identity, (reduced, given, slope, np.sqrt(left / (given * (reduced + 1))))


def _covariance_cdf(value: Any, df: Any, given: Any, slope: Any, spread: Any) -> Any:
    """Distribution function of the product of a variance and a coefficient, for NumPy and JAX.

    Parameters
    ----------
    value : array
    df, given : array
        Degrees of freedom and scale of the variance, InverseGamma(df / 2, given / 2).
    slope, spread : array
        Location and scale of the coefficient, Student-t with df + 1 degrees of freedom.
    """
    xp, _ = namespace(value)

    def below(log_variance: Any) -> Any:
        away = (value * xp.exp(-log_variance) - slope) / spread
        return scipy.special.stdtr(df + 1, away) if xp is np else dist.StudentT(df + 1).cdf(away)

    return _average_over_variance(below, value, df, given, slope, spread)


def _covariance_log_density(value: Any, df: Any, given: Any, slope: Any, spread: Any) -> Any:
    """Log density of the product of a variance and a coefficient, for NumPy and JAX; see `_covariance_cdf`."""
    xp, _ = namespace(value)
    constant = log_rising((df + 1) / 2, 0.5) - 0.5 * np.log(np.pi * (df + 1)) - np.log(spread)

    def density(log_variance: Any) -> Any:
        away = (value * xp.exp(-log_variance) - slope) / spread
        return xp.exp(constant - (df + 2) / 2 * xp.log1p(away**2 / (df + 1)) - log_variance)

    return xp.log(_average_over_variance(density, value, df, given, slope, spread))


def _average_over_variance(
    function: Callable[[Any], Any], value: Any, df: Any, given: Any, slope: Any, spread: Any
) -> Any:
    """Average of a function of the logarithm of the variance, by Gauss-Legendre quadrature in three parts.

    The nodes follow the hyperbolic sine, which suits functions that change within a small distance of one point
    (Johnston and Elliott 2005, *International Journal for Numerical Methods in Engineering* 62(4), 564-578).
    """
    xp, _ = namespace(value)
    shape, log_rate = df / 2, np.log(given / 2)
    smallest = np.finfo(np.float64).tiny
    low = log_rate - np.log(scipy.special.gammainccinv(shape, TAIL))
    high = log_rate - np.log(np.maximum(scipy.special.gammaincinv(shape, TAIL), smallest))
    # The coefficient's distribution function, of the variance, is a step at value / slope, the steeper the more the
    # columns determine each other. Where both have different signs, it changes where value / variance is the spread.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = value / np.where(slope == 0, 1.0, slope)
        steep = (ratio > 0) & (slope != 0)
        step = xp.log(xp.maximum(xp.where(steep, ratio, abs(value) / spread), smallest))
        width = xp.where(steep, np.minimum(spread / np.where(slope == 0, 1.0, abs(slope)), 1.0), 1.0)
    mode = log_rate - np.log(shape)
    first, second = (xp.clip(end(mode, step), low, high) for end in (xp.minimum, xp.maximum))

    def part(start: Any, end: Any, node: Any, weight: Any) -> tuple[Any, Any]:
        # The nodes are the closer to each other, the nearer they are to the step, down to its width.
        far, near = xp.arcsinh((end - step) / width), xp.arcsinh((start - step) / width)
        at = near + (far - near) * node
        log_variance = step + width * xp.sinh(at)
        # Less the log density at its largest, so that nothing overflows.
        distance = mode - log_variance
        log_density = shape * (distance + 1 - xp.exp(xp.minimum(distance, LARGEST_LOG)))
        mass = weight * (far - near) * width * xp.cosh(at) * xp.exp(log_density)
        return mass * function(log_variance), mass

    total, mass = 0.0, 0.0
    for start, end in ((low, first), (first, second), (second, high)):
        if xp is np:
            for at in zip(*_NODES, strict=True):
                found = part(start, end, *at)
                total, mass = total + found[0], mass + found[1]
        else:
            parts = jax.vmap(partial(part, start, end))(*map(jnp.asarray, _NODES))
            total, mass = total + parts[0].sum(axis=0), mass + parts[1].sum(axis=0)
    return total / mass


def _covariance_quantile(level: np.ndarray, df: Any, given: Any, slope: Any, spread: Any) -> np.ndarray:
    """Inverse of `_covariance_cdf`, by the method of Chandrupatla (1997)."""

    def excess(value: Any, level: Any, *parts: Any) -> Any:
        return _covariance_cdf(value, *parts) - level

    arguments = (level, df, given, slope, spread)
    typical = given / (df + 1) * (np.abs(slope) + spread)
    around = bracket_root(excess, -typical, typical, args=arguments, maxiter=400)
    found = find_root(excess, around.bracket, args=arguments, tolerances={"xatol": 0.0, "xrtol": 1e-9, "fatol": 1e-13})
    return np.asarray(found.x)
