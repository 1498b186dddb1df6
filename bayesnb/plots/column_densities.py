"""Predictive densities of one column under each class, and how much they tell about the class."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bayesnb.arrays import in_float64
from bayesnb.densities_under_draws import flatten
from bayesnb.families.bins import averages_between
from bayesnb.families.choose_bins import lattice
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.log_mean import pieces_of_rows
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.sparse import dense

__all__ = ["ColumnDensities", "column_densities", "shown_columns"]

GRID = 300
"""Points of a density."""

TAIL = 0.01
"""Share of a class's drawn cells in each tail, which may be beyond the range."""


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
        A density of bins is averaged over the bars, at whose edges the values are.
    edges : array, shape (bins + 1,)
        Of the bars of a histogram; those of categories are around each position.
    cells : array, shape (rows,)
        Of the table, missing ones NaN; none if there is no table.
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
    posterior: Posterior,
    cells: Sequence[Any] | None,
    drawn: Callable[[], tuple[Sequence[Any], np.ndarray]],
    at: tuple[int, int],
    *,
    bins: int,
) -> ColumnDensities:
    """Densities of one column.

    Parameters
    ----------
    posterior : Posterior
    cells : sequence of arrays, or None
        Cells of each block of a table, shape (rows, columns).
    drawn : callable
        Gives the cells of rows from the posterior predictive distribution, and their classes. They set the range of
        numbers where the table has fewer than two different ones.
    at : (int, int)
        Position of the block, and of the column in it.
    bins : int
        Most bars of a histogram.
    """
    i, j = at
    block = posterior.model.blocks[i]
    observed = np.empty(0) if cells is None else _column(cells, at)
    names: tuple = ()
    if block.has_categories or block.is_binary:
        kind = "category"
        names = tuple(posterior.model.schema.categories[block.columns[j]]) if block.has_categories else (0, 1)
        values = np.arange(len(names), dtype=float)
        edges = np.arange(len(names) + 1) - 0.5
    else:
        kind = "count" if block.family.support.is_discrete else "number"
        known = observed[~np.isnan(observed)]
        low, high = (known.min(), known.max()) if len(np.unique(known)) > 1 else _ends_of_drawn(*drawn(), at)
        margin = 0.1 * (high - low) or 0.5 * max(abs(high), 1.0)
        step = 1.0 if kind == "count" else lattice(known)
        edges = _edges(low - margin, high + margin, bins, step, np.floor(low) if kind == "count" else low)
        if kind == "count":
            edges = edges[edges > -1]
        values = np.arange(edges[0] + 0.5, edges[-1]) if kind == "count" else np.linspace(edges[0], edges[-1], GRID)
        values = values[np.asarray(block.family.support(values)) & ~np.isin(values, block.family.atoms)]
    atoms = {float(atom): _density(posterior, at, np.array([atom]))[0] for atom in block.family.atoms}
    if block.family.steps:
        # Cells may be narrower than a line: the bars show the data at this width, and the density is shown as they are.
        average = averages_between(edges, block.family.steps, partial(_density, posterior, at))
        values, density = np.repeat(edges, 2)[1:-1], np.repeat(average, 2, axis=0)
    else:
        density = _density(posterior, at, values)
    return ColumnDensities(block.labels[j], kind, values, density, atoms, edges, observed, names)


@in_float64
def _density(posterior: Posterior, at: tuple[int, int], values: np.ndarray) -> np.ndarray:
    """Density of a column's values under each class, shape (values, classes).

    All other cells are missing, and integrate to one. Draws weigh their densities by the class probabilities, as in the
    joint density of a row over that of a row without any cell.
    """
    i, j = at
    block = posterior.model.blocks[i]
    cells = np.full((len(values), len(block.columns)), np.nan)
    cells[:, j] = values
    feature = 0 if block.is_joint else j
    if not isinstance(posterior, SampledPosterior):
        return np.exp(posterior.feature_log_density(i, feature, cells))
    under_draws, prob = posterior.feature_under_draws(i, feature, cells), flatten(posterior.parameters).class_prob
    pieces = [(np.exp(under_draws(rows)) * prob[:, None]).sum(axis=0) for rows in pieces_of_rows(len(values))]
    with np.errstate(invalid="ignore"):
        return np.concatenate(pieces) / prob.sum(axis=0)


def _column(cells: Sequence[Any], at: tuple[int, int]) -> np.ndarray:
    i, j = at
    return np.asarray(dense(cells[i][:, [j]]), dtype=float)[:, 0]


def _ends_of_drawn(cells: Sequence[Any], codes: np.ndarray, at: tuple[int, int]) -> tuple[float, float]:
    """The lowest and the highest value that is in no class's tail."""
    values = _column(cells, at)
    ends = [np.quantile(values[codes == c], (TAIL, 1 - TAIL)) for c in np.unique(codes)]
    return float(np.min(ends)), float(np.max(ends))


def _edges(low: float, high: float, bins: int, step: float, value: float) -> np.ndarray:
    """Edges of bars; those of a column on a lattice are half-way between its values."""
    if not step:
        return np.linspace(low, high, bins + 1)
    first = value - step * np.floor((value - low) / step)
    last = value + step * np.floor((high - value) / step)
    width = step * np.ceil(((last - first) / step + 1) / bins)
    return np.arange(first - step / 2, last + step / 2 + width * (1 - 1e-9), width)
