"""Labels of rows, and what rows show of classes and categories."""

from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from operator import add, or_
from typing import Any

import narwhals as nw
import numpy as np

from bayesnb.core.arrays import weighted_values
from bayesnb.core.cells import is_missing, shortened, unmask
from bayesnb.core.checking import a_type, is_jax, listed, require_readable, sort_categories, warn, whole_number
from bayesnb.core.device_arrays import DeviceArray
from bayesnb.data.schema import warn_of_twins
from bayesnb.data.tables import as_categories, distinct


def as_labels(y: Any) -> np.ndarray:
    """Labels of any kind of sequence as a NumPy array that keeps their types.

    Parameters
    ----------
    y : sequence, array, or series of pandas, polars or pyarrow, shape (rows,)

    Returns
    -------
    array, shape (rows,)

    See Also
    --------
    as_table : Any kind of table.
    fit : Fit a table in memory.

    Examples
    --------
    >>> import bayesnb as nb
    >>> nb.results.as_labels([1, "a"])
    array([1, 'a'], dtype=object)
    """
    native = nw.from_native(y, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):
        if (text := as_categories(native)) is not None and text.codes.min() >= 0:
            return _label_array(text.categories.tolist())[text.codes]
        labels = native.to_numpy()
        # NumPy has no missing whole numbers, and floats do not hold all that are beyond 2**53.
        exact = labels.dtype.kind in "biuUS" or (labels.dtype.kind == "f" and not native.dtype.is_integer())
        return labels if exact else _label_array(native.to_list())
    if isinstance(y, np.ma.MaskedArray):
        return unmask(y)
    if is_jax(y):
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
        Name in errors.
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
        return _label_array(sort_categories(set(labels.tolist())))

    def codes(self, classes: np.ndarray, *, may_miss: bool = False) -> Any:
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
        if isinstance(labels, DeviceArray):
            if (there := labels.positions(classes)) is not None:
                return there
            labels = labels.copied
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
    """Raise ValueError for labels of a single class."""
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {classes.tolist()[0]!r}, so that there is nothing to predict: give rows of "
            "another class too"
        )


def warn_of_classes(classes: np.ndarray) -> None:
    """Warn of labels that look alike, and of one class only, because every prediction is then that class."""
    warn_of_twins(classes.tolist(), "y", "labels")
    if len(classes) == 1:
        label = classes.tolist()[0]
        warn(
            f"y has one class only, {label!r}, so that every prediction is {label!r}: give rows of another class too, "
            f"or name all classes that may occur, classes=[{label!r}, ...] of nb.fit or of an estimator's partial_fit",
            UserWarning,
        )


