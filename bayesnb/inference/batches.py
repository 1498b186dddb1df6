"""Fits of tables that do not fit in memory: in batches, and in Parquet files."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from bayesnb.core.checking import a_type, as_path, naming_errors, whole_number
from bayesnb.core.running import progress_bar
from bayesnb.data.labels import Found
from bayesnb.data.lazy_table import lazy_parquet
from bayesnb.data.read import Rows, read_rows
from bayesnb.families.family import Family
from bayesnb.families.hyperparameters import keeps_others
from bayesnb.inference.exact import Inference
from bayesnb.inference.fit import as_inference, conditioned
from bayesnb.inference.sources import Batch, count_batches, read_by_engine
from bayesnb.model.blocks import categorical_columns
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import Model, as_model, read_for
from bayesnb.model.open_schema import OpenSchema
from bayesnb.posterior.posterior import Posterior

# --------------------------------------------------------------------------------------------------
# The schema and the batches, for both functions
# --------------------------------------------------------------------------------------------------


def _find(schema: OpenSchema, where: str, rows: Rows) -> Found:
    """The labels and categories of a batch, as far as they are not known."""
    with naming_errors(where):
        return schema.find(rows)


def _find_all(schema: OpenSchema, read: Callable[[str], Iterable[Batch]]) -> Found:
    """Whatever the schema lacks, from one pass over all batches; `read` is told the purpose of the pass."""
    batches = () if schema.complete else read("categories")
    return sum((_find(schema, *batch) for batch in batches), start=Found())


def _with_progress(asked: bool | None, what: str, batches: Iterable[Batch], total: int | None) -> Iterator[Batch]:
    """The batches, with a progress bar that counts their rows; `asked` as for `progress_bar`, `total` may be None."""
    with progress_bar(what, "row", asked, total=total, unit_scale=True, leave=True) as bar:
        for batch in batches:
            yield batch
            bar.update(len(batch[1]))


# --------------------------------------------------------------------------------------------------
# A table in batches that the user's code gives
# --------------------------------------------------------------------------------------------------


def fit_batches(
    model: Model | Family,
    batches: Any,
    inference: Inference | str | None = None,
    *,
    classes: Any = None,
    feature_names: Any = None,
    key: Any = 0,
    progress: bool | None = None,
) -> Posterior:
    """Condition a model on a table in batches. One batch is in memory at a time.

    The result is that of `fit` to all the batches at once, up to the order of summation.

    Parameters
    ----------
    model : NaiveBayes, BoundModel or Family
    batches : iterable, or callable that returns one
        Of ``(X, y)`` or ``(X, y, sample_weight)``, each as for `fit`, so that y may be the name of a column; no label
        may be missing. If classes, categories or bins are not known, a list or a callable is read twice, first to find
        them. An iterator is read once, and needs `classes`, and a bound model where bins are made of numbers. A
        category that occurs first in a later batch becomes the last of its column. It has the prior that a fit to all
        rows would have given it.
    inference : Inference or str, optional
        `Exact()` by default; any that reads statistics.
    classes : sequence or int, optional
        As for `fit`. With these, and `Categorical(categories=...)` for columns of categories, the rows are read once.
    feature_names : sequence, shape (columns,), optional
        As for `fit`.
    key : int or JAX key, default 0
        Source of randomness, for inferences that have any.
    progress : bool, optional
        Whether to show progress, by default unless the environment variable CI is set: a bar on a terminal, in a
        notebook or if True is given, else lines of text, the first after two seconds and then every ten.

    Returns
    -------
    Posterior

    Raises
    ------
    ValueError, TypeError
        As for `fit`, naming the batch, counted from 0; or if there is no row, or an iterator comes without `classes`,
        or with bins to make.

    See Also
    --------
    fit : Fit a table in memory.
    fit_parquet : Fit Parquet files.
    Posterior.update : Add rows to the data.

    Examples
    --------
    >>> import bayesnb as nb
    >>> batches = [([[1, 0], [1, 1]], ["a", "a"]), ([[0, 1]], ["b"])]
    >>> posterior = nb.fit_batches(nb.Bernoulli(), batches)
    >>> posterior.predict_proba([[1, 1]]).round(3)
    array([[0.717, 0.283]])
    """
    model, inference = as_model(model), as_inference(inference)
    if not callable(batches) and not isinstance(batches, Iterable):
        raise TypeError(f"batches is {batches!r}: give an iterable of (X, y), or a callable that returns one")

    def begin() -> Iterator[Batch]:
        return _numbered(model, feature_names, batches() if callable(batches) else batches)

    start = begin()
    first = next(start, None)
    if first is None:
        raise ValueError("batches holds no rows: give at least one")
    table = first[1].table
    schema = OpenSchema.of(model, table.names, table.named, classes)
    begun = [chain([first], start)]

    def read(what: str) -> Iterator[Batch]:
        return _with_progress(progress, what, begun.pop() if begun else begin(), None)

    if isinstance(batches, Iterator) and not schema.complete:
        _require_one_pass(schema, found := _find(schema, *first))
    else:
        found = _find_all(schema, read)
    problem = count_batches(schema, found, read("statistics"), inference.check)
    return conditioned(problem, inference, classes, key)


def _require_one_pass(schema: OpenSchema, found: Found) -> None:
    """Raise a ValueError if one pass over the rows is not enough, given what the first of them show."""
    lacks = ""
    if schema.classes is None:
        lacks = "its classes are unknown: give classes=[...]"
    elif found.numbers:
        name = schema.columns.names([min(found.numbers)])[0]
        lacks = f"bins of column {name!r} are made of all rows: give a model bound to rows in memory, model.bind(X, y)"
    for _, family, listed in categorical_columns(schema.model.features, schema.columns):
        if not lacks and keeps_others(family) and listed is None:
            lacks = "Categorical(other=True) needs those counted separately: give Categorical(categories=...)"
    if lacks:
        raise ValueError(
            f"batches is an iterator, which can be read only once, and {lacks}, or a callable that returns a fresh "
            "iterator, which is then read twice"
        )


def _numbered(model: Model, feature_names: Any, batches: Iterable[Any]) -> Iterator[Batch]:
    """The user's batches with their numbers, without those that have no rows."""
    for i, given in enumerate(batches):
        if not isinstance(given, tuple | list) or len(given) not in (2, 3):
            raise TypeError(f"batch {i} is {a_type(given)}: give (X, y) or (X, y, sample_weight)")
        X, y, sample_weight = (*given, None)[:3]
        with naming_errors(where := f"batch {i}"):
            rows = read_for(model, X, y, sample_weight, feature_names)
        if len(rows):
            yield where, rows


