"""The schema of a model's table: columns, classes and categories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.families.base import Family
from bayesnb.tables.codes import are_codes, encode_categories
from bayesnb.tables.columns import Column, as_range, listed, near_matches
from bayesnb.tables.table import Table

__all__ = ["Schema"]


@dataclass(frozen=True)
class Schema:
    """Columns, classes and categories of the table that a model is bound to.

    Attributes
    ----------
    columns : tuple
        Names of the table's columns; positions if it has no names.
    named : bool
        Whether the table had names.
    classes : array, shape (classes,)
        Labels, in the order of every class axis.
    categories : dict
        Categories of each categorical column, by position.
    """

    columns: tuple[Column, ...]
    named: bool
    classes: np.ndarray
    categories: Mapping[int, tuple] = field(default_factory=dict)

    @cached_property
    def _position_of(self) -> dict[Column, int]:
        return {name: position for position, name in enumerate(self.columns)}

    def positions(self, name: Any, columns: Any) -> Sequence[int]:
        """Positions of the columns of a feature, in the order given; a range if `columns` is a slice of adjacent ones.

        Parameters
        ----------
        name : str or int
            Name of the feature. If `columns` is None, it is the name of its column.
        columns : None, slice or list

        Raises
        ------
        ValueError
            If a column does not exist.
        """
        if isinstance(columns, slice):
            positions = range(len(self.columns))[columns]
            if not positions:
                raise ValueError(f"block {name!r}: {columns} selects none of the {len(self.columns)} columns")
            return as_range(positions)
        return tuple(self._position(column) for column in ([name] if columns is None else columns))

    def positions_of(self, features: Mapping[Any, tuple[Family, Any]]) -> dict[Any, Sequence[int]]:
        """Positions of the columns of every feature.

        Raises
        ------
        ValueError
            If a column does not exist, is in two features, or is twice in one.
        """
        found = {name: self.positions(name, columns) for name, (_, columns) in features.items()}
        # A single range, however wide, holds no column twice.
        if len(found) > 1 or not all(isinstance(positions, range) for positions in found.values()):
            owner: dict[int, Any] = {}
            for name, positions in found.items():
                for position in positions:
                    if position in owner:
                        twice = (
                            f"twice in {name!r}"
                            if owner[position] == name
                            else f"in {owner[position]!r} and in {name!r}"
                        )
                        raise ValueError(
                            f"column {self.columns[position]!r} is {twice}: each column belongs to one family"
                        )
                    owner[position] = name
        return found

    def _position(self, column: Column) -> int:
        if column in self._position_of:
            return self._position_of[column]
        if isinstance(column, int | np.integer) and 0 <= column < len(self.columns):
            return int(column)
        raise ValueError(
            f"column {column!r} is not in X, whose columns are {listed(self.columns)}: name one of these"
            f"{near_matches(column, self.columns)}, or leave it out"
        )

    def locate(self, table: Table, used: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        """Positions in another table of the columns that a model reads.

        If both tables have names, columns are found by name, and other columns of the table are ignored. If one has
        none, columns are found by position, and both need equally many.

        Parameters
        ----------
        table : Table
        used : sequence of sequence of int
            For each block, the positions of its columns in the schema.

        Returns
        -------
        list of sequence of int
            For each block, the positions of its columns in the table; a range if they follow each other.

        Raises
        ------
        ValueError
            If a column of the model is missing, or a table without names has another number of columns.
        """
        if not (self.named and table.named):
            if len(table.names) == len(self.columns):
                return [as_range(columns) for columns in used]
            raise ValueError(
                f"X has {len(table.names)} columns, the model was fitted to {len(self.columns)}: give the same "
                "columns in the same order"
            )
        if table.names == self.columns:
            return [as_range(columns) for columns in used]
        there = {name: position for position, name in enumerate(table.names)}
        missing = [self.columns[column] for columns in used for column in columns if self.columns[column] not in there]
        if missing:
            # A column that was renamed is among those that the fit did not have.
            others = [name for name in table.names if name not in self._position_of] or table.names
            subject = f"column {missing[0]!r} is" if len(missing) == 1 else f"columns {listed(missing)} are"
            raise ValueError(
                f"{subject} missing in X{near_matches(missing[0], others)}, which has {listed(others)}: rename or "
                "add columns"
            )
        return [as_range([there[self.columns[column]] for column in columns]) for columns in used]

    def categories_as_codes(
        self,
        table: Table,
        columns: Sequence[int],
        places: Sequence[int],
        rows: slice,
        unseen: dict,
        *,
        compact: bool,
    ) -> np.ndarray:
        """Cells of some columns as positions among their categories.

        Parameters
        ----------
        table : Table
        columns : sequence of int
            Positions in the schema.
        places : sequence of int
            Positions of these columns in the table.
        rows : slice
        unseen : dict
            Receives, for each column, the values that are not among the categories, with their number.
        compact : bool
            Whether to give integers if the table holds the codes themselves and no cell is missing.

        Returns
        -------
        array, shape (rows, columns)
            Codes: float64 with NaN for missing cells, or integers.
        """
        if compact and all(self._counts_from_zero[column] for column in columns):
            stored = table.stored(places, rows)
            size = min(len(self.categories[column]) for column in columns)
            if stored is not None and stored.dtype.kind in "iu" and are_codes(stored, size):
                return stored
        codes = []
        for column, place in zip(columns, places, strict=True):
            name = self.columns[column]
            counted = unseen.setdefault(name, {})
            codes.append(encode_categories(table.values(place, rows), self.categories[column], name, counted))
        return np.column_stack(codes)

    @cached_property
    def _counts_from_zero(self) -> dict[int, bool]:
        """For each categorical column, whether its categories are 0, 1, ..., so that each is its own code."""
        return {
            column: all(type(category) is int and category == code for code, category in enumerate(categories))
            for column, categories in self.categories.items()
        }
