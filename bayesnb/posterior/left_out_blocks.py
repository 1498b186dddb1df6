"""Log density of the cells of a block in each row, given the other rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import jax
import numpy as np
from scipy.special import log_expit

from bayesnb.core.arrays import dense, log
from bayesnb.data.read import LabelledRows
from bayesnb.families.base import JointFamily, log_predictive_given, of_column
from bayesnb.families.conjugate import ConjugateFamily, cells_log_predictive, couples_classes
from bayesnb.families.statistics import ClassCounts, Statistics
from bayesnb.model.blocks import AveragedPrior, Block, log_evidences
from bayesnb.model.reading import Cells
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.kinds import AveragedPosterior, ExactPosterior
from bayesnb.posterior.parameters import require

# --------------------------------------------------------------------------------------------------
# Densities of rows under their own class, given the other rows, where all rows have the same prior.
#
# Statistics subtract, so the posterior without a row is the closed form given the other rows. The result is its
# predictive density of the row's cells, for every conjugate family, weight and prior. A vector of counts has the
# evidence of the row as its density. A family may define a faster way in `row_log_left_out`.
# --------------------------------------------------------------------------------------------------

PIECE_CELLS = 2**16
"""Hyperparameters in memory at a time: each row has its own, and half a mebibyte fits the processor's cache."""

REMEDY = "give rows, labels and weights as they were given to fit or update"

OF_FREQUENCIES = (
    "if the weights w are frequencies, nb.loo(posterior, X, y) gives as elpd_i the score of one of the w equal rows"
)
"""What to do about weights that leave-one-out refuses."""


def _refuse_rows(rows: LabelledRows, impossible: np.ndarray, block: Block) -> None:
    """Raise an error for rows that cannot have been among the data; the cells (rows, columns) mark them.

    Raises
    ------
    ValueError
    """
    if impossible.any():
        row, j = (int(index[0]) for index in np.nonzero(impossible))
        column = block.name if block.is_joint else block.labels[j]
        raise ValueError(
            f"row {rows.place[row]} was never among the data: without it, column {column!r} in class "
            f"{rows.classes.tolist()[rows.codes[row]]!r} would have statistics that no table has; {REMEDY}"
        )


def _log_density_without(block: Block, counted: Any, x: Any, rows: LabelledRows, *, refitted: bool) -> np.ndarray:
    """Log density of each row of a block given the other rows, by the family's faster way where it has one.

    Parameters
    ----------
    block : Block
        The prior. If it is refitted: as the user gave it, and defaults that follow the data have no numbers.
    counted : Statistics
        Of all rows.
    x : array or CSR array, shape (rows, columns)
    rows : LabelledRows
    refitted : bool
        Whether the prior follows the other rows, or couples the classes.

    Returns
    -------
    array, shape (rows,), or (rows, classes) where refitted
        Log p(x_i | y_i, D without i), or log p(x_i | y=c, D without i).
    """
    family: Any = block.family
    known = family.row_log_left_out(x, rows.codes, rows.weights, counted, refitted=refitted)
    nothing = np.full((len(rows), len(rows.classes)) if refitted else len(rows), np.nan)
    found = nothing if known is None else np.array(known)
    if block.is_joint and not refitted:
        _refuse_rows(rows, np.isneginf(found)[:, None], block)
    slow = np.flatnonzero(~np.isfinite(found.reshape(len(rows), -1)).all(axis=1))
    for piece, without in without_rows(block, counted, x[slow], rows.take(slow), refitted=refitted):
        of_classes = without.of_classes().sum(axis=-1)
        found[slow[piece]] = of_classes if refitted else of_classes[:, 0]
    return found


def _given_the_rest(block: Block, counted: Any, x: Any, rows: LabelledRows) -> Iterator[tuple[slice, np.ndarray]]:
    """Log p(x_i | y_i, D without i) of a block's columns, some rows at a time.

    Yields
    ------
    tuple of slice and array
        The rows, and their cells' log densities, shape (rows, columns); (rows, 1) for a vector of counts.
    """
    if block.is_joint:
        yield slice(0, len(rows)), _log_density_without(block, counted, x, rows, refitted=False)[:, None]
        return
    for piece, without in without_rows(block, counted, x, rows):
        yield piece, without.of_classes()[:, 0]


