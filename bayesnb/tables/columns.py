"""Names and positions of columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

__all__ = ["Column", "OutsideSupport", "as_index", "as_range", "first_few", "items_at", "listed", "near_matches"]

Column = Any
"""Name of a column: any hashable value, its position where the table has no names."""


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


def as_range(columns: Sequence[int]) -> Sequence[int]:
    """Positions of columns: a range if they follow each other, else a tuple.

    A range is compared quickly, and NumPy takes its columns without a copy.
    """
    if not columns:
        return range(0)
    consecutive = range(columns[0], columns[-1] + 1)
    if columns == consecutive or list(columns) == list(consecutive):
        return consecutive
    return tuple(columns)


def as_index(columns: Sequence[int]) -> Any:
    """Positions as an index of an array; a slice for a range, so that NumPy makes no copy."""
    return slice(columns.start, columns.stop) if isinstance(columns, range) else list(columns)


def items_at[S: Sequence[Any]](values: S, positions: Sequence[int]) -> S | tuple:
    """The values at these positions; a slice of `values` if the positions are a range."""
    if isinstance(positions, range):
        return values[as_index(positions)]
    return tuple(map(values.__getitem__, positions))


def listed(values: Iterable[Any]) -> str:
    """Values for an error or a warning: the first five, and how many more there are."""
    return first_few(list(map(repr, values)))


def first_few(texts: Sequence[str], number: int = 5, between: str = ", ") -> str:
    """So many of the texts, and how many more there are."""
    return between.join(texts[:number]) + (f" and {len(texts) - number} more" if len(texts) > number else "")


def near_matches(name: Column, names: Iterable[Column]) -> str:
    """A question for an error, " (did you mean 'island'?)", with the names closest to one that does not exist.

    Empty if no name is close.
    """
    by_text = {str(each): each for each in names}
    found = [by_text[text] for text in get_close_matches(str(name), by_text, n=2, cutoff=0.7)]
    return f" (did you mean {' or '.join(map(repr, found))}?)" if found else ""
