"""Checks of `total_count`, a constant of families that count successes or failures."""

from typing import Any

import numpy as np

__all__ = ["require_positive_total", "require_whole_total"]

LARGEST = 2**53
"""The largest number of trials: float64 holds every whole number up to here."""

BY_COLUMN = "columns with numbers of their own have a family each"


def require_positive_total(family: str, value: Any) -> None:
    """Raise an error for a number of successes that is not positive and finite."""
    number = _number(family, value, "the number of successes")
    if not 0 < number < np.inf:
        raise ValueError(f"{family}(total_count={value!r}): give the number of successes, a positive finite number")


def require_whole_total(family: str, value: Any) -> None:
    """Raise an error for a number of trials that is not whole, one or more."""
    number = _number(family, value, "the number of trials of each cell")
    if not (1 <= number <= LARGEST and number == np.rint(number)):
        raise ValueError(
            f"{family}(total_count={value!r}): give the number of trials of each cell, a whole number from 1 to 2**53"
        )


def _number(family: str, value: Any, what: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise TypeError(f"{family}(total_count={value!r}): give {what}, a number; {BY_COLUMN}")
