"""Columns, categories and labels of a table, and the codes of its cells and labels."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, Self

import numpy as np

from bayesnb.core.cells import OTHER, Column, is_missing
from bayesnb.core.checking import first_few, listed, near_matches, sort_categories, warn
from bayesnb.core.number_form import NumberForm
from bayesnb.data.derived import ArrangedTable, DerivedColumn
from bayesnb.data.tables import FEW, Table, as_range, distinct_objects, distinct_with_positions, items_at
from bayesnb.data.written_numbers import with_numbers

# --------------------------------------------------------------------------------------------------
# Categories of a column: declared, or found in its cells
# --------------------------------------------------------------------------------------------------


def with_other(column: Column, categories: tuple, other: bool) -> tuple:
    """The categories of a column, with the category `OTHER` if wanted.

    Raises
    ------
    ValueError
        If there are no categories.
    """
    warn_of_twins(categories, f"column {column!r}", "categories")
    if other:
        return (*categories, OTHER)
    if not categories:
        raise ValueError(
            f"column {column!r} has no observed cell, so its categories are unknown: leave the column out, or list "
            "them with nb.Categorical(categories=...)"
        )
    return categories


def shown_categories(table: Table, column: int) -> tuple:
    """The distinct values of a column, sorted, without missing cells."""
    values = table.shown(column)
    if values.dtype.kind in "biuf":
        return tuple(np.unique(values[~np.isnan(values)] if values.dtype.kind == "f" else values).tolist())
    distinct, _ = distinct_objects(values, table.names[column])
    return tuple(sort_categories({value for value in distinct if not is_missing(value)}))


def warn_of_twins(values: Iterable[Any], where: str, what: str) -> None:
    """Warn of different values that look alike: 0 and "0", or texts such as "ham" and "ham ".

    Parameters
    ----------
    values : iterable
    where, what : str
        What holds them, and what they are: "column 'x'" and "categories".
    """
    values = list(values)
    texts = {value for value in values if isinstance(value, str)}
    others = [value for value in values if not isinstance(value, str)] if texts else []
    alike: dict[str, list[str]] = defaultdict(list)
    for value in sorted(texts):
        alike[" ".join(value.split()).casefold()].append(repr(value))
    pairs = {
        "in spaces or capitals": [" and ".join(spellings) for spellings in alike.values() if len(spellings) > 1],
        "in their type": [f"{value!r} and {text!r}" for value in others if (text := _text_of(value)) in texts],
    }
    for way, found in pairs.items():
        if found:
            warn(
                f"{where} holds {what} that differ only {way} ({first_few(found)}), and counts each as one of its own: "
                "give all rows the same spelling and type",
                UserWarning,
            )


def _text_of(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


# --------------------------------------------------------------------------------------------------
# Cells of a column as codes: positions among its categories
# --------------------------------------------------------------------------------------------------


def encode_categories(
    values: np.ndarray, categories: Sequence[Any], column: Column, unseen: dict[Any, int]
) -> np.ndarray:
    """Position of each cell among the categories as float64, shape (rows,); missing cells are NaN.

    A value that is not among the categories gets the code of `OTHER` if that is the last category, else NaN.

    Parameters
    ----------
    values : array, shape (rows,)
    categories : sequence
    column : hashable
        Name of the column, for errors.
    unseen : dict
        Receives the values that become NaN because they are not among the categories, with their number.
    """
    default = float(len(categories) - 1) if categories[-1] == OTHER else np.nan
    lookup = _codes_of(tuple(categories))
    if values.dtype.kind in "biuf":
        present = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)
        distinct, inverse = distinct_with_positions(values[present])
        of_distinct = np.array([lookup.get(value, -1.0) for value in distinct.tolist()])
        codes = np.full(len(values), np.nan)
        codes[present] = of_distinct[inverse] if distinct.size else 0.0
    elif len(values) < FEW and (found := _found_one_by_one(values, lookup)) is not None:
        codes = found
    else:
        met, positions = distinct_objects(values, column)
        of_met = [np.nan if is_missing(value) else lookup.get(value, -1.0) for value in met]
        # The position of a missing cell is -1: the last code.
        codes = np.array([*of_met, np.nan])[positions]
    strange = codes == -1.0
    if strange.any():
        codes[strange] = default
        if np.isnan(default):
            for value in values[strange].tolist():
                unseen[value] = unseen.get(value, 0) + 1
    return codes


@lru_cache(256)
def _codes_of(categories: tuple) -> dict[Any, float]:
    return {category: float(code) for code, category in enumerate(categories)}


def _found_one_by_one(values: np.ndarray, lookup: Mapping[Any, float]) -> np.ndarray | None:
    """The code of each cell, NaN if it is missing and -1 for no category; None if a cell is not hashable."""
    cells = values.tolist()
    try:
        found = [lookup.get(value, -1.0) for value in cells]
    except TypeError:
        return None
    strange = [row for row, code in enumerate(found) if code < 0]
    for row in strange:
        if is_missing(cells[row]):
            found[row] = np.nan
    return np.array(found)


def are_codes(cells: np.ndarray, size: int) -> bool:
    """Whether all of some whole numbers are codes of `size` categories."""
    # Read as unsigned, a negative number is larger than any code.
    return cells.size > 0 and cells.view(cells.dtype.str.replace("i", "u")).max() < size


# --------------------------------------------------------------------------------------------------
# The schema of a model's table: columns, classes and categories
# --------------------------------------------------------------------------------------------------


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
    derived : tuple of DerivedColumn
        The last columns, those that are made of the others. Each column belongs to one feature, so that one that
        describes columns that another feature describes has copies of its own.
    edges : dict
        By position of a column of numbers that is read as categories, the numbers that divide these.
    """

    columns: tuple[Column, ...]
    named: bool
    classes: np.ndarray
    categories: Mapping[int, tuple] = field(default_factory=dict)
    derived: tuple[DerivedColumn, ...] = ()
    edges: Mapping[int, tuple[float, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, names: tuple[Column, ...], named: bool, features: Mapping[Any, tuple[Any, Any]]) -> Self:
        """The columns of a table, and those that features derive of them; classes and categories are not known.

        Raises
        ------
        ValueError
            If a column does not exist, or a derived column or its feature has the name of another column.
        """
        schema = cls(names, named, np.empty(0))
        described: set[int] = set()
        taken, derived = [*names], []
        for feature, (_, columns) in features.items():
            own = schema._sources_of(feature, columns)
            has_recipe = isinstance(columns, list) and any(isinstance(column, DerivedColumn) for column in columns)
            if described.isdisjoint(own) and not has_recipe:
                described.update(own)
                continue
            records = schema._derivations(feature, columns)
            labels = [record.name for record in records]
            if found := [label for label in (feature, *labels) if label in taken]:
                sources = [record.of for record in records]
                raise ValueError(
                    f"the feature {feature!r} describes {listed(sources)} once more, and {found[0]!r} is a column: "
                    "give the feature another name, or place it before the other features of its columns"
                )
            taken += labels
            derived += records
        derived.sort(key=lambda column: not column.is_copy)  # readings come last
        return replace(schema, columns=(*names, *(column.name for column in derived)), derived=tuple(derived))

    @property
    def num_readings(self) -> int:
        """Number of readings, the last columns."""
        return sum(not column.is_copy for column in self.derived)

    @property
    def first_reading(self) -> int:
        """Position of the first reading; the number of columns if there is none."""
        return len(self.columns) - self.num_readings

    @cached_property
    def sources(self) -> Sequence[int]:
        """For each column, its own position if it is not derived, else that of its source."""
        own = range(len(self.columns) - len(self.derived))
        return (*own, *(self._position_of[column.of] for column in self.derived)) if self.derived else own

    @property
    def source_columns(self) -> tuple[Column, ...]:
        """Names of the columns that are not derived."""
        return self.columns[: len(self.columns) - len(self.derived)]

    def names(self, positions: Sequence[int]) -> tuple[Column, ...]:
        """Names of columns, or of their sources."""
        return items_at(self.columns, items_at(self.sources, positions))

    def derivation(self, position: int) -> DerivedColumn | None:
        """How a column is derived; None if it is not."""
        place = position - len(self.source_columns)
        return self.derived[place] if place >= 0 else None

    @cached_property
    def _position_of(self) -> dict[Column, int]:
        return {name: position for position, name in enumerate(self.source_columns)}

    @cached_property
    def _position_of_derived(self) -> dict[DerivedColumn, int]:
        return {column: position for position, column in enumerate(self.derived, len(self.source_columns))}

    def positions(self, feature: Any, columns: Any) -> Sequence[int]:
        """Positions of the columns of a feature, in the order given; a range if `columns` is a slice of adjacent ones.

        Parameters
        ----------
        feature : str or int
            Name of the feature. If `columns` is None, it is the name of its column.
        columns : None, slice or list

        Raises
        ------
        ValueError
            If a column does not exist.
        """
        derived, at = self._derivations(feature, columns) if self.derived else [], self._position_of_derived
        return [at[column] for column in derived if column in at] or self._sources_of(feature, columns)

    def positions_of(self, features: Mapping[Any, tuple[Any, Any]]) -> dict[Any, Sequence[int]]:
        """Positions of the columns of every feature.

        Raises
        ------
        ValueError
            If a column does not exist or is twice in a feature.
        """
        found = {name: self.positions(name, columns) for name, (_, columns) in features.items()}
        for name, positions in found.items():
            own = items_at(self.sources, positions)
            # A range, however wide, holds no column twice.
            if not isinstance(own, range) and len({*own}) < len(own):
                twice = next(position for position in own if own.count(position) > 1)
                raise ValueError(f"column {self.columns[twice]!r} is twice in {name!r}: name it once")
        return found

    def _sources_of(self, feature: Any, columns: Any) -> Sequence[int]:
        """Positions of the sources of the columns of a feature."""
        if isinstance(columns, slice):
            positions = range(len(self.source_columns))[columns]
            if not positions:
                raise ValueError(f"block {feature!r}: {columns} selects none of the {len(self.source_columns)} columns")
            return as_range(positions)
        return tuple(self._position(column) for column in ([feature] if columns is None else columns))

    def _derivations(self, feature: Any, columns: Any) -> list[DerivedColumn]:
        """The columns of a feature as derived ones: copies, unless they have a recipe."""
        names = items_at(self.columns, self._sources_of(feature, columns))
        given = columns if isinstance(columns, list) else names
        return [
            column
            if isinstance(column, DerivedColumn)
            else DerivedColumn(feature if len(names) == 1 else f"{name} ({feature})", name)
            for column, name in zip(given, names, strict=True)
        ]

    def _position(self, column: Column) -> int:
        column = column.of if isinstance(column, DerivedColumn) else column
        if column in self._position_of:
            return self._position_of[column]
        if isinstance(column, int | np.integer) and 0 <= column < len(self.source_columns):
            return int(column)
        raise ValueError(
            f"column {column!r} is not in X, whose columns are {listed(self.source_columns)}: name one of these"
            f"{near_matches(column, self.source_columns)}, or leave it out"
        )

    def locate(self, names: tuple[Column, ...], named: bool, used: Iterable[Sequence[int]]) -> Sequence[int]:
        """For each column, where it or its source is in another table; -1 for one that is not used and not there.

        If both tables have names, columns are found by name, and other columns of the table are ignored. If one has
        none, columns are found by position, and both need equally many.

        Parameters
        ----------
        names : tuple
            The table's columns.
        named : bool
            Whether these are names, rather than positions.
        used : iterable of sequence of int
            Positions of the columns that are read, such as those of each block.

        Raises
        ------
        ValueError
            If a column that is read is missing, or a table without names has another number of columns.
        """
        if not (self.named and named):
            if len(names) == len(self.source_columns):
                return self.sources
            raise ValueError(
                f"X has {len(names)} columns, the model was fitted to {len(self.source_columns)}: give the same "
                "columns in the same order"
            )
        if names == self.source_columns:
            return self.sources
        there = {name: position for position, name in enumerate(names)}
        wanted = dict.fromkeys(chain.from_iterable(map(self.names, used)))
        missing = [name for name in wanted if name not in there]
        if missing:
            # A renamed column is among those that the fit did not have.
            others = [name for name in names if name not in self._position_of] or names
            subject = f"column {missing[0]!r} is" if len(missing) == 1 else f"columns {listed(missing)} are"
            raise ValueError(
                f"{subject} missing in X{near_matches(missing[0], others)}, which has {listed(others)}: rename or "
                "add columns"
            )
        return tuple(there.get(name, -1) for name in self.names(range(len(self.columns))))

    def arrange(self, table: Table, used: Sequence[Sequence[int]], forms: Mapping[Column, NumberForm]) -> Table:
        """A table with each column of the schema at its position; derived ones are made when they are read.

        Parameters
        ----------
        table : Table
        used : sequence of sequence of int
            As for `locate`, which has the errors.
        forms : mapping
            How numbers are written in columns of text; see `bayesnb.data.written_numbers`.
        """
        places = self.locate(table.names, table.named, used)
        if forms:
            read = (position for columns in used for position in columns)
            table = with_numbers(table, forms, ((places[position], self.names([position])[0]) for position in read))
        if places == range(len(table.names)):
            return table
        derived = self._position_of_derived.items()
        recipes = {at: column for column, at in derived if not column.is_copy and places[at] >= 0}
        return ArrangedTable.of(table, self.names(range(len(self.columns))), places, recipes)

    @cached_property
    def counts_from_zero(self) -> dict[int, bool]:
        """For each categorical column, whether its categories are 0, 1, ..., so that each is its own code."""
        return {
            column: all(type(category) is int and category == code for code, category in enumerate(categories))
            for column, categories in self.categories.items()
        }
