"""Tables in which cells outside the support of a column's family are missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpyro.distributions import constraints

from bayesnb.families.base import Family
from bayesnb.tables.cells import LARGEST_NUMBER, outside
from bayesnb.tables.overlay import Overlay
from bayesnb.tables.table import Table
from bayesnb.warn import warn

__all__ = ["within_support"]


def within_support(table: Table, families: Mapping[int, Family]) -> Table:
    """The table with cells outside the support of their column's family as missing ones.

    It is for families that other rows chose, which the user may not expect.

    Parameters
    ----------
    table : Table
        Not sparse.
    families : mapping from position to Family
        The families of columns of numbers.

    Warns
    -----
    UserWarning
        Names the columns, the number of cells and one of them.
    """
    wrong, found = {}, []
    for position, family in families.items():
        if family.support is constraints.real:
            continue
        cells = table.numbers([position], slice(None))[:, 0]
        marked = outside(cells, family) & (np.abs(cells) <= LARGEST_NUMBER)
        if marked.any():
            wrong[position] = marked
            number, first = int(marked.sum()), cells[marked.argmax()]
            kind, name = family.family_name, table.names[position]
            found.append(f"{number} in column {name!r}, such as {first:g}, which is not {family.holds} ({kind})")
    if not wrong:
        return table
    name = table.names[next(iter(wrong))]
    warn(
        f"cells outside the support of families that the labels chose count as missing: {'; '.join(found)}. Give a "
        f"family that holds them, nb.NaiveBayes.from_frame(X, y, families={{{name!r}: nb.Gaussian()}})",
        UserWarning,
    )
    return _SupportedTable(table, wrong)


@dataclass(frozen=True)
class _SupportedTable(Overlay):
    """A table in which some numbers are missing.

    Attributes
    ----------
    table : Table
    wrong : dict of array of bool, shape (rows,)
        By position of a column, its cells that are missing.
    """

    wrong: Mapping[int, np.ndarray]

    def stored(self, columns: Sequence[int], rows: slice) -> np.ndarray | None:
        return None if self.wrong.keys() & {*columns} else super().stored(columns, rows)

    def numbers(self, columns: Sequence[int], rows: slice, *, sparse: bool = False, booleans: bool = False) -> Any:
        if not self.wrong.keys() & {*columns}:
            return super().numbers(columns, rows, sparse=sparse, booleans=booleans)
        cells = np.array(super().numbers(columns, rows))
        for place, position in enumerate(columns):
            if position in self.wrong:
                cells[self.wrong[position][rows], place] = np.nan
        return cells
