"""What a fit learns of a table whose rows are elsewhere: its labels and categories, and its sufficient statistics."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bayesnb.core.cells import warn_unseen
from bayesnb.data.dask_table import DaskTable
from bayesnb.data.elsewhere import TableElsewhere
from bayesnb.data.labels import Found
from bayesnb.data.lazy_table import LazyTable
from bayesnb.data.read import Rows, as_table, read_rows
from bayesnb.model.blocks import ModelStatistics
from bayesnb.model.bound import BoundModel
from bayesnb.model.lazy_statistics import count_lazy, find_in_lazy
from bayesnb.model.open_schema import OpenSchema
from bayesnb.model.problem import Problem, with_new_categories
from bayesnb.model.reading import Counted


def find_elsewhere(schema: OpenSchema, table: TableElsewhere) -> Found:
    """As `OpenSchema.find`; numbers of which bins are made are those of a sample of a lazy table."""
    if schema.complete:
        return Found()
    if isinstance(table, LazyTable):
        return find_in_lazy(schema, table)
    return table.fold(partial(_find_in_partition, schema), schema.open_names)


def _find_in_partition(schema: OpenSchema, partition: int, parts: tuple[Any, ...]) -> Found:
    return schema.find(read_rows(*parts).counting())


def count_elsewhere(model: BoundModel, table: TableElsewhere) -> Counted:
    """As `Chunks.count`, of rows that are added to a fit.

    Raises
    ------
    TypeError, ValueError
        As for `fit`, naming the partition of a Dask collection, and the column of a lazy table; or if there is no row.
    """
    if isinstance(table, LazyTable):
        return count_lazy(model, table)
    counted = table.fold(partial(_count_partition, model), _used_names(model, table))
    if counted is None:
        raise ValueError("X has no rows: give at least one")
    return counted


def _used_names(model: BoundModel, table: DaskTable) -> Sequence[Any]:
    own = as_table(table.without_rows())
    return OpenSchema.of(model, own.names, own.named, None).used_names


def _count_partition(model: BoundModel, partition: int, parts: tuple[Any, ...]) -> Counted | None:
    if not len(rows := read_rows(*parts).counting()):
        return None
    rows = rows.of_classes(model.schema.classes)
    return model.read(rows.table).count(rows.codes, rows.weights, adds=True)


def count_more_elsewhere(problem: Problem, table: TableElsewhere) -> tuple[Problem, ModelStatistics]:
    """As `count_more`."""
    counted = count_elsewhere(problem.model, table)
    grown = with_new_categories(problem, as_table(table.without_rows()), counted.unseen)
    if grown is not problem:
        counted = count_elsewhere(grown.model, table)
    warn_unseen(counted.unseen)
    return replace(grown, weighted=grown.weighted or counted.weighted), counted.statistics


def count_each_class(model: BoundModel, rows: Rows | TableElsewhere) -> list[Counted]:
    """Counts of the rows of each class that occurs, one after another; of rows without labels, in the first class."""
    if isinstance(rows, Rows):
        found = _count_classes(model, rows)
    elif isinstance(rows, DaskTable):
        found = rows.fold(partial(_count_classes_of_partition, model), _used_names(model, rows))
    else:
        shown = rows.classes.tolist() if rows.target is not None else model.schema.classes[:1].tolist()
        found = [count_lazy(model, rows.of_class(label)) for label in shown]
    return [counted for counted in found if counted is not None]


def _count_classes_of_partition(model: BoundModel, partition: int, parts: tuple[Any, ...]) -> list[Counted | None]:
    return _count_classes(model, read_rows(*parts))


def _count_classes(model: BoundModel, rows: Rows) -> list[Counted | None]:
    """By class, the counts of its rows; None where there are none."""
    classes = model.schema.classes
    codes = np.zeros(len(rows), np.intp) if rows.labels is None else rows.of_classes(classes).codes

    def count(of_class: int) -> Counted:
        own = rows.take(np.flatnonzero(codes == of_class))
        return model.read(own.alone().table).count(np.full(len(own), of_class), adds=True)

    shown = {*np.unique(codes).tolist()}
    return [count(c) if c in shown else None for c, _ in enumerate(classes)]
