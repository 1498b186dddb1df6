"""Cells of lazy tables as numbers and codes, in expressions that the engine of the table computes."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any

import narwhals as nw

from bayesnb.core.number_form import NumberForm
from bayesnb.data.column_expressions import item_between
from bayesnb.data.tables import TEXT
from bayesnb.data.text_expressions import FIELDS, numbers_in_text, part_of_dates
from bayesnb.serve.scorer import Reading

# --------------------------------------------------------------------------------------------------
# Look-up in lists
# --------------------------------------------------------------------------------------------------


def of_key(x: nw.Expr, keys: Iterable[Any], values: Iterable[Any], other: nw.Expr) -> nw.Expr:
    """The value of the first key that x equals, by comparisons one after another. Both may be expressions."""
    for key, value in reversed([*zip(keys, values, strict=True)]):
        other = nw.when(x == key).then(value if isinstance(value, nw.Expr) else nw.lit(value)).otherwise(other)
    return other


def bins_as_codes(x: nw.Expr, edges: Sequence[float], lowest: float | None = None) -> nw.Expr:
    """`codes_in_bins` of a column without NaN; `lowest` is the least of whole numbers each of which is a bin."""
    found = item_between(edges, x, range(len(edges) + 1)) if lowest is None else (x - lowest).cast(nw.Int64)
    return nw.when(x.is_null()).then(nw.lit(len(edges) + 1)).otherwise(found)


def most_compared(frame: Any) -> int:
    """So many items are compared one by one, and more are a list, which not all databases have; DuckDB's are fast."""
    return 1 if frame.implementation.is_duckdb() else 20


type Look = tuple[str, Sequence[Any]]
"""A column, and a list in which its cells are looked up."""


def with_looked_up(frame: Any, items: Mapping[str, Look], places: Mapping[str, Look]) -> Any:
    """A frame with further columns, by name: items of lists at places from 0, and places from 1 of values in lists.

    The place of a value that is not in the list is 0 or null. A list in the query keeps the order of the rows, which a
    join does not. Each engine has its own name for this, and narwhals none.
    """
    if not items and not places:
        return frame
    native, kind = frame.to_native(), frame.implementation
    new: dict[str, Any] = {}
    if kind.is_duckdb():
        found = [f'list_extract({_sql(own)}::DOUBLE[], "{at}" + 1) AS "{name}"' for name, (at, own) in items.items()]
        found += [f'list_position({_sql(own)}, "{at}") AS "{name}"' for name, (at, own) in places.items()]
        return nw.from_native(native.project(", ".join(["*", *found])))
    if kind.is_ibis():
        array = kind.to_native_namespace().array
        new |= {name: array(own)[native[at]] for name, (at, own) in items.items()}
        new |= {name: array(own).index(native[at]) + 1 for name, (at, own) in places.items()}
        return nw.from_native(native.mutate(**new))
    if kind.is_pyspark():
        from pyspark.sql import functions as f

        array = {name: f.array(*map(f.lit, own)) for name, (_, own) in {**items, **places}.items()}
        new |= {name: array[name][f.col(at)] for name, (at, _) in items.items()}
        new |= {name: f.array_position(array[name], f.col(at)) for name, (at, _) in places.items()}
        return nw.from_native(native.withColumns(new))
    for name, (at, own) in items.items():
        x, keys = nw.col(at), range(len(own))
        new[name] = x.replace_strict([*keys], own) if kind.is_polars() else item_between(keys[1:], x, own)
    for name, (at, own) in places.items():
        x, keys = nw.col(at), range(1, len(own) + 1)
        of_polars = kind.is_polars()
        new[name] = x.replace_strict(own, [*keys], default=0) if of_polars else of_key(x, own, keys, nw.lit(0))
    return frame.with_columns(**new)


def _sql(values: Sequence[Any]) -> str:
    """A list in SQL, where a number without an exponent would be decimal."""

    def text(one: Any) -> str:
        if isinstance(one, str):
            return "'" + one.replace("'", "''") + "'"
        return format(one, ".17e") if isfinite(one) else f"'{one}'::DOUBLE"

    return f"[{', '.join(map(text, values))}]"


def computed_once(frame: Any) -> Any:
    """A frame whose columns are computed once; of several steps, Ibis would write one with each column many times."""
    return nw.from_native(frame.to_native().view()) if frame.implementation.is_ibis() else frame


def with_steps_apart(frame: Any) -> Any:
    """A frame of whose steps DuckDB makes no single expression.

    Of the first or the highest rows it would read most columns later, and to find out which, write every step into the
    next one: from ten steps on that takes forever. It does not look through a union, and drops the part without rows.
    """
    of_duckdb = frame.implementation.is_duckdb()
    if frame.implementation.is_ibis():
        with suppress(frame.implementation.to_native_namespace().IbisError):  # a table without a database
            of_duckdb = frame.to_native().get_backend().name == "duckdb"
    return nw.concat([frame, frame.head(0)]) if of_duckdb else frame


