"""Tables of any kind as rows and columns."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from functools import cached_property
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import scipy.sparse

from bayesnb.core.arrays import csr_pieces, csr_rows, without_duplicates
from bayesnb.core.cells import Column, is_missing, require_hashable, to_numbers, unmask
from bayesnb.core.deferred import jnp, pd
from bayesnb.core.device_arrays import DeviceArray, is_concrete
from bayesnb.core.number_form import is_number

# --------------------------------------------------------------------------------------------------
# Names and positions of columns
# --------------------------------------------------------------------------------------------------


def _index(columns: Sequence[int]) -> Any:
    """Positions as an index of an array; a slice for a range, so that NumPy makes no copy."""
    return slice(columns.start, columns.stop) if isinstance(columns, range) else list(columns)


def items_at[S: Sequence[Any]](values: S, positions: Sequence[int]) -> S | tuple:
    """The values at these positions; a slice of `values` if the positions are a range."""
    if isinstance(positions, range):
        return values[_index(positions)]
    return tuple(map(values.__getitem__, positions))


def as_range(columns: Sequence[int]) -> Sequence[int]:
    """Positions of columns: a range if they follow each other, else a tuple.

    A range is compared quickly, and NumPy takes its columns without a copy.
    """
    if not columns:
        return range(0)
    consecutive = range(columns[0], columns[-1] + 1)
    if columns == consecutive or list(columns) == list(consecutive):
        return consecutive
    return tuple(columns)


# --------------------------------------------------------------------------------------------------
# Cells that are Python objects: missing cells, numbers, and values that can be categories
# --------------------------------------------------------------------------------------------------


def _are_times(values: np.ndarray) -> bool:
    """Whether any observed cell of a column is a date, time or duration."""
    kinds = {type(value) for value in values if not is_missing(value)}
    times = (date, time, timedelta, np.datetime64, np.timedelta64)
    return bool(kinds) and all(issubclass(kind, times) or kind.__name__ == "Period" for kind in kinds)


# --------------------------------------------------------------------------------------------------
# The distinct values of an array
# --------------------------------------------------------------------------------------------------


def distinct(values: np.ndarray) -> np.ndarray:
    """The distinct values, sorted. Whole numbers of a short range are counted, which is faster than sorting."""
    if isinstance(values, DeviceArray):
        return values.distinct()
    if values.dtype.kind in "iu" and values.size:
        least, largest = int(values.min()), int(values.max())
        if largest - least < values.size and abs(least) < 2**62:
            shown = np.bincount(values.astype(np.int64, copy=False) - least)
            return (np.flatnonzero(shown) + least).astype(values.dtype)
    return np.unique(values)


def distinct_with_positions(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted distinct values, and the position of each value among them.

    For whole numbers of a short range the first array is the whole range, including numbers that do not occur.

    Returns
    -------
    tuple of array, shape (distinct,), and array of int, shape (values,)
    """
    if values.dtype.kind in "iu" and values.size:
        least, largest = int(values.min()), int(values.max())
        if largest - least < values.size and abs(least) < 2**62:
            return np.arange(least, largest + 1), values.astype(np.int64) - least
    return np.unique(values, return_inverse=True)


def distinct_objects(values: Any, column: Column) -> tuple[list, np.ndarray]:
    """Distinct values of a column of Python objects, and the position of each cell among them, -1 for a missing cell.

    Parameters
    ----------
    values : array or pandas.Categorical, shape (rows,)
    column : hashable
        Name of the column, for errors.

    Raises
    ------
    TypeError
        If a value is not hashable.
    """
    try:
        positions, found = pd.factorize(values.astype(object, copy=False) if isinstance(values, np.ndarray) else values)
    except TypeError:
        require_hashable(values.tolist(), column)
        raise
    return found.tolist(), positions


