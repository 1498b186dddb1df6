"""Checks of numbers that a user gives."""

from typing import Any

import numpy as np

__all__ = ["proportion", "whole_number"]


def whole_number(name: str, value: Any) -> int:
    """A number of rows, draws or chains.

    Raises
    ------
    ValueError
        If it is not a whole number, one or more.
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {value!r}: give a whole number, one or more")
    return int(value)


def proportion(name: str, value: Any) -> float:
    """A probability or an error rate, strictly between zero and one.

    Raises
    ------
    ValueError
        If it is no such number.
    """
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not (number and 0 < value < 1):
        raise ValueError(f"{name} is {value!r}: give a number between 0 and 1")
    return float(value)
