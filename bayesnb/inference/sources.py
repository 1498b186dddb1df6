"""Data in memory, read into a problem."""

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from bayesnb.core.running import progress_bar
from bayesnb.data.labels import learn_classes
from bayesnb.data.read import GivenRows
from bayesnb.data.schema import Schema, shown_categories, warn_unseen
from bayesnb.data.tables import ArrayTable
from bayesnb.model.bound import BoundModel
from bayesnb.model.describe import categorical_columns, read_classes
from bayesnb.model.naive_bayes import Model, NaiveBayes, of_table, read_for
from bayesnb.model.problem import Problem, count_and_grow, count_rows
from bayesnb.model.reading import Counted, Unseen, add_unseen

__all__ = [
    "NO_ROWS",
    "Batch",
    "Found",
    "OpenSchema",
    "count",
    "count_batches",
    "empty_problem",
    "naming_errors",
    "problem_of",
    "read_table",
    "with_progress",
]

# --------------------------------------------------------------------------------------------------
# Some rows of a larger table, with their name in errors
# --------------------------------------------------------------------------------------------------

NO_ROWS = "X has no rows: give at least one"


@dataclass(frozen=True)
class Batch:
    """Some rows of a table.

    Attributes
    ----------
    where : str
        What errors call these rows, such as "batch 3".
    rows : GivenRows
    """

    where: str
    rows: GivenRows

    def __len__(self) -> int:
        return len(self.rows.weights)


@contextmanager
def naming_errors(where: str) -> Iterator[None]:
    """Put the name of some rows in front of the message of a TypeError or ValueError."""
    try:
        yield
    except (TypeError, ValueError) as error:
        # Subclasses (UnicodeDecodeError, say) are made from other arguments than a message.
        if type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(f"{where}: {error}") from error


def with_progress(asked: bool | None, what: str, batches: Iterable[Batch], total: int | None) -> Iterator[Batch]:
    """The batches, with a progress bar that counts their rows.

    Parameters
    ----------
    asked : bool or None
        Whether to show the bar; see `progress_bar`.
    what : str
        Text before the bar.
    batches : iterable of Batch
    total : int or None
        Number of rows of all batches, None if unknown.
    """
    with progress_bar(what, "row", asked, total=total, unit_scale=True, leave=True) as bar:
        for batch in batches:
            yield batch
            bar.update(len(batch))


# --------------------------------------------------------------------------------------------------
# A schema whose classes and categories are not all known, and the classes and categories that rows add
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """The labels and categories found in rows; the sum is what is found in both sets of rows.

    Attributes
    ----------
    labels : tuple of array
        Distinct labels, an array for each batch that was read.
    listed : dict
        For columns whose types list categories, by position: these categories, in their order.
    values : dict
        For columns whose types list no categories, by position: the distinct values.
    """

    labels: tuple[np.ndarray, ...]
    listed: dict[int, tuple]
    values: dict[int, frozenset]

    @classmethod
    def nothing(cls) -> "Found":
        """Nothing found: the start of a sum."""
        return cls((), {}, {})

    def __add__(self, other: "Found") -> "Found":
        listed = dict(self.listed)
        for position, categories in other.listed.items():
            listed[position] = tuple(dict.fromkeys((*listed.get(position, ()), *categories)))
        values = dict(self.values)
        for position, more in other.values.items():
            values[position] = values.get(position, frozenset()) | more
        labels = (*self.labels, *other.labels)
        return Found((_distinct(labels),) if labels else (), listed, values)


def _distinct(labels: Sequence[np.ndarray]) -> np.ndarray:
    """The distinct labels of several arrays, sorted."""
    kinds = {part.dtype.kind for part in labels}
    # NumPy would turn numbers beside text into text, so labels of different types are put together as a list.
    as_array = len(kinds) == 1 and kinds != {"O"}
    together = np.concatenate(labels) if as_array else [label for part in labels for label in part.tolist()]
    return learn_classes(together, len(together))


