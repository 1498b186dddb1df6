"""The built-in statistics of a posterior predictive check."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from bayesnb.checks.replicates import (
    SHAPES,
    Build,
    DataSet,
    ObservedLabels,
    Statistic,
    columns_at,
    ratio,
    shapes_of_columns,
    statistic_of_function,
)
from bayesnb.core.arrays import dense
from bayesnb.core.deferred import constraints
from bayesnb.families.bins import Resolution
from bayesnb.families.family import parameter_names
from bayesnb.model.blocks import Block
from bayesnb.model.bound import BoundModel

# --------------------------------------------------------------------------------------------------
# Frequencies of classes; means, variances and shares of zeros of columns, and burstiness of words, by class
# --------------------------------------------------------------------------------------------------

TRY_BURSTS = "try nb.DirichletMultinomial() if words come in bursts, else drop or join words"
TRY_ANOTHER_PRIOR = "try another prior, or another family for the column"
OTHER_FAMILIES = {
    "Histogram": "nb.Histogram() for measurements of any shape",
    "Hurdle": "nb.Hurdle() for many zeros",
    "NegativeBinomial": "nb.NegativeBinomial() for counts that spread widely",
}
"""What to try, by the name of the family."""


def _try_another_family(block: Block) -> str:
    """Advice for a column whose spread or zeros do not match its family: other families to try."""
    others = ", ".join(text for name, text in OTHER_FAMILIES.items() if name != block.family.family_name)
    return f"try another family for the column ({others}), or another prior"


def _class_frequency(model: BoundModel, data: DataSet, rng: np.random.Generator) -> Statistic:
    """Share of the rows, by class."""
    return Statistic(
        [f"class_frequency[{label}]" for label in data.labels.classes],
        lambda rows: rows.class_counts / len(rows.labels.codes),
        "learn the class probabilities (leave class_probs out), or lower class_concentration",
        fitted=True,
    )


def _by_class(
    name: str,
    applies: Callable[[Block], bool],
    of_block: Callable[[Any, ObservedLabels], np.ndarray],
    next_step: Callable[[Block], str],
    *,
    fitted: Callable[[Block], bool] = lambda block: False,
) -> Build:
    """A statistic of every column, or of every block of count vectors, in every class.

    `of_block` gives numbers (classes, columns), or (classes,) of count vectors, from the cells of a block and the
    labels. `applies` says whether the statistic is about a block, `fitted` whether the block's family fits the
    statistic, and `next_step` what to do about a block if the statistic is extreme.
    """

    def build(model: BoundModel, data: DataSet, rng: np.random.Generator) -> Statistic | None:
        blocks = [(i, block) for i, block in enumerate(model.blocks) if applies(block)]
        lines = [
            (block, f"{name}[{part}, {label}]")
            for _, block in blocks
            for part in ([block.name] if block.has_totals else block.labels)
            for label in data.labels.classes
        ]
        if not lines:
            return None
        return Statistic(
            [label for _, label in lines],
            lambda rows: np.concatenate([of_block(rows.cells[i], rows.labels).T.ravel() for i, _ in blocks]),
            [next_step(block) for block, _ in lines],
            fitted=[fitted(block) for block, _ in lines],
        )

    return build


def _holds_numbers(block: Block) -> bool:
    return block.family.cell == "number"


def _holds_counts(block: Block) -> bool:
    return _holds_numbers(block) and block.family.support is constraints.nonnegative_integer


def _varies(block: Block) -> bool:
    return _holds_numbers(block) and not block.is_binary


def _has_free_variance(block: Block) -> bool:
    """Whether the family can fit the variance beside the mean, which a single parameter cannot."""
    names = parameter_names(block.family)
    return len(names) > 1 or len(block.family.axes(names[0], block.labels, ())) > 1


def _means(cells: Any, labels: ObservedLabels) -> np.ndarray:
    x = dense(cells)
    seen = ~np.isnan(x)
    return ratio(labels.membership.T @ np.where(seen, x, 0.0), labels.membership.T @ seen)


def _variances(cells: Any, labels: ObservedLabels) -> np.ndarray:
    x = dense(cells)
    seen = ~np.isnan(x)
    squares = np.where(seen, x - np.nan_to_num(_means(x, labels))[labels.codes], 0.0) ** 2
    return ratio(labels.membership.T @ squares, labels.membership.T @ seen - 1.0)


def _zero_shares(cells: Any, labels: ObservedLabels) -> np.ndarray:
    x = dense(cells)
    return ratio(labels.membership.T @ (x == 0), labels.membership.T @ ~np.isnan(x))


def _zero_shares_of_words(x: Any, labels: ObservedLabels) -> np.ndarray:
    words = x.count_nonzero(axis=1) if scipy.sparse.issparse(x) else np.count_nonzero(x, axis=1)
    return 1 - ratio(labels.membership.T @ words, labels.sizes * float(x.shape[1]))


def _dispersion_of_words(x: Any, labels: ObservedLabels) -> np.ndarray:
    """Variance over mean of a word's count, averaged over the words that occur in the class."""
    membership = labels.membership
    n = labels.sizes[:, None].astype(np.float64)
    squared = x.multiply(x) if scipy.sparse.issparse(x) else x**2
    mean = ratio(x.T @ membership, n.T).T
    variance = ratio((squared.T @ membership).T - n * np.nan_to_num(mean) ** 2, n - 1 + np.zeros_like(mean))
    occurs = (mean > 0) & np.isfinite(variance)
    index = ratio(variance, np.where(occurs, mean, 0.0))
    return ratio(np.where(occurs, index, 0.0).sum(axis=1), occurs.sum(axis=1))


