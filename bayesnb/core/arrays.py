"""Formulas for NumPy and JAX, rows in pieces that fit the cache, CSR arrays, rows with the same cells."""

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse
import scipy.special

from bayesnb.core.deferred import float64, is_jax, jax, jit, jnp, leaves, map_tree, structure, with_derivative

# --------------------------------------------------------------------------------------------------
# Formulas that run on NumPy arrays and on JAX arrays.
#
# The closed forms are plain arithmetic and a few special functions, so that the same code runs on NumPy arrays
# (instant, float64, no compilation) and on JAX arrays (inside ``jit``, ``grad`` and ``vmap``).
# --------------------------------------------------------------------------------------------------

HALF_LOG_2_PI = 0.5 * float(np.log(2 * np.pi))


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
    if any(is_jax(array) for array in arrays):
        return jnp, jax.scipy.special
    return np, scipy.special


def close(one: Any, other: Any, *, sums: bool = False) -> bool:
    """Whether two trees have the same structure and the same numbers, up to rounding: of sums, that of the largest."""
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


def log_beta(a: Any, b: Any) -> Any:
    """Log of the Beta function.

    SciPy's ``betaln`` is accurate if one argument is large. JAX's loses half of its digits for small arguments, so that
    JAX arrays use log-gamma functions.
    """
    xp, special = namespace(a, b)
    if xp is np:
        return special.betaln(a, b)
    # One call of the function, whose derivatives are long formulas, compiles in a third of the time of three.
    of_a, of_b, of_sum = special.gammaln(jnp.stack(jnp.broadcast_arrays(a, b, a + b)))
    return of_a + of_b - of_sum


LOG_FACTORIALS = scipy.special.gammaln(np.arange(256) + 1.0)


def log_factorial(counts: Any) -> Any:
    """Log of x!, in NumPy looked up in a table if all are small whole numbers, as most counts are."""
    xp, special = namespace(counts)
    if xp is np and counts.size and counts.min() >= 0 and counts.max() < len(LOG_FACTORIALS):
        whole = counts.astype(np.uint8)
        if (whole == counts).all():
            return LOG_FACTORIALS[whole]
    return special.gammaln(counts + 1.0)


def log_rising(a: Any, x: Any) -> Any:
    r"""Log of the rising factorial, :math:`\log\Gamma(a + x) - \log\Gamma(a)`, for a > 0 and a + x > 0.

    For a >= 16 it is a difference of two Stirling series. No term of it is larger than the result if `a` is large, so
    that the relative error is a few roundings.
    """
    xp, _ = namespace(a, x)
    if xp is jnp:
        dtype = jnp.result_type(a, x, 1.0)
        return _rising_in_jax(jnp.asarray(a, dtype), jnp.asarray(x, dtype))
    small = a < 16
    if np.all(small):
        return _rising_by_log_gamma(a, x)
    by_series = _rising_by_series(a, x)
    return np.where(small, _rising_by_log_gamma(a, x), by_series) if np.any(small) else by_series


def _slope_of_rising(at: tuple[Any, Any], direction: tuple[Any, Any]) -> tuple[Any, Any]:
    """Derivatives by digamma functions. They compile in a quarter of the time of the formulas' own derivatives."""
    (a, x), (da, dx) = at, direction
    return _rising_in_jax(a, x), _digamma_rise(a, x) * da + jax.scipy.special.digamma(a + x) * dx


@with_derivative(_slope_of_rising)
@jit
def _rising_in_jax(a: Any, x: Any) -> Any:
    # What both branches need is outside them, so that it is compiled once.
    small, by_series = a < 16, _rising_by_series(a, x)
    return jax.lax.cond(
        jnp.any(small), lambda: jnp.where(small, _rising_by_log_gamma(a, x), by_series), lambda: by_series
    )


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


def _rising_by_series(a: Any, x: Any) -> Any:
    """`log_rising` for a >= 16; for smaller a, a finite number without meaning."""
    xp, _ = namespace(a, x)
    large = xp.maximum(a, 16.0)
    logs = (large + x - 0.5) * xp.log1p(x / large) + x * (xp.log(large) - 1)
    return logs + (stirling_rest(large + x) - _rest_by_series(large))


