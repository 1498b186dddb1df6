"""Numbers and dates in text, and parts of dates, as expressions that the engine of a table computes.

A regular expression guards each conversion, so that none can fail: other texts are null.
"""

import calendar
import re
from collections.abc import Mapping

import narwhals as nw

from bayesnb.core.number_form import CELL, UNIT_SIGNS, NumberForm
from bayesnb.core.recipes import ISO

SPACE = r"[\t-\r\x1c- \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]"
r"""What Python takes for white space. Engines have other sets for ``\s``, and other digits for ``\d``."""


def _matching(text: nw.Expr, pattern: str) -> nw.Expr:
    """Texts without white space around them if a pattern matches all that is left, null for others."""
    pattern = pattern.replace(r"\s", SPACE).replace(r"\d", "[0-9]")
    found = text.str.contains(f"^{SPACE}*(?:{pattern}){SPACE}*$")
    return nw.when(found).then(text.str.replace_all(f"^{SPACE}+|{SPACE}+$", ""))


def numbers_in_text(text: nw.Expr, form: NumberForm) -> nw.Expr:
    """As `NumberForm.read`, of digits 0 to 9, missing ones null."""
    text = _matching(text.str.replace_all("\u2212", "-"), CELL[form.decimal].pattern)
    text = nw.when(text.str.replace_all(f"[^{UNIT_SIGNS}]", "") == form.unit).then(text)
    return text.str.replace_all(f"[^0-9eE{form.decimal}-]", "").str.replace_all(",", ".").cast(nw.Float64)


# --------------------------------------------------------------------------------------------------
# Dates
# --------------------------------------------------------------------------------------------------

FIELDS = {"year": (0, 4), "month": (4, 2), "day": (6, 2), "hour": (8, 2), "minute": (10, 2), "second": (12, 2)}
FIELDS |= {"microsecond": (14, 6)}
"""Parts of a date, and where they are among the digits of ISO 8601: first place, and number of digits."""

_MONTH, _DAY = "(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_CLOCK = r"(?:[01]\d|2[0-3])(?::[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?|[0-5]\d(?:[0-5]\d(?:[.,]\d+)?)?)?"
_TIME = rf"[^0-9Z+-]{_CLOCK}(?:Z|[+-]{_CLOCK})?"
_ISO_CELL = rf"\d{{4}}-{_MONTH}-{_DAY}(?:{_TIME})?|\d{{4}}{_MONTH}{_DAY}{_TIME}"

_DIRECTIVES = {
    "%Y": ("year", r"\d{4}"),
    "%y": ("year", r"\d{2}"),
    "%m": ("month", "(?:1[0-2]|0?[1-9])"),
    "%b": ("month", f"(?i:{'|'.join(calendar.month_abbr[1:])})"),
    "%B": ("month", f"(?i:{'|'.join(calendar.month_name[1:])})"),
    "%d": ("day", r"(?:3[01]|[12]\d|[ 0]?[1-9])"),
    "%H": ("hour", r"(?:2[0-3]|[01]?\d)"),
    "%I": ("hour", "(?:1[0-2]|0?[1-9])"),
    "%M": ("minute", r"[0-5]?\d"),
    "%S": ("second", r"[0-5]?\d"),
    "%p": ("hour", "[AaPp][Mm]"),
}
"""What each directive of `datetime.strptime` reads, and its pattern."""

_WORDS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if number} | {"am": 0, "pm": 12}


def dates_in_text(text: nw.Expr, form: str) -> nw.Expr:
    """Texts that have a form of dates, of ISO 8601 their digits, null for others. A date need not exist."""
    if form == ISO:
        text = _matching(text, _ISO_CELL)
        pieces = [text.str.slice(0, 10), text.str.slice(10).str.replace_all("[Z+-].*$", ""), nw.lit("0" * 12)]
        return nw.concat_str(pieces).str.replace_all("[^0-9]", "")
    pattern = re.sub("%.", lambda found: _DIRECTIVES[found[0]][1], form.replace(".", "[.]").replace(" ", r"\s+"))
    return _matching(text, pattern)


def fields_of_dates(text: nw.Expr, form: str) -> dict[str, nw.Expr]:
    """Parts of `dates_in_text`, by name as `FIELDS`."""
    if form == ISO:
        return {name: text.str.slice(*place).cast(nw.Int64) for name, place in FIELDS.items()}
    found = dict.fromkeys(FIELDS, nw.lit(0))
    for k, directive in enumerate(re.findall("%.", form)):
        from_here = text.str.replace_all(rf"^(?:[0-9A-Za-z]+[^0-9A-Za-z]+){{{k}}}", "")
        word = from_here.str.replace_all("(?s)[^0-9A-Za-z].*$", "").str.to_lowercase()
        if directive in ("%b", "%B", "%p"):
            word = word.str.slice(0, 3)
            for name, number in _WORDS.items():
                word = word.str.replace_all(name, str(number), literal=True)
        field, value = _DIRECTIVES[directive][0], word.cast(nw.Int64)
        found[field] = found[field] % 12 + value if directive == "%p" else value
    if "%y" in form:
        found["year"] = (found["year"] + 31) % 100 + 1969
    return found


def part_of_dates(fields: Mapping[str, nw.Expr], part: str) -> nw.Expr:
    """As `bayesnb.core.recipes.date_part`, of dates whose parts are given by name; null for one that does not exist."""
    fields = dict.fromkeys(FIELDS, nw.lit(0)) | {**fields}
    year, month = fields["year"], fields["month"]
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    last = nw.when(month == 2).then(leap.cast(nw.Int64) + 28).otherwise((month + month // 8) % 2 + 30)
    return nw.when((fields["day"] <= last) & (year > 0)).then(_part(fields, part))


def _part(fields: Mapping[str, nw.Expr], part: str) -> nw.Expr:
    if part == "weekday":
        return ((_days(fields) + 730126) % 7 + 1).cast(nw.Float64)
    if part != "day":
        return fields[part].cast(nw.Float64)
    seconds = (fields["hour"] * 60 + fields["minute"]) * 60 + fields["second"]
    return _days(fields).cast(nw.Float64) + (seconds * 10**6 + fields["microsecond"]).cast(nw.Float64) / 86400e6


def _days(fields: Mapping[str, nw.Expr]) -> nw.Expr:
    """Days since 2000 in the Gregorian calendar, counted from March, so that leap days end a year."""
    month = (fields["month"] + 9) % 12
    year = fields["year"] - month // 10
    return year * 365 + year // 4 - year // 100 + year // 400 + (month * 306 + 5) // 10 + fields["day"] - 730426
