"""How well does a posterior predict rows that it has not seen? Leave-one-out and K-fold, without refitting.

Statistics subtract, so the posterior without a row is the closed form of what is left: no refit, no importance
sampling, nothing approximate. The evidence of one row under that posterior is its predictive density, which holds for
every conjugate family. Those that know a faster way to the same numbers say it in `row_log_left_out`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import jax
import numpy as np
import pandas as pd
import scipy.sparse
import xarray as xr
from arviz_stats import ELPDDataLOO, ELPDDataLOOKFold
from arviz_stats import loo as psis_loo
from scipy.special import gammaln

from bayesnb.arrays import in_float64, log, log_rising, to_numpy
from bayesnb.blocks import Block, ModelStatistics
from bayesnb.families.fast import random_generator, whole_number
from bayesnb.families.multinomial import Multinomial
from bayesnb.inclusion import log_evidences, log_inclusion
from bayesnb.posterior.averaged import AveragedPosterior, cell_log_predictive
from bayesnb.posterior.base import Posterior, log_normalised
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.point import PointPosterior
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.problem import Problem
from bayesnb.schema import Table, as_table, check_weights, encode_labels, learn_classes
from bayesnb.stats import ClassCounts, Statistics, dense

__all__ = ["kfold", "loo", "loo_scores"]

MIN_DRAWS = 25
"""Draws below which the tail that importance sampling smooths holds less than the five draws that its fit needs."""

PIECE_CELLS = 2**16
"""Hyperparameters at a time: each row has its own, and half a mebibyte of them stays in the processor's cache."""

GOOD_K = 0.7
"""ArviZ's threshold for Pareto k, which an exact result has no need of but ELPDDataLOO prints."""

REMEDY = "give rows, labels and weights as they were given to fit or update"


def loo(posterior: Posterior, X: Any, y: Any, *, sample_weight: Any = None) -> ELPDDataLOO:
    r"""Leave-one-out estimate of how well labels are predicted.

    The expected log predictive density is
    :math:`\sum_i \log p(y_i \mid x_i, D_{-i})` (Vehtari, Gelman and Gabry 2017, *Statistics and Computing* 27, Eq. 4),
    with the parameters integrated out as in `predict_proba`. For an exact posterior it is exact: the statistics of row
    i are taken away from its own class, those of the other classes stay. For a sampled posterior it is estimated by
    Pareto-smoothed importance sampling over the draws, whose weights 1 / p(y_i | x_i, theta) give the same quantity.

    Parameters
    ----------
    posterior : ExactPosterior, AveragedPosterior or SampledPosterior
    X : table, shape (rows, columns)
        The rows that the posterior was fitted to, or some of them.
    y : labels, shape (rows,)
    sample_weight : array, shape (rows,), optional
        The weights of the fit; `ExactPosterior` only. A row is left out with its whole weight, and counts once in the
        sum.

    Returns
    -------
    arviz_stats.ELPDDataLOO
        ``elpd_i`` and ``pareto_k`` have the dimension ``row``; ``p`` is the sum of
        log p(y_i | x_i, D) - log p(y_i | x_i, D without i), the first of which ArviZ, for draws, replaces by the log of
        the draws' average probability. Of an exact posterior ``n_samples`` and ``pareto_k`` are zero.
        ``arviz.compare`` and ``arviz.plot_compare`` take it.

    Raises
    ------
    TypeError, ValueError
        If the posterior is a point, a label is unknown, a length is wrong, there are no rows, or a row cannot have been
        among the data.

    Notes
    -----
    The prior is that of the full fit, in numbers: hyperparameters that follow the data's scale, and class
    probabilities taken from the frequencies (``class_probs="empirical"``), are held at ``posterior.model``'s values and
    are not found anew without the row.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0], [0]], ["a", "a", "b", "b"])
    >>> elpd = loo(posterior, [[1], [1], [0], [0]], ["a", "a", "b", "b"])
    >>> round(float(np.exp(elpd.elpd_i[0])), 3)
    0.64
    """
    if isinstance(posterior, SampledPosterior):
        return _psis(posterior, X, y, sample_weight)
    left_out = _leave_one_out(_require_exact(posterior, "loo"), X, y, sample_weight)
    pointwise = left_out.of_label
    return ELPDDataLOO(
        **_elpd(pointwise, left_out.in_sample), good_k=GOOD_K, pareto_k=_by_row(np.zeros(len(pointwise)))
    )


