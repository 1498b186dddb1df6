"""The rows of a table that a figure shows, and their names."""

from collections.abc import Sequence
from typing import Any

from bayesnb.tables.read import as_table
from bayesnb.validate import whole_number

__all__ = ["first_rows", "names_of_rows"]


def first_rows(X: Any, max_rows: int) -> tuple[Any, int, int]:
    """The first rows of a table, their number and the number of all rows.

    Raises
    ------
    ValueError
        If there is no row.
    """
    shown, rows = whole_number("max_rows", max_rows), as_table(X).num_rows
    if rows == 0:
        raise ValueError("X has no rows: give at least one")
    if rows <= shown:
        return X, rows, rows
    if hasattr(X, "head"):
        return X.head(shown), shown, rows
    return (X.tocsr() if hasattr(X, "tocsr") else X)[:shown], shown, rows


def names_of_rows(labels: Sequence[Any] | None, shown: int, rows: int) -> list[str]:
    """Text beside each row that is shown: its label, or its position if there are no labels.

    Raises
    ------
    ValueError
        If there is not one label for each row of the table.
    """
    if labels is None:
        return [str(row) for row in range(shown)]
    names = list(labels)
    if isinstance(labels, str) or len(names) != rows:
        raise ValueError(f"labels has {len(names)} entries, X has {rows} rows: give one label for each row")
    return [str(name) for name in names[:shown]]
