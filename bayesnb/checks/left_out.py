"""Predictions of each row from the other rows, for posteriors in closed form."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayesnb.arrays import in_float64, log
from bayesnb.blocks.block import Block
from bayesnb.checks.left_out_data_prior import every_class_without, refits
from bayesnb.checks.left_out_fixed_prior import REMEDY, LabelledRows, cleared, given_the_rest, own_class_without
from bayesnb.model.inclusion import log_evidences, log_inclusion
from bayesnb.model.ways import has_closed_form
from bayesnb.posterior.averaged import AveragedPosterior
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.point import PointPosterior
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.reading.normalise import log_normalised
from bayesnb.sparse import dense
from bayesnb.tables.label_column import split_labels
from bayesnb.tables.labels import encode_labels
from bayesnb.tables.read import as_table
from bayesnb.tables.table import Table
from bayesnb.tables.weights import check_weights

__all__ = ["LeftOut", "leave_one_out", "read_rows", "require_exact"]


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
    codes : array of int, shape (rows,)
    """

    log_proba: np.ndarray
    of_label: np.ndarray
    joint: np.ndarray
    in_sample: np.ndarray
    codes: np.ndarray

    @classmethod
    def empty(cls, codes: np.ndarray, num_classes: int) -> Self:
        """Empty arrays, filled later."""
        of_label, joint, in_sample = np.empty((3, len(codes)))
        return cls(np.empty((len(codes), num_classes)), of_label, joint, in_sample, codes)

    def set(self, rows: slice, log_joint: np.ndarray, in_sample: np.ndarray) -> None:
        """Store some rows, given log p(x_i, y=c | D without i), shape (rows, classes), and log p(y_i | x_i, D)."""
        own = np.arange(len(in_sample)), self.codes[rows]
        self.log_proba[rows] = log_normalised(log_joint)
        self.of_label[rows], self.joint[rows] = self.log_proba[rows][own], log_joint[own]
        self.in_sample[rows] = in_sample


@in_float64
def leave_one_out(posterior: ExactPosterior | AveragedPosterior, X: Any, y: Any, sample_weight: Any) -> LeftOut:
    """Every row predicted from the others."""
    table, rows = read_rows(posterior, X, y, sample_weight)
    if isinstance(posterior, AveragedPosterior):
        return _of_average(posterior, table, rows)
    left_out = LeftOut.empty(rows.codes, len(rows.classes))
    log_class_prob = log(posterior.class_probs())
    counted = posterior.problem.statistics.blocks
    follows = posterior.problem.follows
    # If a family's prior follows the data: the block as the user gave it, without numbers.
    blocks = [
        as_given if moves else resolved
        for as_given, resolved, moves in zip(
            posterior.problem.model.blocks, posterior.model.blocks, follows, strict=True
        )
    ]

    def one_chunk(where: slice, chunk: tuple[Any, ...]) -> None:
        some = rows.take(where)
        own = np.arange(len(some)), some.codes
        in_sample, features = np.zeros((2, len(some), len(rows.classes)))
        of_own = np.zeros(len(some))
        for block, family, statistics, x, moves in zip(
            blocks, posterior.families, counted, chunk, follows, strict=True
        ):
            densities = np.asarray(family.row_log_predictive(x))
            in_sample += densities
            if moves:
                densities = every_class_without(block, statistics, x, some, densities)
                of_own += densities[own]
            else:
                # Only the row's own class changes without the row.
                of_own += own_class_without(block, statistics, x, some)
            features += densities
        features[own] = of_own
        log_joint = features + _log_class_probs_without(posterior, some)
        left_out.set(where, log_joint, log_normalised(in_sample + log_class_prob)[own])

    posterior.model.read(table).each(one_chunk)
    return left_out


def _of_average(posterior: AveragedPosterior, table: Table, rows: LabelledRows) -> LeftOut:
    """As `leave_one_out`; averages each feature's two hypotheses with their weights without the row."""
    if (rows.weights != 1.0).any():
        raise ValueError(
            "sample_weight is not for posteriors averaged over features: leave rows of weight one out, or use kfold"
        )
    inclusion, counted = posterior.model.inclusion, posterior.problem.statistics
    assert inclusion is not None
    evidences = log_evidences(posterior.model.blocks, counted)
    left_out = LeftOut.empty(rows.codes, len(rows.classes))
    for where, chunk in posterior.model.encode(table):
        some = rows.take(where)
        in_sample = log_normalised(posterior.log_joint_of(chunk))[np.arange(len(some)), some.codes]
        log_joint = np.array(_log_class_probs_without(posterior, some))
        for i, (x, prior) in enumerate(zip(chunk, inclusion, strict=True)):
            statistics = counted.blocks[i]
            if posterior.problem.follows[i]:
                hypotheses = _refitted_hypotheses(posterior.problem.model.blocks[i], statistics, x, some)
            else:
                log_bayes_factor = np.subtract(*evidences[i])
                hypotheses = _hypotheses(posterior, i, log_bayes_factor, x, some)
            for piece, log_bayes_factor, of_classes, of_all in hypotheses:
                log_in, log_out = log_inclusion(prior, log_bayes_factor)
                averaged = np.logaddexp(log_in[:, None] + of_classes, (log_out + of_all)[:, None])
                log_joint[piece] += averaged.sum(axis=-1)
        left_out.set(where, log_joint, in_sample)
    return left_out


