"""How many rows of a class agree in most of their discrete columns."""

import numpy as np

from bayesnb.checks.predictive.dependence import MERGE_OR_DROP, column
from bayesnb.checks.predictive.replicates import Rows
from bayesnb.checks.predictive.statistic import Statistic
from bayesnb.model.bound import BoundModel

__all__ = ["agreement"]

MAX_ROWS = 150
"""Largest number of rows that are compared with all others."""

MAX_DISCRETE = 200
"""Largest number of discrete features that are compared."""

ROWS_AT_A_TIME = 2**14


def agreement(model: BoundModel, data: Rows, rng: np.random.Generator) -> Statistic | None:
    """Number of other rows of the same class that agree with a row on more than 80 % of the discrete columns.

    Columns in which one of the two rows has a missing cell do not count. The number is averaged over at most `MAX_ROWS`
    rows.
    """
    places = _discrete_columns(model, rng)
    if len(places) < 2:
        return None
    categories = model.schema.categories
    sizes = [len(categories.get(model.blocks[i].columns[j], (0, 1))) for i, j in places]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    # 5 for each agreement, -4 for each column observed in both rows: positive if more than 80 % agree, and exact.
    weights = np.repeat(np.array([5, -4], dtype=np.float32), [offsets[-1], len(places)])
    size = len(data.labels.codes)
    sample = np.sort(rng.choice(size, min(size, MAX_ROWS), replace=False))

    def values(rows: Rows) -> np.ndarray:
        x = np.column_stack([column(rows.cells[i], j) for i, j in places])
        hot = _one_hot(x, offsets)
        agreeing = 0
        for members in rows.labels.members:
            mine = hot[np.intersect1d(sample, members, assume_unique=True)] * weights
            for start in range(0, len(members), ROWS_AT_A_TIME):
                others = hot[members[start : start + ROWS_AT_A_TIME]]
                agreeing += int(np.count_nonzero(mine @ others.T > 0))
        # Each row with any observed cell agrees with itself.
        itself = (~np.isnan(x[sample])).any(axis=1).sum()
        return np.array([(agreeing - itself) / len(sample)])

    return Statistic(["agreement"], values, MERGE_OR_DROP)


def _discrete_columns(model: BoundModel, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Block and column of at most `MAX_DISCRETE` 0/1 and categorical columns, chosen at random."""
    places = [
        (i, j)
        for i, block in enumerate(model.blocks)
        if block.has_categories or block.is_binary
        for j in range(len(block.columns))
    ]
    if len(places) > MAX_DISCRETE:
        places = [places[k] for k in np.sort(rng.choice(len(places), MAX_DISCRETE, replace=False))]
    return places


def _one_hot(x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Indicators of the category of each cell, column after column, and then of the observed cells.

    Parameters
    ----------
    x : array, shape (rows, columns)
        Codes of categories, NaN where missing.
    offsets : array of int, shape (columns + 1,)
        Position of each column's first category, and the number of categories of all columns.
    """
    seen = ~np.isnan(x)
    hot = np.zeros((len(x), offsets[-1] + x.shape[1]), dtype=np.float32)
    at = np.nonzero(seen)
    hot[at[0], offsets[at[1]] + x[at].astype(np.intp)] = 1.0
    hot[:, offsets[-1] :] = seen
    return hot