def loo_scores(
    posterior: ExactPosterior | AveragedPosterior, X: Any, y: Any, *, sample_weight: Any = None
) -> pd.Series:
    r"""Exact leave-one-out scores of the predicted labels.

    Parameters
    ----------
    posterior, X, y, sample_weight
        As for `loo`; exact posteriors only.

    Returns
    -------
    pandas.Series
        ``elpd_label``, the sum of log p(y_i | x_i, D without i); ``elpd_joint``, the sum of
        log p(x_i, y_i | D without i); ``accuracy`` of the most probable label; ``brier``, the mean of
        :math:`\sum_c (p(c \mid x_i, D_{-i}) - [y_i = c])^2`, from 0 to 2 (Brier 1950, *Monthly Weather Review* 78(1)).

    Raises
    ------
    TypeError, ValueError
        As `loo`, and if the posterior is not exact.
    """
    left_out = _leave_one_out(_require_exact(posterior, "loo_scores"), X, y, sample_weight)
    proba = np.exp(left_out.log_proba)
    truth = np.eye(proba.shape[1])[left_out.codes]
    return pd.Series(
        {
            "elpd_label": left_out.of_label.sum(),
            "elpd_joint": left_out.joint.sum(),
            "accuracy": (proba.argmax(axis=1) == left_out.codes).mean(),
            "brier": ((proba - truth) ** 2).sum(axis=1).mean(),
        },
        name="leave-one-out",
    )


def kfold(
    posterior: ExactPosterior | AveragedPosterior,
    X: Any,
    y: Any,
    *,
    k: int = 10,
    folds: Any = None,
    sample_weight: Any = None,
    key: Any = 0,
) -> ELPDDataLOOKFold:
    """Exact K-fold cross-validation: each fold is predicted from the statistics of the others.

    Parameters
    ----------
    posterior : ExactPosterior or AveragedPosterior
    X : table, shape (rows, columns)
        The rows that the posterior was fitted to, or some of them; the others stay in every training set.
    y : labels, shape (rows,)
    k : int, default 10
        Number of folds, drawn at random with nearly equal shares of every class.
    folds : array, shape (rows,), optional
        Fold of each row, any labels; instead of `k`.
    sample_weight : array, shape (rows,), optional
        The weights of the fit.
    key : int or JAX key, default 0
        For the folds drawn.

    Returns
    -------
    arviz_stats.ELPDDataLOOKFold
        ``elpd_i`` and ``p_kfold_i`` have the dimension ``row``.

    Raises
    ------
    TypeError, ValueError
        As `loo`; if the posterior is not exact, there are fewer than two folds, or more folds than rows.

    Notes
    -----
    As in `loo`, the prior is that of the full fit, in numbers.
    """
    posterior = _require_exact(posterior, "kfold")
    table = as_table(X)
    codes = encode_labels(y, table.num_rows, posterior.classes)
    weights = check_weights(sample_weight, table.num_rows)
    fold = _draw_folds(codes, k, key) if folds is None else _read_folds(folds, table.num_rows)
    _require_weight_of_classes(posterior, codes, weights)

    full = Problem(posterior.model, posterior.problem.statistics)
    rest = [
        type(posterior)(full.take_away(counted), posterior.inference)  # type: ignore[arg-type]
        for counted in _fold_statistics(posterior, table, codes, weights, fold)
    ]
    pointwise = np.empty(table.num_rows)
    in_sample = np.empty(table.num_rows)
    for rows, chunk in posterior.model.encode(table):
        labels = codes[rows]
        in_sample[rows] = log_normalised(posterior._log_joint(chunk))[np.arange(len(labels)), labels]
        for f in np.unique(fold[rows]).tolist():
            members = np.flatnonzero(fold[rows] == f)
            log_proba = log_normalised(rest[f]._log_joint(tuple(x[members] for x in chunk)))
            pointwise[rows.start + members] = log_proba[np.arange(len(members)), labels[members]]
    return ELPDDataLOOKFold(
        **_elpd(pointwise, in_sample),
        good_k=None,  # type: ignore[arg-type]
        n_folds=len(rest),
        p_kfold_i=_by_row(in_sample - pointwise),
    )


