"""Columns whose guessed or chosen family may not fit: found in their cells, and listed in one warning."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.tables.columns import Column, first_few
from bayesnb.tables.distinct import distinct_objects
from bayesnb.warn import warn

__all__ = [
    "Doubt",
    "doubt_of_numbers",
    "doubts_of_text",
    "warn_of_choice",
    "warn_of_guess",
]

MIN_CELLS = 20
"""With fewer observed cells, a column is not judged."""

FEW_VALUES = 20
"""Whole numbers of so many distinct values or fewer may be codes, grades or counts."""

SAMPLED = 10_000
"""About so many cells of a column of numbers, evenly spaced, decide whether all cells are checked."""

MOST = 0.5
"""A share of the cells above this is most of them."""

FEW, EQUAL, DISTINCT, EMPTY, MARKS = "few", "equal", "distinct", "empty", "marks"

REMEDIES = {
    FEW: "whole numbers with few values, taken as measurements (Gaussian). For categories or grades write "
    "families={{{name!r}: nb.Categorical()}}, for counts nb.Poisson()",
    EQUAL: "most cells are equal, and the family taken, Gaussian, puts no mass on one value. For many zeros "
    "write families={{{name!r}: nb.Hurdle()}}, for few different values nb.Categorical()",
    DISTINCT: "most values are distinct, and the column is left out of the model. Count the words of texts; names and "
    "numbers of rows tell nothing, exclude=[{name!r}]. To keep it write families={{{name!r}: nb.Categorical()}}",
    EMPTY: "text that is left out of the model. Leave it out yourself, "
    "exclude=[{name!r}], or list its categories, families={{{name!r}: nb.Categorical(categories=[...])}}",
    MARKS: "counted as a category. Mark missing cells with None or NaN (pandas.read_csv(..., na_values='?'))",
}
"""For each kind of doubt what it is, which family was taken, and what to write instead."""


@dataclass(frozen=True)
class Doubt:
    """A reason why the guessed family of a column may not fit, or why the column is left out.

    Attributes
    ----------
    kind : str
        Key of `REMEDIES`.
    column : hashable
        Name of the column.
    seen : str
        What was seen in its cells.
    """

    kind: str
    column: Column
    seen: str

    @property
    def leaves_out(self) -> bool:
        """Whether the column is left out of the model."""
        return self.kind in (DISTINCT, EMPTY)


def doubt_of_numbers(cells: np.ndarray, column: Column) -> Doubt | None:
    """The doubt about a column of numbers that is taken as Gaussian; None if there is none.

    Parameters
    ----------
    cells : array, shape (cells,)
        The observed cells.
    column : hashable
        Name of the column.
    """
    if cells.size < MIN_CELLS:
        return None
    # All cells of a long table are sorted only if some of them raise the doubt: it would take longer than the fit.
    some = cells[:: max(1, cells.size // SAMPLED)]
    return _doubt(cells, column) if _doubt(some, column) is not None else None


def _doubt(cells: np.ndarray, column: Column) -> Doubt | None:
    values, number = np.unique(cells, return_counts=True)
    if len(values) <= FEW_VALUES and (values == np.rint(values)).all():
        return Doubt(FEW, column, f"({len(values)} value{'s' * (len(values) > 1)})")
    most = int(number.argmax())
    if number[most] > MOST * cells.size:
        return Doubt(EQUAL, column, f"({number[most] / cells.size:.0%} are {values[most]:g})")
    return None


def doubts_of_text(values: np.ndarray, column: Column, declared: tuple | None) -> Iterable[Doubt]:
    """The doubts about a column of categories.

    Parameters
    ----------
    values : array, shape (rows,)
        Its cells, missing ones among them.
    column : hashable
        Name of the column.
    declared : tuple or None
        Categories that the type of the column lists.
    """
    distinct, positions = distinct_objects(values, column)
    observed = int((positions >= 0).sum())
    if not observed and not declared:
        yield Doubt(EMPTY, column, "(no observed cell)")
    if observed >= MIN_CELLS and len(distinct) > MOST * observed:
        yield Doubt(DISTINCT, column, f"({len(distinct)} values in {observed} cells)")
    if "?" in distinct:
        marks = int((positions == distinct.index("?")).sum())
        yield Doubt(MARKS, column, f"holds '?' in {marks} cell{'s' * (marks > 1)}")


def warn_of_guess(doubts: Iterable[Doubt]) -> None:
    """Warn of columns whose family was taken from their type; see `_warn`."""
    _warn(
        "NaiveBayes.from_frame took the family of each column from its type. Other families may fit these columns "
        "better; give them with families={...}, which also ends this warning",
        doubts,
    )


def warn_of_choice(doubts: Iterable[Doubt]) -> None:
    """Warn of columns whose family was chosen by the labels; see `_warn`."""
    _warn(
        "the family of each column was chosen among those that have a closed form. Other families, or other columns, "
        "may be better than these; give families with families={...}, which also ends this warning",
        doubts,
    )


def _warn(story: str, doubts: Iterable[Doubt]) -> None:
    """Warn of all columns at once, those of each kind in a line; five columns are named, and the others counted."""
    by_kind: dict[str, list[Doubt]] = {}
    for doubt in doubts:
        by_kind.setdefault(doubt.kind, []).append(doubt)
    if by_kind:
        lines = [_line(REMEDIES[kind], by_kind[kind]) for kind in REMEDIES if kind in by_kind]
        warn(f"{story}:\n" + "\n".join(lines), UserWarning)


def _line(remedy: str, doubts: list[Doubt]) -> str:
    shown = first_few([f"{doubt.column!r} {doubt.seen}" for doubt in doubts])
    first: Any = doubts[0].column
    return f"- {shown}: {remedy.format(name=first)}"
