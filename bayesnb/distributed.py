"""Tables larger than memory, or than one machine: the same statistics, folded over partitions, batches and files.

Dask and pyarrow are imported where they are used; what needs neither runs without them.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import batched, chain
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb.blocks import ModelStatistics
from bayesnb.description import categorical_columns, read_classes
from bayesnb.families.base import Family
from bayesnb.families.fast import whole_number
from bayesnb.growth import with_new_categories
from bayesnb.inference.base import Inference
from bayesnb.inference.fit import as_inference, as_model
from bayesnb.inference.nuts import shows_progress, tqdm
from bayesnb.model import NaiveBayes
from bayesnb.posterior.base import Posterior
from bayesnb.problem import Problem
from bayesnb.tables.array import ArrayTable
from bayesnb.tables.categories import shown_categories, warn_unseen
from bayesnb.tables.labels import learn_classes
from bayesnb.tables.read import as_table, is_dask
from bayesnb.tables.schema import Schema
from bayesnb.tables.table import Table
from bayesnb.tables.weighted import weighted_table

__all__ = ["fit_batches", "fit_parquet", "map_partitions", "read_partitions"]

BATCH_CELLS = 2**22
"""Cells of a batch of a Parquet file, where nobody says: 32 mebibytes of float64."""

READ_BYTES = 2**16
"""Bytes of each column of a Parquet file that are read at a time."""

NO_ROWS = "X has no rows: give at least one"

Unseen = Mapping[Any, Mapping[Any, int]]
"""By column the values that are not among its categories, with their number."""


def fit_batches(
    model: NaiveBayes | Family,
    batches: Any,
    inference: Inference | None = None,
    *,
    classes: Any = None,
    key: Any = 0,
    progress: bool | None = None,
) -> Posterior:
    """Condition a model on a table that comes in batches, one of which stands in memory at a time.

    The result is that of `fit` to all the batches at once, up to the order of summation.

    Parameters
    ----------
    model : NaiveBayes or Family
    batches : iterable, or callable that returns one
        Of ``(X, y)`` or ``(X, y, sample_weight)``, each as for `fit`; no label may be missing. Where classes or
        categories have to be found, a callable and what can be iterated again (a list) are read twice. An iterator is
        read once: it needs `classes`, and a category first met in a later batch becomes the last of its column, with
        the prior that a fit to all rows would have had.
    inference : Inference, optional
        `Exact()` by default; any that reads statistics.
    classes : sequence or int, optional
        As for `fit`. With these, and `Categorical(categories=...)` where there are categories, one pass suffices.
    key : int or JAX key, default 0
        Source of randomness, for inferences that have any.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal and in a notebook, and not where the environment
        variable CI is set.

    Returns
    -------
    Posterior

    Raises
    ------
    ValueError, TypeError
        As for `fit`, naming the batch, counted from 0; or if there is no row, or an iterator comes without `classes`.

    Examples
    --------
    >>> import bayesnb as nb
    >>> batches = [([[1, 0], [1, 1]], ["a", "a"]), ([[0, 1]], ["b"])]
    >>> posterior = nb.fit_batches(nb.Bernoulli(), batches)
    >>> posterior.predict_proba([[1, 1]]).round(3)
    array([[0.717, 0.283]])
    """
    model, inference = as_model(model), as_inference(inference)
    once = isinstance(batches, Iterator)
    if not callable(batches) and not isinstance(batches, Iterable):
        raise TypeError(f"batches is {batches!r}: give an iterable of (X, y), or a callable that returns one")

    def read() -> Iterator[Batch]:
        return _numbered(batches() if callable(batches) else batches)

    start = read()
    first = next(start, None)
    if first is None:
        raise ValueError("batches holds no rows: give at least one")
    table = as_table(first.X)
    draft = Draft.of(model, table.names, table.named, classes)
    bar = partial(_bar, progress, total=None, unit="row")
    if draft.complete or once:
        if once:
            draft.require_one_pass()
        bound = draft.bind(draft.look(first))
        counting: Iterable[Batch] = chain([first], start)
    else:
        bound = draft.bind(_look(draft, bar("categories", chain([first], start))))
        counting = read()
    return _condition(bound, bar("statistics", counting), inference, key, growing=draft.growing)


def fit_parquet(
    model: NaiveBayes | Family,
    paths: Any,
    target: str,
    inference: Inference | None = None,
    *,
    columns: Sequence[str] | None = None,
    sample_weight: str | None = None,
    classes: Any = None,
    batch_rows: int | None = None,
    key: Any = 0,
    progress: bool | None = None,
) -> Posterior:
    """Condition a model on Parquet files of any size, read once, a batch of rows in memory at a time.

    The result is that of `fit` to the whole table, up to the order of summation. Only the columns that the model uses
    are read. Where classes or categories have to be found, the columns that hold them are read once more.

    Parameters
    ----------
    model : NaiveBayes or Family
    paths : str or path, or sequence of them
        Files of the same columns, in any order of the columns; a folder stands for the ``*.parquet`` files in it.
    target : str
        Column of the labels, none of which may be missing.
    inference : Inference, optional
        `Exact()` by default; any that reads statistics.
    columns : sequence of str, optional
        Columns of the table; by default all but the target and the weights.
    sample_weight : str, optional
        Column of the weights of the rows.
    classes : sequence or int, optional
        As for `fit`. With these, and `Categorical(categories=...)` where there are categories, one pass suffices.
    batch_rows : int, optional
        Rows in memory at a time; by default as many as make four million cells, 65,536 at most.
    key : int or JAX key, default 0
        Source of randomness, for inferences that have any.
    progress : bool, optional
        As for `fit_batches`.

    Returns
    -------
    Posterior

    Raises
    ------
    ValueError, TypeError
        As for `fit`, naming the file and the rows; or if a file is not Parquet or lacks a column.
    FileNotFoundError
        If a path leads nowhere.
    ImportError
        Without pyarrow, which comes with ``bayesnb[distributed]``.
    """
    model, inference = as_model(model), as_inference(inference)
    if batch_rows is not None:
        batch_rows = whole_number("batch_rows", batch_rows)
    files = ParquetFiles.of(paths, target, sample_weight, columns, batch_rows)
    draft = Draft.of(model, files.names, True, classes)
    bar = partial(_bar, progress, total=files.num_rows, unit="row")
    open_columns = [files.names[position] for position in draft.open_columns]
    bound = draft.bind(
        Shown.nothing() if draft.complete else _look(draft, bar("categories", files.read(open_columns, weights=True)))
    )
    wanted = [files.names[position] for position in draft.used] if draft.named else list(files.names)
    return _condition(bound, bar("statistics", files.read(wanted, weights=True)), inference, key, growing=draft.growing)


def read_partitions(
    model: NaiveBayes, X: Any, y: Any, sample_weight: Any, classes: Any, check: Callable[[Problem], None]
) -> Problem:
    """The problem of a Dask array or data frame: its statistics counted where its partitions are, and merged in pairs.

    Parameters
    ----------
    model : NaiveBayes
    X : Dask array or data frame, shape (rows, columns)
    y : Dask array or series, shape (rows,)
        In the partitions of X.
    sample_weight : Dask array or series, shape (rows,), optional
        In the partitions of X.
    classes : sequence or int, optional
    check : callable
        Told of the problem before the rows are read; may raise.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError, TypeError
        As for `fit`, naming the partition, counted from 0; or if X, y and weights are not partitioned alike.
    """
    X, named = _require_alike(X, y, sample_weight)
    names = tuple(X.columns) if named else tuple(range(X.shape[1]))
    draft = Draft.of(model, names, named, classes)
    shown = Shown.nothing()
    if not draft.complete:
        wanted = [names[position] for position in draft.open_columns]
        shown = _fold_partitions(Draft.look, draft, X[wanted] if named else X, y, sample_weight)
    bound = draft.bind(shown)
    check(_empty_problem(bound, growing=draft.growing))
    if named and draft.named:
        X = X[[names[position] for position in draft.used]]
    # Bound anew, the model travels without the arrays that it has laid out here.
    travelling = bound.with_schema(bound.schema)  # type: ignore[arg-type]
    counted = _fold_partitions(count, travelling, X, y, sample_weight)
    if counted is None:
        raise ValueError(NO_ROWS)
    warn_unseen(counted.unseen)
    return Problem(bound, counted.statistics, growing=draft.growing)


def map_partitions(posterior: Posterior, method: str, X: Any, args: tuple, kwargs: Mapping[str, Any]) -> Any:
    """What a method of a posterior says of each row, as a Dask array in the partitions of X.

    Parameters
    ----------
    posterior : Posterior
    method : str
        Name of the method, whose first argument is X.
    X : Dask array or data frame, shape (rows, columns)
    args, kwargs
        Its other arguments.

    Returns
    -------
    dask.array.Array, shape (rows, ...)
        Its chunk sizes are unknown where those of X are.
    """
    import dask.array as da
    from dask import delayed

    X, named = _as_partitioned_table(X)
    empty = X._meta if named else np.empty((0, X.shape[1]))
    posterior.model.columns_in(as_table(empty))
    like = getattr(posterior, method)(empty, *args, **kwargs)
    call = _leaf("posterior", partial(_answer, posterior, method, args, dict(kwargs)))
    sizes = _sizes(X) or [np.nan] * len(_delayed(X))
    pieces = [
        da.from_delayed(delayed(_call, pure=False)(call, piece), (size, *like.shape[1:]), dtype=like.dtype)
        for size, piece in zip(sizes, _delayed(X), strict=True)
    ]
    return da.concatenate(pieces, allow_unknown_chunksizes=True)


@dataclass(frozen=True)
class Batch:
    """Some rows, and what to call them in errors."""

    where: str
    X: Any
    y: Any
    sample_weight: Any = None

    @property
    def num_rows(self) -> int:
        """Number of rows, by what X says."""
        return as_table(self.X).num_rows

    @property
    def table(self) -> Table:
        """The rows as a table; rows of weight zero add no category."""
        return weighted_table(self.X, self.sample_weight)


@dataclass(frozen=True)
class Shown:
    """What rows show of a schema that is still open.

    Attributes
    ----------
    labels : tuple of array
        The distinct labels of each batch that was looked at.
    declared : dict
        By position the categories that columns' types list, in their order.
    met : dict
        By position the values met in columns whose types list none.
    """

    labels: tuple[np.ndarray, ...]
    declared: dict[int, tuple]
    met: dict[int, frozenset]

    @classmethod
    def nothing(cls) -> "Shown":
        """Of no rows."""
        return cls((), {}, {})

    def __add__(self, other: "Shown") -> "Shown":
        declared = dict(self.declared)
        for position, categories in other.declared.items():
            declared[position] = tuple(dict.fromkeys((*declared.get(position, ()), *categories)))
        met = dict(self.met)
        for position, values in other.met.items():
            met[position] = met.get(position, frozenset()) | values
        labels = (*self.labels, *other.labels)
        return Shown((_distinct(labels),) if labels else (), declared, met)


def _distinct(labels: Sequence[np.ndarray]) -> np.ndarray:
    kinds = {part.dtype.kind for part in labels}
    together = np.concatenate(labels) if len(kinds) == 1 and kinds != {"O"} else _as_list(labels)
    return learn_classes(together, len(together))


def _as_list(labels: Sequence[np.ndarray]) -> list:
    return [label for part in labels for label in part.tolist()]


@dataclass(frozen=True)
class Draft:
    """A model beside the columns of a table, some of whose classes and categories are still to be found.

    Attributes
    ----------
    model : NaiveBayes
    names : tuple
        The table's columns.
    named : bool
        Whether these are names and not positions.
    classes : array or None
        None where the labels have to be found.
    open_columns : tuple of int
        Positions of the columns whose categories have to be found.
    """

    model: NaiveBayes
    names: tuple[Any, ...]
    named: bool
    classes: np.ndarray | None
    open_columns: tuple[int, ...]

    @classmethod
    def of(cls, model: NaiveBayes, names: tuple[Any, ...], named: bool, classes: Any) -> "Draft":
        """The draft of a model, which is complete where the model is bound already."""
        if model.bound:
            model = model if classes is None else model.with_classes(classes)
            schema = model.schema
            assert schema is not None
            return cls(model, names, named and schema.named, schema.classes, ())
        columns = categorical_columns(model.features, Schema(names, named, np.empty(0)))
        open_columns = tuple(position for position, _, listed in columns if listed is None)
        return cls(model, names, named, None if classes is None else read_classes(classes), open_columns)

    @property
    def growing(self) -> bool:
        """Whether rows may bring more categories; not if the model is already bound."""
        return not self.model.bound

    @property
    def complete(self) -> bool:
        """Whether nothing has to be found."""
        return self.classes is not None and not self.open_columns

    @property
    def used(self) -> list[int]:
        """Positions of the columns that the model reads."""
        schema = Schema(self.names, self.named, np.empty(0))
        features = self.model.features.items()
        return sorted({p for name, (_, columns) in features for p in schema.positions(name, columns)})

    def require_one_pass(self) -> None:
        """Refuse what one pass cannot find.

        Raises
        ------
        ValueError
        """
        again = "or a callable that returns a fresh iterator, which is then read twice"
        if self.classes is None:
            raise ValueError(
                "batches is an iterator, which can be read only once, and which classes there are is not known: give "
                f"classes=[...], {again}"
            )
        schema = Schema(self.names, self.named, np.empty(0))
        for _, family, listed in categorical_columns(self.model.features, schema):
            if family.other and listed is None:
                raise ValueError(
                    "batches is an iterator, which can be read only once, and Categorical(other=True) needs to know "
                    f"which categories have a place of their own: give Categorical(categories=...), {again}"
                )

    def look(self, batch: Batch) -> Shown:
        """What a batch shows of what is open."""
        with _naming(batch.where):
            table = batch.table
            labels: tuple[np.ndarray, ...] = ()
            if self.classes is None and _has_rows(table, batch.y):
                labels = (learn_classes(batch.y, table.num_rows),)
            (where,) = Schema(self.names, self.named, np.empty(0)).locate(table, [self.open_columns])
            declared, met = {}, {}
            for position, there in zip(self.open_columns, where, strict=True):
                found = table.declared_categories(there)
                if found is not None:
                    declared[position] = found
                else:
                    met[position] = frozenset(shown_categories(table, there))
            return Shown(labels, declared, met)

    def bind(self, shown: Shown) -> NaiveBayes:
        """The model bound to the columns, with classes and categories as they were found."""
        if self.complete and self.model.bound:
            return self.model
        if self.classes is None and not shown.labels:
            raise ValueError(NO_ROWS)
        classes = _distinct(shown.labels) if self.classes is None else self.classes
        outline = Outline(np.empty((0, len(self.names))), self.names, 0, self.named, shown=shown)
        return self.model.bind(outline, classes=classes)


@dataclass(frozen=True)
class Outline(ArrayTable):
    """A table without rows that shows the categories found in others."""

    shown: Shown = field(default_factory=lambda: Shown.nothing())

    def values(self, column: int, rows: slice) -> np.ndarray:
        found = list({*self.shown.met.get(column, ()), *self.shown.declared.get(column, ())})
        values = np.empty(len(found), dtype=object)
        values[:] = found
        return values

    def declared_categories(self, column: int) -> tuple | None:
        # Where some batches list categories and others only show values, all are sorted, as if none had listed any.
        return None if self.shown.met.get(column) else self.shown.declared.get(column)


@dataclass(frozen=True)
class Counted:
    """Statistics of rows, with the cells whose categories the model does not know."""

    statistics: ModelStatistics
    unseen: Unseen

    def __add__(self, other: "Counted") -> "Counted":
        return Counted(self.statistics + other.statistics, _add_unseen(self.unseen, other.unseen))


def _add_unseen(one: Unseen, other: Unseen) -> Unseen:
    total = {column: dict(values) for column, values in one.items()}
    for column, values in other.items():
        mine = total.setdefault(column, {})
        for value, number in values.items():
            mine[value] = mine.get(value, 0) + number
    return total


def count(model: NaiveBayes, batch: Batch) -> Counted | None:
    """Statistics of a batch under a bound model; None where it has no rows."""
    with _naming(batch.where):
        table = batch.table
        if not _has_rows(table, batch.y):
            return None
        unseen: dict[Any, dict[Any, int]] = {}
        statistics = model.statistics(table, batch.y, sample_weight=batch.sample_weight, unseen=unseen)
        return Counted(statistics, {column: values for column, values in unseen.items() if values})


def _has_rows(table: Table, y: Any) -> bool:
    if table.num_rows == 0 and y is not None and len(y) > 0:
        raise ValueError(f"y has {len(y)} labels, X has 0 rows: give one label for each row")
    return table.num_rows > 0


@contextmanager
def _naming(where: str) -> Iterator[None]:
    """Say of which rows an error speaks."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(f"{where}: {error}") from error


