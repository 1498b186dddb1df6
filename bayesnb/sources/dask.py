"""Dask arrays and data frames; Dask is imported inside the calls that need it."""

from collections.abc import Callable
from itertools import batched
from typing import Any

import numpy as np

from bayesnb.model.naive_bayes import Model, named_for
from bayesnb.partitions import as_graph_value, as_partitioned_table, delayed_partitions, partition_sizes, without_rows
from bayesnb.problem import Problem
from bayesnb.sources.batch import NO_ROWS, Batch
from bayesnb.sources.counting import count, empty_problem
from bayesnb.sources.open_schema import Found, OpenSchema
from bayesnb.tables.categories import warn_unseen
from bayesnb.tables.label_column import split_labels
from bayesnb.tables.read import as_table, is_dask
from bayesnb.validate import a_type

__all__ = ["read_dask"]


def read_dask(
    model: Model,
    X: Any,
    y: Any,
    sample_weight: Any,
    classes: Any,
    check: Callable[[Problem], None],
    feature_names: Any = None,
) -> Problem:
    """The problem of a Dask array or data frame, whose statistics are counted where its partitions are.

    Parameters
    ----------
    model : NaiveBayes or BoundModel
    X : Dask array or data frame, shape (rows, columns)
    y : str, or Dask array or series of shape (rows,)
        In the partitions of X.
    sample_weight : Dask array or series, shape (rows,), optional
        In the partitions of X.
    classes : sequence or int, optional
    check : callable
        Gets the problem before the statistics are counted, and may raise an error.
    feature_names : sequence, shape (columns,), optional

    Returns
    -------
    Problem

    Raises
    ------
    ValueError, TypeError
        As for `fit`, naming the partition, counted from 0; or if X, y and weights are not partitioned alike.
    """
    X, y = split_labels(X, y, model.features)
    X, named = _require_alike(X, y, sample_weight)
    table = as_table(named_for(model, without_rows(X, named), feature_names))
    schema = OpenSchema.of(model, table.names, table.named, classes)
    found = Found.nothing()
    if not schema.complete:
        found = _fold_partitions(OpenSchema.find, schema, X[schema.open_names] if named else X, y, sample_weight)
    bound = schema.bind(found)
    check(empty_problem(bound, growing=schema.growing))
    counted = _fold_partitions(count, bound, X[schema.used_names] if named else X, y, sample_weight)
    if counted is None:
        raise ValueError(NO_ROWS)
    warn_unseen(counted.unseen)
    return Problem(bound, counted.statistics, growing=schema.growing)


def _require_alike(X: Any, y: Any, sample_weight: Any) -> tuple[Any, bool]:
    """X with whole rows in each partition, and whether it is a frame; y and weights must have the same partitions.

    Raises
    ------
    TypeError, ValueError
        If one of them is no Dask collection, or the partitions differ.
    """
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
        mine, theirs = len(delayed_partitions(X)), len(delayed_partitions(other))
        if mine != theirs:
            raise ValueError(
                f"X has {mine} partitions and {name} has {theirs}: partition them alike, with {name}.rechunk(...) or "
                f"{name}.repartition(...)"
            )
        _require_same_rows(X, name, other)
    return X, named


def _require_same_rows(X: Any, name: str, other: Any) -> None:
    """Raise an error if partitions are known to have different rows; unknown sizes are compared when rows are read."""
    for i, (mine, theirs) in enumerate(zip(partition_sizes(X) or [], partition_sizes(other) or [], strict=False)):
        if mine != theirs and not np.isnan(mine) and not np.isnan(theirs):
            raise ValueError(
                f"partition {i} of X has {mine} rows and that of {name} has {theirs}: partition them alike, with "
                f"{name}.rechunk({{0: X.chunks[0]}})"
            )
    mine, theirs = getattr(X, "divisions", None), getattr(other, "divisions", None)
    if mine is not None and theirs is not None and None not in (*mine, *theirs) and mine != theirs:
        raise ValueError(
            f"the divisions of X and {name} differ: partition them alike, with "
            f"{name}.repartition(divisions=X.divisions)"
        )


def _fold_partitions(function: Callable, about: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Sum over partitions of a function of `about` and a batch; Dask adds neighbours in pairs, on the workers."""
    from dask import delayed

    ys = delayed_partitions(y)
    weights = [None] * len(ys) if sample_weight is None else delayed_partitions(sample_weight)
    shared = as_graph_value("about", about)
    task, add = delayed(_of_partition, pure=False), delayed(_add, pure=False)
    level = [
        task(function, shared, f"partition {i}", *piece)
        for i, piece in enumerate(zip(delayed_partitions(X), ys, weights, strict=True))
    ]
    while len(level) > 1:
        level = [add(*pair) if len(pair) == 2 else pair[0] for pair in batched(level, 2)]
    return level[0].compute()


def _of_partition(function: Callable, about: Any, where: str, X: Any, y: Any, sample_weight: Any) -> Any:
    return function(about, Batch(where, X, y, sample_weight))


def _add(one: Any, other: Any) -> Any:
    """Sum of two values, either of which may be None for no rows."""
    if one is None or other is None:
        return other if one is None else one
    return one + other
