"""Columns of numbers that are written as text, such as "12.5%" or "1.163,4"."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesnb.core.cells import Column
from bayesnb.core.number_form import CELL, NumberForm, parts_of_number, warn_of_no_numbers
from bayesnb.data.tables import Table, distinct_objects

NEARLY_ALL = 0.9
"""A column holds numbers, or dates, if at least this share of its distinct values are."""

MONTH, DAY = "(0[1-9]|1[0-2])", r"(0[1-9]|[12]\d|3[01])"
NAMED = "(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[A-Za-z]*"
DATE = re.compile(
    r"\d{4}([-/.])\d\d?\1\d\d?([T ].*)?|\d\d?([-/.])\d\d?\3(\d{4}|\d\d)( .*)?|\d{4}-\d\d|\d\d?/\d{4}"
    rf"|\d\d?:\d\d(:\d\d.*)?|(19|20)\d\d\.?{MONTH}|(19|20)\d\d{MONTH}{DAY}|{MONTH}\.(19|20)\d\d"
    rf"|\d\d?(?P<mark>[- ]){NAMED}(?P=mark)(\d{{4}}|\d\d)( .*)?|{NAMED} \d\d?, \d{{4}}( .*)?"
)


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
    found = {value: parts for value in values if (parts := parts_of_number(value, decimal)) is not None}
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
    numbers, strange = {}, {}
    for place, name in dict(enumerate(table.names) if columns is None else columns).items():
        if name in forms and (values := table.stored_categories(place, slice(None))).dtype.kind not in "biuf":
            distinct, positions = distinct_objects(values, name)
            read, strange[name] = forms[name].read(distinct)
            # The position of a missing cell is -1: the last number.
            numbers[place] = np.array([*read, np.nan])[positions]
    warn_of_no_numbers(strange)
    return table.with_columns(numbers) if numbers else table
