"""Columns, categories and labels of a table, and the codes of its cells and labels."""

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import jax
import narwhals as nw
import numpy as np

from bayesnb.core.checking import a_type, first_few, listed, near_matches, warn
from bayesnb.data.tables import (
    Column,
    Table,
    distinct,
    distinct_objects,
    distinct_with_positions,
    is_missing,
    items_at,
    shortened,
    unmask,
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
    """Warn of values that differ only in their type, such as 0 and "0", and are therefore different ones.

    Parameters
    ----------
    values : iterable
    where, what : str
        What holds them, and what they are: "column 'x'" and "categories".
    """
    values = list(values)
    if len({isinstance(value, str) for value in values}) < 2:
        return
    texts = {value for value in values if isinstance(value, str)}
    twins = [(value, text) for value in values if not isinstance(value, str) and (text := _as_text(value)) in texts]
    if twins:
        shown = first_few([f"{value!r} and {text!r}" for value, text in twins])
        warn(
            f"{where} holds {what} that differ only in their type ({shown}), and counts each as one of its own: give "
            "all rows the same type",
            UserWarning,
        )


def _as_text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def sort_categories(values: set) -> list:
    """The values, sorted; by type and text if they cannot be compared."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


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
    def _sources(self) -> tuple[int, ...]:
        """For each position after those of the table's columns, the position in the table."""
        return tuple(position for positions in self.views.values() for position in positions)

    @property
    def of_table(self) -> tuple[Column, ...]:
        """Names of the table's columns."""
        return self.columns[: len(self.columns) - len(self._sources)]

    def in_table(self, positions: Sequence[int]) -> Sequence[int]:
        """Positions in the table of columns given by their positions in the schema."""
        number = len(self.of_table)
        if not self.views or (isinstance(positions, range) and positions.stop <= number):
            return positions
        return tuple(position if position < number else self._sources[position - number] for position in positions)

    def names(self, positions: Sequence[int]) -> tuple[Column, ...]:
        """Names that columns have in the table."""
        return items_at(self.columns, self.in_table(positions))

    def require_one_description(self, what: str) -> None:
        """Refuse features that describe columns once more.

        Raises
        ------
        ValueError
        """
        for feature, positions in self.views.items():
            columns = first_few([*map(repr, items_at(self.columns, positions))])
            raise ValueError(
                f"{what} needs a distribution of the rows, and the feature {feature!r} describes {columns} once more, "
                "which would count twice: learn weights of the features, nb.weight_features(model, X, y), or describe "
                "each column once"
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


# --------------------------------------------------------------------------------------------------
# Labels of rows, and what rows show of classes and categories
# --------------------------------------------------------------------------------------------------


def as_labels(y: Any) -> np.ndarray:
    """Labels of any kind of sequence as a NumPy array that keeps their types."""
    native = nw.from_native(y, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):
        labels = native.to_numpy()
        # NumPy has no missing whole numbers, and floats do not hold all that are beyond 2**53.
        exact = labels.dtype.kind in "biuUS" or (labels.dtype.kind == "f" and not native.dtype.is_integer())
        return labels if exact else _label_array(native.to_list())
    if isinstance(y, np.ma.MaskedArray):
        return unmask(y)
    if isinstance(y, jax.Array):
        return np.asarray(y)
    return _label_array(y.tolist() if type(y).__module__.startswith("pyarrow") else y)


@dataclass(frozen=True)
class Labels:
    """The labels of rows, read once.

    Attributes
    ----------
    values : array, shape (rows,)
    missing : array of bool, shape (rows,)
    name : str
        What errors call the labels.
    """

    values: np.ndarray
    missing: np.ndarray
    name: str = "y"

    def classes(self, *, may_miss: bool = False) -> np.ndarray:
        """The distinct labels, sorted.

        Parameters
        ----------
        may_miss : bool, default False
            Leave out missing labels instead of an error.

        Raises
        ------
        ValueError
            If there is no label, one is missing and may not be, or all are.
        """
        labels = self.values
        self._require_labels(may_miss=may_miss)
        if self.missing.any():
            if self.missing.all():
                raise ValueError(
                    f"{self.name} has no label, so the classes are unknown: give their number or their labels, as in "
                    'classes=3 or classes=["a", "b"]'
                )
            labels = _label_array(labels[~self.missing])
        if labels.dtype.kind != "O":
            return distinct(labels)
        found = sort_categories(set(labels.tolist()))
        if self.name == "y":  # who lists classes means them
            warn_of_twins(found, self.name, "labels")
        return _label_array(found)

    def codes(self, classes: np.ndarray, *, may_miss: bool = False) -> np.ndarray:
        """Position of each label among the classes, shape (rows,).

        Parameters
        ----------
        classes : array, shape (classes,)
        may_miss : bool, default False
            Give missing labels the position -1 instead of an error.

        Raises
        ------
        ValueError
            If there is no label, one is missing and may not be, or one is not a class.
        """
        labels, missing = self.values, self.missing
        self._require_labels(may_miss=may_miss)
        if (position := _positions_by_number(labels, classes)) is not None:
            codes = position
            unknown = codes == -1
        elif labels.dtype.kind == classes.dtype.kind and classes.dtype.kind != "O":
            order = np.argsort(classes)
            codes = order[np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)]
            unknown = classes[codes] != labels
        else:
            lookup = {label: code for code, label in enumerate(classes.tolist())}
            codes = np.array([lookup.get(label, -1) for label in labels.tolist()], dtype=np.intp)
            unknown = codes == -1
        codes[missing] = -1
        unknown &= ~missing
        if unknown.any():
            row = int(np.flatnonzero(unknown)[0])
            plain = labels[row].item() if hasattr(labels[row], "item") else labels[row]
            raise ValueError(
                f"y holds the label {plain!r} (row {row}), which is not among the classes {classes.tolist()}: name "
                "every class at the first fit with classes=[...]"
            )
        return codes

    def _require_labels(self, *, may_miss: bool) -> None:
        if not len(self.values):
            raise ValueError("X has no rows: give at least one")
        if self.missing.any() and not may_miss:
            row = int(np.flatnonzero(self.missing)[0])
            raise ValueError(f"{self.name} is missing in row {row} ({self.values[row]}): drop the rows without a label")


def require_two_classes(classes: np.ndarray) -> None:
    """Refuse labels of one class.

    Raises
    ------
    ValueError
    """
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {classes.tolist()[0]!r}, so that there is nothing to predict: give rows of "
            "another class too"
        )


