"""The interface of all sufficient statistics: they add up.

The statistics of two tables together are the sum of their statistics. The statistics of the rows that are left
after others are taken away are a difference. ``update``, ``forget``, leave-one-out, cross-validation without
refitting and distributed fitting use this property. The leading axis of every array is the class.
"""

from abc import ABC, abstractmethod
from typing import Any, Self

import jax
import numpy as np

from bayesnb.arrays import close, namespace

__all__ = ["ROUNDING", "Statistics", "clear_rounding", "safe_ratio"]

ROUNDING = 1e-11
"""Largest difference, relative to the minuend, that counts as a rounding error."""


class Statistics(ABC):
    """A mergeable summary of a block of columns, per class."""

    @abstractmethod
    def __add__(self, other: Self) -> Self:
        """Statistics of both tables together."""

    @abstractmethod
    def __sub__(self, other: Self) -> Self:
        """Statistics of the rows that remain when the rows behind `other` are removed."""

    @abstractmethod
    def __mul__(self, factor: float) -> Self:
        """Statistics of the same rows with every weight multiplied by `factor`."""

    def without_rounding(self, before: Self) -> Self:
        """The result of a subtraction from `before`, with rounding errors set to zero."""
        return jax.tree.map(clear_rounding, self, before)

    def same_rows(self, other: "Statistics") -> bool:
        """Whether both may be statistics of the same rows, added in any order."""
        return close(self, other)

    @abstractmethod
    def pooled(self) -> Self:
        """Statistics of all classes together; the class axis stays, with length one."""


def clear_rounding(after: Any, before: Any) -> Any:
    """Differences, with those that are rounding errors of the minuend set to zero."""
    return np.where(np.abs(after) <= ROUNDING * np.abs(before), 0.0, after)


def safe_ratio(part: Any, whole: Any) -> Any:
    """Part / whole, zero where the whole is empty."""
    xp, _ = namespace(part, whole)
    empty = whole == 0
    return xp.where(empty, 0.0, part / xp.where(empty, 1.0, whole))
