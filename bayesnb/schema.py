"""What a table looks like: columns, classes and categories; arrays in, labels out.

Everything that knows about pandas, polars, pyarrow (through narwhals), NumPy objects or missing cells is here. The rest
of the package sees chunks of float64 cells (missing ones NaN, categories as codes), or CSR chunks.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import narwhals as nw
import numpy as np
import scipy.sparse
from numpyro.distributions import constraints

from bayesnb.arrays import in_float64, warn
from bayesnb.families.base import Family
from bayesnb.rows import all_whole
from bayesnb.sparse import csr_pieces, csr_rows, without_duplicates

__all__ = [
    "OTHER",
    "DeviceTable",
    "Schema",
    "Table",
    "as_csr",
    "as_range",
    "as_table",
    "check_weights",
    "distinct",
    "encode_labels",
    "finite_and_not_negative",
    "is_dask",
    "items_at",
    "learn_categories",
    "learn_classes",
    "shown_categories",
    "sort_categories",
    "warn_unseen",
]

OTHER = "<other>"
"""Label of the category that stands for every value never seen."""

CHUNK_CELLS = 2**20
"""Cells of eight bytes read at a time: eight mebibytes. Kernels work on pieces of a chunk that stay in the processor's
cache; a chunk is so large that they need Python's lock seldom."""

INFINITY = np.float64(np.inf).view(np.uint64)
"""The bits of infinity as a whole number."""

FEW_NUMBERS = 1024
"""Whole numbers between the least and the largest of a column up to which they are looked for on its device."""

TEXT = (nw.String, nw.Categorical, nw.Enum)
"""Types of columns of which NumPy makes the objects that a list holds, and sooner."""

Column = Any


