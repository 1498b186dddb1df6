"""A family for each column of a table: the one given, or one by the evidence of the column."""

from collections.abc import Iterator, Mapping
from typing import Any

from bayesnb.families.base import Family
from bayesnb.model.candidates import Candidate
from bayesnb.model.column_evidence import LabelledTable, chosen_candidates
from bayesnb.model.doubts import Doubt, doubts_of_density, warn_of_choice
from bayesnb.model.guess import guess_family
from bayesnb.model.open_columns import OpenColumns, observed

__all__ = ["choose_features", "doubts_of_choice"]


def choose_features(columns: OpenColumns, rows: LabelledTable) -> dict[Any, Family]:
    """A family for each column, by its evidence where none is given; warnings as for `NaiveBayes.from_frame`.

    A column without an observed cell has the same evidence under every family, and gets the family of its type.
    """
    chosen = chosen_candidates(rows, columns.open)
    warn_of_choice(doubts_of_choice(columns, chosen))
    families = {position: candidate.family for position, candidate in chosen.items()}
    empty = {position: guess_family(columns.table, position)[0] for position in columns.open if position not in chosen}
    return columns.features(families | empty)


def doubts_of_choice(columns: OpenColumns, chosen: Mapping[int, Candidate]) -> Iterator[Doubt]:
    """Doubts about the families that were chosen for some columns of a table, by position, and about its text."""
    yield from columns.doubts
    table = columns.table
    for position, candidate in chosen.items():
        if candidate.smooth:
            cells = candidate.described(observed(table, position))
            yield from doubts_of_density(cells, table.names[position], candidate.name)