# --------------------------------------------------------------------------------------------------
# Densities of rows under every class, given the other rows, where the prior follows the data.
#
# Hyperparameters that `on_scale_of` takes from the data are those of the other rows only, so that they differ from
# row to row, in every class. The statistics of the row are subtracted, and `on_scale_of` is called again. A family
# may define a faster way in `row_log_left_out`.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _WithoutRows:
    """A block without each of some rows: for each row a copy of every class, or of its own class alone.

    The columns of all copies are laid out side by side: rows of D columns become one row of rows * D columns. A vector
    of counts stays one vector, and the copies are classes.

    Attributes
    ----------
    prior : ConjugateFamily
        Shape (copied classes, rows * columns), or (copied classes * rows, columns) for a vector of counts.
    rest : Statistics
        Of the other rows.
    cell : Statistics
        Statistics of the row's own cell, in every copy.
    x : array, shape (1, rows * columns), or (rows, columns) for a vector of counts
        The cells.
    num_rows : int
    """

    prior: ConjugateFamily
    rest: Statistics
    cell: Statistics
    x: np.ndarray
    num_rows: int

    def of_classes(self) -> np.ndarray:
        """Log density of each cell, shape (rows, copied classes, columns); zero for a missing one."""
        cells = np.asarray(self._log_density(self.prior, self.rest, self.cell))
        copied = len(cells) // self.num_rows if isinstance(self.prior, JointFamily) else len(cells)
        return np.moveaxis(cells.reshape(copied, self.num_rows, -1), 0, 1)

    def of_all_together(self) -> np.ndarray:
        """Log density of each cell under a parameter that all classes share, shape (rows, columns)."""
        one = jax.tree.map(lambda leaf: leaf[:1], self.cell)
        return np.asarray(self._log_density(self._shared, self.rest.pooled(), one)).reshape(self.num_rows, -1)

    def log_bayes_factor(self) -> np.ndarray:
        """Log Bayes factor of the other rows, for parameters by class against a shared one, shape (rows, columns)."""
        own = np.asarray(self.prior.log_evidence(self.rest)).sum(axis=0)
        return (own - np.asarray(self._shared.log_evidence(self.rest.pooled()))[0]).reshape(self.num_rows, -1)

    def _log_density(self, prior: ConjugateFamily, rest: Any, cell: Any) -> Any:
        if isinstance(prior, JointFamily):
            return prior.update(rest).log_evidence(cell)
        return log_predictive_given(prior, rest, self.x)

    @property
    def _shared(self) -> ConjugateFamily:
        return self.prior.take(slice(0, 1))


def without_rows(
    block: Block, counted: Any, x: Any, rows: LabelledRows, *, refitted: bool = False
) -> Iterator[tuple[slice, _WithoutRows]]:
    """The block without each row, some rows at a time.

    Parameters
    ----------
    block, counted, x, rows
        As for `_log_density_without`.
    refitted : bool, default False
        Whether every class is copied, and the prior follows the other rows; else the row's own class is.

    Raises
    ------
    ValueError
        If a row cannot have been among the data.
    """
    every_class = np.arange(len(rows.classes))[:, None]
    largest = max(int(np.prod(np.shape(leaf)[1:])) for leaf in jax.tree.leaves((block.family, counted)))
    step = PIECE_CELLS // max(largest * (len(every_class) if refitted else 1), 1)
    if block.is_joint:
        # The other rows of a vector are a vector each: refitted, they have priors of their own.
        step = 1 if refitted else min(step, 64)
    for start in range(0, len(rows), max(step, 1)):
        piece = slice(start, start + max(step, 1))
        some, cells = rows.take(piece), dense(x[piece])
        copied = np.tile(every_class, len(some)) if refitted else some.codes[None]
        prior, before = jax.tree.map(partial(_copies, copied, block.is_joint), (block.family, counted))
        weights = np.where(copied == some.codes, some.weights, 0.0)
        if block.is_joint:
            membership, weights = np.tile(np.eye(len(some)), len(copied)), weights.ravel()
        else:
            cells, membership = cells.reshape(1, -1), np.ones((1, len(copied)))
            weights = np.repeat(weights, x.shape[1], axis=1)
        cell = prior.statistics(cells, membership)
        taken = cell if (weights == 1.0).all() else weighted(cell, weights)
        rest = (before - taken).without_rounding(before)
        impossible = ~np.asarray(prior.possible(rest)).reshape(len(copied), len(some), -1)
        _refuse_rows(some, impossible.any(axis=0), block)
        if refitted:
            prior = prior.on_scale_of(rest.pooled())
        yield piece, _WithoutRows(prior, rest, cell, cells, len(some))