@dataclass(frozen=True)
class OpenSchema:
    """A model and the columns of a table; some classes and categories may not be known yet.

    Attributes
    ----------
    model : NaiveBayes or BoundModel
    names : tuple
        The table's columns.
    named : bool
        Whether model and table both name columns, rather than count them.
    classes : array or None
        None if they have to be found among the labels.
    open_columns : tuple of int
        Positions of the columns whose categories have to be found.
    """

    model: Model
    names: tuple[Any, ...]
    named: bool
    classes: np.ndarray | None
    open_columns: tuple[int, ...]

    @classmethod
    def of(cls, model: Model, names: tuple[Any, ...], named: bool, classes: Any) -> "OpenSchema":
        """The schema as far as it is known before the rows are read; complete if the model is bound.

        Parameters
        ----------
        model : NaiveBayes or BoundModel
        names : tuple
            The table's columns.
        named : bool
            Whether these are names, rather than positions.
        classes : sequence, int or None
            As for `fit`.
        """
        if isinstance(model, BoundModel):
            model = model if classes is None else model.with_classes(classes)
            return cls(model, names, named and model.schema.named, model.schema.classes, ())
        columns = categorical_columns(model.features, Schema(names, named, np.empty(0)))
        open_columns = tuple(position for position, _, listed in columns if listed is None)
        return cls(model, names, named, None if classes is None else read_classes(classes), open_columns)

    @property
    def growing(self) -> bool:
        """Whether rows may bring more categories; not if the model is already bound."""
        return not self.model.bound

    @property
    def complete(self) -> bool:
        """Whether all classes and categories are known."""
        return self.classes is not None and not self.open_columns

    @property
    def open_names(self) -> list[Any]:
        """Names of the columns whose categories have to be found."""
        return [self.names[position] for position in self.open_columns]

    @property
    def used_names(self) -> list[Any]:
        """Names of the columns that the model reads; of all columns, if the model counts them.

        Raises
        ------
        ValueError
            If the model is bound and a column of it is missing.
        """
        if not self.named:
            return list(self.names)
        if isinstance(self.model, BoundModel):
            table = ArrayTable(np.empty((0, len(self.names))), self.names, 0, named=True)
            places = self.model.schema.locate(table, self.model.layout)
            return [self.names[place] for block in places for place in block]
        features = self.model.features.items()
        positions = {p for name, (_, columns) in features for p in self._columns.positions(name, columns)}
        return [self.names[position] for position in sorted(positions)]

    @property
    def _columns(self) -> Schema:
        """The columns as a schema, which locates them in tables."""
        return Schema(self.names, self.named, np.empty(0))

    def require_one_pass(self) -> None:
        """Raise an error if one pass over the rows is not enough.

        Raises
        ------
        ValueError
            If the classes are not known, or a column with ``other=True`` does not list its categories.
        """
        again = "or a callable that returns a fresh iterator, which is then read twice"
        if self.classes is None:
            raise ValueError(
                "batches is an iterator, which can be read only once, and its classes are unknown: give "
                f"classes=[...], {again}"
            )
        for _, family, listed in categorical_columns(self.model.features, self._columns):
            if family.other and listed is None:
                raise ValueError(
                    "batches is an iterator, which can be read only once, and Categorical(other=True) needs "
                    f"the categories that are counted separately: give Categorical(categories=...), {again}"
                )

    def find(self, batch: Batch) -> Found:
        """The labels and categories of a batch, as far as they are not known."""
        with naming_errors(batch.where):
            table = batch.rows.table
            labels: tuple[np.ndarray, ...] = ()
            if self.classes is None and len(batch):
                labels = (batch.rows.classes(),)
            (places,) = self._columns.locate(table, [self.open_columns])
            listed, values = {}, {}
            for position, place in zip(self.open_columns, places, strict=True):
                categories = table.declared_categories(place)
                if categories is not None:
                    listed[position] = categories
                else:
                    values[position] = frozenset(shown_categories(table, place))
            return Found(labels, listed, values)

    def find_all(self, batches: Iterable[Batch]) -> Found:
        """The labels and categories of several batches, as far as they are not known."""
        return reduce(operator.add, map(self.find, batches), Found.nothing())

    def bind(self, found: Found) -> BoundModel:
        """The model bound to the columns, with the classes and categories that were found.

        Raises
        ------
        ValueError
            If the classes are not known and no label was found.
        """
        if isinstance(self.model, BoundModel):
            return self.model
        if self.classes is None and not found.labels:
            raise ValueError(NO_ROWS)
        classes = _distinct(found.labels) if self.classes is None else self.classes
        table = _CategoriesTable(np.empty((0, len(self.names))), self.names, 0, self.named, found=found)
        return self.model.bind(table, classes=classes)


