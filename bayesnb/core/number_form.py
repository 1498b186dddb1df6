"""How numbers are written in a column of text, such as "12.5%" or "1.163,4"; Python's own library alone."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import nan
from typing import Any

import numpy as np

from bayesnb.core.cells import Column, is_missing, shortened
from bayesnb.core.checking import first_few, warn

UNIT_SIGNS = "%‰$€£¥₩₹₽₺₴¢"
_GROUP_MARKS = {".": ",' \u2019\u00a0\u202f", ",": ".' \u2019\u00a0\u202f"}
"""Marks between groups of three digits, by decimal sign."""


def _pattern(decimal: str) -> str:
    # One alternative for each mark: engines of tables know no references to groups.
    grouped = "|".join(rf"(?:[{mark}]\d{{3}})+" for mark in _GROUP_MARKS[decimal])
    digits = rf"(?:[1-9]\d{{0,2}}(?:{grouped})|\d+)(?:[{decimal}]\d*)?(?:[eE][+-]?\d\d?)?|[{decimal}]\d+"
    return rf"([+-]?\s*[{UNIT_SIGNS}]?|[{UNIT_SIGNS}]?\s*[+-])\s*({digits})\s*([{UNIT_SIGNS}]?)"


_WITHOUT_MARKS = {decimal: str.maketrans(decimal, ".", marks) for decimal, marks in _GROUP_MARKS.items()}
CELL = {decimal: re.compile(_pattern(decimal)) for decimal in _GROUP_MARKS}
"""A number by decimal sign: sign, unit, digits (perhaps in groups of three), unit."""

PLAIN = {decimal: re.compile(rf"[+-]?(\d+[{decimal}]?\d*)") for decimal in CELL}
"""The same for digits alone, as in most numbers; `CELL` takes ten times as long."""


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

    def read(self, values: Sequence[Any]) -> tuple[list[float], list[Any]]:
        """Values as numbers, missing ones NaN, and the values that are neither numbers nor marks."""
        parts, known = [parts_of_number(value, self.decimal) for value in values], {*self.marks}
        read = [nan if found is None or found[1] not in (None, self.unit) else found[0] for found in parts]
        strange = [v for v, x in zip(values, read, strict=True) if x != x and not is_missing(v) and v not in known]
        return read, strange


def is_number(value: Any) -> bool:
    """Whether a cell is a number of Python or NumPy."""
    return isinstance(value, int | float | np.number | Decimal | Fraction)


def parts_of_number(value: Any, decimal: str) -> tuple[float, str | None, str] | None:
    """A text as a number, its unit and its digits; None if it is no number. A number has no unit and no digits."""
    if not isinstance(value, str):
        return (float(value), None, "") if is_number(value) else None
    if found := PLAIN[decimal].fullmatch(value):
        return float(value.replace(decimal, ".")), "", found[1]
    if not (found := CELL[decimal].fullmatch(value.strip().replace("\u2212", "-"))):
        return None
    before, digits, after = found.groups()
    number = float(digits.translate(_WITHOUT_MARKS[decimal]))
    return -number if "-" in before else number, "".join(before.split()).strip("+-") + after, digits


def warn_of_no_numbers(strange: Mapping[Column, Sequence[Any]]) -> None:
    """Warn of cells that are neither numbers nor marks of missing cells, given some of each column."""
    told = [f"column {name!r}: {first_few([*map(shortened, values)], 3)}" for name, values in strange.items() if values]
    if told:
        warn(f"cells that are no numbers count as missing: {first_few(told, between='; ')}", UserWarning)
