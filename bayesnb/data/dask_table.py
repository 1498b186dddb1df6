"""Collections of Dask, whose partitions are read where they are; Dask is imported inside the calls that need it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import batched
from operator import call
from typing import Any

import numpy as np

from bayesnb.core.arrays import stacked
from bayesnb.core.checking import a_type, naming_errors
from bayesnb.core.deferred import pd
from bayesnb.core.running import random_generator
from bayesnb.data.lazy_table import MOST_ADDED, ROWS_ADDED, SAMPLE
from bayesnb.data.read import Rows, is_dask, read_rows, require_weight_column, split_labels

# --------------------------------------------------------------------------------------------------
# A table with its labels and its weights
# --------------------------------------------------------------------------------------------------


class DaskTable:
    """A Dask array or data frame with its labels and its weights.

    Parameters
    ----------
    X : Dask array or data frame, shape (rows, columns)
    y : str, Dask array or series of shape (rows,), or None
        None for rows without labels.
    sample_weight : str, Dask array or series of shape (rows,), optional
    features : mapping, optional
        Family and columns of each feature of the model, none of which may be the label's column.

    Raises
    ------
    TypeError, ValueError
        If a name is not that of a column, or X, y and weights are not partitioned alike.
    """

    def __init__(self, X: Any, y: Any, sample_weight: Any = None, features: Any = None) -> None:
        X, self.y, self.weight = _taken_apart(X, y, sample_weight, features)
        self.X, self.is_frame = _require_same_partitions(X, self.y, self.weight)

    def __len__(self) -> int:
        return self.fold(_size_of_partition)

    def without_rows(self) -> Any:
        """A table in memory with the columns and no row."""
        return without_rows(self.X, self.is_frame)

    def fold(self, function: Callable[[int, tuple[Any, ...]], Any], columns: Sequence[Any] | None = None) -> Any:
        """Sum over partitions of a function of the partition's number and its table, labels and weights.

        Dask adds neighbours in pairs, on the workers. None counts as no rows. A table gives columns alone, if some are
        named. Errors name the partition, counted from 0.
        """
        from dask import delayed

        X = self.X if columns is None or not self.is_frame else self.X[columns]
        shared = as_graph_value("function", partial(_of_partition, function))
        task, add = delayed(call, pure=False), delayed(_add, pure=False)
        given = [each for each in (X, self.y, self.weight) if each is not None]
        level = [task(shared, i, piece) for i, piece in enumerate(_pieces(given))]
        while len(level) > 1:
            level = [add(*pair) if len(pair) == 2 else pair[0] for pair in batched(level, 2)]
        return level[0].compute()

    @cached_property
    def sampled(self) -> Rows:
        """Rows of a random sample, without their labels."""
        table, _, weights = self.sample_of_every_class(0)
        return read_rows(table, None, weights).counting()

    def sample_of_every_class(self, seed: int) -> tuple[Any, Any, Any]:
        """Table, labels and weights of at most `SAMPLE` rows, drawn at random, and of rows of classes that these lack.

        Raises
        ------
        ValueError
            If there is no row.
        """
        seeds = random_generator(seed).integers(2**63, size=len(_delayed_partitions(self.X)))
        found = self.fold(partial(_Sample.of, seeds))
        if found is None:
            raise ValueError("X has no rows: give at least one")
        return found.parts


def _size_of_partition(partition: int, parts: tuple[Any, ...]) -> int:
    return len(parts[0])


@dataclass(frozen=True)
class _Sample:
    """Rows drawn at random without replacement, in memory; the sum is a sample of the rows behind both.

    Attributes
    ----------
    number : array, shape (rows,)
        A random number for each row; the rows of the smallest numbers are in the sample.
    parts : tuple
        Table, labels and weights of the rows; None for what there is not.
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
        """At most `SAMPLE` of the rows and `ROWS_ADDED` of each class that these lack, in their order."""
        order = np.argsort(self.number)
        kept, others = order[:SAMPLE], order[SAMPLE:]
        if self.parts[1] is not None and len(others):
            codes = pd.factorize(np.asarray(self.parts[1]))[0]
            lacking = np.setdiff1d(codes[others], codes[kept])[:MOST_ADDED]
            kept = np.concatenate([kept, *(others[codes[others] == code][:ROWS_ADDED] for code in lacking)])
        kept = np.sort(kept)
        parts = (part if part is None else getattr(part, "iloc", part)[kept] for part in self.parts)
        return _Sample(self.number[kept], tuple(parts))

    def __add__(self, other: "_Sample") -> "_Sample":
        parts = tuple(_stacked_partitions(*pair) for pair in zip(self.parts, other.parts, strict=True))
        return _Sample(np.concatenate([self.number, other.number]), parts).smallest()


