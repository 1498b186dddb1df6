"""A family for each column of a table: the one given, or one by the type of the column."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesnb.families.base import Family
from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.categorical import Categorical
from bayesnb.families.gaussian import Gaussian
from bayesnb.model.doubts import Doubt, doubt_of_numbers, doubts_of_text, warn_of_doubts
from bayesnb.tables.columns import Column, listed, near_matches
from bayesnb.tables.read import as_table
from bayesnb.tables.table import Table

__all__ = ["guess_features"]


def guess_features(
    frame: Any, exclude: Sequence[Any], families: Mapping[Any, Family] | None = None
) -> dict[Any, Family]:
    """A family for each column that is not excluded; parameters, errors and warnings as for `NaiveBayes.from_frame`."""
    table = as_table(frame)
    exclude = [exclude] if isinstance(exclude, str) else exclude
    given = {} if families is None else _read_families(families)
    for what, names in (("exclude", exclude), ("families", given)):
        for name in names:
            if name not in table.names:
                raise ValueError(
                    f"{what} names the column {name!r}, which the table lacks{near_matches(name, table.names)}: its "
                    f"columns are {listed(table.names)}"
                )
    for name in given:
        if name in exclude:
            raise ValueError(f"column {name!r} is in families and in exclude: leave it out of one of them")
    features: dict[Any, Family] = {}
    doubts: list[Doubt] = []
    for position, name in enumerate(table.names):
        if name in given:
            features[name] = given[name]
        elif name not in exclude:
            features[name], found = _guess_family(table, position, name)
            doubts += found
    if not features:
        which = "exclude names all its columns" if table.names else "it has none"
        raise ValueError(f"the table has no column for the model ({which}): give at least one")
    warn_of_doubts(doubts)
    return features


def _read_families(families: Any) -> dict[Any, Family]:
    if not isinstance(families, Mapping):
        raise TypeError(
            f"families is {families!r}: give a mapping from columns to families, such as "
            "families={'size': nb.Gaussian()}"
        )
    for name, family in families.items():
        if not isinstance(family, Family):
            raise TypeError(
                f"families gives {name!r} {family!r}, which is no family: give one such as nb.Categorical(); blocks of "
                "columns are for nb.NaiveBayes({...})"
            )
    return dict(families)


def _guess_family(table: Table, position: int, name: Column) -> tuple[Family, list[Doubt]]:
    """Family that the type of a column suggests, and what speaks against it."""
    kind = table.kind(position)
    if kind == "boolean":
        return Bernoulli(), []
    if kind == "category":
        return Categorical(), list(doubts_of_text(table.values(position, slice(None)), name))
    cells = table.numbers([position], slice(None))
    cells = cells[~np.isnan(cells)]
    if cells.size and np.isin(cells, (0.0, 1.0)).all():
        return Bernoulli(), []
    doubt = doubt_of_numbers(cells, name)
    return Gaussian(), [] if doubt is None else [doubt]
