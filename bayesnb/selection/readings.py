"""Readings: columns derived of a column that say more of it, for weights to choose among."""

from collections.abc import Iterable

from bayesnb.core.checking import listed
from bayesnb.data.derived import DerivedColumn
from bayesnb.data.read import Rows
from bayesnb.data.recipes import PARTS
from bayesnb.data.tables import SparseTable
from bayesnb.families.family import Family
from bayesnb.model.naive_bayes import NaiveBayes

READINGS = ("x is missing", "x as categories", *(f"x {part}" for part in PARTS))
"""What may be left out, where x stands for the name of a column."""

RARE = 0.005
"""A column with fewer missing cells, or fewer observed ones, has no reading of its gaps."""

FEW_NAMES = 20
"""Whole numbers of so many values or fewer have no reading as categories."""

Feature = tuple[Family, list[DerivedColumn]]


def readings_of(description: NaiveBayes, rows: Rows, exclude: Iterable[str]) -> dict[str, Feature]:
    """Features for what the columns of a model say beside their cells, and for dates.

    Parameters
    ----------
    description : NaiveBayes
    rows : Rows
        Labelled rows, with numbers where text is read as such.
    exclude : iterable of str
        Readings that are left out, some of `READINGS`.

    Raises
    ------
    ValueError
        If `exclude` names no reading.
    """
    exclude = [exclude] if isinstance(exclude, str) else list(exclude)
    if unknown := [name for name in exclude if name not in READINGS]:
        raise ValueError(f"exclude names {unknown[0]!r}, which is no reading: name some of {listed(READINGS)}")
    table = rows.table
    if isinstance(table, SparseTable):
        return {}
    described = {name for name, _ in description.features.items()}
    found = [
        *_of_gaps(table, described),
        *_of_names(table, described),
        *_of_dates(table, rows, described),
    ]
    return {column.name: (family, [column]) for kind, column, family in found if kind not in exclude}