def stirling_rest(z: Any) -> Any:
    r"""Difference between the log-gamma function and Stirling's formula, for z > 0.

    .. math:: \log\Gamma(z) - (z - \tfrac12) \log z + z - \tfrac12 \log 2\pi

    For z >= 16 by the series 1/(12 z) - 1/(360 z³) + ..., with an error of 1e-14. For smaller z by the log-gamma
    function.
    """
    xp, _ = namespace(z)
    if xp is jnp:
        return _rest_in_jax(z)
    small, by_series = z < 16, _rest_by_series(z)
    return np.where(small, _rest_of_small(z), by_series) if np.any(small) else by_series


@jit
def _rest_in_jax(z: Any) -> Any:
    small, by_series = z < 16, _rest_by_series(z)
    return jax.lax.cond(jnp.any(small), lambda: jnp.where(small, _rest_of_small(z), by_series), lambda: by_series)


def _rest_of_small(z: Any) -> Any:
    """`stirling_rest` for z < 16; for larger z, a finite number without meaning."""
    xp, special = namespace(z)
    low = xp.where(z < 16, z, 1.0)
    return special.gammaln(low) - (low - 0.5) * xp.log(low) + low - HALF_LOG_2_PI


def _rest_by_series(z: Any) -> Any:
    xp, _ = namespace(z)
    large = xp.maximum(z, 16.0)
    square = 1 / large**2
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / large


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
        # may have attributes that JAX does not pass on. Their own errors come again.
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
    """Each class that has rows, and which those are, given the position of each row's class (rows,)."""
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
# CSR arrays: views of their rows, missing entries, entries stored in parts
# --------------------------------------------------------------------------------------------------


def shared_csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> Any:
    """A CSR array that shares these arrays; SciPy's constructor copies a view of less than half of an array."""
    result = scipy.sparse.csr_array(shape)
    result.data, result.indices, result.indptr = data, indices, indptr.astype(indices.dtype, copy=False)
    return result


def csr_of_ones(places: np.ndarray, width: int) -> Any:
    """Rows with a one at each of their places, (rows, places of a row), as a CSR array of shape (rows, width)."""
    num_rows, num_places = places.shape
    edges = num_places * np.arange(num_rows + 1, dtype=places.dtype)
    return shared_csr(np.ones(places.size), places.ravel(), edges, (num_rows, width))


def csr_rows(x: Any, rows: slice) -> Any:
    """Some of the rows of a CSR array, whose entries are not copied."""
    edges = x.indptr[rows.start : rows.stop + 1]
    entries = slice(edges[0], edges[-1])
    return shared_csr(x.data[entries], x.indices[entries], edges - edges[0], (len(edges) - 1, x.shape[1]))


def csr_pieces(x: Any, num_entries: int) -> Iterator[slice]:
    """Slices of rows of a CSR array with about so many entries each."""
    num_rows = x.shape[0]
    starts = np.searchsorted(x.indptr, np.arange(0, x.nnz, num_entries))
    edges = np.unique(np.concatenate([[0], starts, [num_rows]])) if num_rows else [0]
    for start, stop in itertools.pairwise(edges):
        yield slice(int(start), int(stop))


def without_duplicates(x: Any) -> Any:
    """A CSR array in which each cell is stored once. Parts of a cell are added up, because log x! is not additive.

    Arrays that are shared with the caller's data do not change.
    """
    if x.has_canonical_format:
        return x
    whole = x.copy()
    whole.sum_duplicates()
    return whole


def missing_entries(x: Any) -> Any:
    """Ones where a sparse array stores NaN, as a sparse array of the same shape."""
    marks = scipy.sparse.csr_array(x, copy=True)
    marks.data = np.isnan(x.data).astype(np.float64)
    marks.eliminate_zeros()
    return marks


def dense(x: Any) -> np.ndarray:
    """The cells of a dense or sparse array as a NumPy array."""
    return x.toarray() if scipy.sparse.issparse(x) else x


def stacked(pieces: Sequence[Any]) -> Any:
    """Rows of several arrays, all dense or all sparse, as one array."""
    return scipy.sparse.vstack(pieces, format="csr") if scipy.sparse.issparse(pieces[0]) else np.concatenate(pieces)


