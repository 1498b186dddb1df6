"""Columns of numbers that are written as text, such as "12.5%" or "1.163,4"."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.core.checking import first_few, warn
from bayesnb.data.tables import Column, Table, distinct_objects, is_missing, is_number, shortened

NEARLY_ALL = 0.9
"""A column holds numbers, or dates, if at least this share of its distinct values are."""

UNIT = r"[%‰$€£¥₩₹₽₺₴¢]?"
BLANKS = "' \u2019\u00a0\u202f"
GROUPED = r"[1-9]\d{0,2}(?:([%s])\d{3})(?:\3\d{3})*"
CELL = {
    decimal: re.compile(
        rf"([+-]?\s*{UNIT}|{UNIT}\s*[+-])\s*((?:{GROUPED % marks}|\d+)(?:[{decimal}]\d*)?(?:[eE][+-]?\d\d?)?"
        rf"|[{decimal}]\d+)\s*({UNIT})"
    )
    for decimal, marks in {".": "," + BLANKS, ",": "." + BLANKS}.items()
}
"""A number by decimal sign: sign, unit, digits (perhaps in groups of three), unit."""

PLAIN = {decimal: re.compile(rf"[+-]?(\d+[{decimal}]?\d*)") for decimal in CELL}
"""The same for digits alone, as in most numbers; `CELL` takes ten times as long."""

MONTH, DAY = "(0[1-9]|1[0-2])", r"(0[1-9]|[12]\d|3[01])"
NAMED = "(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[A-Za-z]*"
DATE = re.compile(
    r"\d{4}([-/.])\d\d?\1\d\d?([T ].*)?|\d\d?([-/.])\d\d?\3(\d{4}|\d\d)( .*)?|\d{4}-\d\d|\d\d?/\d{4}"
    rf"|\d\d?:\d\d(:\d\d.*)?|(19|20)\d\d\.?{MONTH}|(19|20)\d\d{MONTH}{DAY}|{MONTH}\.(19|20)\d\d"
    rf"|\d\d?(?P<mark>[- ]){NAMED}(?P=mark)(\d{{4}}|\d\d)( .*)?|{NAMED} \d\d?, \d{{4}}( .*)?"
)


@dataclass(frozen=True)
class NumberForm:
    """How the numbers of a column of text are written.

    Attributes
    ----------
    decimal : str
        The decimal sign, ``"."`` or ``","``. Other marks between groups of three digits separate thousands.
    unit : str
        A sign of a currency or per cent that each number has; "12.5%" is 12.5.
    marks : tuple of str
        Texts of the first rows that are no numbers: they mark missing cells.
    """

    decimal: str
    unit: str = ""
    marks: tuple[str, ...] = ()

    def read(self, values: np.ndarray, column: Column) -> tuple[np.ndarray, list[Any]]:
        """Cells as float64, missing ones NaN, and the distinct values that are neither numbers nor marks."""
        distinct, positions = distinct_objects(values, column)
        parts, known = [_parts(value, self.decimal) for value in distinct], {*self.marks}
        read = [np.nan if found is None or found[1] not in (None, self.unit) else found[0] for found in parts]
        strange = [v for v, x in zip(distinct, read, strict=True) if x != x and not is_missing(v) and v not in known]
        # The position of a missing cell is -1: the last number.
        return np.array([*read, np.nan])[positions], strange


def _parts(value: Any, decimal: str) -> tuple[float, str | None, str] | None:
    """A text as a number, its unit and its digits; None if it is no number. A number has no unit and no digits."""
    if not isinstance(value, str):
        return (float(value), None, "") if is_number(value) else None
    if found := PLAIN[decimal].fullmatch(value):
        return float(value.replace(decimal, ".")), "", found[1]
    if not (found := CELL[decimal].fullmatch(value.strip().replace("\u2212", "-"))):
        return None
    before, digits, mark, after = found.groups()
    number = float((digits.replace(mark, "") if mark else digits).replace(decimal, "."))
    return -number if "-" in before else number, before.strip("+- \u00a0\u202f") + after, digits


def number_forms(values: Sequence[Any], decimals: Iterable[str] = CELL) -> list[NumberForm]:
    """The forms that read nearly all values of a column as numbers: none, one, or two that read equally many.

    Parameters
    ----------
    values : sequence
        The distinct values.
    decimals : iterable of str
        The decimal signs to try.
    """
    forms = [form for decimal in decimals if (form := _form(values, decimal)) is not None]
    best = [form for form in forms if len(form.marks) == min(len(each.marks) for each in forms)]
    # Only a comma is ambiguous: 1.163 is a decimal number in most files, and 1,163 may be either.
    unclear = any(isinstance(value, str) and "," in value for value in {*values}.difference(*(f.marks for f in best)))
    return best if unclear else best[:1]


def _form(values: Sequence[Any], decimal: str) -> NumberForm | None:
    found = {value: parts for value in values if (parts := _parts(value, decimal)) is not None}
    # Codes, such as those of the post, begin with a zero.
    if not found or any(digits[:1] == "0" and digits[1:2].isdecimal() for _, _, digits in found.values()):
        return None
    units = Counter(unit for _, unit, _ in found.values() if unit is not None)
    unit = max(units, key=lambda each: units[each], default="")
    marks = [value for value in values if value not in found or found[value][1] not in (None, unit)]
    few = len(marks) <= (1 - NEARLY_ALL) * len(values) and all(isinstance(mark, str) for mark in marks)
    return NumberForm(decimal, unit, tuple(sorted(marks))) if few else None


def are_dates(values: Sequence[Any]) -> bool:
    """Whether nearly all of the distinct values are dates or times, as text."""
    dates = sum(isinstance(value, str) and DATE.fullmatch(value.strip()) is not None for value in values)
    return dates >= max(1, NEARLY_ALL * len(values))


def with_numbers(table: Table, forms: Mapping[Column, NumberForm], columns: Any = None) -> Table:
    """The table with numbers in the columns of text that have a form.

    Parameters
    ----------
    table : Table
    forms : mapping from column to NumberForm
    columns : iterable of (position, name), optional
        Where columns are in the table, and their names; by default those that the table gives them.

    Warns
    -----
    UserWarning
        If cells are neither numbers nor marks of missing cells.
    """
    numbers, told = {}, []
    for place, name in dict(enumerate(table.names) if columns is None else columns).items():
        if name in forms and (values := table.stored_values(place, slice(None))).dtype.kind not in "biuf":
            numbers[place], strange = forms[name].read(values, name)
            told += [f"column {name!r}: {first_few([*map(shortened, strange)], 3)}"] * bool(strange)
    if told:
        warn(f"cells that are no numbers count as missing: {first_few(told, between='; ')}", UserWarning)
    return table.with_columns(numbers) if numbers else table
