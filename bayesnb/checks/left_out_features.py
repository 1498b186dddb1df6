"""Log densities of each feature of rows given the other rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayesnb.arrays import in_float64
from bayesnb.checks.left_out import Weighable, leave_one_out, of_features_without, read_rows
from bayesnb.checks.left_out_blocks import log_class_probs_without
from bayesnb.checks.left_out_fixed_prior import LabelledRows
from bayesnb.model.inclusion import feature_names, positions_of_features
from bayesnb.parallel import in_order
from bayesnb.posterior.averaged import AveragedPosterior
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.reading.cells import Cells
from bayesnb.reading.host import HostChunks
from bayesnb.rows import PIECE_CELLS, row_pieces
from bayesnb.sparse import stacked
from bayesnb.tables.columns import first_few
from bayesnb.tables.table import Table

__all__ = ["FeaturesLeftOut", "all_features_left_out", "features_left_out"]


ROWS = 5000
"""Rows of a table of which some are kept that are computed at a time."""


@dataclass(frozen=True)
class FeaturesLeftOut:
    """Log densities of the features of rows, each row given the others.

    The sum over features, plus the log class probabilities, is log p(x_i, y=c | D without i), as `leave_one_out` has
    it.

    Attributes
    ----------
    names : list
        The features, in the order of the table's columns; a joint block is one feature.
    log_density : array, shape (rows, classes, features)
        Zero for a missing cell.
    log_class_prob : array, shape (rows, classes)
        log p(y=c | D without i).
    rows : LabelledRows
    """

    names: list[Any]
    log_density: np.ndarray
    log_class_prob: np.ndarray
    rows: LabelledRows

    def take(self, which: np.ndarray) -> Self:
        """Some of the rows."""
        return replace(
            self,
            log_density=self.log_density[which],
            log_class_prob=self.log_class_prob[which],
            rows=self.rows.take(which),
        )

    def require_finite(self, why: str) -> None:
        """Refuse densities that are not finite.

        Parameters
        ----------
        why : str
            What cannot be done with them, for the error.

        Raises
        ------
        ValueError
        """
        # The sum of a row is not finite if one of its numbers is not. An array of all tests would be another large one.
        infinite = np.flatnonzero(~np.isfinite(self.log_density.sum(axis=(1, 2))))
        if len(infinite):
            of_row = self.log_density[infinite[0]]
            c, j = np.argwhere(~np.isfinite(of_row))[0]
            raise ValueError(
                f"the density of row {self.rows.place[infinite[0]]} in feature {self.names[j]!r} and class "
                f"{self.rows.classes.tolist()[c]!r} is {of_row[c, j]} on the log scale, with which {why}: leave the "
                "row or the column out, or use a family whose density is positive there"
            )

    def of_possible_labels(self, what: str) -> tuple[Self, list[str]]:
        """The rows whose label is possible without them, and a remark on the others.

        Parameters
        ----------
        what : str
            What the others do not count in, for the remark.

        Raises
        ------
        ValueError
            If there are no such rows.
        """
        possible = np.isfinite(self.log_class_prob[np.arange(len(self.rows)), self.rows.codes])
        if possible.all() and len(possible):
            return self, []
        if not possible.any():
            raise ValueError(
                "without a row its label has probability zero, for every row: leave class_probs out for a Dirichlet "
                "prior"
            )
        lost = self.rows.place[~possible]
        remark = (
            f"row{'s' * (len(lost) > 1)} {first_few(list(map(str, lost)))} {'do' if len(lost) > 1 else 'does'} not "
            f"count in {what}: without the row its label has probability zero, whatever the features; leave "
            "class_probs out for a Dirichlet prior"
        )
        return self.take(possible), [remark]


@in_float64
def features_left_out(
    posterior: Weighable,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    kept: Callable[[Table, LabelledRows], np.ndarray] | None = None,
) -> FeaturesLeftOut:
    """The log density of each feature of each row, given the other rows.

    Parameters
    ----------
    posterior : ExactPosterior, AveragedPosterior or SampledPosterior
        From draws the densities are estimated by importance sampling.
    X, y, sample_weight
        As for `loo`.
    kept : callable, optional
        Gives the positions of the rows to compute, in ascending order; all by default. Every row is left out of all
        the data.

    Raises
    ------
    TypeError, ValueError
        As `loo`.
    """
    table, rows = read_rows(posterior, X, y, sample_weight)
    names = feature_names(posterior.model.blocks)
    places = np.arange(len(rows)) if kept is None else kept(table, rows)
    log_density = np.empty((len(places), len(rows.classes), len(names)))
    log_class_prob = np.empty(log_density.shape[:2])
    of_features = of_features_without(posterior, rows)
    positions = positions_of_features(posterior.model.blocks)

    def compute(where: slice, chunk: Cells) -> None:
        some = rows.take(places[where])
        for piece, i, j, densities in of_features(chunk, some):
            log_density[where][piece, :, positions[i][j]] = densities
        log_class_prob[where] = log_class_probs_without(posterior, some)

    chunks = posterior.model.read(table)
    if len(places) == len(rows):
        chunks.each(compute)
    else:
        # A column of a few rows costs as much as one of many: the rows of all chunks are computed together.
        cells = _cells_of(chunks, places)
        pieces = list(row_pieces(len(places), PIECE_CELLS // ROWS))
        list(in_order(lambda where: compute(where, tuple(x[where] for x in cells)), pieces))
    return FeaturesLeftOut(names, log_density, log_class_prob, rows.take(places))


def _cells_of(chunks: HostChunks, places: np.ndarray) -> Cells:
    """The encoded cells of some rows, given their positions in ascending order."""
    found: dict[int, Cells] = {}

    def take(where: slice, chunk: Cells) -> None:
        start, stop = np.searchsorted(places, (where.start, where.stop))
        found[where.start] = tuple(x[places[start:stop] - where.start] for x in chunk)

    chunks.each(take)
    return tuple(map(stacked, zip(*(found[start] for start in sorted(found)), strict=True)))


def all_features_left_out(
    posterior: ExactPosterior | AveragedPosterior, X: Any, y: Any, sample_weight: Any = None
) -> FeaturesLeftOut:
    """As `features_left_out`, with all features as one: the sum of their log densities, up to a term of each row."""
    left_out = leave_one_out(posterior, X, y, sample_weight)
    log_class_prob = log_class_probs_without(posterior, left_out.rows)
    # A class that is impossible in any case adds nothing to what can be learned.
    impossible = np.isneginf(log_class_prob)
    log_density = np.where(impossible, 0.0, left_out.log_proba - np.where(impossible, 0.0, log_class_prob))
    return FeaturesLeftOut(["all features"], log_density[..., None], log_class_prob, left_out.rows)
