"""A family for each column of a table: the one given, or one by the evidence of the column."""

from typing import Any

from bayesnb.families.base import Family
from bayesnb.model.column_evidence import LabelledTable, chosen_candidates
from bayesnb.model.doubts import warn_of_choice
from bayesnb.model.guess import guess_family
from bayesnb.model.open_columns import OpenColumns

__all__ = ["choose_features"]


def choose_features(columns: OpenColumns, rows: LabelledTable) -> dict[Any, Family]:
    """A family for each column, by its evidence where none is given; warnings as for `NaiveBayes.from_frame`.

    A column without an observed cell has the same evidence under every family, and gets the family of its type.
    """
    chosen = chosen_candidates(rows, columns.open)
    warn_of_choice(columns.doubts)
    families = {position: candidate.family for position, candidate in chosen.items()}
    empty = {position: guess_family(columns.table, position)[0] for position in columns.open if position not in chosen}
    return columns.features(families | empty)
