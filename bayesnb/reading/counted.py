"""Statistics of rows, with the values that are not among the categories."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bayesnb.blocks.statistics import ModelStatistics

__all__ = ["Counted", "Unseen", "add_unseen"]

Unseen = Mapping[Any, Mapping[Any, int]]
"""For each column the values that are not among its categories, and how often each occurs; for each `OutsideSupport`
one of its cells, and their number."""


@dataclass(frozen=True)
class Counted:
    """Statistics of rows, and the cells whose categories are not in the model; the sum is that of all the rows."""

    statistics: ModelStatistics
    unseen: Unseen

    def __add__(self, other: "Counted") -> "Counted":
        return Counted(self.statistics + other.statistics, add_unseen(self.unseen, other.unseen))


def add_unseen(one: Unseen, other: Unseen) -> Unseen:
    """How often each value occurs in two sets of rows together."""
    total = {column: dict(values) for column, values in one.items()}
    for column, values in other.items():
        mine = total.setdefault(column, {})
        for value, number in values.items():
            mine[value] = mine.get(value, 0) + number
    return total