def warn_of_absent_classes(classes: np.ndarray, shown: np.ndarray) -> None:
    """Warn if weights of features learn from rows that show some of the classes only."""
    absent = np.setdiff1d(classes, shown).tolist()
    if absent:
        warn(
            f"the rows have no label {listed(absent)}, and weights of features learn from these rows alone, as if "
            "other rows had none either: give rows of every class together, in random order; or let "
            "NaiveBayesClassifier.partial_fit, from the first batch on, keep rows to learn from (keep_rows=2000)",
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
        Name in errors.

    Raises
    ------
    TypeError
        If `y` is a text, a number, a set, a mapping or a table, or a label is not hashable.
    ValueError
        If `y` does not have one label for each row.
    """
    if y is None:
        raise ValueError("y is None: give a label for each row")
    require_readable(name, y)
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
    labels: Any = y if isinstance(y, DeviceArray) else as_labels(y)
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
    return np.fromiter(values, dtype=object, count=len(values))


MOST_NUMBERS = 2**16
"""Distinct numbers of a column in pieces that are kept exactly: a mebibyte with their weights."""


@dataclass(frozen=True)
class Numbers:
    """The distinct finite numbers of a column, sorted, with the weight of their rows, shape (values,).

    The sum is that of both sets of rows, thinned to `MOST_NUMBERS`.
    """

    values: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, cells: np.ndarray, weights: np.ndarray) -> "Numbers":
        """The numbers of some rows, shape (rows,), without those of weight zero."""
        shown = np.isfinite(cells) & (weights > 0)
        values, number = weighted_values(cells[shown], weights[shown])
        return cls(values, number.astype(np.float64))

    def __add__(self, other: "Numbers") -> "Numbers":
        at = np.searchsorted(self.values, other.values)
        known, weights = np.append(self.values, np.nan)[at] == other.values, self.weights.copy()
        weights[at[known]] += other.weights[known]
        values = np.insert(self.values, at[~known], other.values[~known])
        weights = np.insert(weights, at[~known], other.weights[~known])
        while len(values) > MOST_NUMBERS:
            # Of two neighbours of little weight one stays, with the weight of both: the upper one and the lower one in
            # turn, so that the weight moves neither up nor down.
            light = np.flatnonzero(weights[1:-1] <= 2 * weights.sum() / MOST_NUMBERS) + 1
            pairs = light[: len(light) // 2 * 2].reshape(-1, 2)
            pairs[::2] = pairs[::2, ::-1]
            weights[pairs[:, 0]] += weights[pairs[:, 1]]
            values, weights = np.delete(values, pairs[:, 1]), np.delete(weights, pairs[:, 1])
        return Numbers(values, weights)


@dataclass(frozen=True)
class Found:
    """The labels, categories and numbers found in rows; the sum is what is found in both sets of rows.

    Attributes
    ----------
    labels : array or None
        The distinct labels; None where no labels were looked for.
    listed : dict
        For columns whose types list categories, by position: these categories, in their order.
    values : dict
        For columns whose types list no categories, by position: the distinct values.
    numbers : dict
        For columns of numbers from which bins are made, by position: the `Numbers`.
    """

    labels: np.ndarray | None = None
    listed: dict[int, tuple] = field(default_factory=dict)
    values: dict[int, frozenset] = field(default_factory=dict)
    numbers: dict[int, Numbers] = field(default_factory=dict)

    def __add__(self, other: "Found") -> "Found":
        listed = _by_position(lambda mine, more: tuple(dict.fromkeys(mine + more)), self.listed, other.listed)
        values = _by_position(or_, self.values, other.values)
        numbers = _by_position(add, self.numbers, other.numbers)
        labels = [labels for labels in (self.labels, other.labels) if labels is not None]
        return Found(_all_labels(labels) if len(labels) > 1 else labels[0] if labels else None, listed, values, numbers)

    def categories(self, position: int) -> tuple:
        """The categories of a column: in the order of its type, or sorted if some rows have a type that lists none."""
        listed, values = self.listed.get(position, ()), self.values.get(position, frozenset())
        if position in self.numbers:
            values = values.union(self.numbers[position].values.tolist())
        return tuple(sort_categories({*values, *listed})) if values else listed


def _by_position[T](together: Callable[[T, T], T], one: dict[int, T], other: dict[int, T]) -> dict[int, T]:
    """The findings of two sets of rows, merged for each column."""
    return one | {p: together(one[p], seen) if p in one else seen for p, seen in other.items()}


def _all_labels(labels: Sequence[np.ndarray]) -> np.ndarray:
    """The distinct labels of several arrays, sorted."""
    kinds = {part.dtype.kind for part in labels}
    # NumPy would turn numbers beside text into text, so labels of different types are put together as a list.
    as_array = len(kinds) == 1 and kinds != {"O"}
    together = np.concatenate(labels) if as_array else [label for part in labels for label in part.tolist()]
    return read_labels(together, len(together)).classes()


def read_classes(classes: Any) -> np.ndarray:
    """Labels in the order given; a number of classes means the labels 0, 1, 2 and so on."""
    if isinstance(classes, int | np.integer):
        return np.arange(whole_number("classes", classes))
    given = list(classes)
    if not given:
        raise ValueError("classes is empty: give at least one label")
    labels = read_labels(classes, len(given), "classes").classes()
    if len(labels) != len(given):
        raise ValueError(f"classes {given} names a class twice")
    given = as_labels(classes).tolist()
    order = {label: position for position, label in enumerate(given)}
    return labels[np.argsort([order[label] for label in labels.tolist()], kind="stable")]
