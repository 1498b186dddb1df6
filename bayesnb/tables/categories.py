"""The categories of a column: declared or found in its cells."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bayesnb.tables.columns import Column, OutsideSupport, first_few, listed
from bayesnb.tables.distinct import distinct_objects
from bayesnb.tables.objects import is_missing
from bayesnb.tables.table import Table
from bayesnb.warn import warn

__all__ = ["OTHER", "learn_categories", "shown_categories", "sort_categories", "warn_of_twins", "warn_unseen"]

OTHER = "<other>"
"""Label of the category of all values that were never seen."""


def learn_categories(table: Table, column: int, declared: tuple | None, other: bool) -> tuple:
    """Categories of a column.

    Parameters
    ----------
    table : Table
    column : int
    declared : tuple or None
        Categories that the model declares. If None, those that the type of the column lists; if it lists none, the
        distinct values of the column, sorted.
    other : bool
        Whether to add the category `OTHER`.

    Raises
    ------
    ValueError
        If there are no categories.
    """
    found = declared if declared is not None else table.declared_categories(column)
    if found is None:
        found = shown_categories(table, column)
    warn_of_twins(found, f"column {table.names[column]!r}", "categories")
    if other:
        found = (*found, OTHER)
    if not found:
        raise ValueError(
            f"column {table.names[column]!r} has no observed cell, so its categories are unknown: leave the column "
            "out, or list them with nb.Categorical(categories=...)"
        )
    return found


def shown_categories(table: Table, column: int) -> tuple:
    """The distinct values of a column, sorted, without missing cells."""
    values = table.distinct_values(column)
    if values.dtype.kind in "biuf":
        return tuple(np.unique(values[~np.isnan(values)] if values.dtype.kind == "f" else values).tolist())
    distinct, _ = distinct_objects(values, table.names[column])
    return tuple(sort_categories({value for value in distinct if not is_missing(value)}, table.names[column]))


def warn_of_twins(values: Iterable[Any], where: str, what: str) -> None:
    """Warn of values that differ only in their type, such as 0 and "0", and are therefore different ones.

    Parameters
    ----------
    values : iterable
    where, what : str
        What holds them, and what they are: "column 'x'" and "categories".
    """
    values = list(values)
    if len({isinstance(value, str) for value in values}) < 2:
        return
    texts = {value for value in values if isinstance(value, str)}
    twins = [(value, text) for value in values if not isinstance(value, str) and (text := _as_text(value)) in texts]
    if twins:
        shown = first_few([f"{value!r} and {text!r}" for value, text in twins])
        warn(
            f"{where} holds {what} that differ only in their type ({shown}), and counts each as one of its own: give "
            "all rows the same type",
            UserWarning,
        )


def _as_text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def sort_categories(values: set, column: Column) -> list:
    """The values, sorted; by type and text if they cannot be compared."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def _warn_outside(cells: Mapping[OutsideSupport, Mapping[Any, int]]) -> None:
    if not cells:
        return
    found = [
        f"{sum(values.values())} in column {key.column!r}, such as {next(iter(values)):g}, which is not {key.holds} "
        f"({key.family})"
        for key, values in cells.items()
    ]
    name, shown = next(iter(cells)).column, first_few(found, between="; ")
    warn(
        f"cells outside the support of families that were chosen count as missing: {shown}. Give a family that holds "
        f"them, nb.NaiveBayes.from_frame(X, y, families={{{name!r}: nb.Gaussian()}})",
        UserWarning,
    )


def warn_unseen(unseen: Mapping[Any, Mapping[Any, int]]) -> None:
    """Warn of categories that were not seen in training, and of cells outside the support: once, for all columns.

    Parameters
    ----------
    unseen : dict
        For each column, the number of cells of each such category; for each `OutsideSupport`, that of such cells.
    """
    _warn_outside({key: cells for key, cells in unseen.items() if isinstance(key, OutsideSupport)})
    unseen = {key: values for key, values in unseen.items() if not isinstance(key, OutsideSupport)}
    found = [(column, sum(values.values()), listed(values)) for column, values in unseen.items() if values]
    if not found:
        return
    remedy = "a family with other=True, such as nb.Categorical(other=True), would give them probability"
    if len(found) == 1:
        column, cells, shown = found[0]
        told = f"column {column!r}: {cells} cell(s) hold categories not seen in training ({shown}) and count as missing"
    else:
        each = first_few([f"{column!r} in {cells} cell(s) ({shown})" for column, cells, shown in found])
        told = f"{len(found)} columns hold categories not seen in training, which count as missing: {each}"
    warn(f"{told}; {remedy}", UserWarning)
