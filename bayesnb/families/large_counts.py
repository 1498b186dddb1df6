"""Densities of counts without loss of digits."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import digamma

from bayesnb.core.arrays import csr_of_ones, digamma_rise, namespace, row_pieces, stirling_rest

__all__ = [
    "ROWS_AN_ENTRY",
    "CountTable",
    "log_beta_binomial",
    "log_beta_negative_binomial",
    "log_beta_ratio",
    "log_choose",
    "log_density_of_cells",
    "log_dirichlet_multinomial",
    "log_gamma",
    "log_multinomial",
    "log_negative_binomial",
    "log_poisson",
    "log_ratio",
]

# --------------------------------------------------------------------------------------------------
# Log densities of counts that stay accurate when the counts are large.
#
# A log density of a count x is about as large as log x, but the usual formula adds and subtracts terms of size x log
# x: at a count of 1e13 they leave an error of 0.1. Here every log-gamma function is split by Stirling's formula,
#
# .. math:: \log\Gamma(z) = (z - \tfrac12) \log z - z + \tfrac12 \log 2\pi + r(z),
#
# and the large terms are combined into logarithms of ratios near one, computed from the difference from one. This is
# the saddle-point form of Loader (2000), *Fast and accurate computation of binomial probabilities*. The remaining
# error is about eps times the distance between the count and its mean.
#
# The formulas work for NumPy and JAX arrays. JAX's derivatives are those of the gamma functions, also at a count of
# zero.
# --------------------------------------------------------------------------------------------------

LOG_2_PI = float(np.log(2 * np.pi))


def with_slopes(*slopes: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a formula its partial derivatives, one for each argument, where JAX computes it.

    The forms that are accurate for large counts take another branch at zero, whose own derivative is zero.

    Parameters
    ----------
    *slopes : callable
        Take the formula's arguments. A derivative has the shape of its argument's broadcast with the others; where the
        formula sums over columns, it has the columns.
    """

    def decorate(formula: Callable[..., Any]) -> Callable[..., Any]:
        in_jax = jax.custom_jvp(formula)

        @in_jax.defjvp
        def _(at: Any, directions: Any) -> tuple[Any, Any]:
            value = in_jax(*at)
            along = [slope(*at) * direction for slope, direction in zip(slopes, directions, strict=True)]
            whole = jnp.broadcast_to(sum(along), jnp.broadcast_shapes(*map(jnp.shape, along)))
            return value, whole if whole.ndim == value.ndim else whole.sum(axis=-1)

        @wraps(formula)
        def either(*arguments: Any) -> Any:
            if namespace(*arguments)[0] is np:
                return formula(*arguments)
            dtype = jnp.result_type(*arguments, 1.0)
            return in_jax(*(jnp.asarray(value, dtype) for value in arguments))

        return either

    return decorate


@with_slopes(
    lambda x, rate: jnp.log(_not_zero(rate)) - digamma(x + 1),
    lambda x, rate: x / _not_zero(rate) - 1,
)
def log_poisson(x: Any, rate: Any) -> Any:
    """Log density of a Poisson distribution.

    Parameters
    ----------
    x : array
        Numbers from zero.
    rate : array
        From zero; broadcasts against `x`.

    Returns
    -------
    array
    """
    xp, _ = namespace(x, rate)
    seen = xp.where(x > 0, x, 1.0)
    excess = rate - seen
    with np.errstate(divide="ignore"):
        found = seen * log_ratio(excess, seen, rate) - excess
    return xp.where(x > 0, found - 0.5 * (LOG_2_PI + xp.log(seen)) - stirling_rest(seen), -rate)