def _copies(copied: np.ndarray, joint: bool, leaf: Any) -> np.ndarray:
    """An array (classes, columns, ...) for each row, given the classes (copied classes, rows); see `_WithoutRows`."""
    values = np.asarray(leaf)[copied]
    shape = (-1, *values.shape[2:]) if joint else (len(copied), -1, *values.shape[3:])
    return values.reshape(shape)


def weighted(cells: Statistics, weights: np.ndarray) -> Statistics:
    """The statistics of cells that are side by side on the first axes, those of `weights`, each times its weight."""
    first = tuple(range(weights.ndim))
    last = tuple(axis - weights.ndim for axis in first)  # NumPy broadcasts weights against the last axes
    product = jax.tree.map(lambda leaf: np.moveaxis(np.asarray(leaf), first, last), cells) * weights
    return jax.tree.map(lambda leaf: np.moveaxis(np.asarray(leaf), last, first), product)


# --------------------------------------------------------------------------------------------------
# Log densities of the blocks of rows, and of class probabilities, given the other rows
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _FittedBlock:
    """A block of an exact posterior, with what its density needs when a row is left out.

    Attributes
    ----------
    prior : Block
        With numbers. If its prior follows the data: as the user gave it, without numbers.
    posterior : ConjugateFamily
    statistics : Statistics
        Of all rows.
    follows : bool
        Whether a row bears on the predictions of other classes than its own: the prior follows the data, or couples the
        classes.
    """

    prior: Block
    posterior: Any
    statistics: Any
    follows: bool

    def log_densities(self, x: Any, rows: LabelledRows) -> tuple[np.ndarray, np.ndarray]:
        """Log density of each row under each class given all rows, and given the other rows, shape (rows, classes)."""
        held = np.asarray(self.posterior.row_log_predictive(x))
        if self.prior.whole_rows and (lacking := np.isnan(x).any(axis=1)).any():
            # The fit did not count these rows: without them it is the same.
            without = held.copy()
            if not lacking.all():
                without[~lacking] = self.log_densities(x[~lacking], rows.take(~lacking))[1]
            return held, without
        if self.follows:
            return held, _log_density_without(self.prior, self.statistics, x, rows, refitted=True)
        # Only the row's own class changes without the row.
        without = held.copy()
        without[np.arange(len(rows)), rows.codes] = _log_density_without(
            self.prior, self.statistics, x, rows, refitted=False
        )
        return held, without

    def features(self) -> list[tuple[Any, Self]]:
        """The columns of the block and the block of each alone; a joint block is one feature."""
        if self.prior.is_joint:
            return [(slice(None), self)]
        return [(slice(j, j + 1), self._of_column(j)) for j in range(len(self.prior.columns))]

    def _of_column(self, j: int) -> Self:
        column, block = slice(j, j + 1), self.prior
        alone = replace(
            block, family=of_column(block.family, j), columns=block.columns[column], labels=block.labels[column]
        )
        statistics = jax.tree.map(lambda leaf: leaf[:, column], self.statistics)
        return type(self)(alone, of_column(self.posterior, j), statistics, self.follows)


def fitted_blocks(posterior: ExactPosterior) -> list[_FittedBlock]:
    """The blocks of an exact posterior, for leave-one-out."""
    problem = posterior.problem
    return [
        _FittedBlock(as_given if follows else resolved, family, counted, follows or couples_classes(family))
        for as_given, resolved, family, counted, follows in zip(
            problem.model.blocks,
            posterior.model.blocks,
            posterior.families,
            problem.statistics.blocks,
            problem.follows,
            strict=True,
        )
    ]


