"""One row of a table."""

from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.tables.read import as_table
from bayesnb.tables.table import Table

__all__ = ["as_row"]


def as_row(X_row: Any) -> Table:
    """A table of one row.

    Parameters
    ----------
    X_row : table of shape (1, columns), array or list of shape (columns,), or pandas.Series
        The index of a series has the names of the columns.

    Raises
    ------
    TypeError
        If it is not a table.
    ValueError
        If it does not have exactly one row.
    """
    table = as_table(_as_one_row(X_row))
    if table.num_rows != 1:
        raise ValueError(
            f"X_row has {table.num_rows} rows: give exactly one, such as X.iloc[[0]] of a frame or X[[0]] of an array"
        )
    return table


def _as_one_row(X_row: Any) -> Any:
    """A row without an axis of rows as a table; anything else as it is."""
    import pandas as pd

    if isinstance(X_row, pd.Series):
        return X_row.to_frame().T.infer_objects()
    if isinstance(X_row, list | tuple) and not any(np.iterable(cell) and not isinstance(cell, str) for cell in X_row):
        return [list(X_row)]
    if scipy.sparse.issparse(X_row) and X_row.ndim == 1:
        return X_row.reshape(1, -1)
    if getattr(X_row, "ndim", 2) == 1 and hasattr(X_row, "reshape"):
        return X_row.reshape(1, -1)
    return X_row
