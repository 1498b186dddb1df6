"""How objects print themselves: as text that fits the terminal, and as HTML in a notebook.

A class states the parts of its printed form once, and `Printed` makes text and HTML of them.
"""

import shutil
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np

from bayesnb.core.deferred import pd

WIDTH = 80
"""Width of a line, in characters, if that of the terminal is unknown."""

LEAST_WIDTH = 40
"""Least width of a line, in characters, also in a narrower terminal."""

MOST_PROSE = 100
"""Longest line of text that is easy to read; tables may be wider."""

ROWS = 20
"""Number of rows of a table that are shown, and in HTML of columns that may be left out."""

LEAST_LABEL = 24
"""Row names are not shortened below this many characters to make a table fit."""

LEAST_COLUMN = 4
"""Least width of a column, in characters."""


def width() -> int:
    """Width of the terminal, in characters; 80 without one."""
    return max(LEAST_WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)


type Piece = Paragraph | Code | DataTable
"""A piece of a printed form.

It has `lines`, those of the text, no longer than a width unless a word is, and `html`, in which all text is escaped.
"""


@dataclass(frozen=True)
class Paragraph:
    """Sentences, and the form of their HTML."""

    text: str
    form: str = "<p>{}</p>"

    def lines(self, width: int) -> list[str]:
        return _wrapped(self.text, width)

    def html(self) -> str:
        return self.form.format(escape(self.text, quote=False))


Heading = partial(Paragraph, form="<p><b>{}</b></p>")
"""A title: what an object or a table is."""


@dataclass(frozen=True)
class Code:
    """Lines whose indentation matters, such as a model's statements."""

    statements: Sequence[str]

    def lines(self, width: int) -> list[str]:
        found = []
        for statement in self.statements:
            indent = " " * (len(statement) - len(statement.lstrip()))
            found += _wrapped(statement.lstrip(), width, indent, f"{indent}    ")
        return found

    def html(self) -> str:
        text = "\n".join(self.statements)
        # A notebook would cut off a long statement.
        return f'<pre style="white-space: pre-wrap">{escape(text, quote=False)}</pre>'