@with_slopes(
    lambda x, a, b: digamma(a + x) - digamma(x + 1) - jnp.log1p(b),
    lambda x, a, b: digamma_rise(a, x) - jnp.log1p(1 / b),
    lambda x, a, b: (a / b - x) / (1 + b),
)
def log_negative_binomial(x: Any, concentration: Any, rate: Any) -> Any:
    r"""Log density of a Poisson count whose rate has a gamma distribution.

    With a the concentration, b the rate of the gamma distribution and :math:`d = (a - b x) / (1 + b)`,

    .. math::
        a \log\Big(1 - \frac{d}{a}\Big) + x \log\Big(1 + \frac{d}{x}\Big) + \frac12 \log\frac{a}{2\pi x (a + x)}
        + r(a + x) - r(a) - r(x).

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
    xp, _ = namespace(x, concentration, rate)
    seen = xp.where(x > 0, x, 1.0)
    both, share = concentration + seen, 1 / (1 + rate)
    difference = (concentration - rate * seen) * share
    large = concentration * log_ratio(-difference, concentration, both * (rate * share))
    large = large + seen * log_ratio(difference, seen, both * share)
    # Two logarithms, because the product may overflow or underflow.
    root = 0.5 * (xp.log(concentration / both) - xp.log(seen) - LOG_2_PI)
    rest = stirling_rest(both) - stirling_rest(concentration) - stirling_rest(seen)
    return xp.where(x > 0, large + (root + rest), -concentration * xp.log1p(1 / rate))


@with_slopes(
    lambda x, a: digamma(a + x) - digamma(x + 1) - _of_sum(lambda n, whole: digamma(whole + n) - digamma(n + 1), x, a),
    lambda x, a: digamma(a + x) - digamma(a) - _of_sum(lambda n, whole: digamma(whole + n) - digamma(whole), x, a),
)
def log_dirichlet_multinomial(x: Any, concentration: Any) -> Any:
    r"""Log density of vectors of counts whose probabilities have a Dirichlet distribution.

    With n the sum of the counts and A that of the concentrations, it is the density of negative binomial counts of the
    same rate A / n, given their sum. If the vector is near its mean, so is each count.

    Parameters
    ----------
    x : array, shape (..., columns)
        Numbers from zero.
    concentration : array, shape (..., columns)
        Positive; broadcasts against `x`.

    Returns
    -------
    array, shape (...,)
    """
    xp, _ = namespace(x, concentration)
    length, whole = x.sum(axis=-1), concentration.sum(axis=-1)
    rate = whole / xp.where(length > 0, length, 1.0)
    of_columns = log_negative_binomial(x, concentration, rate[..., None]).sum(axis=-1)
    return xp.where(length > 0, of_columns - log_negative_binomial(length, whole, rate), 0.0)


@with_slopes(
    lambda one, other: digamma(one + other + 1) - digamma(one + 1),
    lambda one, other: digamma(one + other + 1) - digamma(other + 1),
)
def log_choose(one: Any, other: Any) -> Any:
    r"""Log of the binomial coefficient :math:`\Gamma(s + f + 1) / (\Gamma(s + 1)\, \Gamma(f + 1))`.

    It is the density of s successes and f failures at the probability of success :math:`s / (s + f)`, over
    :math:`\theta^s (1 - \theta)^f`.

    Parameters
    ----------
    one, other : array
        Numbers s and f from zero; they broadcast.

    Returns
    -------
    array
    """
    return _log_most(one, other) - _log_power(one, other)


def log_beta_ratio(one: Any, other: Any, a: Any, b: Any) -> Any:
    r"""Log of :math:`B(a + s, b + f) / B(a, b)`, the density of a sequence of s successes and f failures.

    The usual difference of log-beta functions has terms of size :math:`f \log f`; the result has the size of
    :math:`\log f` for one success after many failures.

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
    return log_beta_binomial(one, other, a, b) - _log_most(one, other) + _log_power(one, other)


