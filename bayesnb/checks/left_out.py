"""Predictions of each row from the other rows, for posteriors in closed form."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bayesnb.arrays import in_float64, log
from bayesnb.checks.left_out_averaged import averaged_features
from bayesnb.checks.left_out_blocks import fitted_blocks, log_class_probs_without
from bayesnb.checks.left_out_draws import sampled_features
from bayesnb.checks.left_out_fixed_prior import OF_FREQUENCIES, REMEDY, LabelledRows
from bayesnb.model.ways import has_closed_form
from bayesnb.posterior.averaged import AveragedPosterior
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.point import PointPosterior
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.posterior.weighted import WeightedPosterior
from bayesnb.reading.cells import Cells
from bayesnb.reading.normalise import log_normalised
from bayesnb.tables.label_column import split_labels
from bayesnb.tables.labels import encode_labels
from bayesnb.tables.read import as_table
from bayesnb.tables.table import Table
from bayesnb.tables.weights import check_weights
from bayesnb.validate import a_type

__all__ = [
    "LeftOut",
    "Weighable",
    "leave_one_out",
    "of_features_without",
    "read_rows",
    "refuse_weights",
    "require_exact",
]

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

    @classmethod
    def empty(cls, rows: LabelledRows) -> Self:
        """Empty arrays, filled later."""
        of_label, joint, in_sample = np.empty((3, len(rows)))
        return cls(np.empty((len(rows), len(rows.classes))), of_label, joint, in_sample, rows)

    @property
    def codes(self) -> np.ndarray:
        """Position of each row's class, shape (rows,)."""
        return self.rows.codes

    def set(
        self, rows: slice, log_joint: np.ndarray, in_sample: np.ndarray, weighted: np.ndarray | None = None
    ) -> None:
        """Store some rows, given log p(x_i, y=c | D without i), shape (rows, classes), and log p(y_i | x_i, D).

        If features have weights, the labels follow from `weighted`, the log of the weighted product.
        """
        own = np.arange(len(in_sample)), self.codes[rows]
        self.log_proba[rows] = log_normalised(log_joint if weighted is None else weighted)
        self.of_label[rows], self.joint[rows] = self.log_proba[rows][own], log_joint[own]
        self.in_sample[rows] = in_sample


@in_float64
def leave_one_out(
    posterior: ExactPosterior | AveragedPosterior | WeightedPosterior, X: Any, y: Any, sample_weight: Any
) -> LeftOut:
    """Every row predicted from the others; weights of features are kept."""
    table, rows = read_rows(posterior, X, y, sample_weight)
    if not isinstance(posterior, ExactPosterior):
        return _by_feature(posterior, table, rows)
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


def _by_feature(posterior: AveragedPosterior | WeightedPosterior, table: Table, rows: LabelledRows) -> LeftOut:
    """As `leave_one_out`; adds up the densities of single features."""
    left_out = LeftOut.empty(rows)
    of_features = of_features_without(posterior.generative, rows)
    for where, chunk in posterior.model.encode(table):
        some = rows.take(where)
        in_sample = log_normalised(posterior.log_joint_of(chunk))[np.arange(len(some)), some.codes]
        log_joint = np.array(log_class_probs_without(posterior, some))
        log_class_prob, weighted = log_joint.copy(), np.zeros(log_joint.shape)
        for piece, i, j, densities in of_features(chunk, some):
            log_joint[piece] += densities
            weighted[piece] += posterior.weighed(i, j, densities, log_class_prob[piece])
        left_out.set(where, log_joint, in_sample, posterior.joined(log_class_prob, weighted))
    return left_out


type Found = Iterator[tuple[slice, int, int, np.ndarray]]
"""Some rows, the positions of a block and of one of its features, and log densities of shape (rows, classes)."""


def of_features_without(posterior: Weighable, rows: LabelledRows) -> Callable[[Cells, LabelledRows], Found]:
    """What gives the log density of each feature of encoded rows, each row given the others."""
    if isinstance(posterior, ExactPosterior):
        return _of_blocks(posterior)
    if isinstance(posterior, SampledPosterior):
        refuse_weights(rows, "draws")
        return sampled_features(posterior)
    refuse_weights(rows, "posteriors averaged over features")
    return _averaged_features(posterior)


def _of_blocks(posterior: ExactPosterior) -> Callable[[Cells, LabelledRows], Found]:
    blocks = [block.features() for block in fitted_blocks(posterior)]

    def of_features(chunk: Cells, some: LabelledRows) -> Found:
        for i, (features, x) in enumerate(zip(blocks, chunk, strict=True)):
            for j, (columns, block) in enumerate(features):
                yield slice(None), i, j, block.log_densities(x[:, columns], some)[1]

    return of_features


def _averaged_features(posterior: AveragedPosterior) -> Callable[[Cells, LabelledRows], Found]:
    averaged = averaged_features(posterior)

    def of_features(chunk: Cells, some: LabelledRows) -> Found:
        for piece, i, densities in averaged(chunk, some):
            for j in range(densities.shape[-1]):
                yield piece, i, j, densities[..., j]

    return of_features


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
        raise ValueError(
            f"sample_weight is not for {kind}, which leave out rows of weight one: use kfold; {OF_FREQUENCIES}"
        )


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


def require_exact(given: Any, verb: str) -> Any:
    """The posterior that was given, with its weights of features if it has any; an error if it has no closed form.

    Raises
    ------
    TypeError, ValueError
    """
    posterior = given.generative if isinstance(given, Posterior) else given
    if isinstance(posterior, ExactPosterior | AveragedPosterior):
        return given
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
    raise TypeError(f"posterior is {a_type(posterior)}: give what nb.fit(model, X, y) returns")
