"""The columns of a frame that are given no family, read with those that are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesnb.families.base import Family
from bayesnb.model.doubts import Doubt, doubts_of_text
from bayesnb.tables.columns import listed, near_matches
from bayesnb.tables.read import as_table
from bayesnb.tables.sparse import SparseTable
from bayesnb.tables.table import Table

__all__ = ["OpenColumns", "holds_counts", "observed", "open_columns"]


@dataclass(frozen=True)
class OpenColumns:
    """The columns of a table that get a family.

    Attributes
    ----------
    table : Table
    given : dict
        By column, the families that are given.
    positions : tuple of int
        Positions of the columns of the model, in the table's order; text that tells nothing is not among them.
    doubts : tuple of Doubt
        About columns of text, those that are left out first.
    """

    table: Table
    given: dict[Any, Family]
    positions: tuple[int, ...]
    doubts: tuple[Doubt, ...] = ()

    @property
    def open(self) -> tuple[int, ...]:
        """Positions of the columns of which no family is given."""
        return tuple(position for position in self.positions if self.table.names[position] not in self.given)

    @property
    def open_names(self) -> list[Any]:
        """Names of the columns of which no family is given."""
        return [self.table.names[position] for position in self.open]

    def features(self, found: Mapping[int, Family]) -> dict[Any, Family]:
        """The family of every column of the model, in the table's order.

        Parameters
        ----------
        found : mapping
            By position, the families of the columns that are open.
        """
        names = self.table.names
        return {
            names[position]: found[position] if position in found else self.given[names[position]]
            for position in self.positions
        }


def open_columns(frame: Any, exclude: Sequence[Any], families: Mapping[Any, Family] | None) -> OpenColumns:
    """The columns that get a family; parameters and errors as for `NaiveBayes.from_frame`."""
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
    positions = tuple(position for position, name in enumerate(table.names) if name not in exclude)
    if not positions:
        which = "exclude names all its columns" if table.names else "it has none"
        raise ValueError(f"the table has no column for the model ({which}): give at least one")
    return _without_useless_text(OpenColumns(table, given, positions))


def _without_useless_text(columns: OpenColumns) -> OpenColumns:
    """The columns without text of which no cell is observed, or most values are distinct.

    Raises
    ------
    ValueError
        If no column is left.
    """
    table = columns.table
    doubts: list[Doubt] = []
    for position in columns.open:
        if table.kind(position) == "category":
            listed_by_type = table.declared_categories(position)
            doubts += doubts_of_text(table.values(position, slice(None)), table.names[position], listed_by_type)
    useless = {doubt.column for doubt in doubts if doubt.leaves_out}
    kept = tuple(position for position in columns.positions if table.names[position] not in useless)
    if not kept:
        raise ValueError(
            f"every column is text that is missing, or distinct in most cells ({listed(useless)}), and tells nothing: "
            "give one that tells of the class, or keep a column, families={column: nb.Categorical()}"
        )
    return replace(columns, positions=kept, doubts=tuple(doubts))


def holds_counts(columns: OpenColumns) -> bool:
    """Whether the columns are all those of a sparse matrix of counts, such as one of words."""
    table = columns.table
    if not isinstance(table, SparseTable) or len(columns.open) < len(table.names) or table.matrix.dtype == bool:
        return False
    cells = table.matrix.data
    is_whole = bool(np.all((cells >= 0) & (cells == np.rint(cells))))
    return is_whole and (cells.dtype.kind in "iu" or bool((cells > 1).any()))


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


def observed(table: Table, position: int) -> np.ndarray:
    """The observed cells of a column of numbers, in all rows."""
    cells = table.numbers([position], slice(None))[:, 0]
    return cells[~np.isnan(cells)]