def log_beta_binomial(one: Any, other: Any, a: Any, b: Any) -> Any:
    """Log density of s successes among s + f trials, whose probability has a Beta(a, b) distribution.

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
    xp, _ = namespace(one, other, a, b)
    return log_dirichlet_multinomial(
        xp.stack(xp.broadcast_arrays(one, other), axis=-1), xp.stack(xp.broadcast_arrays(a, b), axis=-1)
    )


def log_beta_negative_binomial(x: Any, successes: Any, a: Any, b: Any) -> Any:
    """Log density of x failures before success number r, whose probability has a Beta(a, b) distribution.

    It is that of r successes among r + x trials, times the share r / (r + x) of the orders with a success at the end.

    Parameters
    ----------
    x : array
        Numbers from zero.
    successes : float or array
        The number r, positive.
    a, b : array
        Positive; all arguments broadcast.

    Returns
    -------
    array
    """
    xp, _ = namespace(x, a, b)
    return log_beta_binomial(successes, x, a, b) - xp.log1p(x / successes)


def _log_most(one: Any, other: Any) -> Any:
    """Log density of s successes among s + f trials at the probability s / (s + f)."""
    whole = one + other
    return log_poisson(one, one) + log_poisson(other, other) - log_poisson(whole, whole)


def _log_power(one: Any, other: Any) -> Any:
    """Log of p^s (1 - p)^f at p = s / (s + f); zero to the power of zero is one."""
    xp, _ = namespace(one, other)
    whole = one + other
    whole = xp.where(whole > 0, whole, 1.0)
    return sum(
        xp.where(part > 0, part * log_ratio(-rest, whole, xp.where(part > 0, part, whole)), 0.0)
        for part, rest in ((one, other), (other, one))
    )


def log_gamma(x: Any, a: Any, b: Any) -> Any:
    """Log density of a gamma distribution; its largest terms are differences from the mean a / b."""
    xp, _ = namespace(x, a, b)
    excess = b * x - a
    return a * log_ratio(excess, a, b * x) - excess - xp.log(x) + 0.5 * (xp.log(a) - LOG_2_PI) - stirling_rest(a)


@with_slopes(
    lambda x, prob: jnp.log(_not_zero(prob)) - digamma(x + 1) + digamma(x.sum(axis=-1, keepdims=True) + 1),
    lambda x, prob: x / _not_zero(prob) - x.sum(axis=-1, keepdims=True),
)
def log_multinomial(x: Any, prob: Any) -> Any:
    """Log density of vectors of counts: that of Poisson counts, given their sum.

    Parameters
    ----------
    x, prob : array, shape (..., columns)
        Counts, and probabilities that add up to one; they broadcast.

    Returns
    -------
    array, shape (...,)
    """
    length = x.sum(axis=-1)
    return log_poisson(x, length[..., None] * prob).sum(axis=-1) - log_poisson(length, length)


def _not_zero(value: Any) -> Any:
    # An infinite slope times a zero from another class would be NaN.
    return jnp.maximum(value, jnp.finfo(value.dtype).tiny)


def _of_sum(slope: Callable[[Any, Any], Any], x: Any, concentration: Any) -> Any:
    return slope(x.sum(axis=-1, keepdims=True), concentration.sum(axis=-1, keepdims=True))


def log_ratio(difference: Any, below: Any, above: Any) -> Any:
    """Log of above / below, which differ by `difference`; below is positive."""
    xp, _ = namespace(difference, below, above)
    relative = difference / below
    far = relative < -0.5
    if xp is not np:
        return xp.where(far, xp.log(above / below), xp.log1p(xp.where(far, 0.0, relative)))
    if not np.any(far):
        return np.log1p(relative)
    with np.errstate(divide="ignore"):
        return np.where(far, np.log(np.where(far, above / below, 1.0)), np.log1p(np.where(far, 0.0, relative)))


# --------------------------------------------------------------------------------------------------
# Sums of log densities over the counts of rows; counts that repeat are looked up in a table
# --------------------------------------------------------------------------------------------------

ROWS_AN_ENTRY = 4
"""Cells of a column for each density of its table, so that the table is soon made."""

type Density = Callable[[Any, Any, Any], Any]
"""Log density given positions of classes and of columns, and counts, which broadcast."""


@dataclass(frozen=True)
class CountTable:
    """The counts that the columns of some rows hold.

    Attributes
    ----------
    columns, counts : array, shape (entries,)
        Entries of the table: all counts from a column's smallest to its largest, column after column.
    places : array of int, shape (rows, columns)
        The entry of each cell; one after the last for a cell that is missing or not in the table.
    rare_rows, rare_columns, rare_counts : array, shape (cells,)
        Observed cells that are not in the table.
    """

    columns: np.ndarray
    counts: np.ndarray
    places: np.ndarray
    rare_rows: np.ndarray
    rare_columns: np.ndarray
    rare_counts: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray, longest: int) -> Self:
        """The counts of rows.

        Parameters
        ----------
        x : array, shape (rows, columns)
            Counts; missing ones NaN.
        longest : int
            Entries that a column has at most: larger counts are not in the table.
        """
        smallest = np.fmin.reduce(x, axis=0, initial=np.inf)
        smallest = np.where(np.isfinite(smallest), smallest, 0.0)
        lengths = np.fmax.reduce(x, axis=0, initial=-1.0) - smallest + 1
        size = np.minimum(lengths, longest).astype(np.intp)
        ends = size.cumsum()
        starts, total = ends - size, int(size.sum())
        columns = np.repeat(np.arange(x.shape[1]), size)
        counts = np.arange(total) - starts[columns] + smallest[columns]
        places = np.empty(x.shape, dtype=np.int32)
        for rows in row_pieces(*x.shape):
            above = x[rows] - smallest
            places[rows] = np.where(above < size, above + starts, total)
        longer = np.flatnonzero(lengths > size)
        rare_rows, of_longer = np.nonzero(x[:, longer] - smallest[longer] >= size[longer])
        rare_columns = longer[of_longer]
        return cls(columns, counts, places, rare_rows, rare_columns, x[rare_rows, rare_columns])

    def sums(self, density: Density, num_classes: int) -> np.ndarray:
        """Sum over the observed cells of each row, under each class, shape (rows, classes)."""
        table = self._table(density, num_classes)
        found = csr_of_ones(self.places, len(table)) @ table
        if len(self.rare_rows):
            classes = np.arange(num_classes)
            np.add.at(found, self.rare_rows, density(classes, self.rare_columns[:, None], self.rare_counts[:, None]))
        return found

    def sums_of_own_class(self, density: Density, codes: np.ndarray, num_classes: int) -> np.ndarray:
        """Sum over the observed cells of each row, under its own class, shape (rows,).

        Parameters
        ----------
        codes : array of int, shape (rows,)
            Position of each row's class.
        """
        table = self._table(density, num_classes)
        found = np.empty(len(codes))
        ones = np.ones(self.places.shape[1])
        for rows in row_pieces(*self.places.shape):
            at = self.places[rows].astype(np.intp) * num_classes + codes[rows, None]
            found[rows] = table.take(at) @ ones
        if len(self.rare_rows):
            of_rare = density(codes[self.rare_rows], self.rare_columns, self.rare_counts)
            np.add.at(found, self.rare_rows, of_rare)
        return found

    def _table(self, density: Density, num_classes: int) -> np.ndarray:
        """Densities of the entries under each class, shape (entries + 1, classes); the last are zero."""
        table = np.zeros((len(self.counts) + 1, num_classes))
        table[:-1] = density(np.arange(num_classes), self.columns[:, None], self.counts[:, None])
        return table


# --------------------------------------------------------------------------------------------------
# Log densities of single cells, where small counts are looked up in a table
# --------------------------------------------------------------------------------------------------

LARGEST_TABLE = 512
"""Log densities of counts up to this are looked up, if the table has fewer densities than there are cells."""

FEW = 0.25
"""Share of larger counts up to which the others are looked up."""


def log_density_of_cells(log_density: Callable[..., Any], cells: Any, parameters: Any, *, are_counts: bool) -> Any:
    """Log density of every cell, shape (rows, columns).

    Parameters
    ----------
    log_density : callable
        Maps cells, and parameters that broadcast against them, to log densities.
    cells : array, shape (rows, columns)
        No missing cell. JAX arrays, and arrays of more axes, go to the formula as they are.
    parameters : array or family
        Of each column, shape (columns,); or a number.
    are_counts : bool
        Whether all cells are whole numbers from zero.
    """
    if isinstance(cells, jax.Array) or cells.ndim != 2:
        return log_density(cells, parameters)
    if are_counts:
        highest = min(cells.max(initial=0.0), LARGEST_TABLE, len(cells) // 2)
        rows, columns = np.nonzero(cells > highest)
        if len(rows) <= FEW * cells.size:
            counts = np.broadcast_to(np.arange(highest + 1)[:, None], (int(highest) + 1, cells.shape[1]))
            table = np.ascontiguousarray(log_density(counts, parameters))
            at = np.minimum(cells, highest) if len(rows) else cells
            found = table.ravel().take(at.astype(np.intp) * cells.shape[1] + np.arange(cells.shape[1]))
            if len(rows):
                own = jax.tree.map(lambda leaf: leaf if np.ndim(leaf) == 0 else leaf[columns], parameters)
                found[rows, columns] = log_density(cells[rows, columns], own)
            return found
    pieces = [np.asarray(log_density(cells[rows], parameters)) for rows in row_pieces(*cells.shape)]
    return np.concatenate(pieces) if len(pieces) > 1 else pieces[0]