type Hypotheses = Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]
"""Some rows; the log Bayes factor of the rest (rows, columns); and the log densities of the cells given the rest, under
each class's parameter (rows, classes, columns), and under one that all classes share (rows, columns)."""


def _refitted_hypotheses(block: Block, statistics: Any, x: Any, rows: LabelledRows) -> Hypotheses:
    for piece, refit in refits(block, statistics, x, rows):
        yield piece, refit.log_bayes_factor(), refit.of_classes(), refit.of_all_together()


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
        given_the_rest(block, statistics, x, rows),
        given_the_rest(together, statistics.pooled(), x, nobody),
        strict=True,
    ):
        of_classes = (
            np.array(family.row_log_predictive(x[piece]))[..., None]
            if block.is_joint
            else family.cells_log_predictive(dense(x[piece]))
        )
        of_classes[np.arange(len(own)), rows.codes[piece]] = own
        yield piece, log_bayes_factor - (own - of_all), of_classes, of_all


def _log_class_probs_without(posterior: ExactPosterior | AveragedPosterior, rows: LabelledRows) -> np.ndarray:
    """Log p(y=c | D without i), shape (rows, classes)."""
    prior, n = posterior.model.class_prior, posterior.problem.statistics.classes.n
    if prior.probs is not None and not posterior.problem.model.follows_labels:
        return np.broadcast_to(log(prior.probs), (len(rows), len(n)))
    # All rows of weight one share a table with one line for each class.
    unit = bool((rows.weights == 1.0).all())
    codes = np.arange(len(n)) if unit else rows.codes
    taken = np.eye(len(n))[codes] * (1.0 if unit else rows.weights[:, None])
    # A class without rows has no row to leave out.
    rest = np.maximum(cleared(n - taken, n), 0.0)
    if prior.probs is None:
        rest = rest + prior.concentration
    total = rest.sum(axis=1, keepdims=True)
    log_probs = log(np.where(total > 0, rest, 1.0)) - log(np.where(total > 0, total, len(n)))
    return log_probs[rows.codes] if unit else log_probs


def read_rows(posterior: Posterior, X: Any, y: Any, sample_weight: Any) -> tuple[Table, LabelledRows]:
    """The table, its labels and weights.

    Raises
    ------
    ValueError
        If the total weight of the rows exceeds that of the data.
    """
    X, y = split_labels(X, y)
    table = as_table(X)
    codes = encode_labels(y, table.num_rows, posterior.classes)
    weights = check_weights(sample_weight, table.num_rows)
    fitted = np.asarray(posterior.require_data("leave-one-out").statistics.classes.n)
    given = np.bincount(codes, weights, minlength=len(fitted))
    excess = given > fitted * (1 + 1e-9)
    if excess.any():
        c = int(np.flatnonzero(excess)[0])
        raise ValueError(
            f"these rows were never all among the data: class {posterior.classes.tolist()[c]!r} weighs {given[c]:g} in "
            f"y and {fitted[c]:g} in the fit; {REMEDY}"
        )
    return table, LabelledRows(codes, weights, np.arange(table.num_rows), posterior.classes)


def require_exact(posterior: Any, verb: str) -> ExactPosterior | AveragedPosterior:
    """Raise an error for posteriors without a closed form.

    Raises
    ------
    TypeError, ValueError
    """
    if isinstance(posterior, ExactPosterior | AveragedPosterior):
        return posterior
    if isinstance(posterior, PointPosterior):
        closed = "nb.fit(model, X, y) for the closed form, " if has_closed_form(posterior.model) else ""
        raise ValueError(
            f"{verb} leaves rows out of a posterior, and a point estimate is not one: use {closed}draws by nb.NUTS() "
            "with loo, or nb.kfold(model, X, y, inference=nb.MAP()), which fits anew"
        )
    if isinstance(posterior, SampledPosterior):
        closed = "the closed form of nb.fit(model, X, y), " if has_closed_form(posterior.model) else ""
        raise ValueError(
            f"{verb} takes rows away from a closed form, which draws do not have: use loo, {closed}or "
            "nb.kfold(model, X, y, inference=nb.NUTS()), which fits anew"
        )
    raise TypeError(f"posterior is a {type(posterior).__name__}: give what nb.fit(model, X, y) returns")