def _empty_problem(model: NaiveBayes, *, growing: bool) -> Problem:
    num_classes = len(model.schema.classes)  # type: ignore[union-attr]
    nothing = tuple(np.empty((0, len(block.columns))) for block in model.blocks)
    return Problem(model, model.count(nothing, np.empty((0, num_classes))), growing=growing)


def _condition(
    model: NaiveBayes, batches: Iterable[Batch], inference: Inference, key: Any, *, growing: bool
) -> Posterior:
    """Count batch after batch, and condition on the sum."""
    problem = _empty_problem(model, growing=growing)
    inference.check(problem)
    unseen: Unseen = {}
    empty = True
    for batch in batches:
        counted = count(problem.model, batch)
        if counted is None:
            continue
        empty = False
        with _naming(batch.where):
            grown = with_new_categories(problem, batch.table, counted.unseen)
        if grown is not problem:
            problem, counted = grown, count(grown.model, batch)
            assert counted is not None
        problem = problem.add(counted.statistics)
        unseen = _add_unseen(unseen, counted.unseen)
    if empty:
        raise ValueError("there are no rows (in the second reading, if there were some before): give at least one")
    warn_unseen(unseen)
    return inference.fit(problem, key=key)


def _numbered(batches: Iterable[Any]) -> Iterator[Batch]:
    """What a user's iterable yields, batches without rows left out."""
    for i, given in enumerate(batches):
        if not isinstance(given, tuple | list) or len(given) not in (2, 3):
            raise TypeError(f"batch {i} is a {type(given).__name__}: give (X, y) or (X, y, sample_weight)")
        batch = Batch(f"batch {i}", *given)
        with _naming(batch.where):
            has_rows = _has_rows(as_table(batch.X), batch.y)
        if has_rows:
            yield batch


