"""Log density of each row, and of each of its features, given the other rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from bayesnb.core.arrays import PIECE_CELLS, in_float64, log, row_pieces, stacked
from bayesnb.core.checking import first_few
from bayesnb.core.running import in_order
from bayesnb.data.read import LabelledRows
from bayesnb.model.describe import feature_names, features_of, positions_of_features
from bayesnb.model.reading import Cells, Chunks, log_normalised
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.kinds import AveragedPosterior, ExactPosterior, SampledPosterior
from bayesnb.posterior.left_out_blocks import (
    OF_FREQUENCIES,
    REMEDY,
    Found,
    averaged_features,
    closed_form_features,
    fitted_blocks,
    log_class_probs_without,
)
from bayesnb.posterior.parameters import require
from bayesnb.posterior.under_draws import pieces_of_rows
from bayesnb.posterior.weighted import WeightedPosterior


class DensityError(ValueError):
    """The densities of rows given the other rows are not known, zero or infinite: nothing can be learned from them."""


# --------------------------------------------------------------------------------------------------
# Log densities of features given the other rows, by importance sampling over draws
# --------------------------------------------------------------------------------------------------


def _sampled_features(posterior: SampledPosterior) -> Callable[[Cells, LabelledRows], Found]:
    """Log density of each feature given the other rows, estimated from draws given all rows.

    A row changes the parameters of its own class alone. The density of its cell there is a mean over draws with weights
    in proportion to 1 / p(x_ij | theta), smoothed (Vehtari, Simpson, Gelman, Yao and Gabry 2024, *Journal of Machine
    Learning Research* 25). Under the other classes it is the mean over all draws.
    """
    blocks = posterior.model.blocks

    def of_features(chunk: Cells, some: LabelledRows) -> Found:
        for i, (block, x) in enumerate(zip(blocks, chunk, strict=True)):
            for j, _ in enumerate(features_of(block)):
                under_draws = posterior.density.feature_under_draws(i, j, x)
                for rows in pieces_of_rows(len(some)):
                    yield rows, i, j, _without(under_draws(rows), some.codes[rows])

    return of_features


def _without(densities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Log densities given the other rows, shape (rows, classes), from those under draws (draws, rows, classes)."""
    found = logsumexp(densities, axis=0) - np.log(len(densities))
    own = np.ascontiguousarray(densities[:, np.arange(len(codes)), codes].T)
    varies = own.max(axis=-1) > own.min(axis=-1)  # a missing cell has density one under all draws
    # A closed form does without ArviZ, whose import takes a second.
    from arviz_stats.base import array_stats

    # ArviZ takes log likelihoods and changes their sign.
    log_weights, _ = array_stats.psislw(own[varies])
    found[np.flatnonzero(varies), codes[varies]] = logsumexp(log_weights + own[varies], axis=-1)
    return found


# --------------------------------------------------------------------------------------------------
# Predictions of each row from the other rows, for posteriors in closed form
# --------------------------------------------------------------------------------------------------

type Weighable = ExactPosterior | AveragedPosterior | SampledPosterior
"""Posteriors whose features have densities of their own given the other rows."""


@dataclass(frozen=True)
class LeftOut:
    """Predictions of each row from the others.

    Attributes
    ----------
    log_proba : array, shape (rows, classes)
        log p(y=c | x_i, D without i).
    of_label : array, shape (rows,)
        log p(y_i | x_i, D without i).
    joint : array, shape (rows,)
        log p(x_i, y_i | D without i).
    in_sample : array, shape (rows,)
        log p(y_i | x_i, D).
    rows : LabelledRows
    """

    log_proba: np.ndarray
    of_label: np.ndarray
    joint: np.ndarray
    in_sample: np.ndarray
    rows: LabelledRows


