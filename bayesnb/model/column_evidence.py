"""The evidence of each candidate for a column: the density of the column's cells given the labels."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.arrays import in_float64
from bayesnb.families.cdf import cdf, ends
from bayesnb.families.columns import of_column
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.log_prob import log_prob
from bayesnb.model.bound import bind
from bayesnb.model.candidates import Candidate, candidates
from bayesnb.model.describe import Description
from bayesnb.tables.labels import read_labels
from bayesnb.tables.table import Table
from bayesnb.tables.weighted import weighted_table
from bayesnb.tables.weights import check_weights

__all__ = ["Compared", "LabelledTable", "chosen_candidates", "compare_candidates", "labelled_table"]


SMALLEST = 1e-8
"""Probability of an interval below which a difference of two distribution functions has too few digits."""


@dataclass(frozen=True)
class LabelledTable:
    """A table with the labels and weights of its rows.

    Attributes
    ----------
    table : Table
    classes : array, shape (classes,)
    codes : array of int, shape (rows,)
        Position of each row's class; zero for a row without a label.
    weights : array, shape (rows,)
        Zero for a row without a label.
    """

    table: Table
    classes: np.ndarray
    codes: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class Compared:
    """A family and its evidence for one column.

    Attributes
    ----------
    candidate : Candidate
    log_evidence : float
        Log density of the column's cells given the labels, the parameters integrated out, with the correction.
    """

    candidate: Candidate
    log_evidence: float


def labelled_table(table: Table, y: Any, sample_weight: Any, *, may_miss: bool) -> LabelledTable:
    """A table with its labels and weights.

    Parameters
    ----------
    table : Table
    y : labels, shape (rows,)
    sample_weight : array, shape (rows,), or None
    may_miss : bool
        Whether rows may have no label; they then have the weight zero.

    Raises
    ------
    TypeError, ValueError
        If there is not one label and one weight for each row.
    """
    labels = read_labels(y, table.num_rows)
    classes = labels.classes(may_miss=may_miss)
    codes = labels.codes(classes, may_miss=may_miss)
    weights = np.where(codes < 0, 0.0, check_weights(sample_weight, table.num_rows))
    return LabelledTable(weighted_table(table, weights), classes, np.maximum(codes, 0), weights)


def chosen_candidates(rows: LabelledTable, positions: Sequence[int]) -> dict[int, Candidate]:
    """The candidate of the highest evidence for each column, by position; none for a column without observed cells."""
    found = {position: candidates(rows.table, position, rows.weights) for position in positions}
    # The evidence of a single candidate is not needed.
    compared = compare_candidates(rows, {position: each for position, each in found.items() if len(each) > 1})
    chosen = {position: each[0] for position, each in found.items() if each}
    return chosen | {position: each[0].candidate for position, each in compared.items()}


@in_float64
def compare_candidates(
    rows: LabelledTable, candidates_of: Mapping[int, Iterable[Candidate]]
) -> dict[int, tuple[Compared, ...]]:
    """The candidates of each column with their evidences, the best first.

    Columns that share a candidate are counted in one pass.

    Parameters
    ----------
    rows : LabelledTable
    candidates_of : mapping
        By position of the column.
    """
    columns: dict[str, dict[int, Candidate]] = defaultdict(dict)
    for position, each in candidates_of.items():
        for candidate in each:
            columns[candidate.name][position] = candidate
    found: dict[int, list[Compared]] = {position: [] for position in candidates_of}
    for of_family in columns.values():
        for position, compared in _compare_one(rows, of_family):
            found[position].append(compared)
    # A stable sort: of equal evidences the first candidate is chosen. NaN, an evidence beyond float64, comes last.
    return {position: tuple(sorted(each, key=_worst_last)) for position, each in found.items()}


def _worst_last(compared: Compared) -> float:
    return np.inf if np.isnan(compared.log_evidence) else -compared.log_evidence


def _compare_one(rows: LabelledTable, candidate_of: Mapping[int, Candidate]) -> list[tuple[int, Compared]]:
    """The evidences of one family for some columns."""
    table = rows.table
    features = {table.names[position]: candidate.family for position, candidate in candidate_of.items()}
    weights = None if (rows.weights == 1).all() else rows.weights
    model = bind(Description(features), table, None, rows.classes, weights)
    statistics = model.read(table).count(rows.codes, weights).statistics
    found = []
    for block, counted in zip(model.resolve(statistics).blocks, statistics.blocks, strict=True):
        assert isinstance(block.family, ConjugateFamily)
        with np.errstate(all="ignore"):
            log_evidence = np.asarray(block.family.log_evidence(counted)).sum(axis=0)
        for j, position in enumerate(block.columns):
            candidate = candidate_of[position]
            correction = candidate.correction
            if candidate.step:
                posterior: Any = of_column(block.family.update(counted), j)
                correction += _of_intervals(rows, position, candidate, posterior)
            found.append((position, Compared(candidate, float(log_evidence[j] + correction))))
    return found


def _of_intervals(rows: LabelledTable, position: int, candidate: Candidate, posterior: ConjugateFamily) -> float:
    """What the log evidence gains if a cell stands for all numbers that are rounded to it.

    The density of a cell is its average over the column's resolution, at the posterior mean of the parameters: without
    it, densities that are narrower than the resolution would win. A cell of nearly no probability gains nothing.
    """
    cells, step = rows.table.numbers([position], slice(None))[:, 0], candidate.step
    gain: Any = 0.0
    density: Any = posterior.family if candidate.hurdle else posterior  # type: ignore[attr-defined]
    means = density.mean()
    for c in range(len(rows.classes)):
        counted = (rows.codes == c) & (rows.weights > 0) & ~np.isnan(cells)
        if candidate.hurdle:
            counted &= cells != 0
        x, place = np.unique(cells[counted], return_inverse=True)
        distribution = density.likelihood(**{name: np.asarray(value)[c, 0] for name, value in means.items()})
        low = np.maximum(x - step / 2, ends(distribution)[0])
        prob = np.maximum(cdf(distribution, x + step / 2) - cdf(distribution, low), SMALLEST)
        more = np.log(prob / step) - log_prob(distribution, x)
        gain += np.bincount(place, rows.weights[counted], minlength=len(x)) @ np.where(prob > SMALLEST, more, 0.0)
    return float(gain)
