"""One row of a table."""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.tables.read import as_table
from bayesnb.tables.table import Table

__all__ = ["as_row", "as_rows", "one_row", "with_one_row"]


def as_rows(X: Any) -> Table:
    """Rows to predict as a table; a mapping, a series or a list of values is one row. Errors as for `as_table`."""
    return as_table(with_one_row(X))


def as_row(X_row: Any) -> Table:
    """A table of one row.

    Parameters
    ----------
    X_row : table of shape (1, columns), array or list of shape (columns,), pandas.Series or mapping
        The index of a series and the keys of a mapping are the names of the columns.

    Raises
    ------
    TypeError
        If it is not a table.
    ValueError
        If it does not have exactly one row.
    """
    table = as_table(one_row(X_row))
    if table.num_rows != 1:
        raise ValueError(
            f"X_row has {table.num_rows} rows: give exactly one, such as X.iloc[[0]] of a frame or X[[0]] of an array"
        )
    return table


def one_row(X_row: Any) -> Any:
    """A row without an axis of rows as a table of one row; anything else as it is.

    Raises
    ------
    TypeError
        If it is a single cell or None.
    """
    if np.isscalar(X_row) or X_row is None:
        raise TypeError(
            f"X_row is {X_row!r}: give one row, such as X.iloc[[0]] of a frame, X[[0]] of an array, or a dict from "
            "column to cell"
        )
    X_row = with_one_row(X_row)
    if scipy.sparse.issparse(X_row) and X_row.ndim == 1:
        return X_row.reshape(1, -1)
    if getattr(X_row, "ndim", 2) == 1 and hasattr(X_row, "reshape"):
        return X_row.reshape(1, -1)
    return X_row


def with_one_row(X: Any) -> Any:
    """A mapping, a pandas series or a list of values as a table of one row; anything else as it is.

    A one-dimensional array stays one: it may be a row or a column.
    """
    if isinstance(X, Mapping) and not scipy.sparse.issparse(X):  # a DOK array is a dict
        import pandas as pd

        return pd.DataFrame([dict(X)])
    # Whoever gives a series has imported pandas, which takes a third of a second.
    if "pandas" in sys.modules and isinstance(X, sys.modules["pandas"].Series):
        return X.to_frame().T.infer_objects()
    if isinstance(X, list | tuple) and X and not any(np.iterable(cell) and not isinstance(cell, str) for cell in X):
        return np.array([X], dtype=object)  # of a list, scikit-learn makes numbers beside text text
    return X
