"""Cells of a column as Python objects: missing cells, numbers, categories, and what errors and warnings say of them.

Fits and fitted models share it, and it needs NumPy alone.
"""

import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.core.checking import a_type, first_few, listed, near_matches, warn

# --------------------------------------------------------------------------------------------------
# Missing cells, numbers and text
# --------------------------------------------------------------------------------------------------

Column = Any
"""Name of a column: any hashable value, its position where the table has no names."""


MISSING = {"NAType", "NaTType", "MaskedConstant"}
"""Types of missing cells of pandas and NumPy."""


def is_missing(value: Any) -> bool:
    """Whether a cell is None, NaN, NaT or pandas.NA."""
    return value is None or type(value).__name__ in MISSING or value != value


def unmask(values: Any) -> np.ndarray:
    """An array without a mask: masked cells become NaN in an array of floats, else None."""
    # NumPy imports its masked arrays when they are first used.
    if "numpy.ma" not in sys.modules or not isinstance(values, np.ma.MaskedArray):
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


def lacks_columns(missing: Sequence[Column], others: Iterable[Column]) -> ValueError:
    """The error of a row without cells for some columns of the fit, given also the columns that no one asks for."""
    return ValueError(
        f"the row has no {listed(missing)}{near_matches(missing[0], others)}: give every column of the fit, None for a "
        "missing cell"
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
                "needs numbers: give a number, None if it is missing, or fit the column as categories, "
                "nb.Categorical(), or as counts of words (scikit-learn's CountVectorizer)"
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
    """A value as a number; None for anything else, also for dates, which NumPy would convert."""
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


# --------------------------------------------------------------------------------------------------
# Numbers that no family, or not this one, holds
# --------------------------------------------------------------------------------------------------

LARGEST_COUNT = 2.0**53
"""The largest count: float64 holds every whole number up to here."""

ACCURATE_COUNT = 1e9
"""Counts up to this have log densities with an error of about 1e-6; larger ones lose more digits."""

LARGEST_NUMBER = 1e150
"""The largest cell: float64 holds the sum of the squares of a hundred million such cells."""


def refusal(where: str, value: float, family: str, holds: str, hint: str, *, whole: bool) -> ValueError:
    """The error of a number that its family does not hold.

    Parameters
    ----------
    where : str
        The column and the row.
    value : float
    family, holds, hint : str
        Name of the family, the numbers that it holds, and what to do about others.
    whole : bool
        Whether it holds the whole numbers from zero on.
    """
    if whole and LARGEST_COUNT < value < np.inf:
        return ValueError(
            f"{where}: {value:g} is above 2**53, about 9e15, up to which float64 holds every whole number, as {family} "
            "needs; divide the column by a common factor, or use nb.Gaussian()"
        )
    if LARGEST_NUMBER < abs(value) < np.inf:
        return ValueError(
            f"{where}: {value:g} is farther from zero than {LARGEST_NUMBER:g}, up to which float64 holds sums of "
            "squares; divide the column by a common factor, or mark the cell as missing (NaN)"
        )
    return ValueError(f"{where}: {value:g} is not {holds}, as {family} needs; {hint}")


def warn_of_large_counts(column: Column) -> None:
    """Warn of counts above `ACCURATE_COUNT`."""
    warn(
        f"column {column!r} has counts above {ACCURATE_COUNT:g}, up to which log densities have an error of about "
        "1e-6; it grows with the counts: divide the column by a common factor, or use nb.Gaussian()",
        UserWarning,
    )


# --------------------------------------------------------------------------------------------------
# Values that were not seen in training
# --------------------------------------------------------------------------------------------------

OTHER = "<other>"
"""Label of the category of all values that were never seen."""


@dataclass(frozen=True)
class OutsideSupport:
    """A column with cells that its family cannot hold, and that count as missing.

    Attributes
    ----------
    column : hashable
        Its name.
    family : str
        Name of the family.
    holds : str
        What the family holds.
    """

    column: Column
    family: str
    holds: str


def _warn_outside(cells: Mapping[OutsideSupport, Mapping[Any, int]]) -> None:
    if not cells:
        return
    found = [
        f"{sum(values.values())} in column {key.column!r}, such as {next(iter(values)):g}, which is not {key.holds} "
        f"({key.family})"
        for key, values in cells.items()
    ]
    name, shown = next(iter(cells)).column, first_few(found, between="; ")
    warn(
        f"cells outside the support of families that were chosen count as missing: {shown}. Give a family that holds "
        f"them, nb.NaiveBayes.from_frame(X, y, families={{{name!r}: nb.Gaussian()}})",
        UserWarning,
    )


def warn_unseen(unseen: Mapping[Any, Mapping[Any, int]]) -> None:
    """Warn of categories that were not seen in training, and of cells outside the support: once, for all columns.

    Parameters
    ----------
    unseen : dict
        For each column, the number of cells of each such category; for each `OutsideSupport`, that of such cells.
    """
    _warn_outside({key: cells for key, cells in unseen.items() if isinstance(key, OutsideSupport)})
    unseen = {key: values for key, values in unseen.items() if not isinstance(key, OutsideSupport)}
    found = [(column, sum(values.values()), listed(values)) for column, values in unseen.items() if values]
    if not found:
        return
    remedy = "families with other=True, such as nb.Categorical(other=True), give them probability instead"
    if len(found) == 1:
        column, cells, shown = found[0]
        told = f"column {column!r}: {cells} cell(s) hold categories not seen in training ({shown}) and count as missing"
    else:
        each = first_few([f"{column!r} in {cells} cell(s) ({shown})" for column, cells, shown in found])
        told = f"{len(found)} columns hold categories not seen in training, which count as missing: {each}"
    warn(f"{told}; {remedy}", UserWarning)
