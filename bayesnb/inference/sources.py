"""Tables in pieces, and tables of Dask, read into a problem."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import batched
from operator import call
from typing import Any

import numpy as np

from bayesnb.core.arrays import stacked
from bayesnb.core.cells import warn_unseen
from bayesnb.core.checking import a_type
from bayesnb.core.deferred import pd
from bayesnb.core.device_arrays import lies_on_device
from bayesnb.core.running import random_generator
from bayesnb.data.labels import Found
from bayesnb.data.lazy_table import SAMPLE, LazyTable, is_lazy, sample_lazy
from bayesnb.data.read import (
    Rows,
    as_graph_value,
    as_partitioned_table,
    delayed_partitions,
    is_dask,
    read_rows,
    require_weight_column,
    split_labels,
    without_rows,
)
from bayesnb.model.bound import BoundModel
from bayesnb.model.lazy_statistics import count_lazy, find_in_lazy
from bayesnb.model.naive_bayes import Model, read_for
from bayesnb.model.open_schema import OpenSchema
from bayesnb.model.problem import Problem, count_and_grow
from bayesnb.model.reading import Counted, Unseen, add_unseen

# --------------------------------------------------------------------------------------------------
# A table that is read in pieces
# --------------------------------------------------------------------------------------------------


type Batch = tuple[str, Rows]
"""The name of some rows in errors, such as "batch 3", and the rows."""


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
# Long arrays on a device, of which the host has a sample
# --------------------------------------------------------------------------------------------------


def is_long_on_device(X: Any) -> bool:
    """Whether a table is an array on a device with more rows than a sample has."""
    return lies_on_device(X) and X.ndim == 2 and len(X) > SAMPLE


def _sample_device(X: Any, y: Any, sample_weight: Any, key: Any) -> tuple[Any, Any, Any]:
    """Cells, labels and weights of `SAMPLE` rows of an array on a device, drawn at random."""
    rows: Any = read_rows(X, y, sample_weight)
    some = rows.take(np.sort(random_generator(key).choice(len(rows), SAMPLE, replace=False)))
    return some.alone().table.cells, some.labels.values, None if sample_weight is None else some.weights


# --------------------------------------------------------------------------------------------------
# Tables whose rows stay where they are: collections of Dask, and lazy tables, whose engine counts
# --------------------------------------------------------------------------------------------------


def is_elsewhere(X: Any) -> bool:
    """Whether the rows of a table are not in this process: it is lazy, or a collection of Dask."""
    return is_dask(X) or is_lazy(X)


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
    if is_dask(X) or is_dask(y):
        problem, unseen = _read_dask(model, X, y, sample_weight, classes, check, feature_names)
    else:
        if feature_names is not None:
            raise ValueError("feature_names is given, and the columns of a lazy table have names: leave it out")
        if y is None:
            raise ValueError("y is None, and X is a lazy table: name the column of its labels")
        lazy = LazyTable(X, y, sample_weight, model.features)
        problem, unseen = _read_lazy(OpenSchema.of(model, lazy.names, True, classes), lazy, check)
    warn_unseen(unseen)
    return problem


def _read_lazy(schema: OpenSchema, lazy: LazyTable, check: Callable[[Problem], None]) -> tuple[Problem, Unseen]:
    return _counted_problem(schema, find_in_lazy(schema, lazy), check, partial(count_lazy, lazy=lazy))


def _counted_problem(
    schema: OpenSchema, found: Found, check: Callable[[Problem], None], count: Callable[[BoundModel], Counted | None]
) -> tuple[Problem, Unseen]:
    """The problem of all rows, which `count` counts under the bound model, and the values that it has not seen."""
    bound = schema.bind(found)
    check(empty_problem(bound, growing=schema.growing))
    if (counted := count(bound)) is None:
        raise ValueError("X has no rows: give at least one")
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
        schema = OpenSchema.of(model, lazy.names, True, classes)
        if not schema.seen_columns and not schema.in_bins:
            problem, unseen = _read_lazy(schema, lazy, check)
            return None if unseen else problem
    return None


# --------------------------------------------------------------------------------------------------
# Dask arrays and data frames; Dask is imported inside the calls that need it
# --------------------------------------------------------------------------------------------------


def _read_dask(
    model: Model,
    X: Any,
    y: Any,
    sample_weight: Any,
    classes: Any,
    check: Callable[[Problem], None],
    feature_names: Any,
) -> tuple[Problem, Unseen]:
    """As `_counted_problem`, of a Dask array or data frame, whose statistics are counted where its partitions are.

    Errors name the partition, counted from 0; or that X, y and weights are not partitioned alike.
    """
    X, y, sample_weight = _taken_apart(X, y, sample_weight, model.features)
    X, named = _require_same_partitions(X, y, sample_weight)
    table = read_for(model, without_rows(X, named), None, None, feature_names).table
    schema = OpenSchema.of(model, table.names, table.named, classes)
    found, others = Found(), (y, sample_weight)
    if not schema.complete:
        found = _fold_partitions(partial(_find_in_partition, schema), X[schema.open_names] if named else X, *others)

    def count(bound: BoundModel) -> Counted | None:
        return _fold_partitions(partial(_count_partition, bound), X[schema.used_names] if named else X, *others)

    return _counted_problem(schema, found, check, count)


def _find_in_partition(schema: OpenSchema, partition: int, parts: tuple[Any, ...]) -> Found:
    return schema.find(read_rows(*parts).counting())


def _count_partition(model: BoundModel, partition: int, parts: tuple[Any, ...]) -> Counted | None:
    if not len(rows := read_rows(*parts).counting()):
        return None
    coded = rows.of_classes(model.schema.classes)
    return model.read(coded.table).count(coded.codes, coded.weights, adds=True)


@dataclass(frozen=True)
class _Sample:
    """Rows drawn at random without replacement, in memory; the sum is a sample of the rows behind both.

    Attributes
    ----------
    number : array, shape (rows,)
        A random number for each row; the rows of the smallest numbers are in the sample.
    parts : tuple
        Table, labels and, if there are any, weights of the rows.
    """

    number: np.ndarray
    parts: tuple[Any, ...]

    @classmethod
    def of(cls, seeds: np.ndarray, partition: int, parts: tuple[Any, ...]) -> "_Sample | None":
        """A sample of the rows of a partition; None if it has none."""
        size = len(read_rows(*parts))
        number = np.random.default_rng(seeds[partition]).random(size)
        return cls(number, parts).smallest() if size else None

    def smallest(self) -> "_Sample":
        """At most `SAMPLE` of the rows, in their order."""
        kept = np.sort(np.argsort(self.number)[:SAMPLE])
        return _Sample(self.number[kept], tuple(getattr(part, "iloc", part)[kept] for part in self.parts))

    def __add__(self, other: "_Sample") -> "_Sample":
        parts = tuple(_stacked_partitions(*pair) for pair in zip(self.parts, other.parts, strict=True))
        return _Sample(np.concatenate([self.number, other.number]), parts).smallest()


def _stacked_partitions(one: Any, other: Any) -> Any:
    """Rows of two partitions, one after the other."""
    if hasattr(one, "iloc"):
        return pd.concat([one, other])
    return stacked([one, other])


def sample_elsewhere(X: Any, y: Any, sample_weight: Any, key: Any) -> tuple[Any, Any, Any]:
    """Table, labels and weights of at most `SAMPLE` rows of a table whose rows are elsewhere, drawn at random.

    Parameters and errors as for `read_elsewhere`.
    """
    if is_long_on_device(X):
        return _sample_device(X, y, sample_weight, key)
    if not (is_dask(X) or is_dask(y)):
        return sample_lazy(X, y, sample_weight, int(random_generator(key).integers(2**31)))
    X, y, sample_weight = _taken_apart(X, y, sample_weight)
    X, _ = _require_same_partitions(X, y, sample_weight)
    seeds = random_generator(key).integers(2**63, size=len(delayed_partitions(X)))
    found = _fold_partitions(partial(_Sample.of, seeds), X, y, sample_weight)
    if found is None:
        raise ValueError("X has no rows: give at least one")
    return (*found.parts, None)[:3]


def _taken_apart(X: Any, y: Any, sample_weight: Any, features: Any = None) -> tuple[Any, Any, Any]:
    """Table, labels and weights, which may be named columns of the table."""
    X, y = split_labels(X, y, features)
    if not isinstance(sample_weight, str):
        return X, y, sample_weight
    require_weight_column(sample_weight, getattr(X, "columns", ()))
    return X.drop(columns=[sample_weight]), y, X[sample_weight]


def _require_same_partitions(X: Any, y: Any, sample_weight: Any) -> tuple[Any, bool]:
    """X with whole rows in each partition, and whether it is a frame; ValueError if y or weights have others."""
    others = {"y": y} if sample_weight is None else {"y": y, "sample_weight": sample_weight}
    if not is_dask(X):
        raise TypeError(
            f"y is a Dask {type(y).__name__} and X {a_type(X)}: give both as Dask collections in the same "
            "partitions, or both in memory, y.compute()"
        )
    X, named = as_partitioned_table(X)
    for name, other in others.items():
        if not is_dask(other) or not type(other).__module__.startswith(("dask.array", "dask.dataframe")):
            raise TypeError(
                f"X is a Dask {type(X).__name__} and {name} {a_type(other)}: give {name} as a Dask array or "
                "series in the partitions of X, such as dask.array.from_array(..., chunks=X.chunks[0]) or a column of "
                "the same frame"
            )
        if other.ndim != 1:
            raise ValueError(f"{name} has {other.ndim} dimensions: give one value for each row, shape (rows,)")
        num_mine, num_theirs = len(delayed_partitions(X)), len(delayed_partitions(other))
        if num_mine != num_theirs:
            raise ValueError(
                f"X has {num_mine} partitions and {name} has {num_theirs}: partition them alike, with "
                f"{name}.rechunk(...) or {name}.repartition(...), or give columns of one frame rather than arrays"
            )
        mine, theirs = getattr(X, "divisions", None), getattr(other, "divisions", None)
        if mine is not None and theirs is not None and None not in (*mine, *theirs) and mine != theirs:
            raise ValueError(
                f"the divisions of X and {name} differ: partition them alike, with "
                f"{name}.repartition(divisions=X.divisions)"
            )
    return X, named


def _fold_partitions(function: Callable, X: Any, y: Any, sample_weight: Any) -> Any:
    """Sum over partitions of a function of the partition's number and its X, y and weights; None counts as no rows.

    Dask adds neighbours in pairs, on the workers.
    """
    from dask import delayed

    shared = as_graph_value("function", partial(_of_partition, function))
    task, add = delayed(call, pure=False), delayed(_add, pure=False)
    level = [task(shared, i, piece) for i, piece in enumerate(_pieces(X, y, sample_weight))]
    while len(level) > 1:
        level = [add(*pair) if len(pair) == 2 else pair[0] for pair in batched(level, 2)]
    return level[0].compute()


def _pieces(X: Any, y: Any, sample_weight: Any) -> Iterable[Any]:
    """X, y and weights of each partition, delayed; of frames in one graph, which has the partitions that they say."""
    given = [X, y] if sample_weight is None else [X, y, sample_weight]
    if not all(type(data).__module__.startswith("dask.dataframe") for data in given):
        return zip(*map(delayed_partitions, given), strict=True)
    options = {"meta": without_rows(X, True), "align_dataframes": False, "enforce_metadata": False}
    whole = X.map_partitions(lambda *given: given, *given[1:], **options)
    return whole.simplify().to_delayed(optimize_graph=False)


def _of_partition(function: Callable, partition: int, parts: tuple[Any, ...]) -> Any:
    with naming_errors(f"partition {partition}"):
        return function(partition, parts)


def _add(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return one + other
