"""A family for each column of a table, by the type of the column."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesnb.arrays import warn
from bayesnb.families.base import Family
from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.categorical import Categorical
from bayesnb.families.gaussian import Gaussian
from bayesnb.tables.read import as_table
from bayesnb.tables.table import Table

__all__ = ["guess_features"]


def guess_features(frame: Any, exclude: Sequence[Any]) -> dict[Any, Family]:
    """A family for each column that is not excluded; parameters and errors as for `NaiveBayes.from_frame`."""
    table = as_table(frame)
    exclude = [exclude] if isinstance(exclude, str) else exclude
    for name in exclude:
        if name not in table.names:
            raise ValueError(f"exclude names the column {name!r}, which is not among {list(table.names)}")
    return {name: _guess_family(table, position) for position, name in enumerate(table.names) if name not in exclude}


def _guess_family(table: Table, position: int) -> Family:
    """Family that the type of a column suggests."""
    kind = table.kind(position)
    if kind == "boolean":
        return Bernoulli()
    if kind == "category":
        marks = int(sum(value == "?" for value in table.values(position, slice(None)).tolist()))
        if marks:
            warn(
                f"column {table.names[position]!r} holds '?' in {marks} cell(s), which count as a category: mark "
                "missing cells with None or NaN (pandas.read_csv(..., na_values='?'))",
                UserWarning,
            )
        return Categorical()
    cells = table.numbers([position], slice(None))
    cells = cells[~np.isnan(cells)]
    return Bernoulli() if cells.size and np.isin(cells, (0.0, 1.0)).all() else Gaussian()
