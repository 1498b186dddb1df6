"""Predictive densities of one column under each class, and how much they tell about the class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.posterior.base import Posterior
from bayesnb.sparse import dense

__all__ = ["ColumnDensities", "column_densities", "shown_columns"]

GRID = 300
"""Points of a density."""


@dataclass(frozen=True)
class ColumnDensities:
    """Predictive densities of a column.

    Attributes
    ----------
    label : hashable
        Name of the column.
    kind : {"number", "count", "category"}
    values : array, shape (values,)
        Numbers, counts, or positions of categories.
    density : array, shape (values, classes)
        Of counts and categories the probability.
    atoms : dict
        Values with a probability of their own, such as the zero of a `Hurdle`: of each its probability under each
        class, shape (classes,).
    edges : array, shape (bins + 1,)
        Of the bars of a histogram; those of categories are around each position.
    cells : array, shape (rows,)
        Of the table, missing ones NaN.
    names : tuple
        Of the categories; empty for numbers and counts.
    """

    label: Any
    kind: str
    values: np.ndarray
    density: np.ndarray
    atoms: dict[float, np.ndarray]
    edges: np.ndarray
    cells: np.ndarray
    names: tuple

    def information(self, class_prob: np.ndarray) -> np.ndarray:
        r"""What each class contributes to the mutual information of column and class in nats, shape (classes,).

        It is :math:`p(c) \int p(x \mid c) \log (p(x \mid c) / p(x)) \, dx`, over the values that are drawn. A class
        without a density contributes nothing.
        """
        mass = 1.0 if self.kind != "number" else np.diff(self.values).mean()
        probs = np.concatenate([self.density * mass, *(atom[None] for atom in self.atoms.values())])
        known = np.isfinite(probs).all(axis=0)
        probs, prior = np.where(known, probs, 0.0), np.where(known, class_prob, 0.0)
        average = probs @ prior / prior.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(probs > 0, probs * np.log(probs / average[:, None]), 0.0)
        return np.asarray(prior * terms.sum(axis=0))


def shown_columns(posterior: Posterior) -> dict[Any, tuple[int, int]]:
    """Position of the block, and in it, of each column that has a density, by name, in the order of the table.

    Columns of a count vector have none: the likelihood is given their total.
    """
    found = [
        (position, label, (i, j))
        for i, block in enumerate(posterior.model.blocks)
        for j, (position, label) in enumerate(zip(block.columns, block.labels, strict=True))
        if not block.has_totals
    ]
    return {label: at for _, label, at in sorted(found, key=lambda each: each[0])}


def column_densities(
    posterior: Posterior, cells: Sequence[Any], codes: np.ndarray, at: tuple[int, int], *, bins: int, trimmed: bool
) -> ColumnDensities:
    """Densities of one column.

    Parameters
    ----------
    posterior : Posterior
    cells : sequence of arrays
        Cells of each block, shape (rows, columns).
    codes : array, shape (rows,)
        Classes of the rows.
    at : (int, int)
        Position of the block, and of the column in it.
    bins : int
        Most bars of a histogram.
    trimmed : bool
        Whether to leave out the tails of the cells, which were drawn.
    """
    i, j = at
    block = posterior.model.blocks[i]
    observed = np.asarray(dense(cells[i][:, [j]]), dtype=float)[:, 0]
    names: tuple = ()
    if block.has_categories or block.is_binary:
        kind = "category"
        names = tuple(posterior.model.schema.categories[block.columns[j]]) if block.has_categories else (0, 1)
        values = np.arange(len(names), dtype=float)
        edges = np.arange(len(names) + 1) - 0.5
    else:
        kind = "count" if block.family.support.is_discrete else "number"
        by_class = [observed[(codes == c) & ~np.isnan(observed)] for c in range(len(posterior.classes))]
        low, high = _range(by_class, trimmed=trimmed)
        edges = _edges(low, high, bins, kind == "count")
        values = np.arange(edges[0] + 0.5, edges[-1]) if kind == "count" else np.linspace(low, high, GRID)
        values = values[np.asarray(block.family.support(values)) & ~np.isin(values, block.family.atoms)]
    atoms = {float(atom): _density(posterior, at, np.array([atom]))[0] for atom in block.family.atoms}
    density = _density(posterior, at, values)
    return ColumnDensities(block.labels[j], kind, values, density, atoms, edges, observed, names)


def _density(posterior: Posterior, at: tuple[int, int], values: np.ndarray) -> np.ndarray:
    """Density of a column's values under each class, shape (values, classes).

    It is the ratio of the joint densities of rows with the value and of a row without any cell, because a missing cell
    integrates to one.
    """
    i, j = at
    # The first row has no cell.
    cells = [
        np.full((len(values) + 1, len(b.columns)), 0.0 if b.has_totals else np.nan) for b in posterior.model.blocks
    ]
    cells[i][1:, j] = values
    log_joint = posterior.log_joint_of(tuple(cells))
    with np.errstate(invalid="ignore"):
        return np.exp(log_joint[1:] - log_joint[0])


def _range(by_class: list[np.ndarray], *, trimmed: bool) -> tuple[float, float]:
    """Where to draw: all the data and a little more, or all but the tails of what was drawn."""
    ends = [np.quantile(values, (0.01, 0.99) if trimmed else (0.0, 1.0)) for values in by_class if values.size]
    if not ends:
        return 0.0, 1.0
    low, high = float(np.min(ends)), float(np.max(ends))
    margin = 0.1 * (high - low) or 0.5 * max(abs(high), 1.0)
    return low - margin, high + margin


def _edges(low: float, high: float, bins: int, counts: bool) -> np.ndarray:
    if not counts:
        return np.linspace(low, high, bins + 1)
    first, last = max(0.0, np.ceil(low)), np.floor(high)
    step = np.ceil((last - first + 1) / bins)
    return np.arange(first - 0.5, last + 0.5 + step, step)
