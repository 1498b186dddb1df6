"""The distinct values of an array."""

import numpy as np

from bayesnb.tables.columns import Column
from bayesnb.tables.objects import require_hashable

__all__ = ["distinct", "distinct_objects", "distinct_with_positions"]


def distinct(values: np.ndarray) -> np.ndarray:
    """The distinct values, sorted. Whole numbers of a short range are counted, which is faster than sorting."""
    if values.dtype.kind in "iu" and values.size:
        least, largest = int(values.min()), int(values.max())
        if largest - least < values.size and abs(least) < 2**62:
            shown = np.bincount(values.astype(np.int64, copy=False) - least)
            return (np.flatnonzero(shown) + least).astype(values.dtype)
    return np.unique(values)


def distinct_with_positions(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted distinct values, and the position of each value among them.

    For whole numbers of a short range the first array is the whole range, so it may hold numbers that do not occur.

    Returns
    -------
    tuple of array, shape (distinct,), and array of int, shape (values,)
    """
    if values.dtype.kind in "iu" and values.size:
        least, largest = int(values.min()), int(values.max())
        if largest - least < values.size and abs(least) < 2**62:
            return np.arange(least, largest + 1), values.astype(np.int64) - least
    return np.unique(values, return_inverse=True)


def distinct_objects(values: np.ndarray, column: Column) -> tuple[list, np.ndarray]:
    """Distinct values of a column of Python objects, and the position of each cell among them, -1 for a missing cell.

    Raises
    ------
    TypeError
        If a value is not hashable.
    """
    import pandas as pd

    try:
        positions, found = pd.factorize(values.astype(object, copy=False))
    except TypeError:
        require_hashable(values.tolist(), column)
        raise
    return found.tolist(), positions
