"""How well does a posterior predict folds of rows that it has not seen?"""

from typing import Any

import numpy as np
from arviz_stats import ELPDDataLOOKFold

from bayesnb.arrays import warns_once
from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.checks.elpd import by_row, elpd_fields, remark_on_labels, warn_of
from bayesnb.checks.left_out import read_rows, require_exact
from bayesnb.checks.left_out_fixed_prior import LabelledRows
from bayesnb.keys import random_generator
from bayesnb.posterior.averaged import AveragedPosterior
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.reading.normalise import log_normalised
from bayesnb.tables.labels import encode_labels, learn_classes
from bayesnb.tables.table import Table
from bayesnb.validate import whole_number

__all__ = ["kfold"]


@warns_once
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
    """Exact K-fold cross-validation: each fold is predicted by a fit to the statistics of the others.

    Parameters
    ----------
    posterior : ExactPosterior or AveragedPosterior
    X : table, shape (rows, columns)
        The rows that the posterior was fitted to, or some of them; the others stay in every training set.
    y : labels of shape (rows,) or str
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

    Warns
    -----
    UserWarning
        If class probabilities are frequencies (``class_probs="empirical"``) and a fold has all rows of a class: without
        the fold, the label of these rows is impossible.

    Notes
    -----
    The posterior's inference runs again on the statistics of each training part: frequencies, defaults that follow the
    data's scale and hyperparameters that `EmpiricalBayes` learns are those of the training part. Numbers that were
    given are held.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0], [0]], ["a", "a", "b", "b"])
    >>> found = nb.kfold(posterior, [[1], [1], [0], [0]], ["a", "a", "b", "b"], k=2)
    >>> found.elpd_i.round(3).values
    array([-0.405, -0.405, -0.405, -0.405])
    """
    posterior = require_exact(posterior, "kfold")
    table, given = read_rows(posterior, X, y, sample_weight)
    codes = given.codes
    fold = _draw_folds(codes, k, key) if folds is None else _read_folds(folds, table.num_rows)
    inference = posterior.inference
    assert inference is not None
    rest = [
        inference.fit(posterior.problem.take_away(counted), key=0)
        for counted in _fold_statistics(posterior, table, given, fold)
    ]
    pointwise = np.empty(table.num_rows)
    in_sample = np.empty(table.num_rows)
    for rows, chunk in posterior.model.encode(table):
        labels = codes[rows]
        in_sample[rows] = log_normalised(posterior.log_joint_of(chunk))[np.arange(len(labels)), labels]
        for f in np.unique(fold[rows]).tolist():
            members = np.flatnonzero(fold[rows] == f)
            log_proba = log_normalised(rest[f].log_joint_of(tuple(x[members] for x in chunk)))
            pointwise[rows.start + members] = log_proba[np.arange(len(members)), labels[members]]
    remarks = remark_on_labels(posterior.problem, pointwise)
    warn_of(remarks)
    return ELPDDataLOOKFold(
        **elpd_fields(pointwise, in_sample, remarks),
        good_k=None,  # type: ignore[arg-type]
        n_folds=len(rest),
        p_kfold_i=by_row(in_sample - pointwise),
    )


def _draw_folds(codes: np.ndarray, k: int, key: Any) -> np.ndarray:
    """Fold of each row: rows are shuffled within their class and assigned to the folds in turn, class after class."""
    k = whole_number("k", k)
    if not 2 <= k <= len(codes):
        raise ValueError(f"k is {k}: give at least 2 folds and no more than there are rows, {len(codes)}")
    shuffled = random_generator(key).permutation(len(codes))
    dealt = shuffled[np.argsort(codes[shuffled], kind="stable")]
    fold = np.empty(len(codes), dtype=np.intp)
    fold[dealt] = np.arange(len(codes)) % k
    return fold


def _read_folds(folds: Any, num_rows: int) -> np.ndarray:
    """Folds as numbers, from labels of any kind."""
    labels = learn_classes(folds, num_rows, "folds")
    if len(labels) < 2:
        raise ValueError(f"folds names {len(labels)} fold: give at least two")
    return encode_labels(folds, num_rows, labels)


def _fold_statistics(
    posterior: ExactPosterior | AveragedPosterior,
    table: Table,
    given: LabelledRows,
    fold: np.ndarray,
) -> list[ModelStatistics]:
    """Statistics of each fold's rows, in one pass over the table."""
    identity = np.eye(len(posterior.classes))
    totals: dict[int, ModelStatistics] = {}
    for rows, chunk in posterior.model.encode(table):
        for f in np.unique(fold[rows]).tolist():
            members = np.flatnonzero(fold[rows] == f)
            at = rows.start + members
            membership = identity[given.codes[at]] * given.weights[at, None]
            counted = posterior.model.count(tuple(x[members] for x in chunk), membership)
            totals[f] = totals[f] + counted if f in totals else counted
    return [totals[f] for f in sorted(totals)]
