"""Tables that an engine computes when it is asked: DuckDB, Polars lazy frames, Spark, Ibis."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from glob import escape
from importlib import import_module
from importlib.util import find_spec
from itertools import batched
from typing import Any

import narwhals as nw
import numpy as np

from bayesnb.core.cells import is_missing
from bayesnb.core.checking import a_type, listed, warn
from bayesnb.data.labels import as_labels, read_labels
from bayesnb.data.read import (
    LARGEST_TOTAL,
    Rows,
    collecting,
    is_dask,
    read_rows,
    require_label_column,
    require_weight_column,
)

_IN_MEMORY = ("builtins", "numpy", "pandas", "scipy", "jaxlib", "bayesnb")
"""Libraries without lazy tables. To ask narwhals takes as long as a tenth of the prediction of a row."""


def is_lazy(table: Any) -> bool:
    """Whether a table is one that narwhals knows as lazy; not a collection of Dask, which has a road of its own."""
    if type(table).__module__.partition(".")[0] in _IN_MEMORY or is_dask(table):
        return False
    try:
        return isinstance(nw.from_native(table, pass_through=True), nw.LazyFrame)
    except nw.exceptions.DuplicateError:  # whoever reads the table raises an error that names the column
        return False


def lazy_parquet(files: Sequence[Any]) -> Any:
    """A lazy table of Parquet files with the same columns, of DuckDB or Polars; None without both.

    Names are no patterns, and a folder such as ``year=2024`` gives no column.
    """
    paths = list(map(str, files))
    if find_spec("duckdb"):
        return import_module("duckdb").read_parquet([*map(escape, paths)], hive_partitioning=False)
    if find_spec("polars"):
        return import_module("polars").scan_parquet(paths, glob=False, hive_partitioning=False)
    return None


# --------------------------------------------------------------------------------------------------
# What an engine tells
# --------------------------------------------------------------------------------------------------


def _told_by_engine(frame: Any, ask: Callable[[], Any], what: str) -> Any:
    """What a function gets from the engine of a frame; ValueError with the engine's own error if it fails."""
    try:
        return ask()
    except Exception as error:  # each engine has errors of its own
        kind = frame.implementation.name.lower()
        raise ValueError(f"{kind} cannot compute {what} of X: {str(error).strip()[:500]}") from error


def types_of_columns(frame: Any) -> dict[Any, Any]:
    """The types of the columns of a frame, by name; ValueError if an engine would take a name for several."""
    types = dict(_told_by_engine(frame, lambda: frame.collect_schema().items(), "the columns"))
    if patterns := [name for name in types if name == "*" or (name.startswith("^") and name.endswith("$"))]:
        raise ValueError(f"X has a column {patterns[0]!r}, a name that engines take for several columns: rename it")
    if frame.implementation.is_spark_like() and (dotted := [name for name in types if "." in name]):
        new = dotted[0].replace(".", "_")
        raise ValueError(
            f"X has a column {dotted[0]!r}, and Spark takes a dot for that of a structure: rename it, "
            f"X.withColumnRenamed({dotted[0]!r}, {new!r})"
        )
    return types


# --------------------------------------------------------------------------------------------------
# A lazy table with its labels and weights, of which counts are collected
# --------------------------------------------------------------------------------------------------

CLASS, WEIGHT, ROWS = "__bayesnb_class", "__bayesnb_weight", "__bayesnb_rows"
"""Columns beside those of the table: the label and the weight of a row, and a number of rows."""

MOST_VALUES = 1_000_000
"""Most combinations of values that are collected."""

QUERY_SUMS = 100
"""Sums of one query: wider queries take an engine of SQL more than their share of time."""

SAMPLE = 10_000
"""Rows of a sample. Weights of features from 2,000 rows cost up to .002 nats a row against those from all rows."""

MOST_ADDED, ROWS_ADDED = 50, 20
"""Classes that a sample lacks of which rows are added, and so many rows of each."""

type Question = tuple[nw.Expr, Callable[[nw.Expr], nw.Expr]]
"""Cells and the aggregate of them by class that is asked for, such as `narwhals.Expr.sum`."""


