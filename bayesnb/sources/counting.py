"""Statistics of a table that is read in batches."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.growth import Unseen, with_new_categories
from bayesnb.model.bound import BoundModel
from bayesnb.model.statistics import ModelStatistics
from bayesnb.problem import Problem
from bayesnb.sources.batch import Batch, has_rows
from bayesnb.tables.categories import warn_unseen

__all__ = ["Counted", "count", "count_batches", "empty_problem"]


@dataclass(frozen=True)
class Counted:
    """Statistics of rows, and the cells whose categories the model does not know; the sum is that of all the rows."""

    statistics: ModelStatistics
    unseen: Unseen

    def __add__(self, other: "Counted") -> "Counted":
        return Counted(self.statistics + other.statistics, _add_unseen(self.unseen, other.unseen))


def _add_unseen(one: Unseen, other: Unseen) -> Unseen:
    total = {column: dict(values) for column, values in one.items()}
    for column, values in other.items():
        mine = total.setdefault(column, {})
        for value, number in values.items():
            mine[value] = mine.get(value, 0) + number
    return total


def count(model: BoundModel, batch: Batch) -> Counted | None:
    """Statistics of a batch under a bound model; None if it has no rows."""
    with batch.naming_errors():
        table = batch.table
        if not has_rows(table, batch.y):
            return None
        unseen: dict[Any, dict[Any, int]] = {}
        statistics = model.statistics(table, batch.y, sample_weight=batch.sample_weight, unseen=unseen)
        return Counted(statistics, {column: values for column, values in unseen.items() if values})


def empty_problem(model: BoundModel, *, growing: bool) -> Problem:
    """The problem of a bound model without rows, by which an inference can tell early whether it can solve it."""
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
        Bound.
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
        counted = count(problem.model, batch)
        if counted is None:
            continue
        empty = False
        with batch.naming_errors():
            grown = with_new_categories(problem, batch.table, counted.unseen)
        if grown is not problem:
            problem, counted = grown, count(grown.model, batch)
            assert counted is not None
        problem = problem.add(counted.statistics)
        unseen = _add_unseen(unseen, counted.unseen)
    if empty:
        raise ValueError("there are no rows (in the second reading, if there were some before): give at least one")
    warn_unseen(unseen)
    return problem
