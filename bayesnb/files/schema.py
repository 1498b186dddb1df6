"""Columns, classes and categories as JSON."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesnb.tables.schema import Schema

__all__ = ["read_schema", "write_label", "write_schema"]


def write_label(label: Any, what: str) -> Any:
    """A label as JSON can hold it.

    Parameters
    ----------
    label : object
    what : str
        What the label names, for the error.

    Raises
    ------
    TypeError
        If it is neither text, number nor boolean.
    """
    plain = label.item() if isinstance(label, np.generic) else label
    if not isinstance(plain, str | int | float | bool):
        raise TypeError(
            f"the {what} {label!r} is of the type {type(label).__name__}, and only text, numbers and booleans can be "
            "saved as labels: convert it before the fit, for example to text"
        )
    return plain


def _write_column(column: Any) -> Any:
    """A column's name as JSON can hold it; a tuple, as of a pandas MultiIndex, is a list."""
    if isinstance(column, tuple):
        return [_write_column(part) for part in column]
    return write_label(column, "column")


def _read_column(column: Any) -> Any:
    return tuple(map(_read_column, column)) if isinstance(column, list) else column


def write_schema(schema: Schema) -> dict[str, Any]:
    """The schema as JSON can hold it; errors as for `write_label`."""
    return {
        "columns": [_write_column(column) for column in schema.columns],
        "named": schema.named,
        "classes": [write_label(label, "class") for label in schema.classes.tolist()],
        "dtype": schema.classes.dtype.str,
        "categories": [
            [
                position,
                [write_label(category, f"category of column {schema.columns[position]!r}") for category in categories],
            ]
            for position, categories in schema.categories.items()
        ],
    }


def read_schema(text: Mapping[str, Any]) -> Schema:
    """The schema that `write_schema` wrote."""
    return Schema(
        tuple(map(_read_column, text["columns"])),
        text["named"],
        np.array(text["classes"], dtype=np.dtype(text["dtype"])),
        {position: tuple(categories) for position, categories in text["categories"]},
    )
