"""A family for each column of a table: the one given, or one by the type of the column."""

from typing import Any

import numpy as np

from bayesnb.families.base import Family
from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.categorical import Categorical
from bayesnb.families.gaussian import Gaussian
from bayesnb.model.doubts import Doubt, doubt_of_numbers, warn_of_guess
from bayesnb.model.open_columns import OpenColumns, observed
from bayesnb.tables.table import Table

__all__ = ["guess_family", "guess_features"]


def guess_features(columns: OpenColumns) -> dict[Any, Family]:
    """A family for each column, by its type where none is given; warnings as for `NaiveBayes.from_frame`."""
    guessed: dict[int, Family] = {}
    doubts = [*columns.doubts]
    for position in columns.open:
        guessed[position], found = guess_family(columns.table, position)
        doubts += found
    warn_of_guess(doubts)
    return columns.features(guessed)


def guess_family(table: Table, position: int) -> tuple[Family, list[Doubt]]:
    """Family that the type of a column suggests, and the doubt about it."""
    kind, name = table.kind(position), table.names[position]
    if kind == "boolean":
        return Bernoulli(), []
    if kind == "category":
        return Categorical(), []
    cells = observed(table, position)
    if cells.size and np.isin(cells, (0.0, 1.0)).all():
        return Bernoulli(), []
    doubt = doubt_of_numbers(cells, name)
    return Gaussian(), [] if doubt is None else [doubt]
