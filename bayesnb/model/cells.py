"""Cells of a table as the numbers that a block of columns takes."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpyro.distributions import constraints

from bayesnb.core.arrays import all_whole
from bayesnb.core.checking import warn
from bayesnb.data.schema import OutsideSupport
from bayesnb.data.tables import Column
from bayesnb.families.base import Family, accepts_fractions

__all__ = ["LARGEST_COUNT", "LARGEST_NUMBER", "check_cells", "not_negative_up_to", "outside_as_missing"]

LARGEST_COUNT = 2.0**53
"""The largest count: float64 holds every whole number up to here."""

ACCURATE_COUNT = 1e9
"""Counts up to this have log densities with an error of about 1e-6; larger ones lose more digits."""

LARGEST_NUMBER = 1e150
"""The largest cell: float64 holds the sum of the squares of a hundred million such cells."""


def outside_as_missing(
    x: Any, family: Family, names: Sequence[Column], tolerant: Collection[Column], found: dict[Any, dict[Any, int]]
) -> Any:
    """The cells of a block, those outside its family's support as missing ones in some columns.

    Cells that no family of numbers holds, such as infinite ones, stay as they are.

    Parameters
    ----------
    x : array or CSR array, shape (rows, columns)
    family : Family
        Of numbers.
    names : sequence
        Names of the columns.
    tolerant : collection
        Names of the columns in which such cells count as missing.
    found : dict
        Receives, by `OutsideSupport`, one of these cells and their number.
    """
    sparse = scipy.sparse.issparse(x)
    cells = x.data if sparse else x
    wrong = _outside(cells, family)
    if not wrong.any():
        return x
    wrong &= np.abs(cells) <= LARGEST_NUMBER
    of_cell = x.indices if sparse else np.broadcast_to(np.arange(len(names)), x.shape)
    for j in np.unique(of_cell[wrong]):
        here = wrong & (of_cell == j)
        if names[j] in tolerant:
            key = OutsideSupport(names[j], family.family_name, family.holds)
            found[key] = {float(cells[here][0]): int(here.sum())}
        else:
            wrong &= ~here
    x = x.copy()
    (x.data if sparse else x)[wrong] = np.nan
    return x


def check_cells(x: Any, family: Family, names: Sequence[Column], rows: slice) -> None:
    """Raise an error if a cell is outside the family's support, and warn of counts whose densities lose digits.

    Raises
    ------
    ValueError
        If a cell is outside. The error names the column, the row and the value.
    """
    cells = x.data if scipy.sparse.issparse(x) else x
    wrong = _outside(cells, family)
    if not wrong.any():
        if family.support is constraints.nonnegative_integer and (cells > ACCURATE_COUNT).any():
            large = x.max(axis=0).toarray() if scipy.sparse.issparse(x) else np.fmax.reduce(x, axis=0)
            _warn_of_large_counts(names[int(np.argmax(large > ACCURATE_COUNT))])
        return
    if scipy.sparse.issparse(x):
        entry = int(np.flatnonzero(wrong)[0])
        row, column = int(np.searchsorted(x.indptr, entry, side="right")) - 1, int(x.indices[entry])
        value = x.data[entry]
    else:
        row, column = (int(index[0]) for index in np.nonzero(wrong))
        value = x[row, column]
    name = family.family_name
    where = f"column {names[column]!r}, row {(rows.start or 0) + row}"
    if np.isnan(value):
        raise ValueError(
            f"{where}: the cell is missing, but {name} reads a row as one vector of counts; fill in the count (0 if "
            "the word does not occur) or drop the row"
        )
    if value < np.inf and value > LARGEST_COUNT and family.support is constraints.nonnegative_integer:
        raise ValueError(
            f"{where}: {value:g} is above 2**53, about 9e15, up to which float64 holds every whole number, as {name} "
            "needs; divide the column by a common factor, or use nb.Gaussian()"
        )
    if LARGEST_NUMBER < abs(value) < np.inf:
        raise ValueError(
            f"{where}: {value:g} is farther from zero than {LARGEST_NUMBER:g}, up to which float64 holds sums of "
            "squares; divide the column by a common factor, or mark the cell as missing (NaN)"
        )
    raise ValueError(f"{where}: {value:g} is not {family.holds}, as {name} needs; {family.hint}")


def _warn_of_large_counts(name: Column) -> None:
    warn(
        f"column {name!r} has counts above {ACCURATE_COUNT:g}, up to which log densities have an error of about 1e-6; "
        "it grows with the counts: divide the column by a common factor, or use nb.Gaussian()",
        UserWarning,
    )


def _outside(cells: np.ndarray, family: Family) -> np.ndarray | np.bool_:
    """Which cells are outside the family's support; a single False if a quick test shows that none is."""
    support = constraints.nonnegative if accepts_fractions(family) else family.support
    with np.errstate(invalid="ignore", over="ignore"):
        if cells.dtype == bool and family.compact:
            return np.False_
        if support is constraints.real and family.cell == "number":
            flat = cells.ravel(order="K")
            return np.False_ if flat @ flat < LARGEST_NUMBER**2 else np.abs(cells) > LARGEST_NUMBER
        if support is constraints.boolean:
            inside = (cells == 0) | (cells == 1)
        elif support is constraints.nonnegative_integer:
            if not_negative_up_to(LARGEST_COUNT, cells) and all_whole(cells):
                return np.False_
            inside = (cells >= 0) & (cells == np.rint(cells)) & (cells <= LARGEST_COUNT)
        elif support is constraints.nonnegative and not_negative_up_to(LARGEST_NUMBER, cells):
            return np.False_
        else:
            inside = np.asarray(support(cells)) & (np.abs(cells) <= LARGEST_NUMBER)
    return ~(inside | np.isnan(cells)) if family.cell == "number" else ~inside


def not_negative_up_to(largest: float, cells: np.ndarray) -> bool:
    """Whether all cells are float64 numbers from zero to `largest` (minus zero counts as negative).

    As unsigned integers, the bits of numbers from zero have the order of the numbers, and those of NaN and of negative
    numbers are larger.
    """
    return cells.dtype == np.float64 and bool(
        cells.view(np.uint64).max(initial=0) <= np.float64(largest).view(np.uint64)
    )