def warn_of_one_class(classes: np.ndarray) -> None:
    """Warn if the labels name one class only, because every prediction is then that class."""
    if len(classes) == 1:
        label = classes.tolist()[0]
        warn(
            f"y has one class only, {label!r}, so that every prediction is {label!r}: give rows of another class too, "
            f"or name all classes that may occur, classes=[{label!r}, ...] of nb.fit or of an estimator's partial_fit",
            UserWarning,
        )


def _positions_by_number(labels: np.ndarray, classes: np.ndarray) -> np.ndarray | None:
    """Position of each label among the classes, -1 for no class; None unless all are integers of a short range."""
    if not all(values.dtype.kind in "iu" and values.size for values in (labels, classes)):
        return None
    least, largest = int(classes.min()), int(classes.max())
    if largest - least > labels.size or abs(least) > 2**62 or labels.min() < least or labels.max() > largest:
        return None
    position = np.full(largest - least + 1, -1)
    position[classes.astype(np.int64) - least] = np.arange(len(classes))
    return position.take(labels.astype(np.int64, copy=False) - least)


def read_labels(y: Any, num_rows: int, name: str = "y") -> Labels:
    """The labels of the rows of a table.

    Parameters
    ----------
    y : labels, shape (rows,)
        Any kind of sequence.
    num_rows : int
        Number of rows of the table.
    name : str, default "y"
        What errors call the labels.

    Raises
    ------
    TypeError
        If `y` is a text, a number, a set, a mapping or a table, or a label is not hashable.
    ValueError
        If `y` does not have one label for each row.
    """
    if y is None:
        raise ValueError("y is None: give a label for each row")
    if isinstance(y, str | bytes):
        raise TypeError(f"{name} is the text {y!r}: give a value for each row, a list or an array")
    has_values = any(hasattr(y, method) for method in ("__iter__", "__getitem__", "__array__"))
    if isinstance(y, Set | Mapping) or not has_values:
        raise TypeError(
            f"{name} is {a_type(y)}, {shortened(y)}: give a value for each row, in the order of the rows, a "
            "list or an array"
        )
    if isinstance(table := nw.from_native(y, pass_through=True), nw.DataFrame | nw.LazyFrame):
        raise TypeError(f"{name} is a table with the columns {table.columns}: give one column, the labels")
    labels = as_labels(y)
    if labels.ndim != 1:
        raise ValueError(f"{name} has shape {labels.shape}: give one label for each row, shape ({num_rows},)")
    if len(labels) != num_rows:
        raise ValueError(f"{name} has {len(labels)} labels, X has {num_rows} rows: give one label for each row")
    if labels.dtype.kind == "f":
        missing = np.isnan(labels)
    elif labels.dtype.kind == "O":
        for row, label in enumerate(labels.tolist()):
            if not isinstance(label, Hashable):
                raise TypeError(
                    f"{name} holds {a_type(label)} ({shortened(label)} in row {row}), which cannot be a "
                    "label: give text, numbers, dates or tuples"
                )
        missing = np.array([is_missing(label) for label in labels.tolist()])
    else:
        missing = np.zeros(len(labels), dtype=bool)
    return Labels(labels, missing, name)