@dataclass(frozen=True)
class DataTable:
    """The first rows of a pandas data frame; whoever gives it sorts the rows by what matters.

    A name of a row loses its middle where the table then fits a line.

    Attributes
    ----------
    frame : pandas.DataFrame
    number : str, default ".4g"
        Format of floating-point numbers.
    rest : str, default "more in .table"
        What the rows are that are not shown.
    more_columns : str, default ""
        What the columns are, such as "classes". Columns that do not fit a line are then counted and not shown. By
        default they continue below the others.
    rows : int, default 20
        Number of rows that are shown.
    """

    frame: Any
    number: str = ".4g"
    rest: str = "more in .table"
    more_columns: str = ""
    rows: int = ROWS

    def lines(self, width: int) -> list[str]:
        shown = self.frame.head(self.rows)
        if shown.empty:
            return []
        if self.more_columns:
            shown = shown.iloc[:, : width // LEAST_COLUMN]
        names, head = [*map(str, shown.index)], shown.index.name
        shown = shown.set_axis([*map(str, shown.columns)], axis=1).set_axis(names, axis=0).rename_axis(columns=head)
        too_long = _terminal_width(self._text(shown)) - width
        longest = max(map(len, [*names, str(head)]))
        shown = shown.set_axis([short_name(name, max(LEAST_LABEL, longest - too_long)) for name in names], axis=0)
        found = self._text(shown)
        while self.more_columns and len(shown.columns) > 1 and _terminal_width(found) > width:
            shown = shown.iloc[:, :-1]
            found = self._text(shown)
        if _terminal_width(found) > width:
            # Columns continue below in any case, so that names need not be short.
            whole = longest <= width // 2 and not self.more_columns
            found = self._text(shown.set_axis(names, axis=0) if whole else shown, line_width=width)
        return found + self._left_out(shown)

    def html(self) -> str:
        shown = self.frame.head(self.rows)
        if self.more_columns:
            shown = shown.iloc[:, :ROWS]
        # pandas cuts long texts in HTML unless it is told not to.
        with pd.option_context("display.max_colwidth", None):
            table = shown.to_html(float_format=self._formatted)
        return table + "".join(Paragraph(text).html() for text in self._left_out(shown))

    def _left_out(self, shown: Any) -> list[str]:
        rows, columns = np.subtract(self.frame.shape, shown.shape)
        found = [f"… and {columns} more of {len(self.frame.columns)} {self.more_columns}"] if columns else []
        return [*found, f"… and {rows} {self.rest}"] if rows else found

    def _text(self, frame: Any, line_width: int | None = None) -> list[str]:
        text = frame.to_string(float_format=self._formatted, line_width=line_width)
        return [line.rstrip() for line in text.split("\n")]

    def _formatted(self, value: float) -> str:
        return format(value, self.number)


class Printed:
    """An object that prints itself, as text and as HTML.

    Attributes
    ----------
    note : str, default ""
        A sentence below the others.
    """

    note: str = ""

    @abstractmethod
    def _parts(self) -> Sequence[Piece]:
        """The parts of the printed form, from the top."""

    def __repr__(self) -> str:
        return format(self, str(width()))

    def __format__(self, width: str) -> str:
        """The text in lines of a width, as in ``format(model, "60")``; without one, in those of the terminal."""
        return as_text(self._whole(), int(width)) if width else str(self)

    def _repr_html_(self) -> str:
        return "".join(part.html() for part in self._whole())

    def _whole(self) -> list[Piece]:
        return [*self._parts(), *([Paragraph(self.note)] if self.note else [])]


def as_text(parts: Sequence[Piece], width: int) -> str:
    """The text of some parts, in lines of a width."""
    return "\n".join(line for part in parts for line in part.lines(width))


PLURALS = {"category": "categories", "class": "classes", "probability": "probabilities", "quantity": "quantities"}


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "item"), counted(1200, "item")
    ('1 item', '1,200 items')
    """
    return f"{number:,} {noun if number == 1 else PLURALS.get(noun, f'{noun}s')}"


def four_digits(value: Any) -> str:
    """A number in four significant digits, with an exponent only if it is very large or small.

    Examples
    --------
    >>> four_digits(147738.2), four_digits(0.51949)
    ('147700', '0.5195')
    """
    return f"{float(f'{value:.4g}'):g}"


def plus_minus(mean: Any, sd: Any) -> str:
    """A mean and its standard deviation, to two digits of the latter.

    There are no spaces within, so that more of them fit a line.

    Examples
    --------
    >>> plus_minus(0.14286, 0.0131), plus_minus(209906.1, 24319.4)
    ('0.143±0.013', '210000±24000')
    """
    if np.isnan(mean):
        return "NaN"
    are_finite = np.isfinite(mean) and np.isfinite(sd) and sd > 0
    decimals = 1 - int(np.floor(np.log10(sd))) if are_finite else 0
    if not are_finite or decimals > 6 or max(abs(mean), sd) >= 1e7:
        return f"{mean:.4g}±{sd:.2g}"
    shown = max(0, decimals)
    return f"{round(float(mean), decimals):.{shown}f}±{round(float(sd), decimals):.{shown}f}"


def plus_minus_of(means: Any, sds: Any) -> Any:
    """A column of `plus_minus`, of two pandas series with the same index."""
    cells = [plus_minus(mean, sd) for mean, sd in zip(means, sds, strict=True)]
    return pd.Series(cells, index=means.index, dtype=object)


def _wrapped(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    """Lines of whole words; lines that the text has stay lines."""
    options: Any = {"break_long_words": False, "break_on_hyphens": False}
    found = []
    for line in text.split("\n"):
        found += wrap(line, min(width, MOST_PROSE), initial_indent=first, subsequent_indent=others, **options) or [""]
        first = others
    return found


def _terminal_width(lines: Sequence[str]) -> int:
    return max(map(len, lines))


def short_name(name: str, length: int) -> str:
    """A long name without its middle: names that differ do so at the ends."""
    if len(name) <= length:
        return name
    return f"{name[: (length - 1) // 2]}…{name[-(length // 2) :]}"
