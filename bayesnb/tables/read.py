"""Any kind of table as a `Table`."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import narwhals as nw
import numpy as np
import scipy.sparse

from bayesnb.printing import counted
from bayesnb.tables.array import ArrayTable
from bayesnb.tables.device_array import DeviceTable, is_on_device
from bayesnb.tables.frame import FrameTable
from bayesnb.tables.sparse import SparseTable, as_csr
from bayesnb.tables.table import Table
from bayesnb.validate import a_type

__all__ = ["as_frame", "as_table", "is_dask"]

TRACED = (
    "X has no numbers yet, because jax.jit, jax.vmap, jax.grad or another transformation of JAX traces this call: take "
    "log_joint = posterior.log_joint_function() outside the transformation, and call it inside, or call this function "
    "outside"
)
"""What to do about a table that JAX traces."""


def as_table(X: Any, name: str = "X") -> Table:
    """Any kind of table as rows and named columns, without a copy.

    Parameters
    ----------
    X : array, table or sparse matrix, shape (rows, columns)
        NumPy array (masked or not), JAX array, nested lists, pandas, polars or pyarrow table, SciPy sparse matrix.
    name : str, default "X"
        What errors call the table.

    Returns
    -------
    Table

    Raises
    ------
    TypeError
        If X is none of these.
    ValueError
        If X is not two-dimensional or two columns have the same name.
    """
    if isinstance(X, Table):
        return X
    if isinstance(X, jax.core.Tracer):
        raise TypeError(TRACED)
    if is_dask(X):
        raise TypeError(
            "X is a Dask collection, which nb.fit, predict, predict_proba, predict_log_proba and log_joint take: for "
            "all else give rows in memory, X.compute()"
        )
    if scipy.sparse.issparse(X):
        if X.ndim != 2:
            raise ValueError(f"{name} has {X.ndim} dimension: a table has two, rows and columns")
        return SparseTable(as_csr(X), tuple(range(X.shape[1])), X.shape[0])
    if isinstance(X, str | bytes | Mapping) or X is None:
        raise TypeError(
            f"{name} is {a_type(X)}: give a NumPy array, a pandas, polars or pyarrow table, or a SciPy sparse matrix"
        )
    frame = as_frame(X, name)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"{name} is a lazy frame: collect it first, {name}.collect()")
    if isinstance(frame, nw.DataFrame):
        names = tuple(X.columns) if nw.dependencies.is_pandas_dataframe(X) else tuple(frame.columns)
        _refuse_duplicates(names, name)
        if nw.dependencies.is_pandas_dataframe(X) and (sparse := _sparse_types(X)):
            if len(sparse) == len(names) and all(kind.fill_value == 0 for kind in sparse.values()):
                return SparseTable(as_csr(X.sparse.to_coo()), names, len(X), named=True)
            frame = as_frame(X.astype({name: kind.subtype for name, kind in sparse.items()}))
        return FrameTable(frame, names, len(frame))
    array = X if isinstance(X, np.ma.MaskedArray) or is_on_device(X) else _as_array(X)
    if array.ndim != 2:
        raise ValueError(
            f"{name} has {counted(array.ndim, 'dimension')}: a table has two, rows and columns; "
            f"reshape one column with {name}.reshape(-1, 1), one row with {name}.reshape(1, -1)"
        )
    if array.dtype.kind == "c":
        raise TypeError(f"{name} holds complex numbers: give their real and imaginary parts as columns")
    kind = DeviceTable if isinstance(array, jax.Array) else ArrayTable
    return kind(array, tuple(range(array.shape[1])), array.shape[0])


def as_frame(X: Any, name: str = "X") -> Any:
    """A Narwhals frame of a pandas, polars or pyarrow table; anything else as it is.

    Raises
    ------
    ValueError
        If two columns have the same name.
    """
    try:
        return nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        _refuse_duplicates(getattr(X, "column_names", None) or list(X.columns), name)
        raise


def is_dask(data: Any) -> bool:
    """Whether data are a Dask collection, which `bayesnb.sources.dask` reads one partition at a time."""
    return type(data).__module__.partition(".")[0] == "dask"


def _sparse_types(X: Any) -> dict[Any, Any]:
    """The type of each sparse column of a pandas table."""
    return {name: kind for name, kind in X.dtypes.items() if type(kind).__name__ == "SparseDtype"}


def _refuse_duplicates(names: Sequence[Any], table: str) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise ValueError(f"column {name!r} occurs twice in {table}: rename or drop one")
        seen.add(name)


def _as_array(X: Any) -> np.ndarray:
    try:
        array = np.asarray(X)
    except jax.errors.TracerArrayConversionError:
        raise TypeError(TRACED) from None
    except ValueError:
        raise ValueError("X has rows of different lengths: every row needs a cell for every column") from None
    if array.dtype.kind == "U" and not isinstance(X, np.ndarray):
        # In nested lists of numbers and strings NumPy turns the numbers into text.
        array = np.asarray(X, dtype=object)
    return array
