"""A table in batches that the user's code gives."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from bayesnb.model.naive_bayes import Model, named_for
from bayesnb.problem import Problem
from bayesnb.sources.batch import Batch, with_progress
from bayesnb.sources.counting import count_batches
from bayesnb.sources.open_schema import OpenSchema
from bayesnb.tables.label_column import split_labels
from bayesnb.validate import a_type

__all__ = ["read_batches"]


def read_batches(
    model: Model,
    batches: Any,
    classes: Any,
    check: Callable[[Problem], None],
    progress: bool | None,
    feature_names: Any = None,
) -> Problem:
    """The problem of all batches, one of them in memory at a time; parameters and errors as for `fit_batches`.

    `check` gets the problem before the statistics are counted, and may raise an error.
    """
    once = isinstance(batches, Iterator)
    if not callable(batches) and not isinstance(batches, Iterable):
        raise TypeError(f"batches is {batches!r}: give an iterable of (X, y), or a callable that returns one")

    def read() -> Iterator[Batch]:
        return _numbered(model, feature_names, batches() if callable(batches) else batches)

    start = read()
    first = next(start, None)
    if first is None:
        raise ValueError("batches holds no rows: give at least one")
    schema = OpenSchema.of(model, first.table.names, first.table.named, classes)
    bar = partial(with_progress, progress, total=None)
    if schema.complete or once:
        if once:
            schema.require_one_pass()
        bound = schema.bind(schema.find(first))
        counting: Iterable[Batch] = chain([first], start)
    else:
        bound = schema.bind(schema.find_all(bar("categories", chain([first], start))))
        counting = read()
    return count_batches(bound, bar("statistics", counting), check, growing=schema.growing)


def _numbered(model: Model, feature_names: Any, batches: Iterable[Any]) -> Iterator[Batch]:
    """The user's batches with their numbers, without those that have no rows."""
    for i, given in enumerate(batches):
        if not isinstance(given, tuple | list) or len(given) not in (2, 3):
            raise TypeError(f"batch {i} is {a_type(given)}: give (X, y) or (X, y, sample_weight)")
        batch = Batch(f"batch {i}", *given)
        with batch.naming_errors():
            X, y = split_labels(batch.X, batch.y, model.features)
            batch = replace(batch, X=named_for(model, X, feature_names), y=y)
            filled = batch.has_rows()
        if filled:
            yield batch
