"""Recipes that make a column of another one, and dates in text; NumPy and Python's own library alone."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np

from bayesnb.core.cells import Column, is_missing, shortened
from bayesnb.core.checking import first_few, warn

# --------------------------------------------------------------------------------------------------
# Dates: cells of a type of dates, and text in one form
# --------------------------------------------------------------------------------------------------

ISO = "ISO 8601"
"""The form of texts that `datetime.fromisoformat` reads, with a time or without, except those of digits alone."""

DAYS: tuple[str, ...] = ("%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y")
DAYS += ("%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
FORMS = (ISO, *(day + time for day in DAYS for time in TIMES))
"""The forms of dates in text, as `datetime.strptime` takes them."""

FIRST, SOME = 20, 2000
"""So many values are tried in each form of dates: the second number where one of the first has the form."""


def date_form(values: Sequence[Any], share: float) -> str | None:
    """The one form in which at least a share of some distinct values are dates; None if there is none, or several.

    Two forms are one where they give the same dates, and ambiguous where they do not, as with 03/04/2021.
    """
    values = values[:: max(1, len(values) // SOME)]
    some = [value for value in values if isinstance(value, str)]
    # Most forms fail at the first values.
    forms = [form for form in FORMS if any(_parsed(value, form) is not None for value in some[:FIRST])]
    found = {form: [_parsed(value, form) for value in some] for form in forms}
    number = {form: len(dates) - dates.count(None) for form, dates in found.items()}
    most = max(number.values(), default=0)
    best = [form for form in forms if number[form] == most]
    unambiguous = most >= max(1, share * len(values)) and all(found[form] == found[best[0]] for form in best)
    return best[0] if unambiguous else None


@lru_cache(2**14)
def _parsed(text: str, form: str) -> datetime | None:
    try:
        if form != ISO:
            return datetime.strptime(text.strip(), form)
        return None if text.strip().isdecimal() else datetime.fromisoformat(text.strip()).replace(tzinfo=None)
    except ValueError:
        return None


def moments_of(cells: np.ndarray, form: str | None = None) -> np.ndarray:
    """Cells of dates as datetime64[us]; those that are none are NaT."""
    if cells.dtype.kind == "M":
        return cells.astype("datetime64[us]")
    return np.array([_as_datetime(value, form) for value in cells.tolist()], dtype="datetime64[us]")


def read_dates(cells: np.ndarray, column: Column, form: str | None) -> np.ndarray:
    """Cells of a column as `moments_of` gives them.

    Warns
    -----
    UserWarning
        If observed cells are no dates of this form.
    """
    moments = moments_of(cells, form)
    if strange := {value: None for value in cells[np.isnat(moments)].tolist() if not is_missing(value)}:
        where = f"column {column!r}: cells in another form than the dates of the fit ({form or ISO})"
        shown = first_few([*map(shortened, strange)], 3)
        warn(f"{where} count as missing: {shown}", UserWarning, same=(column, form))
    return moments


def _as_datetime(value: Any, form: str | None) -> Any:
    if isinstance(value, str):
        return _parsed(value, form or ISO)
    if is_missing(value) or not hasattr(value, "year"):
        return None
    hour, minute, second = (int(getattr(value, name, 0)) for name in ("hour", "minute", "second"))
    return datetime(value.year, value.month, value.day, hour, minute, second)


# --------------------------------------------------------------------------------------------------
# Recipes
# --------------------------------------------------------------------------------------------------


def gap_indicator(cells: np.ndarray) -> np.ndarray:
    """Whether each cell is missing, as 0 and 1."""
    if cells.dtype.kind in "biufcmM":
        return (cells != cells).astype(np.float64)
    values = cells.tolist()
    known = {value: float(is_missing(value)) for value in {*values}}
    return np.array([known[value] for value in values])


PARTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "day": lambda moments: (moments - np.datetime64("2000-01-01", "us")) / np.timedelta64(1, "D"),
    "month": lambda moments: moments.astype("datetime64[M]").astype(np.int64) % 12 + 1.0,
    "weekday": lambda moments: (moments.astype("datetime64[D]").astype(np.int64) + 3) % 7 + 1.0,
    "hour": lambda moments: moments.astype("datetime64[h]").astype(np.int64) % 24 + 0.0,
}
"""Parts of dates as numbers: days since 2000, months from 1, weekdays from 1 (Monday), hours from 0."""


def date_part(cells: np.ndarray, part: str, form: str | None = None) -> np.ndarray:
    """A part of dates as numbers, NaN where a cell is no date.

    Parameters
    ----------
    cells : array, shape (cells,)
    part : str
        One of `PARTS`.
    form : str, optional
        The form of dates in text, by default ISO 8601.
    """
    moments = moments_of(cells, form)
    return np.where(np.isnat(moments), np.nan, PARTS[part](moments))


COPY = "copy"
"""The recipe of a column that has the cells of its source."""

RECIPES: dict[str, Callable[..., np.ndarray]] = {
    "missing": gap_indicator,
    "category": lambda cells: cells,
    "date": date_part,
}
"""By name, functions of the cells of a source, shape (rows,) in their own type, and of settings; NumPy alone."""