@dataclass(frozen=True)
class _LeftOut:
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
        """Arrays to be filled."""
        of_label, joint, in_sample = np.empty((3, len(codes)))
        return cls(np.empty((len(codes), num_classes)), of_label, joint, in_sample, codes)

    def set(self, rows: slice, log_joint: np.ndarray, in_sample: np.ndarray) -> None:
        """Take in some rows, given log p(x_i, y=c | D without i), shape (rows, classes), and log p(y_i | x_i, D)."""
        own = np.arange(len(in_sample)), self.codes[rows]
        self.log_proba[rows] = log_normalised(log_joint)
        self.of_label[rows], self.joint[rows] = self.log_proba[rows][own], log_joint[own]
        self.in_sample[rows] = in_sample


@in_float64
def _leave_one_out(posterior: ExactPosterior | AveragedPosterior, X: Any, y: Any, sample_weight: Any) -> _LeftOut:
    table = as_table(X)
    codes = encode_labels(y, table.num_rows, posterior.classes)
    weights = check_weights(sample_weight, table.num_rows)
    _require_weight_of_classes(posterior, codes, weights)
    if isinstance(posterior, AveragedPosterior):
        return _leave_one_out_of_average(posterior, table, codes, weights)
    left_out = _LeftOut.empty(codes, len(posterior.classes))
    log_class_prob = log(posterior._class_probs())
    unit = bool((weights == 1.0).all())
    blocks, statistics = posterior.model.blocks, posterior.problem.statistics.blocks
    every_class = np.arange(len(posterior.classes))
    by_label = _log_class_probs_without(posterior, every_class, np.ones(len(every_class))) if unit else None

    def one_chunk(rows: slice, chunk: tuple[Any, ...]) -> None:
        labels = codes[rows]
        here = np.arange(len(labels))
        # The other classes keep all their data; the row's own class has those of the rest.
        features = np.zeros((len(labels), len(posterior.classes)))
        own = np.zeros(len(labels))
        for block, family, counted, x in zip(blocks, posterior.families, statistics, chunk, strict=True):
            features += np.asarray(family.row_log_predictive(x))
            own += _own_class_without(posterior, block, counted, x, labels, weights[rows], rows.start, unit)
        of_label = log_normalised(features + log_class_prob)[here, labels]
        features[here, labels] = own
        if by_label is None:
            features += _log_class_probs_without(posterior, labels, weights[rows])
        else:
            features += by_label.take(labels, axis=0)
        left_out.set(rows, features, of_label)

    for _ in posterior.model.map_chunks(one_chunk, table):
        pass
    return left_out


def _leave_one_out_of_average(
    posterior: AveragedPosterior, table: Table, codes: np.ndarray, weights: np.ndarray
) -> _LeftOut:
    """As `_leave_one_out`, each feature's two hypotheses averaged with the weights that they have without the row.

    The evidence of the rest is that of all data over the row's density given the rest, under either hypothesis, so that
    the Bayes factor without a row takes one division.
    """
    if (weights != 1.0).any():
        raise ValueError(
            "sample_weight is not for posteriors averaged over features: leave rows of weight one out, or use kfold"
        )
    blocks, statistics = posterior.model.blocks, posterior.problem.statistics
    assert posterior.model.inclusion is not None
    evidences = log_evidences(blocks, statistics)
    left_out = _LeftOut.empty(codes, len(posterior.classes))
    for rows, chunk in posterior.model.encode(table):
        labels = codes[rows]
        in_sample = log_normalised(posterior._log_joint(chunk))[np.arange(len(labels)), labels]
        log_joint = np.array(_log_class_probs_without(posterior, labels, weights[rows]))
        for block, counted, x, family, prior, (own, shared) in zip(
            blocks, statistics.blocks, chunk, posterior.families, posterior.model.inclusion, evidences, strict=True
        ):
            together = replace(block, family=block.family.take(slice(0, 1)))
            nobody, ones = np.zeros_like(labels), weights[rows]
            for (piece, of_class), (_, of_all) in zip(
                _given_the_rest(posterior, block, counted, x, labels, ones, rows.start),
                _given_the_rest(posterior, together, counted.pooled(), x, nobody, ones, rows.start),
                strict=True,
            ):
                log_in, log_out = log_inclusion(prior, own - shared - (of_class - of_all))
                cells = (
                    np.asarray(family.row_log_predictive(x[piece]))[..., None]
                    if block.is_vector
                    else cell_log_predictive(family, dense(x[piece]))
                )
                cells[np.arange(len(of_class)), labels[piece]] = of_class
                averaged = np.logaddexp(log_in[:, None] + cells, (log_out + of_all)[:, None])
                log_joint[piece] += averaged.sum(axis=-1)
        left_out.set(rows, log_joint, in_sample)
    return left_out


