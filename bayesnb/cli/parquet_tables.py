"""Parquet files of the command line, of any size: DuckDB or Polars computes what is asked of them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd

from bayesnb.data.elsewhere import sample_elsewhere
from bayesnb.data.lazy_cells import of_key
from bayesnb.data.lazy_table import lazy_parquet, types_of_columns
from bayesnb.posterior.lazy_predictions import require_new_columns
from bayesnb.posterior.posterior import Posterior


def is_parquet(path: Any) -> bool:
    """Whether a name is that of Parquet files, perhaps with a pattern such as ``data/*.parquet``."""
    return str(path).endswith((".parquet", ".pq"))


def parquet_files(files: Any) -> list[Path]:
    """The file of this name; if there is none, the files whose names match it as a pattern."""
    named = Path(files)
    return [named] if named.exists() else sorted(map(Path, glob(str(files), recursive=True)))


def opened_parquet(files: str, options: Sequence[Any]) -> Any:
    """A lazy table of Parquet files.

    Parameters
    ----------
    files : str
        A path, perhaps with a pattern.
    options : sequence
        What is given for CSV files alone, and is to be empty.

    Raises
    ------
    ValueError
        If there is no file, it cannot be read, or an option is given.
    ImportError
        Without DuckDB and Polars.
    """
    if any(options):
        raise ValueError(f"{files!r} is Parquet, whose cells have types: --missing, --sep and --decimal are for CSV")
    if not (found := parquet_files(files)):
        raise ValueError(f"there is no file {files!r}")
    with _naming(files, "read"):
        if (table := lazy_parquet(found)) is None:
            raise ImportError("Parquet files need DuckDB or Polars: pip install 'bayesnb[lazy]'")
        nw.from_native(table).collect_schema()  # Polars looks into the files now
    return table


@contextmanager
def _naming(files: Any, done: str) -> Iterator[None]:
    """Raise an engine's error as a ValueError that names the files, and what cannot be done."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:  # each engine has errors of its own
        raise ValueError(f"{str(files)!r} cannot be {done} as Parquet: {error}") from error


def labelled_sample(table: Any, target: str) -> tuple[Any, pd.DataFrame]:
    """The rows of a lazy table that have a label, and some of them in memory, drawn at random."""
    frame: Any = nw.from_native(table)
    if target in types_of_columns(frame):  # else the sample names it
        frame = frame.filter(~nw.col(target).is_null())
    labelled = frame.to_native()
    features, labels, _ = sample_elsewhere(labelled, target, None, 0)
    return labelled, nw.from_native(features).to_pandas().assign(**{target: labels})


def write_predictions(posterior: Posterior, table: Any, out: Path) -> None:
    """Write a lazy table with the class probabilities and the most probable class of each row, ``prediction``.

    The file is there whole or not at all, and no row is in memory for longer than the engine needs it.

    Raises
    ------
    TypeError, ValueError
        As for `predict_proba` of a lazy table; or if it has a column ``prediction``, or the file cannot be written.
    """
    scores: Any = nw.from_native(posterior.predict_proba(table))
    require_new_columns(scores.collect_schema().names(), ["prediction"])
    proba = [nw.col(f"proba_{label}") for label in posterior.classes]
    best, labels = nw.max_horizontal(*proba), posterior.classes.tolist()
    found = of_key(best, proba, labels, nw.lit(labels[-1]))
    found = nw.when(~best.is_null()).then(found)  # a row with a number that its family does not hold has none
    made = out.with_name(f".{out.name}.part")
    try:
        with _naming(out, "written"):
            scores.with_columns(found.alias("prediction")).sink_parquet(made)
        made.replace(out)
    finally:
        made.unlink(missing_ok=True)
