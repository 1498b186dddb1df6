"""Readings: columns derived of a column that say more of it, for weights to choose among."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import numpy as np

from bayesnb.core.checking import first_few, warn
from bayesnb.core.number_form import is_number
from bayesnb.core.recipes import PARTS, date_form, date_part, gap_indicator, moments_of
from bayesnb.data.derived import DerivedColumn
from bayesnb.data.read import Rows
from bayesnb.data.tables import ArrayTable, SparseTable, Table, distinct_objects
from bayesnb.data.written_numbers import NEARLY_ALL, are_dates
from bayesnb.families.categories import Bernoulli, Categorical
from bayesnb.families.family import Family
from bayesnb.model.naive_bayes import NaiveBayes

READINGS = ("x is missing", "x as categories", *(f"x {part}" for part in PARTS))
"""Kinds of readings, which `exclude` leaves out; x is the name of a column."""

RARE = 0.005
"""A column with a smaller share of missing or of observed cells has no reading of its gaps."""

FEW_NAMES = 20
"""A column of so many values or fewer has no reading as categories."""

CELLS_OF_NAME = 3
"""A column has so many observed cells for each of its values, or no reading as categories."""

type Reading = tuple[str, DerivedColumn, Family]
"""Which of `READINGS` it is, its column, and its family."""


def readings_of(model: NaiveBayes, rows: Rows, exclude: Iterable[str] = ()) -> dict[Any, tuple[Family, list[Any]]]:
    """Features that say of the columns of a model what their cells do not, and what dates say.

    Parameters
    ----------
    model : NaiveBayes
    rows : Rows
        With labels, and with numbers where text is read as such.
    exclude : iterable of str
        Readings that are left out, some of `READINGS`.

    Raises
    ------
    ValueError
        If `exclude` names no reading.
    """
    excluded, table = require_readings(exclude), rows.table
    if isinstance(table, SparseTable):
        return {}
    described = {column for name, (_, columns) in model.features.items() for column in _names(table, name, columns)}
    places = [place for place, name in enumerate(table.names) if name in described]
    every = [*_of_gaps(rows, places), *_of_names(rows, places), *_of_dates(rows, described, excluded)]
    taken = {*table.names, *model.features}
    return {
        column.name: (family, [column])
        for kind, column, family in every
        if kind not in excluded and column.name not in taken
    }


def require_readings(exclude: Iterable[str]) -> list[str]:
    """The readings that are left out; raise ValueError for a name that is none of `READINGS`."""
    excluded = [exclude] if isinstance(exclude, str) else [*(exclude or ())]
    if unknown := [name for name in excluded if name not in READINGS]:
        some = ", ".join(READINGS)
        raise ValueError(f"exclude names {unknown[0]!r}, which is no reading: give some of {some}; x is any column")
    return excluded


def _names(table: Table, name: Any, columns: Any) -> tuple[Any, ...]:
    """Names of the columns of a feature."""
    if isinstance(columns, slice):
        return table.names[columns]
    return tuple(getattr(column, "of", column) for column in ([name] if columns is None else columns))


def _of_gaps(rows: Rows, places: Iterable[int]) -> Iterator[Reading]:
    """Which cells are missing: one reading of columns that are missing in the same rows."""
    known: set[bytes] = set()
    for place in places:
        missing = gap_indicator(rows.table.stored_categories(place, slice(None)))
        if RARE < np.average(missing, weights=rows.weights) < 1 - RARE and missing.tobytes() not in known:
            known.add(missing.tobytes())
            name = rows.table.names[place]
            yield READINGS[0], DerivedColumn(f"{name} is missing", name, "missing"), Bernoulli()


def _of_names(rows: Rows, places: Iterable[int]) -> Iterator[Reading]:
    """Whole numbers and text as categories, values that occur once as one of them."""
    for place in places:
        name, cells = rows.table.names[place], rows.table.stored_categories(place, slice(None))
        if cells.dtype.kind == "f" and not (np.isnan(cells) | (cells == np.rint(cells))).all():
            continue
        values, positions = distinct_objects(cells, name)
        if any(is_number(value) and value % 1 for value in values):
            continue
        number = np.bincount(positions[positions >= 0], rows.weights[positions >= 0], len(values))
        if FEW_NAMES < (number > 0).sum() <= number.sum() / CELLS_OF_NAME and (number > 1).any():
            often = [value for value, times in zip(values, number, strict=True) if times > 1]
            family = Categorical(categories=tuple(often), other=True)
            yield READINGS[1], DerivedColumn(f"{name} as categories", name, "category"), family


def _date_columns(table: Table, exclude: Iterable[str], described: Collection[Any] = ()) -> dict[int, str | None]:
    """By position, dates that no feature describes, with the form of text; none if all their readings are left out."""
    found: dict[int, str | None] = {}
    if {f"x {part}" for part in PARTS} <= {*require_readings(exclude)}:
        return found
    for place, name in enumerate(table.names):
        if name in described:
            continue
        cells = table.stored_categories(place, slice(None))
        if cells.dtype.kind == "M":
            found[place] = None
        elif cells.dtype.kind in "OUT":
            values = distinct_objects(cells, name)[0]
            if values and all(hasattr(value, "year") for value in values):
                found[place] = None
            elif are_dates(values) and (form := date_form(values, NEARLY_ALL)):
                found[place] = form
    return found


def dates_to_read(table: Table, exclude: Iterable[str] = ()) -> list[Any]:
    """The columns of dates that readings describe, which `NaiveBayes.from_frame` may leave out without a warning."""
    dates = [table.names[place] for place in _date_columns(table, exclude)]
    return dates if len(dates) < len(table.names) else []


def _of_dates(rows: Rows, described: set[Any], exclude: Iterable[str]) -> Iterator[Reading]:
    """Day, month, weekday and hour of dates that no feature describes, as far as they vary."""
    told, table = [], rows.table
    for place, form in _date_columns(table, exclude, described).items():
        name, moments = table.names[place], moments_of(table.stored_values(place, slice(None)), form)
        parts = {part: date_part(moments, part) for part in PARTS}
        varying = [part for part, numbers in parts.items() if len(np.unique(numbers[~np.isnan(numbers)])) > 1]
        if form is not None and varying:
            told.append(f"{name!r} ({form})")
        for part in varying:
            column = DerivedColumn(f"{name} {part}", name, "date", (("form", form), ("part", part)))
            yield f"x {part}", column, _family_of_part(part, parts[part], rows)
    if told:
        warn(f"text that is read as dates, here and in later rows: {first_few(told)}", UserWarning, same=told)


CATEGORIES = {"month": range(1, 13), "weekday": range(1, 8), "hour": range(24)}


def _family_of_part(part: str, numbers: np.ndarray, rows: Rows) -> Family:
    """Categories, or for days the family that the evidence chooses."""
    if part in CATEGORIES:
        return Categorical(categories=tuple(map(float, CATEGORIES[part])))
    labels = None if rows.labels is None else rows.labels.values
    days = ArrayTable(numbers[:, None], (part,), True)
    return NaiveBayes.from_frame(days, labels, sample_weight=rows.weights).features[part][0]