def _log_class_probs_without(
    posterior: ExactPosterior | AveragedPosterior, codes: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Log p(y=c | D without i), shape (rows, classes)."""
    prior, counts = posterior.model.class_prior, posterior.problem.statistics.classes
    if prior.probs is not None:
        return np.broadcast_to(log(prior.probs), (len(codes), len(prior.probs)))
    taken = np.eye(len(counts.n))[codes] * weights[:, None]
    concentration = prior.concentration + _cleared(counts.n - taken, counts.n)
    return np.log(concentration) - np.log(concentration.sum(axis=1, keepdims=True))


def _own_class_without(
    posterior: ExactPosterior,
    block: Block,
    counted: Any,
    x: Any,
    codes: np.ndarray,
    weights: np.ndarray,
    first_row: int,
    unit: bool,
) -> np.ndarray:
    """Log p(x_i | y_i, D without i) of a block, shape (rows,); by the family's own way where it has one."""
    if unit:
        known = block.family.row_log_left_out(x, codes, counted)  # type: ignore[attr-defined]
        if known is not None and np.isfinite(known).all():
            return known
    result = np.empty(len(codes))
    for piece, cells in _given_the_rest(posterior, block, counted, x, codes, weights, first_row):
        result[piece] = cells.sum(axis=1)
    return result


def _given_the_rest(
    posterior: ExactPosterior | AveragedPosterior,
    block: Block,
    counted: Any,
    x: Any,
    codes: np.ndarray,
    weights: np.ndarray,
    first_row: int,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Log p(x_i | y_i, D without i) of a block's columns, some rows at a time.

    Yields
    ------
    tuple of slice and array
        The rows, and their cells' log densities, shape (rows, columns); (rows, 1) for a vector of counts.
    """
    if isinstance(block.family, Multinomial):
        log_density, impossible = _documents(block.family, counted, x, codes, weights)
        _refuse(impossible[:, None], posterior, block, codes, first_row)
        yield slice(0, len(codes)), log_density[:, None]
        return
    leaf = max((np.shape(leaf) for leaf in jax.tree.leaves((block.family, counted))), key=np.prod)
    step = max(1, PIECE_CELLS // max(int(np.prod(leaf[1:])), 1))
    if block.is_vector:
        step = min(step, 64)
    for start in range(0, len(codes), step):
        piece = slice(start, start + step)
        log_density, impossible = _cells(block, counted, dense(x[piece]), codes[piece], weights[piece])
        _refuse(impossible, posterior, block, codes[piece], first_row + start)
        yield piece, log_density


def _cells(
    block: Block, counted: Statistics, x: np.ndarray, codes: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Log density of each cell given the rest of its class, and which of a row's columns the rest cannot have given.

    Columns that are independent of each other stand side by side whatever row they come from: rows of D columns are
    laid out as one row of rows * D columns, each with the hyperparameters of its own row's class. A vector of counts
    stays together, and each row is a class of its own.

    Returns
    -------
    tuple of array and array of bool, shape (rows, columns); (rows, 1) for a vector of counts
    """
    num_rows = len(codes)
    if block.is_vector:
        axis, repeats, membership = 0, 1, np.eye(num_rows)

        def lay_out(leaf: Any) -> np.ndarray:
            return np.asarray(leaf)[codes]
    else:
        axis, repeats, membership = 1, x.shape[1], np.ones((1, 1))
        x = x.reshape(1, -1)

        def lay_out(leaf: Any) -> np.ndarray:
            taken = np.asarray(leaf)[codes]
            return taken.reshape(1, -1, *taken.shape[2:])

    prior, before = jax.tree.map(lay_out, (block.family, counted))
    once = prior.statistics(x, membership)
    taken = once
    if (weights != 1.0).any():
        scale = jax.vmap(lambda one, weight: one * weight, in_axes=(axis, 0), out_axes=axis)
        taken = to_numpy(scale(once, np.repeat(weights, repeats)))
    rest = (before - taken).without_rounding(before)
    impossible = ~np.asarray(prior.possible(rest)).reshape(num_rows, -1)
    if impossible.any():
        return np.full(impossible.shape, np.nan), impossible
    return np.asarray(prior.update(rest).log_evidence(once)).reshape(num_rows, -1), impossible


def _documents(
    family: Multinomial, counted: Any, x: Any, codes: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """As `_cells` for documents, touching only the words that each holds.

    The density is the Dirichlet-multinomial of Murphy (2012), Eq. 3.79.

    Returns
    -------
    tuple of array of shape (rows,) and array of bool of shape (rows,)
    """
    words = scipy.sparse.csr_array(x, copy=True)
    words.sum_duplicates()
    row = np.repeat(np.arange(len(codes)), np.diff(words.indptr))
    length = np.asarray(words.sum(axis=1)).ravel()

    def by_row(values: np.ndarray) -> np.ndarray:
        return np.bincount(row, values, minlength=len(codes))

    at = codes[row], words.indices
    concentration, total = np.asarray(family.concentration), np.asarray(counted.total)
    rest = _cleared(total[at] - weights[row] * words.data, total[at])
    total_of_class = total.sum(axis=1)[codes]
    rest_of_class = _cleared(total_of_class - weights * length, total_of_class)
    n = np.asarray(counted.n)[codes, 0]
    impossible = (by_row(rest < 0) > 0) | ((_cleared(n - weights, n) == 0) & (rest_of_class > 0))
    rest = np.maximum(rest, 0.0)
    log_density = by_row(log_rising(concentration[at] + rest, words.data) - gammaln(words.data + 1.0))
    log_density += gammaln(length + 1.0)
    return log_density - log_rising(concentration.sum(axis=1)[codes] + rest_of_class, length), impossible


def _cleared(after: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Differences that are only rounding, as zero."""
    return ClassCounts(after).without_rounding(ClassCounts(before)).n


def _psis(posterior: SampledPosterior, X: Any, y: Any, sample_weight: Any) -> ELPDDataLOO:
    table = as_table(X)
    encode_labels(y, table.num_rows, posterior.classes)
    if (check_weights(sample_weight, table.num_rows) != 1.0).any():
        raise ValueError(
            "sample_weight is for exact posteriors: importance sampling over draws leaves out rows of weight one only"
        )
    if len(posterior.classes) == 1:
        raise ValueError(
            f"there is one class, {posterior.classes.tolist()[0]!r}, so that every label is certain and nothing is "
            "left to estimate by leaving rows out; for the elpd of the features use nb.loo_scores with the closed form"
        )
    number = posterior.num_chains * posterior.num_draws
    if number < MIN_DRAWS:
        raise ValueError(
            f"there {'is 1 draw' if number == 1 else f'are {number} draws'}: importance sampling needs at least "
            f"{MIN_DRAWS}; sample more, or use the closed form, nb.fit(model, X, y), whose leave-one-out needs none"
        )
    if all((draws == draws[:1, :1]).all() for draws in posterior.draws().values()):
        raise ValueError(
            "all draws are the same, so that no weighting of them can leave a row out: sample again, or use the closed "
            "form, nb.fit(model, X, y)"
        )
    return psis_loo(posterior.to_datatree(table, y), var_name="y", pointwise=True)


def _draw_folds(codes: np.ndarray, k: int, key: Any) -> np.ndarray:
    """Fold of each row: the rows, shuffled within their class, are dealt out like cards, one class after the other."""
    k = whole_number("k", k)
    if not 2 <= k <= len(codes):
        raise ValueError(f"k is {k}: give at least 2 folds and no more than there are rows, {len(codes)}")
    shuffled = random_generator(key).permutation(len(codes))
    dealt = shuffled[np.argsort(codes[shuffled], kind="stable")]
    fold = np.empty(len(codes), dtype=np.intp)
    fold[dealt] = np.arange(len(codes)) % k
    return fold


def _read_folds(folds: Any, num_rows: int) -> np.ndarray:
    """Folds by number, from any labels."""
    labels = learn_classes(folds, num_rows, "folds")
    if len(labels) < 2:
        raise ValueError(f"folds names {len(labels)} fold: give at least two")
    return encode_labels(folds, num_rows, labels)


def _fold_statistics(
    posterior: ExactPosterior | AveragedPosterior,
    table: Table,
    codes: np.ndarray,
    weights: np.ndarray,
    fold: np.ndarray,
) -> list[ModelStatistics]:
    """Statistics of each fold's rows, in one pass over the table."""
    blocks = posterior.model.blocks
    identity = np.eye(len(posterior.classes))
    totals: dict[int, ModelStatistics] = {}
    for rows, chunk in posterior.model.encode(table):
        for f in np.unique(fold[rows]).tolist():
            members = np.flatnonzero(fold[rows] == f)
            at = rows.start + members
            membership = identity[codes[at]] * weights[at, None]
            counted = ModelStatistics(
                ClassCounts(membership.sum(axis=0)),
                tuple(block.family.statistics(x[members], membership) for block, x in zip(blocks, chunk, strict=True)),
            )
            totals[f] = totals[f] + counted if f in totals else counted
    return [totals[f] for f in sorted(totals)]


def _by_row(values: np.ndarray) -> xr.DataArray:
    return xr.DataArray(values, dims=["row"], coords={"row": np.arange(len(values))})


def _elpd(pointwise: np.ndarray, in_sample: np.ndarray) -> dict[str, Any]:
    """What every kind of ArviZ's ELPDData holds; the standard error is that of a sum over rows."""
    with np.errstate(invalid="ignore"):  # a known class probability of zero makes a label impossible
        return {
            "elpd": float(pointwise.sum()),
            "se": float(np.sqrt(len(pointwise) * np.var(pointwise))),
            "p": float((in_sample - pointwise).sum()),
            "n_samples": 0,
            "n_data_points": len(pointwise),
            "scale": "log",
            "warning": False,
            "elpd_i": _by_row(pointwise),
        }


def _require_exact(posterior: Any, verb: str) -> ExactPosterior | AveragedPosterior:
    if isinstance(posterior, ExactPosterior | AveragedPosterior):
        return posterior
    if isinstance(posterior, PointPosterior):
        raise ValueError(
            f"{verb} leaves rows out of a posterior, and a point estimate is none: use nb.fit(model, X, y) for the "
            "closed form, or draws by nb.NUTS() with loo"
        )
    if isinstance(posterior, SampledPosterior):
        raise ValueError(
            f"{verb} takes rows away from a closed form, which draws do not have: use loo, or the closed form of "
            "nb.fit(model, X, y)"
        )
    raise TypeError(f"posterior is a {type(posterior).__name__}: give what nb.fit(model, X, y) returns")


def _require_weight_of_classes(
    posterior: ExactPosterior | AveragedPosterior, codes: np.ndarray, weights: np.ndarray
) -> None:
    """Refuse rows that together weigh more than the data do."""
    fitted = np.asarray(posterior.problem.statistics.classes.n)
    given = np.bincount(codes, weights, minlength=len(fitted))
    excess = given > fitted * (1 + 1e-9)
    if excess.any():
        c = int(np.flatnonzero(excess)[0])
        raise ValueError(
            f"these rows were never all among the data: class {posterior.classes.tolist()[c]!r} weighs {given[c]:g} in "
            f"y and {fitted[c]:g} in the fit; {REMEDY}"
        )


def _refuse(impossible: np.ndarray, posterior: Posterior, block: Block, codes: np.ndarray, first_row: int) -> None:
    if impossible.any():
        row, j = (int(index[0]) for index in np.nonzero(impossible))
        column = block.name if block.is_vector else block.labels[j]
        raise ValueError(
            f"row {first_row + row} was never among the data: without it, column {column!r} in class "
            f"{posterior.classes.tolist()[codes[row]]!r} would have statistics that no table has; {REMEDY}"
        )
