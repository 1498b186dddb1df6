"""The families with which the labels of a table are predicted best, one column after the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.api import fit
from bayesnb.checks.left_out import leave_one_out
from bayesnb.families.base import Family
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.model.candidates import Candidate
from bayesnb.model.column_evidence import Compared, LabelledTable
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.model.open_columns import OpenColumns
from bayesnb.reading.normalise import log_normalised

__all__ = ["ROUNDING", "LabelScore", "best_for_labels"]

ROUNDING = 1e-9
"""A score that is higher by less, in nats, is the same."""


@dataclass(frozen=True)
class LabelScore:
    """Families and their leave-one-out scores of the labels.

    Attributes
    ----------
    chosen : dict
        By position of the column, its family.
    difference : dict
        By position and name of the family, the score with it minus the score with the chosen one, the other columns as
        chosen.
    """

    chosen: dict[int, Candidate]
    difference: dict[tuple[int, str], float]


def best_for_labels(
    columns: OpenColumns, rows: LabelledTable, compared: Mapping[int, Sequence[Compared]]
) -> LabelScore:
    """The families of the highest leave-one-out log score of the labels, found column by column.

    Columns are independent given the class, also without a row. The log density of a row under each class is therefore
    a sum over columns, whose terms are computed once, for each family of each column on its own.

    Parameters
    ----------
    columns : OpenColumns
    rows : LabelledTable
    compared : mapping
        By position, the families of each column. The search begins with the first ones.

    Raises
    ------
    TypeError, ValueError
        If a family that is given has no closed form.
    """
    for name, family in columns.given.items():
        if not isinstance(family, ConjugateFamily):
            raise ValueError(
                f"column {name!r} is {family.family_name}, which has no closed-form posterior, as "
                'criterion="labels" needs: give a family that has one, or criterion="evidence"'
            )
    labels = rows.classes[rows.codes]

    def left_out(features: Mapping[Any, Family], class_probs: np.ndarray | None = None) -> np.ndarray:
        """Log density of each row and class without the row, up to a term of the row, shape (rows, classes)."""
        model = NaiveBayes(features, class_probs=class_probs)
        posterior: Any = fit(model, rows.table, labels, sample_weight=rows.weights)
        return leave_one_out(posterior, rows.table, labels, rows.weights).log_proba

    # Class probabilities that are equal and known leave the densities of the cells alone.
    equal = np.full(len(rows.classes), 1 / len(rows.classes))
    densities = {
        position: [left_out({rows.table.names[position]: each.candidate.family}, equal) for each in families]
        for position, families in compared.items()
    }
    place = dict.fromkeys(compared, 0)
    first = columns.features({position: families[0].candidate.family for position, families in compared.items()})
    total = left_out(first)
    changed = True
    while changed:
        changed = False
        for position, of_column in densities.items():
            rest = total - of_column[place[position]]
            scores = [_score(rest + own, rows.codes) for own in of_column]
            best = int(np.argmax(scores))
            if scores[best] > scores[place[position]] + ROUNDING:
                place[position], changed = best, True
                total = rest + of_column[best]
    difference = {}
    for position, of_column in densities.items():
        rest, score = total - of_column[place[position]], _score(total, rows.codes)
        for each, own in zip(compared[position], of_column, strict=True):
            difference[position, each.candidate.name] = _score(rest + own, rows.codes) - score
    chosen = {position: families[place[position]].candidate for position, families in compared.items()}
    return LabelScore(chosen, difference)


def _score(log_joint: np.ndarray, codes: np.ndarray) -> float:
    """Sum of the log probabilities of the labels."""
    return float(log_normalised(log_joint)[np.arange(len(codes)), codes].sum())
