"""Parquet files of any size; pyarrow is imported inside the calls that need it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import Model
from bayesnb.problem import Problem
from bayesnb.sources.batch import Batch, with_progress
from bayesnb.sources.counting import count_batches
from bayesnb.sources.open_schema import Found, OpenSchema
from bayesnb.validate import whole_number

__all__ = ["ParquetFiles", "read_parquet"]

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
        found = schema.find_all(bar("categories", files.read(schema.open_names)))
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
        rows = self.batch_rows or min(max(BATCH_CELLS // max(len(columns), 1), 1), 2**16)
        for path in self.paths:
            start = 0
            with _open_parquet(path) as file:
                for piece in file.iter_batches(rows, columns=wanted, use_threads=True):
                    table = pa.Table.from_batches([piece])
                    where = f"{path}, from row {start}"
                    w = None if weight is None else table[weight].to_numpy()
                    yield Batch(where, table.select(list(columns)), _labels(table[self.target]), w)
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