# --------------------------------------------------------------------------------------------------
# Parquet files of any size; pyarrow is imported inside the calls that need it
# --------------------------------------------------------------------------------------------------

BATCH_CELLS = 2**22
"""Default number of cells in a batch: 32 mebibytes of float64."""

READ_BYTES = 2**16
"""Number of bytes of a column that are read at a time."""


def fit_parquet(
    model: Model | Family,
    paths: Any,
    target: str,
    inference: Inference | str | None = None,
    *,
    columns: Sequence[str] | None = None,
    sample_weight: str | None = None,
    classes: Any = None,
    batch_rows: int | None = None,
    key: Any = 0,
    progress: bool | None = None,
) -> Posterior:
    """Condition a model on Parquet files of any size. One batch of rows is in memory at a time.

    The result is that of `fit` to the whole table, up to the order of summation. Only the columns that the model uses
    are read. If classes, categories or bins are not known, the columns that hold them are first read to find them.

    Parameters
    ----------
    model : NaiveBayes, BoundModel or Family
    paths : str or path, or sequence of them
        Files with the same columns, in any order; a folder means the ``*.parquet`` files in it.
    target : str
        Column of the labels. No label may be missing.
    inference : Inference or str, optional
        `Exact()` by default; any that reads statistics.
    columns : sequence of str, optional
        Columns of the table; by default those of a bound model, else all but the target and the weights.
    sample_weight : str, optional
        Column of the weights of the rows.
    classes : sequence or int, optional
        As for `fit`. With these, and `Categorical(categories=...)` for columns of categories, the rows are read once.
    batch_rows : int, optional
        Rows in memory at a time; by default the rows of four million cells, 65,536 at most. If it is not given,
        DuckDB or Polars counts in a tenth of the time where it is installed. Rows are then read for bins of numbers,
        for categories that a file lists, as those of pandas do, and for errors and warnings that name a cell, alone.
    key : int or JAX key, default 0
        Source of randomness, for inferences that have any.
    progress : bool, optional
        As for `fit_batches`; of DuckDB and Polars the bar counts their readings.

    Returns
    -------
    Posterior

    Raises
    ------
    ValueError, TypeError
        As for `fit`, naming the file and the rows; or if a file is not Parquet or lacks a column.
    FileNotFoundError
        If a file does not exist, or a folder has no ``*.parquet`` file.
    ImportError
        Without pyarrow, which comes with ``bayesnb[distributed]``.

    See Also
    --------
    fit : Fit a table in memory.
    fit_batches : Fit a table that comes in batches.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import bayesnb as nb
    >>> frame = pd.DataFrame({"red": [1, 1, 0], "round": [0, 1, 1], "label": ["a", "a", "b"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     frame.to_parquet(f"{folder}/rows.parquet")
    ...     posterior = nb.fit_parquet(nb.Bernoulli(), folder, "label")
    >>> posterior.predict_proba(frame[["red", "round"]]).round(3)
    array([[0.835, 0.165],
           [0.717, 0.283],
           [0.297, 0.703]])
    """
    model, inference = as_model(model), as_inference(inference)
    if batch_rows is not None:
        batch_rows = whole_number("batch_rows", batch_rows)
    asked_by = "columns"
    if columns is None and isinstance(model, BoundModel) and model.schema.named:
        columns, asked_by = model.used_columns, "the model"
    files = _find_files(paths)
    names, num_rows, alike = _read_footers(files, target, sample_weight, columns, asked_by)

    schema = OpenSchema.of(model, names, True, classes)

    def read(what: str) -> Iterator[Batch]:
        wanted = schema.open_names if what == "categories" else schema.used_names
        return _with_progress(progress, what, _file_batches(files, target, sample_weight, wanted, batch_rows), num_rows)

    problem = None
    if alike and batch_rows is None and (table := lazy_parquet(files)) is not None:
        weight = [] if sample_weight is None else [sample_weight]
        table = nw.from_native(table).select(*names, target, *weight).to_native()
        with progress_bar("statistics", "reading", progress) as bar:
            problem = read_by_engine(model, table, target, sample_weight, classes, inference.check, bar.update)
            bar.leave = problem is not None
    if problem is None:
        problem = count_batches(schema, _find_all(schema, read), read("statistics"), inference.check)
    return conditioned(problem, inference, classes, key)