def _look(draft: Draft, batches: Iterable[Batch]) -> Shown:
    """What all the batches show of what is open."""
    return reduce(operator.add, map(draft.look, batches), Shown.nothing())


def _add(one: Any, other: Any) -> Any:
    """Sum of what is not None; None where nothing is."""
    if one is None or other is None:
        return other if one is None else one
    return one + other


def _bar(asked: bool | None, what: str, batches: Iterable[Batch], *, total: int | None, unit: str) -> Iterator[Batch]:
    """The batches, with a bar that counts their rows."""
    shown = shows_progress(asked)
    with tqdm(total=total, desc=what, unit=unit, unit_scale=True, disable=not shown, leave=True) as bar:
        for batch in batches:
            yield batch
            bar.update(batch.num_rows)


@dataclass(frozen=True)
class ParquetFiles:
    """Parquet files of the same columns, one below the other.

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
        cls, paths: Any, target: str, sample_weight: str | None, columns: Sequence[str] | None, batch_rows: int | None
    ) -> "ParquetFiles":
        """Look at the footers of all the files, so that what does not fit is found before rows are read."""
        found = _find_files(paths)
        names: tuple[str, ...] = () if columns is None else tuple(columns)
        num_rows = 0
        for path in found:
            with _open_parquet(path) as file:
                there = file.schema_arrow.names
                num_rows += file.metadata.num_rows
            if columns is None and not names:
                names = tuple(name for name in there if name not in (target, sample_weight))
            for what, name in [("target", target), ("sample_weight", sample_weight), *(("columns", n) for n in names)]:
                if name is not None and name not in there:
                    raise ValueError(
                        f"{path} has no column {name!r}, which {what} names: its columns are {there}; all files need "
                        "the same"
                    )
            extra = [name for name in there if name not in {*names, target, sample_weight}]
            if columns is None and extra:
                raise ValueError(
                    f"{path} has the column {extra[0]!r}, which {found[0]} has not: name the columns to "
                    "read, columns=[...]"
                )
        if target in names:
            raise ValueError(f"columns names the target {target!r}: leave it out")
        if num_rows == 0:
            raise ValueError(f"{_listed(found)} holds no rows: give at least one")
        return cls(tuple(found), target, sample_weight, names, num_rows, batch_rows)

    def read(self, columns: Sequence[str], *, weights: bool = False) -> Iterator[Batch]:
        """Batches of some of the columns, with the labels, and the weights where asked for."""
        import pyarrow as pa

        weight = self.sample_weight if weights else None
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
    """Labels as NumPy's text where they are text, which is found among the classes without looking at each cell."""
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


