"""Columns and their names, and tests of uniform values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from scipy.stats import binom

__all__ = [
    "Column",
    "OutsideSupport",
    "as_index",
    "as_range",
    "ecdf_difference",
    "first_few",
    "items_at",
    "listed",
    "near_matches",
    "shown_p",
    "uniform_band",
]

# --------------------------------------------------------------------------------------------------
# Names and positions of columns
# --------------------------------------------------------------------------------------------------

Column = Any
"""Name of a column: any hashable value, its position where the table has no names."""


@dataclass(frozen=True)
class OutsideSupport:
    """A column with cells that its family cannot hold, and that count as missing.

    Attributes
    ----------
    column : hashable
        Its name.
    family : str
        Name of the family.
    holds : str
        What the family holds.
    """

    column: Column
    family: str
    holds: str


def as_range(columns: Sequence[int]) -> Sequence[int]:
    """Positions of columns: a range if they follow each other, else a tuple.

    A range is compared quickly, and NumPy takes its columns without a copy.
    """
    if not columns:
        return range(0)
    consecutive = range(columns[0], columns[-1] + 1)
    if columns == consecutive or list(columns) == list(consecutive):
        return consecutive
    return tuple(columns)


def as_index(columns: Sequence[int]) -> Any:
    """Positions as an index of an array; a slice for a range, so that NumPy makes no copy."""
    return slice(columns.start, columns.stop) if isinstance(columns, range) else list(columns)


def items_at[S: Sequence[Any]](values: S, positions: Sequence[int]) -> S | tuple:
    """The values at these positions; a slice of `values` if the positions are a range."""
    if isinstance(positions, range):
        return values[as_index(positions)]
    return tuple(map(values.__getitem__, positions))


def listed(values: Iterable[Any]) -> str:
    """Values for an error or a warning: the first five, and how many more there are."""
    return first_few(list(map(repr, values)))


def first_few(texts: Sequence[str], number: int = 5, between: str = ", ") -> str:
    """So many of the texts, and how many more there are."""
    return between.join(texts[:number]) + (f" and {len(texts) - number} more" if len(texts) > number else "")


def near_matches(name: Column, names: Iterable[Column]) -> str:
    """A question for an error, " (did you mean 'island'?)", with the names closest to one that does not exist.

    Empty if no name is close.
    """
    by_text = {str(each): each for each in names}
    found = [by_text[text] for text in get_close_matches(str(name), by_text, n=2, cutoff=0.7)]
    return f" (did you mean {' or '.join(map(repr, found))}?)" if found else ""


# --------------------------------------------------------------------------------------------------
# Uniform values: their empirical distribution function, a band that contains it, and p-values as text
# --------------------------------------------------------------------------------------------------


def uniform_band(num_values: int, prob: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Band that contains the whole empirical distribution function of uniform values with a given probability.

    Pointwise binomial intervals, widened until all of them hold simultaneously: Säilynoja, Bürkner and Vehtari (2022),
    *Statistics and Computing* 32, 32. The widening is found by simulation.

    Parameters
    ----------
    num_values : int
    prob : float
        Probability that the function stays inside at every point.

    Returns
    -------
    tuple of array
        Points in (0, 1), and the lower and upper end at each, as differences from the uniform distribution function.
    """
    points = np.linspace(0, 1, 102)[1:-1]
    cells = np.full(len(points) + 1, 1 / (len(points) + 1))
    counts = np.random.default_rng(0).multinomial(num_values, cells, size=5000).cumsum(axis=1)[:, :-1]
    possible = np.arange(num_values + 1)[:, None]
    tail = 2 * np.minimum(binom.cdf(possible, num_values, points), binom.sf(possible - 1, num_values, points))
    unusual = tail[counts, np.arange(len(points))].min(axis=1)
    level = np.quantile(unusual, 1 - prob)
    lower, upper = (binom.ppf(q, num_values, points) / num_values - points for q in (level / 2, 1 - level / 2))
    return points, lower, upper


def ecdf_difference(pit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the empirical distribution function of values in (0, 1), and its difference from the uniform one."""
    points = np.repeat(np.concatenate([[0.0], np.sort(pit), [1.0]]), 2)[1:-1]
    height = np.repeat(np.arange(len(pit) + 1) / len(pit), 2)
    return points, height - points


def shown_p(p_value: float) -> str:
    """A p-value as text, with its relation sign: the test's own precision ends near 1e-15."""
    return f"= {p_value:.1g}" if p_value > 1e-12 else "< 1e-12"