@contextmanager
def without_rows_in_errors() -> Iterator[None]:
    """Leave out the numbers of rows of errors: collected counts have other rows than their table."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(re.sub(r", row \d+(?=:)| \(row \d+\)| in row \d+", "", str(error))) from None


class LazyTable:
    """A lazy table with the names of its labels and its weights; its engine counts and adds up.

    Parameters
    ----------
    X : lazy table
    y : str or None
        Column of the labels; None for rows that are all of one class.
    sample_weight : str, optional
        Column of the weights.
    features : mapping, optional
        Family and columns of each feature of the model, none of which may be the label's column.

    Raises
    ------
    TypeError, ValueError
        If a name is no text, or no column has it.

    Attributes
    ----------
    after_query : callable
        Is called after each query, to tell of the progress.
    """

    after_query: Callable[[], object] = staticmethod(lambda: None)

    def __init__(
        self, X: Any, y: str | None, sample_weight: str | None = None, features: Mapping[Any, Any] | None = None
    ) -> None:
        self.frame = nw.from_native(X)
        self.schema = types_of_columns(self.frame)
        if ours := [name for name in self.schema if name.startswith("__bayesnb") and name != sample_weight]:
            raise ValueError(f"X has a column {ours[0]!r}, a name that queries of the fit use: rename it")
        for name, given in (("y", y), ("sample_weight", sample_weight)):
            if given is not None and not isinstance(given, str):
                raise TypeError(f"X is a lazy table, and {name} {a_type(given)}: give the name of its column in X")
        if y is not None:
            require_label_column(y, self.schema, features)
            if self.schema[y].is_nested() or self.schema[y] == nw.Unknown:
                raise TypeError(
                    f"column {y!r} holds {self.schema[y]}, which cannot be a label: convert it to text in the query"
                )
        if sample_weight is not None:
            require_weight_column(sample_weight, self.schema)
        self.target, self.weight = y, sample_weight
        if not self.names:
            raise ValueError(f"X has no column beside {listed(self.schema)}: give those of the model, too")
        weight = [] if sample_weight is None else [nw.col(sample_weight).cast(nw.Float64).alias(WEIGHT)]
        if weight and not (self.schema[sample_weight].is_numeric() or self.schema[sample_weight] == nw.Boolean):
            raise TypeError(f"column {sample_weight!r} holds {self.schema[sample_weight]}: give weights in numbers")
        label = nw.lit(0) if y is None else self._as_labels(nw.col(y))
        self._rows = self.frame.with_columns(label.alias(CLASS), *weight)
        self._counts: dict[Any, nw.DataFrame[Any]] = {}

    def _as_labels(self, cells: Any) -> Any:
        """The labels as an expression or a series. Sums of whole numbers have 128 bits in DuckDB."""
        return cells.cast(nw.Int64) if self.schema[self.target] == nw.Int128 else cells

    def of_class(self, label: Any) -> "LazyTable":
        """The rows of a class; of a table without labels all its rows, as rows of this class."""
        rows = self.frame if self.target is None else self.frame.filter(nw.col(self.target) == label)
        of_class = LazyTable(rows.select(*self.names).to_native(), None)
        of_class._rows = of_class._rows.with_columns(nw.lit(label).alias(CLASS))
        return of_class

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that may be features."""
        return tuple(name for name in self.schema if name not in (self.target, self.weight))

    def _collected(self, collect: Callable[[], Any], what: str) -> Any:
        found = _told_by_engine(self.frame, collect, what)
        self.after_query()
        return found

    # ---- labels and weights

    @cached_property
    def labels(self) -> nw.DataFrame[Any]:
        """Each label with its number of rows, weight, and number of rows whose weight is not one.

        Raises
        ------
        ValueError
            If there is no row, a label is missing, or a weight is negative, missing or not finite.
        """
        sums = [nw.len().alias(ROWS)]
        rows = self._rows
        if self.weight is not None:
            w = nw.col(WEIGHT)
            right = (w >= 0) & (w <= LARGEST_TOTAL)
            wrong, other = (nw.when(~w.is_null() & which).then(0.0).otherwise(1.0) for which in (right, w == 1.0))
            rows = rows.select(CLASS, WEIGHT, wrong.alias("wrong"), other.alias("other"))
            sums += [nw.col(name).sum() for name in (WEIGHT, "wrong", "other")]
        found = self._collected(lambda: rows.group_by(CLASS).agg(*sums).collect(), f"the labels {self.target!r}")
        if not len(found):
            raise ValueError("X has no rows: give at least one")
        missing = np.array([is_missing(label) for label in found[CLASS].to_list()])
        if missing.any():
            number = int(found[ROWS].to_numpy()[missing].sum())
            raise ValueError(
                f"column {self.target!r} has no label in {number} row{'s' * (number > 1)} of X: leave these rows out, "
                f"or collect the table, X.{collecting(self.frame)}, for inferences that take rows without a label"
            )
        if self.weight is not None and found["wrong"].sum():
            first = self._rows.filter(w.is_null() | ~right).select(WEIGHT).head(1).collect()[WEIGHT].to_list()[0]
            large = first is not None and LARGEST_TOTAL < first < np.inf
            told = "divide all by a common factor" if large else "weights are finite and not negative"
            raise ValueError(f"sample_weight {self.weight!r} holds {first}: {told}")
        if self.weight is not None and (total := float(found[WEIGHT].sum())) > LARGEST_TOTAL:
            raise ValueError(f"sample_weight {self.weight!r} has the sum {total:g}: divide it by a common factor")
        return found

    @cached_property
    def classes(self) -> np.ndarray:
        """The labels, sorted."""
        return read_labels(self.labels[CLASS].to_native(), len(self.labels)).classes()

    def __len__(self) -> int:
        return int(self.labels[ROWS].sum())

    @property
    def weighted(self) -> bool:
        """Whether a weight is not one."""
        return self.weight is not None and bool(self.labels["other"].sum())

    def codes(self, counts: nw.DataFrame[Any], classes: np.ndarray) -> np.ndarray:
        """Position of the class of each line of counts."""
        with without_rows_in_errors():
            return read_labels(counts[CLASS].to_native(), len(counts)).codes(classes)

    def by_class(self, counts: nw.DataFrame[Any], name: str, classes: np.ndarray) -> np.ndarray:
        """The numbers of a column of lines, one for each class that occurs, shape (classes,)."""
        result = np.zeros(len(classes))
        result[self.codes(counts, classes)] = counts[name].cast(nw.Float64).fill_null(0.0).to_numpy()
        return result

    # ---- what the engine counts and adds up

    def weight_of(self, cells: nw.Expr) -> Question:
        """The question of the weight of the cells that are not missing."""
        if self.weight is None:
            return cells, nw.Expr.count
        return nw.when(~cells.is_null()).then(nw.col(WEIGHT)), nw.Expr.sum

    def sum_of(self, cells: nw.Expr) -> Question:
        """The question of the weighted sum of cells."""
        return cells if self.weight is None else cells * nw.col(WEIGHT), nw.Expr.sum

    def variance_of(self, cells: nw.Expr) -> list[Question]:
        """The question of the variance of unweighted cells, if the engine has stable ones."""
        stable = self.frame.implementation in (nw.Implementation.DUCKDB, nw.Implementation.POLARS)
        return [(cells, partial(nw.Expr.var, ddof=0))] if stable and self.weight is None else []

    def sums(self, questions: Sequence[Question], classes: np.ndarray) -> list[np.ndarray]:
        """The answer to each question, shape (classes,)."""
        found = []
        for group in batched(questions, QUERY_SUMS):
            answers = self._collected(partial(self._answers, group), "sums")
            self._require_same_rows(answers)
            found += [self.by_class(answers, f"c{k}", classes) for k, _ in enumerate(group)]
        return found

    def _answers(self, questions: Sequence[Question]) -> nw.DataFrame[Any]:
        cells = [cell.alias(f"c{k}") for k, (cell, _) in enumerate(questions)]
        aggregates = [aggregate(nw.col(f"c{k}")) for k, (_, aggregate) in enumerate(questions)]
        return self._rows.select(CLASS, *cells).group_by(CLASS).agg(nw.len().alias(ROWS), *aggregates).collect()

    def _require_same_rows(self, found: nw.DataFrame[Any]) -> None:
        """Raise ValueError if a query finds other numbers of rows by class than the labels have."""
        number = dict(found.group_by(CLASS).agg(nw.col(ROWS).sum()).rows())
        if number != dict(self.labels.select(CLASS, ROWS).rows()):
            raise ValueError("the rows of X change between two queries: give a table that stays, such as a copy")

    def counts(self, columns: Mapping[str, nw.Expr], who: str, *, kept: bool = True) -> nw.DataFrame[Any]:
        """Each label with values that occur with it, in how many rows, and their weight.

        Parameters
        ----------
        columns : mapping from name to expression
        who : str
            What needs them, for the error of more than `MOST_VALUES`.
        kept : bool
            Whether the next call with the same names has the same expressions, and gets the same counts.
        """
        names = tuple(columns)
        if kept and names in self._counts:
            return self._counts[names]
        weight = [] if self.weight is None else [nw.col(WEIGHT)]
        # By names of our own, because engines may read a dot in the name of a key as that of a table.
        keys = {f"v{k}": name for k, name in enumerate(columns)}
        values = [e.alias(key) for key, e in zip(keys, columns.values(), strict=True)]
        sums = [nw.len().alias(ROWS), *(w.sum() for w in weight)]

        def lines() -> Any:
            rows = self._rows.select(CLASS, *weight, *values).group_by(CLASS, *keys)
            return rows.agg(*sums).head(MOST_VALUES + 1).collect().rename(keys)

        found = self._collected(lines, f"the values of {listed(columns)}")
        if len(found) > MOST_VALUES:
            raise ValueError(
                f"{who} needs every value of {listed(columns)}, and X has more than {MOST_VALUES:,}: give these "
                f"columns another family, or rows in memory, X.{collecting(self.frame)} or a sample of X"
            )
        self._require_same_rows(found)
        if not weight:
            found = found.with_columns(nw.col(ROWS).cast(nw.Float64).alias(WEIGHT))
        if kept:
            self._counts[names] = found
        return found

    def first(self, cells: nw.Expr, where: nw.Expr) -> float:
        """One of the cells at which a condition holds; NaN if it is missing."""
        found = self._collected(lambda: self._rows.filter(where).select(cell=cells).head(1).collect(), "a cell")
        cell = found["cell"].to_list()[0]
        return np.nan if cell is None else float(cell)

    # ---- rows

    @cached_property
    def sampled(self) -> Rows:
        """Rows of a random sample, without their labels."""
        table, _, weights = self._parts_of(self.sample(0))
        return read_rows(table, None, weights).counting()

    def _parts_of(self, frame: nw.DataFrame[Any]) -> tuple[Any, Any, Any]:
        """The table, the labels and the weights of rows in memory; None for what the table does not have."""
        labels = None if self.target is None else as_labels(self._as_labels(frame[self.target]).to_native())
        weights = None if self.weight is None else frame[self.weight].cast(nw.Float64).to_numpy()
        return frame.select(*self.names).to_native(), labels, weights

    def sample_of_every_class(self, seed: int) -> tuple[Any, Any, Any]:
        """Table, labels and weights of a sample, with rows of the classes that it lacks.

        Warns
        -----
        UserWarning
            If more than `MOST_ADDED` classes are lacking.
        """
        frame = self.sample(seed)
        if self.target is None:
            return self._parts_of(frame)
        shown = {*frame[self.target].to_list()}
        lacking = [label for label in self.classes.tolist() if label not in shown]
        if len(lacking) > MOST_ADDED:
            warn(
                f"a sample of {len(frame):,} rows of X has no row of {len(lacking)} classes, such as {lacking[0]!r}: "
                f"what is learned from single rows has rows of {MOST_ADDED} of these alone",
                UserWarning,
            )
        rare = [self.frame.filter(nw.col(self.target) == label).head(ROWS_ADDED) for label in lacking[:MOST_ADDED]]
        added = (self._collected(rows.collect, "rows of a rare class") for rows in rare)
        return self._parts_of(nw.concat([frame, *added]))

    def sample(self, seed: int) -> nw.DataFrame[Any]:
        """At most `SAMPLE` rows in memory, drawn at random by the engine; all of a table that has no more.

        The same seed gives the same rows where the engine reads them in the same order.
        """
        if len(self) <= SAMPLE:
            return self._collected(self.frame.collect, "the rows")
        native = nw.to_native(self.frame)
        share = min(1.0, (SAMPLE + 4 * SAMPLE**0.5) / len(self))
        draw: dict[str, Callable[[], Any]] = {
            "DUCKDB": lambda: native.query(
                "__rows", f"SELECT * FROM __rows USING SAMPLE reservoir({SAMPLE} ROWS) REPEATABLE ({seed})"
            ),
            "POLARS": lambda: self._polars_sample(native, seed),
            "PYSPARK": lambda: native.sample(fraction=share, seed=seed),
            "IBIS": lambda: native.sample(share, seed=seed),
        }
        kind = self.frame.implementation.name
        if kind not in draw:
            raise ValueError(f"{kind.lower()} draws no random rows here: give a sample of X in memory")
        found = self._collected(lambda: nw.from_native(draw[kind]()).lazy().collect(), "a random sample")
        if len(found) > SAMPLE:
            kept = np.sort(np.random.default_rng(seed).permutation(len(found))[:SAMPLE])
            found = found[kept.tolist()]
        return found

    def _polars_sample(self, native: Any, seed: int) -> Any:
        import polars as pl

        chosen = np.random.default_rng(seed).choice(len(self), SAMPLE, replace=False)
        place = "__bayesnb_row"
        rows = native.with_row_index(place).filter(pl.col(place).is_in(np.sort(chosen).tolist())).drop(place)
        return rows.collect(engine="streaming")

    def without_rows(self) -> Any:
        """A table in memory with the columns and no row."""
        return self._collected(self.frame.select(*self.names).head(0).collect, "the columns").to_native()
