"""Predictions of each row from the other rows, for posteriors in closed form."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bayesnb.arrays import in_float64, log
from bayesnb.checks.left_out_averaged import averaged_features
from bayesnb.checks.left_out_blocks import fitted_blocks, log_class_probs_without
from bayesnb.checks.left_out_fixed_prior import REMEDY, LabelledRows
from bayesnb.model.ways import has_closed_form
from bayesnb.posterior.averaged import AveragedPosterior
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.point import PointPosterior
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.posterior.weighted import WeightedPosterior
from bayesnb.reading.normalise import log_normalised
from bayesnb.tables.label_column import split_labels
from bayesnb.tables.labels import encode_labels
from bayesnb.tables.read import as_table
from bayesnb.tables.table import Table
from bayesnb.tables.weights import check_weights
from bayesnb.validate import a_type

__all__ = ["LeftOut", "leave_one_out", "read_rows", "refuse_weights", "require_exact"]


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

    @classmethod
    def empty(cls, rows: LabelledRows) -> Self:
        """Empty arrays, filled later."""
        of_label, joint, in_sample = np.empty((3, len(rows)))
        return cls(np.empty((len(rows), len(rows.classes))), of_label, joint, in_sample, rows)

    @property
    def codes(self) -> np.ndarray:
        """Position of each row's class, shape (rows,)."""
        return self.rows.codes

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
    left_out = LeftOut.empty(rows)
    log_class_prob = log(posterior.class_probs())
    blocks = fitted_blocks(posterior)

    def one_chunk(where: slice, chunk: tuple[Any, ...]) -> None:
        some = rows.take(where)
        in_sample, log_joint = np.zeros((2, len(some), len(rows.classes)))
        for block, x in zip(blocks, chunk, strict=True):
            held, without = block.log_densities(x, some)
            in_sample += held
            log_joint += without
        log_joint += log_class_probs_without(posterior, some)
        left_out.set(where, log_joint, log_normalised(in_sample + log_class_prob)[np.arange(len(some)), some.codes])

    posterior.model.read(table).each(one_chunk)
    return left_out


def _of_average(posterior: AveragedPosterior, table: Table, rows: LabelledRows) -> LeftOut:
    """As `leave_one_out`; averages each feature's two hypotheses with their weights without the row."""
    refuse_weights(rows, "posteriors averaged over features")
    left_out = LeftOut.empty(rows)
    of_features = averaged_features(posterior)
    for where, chunk in posterior.model.encode(table):
        some = rows.take(where)
        in_sample = log_normalised(posterior.log_joint_of(chunk))[np.arange(len(some)), some.codes]
        log_joint = np.array(log_class_probs_without(posterior, some))
        for piece, _, densities in of_features(chunk, some):
            log_joint[piece] += densities.sum(axis=-1)
        left_out.set(where, log_joint, in_sample)
    return left_out


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
        raise ValueError(f"sample_weight is not for {kind}: leave rows of weight one out, or use kfold")


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
    if isinstance(posterior, WeightedPosterior):
        raise ValueError(
            f"{verb} leaves rows out of a posterior, and weights of features were learned from all rows together: give "
            "posterior.unweighted; scikit-learn's cross_val_predict scores weights, with "
            'NaiveBayesClassifier(feature_weights="each")'
        )
    raise TypeError(f"posterior is {a_type(posterior)}: give what nb.fit(model, X, y) returns")
