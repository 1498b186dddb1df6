"""Formulas for NumPy and JAX, rows in pieces that fit the cache, CSR arrays, rows with the same cells."""

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import reduce, wraps
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse
import scipy.special

from bayesnb.core.deferred import float64, is_jax, jax, jit, jnp, leaves, map_tree, structure

# --------------------------------------------------------------------------------------------------
# Formulas that run on NumPy arrays and on JAX arrays.
#
# The closed forms are plain arithmetic and a few special functions, so that the same code runs on NumPy arrays
# (instant, float64, no compilation) and on JAX arrays (inside ``jit``, ``grad`` and ``vmap``).
# --------------------------------------------------------------------------------------------------


def namespace(*arrays: Any) -> tuple[ModuleType, ModuleType]:
    """Array library and special functions that fit the given values.

    A formula written with them runs on NumPy arrays, where nothing is compiled, and on JAX arrays, where samplers trace
    it.

    Parameters
    ----------
    *arrays
        Values of a formula.

    Returns
    -------
    tuple of module
        ``(jax.numpy, jax.scipy.special)`` if any value is a JAX array or tracer, else
        ``(numpy, scipy.special)``.

    See Also
    --------
    log_rising : A difference of log-gamma functions.
    log_beta : Log of the Beta function.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> import bayesnb as nb
    >>> def log_partition(rate):
    ...     xp, special = nb.families.namespace(rate)
    ...     return xp.log(rate) + special.gammaln(rate)
    >>> type(log_partition(np.array([1.0, 2.0]))).__name__
    'ndarray'
    >>> type(log_partition(jnp.array([1.0, 2.0]))).__name__
    'ArrayImpl'
    """
    if any(is_jax(array) for array in arrays):
        return jnp, jax.scipy.special
    return np, scipy.special


def close(one: Any, other: Any, *, sums: bool = False) -> bool:
    """Whether two trees have the same structure and the same numbers, up to the rounding of the largest number."""
    return structure(one) == structure(other) and all(
        np.shape(a) == np.shape(b)
        and np.allclose(a, b, rtol=1e-9, atol=1e-12 + sums * 1e-9 * np.abs(a).max(initial=0.0))
        for a, b in zip(leaves(one), leaves(other), strict=True)
    )


def log(values: Any) -> np.ndarray:
    """Elementwise logarithm; log(0) is -inf, without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(values))


def sqrt(values: Any) -> Any:
    """Elementwise square root, in the array library of the values."""
    return namespace(values)[0].sqrt(values)


def probabilities(joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the labels, and the log densities of the rows, from log joint densities (..., rows, classes).

    They are computed class by class, because short rows cost NumPy more than their numbers do.
    """
    by_class = np.moveaxis(joint, -1, 0)
    highest = reduce(np.maximum, by_class)
    weights = [np.exp(of_class - highest) for of_class in by_class]
    total = reduce(np.add, weights)
    result = np.empty(joint.shape)
    for c, weight in enumerate(weights):
        np.divide(weight, total, out=result[..., c])
    return result, highest + np.log(total)


def coordinate(labels: Sequence[Any]) -> np.ndarray:
    """Labels as an array that xarray can index and write: mixed types become text."""
    kinds = {type(label) for label in labels}
    if kinds <= {bool} or kinds <= {int, float}:
        return np.asarray(labels)
    return np.asarray([str(label) for label in labels])


def in_float64[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with JAX in float64. The user's global setting does not change."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with float64():
            return function(*args, **kwargs)

    return wrapped


def to_numpy(tree: Any) -> Any:
    """Copy every JAX array of a tree into a NumPy array, whose precision does not depend on JAX's settings."""
    return map_tree(lambda leaf: np.asarray(leaf) if is_jax(leaf) else leaf, tree)


# --------------------------------------------------------------------------------------------------
# Formulas of families and of NumPyro's distributions, compiled as a whole where JAX can trace them
# --------------------------------------------------------------------------------------------------


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
        # may have attributes that JAX does not pass on. Then the formula runs without compilation and raises its own
        # error.
        return formula(*arguments, **settings)


@jit(static_argnums=(0, 1))
def _traced(formula: Callable[..., Any], settings: tuple[tuple[str, Hashable], ...], *arguments: Any) -> Any:
    return formula(*arguments, **dict(settings))


# --------------------------------------------------------------------------------------------------
# Rows in pieces that fit the cache, and rows of one class
# --------------------------------------------------------------------------------------------------

PIECE_CELLS = 2**16
"""Cells of a temporary array: half a mebibyte of float64, which stays in a core's own cache."""


def row_pieces(num_rows: int, num_columns: int) -> Iterator[slice]:
    """Slices of rows whose temporary arrays stay in the processor's cache."""
    step = max(16, PIECE_CELLS // max(num_columns, 1))
    for start in range(0, max(num_rows, 1), step):
        yield slice(start, min(start + step, num_rows))


def rows_by_class(codes: np.ndarray, num_classes: int) -> Iterator[tuple[int, np.ndarray]]:
    """Each class that has rows with its rows, given the position of each row's class (rows,)."""
    # NumPy sorts the smallest types in linear time.
    order = np.argsort(codes.astype(np.min_scalar_type(num_classes)), kind="stable")
    edges = np.cumsum(np.bincount(codes, minlength=num_classes))
    for c, (start, stop) in enumerate(itertools.pairwise([0, *edges.tolist()])):
        if stop > start:
            yield c, order[start:stop]


def any_missing(x: np.ndarray) -> bool:
    """Whether a cell is NaN. A sum shows it without an array as large as `x`."""
    if x.dtype.kind != "f":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(x.sum()) and np.isnan(x).any())


def all_whole(cells: np.ndarray) -> bool:
    """Whether all cells are whole numbers, without a temporary array as large as they are."""
    return all(np.array_equal(cells[rows], np.rint(cells[rows])) for rows in row_pieces(len(cells), cells[:1].size))


# --------------------------------------------------------------------------------------------------
# Rows with the same cells
# --------------------------------------------------------------------------------------------------


def weighted_values(x: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The distinct numbers of an array, sorted, and how often each occurs, or the weight of its cells."""
    if weights is None or (weights == 1.0).all():
        # The place of each cell is not asked for: it takes several times as long as sorting.
        return np.unique(x, return_counts=True)
    values, place = np.unique(x, return_inverse=True)
    return values, np.bincount(place, weights, minlength=len(values))
