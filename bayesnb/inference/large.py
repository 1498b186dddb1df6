"""Data larger than memory: batches, Parquet files, collections of Dask."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import batched, chain
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb.core.arrays import stacked
from bayesnb.core.checking import a_type, whole_number
from bayesnb.core.running import random_generator
from bayesnb.data.labels import Found
from bayesnb.data.read import (
    GivenRows,
    as_graph_value,
    as_partitioned_table,
    delayed_partitions,
    is_dask,
    partition_sizes,
    read_rows,
    split_labels,
    without_rows,
)
from bayesnb.data.schema import warn_unseen
from bayesnb.inference.sources import (
    Batch,
    count,
    count_batches,
    empty_problem,
    find,
    find_all,
    naming_errors,
    with_progress,
)
from bayesnb.model.bound import BoundModel, OpenSchema
from bayesnb.model.naive_bayes import Model, read_for
from bayesnb.model.problem import Problem

__all__ = ["read_batches", "read_dask", "read_parquet", "sample_dask"]

# --------------------------------------------------------------------------------------------------
# A table in batches that the user's code gives
# --------------------------------------------------------------------------------------------------


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
    schema = OpenSchema.of(model, first.rows.table.names, first.rows.table.named, classes)
    bar = partial(with_progress, progress, total=None)
    if schema.complete or once:
        if once:
            schema.require_one_pass()
        bound = schema.bind(find(schema, first))
        counting: Iterable[Batch] = chain([first], start)
    else:
        bound = schema.bind(find_all(schema, bar("categories", chain([first], start))))
        counting = read()
    return count_batches(bound, bar("statistics", counting), check, growing=schema.growing)


def _numbered(model: Model, feature_names: Any, batches: Iterable[Any]) -> Iterator[Batch]:
    """The user's batches with their numbers, without those that have no rows."""
    for i, given in enumerate(batches):
        if not isinstance(given, tuple | list) or len(given) not in (2, 3):
            raise TypeError(f"batch {i} is {a_type(given)}: give (X, y) or (X, y, sample_weight)")
        X, y, sample_weight = (*given, None)[:3]
        where = f"batch {i}"
        with naming_errors(where):
            batch = Batch(where, read_for(model, X, y, sample_weight, feature_names))
        if len(batch):
            yield batch


# --------------------------------------------------------------------------------------------------
# Dask arrays and data frames; Dask is imported inside the calls that need it
# --------------------------------------------------------------------------------------------------