# --------------------------------------------------------------------------------------------------
# Columns
# --------------------------------------------------------------------------------------------------


class LazyColumn:
    """A column of a lazy table, as expressions.

    Parameters
    ----------
    name : str
    dtype : narwhals.dtypes.DType
    form : NumberForm, optional
        How its numbers are written, if it is text.
    is_empty : bool
        Whether the column has no type, since all its cells are missing.

    Attributes
    ----------
    dates : dict
        By form, `fields_of_dates` of the cells, where dates are read of them.
    """

    def __init__(self, name: str, dtype: Any, form: NumberForm | None = None, is_empty: bool = False) -> None:
        self.name, self.dtype, self.is_empty = name, dtype, is_empty
        self.cells, self.dates = nw.col(name), dict[str | None, Mapping[str, nw.Expr]]()
        if form is not None and dtype in TEXT:
            self.cells, self.dtype = numbers_in_text(self.cells.cast(nw.String), form), nw.Float64()
        elif dtype.is_float():
            self.cells = nw.when(~self.cells.is_nan()).then(self.cells)

    def is_missing(self) -> nw.Expr:
        """One for a missing cell, zero for others."""
        return nw.when(self.cells.is_null()).then(nw.lit(1.0)).otherwise(nw.lit(0.0))

    def plain_numbers(self) -> nw.Expr | None:
        """Cells as float64, missing ones null; None if the column holds no numbers."""
        return self.cells.cast(nw.Float64) if self.dtype.is_numeric() or self.dtype == nw.Boolean else None

    def _made_of(self, reading: Reading) -> tuple[nw.Expr, Any]:
        """What a recipe makes of the cells, missing ones null, and its type: text, float64, or another one."""
        if reading.recipe == "missing":
            return self.is_missing(), nw.Float64
        if self.is_empty:
            return nw.lit(None, nw.Float64()), nw.Float64
        if reading.recipe == "date":
            if self.dtype not in (nw.Date, nw.Datetime, *TEXT):
                raise TypeError(
                    f"column {self.name!r} holds {self.dtype}, and the fit read dates of it: convert it to dates or "
                    "timestamps in the query, or leave it out of the fit"
                )
            settings = dict(reading.settings)
            names = [*FIELDS][: 3 if self.dtype == nw.Date else None]
            own = {name: getattr(self.cells.dt, name)().cast(nw.Int64) for name in names}
            return part_of_dates(self.dates.get(settings["form"], own), settings["part"]), nw.Float64
        if self.dtype in (*TEXT, nw.Date):
            return self.cells.cast(nw.String), nw.Date if self.dtype == nw.Date else nw.String
        if (numbers := self.plain_numbers()) is not None:
            return numbers, nw.Float64
        return self.cells, self.dtype

    def numbers(self, reading: Reading) -> nw.Expr:
        """Cells as float64.

        Raises
        ------
        TypeError
            If the column holds something else.
        """
        cells, dtype = self._made_of(reading)
        if dtype != nw.Float64:
            held = "text" if dtype == nw.String else dtype
            raise TypeError(
                f"column {self.name!r} holds {held} where its family needs numbers: convert it in the query, a date "
                "for example to days since a first day"
            )
        return cells

    def categories(self, reading: Reading) -> tuple[nw.Expr, dict[Any, int]]:
        """Cells as text or float64, and the codes of the categories of the same type; errors as for `numbers`."""
        cells, dtype = self._made_of(reading)
        if self.is_empty and reading.recipe != "missing":
            return cells, {}
        kind: Any = {nw.String: str, nw.Float64: int | float | Decimal, nw.Date: date}.get(dtype, ())
        own = [(code, value) for code, value in enumerate(reading.categories or ()) if isinstance(value, kind)]
        own = [(code, value) for code, value in own if not isinstance(value, datetime)]  # which is a date to Python
        if kind == ():
            raise TypeError(
                f"column {self.name!r} holds {self.dtype}, and categories are found in a lazy table by text, numbers "
                "or days alone: convert the column to text in the query, here and for the fit"
            )
        if not (own or reading.others):
            raise TypeError(
                f"column {self.name!r} holds {self.dtype}, and its categories in the fit are of another type, such as "
                f"{(reading.categories or ())[0]!r}: convert the column in the query"
            )
        if dtype == nw.Float64 and self.dtype.is_integer() and any(abs(value) > 2**53 for _, value in own):
            # Float64 would take several such numbers, of identities for example, for one.
            return self.cells.cast(nw.String), {str(int(value)): code for code, value in own if value % 1 == 0}
        plain: Any = float if dtype == nw.Float64 else str
        return cells, {plain(value): code for code, value in own}