# --------------------------------------------------------------------------------------------------
# Shape of columns of measurements: a line for each column, compared with the largest value over all columns
# --------------------------------------------------------------------------------------------------

OTHER_SHAPES = {
    "Histogram": "nb.Histogram() takes any shape",
    "LogNormal": "nb.LogNormal() takes some skewed ones",
}
"""What to try, by the name of the family."""

NARROWER_BINS = "try narrower bins for the column, nb.Histogram(num_bins=...) or nb.Histogram(edges=...)"


def _try_another_shape(block: Block) -> str:
    """Advice for a column whose shape does not match its family."""
    name = block.family.family_name
    others = ", ".join(text for other, text in OTHER_SHAPES.items() if other != name)
    step = NARROWER_BINS if name == "Histogram" else f"try another family for the column: {others}"
    return f"{step}; until then nb.mutual_information of the column misleads"


def shape(model: BoundModel, data: DataSet, rng: np.random.Generator) -> Statistic | None:
    """L-skewness, L-kurtosis and share of the commonest value of each column of measurements, by class."""
    blocks = [(i, block) for i, block in enumerate(model.blocks) if block.is_measured]
    if not blocks:
        return None
    labels = data.labels
    grids = [Resolution.of(dense(data.cells[i])) for i, _ in blocks]
    missing = [[np.isnan(dense(data.cells[i])[at]) for at in labels.members] for i, _ in blocks]
    shapes = [[shapes_of_columns(of_class) for of_class in by_class] for by_class in missing]

    def values(rows: DataSet) -> np.ndarray:
        found = []
        for (i, _), grid, by_class in zip(blocks, grids, shapes, strict=True):
            x = grid.round(dense(rows.cells[i]))
            of_class = [shape(x[at], grid.tied) for shape, at in zip(by_class, labels.members, strict=True)]
            found.append(np.stack(of_class, axis=1).ravel())
        return np.concatenate(found)

    n = np.concatenate([np.stack([(~cells).sum(axis=0) for cells in by_class], axis=1) for by_class in missing])
    return Statistic(
        [f"shape[{column}]" for _, block in blocks for column in block.labels],
        values,
        [_try_another_shape(block) for _, block in blocks for _ in block.labels],
        parts=[f"{shape} in {label}" for label in labels.classes for shape in SHAPES],
        # One row changes a share by this much.
        smallest=np.repeat(1 / np.maximum(n, 1), len(SHAPES), axis=1).ravel(),
    )


# --------------------------------------------------------------------------------------------------
# Dependence of features within a class, which naive Bayes excludes: mean absolute correlation of pairs
# --------------------------------------------------------------------------------------------------

MERGE_OR_DROP = (
    "merge columns that depend on each other, nb.group_columns(model, X, y), or drop those that repeat others; "
    "weights of features, nb.weight_features, correct the class probabilities; nb.calibration on new rows says "
    "whether it matters"
)

ANOTHER_FAMILY = (
    "the columns depend on each other less than the model expects: look for columns whose family does not fit, which "
    "the shape and variance lines find"
)

MAX_PAIRS = 300
"""Largest number of pairs of features whose correlation is computed."""

MAX_FEATURES = 60
"""Largest number of features among which pairs are chosen; one small matrix product gives all correlations."""

VARYING = 5
"""A feature varies if at least this many rows differ from its smallest value, and also from its largest."""


def _dependence(model: BoundModel, data: DataSet, rng: np.random.Generator) -> Statistic | None:
    """Mean absolute correlation of pairs of columns within each class, and its average over classes."""
    if sum(len(block.columns) for block in model.blocks) < 2:
        return None
    number, features = _random_features(model, data, rng)
    pairs = np.column_stack(np.triu_indices(number, 1))
    if len(pairs) > MAX_PAIRS:
        pairs = pairs[np.sort(rng.choice(len(pairs), MAX_PAIRS, replace=False))]

    def values(rows: DataSet) -> np.ndarray:
        z = features(rows)
        of_class = np.array([_mean_correlation(z[:, at], pairs) for at in rows.labels.members])
        weight = np.where(np.isnan(of_class), 0.0, rows.labels.sizes)
        overall = (weight * np.nan_to_num(of_class)).sum() / weight.sum() if weight.any() else np.nan
        return np.array([overall, *of_class])

    labels = ["dependence", *[f"dependence[{label}]" for label in data.labels.classes]]
    return Statistic(labels, values, MERGE_OR_DROP, next_step_below=ANOTHER_FAMILY)


