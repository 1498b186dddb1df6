"""Columns of a lazy table as an array of NumPy: a formula of them writes expressions for the table's engine."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import add
from typing import Any, Self

import narwhals as nw
import numpy as np

from bayesnb.core.plain_formulas import in_halves


class Columns(np.ndarray):
    """An array of expressions for NumPy's functions; along an axis of rows it has length one. A missing cell is null.

    A function that engines lack raises NotImplementedError. Conditions that are known before the query, such as those
    on parameters, stay booleans and choose an expression.
    """

    __array_priority__ = 1.0  # else NumPy joins them to a plain array
    ufuncs: dict[str, Any]

    @classmethod
    def of(cls, expressions: Iterable[Any]) -> Self:
        """Columns side by side, shape (columns,)."""
        return np.fromiter(expressions, object).view(cls)

    def astype(self, *_: Any, **__: Any) -> Any:
        return self.of(cell.cast(nw.Float64) for cell in self.flat).reshape(self.shape)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        # NumPy calls the operators and methods of objects, such as ``log`` of an expression.
        function = self.ufuncs.get(ufunc.__name__, partial(ufunc, dtype=object))
        given = [np.asarray(each) for each in inputs]
        if method == "__call__":
            return self._like(function(*given))
        found = in_halves(np.moveaxis(given[0], options["axis"], 0), function)
        return self._like(np.expand_dims(found, options["axis"]) if options.get("keepdims") else found)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        if function in ARRANGEMENTS:
            return super().__array_function__(function, types, arguments, options)
        if function not in FUNCTIONS:
            raise NotImplementedError(function.__name__)
        return self._like(FUNCTIONS[function](*arguments, **options))

    def _like(self, found: Any) -> Any:
        return np.asarray(found, object).view(type(self))


class PreciseColumns(Columns):
    """Columns whose log(1 + q) keeps the digits that 1 + q loses where q is small, at half the speed."""


def _literal(value: Any) -> Any:
    if isinstance(value, nw.Expr):
        return value
    return nw.lit(None if np.isnan(value) else value, nw.Float64)


def _where(condition: Any, value: Any, other: Any) -> Any:
    if isinstance(condition, nw.Expr):
        return nw.when(condition).then(_literal(value)).otherwise(_literal(other))
    return value if condition else other


def _log1p(q: nw.Expr) -> nw.Expr:
    """log(1 + q), with what rounding takes away of 1 + q."""
    u = q + 1.0
    return u.log() - (u - 1.0 - q) / u


def place_among(edges: Iterable[float], cell: nw.Expr, side: str = "right") -> nw.Expr:
    """How many edges are at or below a cell, as `numpy.searchsorted` gives it; null for a missing cell."""
    edges = [float(edge) for edge in edges]
    places = [float(place) for place in range(len(edges) + 1)]
    return nw.when(~cell.is_null()).then(item_between(edges, cell, places, side))


def item_between(edges: Sequence[float], cell: nw.Expr, items: Sequence[Any], side: str = "right") -> nw.Expr:
    """The item at the place of a cell among ascending edges, by a binary search; any item for a missing cell."""
    if not edges:
        return nw.lit(items[0])
    middle = len(edges) // 2
    low = cell < edges[middle] if side == "right" else cell <= edges[middle]
    below = item_between(edges[:middle], cell, items[: middle + 1], side)
    return nw.when(low).then(below).otherwise(item_between(edges[middle + 1 :], cell, items[middle + 1 :], side))


def _matmul(matrices: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Products of matrices of numbers, many of which are zero, and columns (matrices, columns, 1)."""
    sums = [
        [in_halves([one * a for a, one in zip(row, of, strict=True) if a], add) for row in matrix]
        for matrix, of in zip(matrices.tolist(), x[..., 0], strict=True)
    ]
    return np.array(sums, object)[..., None]


Columns.ufuncs = {
    "isnan": np.frompyfunc(nw.Expr.is_null, 1, 1),
    "isfinite": np.frompyfunc(lambda cell: cell.abs() < np.inf, 1, 1),
    "absolute": np.frompyfunc(nw.Expr.abs, 1, 1),
    "rint": np.frompyfunc(nw.Expr.round, 1, 1),
    "log1p": lambda q: np.log(q + 1.0),
    "maximum": np.frompyfunc(lambda one, other: nw.max_horizontal(_literal(one), _literal(other)), 2, 1),
    "minimum": np.frompyfunc(lambda one, other: nw.min_horizontal(_literal(one), _literal(other)), 2, 1),
    "logical_and": np.bitwise_and,
    "logical_or": np.bitwise_or,
    "matmul": _matmul,
}
"""NumPy's functions of single cells that expressions have by another name, or not at all."""

PreciseColumns.ufuncs = Columns.ufuncs | {"log1p": np.frompyfunc(_log1p, 1, 1)}

_CHOSEN = np.frompyfunc(_where, 3, 1)

FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.where: lambda *given: _CHOSEN(*map(np.asarray, given)),
    np.isneginf: lambda x: np.zeros(x.shape, bool),
    np.searchsorted: lambda edges, x, side="left": [[place_among(edges, cell, side) for cell in row] for row in x],
}
"""NumPy's other functions of cells."""

ARRANGEMENTS = {np.concatenate, np.expand_dims, np.moveaxis, np.ndim, np.ravel, np.shape, np.stack}
"""NumPy's functions that only move cells."""
