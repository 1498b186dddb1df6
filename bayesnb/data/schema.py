"""Columns, categories and labels of a table, and the codes of its cells and labels."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayesnb.core.checking import first_few, listed, near_matches, sort_categories, warn
from bayesnb.data.tables import (
    Column,
    Table,
    distinct_objects,
    distinct_with_positions,
    is_missing,
    items_at,
)

# --------------------------------------------------------------------------------------------------
# The categories of a column: declared or found in its cells
# --------------------------------------------------------------------------------------------------

OTHER = "<other>"
"""Label of the category of all values that were never seen."""


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
    values = table.values(column, slice(None))
    if values.dtype.kind in "biuf":
        return tuple(np.unique(values[~np.isnan(values)] if values.dtype.kind == "f" else values).tolist())
    distinct, _ = distinct_objects(values, table.names[column])
    return tuple(sort_categories({value for value in distinct if not is_missing(value)}))


def warn_of_twins(values: Iterable[Any], where: str, what: str) -> None:
    """Warn of values that look alike and are different ones: 0 and "0", or texts such as "ham" and "ham ".

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


@dataclass(frozen=True)
class OutsideSupport:
    """A column with cells that its family cannot hold, and that count as missing.

    Attributes
    ----------
    column : hashable
        Its name.
    family : str
        Name of the family.
    holds : str
        What the family holds.
    """

    column: Column
    family: str
    holds: str


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
    lookup = {category: float(code) for code, category in enumerate(categories)}
    if values.dtype.kind in "biuf":
        present = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)
        distinct, inverse = distinct_with_positions(values[present])
        of_distinct = np.array([lookup.get(value, -1.0) for value in distinct.tolist()])
        codes = np.full(len(values), np.nan)
        codes[present] = of_distinct[inverse] if distinct.size else 0.0
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


def are_codes(cells: np.ndarray, size: int) -> bool:
    """Whether all of some whole numbers are codes of `size` categories."""
    # Read as unsigned, a negative number is larger than any code.
    return cells.size > 0 and cells.view(cells.dtype.str.replace("i", "u")).max() < size


# --------------------------------------------------------------------------------------------------
# The schema of a model's table: columns, classes and categories
# --------------------------------------------------------------------------------------------------


