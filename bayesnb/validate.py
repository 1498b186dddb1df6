"""Checks of numbers that a user gives, and the type of what is none."""

from typing import Any

import numpy as np

__all__ = ["a_type", "proportion", "whole_number"]


def a_type(value: Any) -> str:
    """The type of a value with its article, for an error.

    Examples
    --------
    >>> a_type([]), a_type(1), a_type(np.empty(0))
    ('a list', 'an int', 'an ndarray')
    """
    name = type(value).__name__
    vowel = name[0] in "aeioAEIO" or name.startswith(("nd", "Un"))
    return f"{'an' if vowel else 'a'} {name}"


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
