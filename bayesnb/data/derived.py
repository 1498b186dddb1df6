"""Columns derived of others by recipes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayesnb.core.cells import Column
from bayesnb.core.recipes import COPY, RECIPES, read_dates
from bayesnb.data.tables import Table, as_range, items_at


@dataclass(frozen=True)
class DerivedColumn:
    """A column that a recipe makes of another one.

    Attributes
    ----------
    name, of : hashable
        Its name, and that of its source.
    recipe : str, default "copy"
        One of `RECIPES`. A copy is read where its source is.
    settings : tuple of (str, value)
        Further arguments of the recipe.
    """

    name: Column
    of: Column
    recipe: str = COPY
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def is_copy(self) -> bool:
        """Whether it has the cells of its source; a column that another recipe makes is a reading."""
        return self.recipe == COPY

    @property
    def date(self) -> tuple[Column, str | None] | None:
        """The source and the form of its dates; None if it holds none."""
        return (self.of, dict(self.settings).get("form")) if self.recipe == "date" else None

    def made_of(self, cells: np.ndarray) -> np.ndarray:
        """What the recipe makes of cells of the source."""
        return RECIPES[self.recipe](cells, **dict(self.settings))


@dataclass(frozen=True)
class ArrangedTable(Table):
    """Columns of another table, which is `cells`, in another order, and columns derived of them.

    Attributes
    ----------
    places : sequence of int
        For each column, the position in the other table of the column or its source; -1 if it is not there.
    recipes : mapping
        By position, the derived columns that are no copies.
    moments : mapping
        By source and form, the dates of all rows.
    memory : dict, optional
        Cells that were read of the other table, if they are kept.
    """

    places: Sequence[int] = ()
    recipes: Mapping[int, DerivedColumn] = field(default_factory=dict)
    moments: Mapping[tuple[Column, Any], np.ndarray] = field(default_factory=dict)
    memory: dict[Any, Any] | None = None

    @classmethod
    def of(cls, table: Table, names: tuple[Column, ...], places: Sequence[int], recipes: Mapping[int, Any]) -> Self:
        """The table with columns at these places; dates are read once for all that is derived of them."""
        sources = {column.date: places[at] for at, column in recipes.items() if column.date}
        moments = {date: read_dates(table.stored_values(place, slice(None)), *date) for date, place in sources.items()}
        return cls(table, names, table.named, table.non_negative, table.counted, places, recipes, moments)

    @property
    def num_rows(self) -> int:
        return int(self.cells.num_rows)

    def remembering(self) -> "ArrangedTable":
        """The table for some rows at a time, in which columns that occur several times are read once."""
        return replace(self, memory={}) if self._repeats else self

    def _once(self, read: Callable[[int, slice], Any], column: int, rows: slice) -> Any:
        """Cells of the other table, of a column of this one."""
        place = self.places[column]
        if self.memory is None:
            return read(place, rows)
        key = read.__name__, place, rows.start, rows.stop
        if key not in self.memory:
            self.memory[key] = read(place, rows)
        return self.memory[key]

    @cached_property
    def _repeats(self) -> bool:
        """Whether columns occur several times."""
        return len({*self.places}) < len(self.places)

    def _there(self, columns: Sequence[int]) -> Sequence[int] | None:
        """Positions in the other table; None if it lacks the cells of one of the columns."""
        return as_range(items_at(self.places, columns)) if self.recipes.keys().isdisjoint(columns) else None

    def stored(self, columns: Sequence[int], rows: slice) -> np.ndarray | None:
        return None if (there := self._there(columns)) is None else self.cells.stored(there, rows)

    def numbers(self, columns: Sequence[int], rows: slice, **options: Any) -> Any:
        there = self._there(columns)
        if there is None:
            return super().numbers(columns, rows)
        if self.memory is None or any(options.values()):
            return self.cells.numbers(there, rows, **options)
        return np.column_stack([self.number_column(column, rows) for column in columns])

    def number_column(self, column: int, rows: slice) -> np.ndarray:
        made = column in self.recipes
        return super().number_column(column, rows) if made else self._once(self.cells.number_column, column, rows)

    def stored_values(self, column: int, rows: slice) -> np.ndarray:
        recipe = self.recipes.get(column)
        if recipe is not None and recipe.date:
            return recipe.made_of(self.moments[recipe.date][rows])
        cells = self._once(self.cells.stored_values, column, rows)
        return cells if recipe is None else recipe.made_of(cells)

    def stored_categories(self, column: int, rows: slice) -> Any:
        recipe = self.recipes.get(column)
        if recipe is not None and recipe.recipe != "category":
            return self.stored_values(column, rows)
        return self._once(self.cells.stored_categories, column, rows)

    def shown(self, column: int) -> np.ndarray:
        return super().shown(column) if column in self.recipes else self.cells.shown(self.places[column])

    def declared_categories(self, column: int) -> tuple | None:
        return None if column in self.recipes else self.cells.declared_categories(self.places[column])

    def kind(self, column: int) -> str:
        return super().kind(column) if column in self.recipes else self.cells.kind(self.places[column])

    def chunks(self, num_columns: int) -> Iterator[slice]:
        return self.cells.chunks(num_columns * (1 + self._repeats))  # what is read stays in memory with the chunk
