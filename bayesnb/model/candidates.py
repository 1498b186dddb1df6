"""The families that can hold a column, among which the evidence chooses."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.categorical import Categorical
from bayesnb.families.choose_bins import resolution
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.geometric import Geometric
from bayesnb.families.hurdle import Hurdle
from bayesnb.families.log_normal import LogNormal
from bayesnb.families.negative_binomial import NegativeBinomial
from bayesnb.families.poisson import Poisson
from bayesnb.families.polya_tree import PolyaTree
from bayesnb.families.waiting_times import Exponential
from bayesnb.tables.cells import LARGEST_COUNT
from bayesnb.tables.table import Table

__all__ = ["Candidate", "candidates"]

DENSITIES: Mapping[str, ConjugateFamily] = {
    "Gaussian": Gaussian(),
    "LogNormal": LogNormal(),
    "Exponential": Exponential(),
}
"""Families of measurements."""

TOTAL_COUNTS = (0.3, 3.0, 10.0)
"""Numbers of successes of a `NegativeBinomial`.

A Geometric is a NegativeBinomial(1), and a Poisson one of infinite total_count, so that these cover the variances from
that of a Poisson upwards.
"""

FEW_VALUES = 20
"""Numbers of so many different values or fewer are no `LogNormal` or `Exponential` column."""


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
    step : float
        Resolution of the column, over which a density without bins is integrated; zero for other families.
    counts : bool
        Whether the column holds counts.
    hurdle : bool
        Whether zeros have a probability of their own.
    """

    name: str
    family: ConjugateFamily
    correction: float = 0.0
    step: float = 0.0
    counts: bool = False
    hurdle: bool = False


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
    if np.isinf(cells).any():
        return (Candidate("Gaussian", Gaussian()),)
    values = np.unique(cells[weights > 0])
    step = resolution(values)
    # Above LARGEST_COUNT no family of counts holds a number.
    counts = bool(((cells == np.rint(cells)) & (cells >= 0) & (cells <= LARGEST_COUNT)).all())
    densities = DENSITIES if len(values) > FEW_VALUES else {"Gaussian": DENSITIES["Gaussian"]}
    found = [Candidate(name, family, step=step) for name, family in _holding(densities, cells).items()]
    of_zeros = weights[cells == 0].sum()
    if of_zeros > 0:
        correction = -of_zeros * np.log(step)
        found += [
            Candidate(f"Hurdle({name})", Hurdle(family), correction, step, hurdle=True)
            for name, family in _holding(densities, cells[cells != 0]).items()
        ]
    if counts:
        mean = np.average(cells, weights=weights) if weights.any() else 0.0
        found += [Candidate(name, family) for name, family in _counts(mean or 1.0).items()]
    found.append(Candidate("PolyaTree", PolyaTree()))
    return tuple(replace(candidate, counts=counts) for candidate in found)


def _counts(mean: float) -> dict[str, ConjugateFamily]:
    """Families of counts, given the mean of the column.

    The prior of a class's mean has the column's mean and as large a standard deviation, as that of `Poisson` has by
    default, whatever the `total_count`.
    """
    prior = {r: {"concentration1": 3 + r / mean, "concentration0": 1 + 2 * mean / r} for r in (1.0, *TOTAL_COUNTS)}
    return {
        "Poisson": Poisson(),
        "Geometric": Geometric(**prior[1.0]),
        **{f"NegativeBinomial({r:g})": NegativeBinomial(r, **prior[r]) for r in TOTAL_COUNTS},
    }


def _holding(families: Mapping[str, ConjugateFamily], cells: np.ndarray) -> dict[str, ConjugateFamily]:
    return {name: family for name, family in families.items() if np.all(np.asarray(family.support(cells)))}