def _random_features(
    model: BoundModel, data: DataSet, rng: np.random.Generator
) -> tuple[int, Callable[[DataSet], np.ndarray]]:
    """At most `MAX_FEATURES` columns at random, of those that vary in the observed data.

    Columns that hardly vary are chosen only if fewer than two others vary.

    Returns
    -------
    number : int
    features : callable
        Gives the columns of a data set, shape (number, rows), in standard deviations of the observed data. Of a column
        of categories, one category counts as one and the others as zero.
    """
    order = [(i, j) for i, block in enumerate(model.blocks) for j in range(len(block.columns))]
    varying: list[tuple[tuple[int, int], float, float]] = []
    hardly_varying = varying.copy()
    for at in rng.permutation(len(order)):
        (x,), category = columns_at(data.cells, [order[at]]), np.nan
        x = x[~np.isnan(x)]
        if model.blocks[order[at][0]].has_categories and x.size:
            category = float(np.bincount(x.astype(np.intp)).argmax())
            x = (x == category).astype(np.float64)
        differing = min((x != x.min()).sum(), (x != x.max()).sum()) if x.size else 0
        if differing:
            (varying if differing >= VARYING else hardly_varying).append((order[at], category, x.std()))
        if len(varying) == MAX_FEATURES:
            break
    chosen = (varying if len(varying) > 1 else varying + hardly_varying)[:MAX_FEATURES]

    def features(rows: DataSet) -> np.ndarray:
        x = columns_at(rows.cells, [place for place, _, _ in chosen])
        for k, (_, category, scale) in enumerate(chosen):
            seen = x[k] if np.isnan(category) else np.where(np.isnan(x[k]), np.nan, x[k] == category)
            x[k] = seen / scale
        return x

    return len(chosen), features


def _mean_correlation(z: np.ndarray, pairs: np.ndarray) -> float:
    """Mean absolute correlation of pairs of features (features, rows), where both are seen; NaN if none is defined."""
    correlations = pd.DataFrame(z.T).corr(min_periods=3).abs().to_numpy()[tuple(pairs.T)]
    return float(pd.Series(correlations).mean())


# --------------------------------------------------------------------------------------------------
# The built-in statistics by name, and the choice of statistics
# --------------------------------------------------------------------------------------------------

BUILT_IN: dict[str, tuple[Sequence[Build], str]] = {
    "class_frequency": ([_class_frequency], "classes"),
    "mean": (
        [_by_class("mean", _holds_numbers, _means, lambda block: TRY_ANOTHER_PRIOR, fitted=lambda block: True)],
        "columns of numbers",
    ),
    "variance": (
        [_by_class("variance", _varies, _variances, _try_another_family, fitted=_has_free_variance)],
        "columns of numbers other than 0/1",
    ),
    "shape": ([shape], "columns of measurements"),
    "zero_share": (
        [
            _by_class("zero_share", _holds_counts, _zero_shares, _try_another_family),
            _by_class("zero_share", attrgetter("has_totals"), _zero_shares_of_words, lambda block: TRY_BURSTS),
        ],
        "columns of counts or count vectors",
    ),
    "burstiness": (
        [_by_class("burstiness", attrgetter("has_totals"), _dispersion_of_words, lambda block: TRY_BURSTS)],
        "count vectors",
    ),
    "dependence": ([_dependence], "two columns"),
}
"""How each statistic is prepared, and the columns that it needs."""


def statistics_of(
    asked: Any, model: BoundModel, data: DataSet, X: Any, rng: np.random.Generator
) -> list[tuple[Statistic, np.ndarray]]:
    """The statistics of a check, each with its observed values.

    Parameters
    ----------
    asked : sequence of str or callable, or None
        Names of built-in statistics and functions; None means every built-in statistic.
    model : BoundModel
    data : DataSet
    X : table
        Its kind of table is what functions get.
    rng : numpy.random.Generator

    Raises
    ------
    TypeError
        If an entry is neither a name nor a function.
    ValueError
        If there is no entry, a name is unknown, or the model has no columns for a named statistic.
    """
    if asked is not None and not np.iterable(asked):
        raise TypeError(f"statistics is {asked!r}: give a list of names and functions f(X, y)")
    found: list[tuple[Statistic, np.ndarray]] = []
    for one in BUILT_IN if asked is None else asked:
        if callable(one):
            taken = {label for statistic, _ in found for label in statistic.labels}
            found.append(statistic_of_function(one, model, X, taken, data))
            continue
        if not isinstance(one, str):
            raise TypeError(f"statistics holds {one!r}: give names among {list(BUILT_IN)}, or functions f(X, y)")
        if one not in BUILT_IN:
            raise ValueError(f"there is no statistic {one!r}: name one of {list(BUILT_IN)}, or give f(X, y)")
        builders, needs = BUILT_IN[one]
        built = [statistic for build in builders if (statistic := build(model, data, rng)) is not None]
        if asked is not None and not built:
            raise ValueError(f"the statistic {one!r} needs {needs}, which the model does not have")
        found.extend((statistic, statistic.values(data)) for statistic in built)
    if not found:
        raise ValueError(f"statistics is empty: give functions f(X, y), or names among {list(BUILT_IN)}")
    return found