def _as_partitioned_table(X: Any) -> tuple[Any, bool]:
    """A Dask array or frame with whole rows in each partition, and whether its columns have names.

    Raises
    ------
    TypeError, ValueError
        If it is another collection, or not a table.
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


def _require_alike(X: Any, y: Any, sample_weight: Any) -> tuple[Any, bool]:
    """X with whole rows in each partition, and whether it is a frame, where y and weights are partitioned like it.

    Raises
    ------
    TypeError, ValueError
    """
    others = {"y": y} if sample_weight is None else {"y": y, "sample_weight": sample_weight}
    if not is_dask(X):
        raise TypeError(
            f"y is a Dask {type(y).__name__} and X a {type(X).__name__}: give both as Dask collections in the same "
            "partitions, or both in memory, y.compute()"
        )
    X, named = _as_partitioned_table(X)
    for name, other in others.items():
        if not is_dask(other) or not type(other).__module__.startswith(("dask.array", "dask.dataframe")):
            raise TypeError(
                f"X is a Dask {type(X).__name__} and {name} a {type(other).__name__}: give {name} as a Dask array or "
                "series in the partitions of X, such as dask.array.from_array(..., chunks=X.chunks[0]) or a column of "
                "the same frame"
            )
        if other.ndim != 1:
            raise ValueError(f"{name} has {other.ndim} dimensions: give one value for each row, shape (rows,)")
        mine, theirs = len(_delayed(X)), len(_delayed(other))
        if mine != theirs:
            raise ValueError(
                f"X has {mine} partitions and {name} has {theirs}: partition them alike, with {name}.rechunk(...) or "
                f"{name}.repartition(...)"
            )
        _require_same_rows(X, name, other)
    return X, named


def _require_same_rows(X: Any, name: str, other: Any) -> None:
    """Refuse partitions that are known not to hold the same rows; what is unknown shows when they are read."""
    for i, (mine, theirs) in enumerate(zip(_sizes(X) or [], _sizes(other) or [], strict=False)):
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


def _sizes(data: Any) -> list[Any] | None:
    """Rows of each partition of a Dask array, NaN where unknown; None for a frame."""
    chunks = getattr(data, "chunks", None)
    return None if chunks is None else list(chunks[0])


def _delayed(data: Any) -> list[Any]:
    """Each partition as a delayed value."""
    return list(np.ravel(data.to_delayed()))


def _fold_partitions(function: Callable, about: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Sum over partitions of a function of `about` and a batch, added up in pairs where the partitions are."""
    from dask import delayed

    ys = _delayed(y)
    weights = [None] * len(ys) if sample_weight is None else _delayed(sample_weight)
    shared = _leaf("about", about)
    task, add = delayed(_of_partition, pure=False), delayed(_add, pure=False)
    level = [
        task(function, shared, f"partition {i}", *piece)
        for i, piece in enumerate(zip(_delayed(X), ys, weights, strict=True))
    ]
    while len(level) > 1:
        level = [add(*pair) if len(pair) == 2 else pair[0] for pair in batched(level, 2)]
    return level[0].compute()


def _of_partition(function: Callable, about: Any, where: str, X: Any, y: Any, sample_weight: Any) -> Any:
    return function(about, Batch(where, X, y, sample_weight))


def _leaf(name: str, value: Any) -> Any:
    """A value that enters Dask's graph once and as it is: Dask would take a record apart."""
    from uuid import uuid4

    from dask import delayed

    return delayed(value, name=f"bayesnb-{name}-{uuid4().hex}", traverse=False)


def _answer(posterior: Posterior, method: str, args: tuple, kwargs: dict[str, Any], X: Any) -> np.ndarray:
    return getattr(posterior, method)(X, *args, **kwargs)


def _call(function: Callable, X: Any) -> np.ndarray:
    return function(X)
