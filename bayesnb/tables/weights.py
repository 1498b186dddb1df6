"""Weights of rows."""

from typing import Any

import numpy as np

__all__ = ["check_weights"]

LARGEST_TOTAL = 1e150
"""The largest sum of weights, so that its product with a count or with another weight is below float64's 1.8e308."""


def check_weights(sample_weight: Any, num_rows: int) -> np.ndarray:
    """Weights of the rows as float64, shape (rows,); ones if `sample_weight` is None.

    Raises
    ------
    TypeError
        If the weights are not numbers.
    ValueError
        If there is not one finite, non-negative weight for each row, or their sum is above `LARGEST_TOTAL`.
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
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total > LARGEST_TOTAL:
        raise ValueError(
            f"sample_weight has the sum {total:g}, and float64 holds sums of weighted cells up to a sum of "
            f"{LARGEST_TOTAL:g}: divide all weights by a common factor"
        )
    return weights
