"""Tables of pandas, polars and pyarrow, read through narwhals."""

from collections.abc import Sequence
from dataclasses import dataclass

import narwhals as nw
import numpy as np

from bayesnb.tables.columns import Column
from bayesnb.tables.objects import to_numbers
from bayesnb.tables.table import Table

__all__ = ["FrameTable"]

TEXT = (nw.String, nw.Categorical, nw.Enum)
"""Types of columns of categories. Their `to_numpy` gives the same objects as `to_list`, but faster."""


@dataclass(frozen=True)
class FrameTable(Table):
    """A pandas, polars or pyarrow table, read through narwhals."""

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
        # All columns at once if they share a type of numbers; else one by one, so that an error can name the column.
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
        # NumPy has no missing whole numbers, and floats do not hold all that are beyond 2**53.
        as_numbers = series.dtype.is_numeric() and not (series.dtype.is_integer() and series.null_count())
        return series.to_numpy() if as_numbers else self._as_objects(series)

    def _series(self, column: int, rows: slice) -> nw.Series:
        return self.frame[:, column][rows]

    @staticmethod
    def _as_objects(series: nw.Series) -> np.ndarray:
        if series.dtype == nw.Categorical and series.implementation.is_pyarrow():
            # Its conversion to NumPy gives missing cells a category.
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
        # A polars Categorical lists the strings of other columns too.
        return None

    def kind(self, column: int) -> str:
        dtype = self.frame[:, column].dtype
        if dtype == nw.Boolean:
            return "boolean"
        if dtype.is_numeric():
            return "number"
        if dtype in TEXT:
            return "category"
        if dtype == nw.Object:
            return super().kind(column)
        # The name that the user's library gives the type.
        named = getattr(self.frame[:, column].to_native(), "dtype", dtype)
        raise TypeError(
            f"column {self.names[column]!r} holds {named}, which is neither numbers nor categories: convert it, or "
            "leave it out of the model"
        )
