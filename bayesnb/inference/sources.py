"""Data in memory, read into a problem."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesnb.core.running import progress_bar
from bayesnb.data.labels import Found
from bayesnb.data.read import GivenRows
from bayesnb.data.schema import warn_unseen
from bayesnb.model.bound import BoundModel, OpenSchema, bound_to
from bayesnb.model.naive_bayes import Model, read_for
from bayesnb.model.problem import Problem, count_and_grow, count_rows
from bayesnb.model.reading import Counted, Unseen, add_unseen

__all__ = [
    "Batch",
    "count",
    "count_batches",
    "empty_problem",
    "find",
    "find_all",
    "naming_errors",
    "problem_of",
    "read_table",
    "with_progress",
]

# --------------------------------------------------------------------------------------------------
# Some rows of a larger table, with their name in errors
# --------------------------------------------------------------------------------------------------


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
        return len(self.rows)


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
# Statistics of a table that is read in batches
# --------------------------------------------------------------------------------------------------


def find(schema: OpenSchema, batch: Batch) -> Found:
    """The labels and categories of a batch, as far as they are not known."""
    with naming_errors(batch.where):
        return schema.find(batch.rows)


def find_all(schema: OpenSchema, batches: Iterable[Batch]) -> Found:
    """The labels and categories of several batches, as far as they are not known."""
    return sum((find(schema, batch) for batch in batches), start=Found.nothing())


def count(model: BoundModel, batch: Batch) -> Counted | None:
    """Statistics of a batch under a bound model; None if it has no rows."""
    if not len(batch):
        return None
    with naming_errors(batch.where):
        rows = batch.rows.of_classes(model.schema.classes)
        return replace(model.read(rows.table), adds=True).count(rows.codes, rows.weights)


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
    if given.labels is None and classes is None and not model.bound:
        raise ValueError(
            "y is None: give a label for each row; or, for a mixture, the number of its classes or their names, as "
            "in classes=3"
        )
    bound = bound_to(model, given, classes)
    statistics, unlabelled = count_rows(bound, given.of_classes(bound.schema.classes, may_miss=True))
    return Problem(bound, statistics, unlabelled=unlabelled, growing=not model.bound)
