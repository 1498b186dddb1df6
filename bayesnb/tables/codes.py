"""Cells of a column as codes: positions among its categories."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesnb.tables.categories import OTHER
from bayesnb.tables.columns import Column
from bayesnb.tables.distinct import distinct_objects, distinct_with_positions
from bayesnb.tables.objects import is_missing

__all__ = ["are_codes", "encode_categories"]


def encode_categories(
    values: np.ndarray, categories: Sequence[Any], column: Column, unseen: dict[Any, int]
) -> np.ndarray:
    """Position of each cell among the categories as float64, shape (rows,); missing cells are NaN.

    A value that is not among the categories gets the code of `OTHER` if that is the last category, else NaN.

    Parameters
    ----------
    values : array, shape (rows,)
    categories : sequence
    column : hashable
        Name of the column, for errors.
    unseen : dict
        Receives the values that become NaN because they are not among the categories, with their number.
    """
    default = float(len(categories) - 1) if categories[-1] == OTHER else np.nan
    lookup = {category: float(code) for code, category in enumerate(categories)}
    if values.dtype.kind in "biuf":
        present = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)
        distinct, inverse = distinct_with_positions(values[present])
        of_distinct = np.array([lookup.get(value, -1.0) for value in distinct.tolist()])
        codes = np.full(len(values), np.nan)
        codes[present] = of_distinct[inverse] if distinct.size else 0.0
    else:
        met, positions = distinct_objects(values, column)
        of_met = [np.nan if is_missing(value) else lookup.get(value, -1.0) for value in met]
        # The position of a missing cell is -1: the last code.
        codes = np.array([*of_met, np.nan])[positions]
    strange = codes == -1.0
    if strange.any():
        codes[strange] = default
        if np.isnan(default):
            for value in values[strange].tolist():
                unseen[value] = unseen.get(value, 0) + 1
    return codes


def are_codes(cells: np.ndarray, size: int) -> bool:
    """Whether all of some whole numbers are codes of `size` categories."""
    # Read as unsigned, a negative number is larger than any code.
    return cells.size > 0 and cells.view(cells.dtype.str.replace("i", "u")).max() < size