def _read_footers(
    files: Sequence[Path], target: str, sample_weight: str | None, columns: Sequence[str] | None, asked_by: str
) -> tuple[tuple[str, ...], int, bool]:
    """Names of the columns, number of rows of all files, and whether an engine reads what the files hold.

    A missing column raises an error before a row is read. An engine would cast columns of several types to one, and
    leave out the categories that a file lists and no row has.

    An error says that `asked_by` names `columns`.
    """
    names: tuple[str, ...] = () if columns is None else tuple(columns)
    num_rows, types = 0, set()
    for path in files:
        with _open_parquet(path) as file:
            there = file.schema_arrow.names
            num_rows += file.metadata.num_rows
            types |= {(field.name, str(field.type)) for field in file.schema_arrow}
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
                f"{path} has the column {extra[0]!r}, which {files[0]} does not have: name the columns to "
                "read, columns=[...]"
            )
    if target in names:
        raise ValueError(f"columns names the target {target!r}: leave it out")
    if num_rows == 0:
        raise ValueError(
            f"{files[0]}{f' and {len(files) - 1} more' * (len(files) > 1)} holds no rows: give at least one"
        )
    used = [(name, kind) for name, kind in types if name in {*names, target, sample_weight}]
    listed = any(kind.startswith("dictionary") for _, kind in used)
    return names, num_rows, len(used) == len({name for name, _ in used}) and not listed


def _file_batches(
    files: Sequence[Path], target: str, weight: str | None, columns: Sequence[str], batch_rows: int | None
) -> Iterator[Batch]:
    """Batches of some of the columns, with the labels and the weights."""
    import pyarrow as pa

    wanted = [*columns, target] + ([] if weight is None else [weight])
    size = batch_rows or min(max(BATCH_CELLS // max(len(columns), 1), 1), 2**16)
    for path in files:
        start = 0
        with _open_parquet(path) as file:
            for piece in file.iter_batches(size, columns=wanted, use_threads=True):
                table = pa.Table.from_batches([piece])
                w = None if weight is None else table[weight].to_numpy()
                with naming_errors(where := f"{path}, from row {start}"):
                    rows = read_rows(table.select(list(columns)), _text_labels(table[target]), w).counting()
                if len(rows):
                    yield where, rows
                start += len(table)


def _text_labels(column: Any) -> Any:
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
    except OSError as error:
        raise type(error)(f"{path} cannot be read: {error}") from None


def _find_files(paths: Any) -> list[Path]:
    """The files at some paths, with the ``*.parquet`` files of each folder."""
    several = isinstance(paths, Iterable) and not isinstance(paths, str | bytes)
    found: list[Path] = []
    for path in [as_path(each, "paths") for each in (paths if several else [paths])]:
        if not (os.path.isdir(path) or os.path.isfile(path)):
            raise FileNotFoundError(f"there is no file {str(path)!r}: paths are Parquet files or folders of them")
        inside = sorted(path.glob("*.parquet")) if os.path.isdir(path) else [path]
        if not inside:
            lazily = f"nb.fit takes those of its own folders as polars.scan_parquet({str(path)!r})"
            raise FileNotFoundError(f"the folder {path} holds no file *.parquet: {lazily}")
        found += inside
    if not found:
        raise ValueError("paths is empty: give at least one file")
    return found