@dataclass(frozen=True, kw_only=True)
class _CategoriesTable(ArrayTable):
    """A table without rows whose columns have the categories found in other tables."""

    found: Found

    def stored_values(self, column: int, rows: slice) -> np.ndarray:
        distinct = list({*self.found.values.get(column, ()), *self.found.listed.get(column, ())})
        values = np.empty(len(distinct), dtype=object)
        values[:] = distinct
        return values

    def declared_categories(self, column: int) -> tuple | None:
        # If some batches list categories and others only have values, all are sorted, as if no batch listed any.
        return None if self.found.values.get(column) else self.found.listed.get(column)


# --------------------------------------------------------------------------------------------------
# Statistics of a table that is read in batches
# --------------------------------------------------------------------------------------------------


def count(model: BoundModel, batch: Batch) -> Counted | None:
    """Statistics of a batch under a bound model; None if it has no rows."""
    if not len(batch):
        return None
    with naming_errors(batch.where):
        rows = batch.rows.of_classes(model.schema.classes)
        return model.read(rows.table).count(rows.codes, rows.weights)


def empty_problem(model: BoundModel, *, growing: bool) -> Problem:
    """The problem of a bound model without rows, with which an inference checks early whether it can solve it."""
    num_classes = len(model.schema.classes)
    nothing = tuple(np.empty((0, len(block.columns))) for block in model.blocks)
    return Problem(model, model.count(nothing, np.empty((0, num_classes))), growing=growing)


def count_batches(
    model: BoundModel, batches: Iterable[Batch], check: Callable[[Problem], None], *, growing: bool
) -> Problem:
    """The problem of all batches, read one after another.

    Parameters
    ----------
    model : BoundModel
    batches : iterable of Batch
    check : callable
        Gets the problem before any row is read, and may raise an error.
    growing : bool
        Whether rows may bring more categories.

    Raises
    ------
    ValueError, TypeError
        As for `fit`, naming the batch; or if there is no row.
    """
    problem = empty_problem(model, growing=growing)
    check(problem)
    unseen: Unseen = {}
    empty = True
    for batch in batches:
        if not len(batch):
            continue
        with naming_errors(batch.where):
            problem, counted = count_and_grow(problem, batch.rows.of_classes(model.schema.classes))
        empty = False
        problem = problem.add(counted.statistics)
        unseen = add_unseen(unseen, counted.unseen)
    if empty:
        raise ValueError("there are no rows (or none in the second reading): give at least one")
    warn_unseen(unseen)
    return problem


# --------------------------------------------------------------------------------------------------
# A table in memory or on a device, read at once
# --------------------------------------------------------------------------------------------------


def read_table(
    model: Model, X: Any, y: Any, sample_weight: Any = None, classes: Any = None, feature_names: Any = None
) -> Problem:
    """The problem of a table; rows without a label are kept as they are.

    Parameters
    ----------
    model : NaiveBayes or BoundModel
    X : table, shape (rows, columns)
    y : labels of shape (rows,), str or None
    sample_weight : array, shape (rows,), optional
    classes : sequence or int, optional
    feature_names : sequence, shape (columns,), optional
        As for `fit`.

    Raises
    ------
    ValueError, TypeError
        If the data do not fit the model, naming column, row and value; or if there are neither labels nor classes.
    """
    return problem_of(model, read_for(model, X, y, sample_weight, feature_names), classes)


def problem_of(model: Model, given: GivenRows, classes: Any = None) -> Problem:
    """The problem of rows that `read_for` has read; parameters and errors as for `read_table`."""
    if classes is None and isinstance(model, NaiveBayes):
        if given.labels is None:
            raise ValueError(
                "y is None: give a label for each row; or, for a mixture, the number of its classes or their names, as "
                "in classes=3"
            )
        classes = given.classes(may_miss=True)
    bound = of_table(model, given.table, classes=classes, weights=given.weights)
    statistics, unlabelled = count_rows(bound, given.of_classes(bound.schema.classes, may_miss=True))
    return Problem(bound, statistics, unlabelled=unlabelled, growing=not model.bound)
