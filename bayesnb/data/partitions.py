"""Collections of Dask, partition by partition."""

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = [
    "as_graph_value",
    "as_partitioned_table",
    "delayed_partitions",
    "map_partitions",
    "partition_sizes",
    "without_rows",
]


def map_partitions(function: Callable[[Any], np.ndarray], X: Any) -> Any:
    """Apply a function to each partition of a table, when the result is asked for.

    Parameters
    ----------
    function : callable
        Takes a table of shape (rows, columns) and returns an array of shape (rows, ...). It is called once right away
        with a table without rows, which gives the type and the other axes of the result.
    X : Dask array or data frame, shape (rows, columns)

    Returns
    -------
    dask.array.Array, shape (rows, ...)
        In the partitions of X. Its chunk sizes are unknown if those of X are.

    Raises
    ------
    TypeError, ValueError
        If X is not a table, or the function refuses the table without rows.
    """
    import dask.array as da
    from dask import delayed

    X, named = as_partitioned_table(X)
    like = function(without_rows(X, named))
    shared, task = as_graph_value("function", function), delayed(_call, pure=False)
    pieces = delayed_partitions(X)
    sizes = partition_sizes(X) or [np.nan] * len(pieces)
    arrays = [
        da.from_delayed(task(shared, piece), (size, *like.shape[1:]), dtype=like.dtype)
        for size, piece in zip(sizes, pieces, strict=True)
    ]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def _call(function: Callable, X: Any) -> np.ndarray:
    return function(X)


def without_rows(X: Any, named: bool) -> Any:
    """A table in memory with the columns of one in partitions, as `as_partitioned_table` gives it, and no row."""
    # Dask has no public name for the empty frame that tells the columns and their types.
    return X._meta if named else np.empty((0, X.shape[1]))  # noqa: SLF001


def as_partitioned_table(X: Any) -> tuple[Any, bool]:
    """A Dask array or frame with whole rows in each partition, and whether its columns have names.

    Raises
    ------
    TypeError, ValueError
        If X is another Dask collection, or not a table.
    """
    kind = type(X).__module__
    if not kind.startswith(("dask.array", "dask.dataframe")):
        raise TypeError(f"X is a Dask {type(X).__name__}: give a Dask array or data frame")
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimension{'s' * (X.ndim != 1)}: a table has two, rows and columns")
    named = kind.startswith("dask.dataframe")
    if not named and np.isnan(X.shape[1]):
        raise ValueError("X has an unknown number of columns: give it one, or X.compute_chunk_sizes()")
    return (X if named or X.numblocks[1] == 1 else X.rechunk({1: -1})), named


def partition_sizes(data: Any) -> list[Any] | None:
    """Rows of each partition of a Dask array, NaN where unknown; None for a frame."""
    chunks = getattr(data, "chunks", None)
    return None if chunks is None else list(chunks[0])


def delayed_partitions(data: Any) -> list[Any]:
    """Each partition as a delayed value."""
    return list(np.ravel(data.to_delayed()))


def as_graph_value(name: str, value: Any) -> Any:
    """A value that enters Dask's graph once and unchanged. Dask would traverse a dataclass and copy it."""
    from uuid import uuid4

    from dask import delayed

    return delayed(value, name=f"bayesnb-{name}-{uuid4().hex}", traverse=False)