def _stacked_partitions(one: Any, other: Any) -> Any:
    """Rows of two partitions, one after the other."""
    if one is None:
        return None
    if hasattr(one, "iloc"):
        return pd.concat([one, other])
    return stacked([one, other])


def _taken_apart(X: Any, y: Any, sample_weight: Any, features: Any) -> tuple[Any, Any, Any]:
    """Table, labels and weights, which may be named columns of the table."""
    X, y = split_labels(X, y, features)
    if not isinstance(sample_weight, str):
        return X, y, sample_weight
    require_weight_column(sample_weight, getattr(X, "columns", ()))
    return X.drop(columns=[sample_weight]), y, X[sample_weight]


def _require_same_partitions(X: Any, y: Any, sample_weight: Any) -> tuple[Any, bool]:
    """X with whole rows in each partition, and whether it is a frame; ValueError if y or weights have others."""
    others = {name: data for name, data in (("y", y), ("sample_weight", sample_weight)) if data is not None}
    if not is_dask(X):
        raise TypeError(
            f"y is a Dask {type(y).__name__} and X {a_type(X)}: give both as Dask collections in the same "
            "partitions, or both in memory, y.compute()"
        )
    X, named = _as_partitioned_table(X)
    for name, other in others.items():
        if not is_dask(other) or not type(other).__module__.startswith(("dask.array", "dask.dataframe")):
            raise TypeError(
                f"X is a Dask {type(X).__name__} and {name} {a_type(other)}: give {name} as a Dask array or "
                "series in the partitions of X, such as dask.array.from_array(..., chunks=X.chunks[0]) or a column of "
                "the same frame"
            )
        if other.ndim != 1:
            raise ValueError(f"{name} has {other.ndim} dimensions: give one value for each row, shape (rows,)")
        num_mine, num_theirs = len(_delayed_partitions(X)), len(_delayed_partitions(other))
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


def _pieces(given: Sequence[Any]) -> Iterable[Any]:
    """Table, labels and weights of each partition, delayed; of frames in one graph: it has the partitions they say."""
    if not all(type(data).__module__.startswith("dask.dataframe") for data in given):
        return zip(*map(_delayed_partitions, given), strict=True)
    X, *others = given
    options = {"meta": without_rows(X, True), "align_dataframes": False, "enforce_metadata": False}
    whole = X.map_partitions(lambda *given: given, *others, **options)
    return whole.simplify().to_delayed(optimize_graph=False)


def _of_partition(function: Callable, partition: int, parts: tuple[Any, ...]) -> Any:
    with naming_errors(f"partition {partition}"):
        return function(partition, (*parts, None, None)[:3])


def _add(one: Any, other: Any) -> Any:
    """The sum of what two partitions give, one by one in a list; None counts as nothing."""
    if isinstance(one, list) and isinstance(other, list):
        return list(map(_add, one, other))
    if one is None or other is None:
        return other if one is None else one
    return one + other


# --------------------------------------------------------------------------------------------------
# Collections of Dask, partition by partition
# --------------------------------------------------------------------------------------------------


def map_partitions(function: Callable[[Any], np.ndarray], X: Any) -> Any:
    """Apply a function to each partition of a table, when the result is asked for.

    Parameters
    ----------
    function : callable
        Takes a table of shape (rows, columns) and returns an array of shape (rows, ...). It is called once right away
        with an empty table, which gives the type and the other axes of the result.
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

    X, named = _as_partitioned_table(X)
    like = function(without_rows(X, named))
    shared, task = as_graph_value("function", function), delayed(call, pure=False)
    pieces = _delayed_partitions(X)
    sizes = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(pieces)
    arrays = [
        da.from_delayed(task(shared, piece), (size, *like.shape[1:]), dtype=like.dtype)
        for size, piece in zip(sizes, pieces, strict=True)
    ]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def without_rows(X: Any, named: bool) -> Any:
    """An empty table in memory with the columns of a partitioned table (see `_as_partitioned_table`)."""
    if not named:
        return np.empty((0, X.shape[1]))
    from dask.dataframe.utils import strip_unknown_categories

    # Dask has no public name for the empty frame that tells the columns and their types.
    return strip_unknown_categories(X._meta)  # noqa: SLF001


def _as_partitioned_table(X: Any) -> tuple[Any, bool]:
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


def _delayed_partitions(data: Any) -> list[Any]:
    """Each partition as a delayed value."""
    # Dask's optimization of a frame joins small files, so that it has other partitions than it says.
    return list(np.ravel(data.to_delayed(optimize_graph=not type(data).__module__.startswith("dask.dataframe"))))


def as_graph_value(name: str, value: Any) -> Any:
    """A value that enters Dask's graph once and unchanged. Dask would traverse a dataclass and copy it."""
    from uuid import uuid4

    from dask import delayed

    return delayed(value, name=f"bayesnb-{name}-{uuid4().hex}", traverse=False)
