"""Cells that are Python objects: missing cells, numbers, and values that can be categories."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from bayesnb.tables.columns import Column
from bayesnb.validate import a_type

__all__ = ["is_missing", "require_hashable", "shortened", "to_numbers", "unmask"]


def is_missing(value: Any) -> bool:
    """Whether a cell is None, NaN, NaT or pandas.NA."""
    return value is None or type(value).__name__ in {"NAType", "NaTType"} or value is np.ma.masked or value != value


def unmask(values: Any) -> np.ndarray:
    """An array without a mask: masked cells become NaN in an array of floats, else None."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if values.dtype.kind == "f":
        return values.filled(np.nan)
    objects = np.asarray(values.data).astype(object)
    objects[np.ma.getmaskarray(values)] = None
    return objects


def require_hashable(values: Sequence[Any], column: Column) -> None:
    """Raise TypeError if a value is not hashable and so cannot be a category."""
    for row, value in enumerate(values):
        if not isinstance(value, Hashable):
            raise TypeError(
                f"column {column!r} holds {a_type(value)} ({value!r} in row {row}), which cannot be a "
                "category: convert it, or leave the column out of the model"
            )


def to_numbers(values: np.ndarray, column: Column, rows: slice) -> np.ndarray:
    """Cells of a column of Python objects as float64, missing cells NaN.

    Raises
    ------
    TypeError
        If a cell is not a number. The error names the column, the row and the value.
    """
    values = unmask(values)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    numbers = np.empty(len(values))
    # In a list, NumPy's dates of nanoseconds would be whole numbers.
    listed = list(values) if values.dtype.kind in "mM" else values.tolist()
    for i, value in enumerate(listed):
        if is_missing(value):
            numbers[i] = np.nan
        elif isinstance(value, str | bytes):
            raise TypeError(
                f"column {column!r} holds text ({shortened(value)} in row {(rows.start or 0) + i}) where its family "
                "needs numbers: use nb.Categorical() for categories, count words first (scikit-learn's "
                "CountVectorizer), or convert it"
            )
        elif (number := _as_float(value)) is not None:
            numbers[i] = number
        else:
            raise TypeError(
                f"column {column!r} holds {a_type(value)} ({value!r} in row {(rows.start or 0) + i}) where "
                "its family needs numbers: convert it, a date for example to days since a first day, or leave the "
                "column out"
            )
    return numbers


def _as_float(value: Any) -> float | None:
    """A value as a number; None for dates, which NumPy would count in their units, and for what is no number."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return None
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf
    except (TypeError, ValueError):
        return None


def shortened(value: Any) -> str:
    """A value as errors show it, at most 40 characters."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