def _as_range(columns: Sequence[int]) -> Sequence[int]:
    """Positions of columns: a range if they follow each other, else a tuple.

    A range is compared quickly, and NumPy takes its columns without a copy.
    """
    if not columns:
        return range(0)
    consecutive = range(columns[0], columns[-1] + 1)
    if columns == consecutive or list(columns) == list(consecutive):
        return consecutive
    return tuple(columns)


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
    views : dict
        Features that describe columns once more, after another feature, and the positions of these columns in the
        table. Such a feature has positions of its own after those of the table's columns, so that a position belongs to
        one feature.
    edges : dict
        By position of a column of numbers that is read as categories, the numbers that divide these.
    """

    columns: tuple[Column, ...]
    named: bool
    classes: np.ndarray
    categories: Mapping[int, tuple] = field(default_factory=dict)
    views: Mapping[Any, tuple[int, ...]] = field(default_factory=dict)
    edges: Mapping[int, tuple[float, ...]] = field(default_factory=dict)

    def with_views(self, features: Mapping[Any, tuple[Any, Any]]) -> Self:
        """The schema with positions for the features that describe columns once more.

        Raises
        ------
        ValueError
            If a column does not exist, or such a feature has the name of a column.
        """
        described: set[int] = set()
        names, views = list(self.columns), {}
        for feature, (_, columns) in features.items():
            positions = self.positions(feature, columns)
            if described.isdisjoint(positions):
                described.update(positions)
                continue
            views[feature] = tuple(positions)
            own = [self.columns[position] for position in positions]
            labels = [feature] if len(own) == 1 else [f"{name} ({feature})" for name in own]
            if taken := [label for label in (feature, *labels) if label in names]:
                raise ValueError(
                    f"the feature {feature!r} describes {listed(own)} once more, and {taken[0]!r} is a column: give "
                    "the feature another name, or place it before the other features of its columns"
                )
            names += labels
        return replace(self, columns=tuple(names), views=views)

    @cached_property
    def _in_table(self) -> tuple[int, ...]:
        """The position in the table of each column of the schema."""
        described_again = [position for positions in self.views.values() for position in positions]
        return (*range(len(self.columns) - len(described_again)), *described_again)

    @property
    def of_table(self) -> tuple[Column, ...]:
        """Names of the table's columns."""
        return self.columns[: len(self.columns) - sum(map(len, self.views.values()))]

    def in_table(self, positions: Sequence[int]) -> Sequence[int]:
        """Positions in the table of columns given by their positions in the schema."""
        return items_at(self._in_table, positions) if self.views else positions

    def names(self, positions: Sequence[int]) -> tuple[Column, ...]:
        """Names that columns have in the table."""
        return items_at(self.columns, self.in_table(positions))

    def require_one_description(self, what: str) -> None:
        """Refuse features that describe columns once more.

        Raises
        ------
        ValueError
        """
        for feature in self.views:
            raise ValueError(
                f"{what} needs a distribution of the rows, and the feature {feature!r} has columns that another "
                "feature has, which would count twice: learn weights of the features, "
                "nb.weight_features(model, X, y), or describe each column once"
            )

    @cached_property
    def _position_of(self) -> dict[Column, int]:
        return {name: position for position, name in enumerate(self.of_table)}

    @cached_property
    def _views_at(self) -> dict[Any, range]:
        """Positions of the features that describe columns once more, and of each of their columns by its name."""
        start = len(self.of_table)
        found = {self.columns[place]: range(place, place + 1) for place in range(start, len(self.columns))}
        for feature, positions in self.views.items():
            found[feature] = range(start, start + len(positions))
            start += len(positions)
        return found

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
        if name in self._views_at:
            return self._views_at[name]
        if isinstance(columns, slice):
            positions = range(len(self.of_table))[columns]
            if not positions:
                raise ValueError(f"block {name!r}: {columns} selects none of the {len(self.of_table)} columns")
            return _as_range(positions)
        return tuple(self._position(column) for column in ([name] if columns is None else columns))

    def positions_of(self, features: Mapping[Any, tuple[Any, Any]]) -> dict[Any, Sequence[int]]:
        """Positions of the columns of every feature.

        Raises
        ------
        ValueError
            If a column does not exist or is twice in a feature.
        """
        found = {name: self.positions(name, columns) for name, (_, columns) in features.items()}
        for name, positions in found.items():
            # A range, however wide, holds no column twice.
            own = self.views.get(name, positions)
            if not isinstance(own, range) and len({*own}) < len(own):
                twice = next(position for position in own if own.count(position) > 1)
                raise ValueError(f"column {self.columns[twice]!r} is twice in {name!r}: name it once")
        return found

    def _position(self, column: Column) -> int:
        if column in self._position_of:
            return self._position_of[column]
        if isinstance(column, int | np.integer) and 0 <= column < len(self.of_table):
            return int(column)
        raise ValueError(
            f"column {column!r} is not in X, whose columns are {listed(self.of_table)}: name one of these"
            f"{near_matches(column, self.of_table)}, or leave it out"
        )

    def locate(self, names: tuple[Column, ...], named: bool, used: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        """Positions in another table of the columns that a model reads.

        If both tables have names, columns are found by name, and other columns of the table are ignored. If one has
        none, columns are found by position, and both need equally many.

        Parameters
        ----------
        names : tuple
            The table's columns.
        named : bool
            Whether these are names, rather than positions.
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
        used = [self.in_table(columns) for columns in used]
        if not (self.named and named):
            if len(names) == len(self.of_table):
                return [_as_range(columns) for columns in used]
            raise ValueError(
                f"X has {len(names)} columns, the model was fitted to {len(self.of_table)}: give the same "
                "columns in the same order"
            )
        if names == self.of_table:
            return [_as_range(columns) for columns in used]
        there = {name: position for position, name in enumerate(names)}
        wanted = dict.fromkeys(self.columns[column] for columns in used for column in columns)
        missing = [name for name in wanted if name not in there]
        if missing:
            # A column that was renamed is among those that the fit did not have.
            others = [name for name in names if name not in self._position_of] or names
            subject = f"column {missing[0]!r} is" if len(missing) == 1 else f"columns {listed(missing)} are"
            raise ValueError(
                f"{subject} missing in X{near_matches(missing[0], others)}, which has {listed(others)}: rename or "
                "add columns"
            )
        return [_as_range([there[self.columns[column]] for column in columns]) for columns in used]

    @cached_property
    def counts_from_zero(self) -> dict[int, bool]:
        """For each categorical column, whether its categories are 0, 1, ..., so that each is its own code."""
        return {
            column: all(type(category) is int and category == code for code, category in enumerate(categories))
            for column, categories in self.categories.items()
        }
