"""How objects print themselves: as text that fits the terminal, and as HTML in a notebook.

A class states the parts of its printed form once, and `Printed` makes text and HTML of them.
"""

import shutil
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any, Protocol

import numpy as np

__all__ = ["Code", "Heading", "Paragraph", "Part", "Points", "Printed", "Table", "as_text", "plus_minus", "width"]

WIDTH = 80
"""Characters of a line where the terminal's width is not known."""

LEAST_WIDTH = 40
"""Characters of a line in terminals that are narrower."""

MOST_PROSE = 100
"""Longest line of text that is easy to read; tables may be wider."""

ROWS = 20
"""Number of rows of a table that are shown, and in HTML of columns that may be left out."""

LEAST_COLUMN = 4
"""Characters that a column takes at least."""


def width() -> int:
    """Characters of a line of the terminal; 80 where there is none."""
    return max(LEAST_WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)


class Part(Protocol):
    """A piece of a printed form."""

    def lines(self, width: int) -> list[str]:
        """The lines of the text, no longer than the width unless a word is."""

    def html(self) -> str:
        """The HTML, in which all text is escaped."""


@dataclass(frozen=True)
class Heading:
    """What an object or a table is, in a line or a few."""

    text: str

    def lines(self, width: int) -> list[str]:
        return _wrapped(self.text, width)

    def html(self) -> str:
        return f"<p><b>{escape(self.text, quote=False)}</b></p>"


@dataclass(frozen=True)
class Paragraph:
    """Sentences."""

    text: str

    def lines(self, width: int) -> list[str]:
        return _wrapped(self.text, width)

    def html(self) -> str:
        return f"<p>{escape(self.text, quote=False)}</p>"


@dataclass(frozen=True)
class Points:
    """Sentences, each in a line of its own that begins with a dash."""

    texts: Sequence[str]

    def lines(self, width: int) -> list[str]:
        return [line for text in self.texts for line in _wrapped(text, width, "- ", "  ")]

    def html(self) -> str:
        items = "".join(f"<li>{escape(text, quote=False)}</li>" for text in self.texts)
        return f"<ul>{items}</ul>" if items else ""


@dataclass(frozen=True)
class Code:
    """Lines whose indentation matters, such as the statements of a model."""

    statements: Sequence[str]

    def lines(self, width: int) -> list[str]:
        found = []
        for statement in self.statements:
            indent = " " * (len(statement) - len(statement.lstrip()))
            found += _wrapped(statement.lstrip(), width, indent, f"{indent}    ")
        return found

    def html(self) -> str:
        text = "\n".join(self.statements)
        return f"<pre>{escape(text, quote=False)}</pre>"


@dataclass(frozen=True)
class Table:
    """A pandas data frame. Its first rows are shown, so that the rows that matter most go first.

    Attributes
    ----------
    frame : pandas.DataFrame
    number : str, default ".4g"
        Format of floating-point numbers.
    rest : str, default "in .table"
        Where the rows are that are not shown.
    more_columns : str, default ""
        What the columns are, such as "classes". Columns that do not fit a line are then counted and not shown. By
        default they continue below the others.
    empty : str, default "NaN"
        Text of a missing number.
    rows : int, default 20
        Number of rows that are shown.
    """

    frame: Any
    number: str = ".4g"
    rest: str = "in .table"
    more_columns: str = ""
    empty: str = "NaN"
    rows: int = ROWS

    def lines(self, width: int) -> list[str]:
        shown, hidden = self._shown()
        names = [_shortened(str(name), width // 2) for name in shown.index]
        shown = shown.set_axis(_index(names, shown.index.name), axis=0)
        shown.columns = _index([*map(str, shown.columns)], shown.index.name)
        shown.index.name = None
        left_out = 0
        if self.more_columns:
            fitting = min(len(shown.columns), width // LEAST_COLUMN)
            shown, left_out = shown.iloc[:, :fitting], len(shown.columns) - fitting
            while len(shown.columns) > 1 and max(map(len, self._text(shown, None))) > width:
                shown, left_out = shown.iloc[:, :-1], left_out + 1
        found = self._text(shown, None if self.more_columns else width)
        return found + self._left_out(left_out, hidden)

    def html(self) -> str:
        import pandas as pd

        shown, hidden = self._shown()
        left_out = 0
        if self.more_columns:
            shown, left_out = shown.iloc[:, :ROWS], max(0, len(shown.columns) - ROWS)
        # pandas cuts long texts in HTML unless it is told not to.
        with pd.option_context("display.max_colwidth", None):
            table = shown.to_html(float_format=self._formatted, na_rep=self.empty)
        return table + "".join(Paragraph(text).html() for text in self._left_out(left_out, hidden))

    def _shown(self) -> tuple[Any, int]:
        """The rows that are shown, and the number of the others."""
        return self.frame.head(self.rows), max(0, len(self.frame) - self.rows)

    def _left_out(self, columns: int, rows: int) -> list[str]:
        found = [f"… and {columns} more of {len(self.frame.columns)} {self.more_columns}"] if columns else []
        return [*found, f"… and {rows} more {self.rest}"] if rows else found

    def _text(self, frame: Any, width: int | None) -> list[str]:
        text = frame.to_string(float_format=self._formatted, na_rep=self.empty, line_width=width)
        return [line.rstrip() for line in text.split("\n")]

    def _formatted(self, value: float) -> str:
        return format(value, self.number)


class Printed:
    """An object that prints itself, as text and as HTML."""

    @abstractmethod
    def _parts(self) -> Sequence[Part]:
        """The parts of the printed form, from the top."""

    def __repr__(self) -> str:
        return as_text(self._parts(), width())

    def _repr_html_(self) -> str:
        return "".join(part.html() for part in self._parts())


def as_text(parts: Sequence[Part], width: int) -> str:
    """The text of some parts, in lines of a width."""
    return "\n".join(line for part in parts for line in part.lines(width))


def plus_minus(mean: Any, sd: Any) -> str:
    """A mean and its standard deviation, the second in two digits and the first as precise.

    There are no spaces within, so that more of them fit a line.

    Examples
    --------
    >>> plus_minus(0.14286, 0.0131), plus_minus(209906.1, 24319.4)
    ('0.143±0.013', '210000±24000')
    """
    if not (np.isfinite(mean) and np.isfinite(sd) and sd > 0):
        return f"{mean:.4g}±{sd:.2g}"
    decimals = 1 - int(np.floor(np.log10(sd)))
    if decimals > 8 or abs(mean) >= 1e7 or sd >= 1e7:
        return f"{mean:.4g}±{sd:.2g}"
    shown = max(0, decimals)
    return f"{round(float(mean), decimals):.{shown}f}±{round(float(sd), decimals):.{shown}f}"


def _wrapped(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    """Lines of whole words; lines that the text has stay lines."""
    options: Any = {"break_long_words": False, "break_on_hyphens": False}
    found = []
    for line in text.split("\n"):
        found += wrap(line, min(width, MOST_PROSE), initial_indent=first, subsequent_indent=others, **options) or [""]
        first = others
    return found


def _shortened(name: str, length: int) -> str:
    """A name without its middle if it is longer: names that differ do so at the ends."""
    if len(name) <= length:
        return name
    return f"{name[: (length - 1) // 2]}…{name[-(length // 2) :]}"


def _index(names: list[str], name: Any) -> Any:
    import pandas as pd

    return pd.Index(names, name=name, dtype=object)
