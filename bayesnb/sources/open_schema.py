"""A schema whose classes and categories are not all known, and the classes and categories that rows add."""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import Model
from bayesnb.model.read import categorical_columns, read_classes
from bayesnb.sources.batch import NO_ROWS, Batch
from bayesnb.tables.array import ArrayTable
from bayesnb.tables.categories import shown_categories
from bayesnb.tables.labels import learn_classes
from bayesnb.tables.schema import Schema

__all__ = ["Found", "OpenSchema"]


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
        with batch.naming_errors():
            table = batch.table
            labels: tuple[np.ndarray, ...] = ()
            if self.classes is None and batch.has_rows():
                labels = (batch.labels.classes(),)
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

    def values(self, column: int, rows: slice) -> np.ndarray:
        distinct = list({*self.found.values.get(column, ()), *self.found.listed.get(column, ())})
        values = np.empty(len(distinct), dtype=object)
        values[:] = distinct
        return values

    def declared_categories(self, column: int) -> tuple | None:
        # If some batches list categories and others only have values, all are sorted, as if no batch listed any.
        return None if self.found.values.get(column) else self.found.listed.get(column)