def read_dask(
    model: Model,
    X: Any,
    y: Any,
    sample_weight: Any,
    classes: Any,
    check: Callable[[Problem], None],
    feature_names: Any = None,
    some: GivenRows | None = None,
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
    some : GivenRows, optional
        Rows from whose cells families take their constants, such as edges of bins.

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
    table = read_for(model, without_rows(X, named), None, None, feature_names).table
    schema = OpenSchema.of(model, table.names, table.named, classes)
    found = Found.nothing()
    if not schema.complete:
        found = _fold_partitions(_of_batch, (find, schema), X[schema.open_names] if named else X, y, sample_weight)
    bound = schema.bind(found, some)
    check(empty_problem(bound, growing=schema.growing))
    counted = _fold_partitions(_of_batch, (count, bound), X[schema.used_names] if named else X, y, sample_weight)
    if counted is None:
        raise ValueError("X has no rows: give at least one")
    warn_unseen(counted.unseen)
    return Problem(bound, counted.statistics, growing=schema.growing)


SAMPLE = 10_000
"""Rows of a sample. Weights of features from 2,000 rows cost up to .002 nats a row against those from all rows."""


@dataclass(frozen=True)
class Sample:
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
    def of(cls, seeds: np.ndarray, partition: int, *parts: Any) -> "Sample | None":
        """A sample of the rows of a partition; None if it has none."""
        with naming_errors(f"partition {partition}"):
            size = len(read_rows(*parts))
        number = np.random.default_rng(seeds[partition]).random(size)
        return cls(number, tuple(part for part in parts if part is not None)).smallest() if size else None

    def smallest(self) -> "Sample":
        """At most `SAMPLE` of the rows, in their order."""
        kept = np.sort(np.argsort(self.number)[:SAMPLE])
        return Sample(self.number[kept], tuple(getattr(part, "iloc", part)[kept] for part in self.parts))

    def __add__(self, other: "Sample") -> "Sample":
        parts = tuple(_stacked(*pair) for pair in zip(self.parts, other.parts, strict=True))
        return Sample(np.concatenate([self.number, other.number]), parts).smallest()


def _stacked(one: Any, other: Any) -> Any:
    """Rows of two partitions, one after the other."""
    if hasattr(one, "iloc"):
        import pandas as pd

        return pd.concat([one, other])
    return stacked([one, other])


def sample_dask(X: Any, y: Any, sample_weight: Any, key: Any) -> tuple[Any, Any, Any]:
    """Table, labels and weights of at most `SAMPLE` rows of a Dask table, drawn at random while the table is read.

    Parameters and errors as for `read_dask`.
    """
    X, y = split_labels(X, y)
    X, _ = _require_alike(X, y, sample_weight)
    seeds = random_generator(key).integers(2**63, size=len(delayed_partitions(X)))
    found = _fold_partitions(Sample.of, seeds, X, y, sample_weight)
    if found is None:
        raise ValueError("X has no rows: give at least one")
    return (*found.parts, None)[:3]


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
    """Sum over partitions of a function of `about`, the partition's number, X, y and weights.

    Dask adds neighbours in pairs, on the workers.
    """
    from dask import delayed

    ys = delayed_partitions(y)
    weights = [None] * len(ys) if sample_weight is None else delayed_partitions(sample_weight)
    shared = as_graph_value("about", about)
    task, add = delayed(function, pure=False), delayed(_add, pure=False)
    level = [task(shared, i, *piece) for i, piece in enumerate(zip(delayed_partitions(X), ys, weights, strict=True))]
    while len(level) > 1:
        level = [add(*pair) if len(pair) == 2 else pair[0] for pair in batched(level, 2)]
    return level[0].compute()


def _of_batch(about: tuple[Callable, Any], number: int, X: Any, y: Any, sample_weight: Any) -> Any:
    function, of = about
    with naming_errors(where := f"partition {number}"):
        rows = read_rows(X, y, sample_weight).counting()
    return function(of, Batch(where, rows))


def _add(one: Any, other: Any) -> Any:
    """Sum of two values, either of which may be None for no rows."""
    if one is None or other is None:
        return other if one is None else one
    return one + other


# --------------------------------------------------------------------------------------------------
# Parquet files of any size; pyarrow is imported inside the calls that need it
# --------------------------------------------------------------------------------------------------

BATCH_CELLS = 2**22
"""Cells of a batch by default: 32 mebibytes of float64."""

READ_BYTES = 2**16
"""Bytes of each column that are read at a time."""


def read_parquet(
    model: Model,
    paths: Any,
    target: str,
    *,
    columns: Sequence[str] | None,
    sample_weight: str | None,
    classes: Any,
    batch_rows: int | None,
    check: Callable[[Problem], None],
    progress: bool | None,
) -> Problem:
    """The problem of Parquet files; parameters and errors as for `fit_parquet`.

    `check` gets the problem before the statistics are counted, and may raise an error.
    """
    if batch_rows is not None:
        batch_rows = whole_number("batch_rows", batch_rows)
    asked_by = "columns"
    if columns is None and isinstance(model, BoundModel) and model.schema.named:
        columns, asked_by = model.used_columns, "the model"
    files = ParquetFiles.of(paths, target, sample_weight, columns, batch_rows, asked_by)
    schema = OpenSchema.of(model, files.names, True, classes)
    bar = partial(with_progress, progress, total=files.num_rows)
    found = Found.nothing()
    if not schema.complete:
        found = find_all(schema, bar("categories", files.read(schema.open_names)))
    bound = schema.bind(found)
    return count_batches(bound, bar("statistics", files.read(schema.used_names)), check, growing=schema.growing)


@dataclass(frozen=True)
class ParquetFiles:
    """Parquet files with the same columns, read one after the other as one table.

    Attributes
    ----------
    paths : tuple of Path
    target : str
        Column of the labels.
    sample_weight : str or None
        Column of the weights.
    names : tuple of str
        Columns of the table.
    num_rows : int
    batch_rows : int
    """

    paths: tuple[Path, ...]
    target: str
    sample_weight: str | None
    names: tuple[str, ...]
    num_rows: int
    batch_rows: int | None

    @classmethod
    def of(
        cls,
        paths: Any,
        target: str,
        sample_weight: str | None,
        columns: Sequence[str] | None,
        batch_rows: int | None,
        asked_by: str,
    ) -> "ParquetFiles":
        """Read the footers of all files, so that a missing column raises an error before any row is read.

        An error says that `asked_by` names `columns`.
        """
        found = _find_files(paths)
        names: tuple[str, ...] = () if columns is None else tuple(columns)
        num_rows = 0
        for path in found:
            with _open_parquet(path) as file:
                there = file.schema_arrow.names
                num_rows += file.metadata.num_rows
            if columns is None and not names:
                names = tuple(name for name in there if name not in (target, sample_weight))
            for what, name in [("target", target), ("sample_weight", sample_weight), *((asked_by, n) for n in names)]:
                if name is not None and name not in there:
                    raise ValueError(
                        f"{path} has no column {name!r}, which {what} names: its columns are {there}; all files need "
                        "the same"
                    )
            extra = [name for name in there if name not in {*names, target, sample_weight}]
            if columns is None and extra:
                raise ValueError(
                    f"{path} has the column {extra[0]!r}, which {found[0]} does not have: name the columns to "
                    "read, columns=[...]"
                )
        if target in names:
            raise ValueError(f"columns names the target {target!r}: leave it out")
        if num_rows == 0:
            raise ValueError(f"{_listed(found)} holds no rows: give at least one")
        return cls(tuple(found), target, sample_weight, names, num_rows, batch_rows)

    def read(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Batches of some of the columns, with the labels and the weights."""
        import pyarrow as pa

        weight = self.sample_weight
        wanted = [*columns, self.target] + ([] if weight is None else [weight])
        size = self.batch_rows or min(max(BATCH_CELLS // max(len(columns), 1), 1), 2**16)
        for path in self.paths:
            start = 0
            with _open_parquet(path) as file:
                for piece in file.iter_batches(size, columns=wanted, use_threads=True):
                    table = pa.Table.from_batches([piece])
                    where = f"{path}, from row {start}"
                    w = None if weight is None else table[weight].to_numpy()
                    with naming_errors(where):
                        rows = read_rows(table.select(list(columns)), _labels(table[self.target]), w).counting()
                    yield Batch(where, rows)
                    start += len(table)


def _labels(column: Any) -> Any:
    """Labels that are text as a NumPy array, which is faster to encode than a column of Python objects."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    encoded = column.combine_chunks().dictionary_encode()
    if encoded.null_count:
        return column.to_pylist()
    return np.array(encoded.dictionary.to_pylist())[encoded.indices.to_numpy()]


def _open_parquet(path: Path) -> Any:
    """A Parquet file that is read one batch at a time."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("fit_parquet needs pyarrow: pip install 'bayesnb[distributed]'") from error
    try:
        # Reading ahead, the default, keeps the whole file in memory; without a buffer a whole row group is kept.
        return pq.ParquetFile(path, pre_buffer=False, buffer_size=READ_BYTES)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} is not a Parquet file: {error}") from None


def _find_files(paths: Any) -> list[Path]:
    """The files at some paths, with the ``*.parquet`` files of each folder."""
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    found: list[Path] = []
    for path in map(Path, given):
        inside = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not inside:
            raise FileNotFoundError(f"the folder {path} holds no file *.parquet")
        found += inside
    if not found:
        raise ValueError("paths is empty: give at least one file")
    return found


def _listed(paths: Sequence[Path]) -> str:
    return str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
