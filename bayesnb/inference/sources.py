"""Tables in pieces, and tables whose rows are elsewhere, read into a problem."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from bayesnb.core.cells import warn_unseen
from bayesnb.core.checking import a_type, naming_errors
from bayesnb.data.dask_table import DaskTable
from bayesnb.data.elsewhere import TableElsewhere, is_long_on_device, table_elsewhere
from bayesnb.data.labels import Found
from bayesnb.data.lazy_table import LazyTable
from bayesnb.data.read import Rows
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import Model, read_for
from bayesnb.model.open_schema import OpenSchema
from bayesnb.model.problem import Problem, count_and_grow
from bayesnb.model.reading import Unseen, add_unseen
from bayesnb.model.statistics_elsewhere import count_elsewhere, find_elsewhere

# --------------------------------------------------------------------------------------------------
# A table that is read in pieces
# --------------------------------------------------------------------------------------------------


type Batch = tuple[str, Rows]
"""The name of some rows in errors, such as "batch 3", and the rows."""


def empty_problem(model: BoundModel, *, growing: bool) -> Problem:
    """The problem of a bound model without rows, with which an inference checks early whether it can solve it."""
    num_classes = len(model.schema.classes)
    nothing = tuple(np.empty((0, len(block.columns))) for block in model.blocks)
    return Problem(model, model.count(nothing, np.empty((0, num_classes))), growing=growing)


def count_batches(
    schema: OpenSchema, found: Found, batches: Iterable[Batch], check: Callable[[Problem], None]
) -> Problem:
    """The problem of all batches, read one after another; errors as for `fit`, naming the batch, or if there is no row.

    No batch is without rows. `found` is what the schema does not know. `check` gets the problem before any row is read,
    and may raise an error.
    """
    problem = empty_problem(schema.bind(found), growing=schema.growing)
    check(problem)
    unseen: Unseen = {}
    where = ""
    for where, rows in batches:
        with naming_errors(where):
            problem, counted = count_and_grow(problem, rows.of_classes(problem.model.schema.classes))
        problem = problem.add(counted.statistics)
        unseen = add_unseen(unseen, counted.unseen)
    if not where:
        raise ValueError("there are no rows (or none in the second reading): give at least one")
    warn_unseen(unseen)
    return problem


# --------------------------------------------------------------------------------------------------
# Tables whose rows stay where they are
# --------------------------------------------------------------------------------------------------


def read_elsewhere(
    model: Model,
    X: Any,
    y: Any,
    sample_weight: Any,
    classes: Any,
    check: Callable[[Problem], None],
    feature_names: Any = None,
) -> Problem:
    """The problem of a table whose rows are elsewhere.

    Parameters
    ----------
    model : NaiveBayes or BoundModel
    X : Dask array or data frame, lazy table, or long array on a device, shape (rows, columns)
    y : str, or Dask or other array of shape (rows,)
    sample_weight : str, or Dask or other array of shape (rows,), optional
    classes : sequence or int, optional
    check : callable
        Gets the problem before the statistics are counted, and may raise an error.
    feature_names : sequence, shape (columns,), optional

    Raises
    ------
    ValueError, TypeError
        As for `fit`, naming the partition of a Dask collection, and of a lazy table the column.
    """
    if is_long_on_device(X):
        rows = read_for(model, X, y, sample_weight, feature_names)
        schema = OpenSchema.of(model, rows.table.names, rows.table.named, classes)
        return count_batches(schema, schema.find(rows), [("X", rows)], check)
    if y is None:
        raise ValueError(
            f"y is None, and X is {a_type(X)}, whose rows are not in memory: name the column of its labels, or give a "
            "Dask array in the partitions of a Dask table"
        )
    table = table_elsewhere(X, y, sample_weight, model.features)
    problem, unseen = _counted_problem(_schema_elsewhere(model, table, classes, feature_names), table, check)
    warn_unseen(unseen)
    return problem


def _schema_elsewhere(model: Model, table: TableElsewhere, classes: Any, feature_names: Any = None) -> OpenSchema:
    if isinstance(table, DaskTable):
        own = read_for(model, table.without_rows(), None, None, feature_names).table
        return OpenSchema.of(model, own.names, own.named, classes)
    if feature_names is not None:
        raise ValueError("feature_names is given, and the columns of a lazy table have names: leave it out")
    return OpenSchema.of(model, table.names, True, classes)


def _counted_problem(
    schema: OpenSchema, table: TableElsewhere, check: Callable[[Problem], None]
) -> tuple[Problem, Unseen]:
    """The problem of all rows, and the values that it has not seen."""
    bound = schema.bind(find_elsewhere(schema, table))
    check(empty_problem(bound, growing=schema.growing))
    counted = count_elsewhere(bound, table)
    problem = Problem(bound, counted.statistics, growing=schema.growing, weighted=counted.weighted)
    return problem, counted.unseen


def read_by_engine(
    model: Model,
    X: Any,
    y: str,
    sample_weight: str | None,
    classes: Any,
    check: Callable[[Problem], None],
    after_query: Callable[[], object],
) -> Problem | None:
    """The problem of a table that the host can read, too, counted by an engine; parameters as for `read_elsewhere`.

    `after_query` is called after each query.

    None for bins of numbers, which all rows make, and for all that the host refuses or warns of: it names the row.
    """
    with suppress(TypeError, ValueError):
        lazy = LazyTable(X, y, sample_weight, model.features)
        lazy.after_query = after_query
        schema = _schema_elsewhere(model, lazy, classes)
        if not schema.seen_columns and not schema.in_bins:
            problem, unseen = _counted_problem(schema, lazy, check)
            return None if unseen else problem
    return None