@in_float64
def leave_one_out(posterior: ExactPosterior | AveragedPosterior | WeightedPosterior, rows: LabelledRows) -> LeftOut:
    """Every row predicted from the others; weights of features are kept. Errors as for `require_rows_of_fit`."""
    require_rows_of_fit(posterior, rows)
    log_proba, (of_label, joint, in_sample) = np.empty((len(rows), len(rows.classes))), np.empty((3, len(rows)))
    densities = _of_rows(posterior) if isinstance(posterior, ExactPosterior) else _of_features(posterior, rows)

    def one_chunk(where: slice, chunk: Cells) -> None:
        some = rows.take(where)
        own = np.arange(len(some)), some.codes
        held, log_joint, weighted = densities(chunk, some)
        log_proba[where] = log_normalised(weighted)
        of_label[where], joint[where] = log_proba[where][own], log_joint[own]
        in_sample[where] = log_normalised(held)[own]

    posterior.model.read(rows.table).each(one_chunk)
    return LeftOut(log_proba, of_label, joint, in_sample, rows)


type JointDensities = Callable[[Cells, LabelledRows], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Maps cells and rows to log p(x_i, y=c | D), log p(x_i, y=c | D without i) and the log of the product, also without i,
from which the label follows; arrays of shape (rows, classes)."""


def _of_rows(posterior: ExactPosterior) -> JointDensities:
    """The densities of whole blocks, which take less time than those of single features."""
    log_class_prob, blocks = log(posterior.class_probs()), fitted_blocks(posterior)

    def joint_densities(chunk: Cells, some: LabelledRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        held, without = np.zeros((2, len(some), len(some.classes)))
        for block, x in zip(blocks, chunk, strict=True):
            of_block, without_row = block.log_densities(x, some)
            held += of_block
            without += without_row
        without += log_class_probs_without(posterior, some)
        return held + log_class_prob, without, without

    return joint_densities


def _of_features(posterior: AveragedPosterior | WeightedPosterior, rows: LabelledRows) -> JointDensities:
    """The densities of single features, which are averaged or have weights."""
    density, of_features = posterior.density, _of_features_without(posterior.generative, rows)

    def joint_densities(chunk: Cells, some: LabelledRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        log_class_prob = log_class_probs_without(posterior, some)
        without, weighted = np.array(log_class_prob), np.zeros(log_class_prob.shape)
        for piece, i, j, densities in of_features(chunk, some):
            without[piece] += densities
            weighted[piece] += density.weighed(i, j, densities, log_class_prob[piece])
        return density.log_joint(chunk), without, density.joined(log_class_prob, weighted)

    return joint_densities


def _of_features_without(posterior: Weighable, rows: LabelledRows) -> Callable[[Cells, LabelledRows], Found]:
    """What gives the log density of each feature of encoded rows, each row given the others."""
    if isinstance(posterior, ExactPosterior):
        return closed_form_features(posterior)
    if isinstance(posterior, SampledPosterior):
        refuse_weights(rows, "draws")
        return _sampled_features(posterior)
    refuse_weights(rows, "posteriors averaged over features")
    return averaged_features(posterior)


def named_rows(rows: np.ndarray) -> str:
    """Rows by number, the first few of many."""
    return f"row{'s' * (len(rows) > 1)} {first_few(list(map(str, rows)))}"


def refuse_weights(rows: LabelledRows, kind: str) -> None:
    """Refuse rows with weights other than one.

    Parameters
    ----------
    rows : LabelledRows
    kind : str
        The posteriors that cannot leave such rows out, for the error.

    Raises
    ------
    ValueError
    """
    if (rows.weights != 1.0).any():
        raise DensityError(
            f"sample_weight is not for {kind}, which leave out rows of weight one: use kfold, or a closed form; "
            f"{OF_FREQUENCIES}"
        )


def require_rows_of_fit(posterior: Posterior, rows: LabelledRows) -> None:
    """Refuse rows of which a class weighs more than in the data of the fit.

    Raises
    ------
    ValueError
    """
    fitted = np.asarray(require(posterior, "data", "leave-one-out").problem.statistics.classes.n)
    given = np.bincount(rows.codes, rows.weights, minlength=len(fitted))
    excess = given > fitted * (1 + 1e-9)
    if excess.any():
        c = int(np.flatnonzero(excess)[0])
        raise ValueError(
            f"these rows were never all among the data: class {rows.classes.tolist()[c]!r} weighs {given[c]:g} in "
            f"y and {fitted[c]:g} in the fit; {REMEDY}"
        )


# --------------------------------------------------------------------------------------------------
# Log densities of each feature of rows given the other rows
# --------------------------------------------------------------------------------------------------

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
            raise DensityError(
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
            raise DensityError(
                "without a row its label has probability zero, for every row: leave class_probs out for a Dirichlet "
                "prior"
            )
        lost = self.rows.place[~possible]
        remark = (
            f"{named_rows(lost)} {'do' if len(lost) > 1 else 'does'} not count in {what}: without the row its label "
            "has probability zero, whatever the features; leave class_probs out for a Dirichlet prior"
        )
        return self.take(possible), [remark]


@in_float64
def features_left_out(posterior: Weighable, rows: LabelledRows, places: np.ndarray | None = None) -> FeaturesLeftOut:
    """The log density of each feature of each row, given the other rows.

    Parameters
    ----------
    posterior : ExactPosterior, AveragedPosterior or SampledPosterior
        From draws the densities are estimated by importance sampling.
    rows : LabelledRows
        Those of the fit.
    places : array of int, optional
        Positions of the rows to compute, in ascending order; all by default. Every row is left out of all the data.

    Raises
    ------
    TypeError, ValueError
        As `loo`.
    """
    require_rows_of_fit(posterior, rows)
    names = feature_names(posterior.model.blocks)
    places = np.arange(len(rows)) if places is None else places
    log_density = np.empty((len(places), len(rows.classes), len(names)))
    log_class_prob = np.empty(log_density.shape[:2])
    of_features = _of_features_without(posterior, rows)
    positions = positions_of_features(posterior.model.blocks)

    def compute(where: slice, chunk: Cells) -> None:
        some = rows.take(places[where])
        for piece, i, j, densities in of_features(chunk, some):
            log_density[where][piece, :, positions[i][j]] = densities
        log_class_prob[where] = log_class_probs_without(posterior, some)

    chunks = posterior.model.read(rows.table)
    if len(places) == len(rows):
        chunks.each(compute)
    else:
        # A column of a few rows costs as much as one of many: the rows of all chunks are computed together.
        cells = _cells_of(chunks, places)
        pieces = list(row_pieces(len(places), PIECE_CELLS // ROWS))
        list(in_order(lambda where: compute(where, tuple(x[where] for x in cells)), pieces))
    return FeaturesLeftOut(names, log_density, log_class_prob, rows.take(places))


def _cells_of(chunks: Chunks, places: np.ndarray) -> Cells:
    """The encoded cells of some rows, given their positions in ascending order."""
    found: dict[int, Cells] = {}

    def take(where: slice, chunk: Cells) -> None:
        start, stop = np.searchsorted(places, (where.start, where.stop))
        found[where.start] = tuple(x[places[start:stop] - where.start] for x in chunk)

    chunks.each(take)
    return tuple(map(stacked, zip(*(found[start] for start in sorted(found)), strict=True)))


def all_features_left_out(posterior: ExactPosterior | AveragedPosterior, rows: LabelledRows) -> FeaturesLeftOut:
    """As `features_left_out`, with all features as one: the sum of their log densities, up to a term of each row."""
    left_out = leave_one_out(posterior, rows)
    log_class_prob = log_class_probs_without(posterior, rows)
    # A class that is impossible in any case adds nothing to what can be learned.
    impossible = np.isneginf(log_class_prob)
    log_density = np.where(impossible, 0.0, left_out.log_proba - np.where(impossible, 0.0, log_class_prob))
    return FeaturesLeftOut(["all features"], log_density[..., None], log_class_prob, rows)