class Table(ABC):
    """Rows and named columns, read a slice at a time.

    Attributes
    ----------
    names : tuple
        Column names; positions 0, 1, ... where the table has none.
    named : bool
        Whether the names come from the table.
    num_rows : int
    non_negative : bool
        Whether all cells are known to be finite numbers from zero.
    """

    names: tuple[Column, ...]
    named: bool
    num_rows: int
    non_negative: bool = False

    @abstractmethod
    def stored(self, columns: Sequence[int], rows: slice) -> np.ndarray | None:
        """Cells as they are, where they share a type of numbers or booleans; without a copy where that can be."""

    @abstractmethod
    def numbers(self, columns: Sequence[int], rows: slice, *, sparse: bool = False, booleans: bool = False) -> Any:
        """Cells as float64 (missing ones NaN), shape (rows, columns); CSR or bool where asked for and natural."""

    @abstractmethod
    def values(self, column: int, rows: slice) -> np.ndarray:
        """Cells of one column as they are, shape (rows,)."""

    def distinct_values(self, column: int) -> np.ndarray:
        """Cells of one column, each distinct one at least once."""
        return self.values(column, slice(None))

    def declared_categories(self, column: int) -> tuple | None:
        """Categories that the column's type lists, if it does."""
        return None

    def kind(self, column: int) -> str:
        """What the column holds: ``"boolean"``, ``"number"`` or ``"category"``.

        Raises
        ------
        TypeError
            If it holds neither numbers nor values that could be categories (dates, lists).
        """
        values = self.values(column, slice(None))
        if values.dtype.kind in "biuf":
            return "boolean" if values.dtype.kind == "b" else "number"
        present = [value for value in values.tolist() if not is_missing(value)]
        if present and all(isinstance(value, bool | np.bool_) for value in present):
            return "boolean"
        if all(isinstance(value, int | float | np.number) for value in present):
            return "number"
        if values.dtype.kind in "USO":
            _require_hashable(present, self.names[column])
            return "category"
        raise TypeError(
            f"column {self.names[column]!r} holds {values.dtype}, which is neither numbers nor categories: convert it, "
            "or leave it out of the model"
        )

    @property
    def cell_bytes(self) -> int:
        """Size of a cell as it is stored."""
        return 8

    def chunks(self, num_columns: int) -> Iterator[slice]:
        """Slices of rows to read at a time."""
        size = max(256, 8 * CHUNK_CELLS // (self.cell_bytes * max(num_columns, 1)))
        for start in range(0, self.num_rows, size):
            yield slice(start, min(start + size, self.num_rows))


@dataclass(frozen=True)
class ArrayTable(Table):
    """A two-dimensional NumPy array, masked or not."""

    array: Any
    names: tuple[Column, ...]
    num_rows: int
    named: bool = False
    non_negative: bool = False

    @property
    def cell_bytes(self) -> int:
        return self.array.dtype.itemsize

    def stored(self, columns: Sequence[int], rows: slice) -> np.ndarray | None:
        if self.array.dtype.kind in "biuf" and not isinstance(self.array, np.ma.MaskedArray):
            return self.array[rows, _as_index(columns)]
        return None

    def numbers(
        self, columns: Sequence[int], rows: slice, *, sparse: bool = False, booleans: bool = False
    ) -> np.ndarray:
        stored = self.stored(columns, rows)
        if stored is not None:
            return stored if booleans and stored.dtype == bool else stored.astype(np.float64, copy=False)
        chunk = self.array[rows]
        return np.column_stack([to_numbers(chunk[:, column], self.names[column], rows) for column in columns])

    def values(self, column: int, rows: slice) -> np.ndarray:
        return unmask(self.array[rows, column])


@dataclass(frozen=True)
class DeviceTable(ArrayTable):
    """A two-dimensional JAX array of numbers, which may live on an accelerator; what is asked for comes to the host."""

    def stored(self, columns: Sequence[int], rows: slice) -> np.ndarray:
        start, stop, _ = rows.indices(self.num_rows)
        return _on_host(_rows_of(self.array, start, size=stop - start))[:, _as_index(columns)]

    def values(self, column: int, rows: slice) -> np.ndarray:
        start, stop, _ = rows.indices(self.num_rows)
        return _on_host(_rows_of(_column_of(self.array, column), start, size=stop - start))

    def distinct_values(self, column: int) -> np.ndarray:
        least, largest, shown, whole = _on_host(_shown_numbers(self.array, column))
        if not whole or largest - least >= FEW_NUMBERS:
            return super().distinct_values(column)
        return (least + np.flatnonzero(shown)).astype(_host_type(self.array.dtype))


@in_float64
def _on_host(values: Any) -> Any:
    """JAX arrays as NumPy arrays, in a type that NumPy knows."""
    return jax.tree.map(lambda leaf: np.asarray(leaf).astype(_host_type(leaf.dtype), copy=False), values)


def _host_type(dtype: Any) -> Any:
    return dtype if dtype.kind in "biuf" else np.dtype(np.float32)


@in_float64
@partial(jax.jit, static_argnames="size")
def _rows_of(array: Any, start: Any, *, size: int) -> Any:
    return jax.lax.dynamic_slice_in_dim(array, start, size)


@in_float64
@jax.jit
def _column_of(array: Any, column: Any) -> Any:
    return jax.lax.dynamic_index_in_dim(array, column, axis=1, keepdims=False)


@in_float64
@jax.jit
def _shown_numbers(array: Any, column: Any) -> tuple[Any, Any, Any, Any]:
    """Least and largest number of a column, which of those from the least on it shows, and whether all are whole."""
    cells = _column_of(array, column).astype(jnp.float64)
    observed = ~jnp.isnan(cells)
    least = cells.min(initial=jnp.inf, where=observed)
    largest = cells.max(initial=-jnp.inf, where=observed)
    whole = jnp.isfinite(least) & (~observed | (cells == jnp.rint(cells)) & (jnp.abs(cells) < 2**53)).all()
    place = jnp.where(observed & whole, jnp.minimum(cells - least, FEW_NUMBERS), FEW_NUMBERS).astype(jnp.int32)
    return least, largest, jnp.zeros(FEW_NUMBERS, bool).at[place].set(True, mode="drop"), whole


@dataclass(frozen=True)
class FrameTable(Table):
    """A pandas, polars or pyarrow table, seen through narwhals."""

    frame: nw.DataFrame
    names: tuple[Column, ...]
    num_rows: int
    named: bool = True

    def stored(self, columns: Sequence[int], rows: slice) -> np.ndarray | None:
        together = self.frame[rows, list(columns)].to_numpy()
        return together if together.dtype.kind in "biuf" else None

    def numbers(
        self, columns: Sequence[int], rows: slice, *, sparse: bool = False, booleans: bool = False
    ) -> np.ndarray:
        # All columns at once where they share a type of numbers; else one by one, which tells which does not fit.
        together = self.stored(columns, rows)
        if together is not None:
            return together if booleans and together.dtype == bool else together.astype(np.float64, copy=False)
        return np.column_stack([self._number_column(column, rows) for column in columns])

    def _number_column(self, column: int, rows: slice) -> np.ndarray:
        series = self._series(column, rows)
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            return series.cast(nw.Float64).to_numpy().astype(np.float64, copy=False)
        return to_numbers(self._as_objects(series), self.names[column], rows)

    def values(self, column: int, rows: slice) -> np.ndarray:
        series = self._series(column, rows)
        return series.to_numpy() if series.dtype.is_numeric() else self._as_objects(series)

    def _series(self, column: int, rows: slice) -> nw.Series:
        return self.frame[:, column][rows]

    @staticmethod
    def _as_objects(series: nw.Series) -> np.ndarray:
        if series.dtype == nw.Categorical and series.implementation.is_pyarrow():
            # NumPy is given a category in place of a missing cell.
            encoded = series.to_native()
            series = nw.from_native(encoded.cast(encoded.type.value_type), series_only=True)
        values = series.to_numpy()
        if values.dtype.kind == "b" or (values.dtype == object and series.dtype in TEXT):
            return values
        result = np.empty(len(series), dtype=object)
        result[:] = series.to_list()
        return result

    def declared_categories(self, column: int) -> tuple | None:
        series = self.frame[:, column]
        if isinstance(series.dtype, nw.Enum):
            return tuple(series.dtype.categories)
        if series.dtype == nw.Categorical and series.implementation.is_pandas_like():
            return tuple(series.to_native().cat.categories.tolist())
        if series.dtype == nw.Categorical and series.implementation.is_pyarrow() and len(series):
            return tuple(series.to_native().unify_dictionaries().chunk(0).dictionary.to_pylist())
        # A polars Categorical lists what its cache has met anywhere, which says nothing about this column.
        return None

    def kind(self, column: int) -> str:
        dtype = self.frame[:, column].dtype
        if dtype == nw.Boolean:
            return "boolean"
        if dtype.is_numeric():
            return "number"
        if dtype in (nw.String, nw.Categorical, nw.Enum):
            return "category"
        if dtype == nw.Object:
            return super().kind(column)
        raise TypeError(
            f"column {self.names[column]!r} holds {dtype}, which is neither numbers nor categories: convert it, or "
            "leave it out of the model"
        )


@dataclass(frozen=True)
class SparseTable(Table):
    """A CSR array as `as_csr` makes it; its empty cells are zeros, never missing."""

    matrix: Any
    names: tuple[Column, ...]
    num_rows: int
    named: bool = False
    non_negative: bool = False

    def stored(self, columns: Sequence[int], rows: slice) -> np.ndarray | None:
        return None

    def numbers(self, columns: Sequence[int], rows: slice, *, sparse: bool = False, booleans: bool = False) -> Any:
        chunk = self._rows(rows)
        if columns != range(len(self.names)):
            chunk = chunk[:, list(columns)]
        chunk = chunk.astype(np.float64, copy=False)
        return chunk if sparse else chunk.toarray()

    def _rows(self, rows: slice) -> Any:
        start, stop, _ = rows.indices(self.num_rows)
        chunk = csr_rows(self.matrix, slice(start, stop))
        chunk.has_canonical_format = True
        return chunk

    def values(self, column: int, rows: slice) -> np.ndarray:
        return self._rows(rows)[:, [column]].toarray().ravel()

    def chunks(self, num_columns: int) -> Iterator[slice]:
        # Statistics of a chunk are as wide as the vocabulary: few large chunks, an even number of them for two threads.
        number = -(-self.matrix.nnz // (5 * CHUNK_CELLS))
        number += number % 2 if number > 1 else 0
        return csr_pieces(self.matrix, max(1, -(-self.matrix.nnz // max(number, 1))))


def as_table(X: Any) -> Table:
    """Look at any kind of table as rows and named columns, without copying it.

    Parameters
    ----------
    X : array, table or sparse matrix, shape (rows, columns)
        NumPy array (masked or not), JAX array, nested lists, pandas, polars or pyarrow table, SciPy sparse matrix.

    Raises
    ------
    TypeError
        If it is none of these.
    ValueError
        If it is not two-dimensional or names a column twice.
    """
    if isinstance(X, Table):
        return X
    if is_dask(X):
        raise TypeError(
            "X is a Dask collection, which nb.fit, predict, predict_proba, predict_log_proba and log_joint take: for "
            "anything else bring rows that fit into memory, X.compute()"
        )
    if scipy.sparse.issparse(X):
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimension: a table has two, rows and columns")
        return SparseTable(as_csr(X), tuple(range(X.shape[1])), X.shape[0])
    if isinstance(X, str | bytes | Mapping) or X is None:
        raise TypeError(
            f"X is a {type(X).__name__}: give a NumPy array, a pandas, polars or pyarrow table, or a SciPy sparse "
            "matrix"
        )
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        _refuse_duplicates(getattr(X, "column_names", None) or list(X.columns))
        raise
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("X is a lazy frame: collect it first, X.collect()")
    if isinstance(frame, nw.DataFrame):
        names = tuple(X.columns) if nw.dependencies.is_pandas_dataframe(X) else tuple(frame.columns)
        _refuse_duplicates(names)
        if nw.dependencies.is_pandas_dataframe(X) and {type(kind).__name__ for kind in X.dtypes} == {"SparseDtype"}:
            return SparseTable(as_csr(X.sparse.to_coo()), names, len(X), named=True)
        return FrameTable(frame, names, len(frame))
    array = X if isinstance(X, np.ma.MaskedArray) or _is_on_device(X) else _as_array(X)
    if array.ndim != 2:
        raise ValueError(
            f"X has {array.ndim} dimension{'s' * (array.ndim != 1)}: a table has two, rows and columns; "
            "reshape one column with X.reshape(-1, 1), one row with X.reshape(1, -1)"
        )
    if array.dtype.kind == "c":
        raise TypeError("X holds complex numbers: give their real and imaginary parts as columns")
    kind = DeviceTable if isinstance(array, jax.Array) else ArrayTable
    return kind(array, tuple(range(array.shape[1])), array.shape[0])


def as_csr(X: Any) -> Any:
    """A SciPy sparse array or matrix in CSR, with each cell stored once; it shares what it can with X."""
    result = scipy.sparse.csr_array(X)
    if X.format == "csr":
        # SciPy looks once, and remembers it beside the matrix.
        result.has_canonical_format = X.has_canonical_format
    return without_duplicates(result)


def _is_on_device(X: Any) -> bool:
    """Whether X is a JAX array of numbers that NumPy would have to copy, or has no type for."""
    if not isinstance(X, jax.Array) or not (X.dtype == bool or jnp.issubdtype(X.dtype, jnp.number)):
        return False
    return on_accelerator(X) or X.dtype.kind == "V"


def on_accelerator(array: jax.Array) -> bool:
    """Whether an array lives elsewhere than in the memory of the processor."""
    return next(iter(array.devices())).platform != "cpu"


def is_dask(data: Any) -> bool:
    """Whether data are a Dask collection, which is not read here but partition by partition."""
    return type(data).__module__.partition(".")[0] == "dask"


def _refuse_duplicates(names: Sequence[Any]) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise ValueError(f"column {name!r} occurs twice in X: rename or drop one")
        seen.add(name)


def _as_array(X: Any) -> np.ndarray:
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError("X has rows of different lengths: every row needs a cell for every column") from None
    if array.dtype.kind == "U" and not isinstance(X, np.ndarray):
        # Nested lists of numbers and strings: NumPy would turn the numbers into text.
        array = np.asarray(X, dtype=object)
    return array


def as_range(columns: Sequence[int]) -> Sequence[int]:
    """Consecutive columns as a range, which is quickly compared and taken without a copy; others as a tuple."""
    if not columns:
        return range(0)
    consecutive = range(columns[0], columns[-1] + 1)
    if columns == consecutive or list(columns) == list(consecutive):
        return consecutive
    return tuple(columns)


def _as_index(columns: Sequence[int]) -> Any:
    return slice(columns.start, columns.stop) if isinstance(columns, range) else list(columns)


def items_at[S: Sequence[Any]](values: S, positions: Sequence[int]) -> S | tuple:
    """The values at these positions, all at once where the positions are a range."""
    if isinstance(positions, range):
        return values[_as_index(positions)]
    return tuple(map(values.__getitem__, positions))


def unmask(values: Any) -> np.ndarray:
    """Masked cells as None or NaN."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if values.dtype.kind == "f":
        return values.filled(np.nan)
    objects = np.asarray(values.data).astype(object)
    objects[np.ma.getmaskarray(values)] = None
    return objects


def _require_hashable(values: Sequence[Any], column: Column) -> None:
    for row, value in enumerate(values):
        if not isinstance(value, Hashable):
            raise TypeError(
                f"column {column!r} holds a {type(value).__name__} ({value!r} in row {row}), which cannot be a "
                "category: "
                "convert it, or leave the column out of the model"
            )


def is_missing(value: Any) -> bool:
    """Whether a cell is None, NaN, NaT or pandas.NA."""
    return value is None or type(value).__name__ in {"NAType", "NaTType"} or value is np.ma.masked or value != value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def to_numbers(values: np.ndarray, column: Column, rows: slice) -> np.ndarray:
    """Float64 cells of a column of Python objects, missing ones NaN.

    Raises
    ------
    TypeError
        If a cell holds no number, naming column, row and value.
    """
    values = unmask(values)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    numbers = np.empty(len(values))
    for i, value in enumerate(values.tolist()):
        if is_missing(value):
            numbers[i] = np.nan
        elif isinstance(value, str | bytes):
            raise TypeError(
                f"column {column!r} holds text ({_short(value)} in row {(rows.start or 0) + i}) where its family needs "
                "numbers: "
                "use nb.Categorical() for categories, count words first (scikit-learn's CountVectorizer), or convert it"
            )
        else:
            try:
                numbers[i] = float(value)
            except (TypeError, ValueError):
                raise TypeError(
                    f"column {column!r} holds a {type(value).__name__} ({value!r} in row {(rows.start or 0) + i}) "
                    "where "
                    "its family needs numbers"
                ) from None
    return numbers


def learn_categories(table: Table, column: int, declared: tuple | None, other: bool) -> tuple:
    """Categories of a column: those declared, by the model or by the column's type, else those it shows, sorted."""
    found = declared if declared is not None else table.declared_categories(column)
    if found is None:
        found = shown_categories(table, column)
    if other:
        found = (*found, OTHER)
    if not found:
        raise ValueError(
            f"column {table.names[column]!r} has no observed cell, so its categories are unknown: leave the column "
            "out, "
            "or list them with nb.Categorical(categories=...)"
        )
    return found


def shown_categories(table: Table, column: int) -> tuple:
    """The distinct values of a column, sorted, without missing cells."""
    values = table.distinct_values(column)
    if values.dtype.kind in "biuf":
        return tuple(np.unique(values[~np.isnan(values)] if values.dtype.kind == "f" else values).tolist())
    distinct, _ = _factorise(values, table.names[column])
    return tuple(sort_categories({value for value in distinct if not is_missing(value)}, table.names[column]))


def sort_categories(values: set, column: Column) -> list:
    """Sorted values; values without an order are sorted by type and text."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


@dataclass(frozen=True)
class Schema:
    """What a model has learned about its table.

    Attributes
    ----------
    columns : tuple
        Names of the table's columns, positions where it has no names.
    named : bool
        Whether the table had names.
    classes : array, shape (classes,)
        Labels, in the order of every class axis.
    categories : dict
        Categories of each categorical column, by position.
    """

    columns: tuple[Column, ...]
    named: bool
    classes: np.ndarray
    categories: Mapping[int, tuple] = field(default_factory=dict)

    @cached_property
    def _position_of(self) -> dict[Column, int]:
        return {name: position for position, name in enumerate(self.columns)}

    def positions(self, name: Any, columns: Any) -> Sequence[int]:
        """Positions of the columns of a feature, in the order given; a range where they follow each other.

        Parameters
        ----------
        name : str or int
            Name of the feature: of its column, where `columns` is None.
        columns : None, slice or list

        Raises
        ------
        ValueError
            If a column is not there.
        """
        if isinstance(columns, slice):
            positions = range(len(self.columns))[columns]
            if not positions:
                raise ValueError(f"block {name!r}: {columns} selects none of the {len(self.columns)} columns")
            return as_range(positions)
        return tuple(self._position(column) for column in ([name] if columns is None else columns))

    def positions_of(self, features: Mapping[Any, tuple[Family, Any]]) -> dict[Any, Sequence[int]]:
        """Positions of the columns of every feature.

        Raises
        ------
        ValueError
            If a column is not there, or stands in two features or twice in one.
        """
        found = {name: self.positions(name, columns) for name, (_, columns) in features.items()}
        # A range alone, as wide as it may be, needs no look.
        if len(found) > 1 or not all(isinstance(positions, range) for positions in found.values()):
            owner: dict[int, Any] = {}
            for name, positions in found.items():
                for position in positions:
                    if position in owner:
                        raise ValueError(
                            f"column {self.columns[position]!r} stands in {owner[position]!r} and in {name!r}: each "
                            "column belongs to one family"
                        )
                    owner[position] = name
        return found

    def _position(self, column: Column) -> int:
        if column in self._position_of:
            return self._position_of[column]
        if isinstance(column, int | np.integer) and 0 <= column < len(self.columns):
            return int(column)
        raise ValueError(
            f"column {column!r} is not in X, whose columns are {list(self.columns)}: name one of these, or leave it out"
        )

    def locate(self, table: Table, used: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        """Where the columns that a model reads stand in another table.

        Parameters
        ----------
        table : Table
        used : sequence of sequence of int
            For each block, the positions of its columns in the schema.

        Returns
        -------
        list of sequence of int
            For each block, their positions in the table; a range where they follow each other.

        Raises
        ------
        ValueError
            If columns are missing, renamed, or were not in the table at fit.
        """
        if not (self.named and table.named):
            if len(table.names) == len(self.columns):
                return [as_range(columns) for columns in used]
            raise ValueError(
                f"X has {len(table.names)} columns, the model was fitted to {len(self.columns)}: give the same "
                "columns in "
                "the same order"
            )
        wanted = [self.columns[column] for columns in used for column in columns]
        there = {name: position for position, name in enumerate(table.names)}
        missing = [name for name in wanted if name not in there]
        extra = [name for name in table.names if name not in self._position_of]
        if missing or extra:
            parts = [f"column {missing[0]!r} is missing"] if missing else []
            parts += [f"column {extra[0]!r} was not there when the model was fitted"] if extra else []
            raise ValueError(
                f"X does not have the columns of the fit: {' and '.join(parts)} (fitted to {list(self.columns)}, got "
                f"{list(table.names)}); rename, add or drop columns"
            )
        return [as_range([there[self.columns[column]] for column in columns]) for columns in used]

    def categories_as_codes(
        self,
        table: Table,
        columns: Sequence[int],
        places: Sequence[int],
        rows: slice,
        unseen: dict,
        *,
        compact: bool,
    ) -> np.ndarray:
        """Codes of some columns' cells among their categories.

        Parameters
        ----------
        table : Table
        columns : sequence of int
            Positions in the schema.
        places : sequence of int
            Where these columns stand in the table.
        rows : slice
        unseen : dict
            Receives, by column, the values that are not among the categories, with their number.
        compact : bool
            Whether to give integers where no cell is missing and the table holds the codes themselves.

        Returns
        -------
        array, shape (rows, columns)
            float64 with missing cells NaN, or integers.
        """
        if compact and all(self._counts_from_zero[column] for column in columns):
            stored = table.stored(places, rows)
            size = min(len(self.categories[column]) for column in columns)
            if stored is not None and stored.dtype.kind in "iu" and _all_below(stored, size):
                return stored
        return np.column_stack(
            [
                self.codes(table.values(place, rows), column, unseen.setdefault(self.columns[column], {}))
                for column, place in zip(columns, places, strict=True)
            ]
        )

    @cached_property
    def _counts_from_zero(self) -> dict[int, bool]:
        """Whether a column's categories are their own codes."""
        return {
            column: all(type(category) is int and category == code for code, category in enumerate(categories))
            for column, categories in self.categories.items()
        }

    def codes(self, values: np.ndarray, column: int, unseen: dict[Any, int]) -> np.ndarray:
        """Codes of a column's cells among its categories, missing ones NaN.

        Parameters
        ----------
        values : array, shape (rows,)
        column : int
        unseen : dict
            Receives the values that are not among the categories, with their number.
        """
        categories = self.categories[column]
        default = float(len(categories) - 1) if categories[-1] == OTHER else np.nan
        lookup = {category: float(code) for code, category in enumerate(categories)}
        if values.dtype.kind in "biuf":
            present = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)
            distinct, inverse = _distinct(values[present])
            of_distinct = np.array([lookup.get(value, -1.0) for value in distinct.tolist()])
            codes = np.full(len(values), np.nan)
            codes[present] = of_distinct[inverse] if distinct.size else 0.0
        else:
            met, positions = _factorise(values, self.columns[column])
            of_met = [np.nan if is_missing(value) else lookup.get(value, -1.0) for value in met]
            # A missing cell's position, -1, finds the last.
            codes = np.array([*of_met, np.nan])[positions]
        strange = codes == -1.0
        if strange.any():
            codes[strange] = default
            if np.isnan(default):
                for value in values[strange].tolist():
                    unseen[value] = unseen.get(value, 0) + 1
        return codes


def _factorise(values: np.ndarray, column: Column) -> tuple[list, np.ndarray]:
    """Distinct values of a column of Python objects, and where each cell stands among them, -1 where it is missing."""
    import pandas as pd

    try:
        positions, distinct = pd.factorize(values.astype(object, copy=False))
    except TypeError:
        _require_hashable(values.tolist(), column)
        raise
    return distinct.tolist(), positions


def _all_below(codes: np.ndarray, size: int) -> bool:
    # As a number without a sign, a negative one is larger than any code.
    return codes.size > 0 and codes.view(codes.dtype.str.replace("i", "u")).max() < size


def _distinct(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values among which all are, and the position of each: those between the least and the largest where they are few.

    Returns
    -------
    tuple of array, shape (distinct,), and array of int, shape (values,)
    """
    if values.dtype.kind in "iu" and values.size:
        least, largest = int(values.min()), int(values.max())
        if largest - least < values.size and abs(least) < 2**62:
            return np.arange(least, largest + 1), values.astype(np.int64) - least
    return np.unique(values, return_inverse=True)


LARGEST_COUNT = 2.0**53
"""Above this, float64 does not hold every whole number."""


def check_cells(x: Any, family: Family, names: Sequence[Column], rows: slice) -> None:
    """Refuse cells outside the family's support.

    Raises
    ------
    ValueError
        Naming the column, the row and the value.
    """
    cells = x.data if scipy.sparse.issparse(x) else x
    wrong = _outside(cells, family)
    if not wrong.any():
        return
    if scipy.sparse.issparse(x):
        entry = int(np.flatnonzero(wrong)[0])
        row, column = int(np.searchsorted(x.indptr, entry, side="right")) - 1, int(x.indices[entry])
        value = x.data[entry]
    else:
        row, column = (int(index[0]) for index in np.nonzero(wrong))
        value = x[row, column]
    name = type(family).__name__
    where = f"column {names[column]!r}, row {(rows.start or 0) + row}"
    if np.isnan(value):
        raise ValueError(
            f"{where}: the cell is missing, but {name} reads a row as one vector of counts; fill in the count (0 if "
            "the word does not occur) or drop the row"
        )
    if value < np.inf and value > LARGEST_COUNT and family.support is constraints.nonnegative_integer:
        raise ValueError(
            f"{where}: {value:g} is above 2**53, about 9e15, up to which float64 holds every whole number, as {name} "
            "needs; divide the column by a common factor, or use nb.Gaussian()"
        )
    raise ValueError(f"{where}: {value:g} is not {family.holds}, as {name} needs; {family.hint}")


def _outside(cells: np.ndarray, family: Family) -> np.ndarray | np.bool_:
    """Which cells the family cannot hold; one answer for all where a sum tells that they are all finite numbers."""
    support = constraints.nonnegative if family.accepts_fractions else family.support
    with np.errstate(invalid="ignore", over="ignore"):
        if cells.dtype == bool and family.compact:
            return np.False_
        if support is constraints.real and family.cell == "number":
            return np.isinf(cells) if not np.isfinite(cells.sum()) else np.False_
        if support is constraints.boolean:
            inside = (cells == 0) | (cells == 1)
        elif support is constraints.nonnegative_integer:
            if finite_and_not_negative(cells) and cells.max(initial=0.0) <= LARGEST_COUNT and all_whole(cells):
                return np.False_
            inside = (cells >= 0) & (cells == np.rint(cells)) & (cells <= LARGEST_COUNT)
        elif support is constraints.nonnegative and finite_and_not_negative(cells):
            return np.False_
        else:
            inside = np.asarray(support(cells)) & (cells < np.inf)
    return ~(inside | np.isnan(cells)) if family.cell == "number" else ~inside


def finite_and_not_negative(cells: np.ndarray) -> bool:
    """Their bits tell, read as whole numbers: those of infinity, NaN and negative numbers are larger."""
    return cells.dtype == np.float64 and bool(cells.view(np.uint64).max(initial=0) < INFINITY)


def warn_unseen(unseen: Mapping[Column, Mapping[Any, int]]) -> None:
    """Say which categories were never seen, and what became of them."""
    for column, values in unseen.items():
        if not values:
            continue
        shown = ", ".join(repr(value) for value in list(values)[:5]) + (", ..." if len(values) > 5 else "")
        warn(
            f"column {column!r}: {sum(values.values())} cell(s) hold categories not seen in training ({shown}) and "
            "count "
            "as missing; nb.Categorical(other=True) would give them probability",
            UserWarning,
        )


def as_labels(y: Any) -> np.ndarray:
    """Labels of any kind of sequence as a NumPy array, each as it is."""
    native = nw.from_native(y, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):
        labels = native.to_numpy()
        return labels if labels.dtype.kind in "biufUS" else _label_array(native.to_list())
    if isinstance(y, np.ma.MaskedArray):
        return unmask(y)
    if isinstance(y, jax.Array):
        return np.asarray(y)
    return _label_array(y.tolist() if type(y).__module__.startswith("pyarrow") else y)


def learn_classes(y: Any, num_rows: int, name: str = "y", *, may_miss: bool = False) -> np.ndarray:
    """The distinct labels, sorted.

    Parameters
    ----------
    y : labels, shape (rows,)
    num_rows : int
    name : str, default "y"
        What `y` is called in errors.
    may_miss : bool, default False
        Leave out missing labels, rather than refuse them.

    Raises
    ------
    ValueError
        If `y` is not one label for each row; or a label is missing, or all are.
    """
    labels, missing = _labels(y, num_rows, name)
    if missing.any():
        if not may_miss:
            _refuse_missing(labels, missing, name)
        if missing.all():
            raise ValueError(
                f"{name} has no label, so the classes are unknown: give their number or their labels, as in classes=3 "
                'or classes=["a", "b"]'
            )
        labels = _label_array(labels[~missing])
    if labels.dtype.kind != "O":
        return distinct(labels)
    return _label_array(sort_categories(set(labels.tolist()), "y"))


def distinct(values: np.ndarray) -> np.ndarray:
    """The distinct values, sorted; whole numbers of a short range are counted, which is faster than sorting."""
    if values.dtype.kind in "iu" and values.size:
        least, largest = int(values.min()), int(values.max())
        if largest - least < values.size and abs(least) < 2**62:
            shown = np.bincount(values.astype(np.int64, copy=False) - least)
            return (np.flatnonzero(shown) + least).astype(values.dtype)
    return np.unique(values)


def encode_labels(y: Any, num_rows: int, classes: np.ndarray, *, may_miss: bool = False) -> np.ndarray:
    """Position of each label among the classes, shape (rows,).

    Parameters
    ----------
    y : labels, shape (rows,)
    num_rows : int
    classes : array, shape (classes,)
    may_miss : bool, default False
        Give missing labels the position -1, rather than refuse them.

    Raises
    ------
    ValueError
        If `y` is not one label for each row, or a label is missing or not among the classes.
    """
    labels, missing = _labels(y, num_rows)
    if missing.any() and not may_miss:
        _refuse_missing(labels, missing, "y")
    if (position := _positions_by_number(labels, classes)) is not None:
        codes = position
        unknown = codes < 0
    elif labels.dtype.kind == classes.dtype.kind and classes.dtype.kind != "O":
        order = np.argsort(classes)
        codes = order[np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)]
        unknown = classes[codes] != labels
    else:
        lookup = {label: code for code, label in enumerate(classes.tolist())}
        codes = np.array([lookup.get(label, -1) for label in labels.tolist()], dtype=np.intp)
        unknown = codes < 0
    codes[missing] = -1
    unknown &= ~missing
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        raise ValueError(
            f"y holds the label {labels[row].item() if hasattr(labels[row], 'item') else labels[row]!r} (row {row}), "
            "which "
            f"is not among the classes {classes.tolist()}: name every class at the first fit with classes=[...]"
        )
    return codes


def _positions_by_number(labels: np.ndarray, classes: np.ndarray) -> np.ndarray | None:
    """Position of each label among the classes, -1 where it is none; None unless all lie in a short range."""
    if not all(values.dtype.kind in "iu" and values.size for values in (labels, classes)):
        return None
    least, largest = int(classes.min()), int(classes.max())
    if largest - least > labels.size or abs(least) > 2**62 or labels.min() < least or labels.max() > largest:
        return None
    position = np.full(largest - least + 1, -1)
    position[classes.astype(np.int64) - least] = np.arange(len(classes))
    return position.take(labels.astype(np.int64, copy=False) - least)


def _labels(y: Any, num_rows: int, name: str = "y") -> tuple[np.ndarray, np.ndarray]:
    """Labels, and whether they are missing, shape (rows,) each."""
    if y is None:
        raise ValueError("y is None: give a label for each row")
    if isinstance(y, str | bytes):
        raise TypeError(f"y is the text {y!r}: give the labels themselves, such as table[{y!r}]")
    if isinstance(table := nw.from_native(y, allow_series=True, pass_through=True), nw.DataFrame | nw.LazyFrame):
        raise TypeError(f"{name} is a table with the columns {table.columns}: give one column, the labels")
    labels = as_labels(y)
    if labels.ndim != 1:
        raise ValueError(f"{name} has shape {labels.shape}: give one label for each row, shape ({num_rows},)")
    if len(labels) != num_rows:
        raise ValueError(f"{name} has {len(labels)} labels, X has {num_rows} rows: give one label for each row")
    if num_rows == 0:
        raise ValueError("X has no rows: give at least one")
    if labels.dtype.kind == "f":
        missing = np.isnan(labels)
    elif labels.dtype.kind == "O":
        missing = np.array([is_missing(label) for label in labels.tolist()])
    else:
        missing = np.zeros(len(labels), dtype=bool)
    return labels, missing


def _refuse_missing(labels: np.ndarray, missing: np.ndarray, name: str) -> None:
    row = int(np.flatnonzero(missing)[0])
    raise ValueError(f"{name} is missing in row {row} ({labels[row]}): drop the rows without a label")


def _label_array(labels: Any) -> np.ndarray:
    """Labels as an array whose type keeps them as they are (NumPy would turn [1, "a"] into text)."""
    if isinstance(labels, np.ndarray):
        array = labels
    else:
        labels = list(labels)
        kinds = {type(label) for label in labels}
        mixed = len(kinds) > 1 and any(issubclass(kind, str | bytes | tuple) for kind in kinds)
        array = _objects(labels) if mixed or kinds == {tuple} else np.asarray(labels)
    if array.dtype.kind == "O" and array.ndim == 1:
        simple = [label for label in array.tolist() if not is_missing(label)]
        if (
            len(simple) == len(array)
            and len({type(label) for label in simple}) == 1
            and isinstance(simple[0], str | bool | int)
        ):
            return np.asarray(simple)
    return array


def _objects(values: Sequence) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def check_weights(sample_weight: Any, num_rows: int) -> np.ndarray:
    """Weights of the rows as float64, ones by default.

    Raises
    ------
    ValueError
        If there is not one finite, non-negative weight for each row.
    """
    if sample_weight is None:
        return np.ones(num_rows)
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"sample_weight is {sample_weight!r}: give one number for each row") from None
    if weights.shape != (num_rows,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, X has {num_rows} rows: give one weight for each row"
        )
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"sample_weight of row {row} is {weights[row]}: weights are finite and not negative")
    return weights