def filled(x: Any) -> Any:
    """The cells with zeros for the missing ones, dense or sparse."""
    if not scipy.sparse.issparse(x):
        return np.nan_to_num(x)
    if not np.isnan(x.data).any():
        return x
    result = x.copy()
    result.data = np.nan_to_num(result.data)
    return result


# --------------------------------------------------------------------------------------------------
# Rows with the same cells
# --------------------------------------------------------------------------------------------------

ENTRIES = 2**16
"""Entries of a CSR array taken at a time."""


def distinct_rows(blocks: Sequence[Any], most: float) -> tuple[np.ndarray, np.ndarray] | None:
    """The distinct rows of some blocks of columns, if they are few.

    Equal rows have equal keys of 64 bits. Rows with equal keys are then compared, so that two rows are never taken for
    one by chance.

    Parameters
    ----------
    blocks : sequence of array
        Each of shape (rows, columns), float64 or CSR. Missing cells, NaN, are equal.
    most : float
        Largest share of distinct rows.

    Returns
    -------
    tuple of array, or None
        The first place of each distinct row, in the order of the rows, and for each row its position among the distinct
        ones. None if there are more distinct rows.
    """
    keys = _keys(blocks)
    num_rows = len(keys)
    # Sorting without places is far faster, and often shows that the rows differ.
    in_order = np.sort(keys)
    if 1 + np.count_nonzero(in_order[1:] != in_order[:-1]) > most * num_rows:
        return None
    _, first, position = np.unique(keys, return_index=True, return_inverse=True)
    if not all(_are_equal(x, first[position]) for x in blocks):
        return None
    order = np.argsort(first)
    return first[order], np.argsort(order)[position]


def _keys(blocks: Sequence[Any]) -> np.ndarray:
    """A number of 64 bits for each row: the sum of numbers that cell and column determine, modulo 2 to the 64."""
    rng = np.random.default_rng(0)
    total = np.zeros(blocks[0].shape[0], dtype=np.uint64)
    for x in blocks:
        of_columns = rng.integers(2**64, size=x.shape[1], dtype=np.uint64)
        if scipy.sparse.issparse(x):
            for rows in csr_pieces(x, ENTRIES):
                piece = csr_rows(x, rows)
                sums = np.zeros(piece.nnz + 1, dtype=np.uint64)
                np.cumsum(_mixed(piece.data, of_columns[piece.indices]), out=sums[1:])
                total[rows] += np.diff(sums[piece.indptr])
        else:
            for rows in row_pieces(*x.shape):
                total[rows] += _mixed(x[rows], of_columns).sum(axis=1, dtype=np.uint64)
    return total


def _mixed(cells: np.ndarray, of_columns: np.ndarray) -> np.ndarray:
    """A number of 64 bits for each cell, by the finaliser of SplitMix64 (Steele, Lea and Flood 2014, OOPSLA)."""
    bits = np.ascontiguousarray(cells, dtype=np.float64).view(np.uint64) + of_columns
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))


def _are_equal(x: Any, other: np.ndarray) -> bool:
    """Whether each row has the same cells as the row at another place, NaN equal to NaN."""
    if not scipy.sparse.issparse(x):
        return all(np.array_equal(x[rows], x[other[rows]], equal_nan=True) for rows in row_pieces(*x.shape))
    for rows in csr_pieces(x, ENTRIES):
        mine, theirs = csr_rows(x, rows), x[other[rows]]
        same = all(np.array_equal(getattr(mine, name), getattr(theirs, name)) for name in ("indptr", "indices"))
        if not (same and np.array_equal(mine.data, theirs.data, equal_nan=True)):
            return False
    return True


def weighted_values(x: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The different numbers of an array, sorted, and how often each occurs, or the weight of the cells that hold it."""
    if weights is None or (weights == 1.0).all():
        # Without a place for each cell, which takes several times as long as to sort.
        return np.unique(x, return_counts=True)
    values, place = np.unique(x, return_inverse=True)
    return values, np.bincount(place, weights, minlength=len(values))
