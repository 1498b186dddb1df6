"""Columns of a lazy table as an array library: formulas that take arrays by `namespace` take these, too."""

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from types import SimpleNamespace
from typing import Any

import narwhals as nw
import numpy as np


class NoExpressionError(NotImplementedError):
    """Engines of tables lack a function of a formula."""


class Columns:
    """The cells of a block, (rows, columns), as one expression a column; a missing cell is null.

    Parameters
    ----------
    expressions : iterable of narwhals.Expr

    Attributes
    ----------
    counts : dict
        By column, the values that occur, as far as several needs count them.
    """

    dtype = np.dtype(np.float64)
    ndim = 2
    array_library: tuple[Any, Any]

    def __init__(self, expressions: Iterable[nw.Expr]) -> None:
        self.expressions = list(expressions)
        self.counts: dict[int, Any] = {}

    @property
    def shape(self) -> tuple[Any, int]:
        return (None, len(self.expressions))

    def each(self, function: Callable[..., Any], *others: Any) -> "Columns":
        """A function of each column, and of the same column of others: numbers, arrays (columns,) or `Columns`."""
        wide = max(len(each.expressions) for each in (self, *others) if isinstance(each, Columns))
        return Columns(function(*own) for own in zip(*(_spread(each, wide) for each in (self, *others)), strict=True))

    def astype(self, dtype: Any, copy: bool = True) -> "Columns":
        return self.each(lambda e: e.cast(nw.Float64))

    def sum(self, axis: int = -1, keepdims: bool = False) -> "Columns":
        return Columns([reduce(operator.add, self.expressions)])

    def __neg__(self) -> "Columns":
        return self.each(operator.neg)

    def __invert__(self) -> "Columns":
        return self.each(operator.inv)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        if ufunc.__name__ not in UFUNCS:
            raise NoExpressionError(ufunc.__name__)
        first, *rest = (each if isinstance(each, Columns) else _constants(each) for each in inputs)
        return first.each(UFUNCS[ufunc.__name__], *rest)

    __hash__ = None  # type: ignore[assignment]


def _constants(value: Any) -> Columns:
    return Columns(nw.lit(float(number)) for number in np.atleast_1d(value))


def _spread(value: Any, wide: int) -> Sequence[Any]:
    if isinstance(value, Columns):
        return value.expressions * (wide if len(value.expressions) == 1 else 1)
    return [float(number) for number in np.broadcast_to(value, (wide,))]


def _of_each(name: str) -> Callable[[Columns], Columns]:
    return lambda x: x.each(operator.methodcaller(name))


UFUNCS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "absolute": nw.Expr.abs,
    "rint": nw.Expr.round,
    "isfinite": lambda cell: cell.abs() < np.inf,
}
"""What NumPy's functions are for expressions, where formulas call them by name."""

for _name in ("add", "sub", "mul", "truediv", "pow", "eq", "ne", "lt", "le", "gt", "ge", "and_", "or_"):
    _own = getattr(operator, _name)
    setattr(Columns, f"__{_name.rstrip('_')}__", lambda self, other, own=_own: self.each(own, other))
    setattr(
        Columns,
        f"__r{_name.rstrip('_')}__",
        lambda self, other, own=_own: self.each(lambda mine, theirs: own(theirs, mine), other),
    )


def _literal(value: Any) -> Any:
    if isinstance(value, nw.Expr):
        return value
    return nw.lit(None if np.isnan(value) else value, nw.Float64)


def _where(condition: Columns, value: Any, other: Any) -> Columns:
    return condition.each(lambda c, a, b: nw.when(c).then(_literal(a)).otherwise(_literal(b)), value, other)


def _larger_of(one: Any, other: Any) -> Columns:
    first, second = (each if isinstance(each, Columns) else _constants(each) for each in (one, other))
    return first.each(lambda a, b: nw.when(a > b).then(a).otherwise(b), second)


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


def _asarray(value: Any, dtype: Any = None) -> Any:
    return value if isinstance(value, Columns) else np.asarray(value, dtype)


def _lacking(name: str) -> Callable[..., Any]:
    def function(*_: Any, **__: Any) -> Any:
        raise NoExpressionError(name)

    return function


class _Library(SimpleNamespace):
    """Functions by NumPy's names; others raise `NoExpressionError`."""

    def __getattr__(self, name: str) -> Any:
        return _lacking(name)


Columns.array_library = (
    _Library(
        nan=np.nan,
        pi=np.pi,
        asarray=_asarray,
        where=_where,
        searchsorted=lambda edges, x, side="left": x.each(lambda e: place_among(edges, e, side)),
        isnan=_of_each("is_null"),
        maximum=_larger_of,
        log1p=lambda x: (1.0 + x).each(nw.Expr.log),
        **{name: _of_each(name) for name in ("log", "exp", "sqrt", "abs", "sin", "cos", "floor")},
    ),
    _Library(),
)
