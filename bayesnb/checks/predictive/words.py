"""Shares of zeros and burstiness of words, by class."""

from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.blocks.block import Block
from bayesnb.checks.predictive.replicates import Labels, Rows
from bayesnb.checks.predictive.statistic import Statistic, blocks_where, ratio
from bayesnb.model.bound import BoundModel

__all__ = ["burstiness", "zero_share"]

TRY_BURSTS = "try nb.DirichletMultinomial() if words come in bursts, else drop or join words"


def zero_share(model: BoundModel, data: Rows, rng: np.random.Generator) -> Statistic | None:
    """Share of zeros in each block of words, by class."""
    blocks = blocks_where(model, _holds_words)
    if not blocks:
        return None

    def values(rows: Rows) -> np.ndarray:
        sizes = rows.labels.sizes
        found = []
        for i, block in blocks:
            x = rows.cells[i]
            words = x.count_nonzero(axis=1) if scipy.sparse.issparse(x) else np.count_nonzero(x, axis=1)
            filled = np.bincount(rows.labels.codes, weights=words, minlength=len(sizes))
            found.append(1 - ratio(filled, sizes * float(len(block.columns))))
        return np.concatenate(found)

    labels = [f"zero_share[{block.name}, {label}]" for _, block in blocks for label in data.labels.classes]
    return Statistic(labels, values, TRY_BURSTS)


def burstiness(model: BoundModel, data: Rows, rng: np.random.Generator) -> Statistic | None:
    """Variance over mean of a word's count, averaged over the words that occur in the class."""
    blocks = blocks_where(model, _holds_words)
    if not blocks:
        return None

    def values(rows: Rows) -> np.ndarray:
        return np.concatenate([_mean_dispersion(rows.cells[i], rows.labels) for i, _ in blocks])

    labels = [f"burstiness[{block.name}, {label}]" for _, block in blocks for label in data.labels.classes]
    return Statistic(labels, values, TRY_BURSTS)


def _holds_words(block: Block) -> bool:
    return block.has_totals


def _mean_dispersion(x: Any, labels: Labels) -> np.ndarray:
    membership = labels.membership
    n = labels.sizes[:, None].astype(np.float64)
    squared = x.multiply(x) if scipy.sparse.issparse(x) else x**2
    mean = ratio(x.T @ membership, n.T).T
    variance = ratio((squared.T @ membership).T - n * np.nan_to_num(mean) ** 2, n - 1 + np.zeros_like(mean))
    occurs = (mean > 0) & np.isfinite(variance)
    index = ratio(variance, np.where(occurs, mean, 0.0))
    return ratio(np.where(occurs, index, 0.0).sum(axis=1), occurs.sum(axis=1))
