"""The families that can hold a column, among which the evidence chooses."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bayesnb.families.base import Family
from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.categorical import Categorical
from bayesnb.families.choose_bins import NUMBERS_OF_BINS, resolution
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.geometric import Geometric
from bayesnb.families.histogram import Histogram
from bayesnb.families.hurdle import Hurdle
from bayesnb.families.log_normal import LogNormal
from bayesnb.families.negative_binomial import NegativeBinomial
from bayesnb.families.poisson import Poisson
from bayesnb.families.waiting_times import Exponential
from bayesnb.tables.cells import LARGEST_COUNT
from bayesnb.tables.table import Table

__all__ = ["COUNTS", "DENSITIES", "Candidate", "candidates"]

DENSITIES: Mapping[str, ConjugateFamily] = {
    "Gaussian": Gaussian(),
    "LogNormal": LogNormal(),
    "Exponential": Exponential(),
    "Histogram": Histogram(),
}
"""Families of measurements."""

SMOOTH = ("Gaussian", "LogNormal", "Exponential")
"""Those whose density has no bins, and therefore puts no mass on one value."""

COUNTS: Mapping[str, ConjugateFamily] = {
    "Poisson": Poisson(),
    "Geometric": Geometric(),
    "NegativeBinomial(0.3)": NegativeBinomial(0.3),
    "NegativeBinomial(3)": NegativeBinomial(3.0),
    "NegativeBinomial(10)": NegativeBinomial(10.0),
    "Histogram": Histogram(),
}
"""Families of whole numbers with few values.

A Geometric is a NegativeBinomial(1), and a Poisson one of infinite total_count, so that these cover the variances from
that of a Poisson upwards. The edges of a histogram of whole numbers are half-way between them, so that its density at a
whole number is the probability of that number.
"""

MIN_CELLS = 20
"""With fewer observed cells, numbers are Gaussian: the range and the resolution that a histogram takes from so few
cells are worth as much as the shape that it describes."""

FEW_VALUES = 20
"""Whole numbers of so many different values or fewer are compared as whole numbers."""


@dataclass(frozen=True)
class Candidate:
    """A family that can hold a column.

    Attributes
    ----------
    name : str
        What results call it.
    family : ConjugateFamily
        As a user would give it.
    correction : float
        Added to the log evidence of the family, so that all candidates of the column are on one scale.
    smooth : bool
        Whether it describes cells, zeros of a hurdle apart, by a density without bins.
    counts : bool
        Whether the cells are compared as whole numbers.
    hurdle : bool
        Whether zeros have a probability of their own.
    """

    name: str
    family: ConjugateFamily
    correction: float = 0.0
    smooth: bool = False
    counts: bool = False
    hurdle: bool = False

    def described(self, cells: np.ndarray) -> np.ndarray:
        """Those of some cells that have no probability of their own: all, or those other than zero."""
        return cells[cells != 0] if self.hurdle else cells


def candidates(table: Table, position: int, weights: np.ndarray) -> tuple[Candidate, ...]:
    """The families that can hold a column of a table; none if no cell is observed.

    They hold the rows of weight zero, too, because a fit to the table raises an error for a cell that the family cannot
    hold.

    Parameters
    ----------
    table : Table
    position : int
        Position of the column.
    weights : array, shape (rows,)
        Weights of the rows.

    Raises
    ------
    TypeError
        If the column holds neither numbers nor categories (dates, lists).
    """
    kind = table.kind(position)
    if kind == "boolean":
        return (Candidate("Bernoulli", Bernoulli()),)
    if kind == "category":
        return (Candidate("Categorical", Categorical()),)
    cells = table.numbers([position], slice(None))[:, 0]
    observed = ~np.isnan(cells)
    return _of_numbers(cells[observed], weights[observed]) if observed.any() else ()


def _of_numbers(cells: np.ndarray, weights: np.ndarray) -> tuple[Candidate, ...]:
    if ((cells == 0) | (cells == 1)).all():
        return (Candidate("Bernoulli", Bernoulli()),)
    # No family holds an infinite cell. The fit raises an error that names column and row.
    if weights.sum() < MIN_CELLS or np.isinf(cells).any():
        return (Candidate("Gaussian", Gaussian(), smooth=True),)
    few = _are_few_whole_numbers(cells)
    found = [
        Candidate(name, family, _of_edges(name, cells, weights), name in SMOOTH, few)
        for name, family in _holding(COUNTS if few else DENSITIES, cells).items()
    ]
    of_zeros = weights[cells == 0].sum()
    if of_zeros > 0:
        apart = cells != 0
        # Probabilities of whole numbers are compared as they are.
        of_zeros *= 0.0 if few else -np.log(resolution(_distinct(cells, weights)))
        found += [
            Candidate(
                f"Hurdle({name})",
                Hurdle(family),
                of_zeros + _of_edges(name, cells[apart], weights[apart]),
                name in SMOOTH,
                few,
                hurdle=True,
            )
            for name, family in _holding({"Histogram": Histogram()} if few else DENSITIES, cells[apart]).items()
        ]
    return tuple(found)


def _of_edges(name: str, cells: np.ndarray, weights: np.ndarray) -> float:
    """Log of the share of edges that the cells leave open, for a histogram, whose edges were taken from the cells.

    They are one of ten sets. Besides, n uniform cells determine each end of their range to a share 1 / n of it, or to a
    step of the resolution, if that is coarser.
    """
    values = _distinct(cells, weights)
    if name != "Histogram" or not len(values):
        return 0.0
    with np.errstate(over="ignore"):
        steps = (values[-1] - values[0]) / resolution(values) + 1
    return -np.log(2 * len(NUMBERS_OF_BINS)) - 2 * np.log(max(1.0, min(weights.sum(), steps)))


def _distinct(cells: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The values of the cells that count."""
    return np.unique(cells[weights > 0])


def _holding(families: Mapping[str, ConjugateFamily], cells: np.ndarray) -> dict[str, ConjugateFamily]:
    return {name: family for name, family in families.items() if _holds(family, cells)}


def _holds(family: Family, cells: np.ndarray) -> bool:
    return bool(np.all(np.asarray(family.support(cells))))


def _are_few_whole_numbers(cells: np.ndarray) -> bool:
    # Above LARGEST_COUNT no family of counts holds a number.
    whole = (cells == np.rint(cells)) & (np.abs(cells) <= LARGEST_COUNT)
    return bool(whole.all()) and len(np.unique(cells)) <= FEW_VALUES
