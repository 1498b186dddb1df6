"""Statistics of a table that is read in batches."""

from collections.abc import Callable, Iterable

import numpy as np

from bayesnb.growth import count_and_grow
from bayesnb.model.bound import BoundModel
from bayesnb.problem import Problem
from bayesnb.reading.counted import Counted, Unseen, add_unseen
from bayesnb.sources.batch import Batch
from bayesnb.tables.categories import warn_unseen

__all__ = ["count", "count_batches", "empty_problem"]


def count(model: BoundModel, batch: Batch) -> Counted | None:
    """Statistics of a batch under a bound model; None if it has no rows."""
    with batch.naming_errors():
        if not batch.has_rows():
            return None
        codes = batch.labels.codes(model.schema.classes)
        return model.read(batch.table).count(codes, batch.weights)


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
        with batch.naming_errors():
            if not batch.has_rows():
                continue
            codes = batch.labels.codes(model.schema.classes)
            problem, counted = count_and_grow(problem, batch.table, codes, batch.weights)
        empty = False
        problem = problem.add(counted.statistics)
        unseen = add_unseen(unseen, counted.unseen)
    if empty:
        raise ValueError("there are no rows (or none in the second reading): give at least one")
    warn_unseen(unseen)
    return problem
