"""The Dirichlet distribution along the last axis: evidence and mode."""

from typing import Any

import numpy as np

from bayesnb.arrays import log_rising
from bayesnb.statistics.base import clear_rounding

__all__ = ["dirichlet_log_evidence", "dirichlet_mode", "log_of_rest"]


def dirichlet_log_evidence(concentration: Any, total: Any) -> Any:
    """Log density of a sequence of draws with the given counts, one Dirichlet along the last axis.

    Murphy (2012), Eq. 5.24 without the multinomial coefficient.
    """
    of_all = log_rising(concentration.sum(axis=-1), total.sum(axis=-1))
    return log_rising(concentration, total).sum(axis=-1) - of_all


def dirichlet_mode(concentration: Any, total: Any = 0.0) -> Any:
    """Mode of a Dirichlet along the last axis after some counts; the mean where it is flat, NaN where it is unbounded.

    The counts do not pass through the concentration, next to which the digits of small weights would be lost.
    """
    excess = np.asarray(concentration) - 1 + total
    size = excess.shape[-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        mode = excess / excess.sum(axis=-1, keepdims=True)
    flat = (excess == 0).all(axis=-1, keepdims=True)
    unbounded = (excess < 0).any(axis=-1, keepdims=True)
    return np.where(flat | (size == 1), 1 / size, np.where(unbounded, np.nan, mode))


def log_of_rest(concentration: Any, count: Any) -> np.ndarray:
    """Log of concentration plus count minus one, the one that is left out; -inf if the count is below one."""
    rest = clear_rounding(count - 1, count)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(rest < 0, -np.inf, np.log(concentration + rest))
