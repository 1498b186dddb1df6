"""Edges of bins for a column of numbers, without its labels."""

from typing import Any

import numpy as np

from bayesnb.families.bins import Bins
from bayesnb.families.dirichlet import dirichlet_log_evidence

__all__ = [
    "NUMBERS_OF_BINS",
    "chosen_edges",
    "default_concentration",
    "lattice",
    "log_evidence_of_bins",
    "quantile_edges",
    "resolution",
]

NUMBERS_OF_BINS = (5, 10, 20, 50, 100)
"""Numbers of bins whose evidences are compared."""

PRIOR_ROWS = 10.0
"""Prior weight of all bins and tails together, in rows, where none is given."""

ROUNDING = 8 * np.finfo(np.float64).eps
"""Values that differ by less than this share of their size differ by rounding."""

ROUNDING_OF_DIFFERENCES = 1e-9
"""The same, as a share of the median size of a column, whose numbers may be differences of larger ones."""

MOST_CELLS = 32
"""Largest number of cells with as many rows each."""

ON_LATTICE = 1e-3
"""Largest distance from a lattice, in steps, that is a rounding error."""

TIES = 4.0
"""So many equal cells, or fewer, are a chance of rounded numbers."""


def chosen_edges(
    x: Any, num_bins: int | None = None, concentration: float | None = None, weights: np.ndarray | None = None
) -> tuple[float, ...]:
    """Edges of bins of equal width: among numbers of bins and two ranges those of the highest evidence.

    The ranges are that of all values, and that without the extreme ones, at least one and a hundredth on each side, if
    these hold no more than as large a share of the cells.

    Parameters
    ----------
    x : array, shape (rows,)
        Missing cells are NaN.
    num_bins : int, optional
    concentration : float, optional
        Prior weight of each bin and tail.
    weights : array, shape (rows,), optional
        Each row counts as that many rows; by default once.

    Raises
    ------
    ValueError
        If the range is infinite in float64.
    """
    values, number = _counted_values(x, weights)
    low, high = (float(values[0]), float(values[-1])) if len(values) else (0.0, 0.0)
    step = resolution(values)
    ranges = [(low, high)]
    extreme = max(1, len(values) // 100)
    if len(values) > 2 * extreme + 1:
        first, last = float(values[extreme]), float(values[-1 - extreme])
        # A value of many cells is no outlier.
        if number[(values < first) | (values > last)].sum() <= 2 * max(1.0, float(number.sum()) // 100):
            ranges.append((first, last))
    numbers = NUMBERS_OF_BINS if num_bins is None else (num_bins,)
    candidates = (_equal_edges(first, last, step, number) for first, last in ranges for number in numbers)
    return max(candidates, key=lambda edges: log_evidence_of_bins(values, edges, concentration, number))


def quantile_edges(x: Any, weights: np.ndarray | None = None) -> tuple[float, ...]:
    """Edges of at most 32 cells of about as many rows each, and of a cell for each value of more rows than that.

    A value of four rows or fewer has no cell of its own.

    Parameters
    ----------
    x : array, shape (rows,)
        Missing cells are NaN.
    weights : array, shape (rows,), optional

    Raises
    ------
    ValueError
        If the range is infinite in float64.
    """
    values, number = _counted_values(x, weights)
    if not len(values):
        values, number = np.zeros(1), np.ones(1)
    step = resolution(values)
    own = number > max(TIES, number.sum() / MOST_CELLS)
    share = np.cumsum(np.where(own, 0.0, number))[:-1]
    # The places between two values where the share of the rows is nearest to a whole number of cells.
    wanted = np.arange(1, MOST_CELLS) / MOST_CELLS * share[-1:].sum()
    place = np.unique(np.searchsorted((share[1:] + share[:-1]) / 2, wanted)) if len(share) else np.zeros(0, np.intp)
    place = place[~own[place] & ~own[place + 1]]
    between = values[place] / 2 + values[place + 1] / 2
    edges = np.unique(np.concatenate([between, values[own] - step / 2, values[own] + step / 2]))
    first, last = values[0] - step / 2, values[-1] + step / 2
    edges = np.concatenate([[first], edges[(edges > first + step / 4) & (edges < last - step / 4)], [last]])
    # Edges of neighbouring values may differ by rounding.
    return tuple(edges[np.diff(edges, prepend=-np.inf) > step / 4].tolist())


def _counted_values(x: Any, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The finite values of a column, sorted, and how many rows of positive weight have each.

    Raises
    ------
    ValueError
        If the range is infinite in float64.
    """
    counted = np.isfinite(x) if weights is None else np.isfinite(x) & (weights > 0)
    values, place = np.unique(x[counted], return_inverse=True)
    number = np.bincount(place, None if weights is None else weights[counted], minlength=len(values))
    low, high = (float(values[0]), float(values[-1])) if len(values) else (0.0, 0.0)
    # Twice the range, because the edges are outside it.
    if not np.isfinite(2 * (high - low)):
        raise ValueError(
            f"cells from {low:g} to {high:g} span more than float64 holds: divide the column by a number, or give edges"
        )
    return values, number


def default_concentration(num_parts: int) -> float:
    """Prior weight of each bin and tail where none is given: a share of ten rows, whatever the number of bins."""
    return PRIOR_ROWS / num_parts


def log_evidence_of_bins(
    x: np.ndarray, edges: tuple[float, ...], concentration: float | None = None, weights: np.ndarray | None = None
) -> float:
    """Log density of a column, all its cells in one class, the probabilities of the parts integrated out."""
    bins = Bins(edges)
    counts = np.bincount(bins.codes(x).astype(np.intp), weights, minlength=bins.size)
    of_counts = dirichlet_log_evidence(
        np.full(bins.size, default_concentration(bins.size) if concentration is None else concentration), counts
    )
    within = bins.log_density(x)
    return float(of_counts + (within.sum() if weights is None else weights @ within))


def resolution(values: np.ndarray) -> float:
    """The smallest distance of sorted values that differ by more than rounding; of a single value its size."""
    steps, size = np.diff(values), np.abs(values)
    steps = steps[steps > ROUNDING * np.maximum(size[1:], size[:-1])]
    if len(steps) and (values != np.rint(values)).any():
        # Differences of decimals have steps of rounding errors, which no value has beside it.
        beyond = steps[steps > ROUNDING_OF_DIFFERENCES * np.median(size)]
        steps = beyond if len(beyond) else steps
    return float(steps.min()) if len(steps) else float(size.max(initial=0.0)) or 1.0


def lattice(x: Any) -> float:
    """Distance of the values of a column that all lie a whole number of steps apart; zero if they do not."""
    values = np.unique(x[np.isfinite(x)])
    step = resolution(values)
    with np.errstate(over="ignore"):
        steps = (values - values[:1]) / step
    return step if len(values) > 1 and (np.abs(steps - np.rint(steps)) < ON_LATTICE).all() else 0.0


def _equal_edges(first: float, last: float, step: float, num_bins: int) -> tuple[float, ...]:
    """Edges from half a step below the first value to half a step above the last.

    The inner edges of `num_bins` bins of equal width are moved to whole steps from the lowest edge, so that they are
    half-way between the values of a lattice.
    """
    low, high = float(first - step / 2), float(last + step / 2)
    wanted = np.linspace(first, last, num_bins + 1)[1:-1]
    with np.errstate(over="ignore"):
        steps = np.rint((wanted - low) / step)
    # Of a range that float64 does not count in steps, the edges stay where they are.
    inner = np.unique(np.where(np.isfinite(steps), low + step * steps, wanted))
    return (low, *inner[(inner > low + step / 2) & (inner < high - step / 2)].tolist(), high)
