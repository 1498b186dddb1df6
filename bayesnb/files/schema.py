"""Columns, classes and categories as JSON."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesnb.tables.schema import Schema

__all__ = ["read_schema", "write_label", "write_schema"]


def write_label(label: Any) -> Any:
    """A label as JSON can hold it.

    Raises
    ------
    TypeError
        If it is neither text, number nor boolean.
    """
    plain = label.item() if isinstance(label, np.generic) else label
    if not isinstance(plain, str | int | float | bool):
        raise TypeError(
            f"{label!r} is a {type(label).__name__}: only text, numbers and booleans can be saved as labels"
        )
    return plain


def write_schema(schema: Schema) -> dict[str, Any]:
    """The schema as JSON can hold it."""
    return {
        "columns": [write_label(column) for column in schema.columns],
        "named": schema.named,
        "classes": [write_label(label) for label in schema.classes.tolist()],
        "dtype": schema.classes.dtype.str,
        "categories": [
            [position, [write_label(category) for category in categories]]
            for position, categories in schema.categories.items()
        ],
    }


def read_schema(text: Mapping[str, Any]) -> Schema:
    """The schema that `write_schema` wrote."""
    return Schema(
        tuple(text["columns"]),
        text["named"],
        np.array(text["classes"], dtype=np.dtype(text["dtype"])),
        {position: tuple(categories) for position, categories in text["categories"]},
    )
