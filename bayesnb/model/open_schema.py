"""What rows show of classes, categories and numbers, rows at once or batch by batch, and the model bound to it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from bayesnb.core.running import results_in_order
from bayesnb.data.labels import Found, Numbers, read_classes
from bayesnb.data.read import Rows
from bayesnb.data.schema import Schema, shown_categories, with_other
from bayesnb.families.bins import names_of_bins, quantile_edges
from bayesnb.families.family import Family
from bayesnb.families.hyperparameters import keeps_others
from bayesnb.model.blocks import categorical_columns
from bayesnb.model.bound import BoundModel


@dataclass(frozen=True)
class OpenSchema:
    """A model and the columns of a table; some classes and categories may not be known yet.

    Attributes
    ----------
    model : NaiveBayes or BoundModel
    columns : Schema
        The table's columns; named where model and table both name them.
    classes : array, or None if they have to be found among the labels
    open_columns : tuple of int
        Positions of the columns whose categories have to be found.
    seen_columns : tuple of int
        Positions of the columns from whose numbers families take constants.
    """

    model: Any
    columns: Schema
    classes: np.ndarray | None
    open_columns: tuple[int, ...] = ()
    seen_columns: tuple[int, ...] = ()

    @classmethod
    def of(cls, model: Any, names: tuple[Any, ...], named: bool, classes: Any) -> "OpenSchema":
        """The schema as far as it is known before the rows are read; complete if the model is bound.

        Parameters
        ----------
        model : NaiveBayes or BoundModel
        names : tuple
            The table's columns.
        named : bool
            Whether these are names, rather than positions.
        classes : as for `fit`
        """
        if isinstance(model, BoundModel):
            model = model if classes is None else model.with_classes(classes)
            columns = Schema(names, named and model.schema.named, np.empty(0))
            return cls(model, columns, model.schema.classes)
        if not names:
            raise ValueError("X has no columns: give at least one")
        columns = Schema.of(names, named, model.features)
        found = categorical_columns(model.features, columns)
        open_columns = tuple(position for position, _, listed in found if listed is None)
        seen = tuple(dict.fromkeys(chain(*_to_be_seen(model, columns).values())))
        return cls(model, columns, None if classes is None else read_classes(classes), open_columns, seen)

    @property
    def growing(self) -> bool:
        """Whether rows may bring more categories; not if the model is already bound."""
        return not isinstance(self.model, BoundModel)

    @property
    def complete(self) -> bool:
        """Whether all classes, categories and bins are known."""
        return self.classes is not None and not self.open_columns and not self.seen_columns

    @property
    def open_names(self) -> list[Any]:
        """Names of the columns whose categories or numbers have to be found."""
        return list(dict.fromkeys(self.columns.names((*self.open_columns, *self.seen_columns))))

    @property
    def used_names(self) -> list[Any]:
        """Names of the columns that the model reads; of all columns, if the model counts them.

        Raises
        ------
        ValueError
            If the model is bound and a column of it is missing.
        """
        names = self.columns.source_columns
        if not self.columns.named:
            return list(names)
        if isinstance(self.model, BoundModel):
            places = self.model.schema.locate(names, True, self.model.layout)
            return list(dict.fromkeys(names[places[position]] for position in chain(*self.model.layout)))
        used = chain(*self.columns.positions_of(self.model.features).values())
        return [names[source] for source in sorted({self.columns.sources[position] for position in used})]

    def find(self, rows: Rows, *, whole: bool = False) -> Found:
        """The labels, categories and numbers of some rows, as far as they are not known.

        Parameters
        ----------
        rows : Rows
        whole : bool, default False
            Whether these are all rows, in memory. Some may then have no label, and `bind` sees their numbers, column by
            column.
        """
        if isinstance(self.model, BoundModel):
            return Found()
        labels = rows.distinct_labels(may_miss=whole) if self.classes is None and len(rows) else None
        to_see = dict.fromkeys(() if whole else self.seen_columns)
        table = self.columns.arrange(rows.table, [self.open_columns, [*to_see]], self.model.number_forms)
        rows, listed, values = replace(rows, table=table), {}, {}
        for position in self.open_columns:
            categories = table.declared_categories(position)
            if categories is not None:
                listed[position] = categories
            elif position in self.in_bins and table.kind(position) == "number":
                to_see[position] = None
            else:
                values[position] = frozenset(shown_categories(table, position))
        numbers = {position: _numbers_of_column(rows, position) for position in to_see}
        return Found(labels, listed, values, numbers)

    @cached_property
    def in_bins(self) -> dict[int, int]:
        """Number of bins of the columns that their family reads in bins, if they hold numbers, by position."""
        found = categorical_columns(self.model.features, self.columns)
        cells = range(self.columns.first_reading)
        columns = [(p, self.columns.sources[p], family) for p, family, _ in found if p in cells]
        # Numbers that another feature takes as categories are categories in all features; a reading is no cell.
        as_they_are = {source for _, source, family in columns if "numbers in bins" not in family.takes}
        return {p: family.settings()["num_bins"] for p, source, family in columns if source not in as_they_are}

    def bind(self, found: Found, rows: Rows | None = None) -> BoundModel:
        """The model bound to the columns, with the classes and categories that were found, and all rows if in memory.

        Raises
        ------
        ValueError
            If the classes are not known and no label was found; or a column has no category.
        """
        if isinstance(self.model, BoundModel):
            return self.model
        classes = found.labels if self.classes is None else self.classes
        if classes is None:
            raise ValueError("X has no rows: give at least one")
        schema = replace(self.columns, classes=classes)
        edges = {}
        for p in found.numbers.keys() & self.in_bins.keys() - found.listed.keys():
            if not found.values.get(p):
                x = found.numbers[p]
                edges[p] = quantile_edges(x.values, x.weights, self.in_bins[p])[1:-1]
        categories = {position: names_of_bins(own) for position, own in edges.items()}
        for position, family, listed in categorical_columns(self.model.features, schema):
            if position not in categories:
                values = found.categories(position) if listed is None else listed
                categories[position] = with_other(schema.columns[position], values, keeps_others(family))
        description = _with_constants(self.model, schema, rows, found.numbers)
        return BoundModel.of(description, replace(schema, categories=categories, edges=edges))


def bound_to(model: Any, rows: Rows, classes: Any = None) -> BoundModel:
    """The model that a fit to rows conditions: a description is bound to them, and a bound model stays bound.

    Parameters
    ----------
    model : NaiveBayes or BoundModel
    rows : Rows
    classes : sequence or int, optional
        Labels that may occur.
    """
    schema = OpenSchema.of(model, rows.table.names, rows.table.named, classes)
    return schema.bind(schema.find(rows, whole=True), rows)


def _to_be_seen(description: Any, schema: Schema) -> dict[Any, list[int]]:
    """By feature, the positions of the columns whose cells its family must see."""
    wanted = {}
    for name, (family, columns) in description.features.items():
        # Most families see none. To ask one about each of 50,000 words takes 3 ms.
        if type(family).must_see is not Family.must_see:
            positions = schema.positions(name, columns)
            named = zip(positions, schema.names(positions), strict=True)
            wanted[name] = [position for position, column in named if family.must_see(column)]
    return {name: positions for name, positions in wanted.items() if positions}


def _numbers_of_column(rows: Rows, position: int) -> Numbers:
    return Numbers.of(rows.table.number_column(position, slice(None)), rows.weights)


def _with_constants(description: Any, schema: Schema, rows: Rows | None, numbers: Mapping[int, Numbers]) -> Any:
    """The description with the constants that families take from all rows, or from `Numbers` of rows in pieces."""
    if not (wanted := _to_be_seen(description, schema)):
        return description
    if rows is not None:
        rows = replace(rows, table=schema.arrange(rows.table, list(wanted.values()), description.number_forms))

    def having_seen(name: Any) -> tuple[Family, Any]:
        family, columns = description.features[name]
        for position, column in zip(wanted[name], schema.names(wanted[name]), strict=True):
            seen = numbers[position] if rows is None else _numbers_of_column(rows, position)
            family = family.having_seen({column: seen.values}, seen.weights)
        return family, columns

    found = zip(wanted, results_in_order(having_seen, list(wanted)), strict=True)
    return replace(description, features={**description.features, **dict(found)})