def _label_array(labels: Any) -> np.ndarray:
    """Labels as an array that keeps their types. NumPy alone turns the labels [1, "a"] into text."""
    if isinstance(labels, np.ndarray):
        array = labels
    else:
        labels = list(labels)
        kinds = {type(label) for label in labels}
        mixed = len(kinds) > 1 and any(issubclass(kind, str | bytes | tuple) for kind in kinds)
        try:
            array = _objects(labels) if mixed or kinds == {tuple} else np.asarray(labels)
        except ValueError:  # sequences of several lengths
            array = _objects(labels)
    if array.dtype.kind == "O" and array.ndim == 1:
        simple = [label for label in array.tolist() if not is_missing(label)]
        if (
            len(simple) == len(array)
            and len({type(label) for label in simple}) == 1
            and isinstance(simple[0], str | bool | int | np.datetime64 | np.timedelta64)
        ):
            return np.asarray(simple)
    return array


def _objects(values: Sequence) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


@dataclass(frozen=True)
class Found:
    """The labels and categories found in rows; the sum is what is found in both sets of rows.

    Attributes
    ----------
    labels : array or None
        The distinct labels; None where no labels were looked for.
    listed : dict
        For columns whose types list categories, by position: these categories, in their order.
    values : dict
        For columns whose types list no categories, by position: the distinct values.
    edges : dict
        For columns of numbers that are read as categories, by position: the numbers that divide these.
    """

    labels: np.ndarray | None = None
    listed: dict[int, tuple] = field(default_factory=dict)
    values: dict[int, frozenset] = field(default_factory=dict)
    edges: dict[int, tuple[float, ...]] = field(default_factory=dict)

    def __add__(self, other: "Found") -> "Found":
        listed = dict(self.listed)
        for position, categories in other.listed.items():
            listed[position] = tuple(dict.fromkeys((*listed.get(position, ()), *categories)))
        values = dict(self.values)
        for position, more in other.values.items():
            values[position] = values.get(position, frozenset()) | more
        labels = [labels for labels in (self.labels, other.labels) if labels is not None]
        # The first rows decide on the bins.
        edges = other.edges | self.edges
        return Found(_distinct(labels) if len(labels) > 1 else labels[0] if labels else None, listed, values, edges)

    def categories(self, position: int) -> tuple:
        """The categories of a column: in the order of its type, or sorted if some rows have a type that lists none."""
        listed, values = self.listed.get(position, ()), self.values.get(position)
        return tuple(sort_categories({*values, *listed})) if values else listed


def _distinct(labels: Sequence[np.ndarray]) -> np.ndarray:
    """The distinct labels of several arrays, sorted."""
    kinds = {part.dtype.kind for part in labels}
    # NumPy would turn numbers beside text into text, so labels of different types are put together as a list.
    as_array = len(kinds) == 1 and kinds != {"O"}
    together = np.concatenate(labels) if as_array else [label for part in labels for label in part.tolist()]
    return read_labels(together, len(together)).classes()