def log_class_probs_without(posterior: Posterior, rows: LabelledRows) -> np.ndarray:
    """Log p(y=c | D without i), shape (rows, classes)."""
    problem = require(posterior, "data", "leave-one-out").problem
    prior, n = posterior.model.class_prior, problem.statistics.classes.n
    if prior.probs is not None and not problem.model.follows_labels:
        return np.broadcast_to(log(prior.probs), (len(rows), len(n)))
    # All rows of weight one share a table with one line for each class.
    unit = bool((rows.weights == 1.0).all())
    codes = np.arange(len(n)) if unit else rows.codes
    taken = np.eye(len(n))[codes] * (1.0 if unit else rows.weights[:, None])
    # A class without rows has no row to leave out.
    rest = np.maximum(ClassCounts(n - taken).without_rounding(ClassCounts(n)).n, 0.0)
    if prior.probs is None:
        rest = rest + prior.concentration
    total = rest.sum(axis=1, keepdims=True)
    log_probs = log(np.where(total > 0, rest, 1.0)) - log(np.where(total > 0, total, len(n)))
    return log_probs[rows.codes] if unit else log_probs


# --------------------------------------------------------------------------------------------------
# Log densities of single features given the other rows: of a closed form, and averaged over whether the feature depends
# on the class
# --------------------------------------------------------------------------------------------------

type Found = Iterator[tuple[slice, int, int, np.ndarray]]
"""Some rows, the positions of a block and of one of its features, and log densities of shape (rows, classes)."""


def closed_form_features(posterior: ExactPosterior) -> Callable[[Cells, LabelledRows], Found]:
    """Maps cells and rows to the log density of each feature given the other rows."""
    blocks = [block.features() for block in fitted_blocks(posterior)]

    def of_features(chunk: Cells, some: LabelledRows) -> Found:
        for i, (features, x) in enumerate(zip(blocks, chunk, strict=True)):
            for j, (columns, block) in enumerate(features):
                yield slice(None), i, j, block.log_densities(x[:, columns], some)[1]

    return of_features


def averaged_features(posterior: AveragedPosterior) -> Callable[[Cells, LabelledRows], Found]:
    """As `closed_form_features`, the two hypotheses of each feature averaged."""
    before, problem = posterior.model.prior, posterior.problem
    assert isinstance(before, AveragedPrior)
    evidences = log_evidences(before.families, before.shared, problem.statistics)

    def of_features(chunk: Cells, some: LabelledRows) -> Found:
        for i, (x, log_odds) in enumerate(zip(chunk, before.log_odds, strict=True)):
            block, counted = problem.model.blocks[i], problem.statistics.blocks[i]
            if problem.follows[i] or couples_classes(block.family):
                hypotheses = _refitted_hypotheses(block, counted, x, some)
            else:
                hypotheses = _hypotheses(posterior, i, np.subtract(*evidences[i]), x, some)
            for piece, log_bayes_factor, of_classes, of_all in hypotheses:
                after = log_odds + log_bayes_factor
                averages = np.logaddexp(log_expit(after)[:, None] + of_classes, (log_expit(-after) + of_all)[:, None])
                for j in range(averages.shape[-1]):
                    yield piece, i, j, averages[..., j]

    return of_features


type Hypotheses = Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]
"""Some rows; the log Bayes factor of the rest (rows, columns); and the log densities of the cells given the rest, under
each class's parameter (rows, classes, columns), and under one that all classes share (rows, columns)."""


def _refitted_hypotheses(block: Block, counted: Any, x: Any, rows: LabelledRows) -> Hypotheses:
    for piece, without in without_rows(block, counted, x, rows, refitted=True):
        yield piece, without.log_bayes_factor(), without.of_classes(), without.of_all_together()


def _hypotheses(
    posterior: AveragedPosterior, i: int, log_bayes_factor: np.ndarray, x: Any, rows: LabelledRows
) -> Hypotheses:
    """As `_refitted_hypotheses`, for block i, whose prior has the same numbers for all rows.

    Under either hypothesis, the evidence of the rest is the evidence of all data divided by the row's density given the
    rest. The Bayes factor without a row therefore takes one division.
    """
    block, family, statistics = posterior.model.blocks[i], posterior.families[i], posterior.problem.statistics.blocks[i]
    together = replace(block, family=block.family.take(slice(0, 1)))
    nobody = replace(rows, codes=np.zeros_like(rows.codes))
    for (piece, own), (_, of_all) in zip(
        _given_the_rest(block, statistics, x, rows),
        _given_the_rest(together, statistics.pooled(), x, nobody),
        strict=True,
    ):
        of_classes = (
            np.array(family.row_log_predictive(x[piece]))[..., None]
            if block.is_joint
            else cells_log_predictive(family, dense(x[piece]))
        )
        of_classes[np.arange(len(own)), rows.codes[piece]] = own
        yield piece, log_bayes_factor - (own - of_all), of_classes, of_all