# --------------------------------------------------------------------------------------------------
# The interface of tables, for every library that makes them
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table(ABC):
    """Rows and named columns, read some rows at a time.

    Attributes
    ----------
    cells : array, frame or matrix, shape (rows, columns)
        What the user gave, as a subclass reads it.
    names : tuple
        Column names; positions 0, 1, ... if the table has none.
    named : bool
        Whether the names come from the table.
    non_negative : bool
        Whether all cells are known to be between zero and `LARGEST_NUMBER` of `bayesnb.model.reading`.
    counted : array of bool, shape (rows,), or None
        Rows whose categories count; those of other rows are missing cells. None if all do.
    chunk_cells : int
        Cells of eight bytes in a chunk.
    """

    chunk_cells: ClassVar[int] = 2**20
    """Eight mebibytes. The kernels split a chunk into pieces that fit the processor's cache; with large chunks the
    threads take Python's lock less often."""

    cells: Any
    names: tuple[Column, ...]
    named: bool = False
    non_negative: bool = False
    counted: np.ndarray | None = None

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return int(self.cells.shape[0])

    @property
    def row_names(self) -> Sequence[Any]:
        """The index of a pandas table; of others the positions of the rows."""
        return range(self.num_rows)

    @abstractmethod
    def stored(self, columns: Sequence[int], rows: slice) -> np.ndarray | None:
        """Cells in their own type, shape (rows, columns), without a copy if possible.

        None if the cells do not share a type of numbers or booleans.
        """

    def numbers(self, columns: Sequence[int], rows: slice, *, sparse: bool = False, booleans: bool = False) -> Any:
        """Cells as float64, missing ones NaN, shape (rows, columns).

        Parameters
        ----------
        columns : sequence of int
        rows : slice
        sparse : bool, default False
            Give a CSR array if the table is sparse.
        booleans : bool, default False
            Give an array of bool if all cells are booleans.
        """
        # All columns at once if they share a type of numbers; else one by one, so that an error can name the column.
        together = self.stored(columns, rows) if booleans or len(columns) > 1 else None
        if together is not None:
            return together if booleans and together.dtype == bool else together.astype(np.float64, copy=False)
        return np.column_stack([self.number_column(column, rows) for column in columns])

    def number_column(self, column: int, rows: slice) -> np.ndarray:
        """Cells of one column as float64, shape (rows,)."""
        return to_numbers(self.stored_values(column, rows), self.names[column], rows)

    @abstractmethod
    def stored_values(self, column: int, rows: slice) -> np.ndarray:
        """Cells of one column in their own type, shape (rows,), of all rows."""

    def stored_categories(self, column: int, rows: slice) -> Any:
        """As `stored_values`; long text is a pandas.Categorical, which is made and encoded sooner than objects."""
        return self.stored_values(column, rows)

    def values(self, column: int, rows: slice) -> np.ndarray:
        """Cells of one column in their own type, shape (rows,); those of rows that do not count are None."""
        return self._without_uncounted(self.stored_values(column, rows), rows)

    def categories(self, column: int, rows: slice = slice(None)) -> Any:
        """As `values`; long text is a pandas.Categorical."""
        return self._without_uncounted(self.stored_categories(column, rows), rows)

    def _without_uncounted(self, values: Any, rows: slice) -> Any:
        if self.counted is None or (counted := self.counted[rows]).all():
            return values
        shown = values.astype(object) if isinstance(values, np.ndarray) else values.copy()
        shown[~counted] = None
        return shown

    def shown(self, column: int) -> Any:
        """Cells of one column, each of its values among them, of the rows that count."""
        return self.categories(column)

    def remembering(self) -> "Table":
        """The table for some rows at a time, in which columns that occur several times are read once."""
        return self

    def counting(self, weights: np.ndarray) -> Self:
        """The table in which the categorical cells of rows of weight zero are missing.

        The statistics apply the weights themselves. Without this, a category that occurs only in rows of weight zero
        would be a category of the column and take a share of the prior.

        Parameters
        ----------
        weights : array, shape (rows,)
        """
        counted = weights > 0
        return self if counted.all() else replace(self, counted=counted)

    def take(self, rows: np.ndarray) -> Self:
        """The table of some rows, given their positions."""
        return replace(self, cells=self.cells[rows], counted=None if self.counted is None else self.counted[rows])

    def with_columns(self, columns: Mapping[int, np.ndarray]) -> Self:
        """The table with other cells in some columns, given by their positions."""
        cells = self.cells.astype(object)
        for column, values in columns.items():
            cells[:, column] = values
        return replace(self, cells=cells)

    def declared_categories(self, column: int) -> tuple | None:
        """Categories that the type of the column lists; None if it lists none."""
        return None

    def kind(self, column: int) -> str:
        """Kind of the column's values: ``"boolean"``, ``"number"`` or ``"category"``.

        Raises
        ------
        TypeError
            If the values are neither numbers nor possible categories (dates, lists).
        """
        values = self.stored_values(column, slice(None))
        if values.dtype.kind in "biuf":
            return "boolean" if values.dtype.kind == "b" else "number"
        present = [value for value in values.tolist() if not is_missing(value)]
        if present and all(isinstance(value, bool | np.bool_) for value in present):
            return "boolean"
        if all(map(is_number, present)):
            return "number"
        if _are_times(values):
            raise self._neither(column, "dates or times")
        if values.dtype.kind in "USO":
            require_hashable(present, self.names[column])
            return "category"
        raise self._neither(column, values.dtype)

    def _neither(self, column: int, held: Any) -> TypeError:
        return TypeError(
            f"column {self.names[column]!r} holds {held}, which is neither numbers nor categories: convert it, or "
            "leave it out of the model"
        )

    def is_time(self, column: int) -> bool:
        """Whether the column's type is that of dates, times or durations."""
        kind = self.stored_values(column, slice(0, 0)).dtype.kind
        return kind in "mM" or (kind == "O" and _are_times(self.stored_values(column, slice(None))))

    def chunks(self, num_columns: int) -> Iterator[slice]:
        """Slices of rows that cover the table, each to be read at once."""
        cell_bytes = self.cells.dtype.itemsize if isinstance(self.cells, np.ndarray) else 8
        size = max(256, 8 * self.chunk_cells // (cell_bytes * max(num_columns, 1)))
        for start in range(0, self.num_rows, size):
            yield slice(start, min(start + size, self.num_rows))


# --------------------------------------------------------------------------------------------------
# NumPy arrays as tables
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ArrayTable(Table):
    """A two-dimensional NumPy array, masked or not."""

    def stored(self, columns: Sequence[int], rows: slice) -> np.ndarray | None:
        if self.cells.dtype.kind in "biuf" and not isinstance(self.cells, np.ma.MaskedArray):
            return self.cells[rows, _index(columns)]
        return None

    def stored_values(self, column: int, rows: slice) -> np.ndarray:
        return unmask(self.cells[rows, column])


@dataclass(frozen=True)
class DeviceTable(ArrayTable):
    """A table that is a `DeviceArray`. Methods that the device does not compute read a copy."""

    def shown(self, column: int) -> np.ndarray:
        cells = self.cells.array[:, column]
        if self.counted is not None:
            cells = cells[jnp.asarray(getattr(self.counted, "array", self.counted))]
        return DeviceArray(cells).distinct()

    def take(self, rows: np.ndarray) -> ArrayTable:  # type: ignore[override]
        counted = None if self.counted is None else self.counted[rows]
        return ArrayTable(self.cells[rows], self.names, self.named, counted=counted)

    def kind(self, column: int) -> str:
        return "boolean" if self.cells.dtype == bool else "number"

    def is_time(self, column: int) -> bool:
        return False

    def beside(self, values: Any, kinds: str, dtype: Any = None) -> Any:
        """An array of JAX as a `DeviceArray` on the table's device, if its type is of some kinds; else as it is."""
        return (
            DeviceArray(self.cells.beside(values, dtype))
            if is_concrete(values) and values.dtype.kind in kinds
            else values
        )


# --------------------------------------------------------------------------------------------------
# Tables of pandas, polars and pyarrow, read through narwhals
# --------------------------------------------------------------------------------------------------

FEW = 2000
"""Of fewer cells each is looked up: to find the distinct ones takes longer."""

TEXT = (nw.String, nw.Categorical, nw.Enum)
"""Types of columns of categories. Their `to_numpy` gives the same objects as `to_list`, but faster."""


@dataclass(frozen=True)
class FrameTable(Table):
    """A pandas, polars or pyarrow table, read through narwhals."""

    @property
    def row_names(self) -> Sequence[Any]:
        index = nw.maybe_get_index(self.cells)
        return super().row_names if index is None else list(index)

    def stored(self, columns: Sequence[int], rows: slice) -> np.ndarray | None:
        if not self._times.isdisjoint(columns):
            return None  # beside numbers, polars would make numbers of dates
        together = self.cells[rows, list(columns)].to_numpy()
        return together if together.dtype.kind in "biuf" else None

    def number_column(self, column: int, rows: slice) -> np.ndarray:
        series = self._series(column, rows)
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            # PyArrow refuses to round whole numbers beyond 2**53 in a cast.
            rounds = series.dtype.is_integer() and series.implementation.is_pyarrow()
            return (series if rounds else series.cast(nw.Float64)).to_numpy().astype(np.float64, copy=False)
        return to_numbers(self._as_objects(series), self.names[column], rows)

    def stored_values(self, column: int, rows: slice) -> np.ndarray:
        series = self._series(column, rows)
        # NumPy has no missing whole numbers, and floats do not hold all that are beyond 2**53.
        as_numbers = series.dtype.is_numeric() and not (series.dtype.is_integer() and series.null_count())
        return series.to_numpy() if as_numbers else self._as_objects(series)

    def stored_categories(self, column: int, rows: slice) -> Any:
        if column in self._categories:
            return self._categories[column][rows]
        if (found := as_categories(self._series(column, rows))) is None:
            return self.stored_values(column, rows)
        if len(found) == self.num_rows:
            self._categories[column] = found
        return found

    @cached_property
    def _categories(self) -> dict[int, Any]:
        """Columns of text, by position, that were read whole."""
        return {}

    def _series(self, column: int, rows: slice) -> nw.Series:
        return self._columns[column][rows]

    @cached_property
    def _columns(self) -> list[nw.Series]:
        # A frame searches all names for a column.
        return list(self.cells.iter_columns())

    @staticmethod
    def _as_objects(series: nw.Series) -> np.ndarray:
        if series.dtype == nw.Categorical and series.implementation.is_pyarrow():
            # Converted to NumPy, missing cells would get a category.
            encoded = series.to_native()
            series = nw.from_native(encoded.cast(encoded.type.value_type), series_only=True)
        # Of text without gaps, Polars makes an array of its own type first.
        if series.dtype not in TEXT or not series.implementation.is_polars():
            values = series.to_numpy()
            if values.dtype.kind == "b" or (values.dtype == object and series.dtype in TEXT):
                return values
        return np.fromiter(series.to_list(), dtype=object, count=len(series))

    def declared_categories(self, column: int) -> tuple | None:
        series = self._columns[column]
        if isinstance(series.dtype, nw.Enum):
            return tuple(series.dtype.categories)
        if series.dtype == nw.Categorical and series.implementation.is_pandas_like():
            return tuple(series.to_native().cat.categories.tolist())
        if series.dtype == nw.Categorical and series.implementation.is_pyarrow() and len(series):
            return tuple(series.to_native().unify_dictionaries().chunk(0).dictionary.to_pylist())
        # A polars Categorical lists the strings of other columns too.
        return None

    def with_columns(self, columns: Mapping[int, np.ndarray]) -> Self:
        kind, names = self.cells.implementation, self.cells.columns
        series = (nw.new_series(names[j], cells, backend=kind) for j, cells in columns.items())
        return replace(self, cells=self.cells.with_columns(*series))

    def is_time(self, column: int) -> bool:
        objects = self._columns[column].dtype in (nw.Object, nw.Unknown)
        return super().is_time(column) if objects else column in self._times

    @cached_property
    def _times(self) -> frozenset[int]:
        """Positions of the columns of dates, times or durations."""
        return frozenset(j for j, dtype in enumerate(self.cells.schema.values()) if dtype.is_temporal())

    def kind(self, column: int) -> str:
        dtype = self._columns[column].dtype
        if dtype == nw.Boolean:
            return "boolean"
        if dtype.is_numeric():
            return "number"
        if dtype in TEXT:
            return "category"
        if dtype == nw.Object:
            return super().kind(column)
        # The name that the user's library gives the type.
        raise self._neither(column, getattr(self._columns[column].to_native(), "dtype", dtype))


def as_categories(series: nw.Series) -> Any:
    """The cells of a long column of text as a pandas.Categorical, encoded by their library; None of another column."""
    if series.dtype not in TEXT or len(series) < FEW:
        return None
    native: Any = series.to_native()
    if series.implementation.is_polars():
        text = series.cast(nw.String)
        found = text.drop_nulls().unique().to_list()
        codes = text.cast(nw.Enum(found)).to_native().to_physical().cast(int).fill_null(-1)
    elif series.implementation.is_pyarrow():
        plain = native.cast(native.type.value_type) if series.dtype == nw.Categorical else native
        encoded = plain.dictionary_encode().combine_chunks()
        found, codes = encoded.dictionary.to_pylist(), encoded.indices.fill_null(-1)
    else:
        return pd.Categorical(native)
    return pd.Categorical.from_codes(codes.to_numpy(), pd.Index(found, dtype=object))


# --------------------------------------------------------------------------------------------------
# SciPy sparse matrices as tables
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SparseTable(Table):
    """A CSR array made by `as_csr`. A cell that is not stored is zero, not missing."""

    def stored(self, columns: Sequence[int], rows: slice) -> np.ndarray | None:
        return None

    def numbers(self, columns: Sequence[int], rows: slice, *, sparse: bool = False, booleans: bool = False) -> Any:
        if len(columns) == 1 and not sparse:
            return self.number_column(columns[0], rows)[:, None]
        chunk = self._rows(rows)
        if columns != range(len(self.names)):
            chunk = chunk[:, list(columns)]
        chunk = chunk.astype(np.float64, copy=False)
        return chunk if sparse else chunk.toarray()

    def _rows(self, rows: slice) -> Any:
        start, stop, _ = rows.indices(self.num_rows)
        chunk = csr_rows(self.cells, slice(start, stop))
        chunk.has_canonical_format = True
        return chunk

    def stored_values(self, column: int, rows: slice) -> np.ndarray:
        stored = slice(*self._by_column.indptr[column : column + 2])
        cells = np.zeros(self.num_rows, self.cells.dtype)
        cells[self._by_column.indices[stored]] = self._by_column.data[stored]
        return cells[rows]

    @cached_property
    def _by_column(self) -> Any:
        """The cells as a CSC array: to find a column in a CSR array takes a pass over all cells."""
        return self.cells.tocsc()

    def kind(self, column: int) -> str:
        return "boolean" if self.cells.dtype == bool else "number"

    def chunks(self, num_columns: int) -> Iterator[slice]:
        # The statistics of a chunk have an entry for every column, so large chunks cost less. Two threads share them.
        entries = self.cells.nnz
        number = 2 * -(-entries // (10 * self.chunk_cells)) if 8 * entries > self.chunk_cells else 1
        return csr_pieces(self.cells, max(1, -(-entries // number)))


def as_csr(X: Any) -> Any:
    """A SciPy sparse array or matrix as a CSR array that stores each cell once.

    The arrays of X are shared if they need no change.
    """
    result = scipy.sparse.csr_array(X)
    if X.format == "csr":
        # SciPy checks this once for X and keeps the result on X.
        result.has_canonical_format = X.has_canonical_format
    return without_duplicates(result)
