"""Dependence of features within a class, which naive Bayes excludes: mean absolute correlation of pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.checks.predictive.replicates import Rows
from bayesnb.checks.predictive.statistic import Statistic
from bayesnb.model.bound import BoundModel

__all__ = ["MERGE_OR_DROP", "column", "dependence"]

MERGE_OR_DROP = (
    "merge columns that depend on each other, nb.group_columns(model, X, y), or drop those that repeat others; "
    "nb.weight_features and nb.select_features improve the class probabilities; nb.calibration on new rows says "
    "whether it matters"
)

ANOTHER_FAMILY = (
    "the columns depend on each other less than the model expects: look for columns whose family does not fit, which "
    "the shape and variance lines find"
)

MAX_PAIRS = 300
"""Largest number of pairs of features whose correlation is computed."""

MAX_FEATURES = 60
"""Largest number of features that these pairs are chosen from; one small product of matrices gives all correlations."""

VARYING = 5
"""A feature varies if at least this many rows differ from its smallest value, and as many from its largest."""


@dataclass(frozen=True)
class _Feature:
    """A column as standardised numbers.

    Attributes
    ----------
    block, column : int
        Position of the column.
    category : float or None
        Code of the category that counts as one, where the others count as zero; None for a column of numbers.
    loc, scale : float
        Mean and standard deviation in the observed data.
    """

    block: int
    column: int
    category: float | None
    loc: float
    scale: float


def _standardised(features: Sequence[_Feature], rows: Rows) -> np.ndarray:
    """The features of all rows, shape (rows, features). The columns of a block are taken at once."""
    z = np.empty((len(rows.labels.codes), len(features)))
    for block in {feature.block for feature in features}:
        places = [k for k, feature in enumerate(features) if feature.block == block]
        x = rows.cells[block][:, [features[k].column for k in places]]
        z[:, places] = x.toarray() if scipy.sparse.issparse(x) else x
    for k, feature in enumerate(features):
        if feature.category is not None:
            z[:, k] = np.where(np.isnan(z[:, k]), np.nan, z[:, k] == feature.category)
    return (z - [feature.loc for feature in features]) / [feature.scale for feature in features]


def column(x: Any, j: int) -> np.ndarray:
    """Column `j` of an array or a CSR array, shape (rows,)."""
    return x[:, [j]].toarray().ravel() if scipy.sparse.issparse(x) else x[:, j]


def dependence(model: BoundModel, data: Rows, rng: np.random.Generator) -> Statistic | None:
    """Mean absolute correlation of pairs of columns within each class, and its average over classes."""
    if sum(len(block.columns) for block in model.blocks) < 2:
        return None
    features = _choose_features(model, data, rng)
    pairs = np.array(list(combinations(range(len(features)), 2)), dtype=np.intp).reshape(-1, 2)
    if len(pairs) > MAX_PAIRS:
        pairs = pairs[np.sort(rng.choice(len(pairs), MAX_PAIRS, replace=False))]

    def values(rows: Rows) -> np.ndarray:
        z = _standardised(features, rows)
        of_class = np.array([_mean_correlation(z[at], pairs) for at in rows.labels.members])
        weight = np.where(np.isnan(of_class), 0.0, rows.labels.sizes)
        overall = (weight * np.nan_to_num(of_class)).sum() / weight.sum() if weight.any() else np.nan
        return np.array([overall, *of_class])

    labels = ["dependence", *[f"dependence[{label}]" for label in data.labels.classes]]
    return Statistic(labels, values, MERGE_OR_DROP, next_step_below=ANOTHER_FAMILY)


def _choose_features(model: BoundModel, data: Rows, rng: np.random.Generator) -> list[_Feature]:
    """At most `MAX_FEATURES` columns at random, of those that vary in the observed data.

    Columns that hardly vary are chosen only if fewer than two others vary.
    """
    order = [(i, j) for i, block in enumerate(model.blocks) for j in range(len(block.columns))]
    varying: list[_Feature] = []
    hardly_varying: list[_Feature] = []
    for at in rng.permutation(len(order)):
        i, j = order[at]
        x = column(data.cells[i], j)
        x = x[~np.isnan(x)]
        if not x.size:
            continue
        category = None
        if model.blocks[i].has_categories:
            category = float(np.bincount(x.astype(np.intp)).argmax())
            x = (x == category).astype(np.float64)
        differing = min((x != x.min()).sum(), (x != x.max()).sum())
        if not differing:
            continue
        feature = _Feature(i, j, category, float(x.mean()), float(x.std()))
        (varying if differing >= VARYING else hardly_varying).append(feature)
        if len(varying) == MAX_FEATURES:
            break
    return (varying if len(varying) > 1 else varying + hardly_varying)[:MAX_FEATURES]


def _mean_correlation(z: np.ndarray, pairs: np.ndarray) -> float:
    """Mean absolute correlation of pairs of columns over the rows where both are observed; NaN if none is defined."""
    if len(z) < 3 or not len(pairs):
        return np.nan
    missing = np.isnan(z)
    if missing.any():
        n, covariance, variances = _moments_where_both_are_seen(z, ~missing, pairs)
    else:
        n, covariance, variances = _moments(z, pairs)
    # The columns are standardised. Smaller variances are rounding errors.
    defined = (n >= 3) & (variances > 1e-12).all(axis=0)
    if not defined.any():
        return np.nan
    return float(np.abs(covariance[defined] / np.sqrt(variances[:, defined].prod(axis=0))).mean())


def _moments(z: np.ndarray, pairs: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """Number of rows, covariance (pairs,) and variances (2, pairs) of pairs of columns."""
    centred = z - z.mean(axis=0)
    covariance = centred.T @ centred / len(z)
    return len(z), covariance[*pairs.T], np.diag(covariance)[pairs.T]


def _moments_where_both_are_seen(
    z: np.ndarray, seen: np.ndarray, pairs: np.ndarray
) -> tuple[Any, np.ndarray, np.ndarray]:
    """As `_moments`, over the rows where both columns of a pair are seen."""
    filled = np.where(seen, z, 0.0)
    centred = np.where(seen, filled - filled.sum(axis=0) / np.maximum(seen.sum(axis=0), 1), 0.0)
    # One product of matrices holds all sums.
    parts = np.hstack([centred, centred**2, seen])
    x, xx, one = np.split(parts.T @ parts, 3)
    first, second = pairs.T
    of_first, of_second = 2 * z.shape[1] + pairs.T
    n = np.maximum(one[first, of_second], 1.0)
    means = np.stack([x[first, of_second], x[second, of_first]]) / n
    squares = np.stack([xx[first, of_second], xx[second, of_first]]) / n
    return n, x[first, second] / n - means.prod(axis=0), squares - means**2
