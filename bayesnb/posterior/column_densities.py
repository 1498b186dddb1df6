"""Predictive densities of one column by class, and their chart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.core.arrays import dense
from bayesnb.core.deferred import in_float64, picture
from bayesnb.core.forest import highest_places
from bayesnb.core.panels import HATCHES, LINES, MARKERS, Panels, name_columns, number_of_names, number_x_axis
from bayesnb.core.printing import short_name
from bayesnb.data.labels import read_labels
from bayesnb.data.read import as_table
from bayesnb.families.bins import averages_between, edges_of_family, lattice
from bayesnb.posterior.posterior import Posterior

GRID = 300
"""Points of a density."""

SIMULATED = 2000
"""Number of rows drawn to find the range of the densities without a table."""

TAIL = 0.01
"""Share of a class's drawn cells in each tail, outside the range."""

MOST_MARKS = 40
"""Largest number of bars in a panel, over all classes; beyond it rare categories share one."""

BESIDE = 0.3
"""Space beside the panels, in inches, where those of categories have numbers."""

HIGHER = 4
"""A density is cut above this multiple of its median in a bar."""

LONGEST_NAME = 18
"""A category's name with more letters loses its middle."""


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
    names : tuple
        Of the categories; empty for numbers and counts.
    cells, codes, weights : array, shape (rows,)
        Of the rows of a table: cells, missing ones NaN, positions of the classes and weights; none without a table.
    """

    label: Any
    kind: str
    values: np.ndarray
    density: np.ndarray
    atoms: dict[float, np.ndarray]
    edges: np.ndarray
    names: tuple
    cells: np.ndarray
    codes: np.ndarray
    weights: np.ndarray

    def observed(self, c: int) -> tuple[np.ndarray, np.ndarray]:
        """The observed cells of a class, and the share of each."""
        there = (self.codes == c) & ~np.isnan(self.cells) & (self.weights > 0)
        return self.cells[there], self.weights[there] / (self.weights[there].sum() or 1.0)

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


def column_densities(
    posterior: Posterior,
    at: tuple[int, int],
    data: tuple[Sequence[Any], np.ndarray, np.ndarray] | None,
    drawn: Callable[[], tuple[Sequence[Any], np.ndarray]],
    *,
    bins: int,
    share: float = 1.0,
) -> ColumnDensities:
    """Densities of one column.

    Parameters
    ----------
    posterior : Posterior
    at : (int, int)
        Position of the block, and of the column in it.
    data : (sequence of arrays, array, array), or None
        Cells of each block of a table, shape (rows, columns), positions of the rows' classes and their weights.
    drawn : callable
        Gives the cells of rows from the posterior predictive distribution, and their classes. They set the range of
        numbers where the table has fewer than two different ones.
    bins : int
        Most bars of a histogram.
    share : float
        Share of the cells of a table within the range.
    """
    i, j = at
    block = posterior.model.blocks[i]
    nothing = np.empty(0)
    cells, codes, weights = (nothing,) * 3 if data is None else (_cells_of_column(data[0], at), *data[1:])
    names: tuple = ()
    of_atoms = getattr(block.family.support, "atoms", ())
    if block.has_categories or block.is_binary:
        kind = "category"
        names = tuple(posterior.model.schema.categories[block.columns[j]]) if block.has_categories else (0, 1)
        values = np.arange(len(names), dtype=float)
        edges = np.arange(len(names) + 1) - 0.5
    else:
        kind = "count" if block.family.support.is_discrete else "number"
        known = cells[~np.isnan(cells) & (weights > 0)]
        several, within = len(np.unique(known)) > 1, ((1 - share) / 2, (1 + share) / 2)
        low, high = np.quantile(known, within) if several else _ends_of_drawn(*drawn(), at)
        margin = 0.1 * (high - low) or 0.5 * max(abs(high), 1.0)
        step = 1.0 if kind == "count" else lattice(known)
        edges = _edges(low - margin, high + margin, bins, step, np.floor(low) if kind == "count" else low)
        if kind == "count":
            edges = edges[edges > -1]
        values = np.arange(edges[0] + 0.5, edges[-1]) if kind == "count" else np.linspace(edges[0], edges[-1], GRID)
        values = values[np.asarray(block.family.support(values)) & ~np.isin(values, of_atoms)]
    atoms = {float(atom): _density(posterior, at, np.array([atom]))[0] for atom in of_atoms}
    if constant := edges_of_family(block.family):
        # Bins may be narrower than a line. The bars show the data at this width, and the density is averaged likewise.
        average = averages_between(edges, constant, partial(_density, posterior, at))
        values, density = np.repeat(edges, 2)[1:-1], np.repeat(average, 2, axis=0)
    else:
        density = _density(posterior, at, values)
    return ColumnDensities(block.labels[j], kind, values, density, atoms, edges, names, cells, codes, weights)


@in_float64
def _density(posterior: Posterior, at: tuple[int, int], values: np.ndarray) -> np.ndarray:
    """Density of a column's values under each class, all other cells missing, shape (values, classes)."""
    i, j = at
    block = posterior.model.blocks[i]
    cells = np.full((len(values), len(block.columns)), np.nan)
    cells[:, j] = values
    return posterior.belief.density.feature_density(i, 0 if block.is_joint else j, cells)


def _cells_of_column(cells: Sequence[Any], at: tuple[int, int]) -> np.ndarray:
    i, j = at
    return np.asarray(dense(cells[i][:, [j]]), dtype=float)[:, 0]


def simulated_cells(posterior: Posterior, key: Any) -> tuple[Sequence[Any], np.ndarray]:
    """Cells of rows from the posterior predictive distribution, and their classes."""
    rows, labels = posterior.simulate(SIMULATED, key=key, total_count=1)
    return posterior.model.read(as_table(rows)).whole(), read_labels(labels, SIMULATED).codes(posterior.classes)


def _ends_of_drawn(cells: Sequence[Any], codes: np.ndarray, at: tuple[int, int]) -> tuple[float, float]:
    """The range of values outside every class's tails."""
    values = _cells_of_column(cells, at)
    ends = [np.quantile(values[codes == c], (TAIL, 1 - TAIL)) for c in np.unique(codes)]
    return float(np.min(ends)), float(np.max(ends))


def _edges(low: float, high: float, bins: int, step: float, value: float) -> np.ndarray:
    """Edges of bars; for a column on a lattice, half-way between its values."""
    if not step:
        return np.linspace(low, high, bins + 1)
    first = value - step * np.floor((value - low) / step)
    last = value + step * np.floor((high - value) / step)
    width = step * np.ceil(((last - first) / step + 1) / bins)
    return np.arange(first - step / 2, last + step / 2 + width * (1 - 1e-9), width)


def draw_columns(panels: Panels, columns: Sequence[ColumnDensities], shown: list[int], labels: Sequence[Any]) -> None:
    """Draw each column in its panel, for the classes at some positions, below its name."""
    panels.panel_width -= BESIDE * any(column.kind == "category" for column in columns)
    for axis, column in zip(panels.axes, columns, strict=True):
        if column.kind == "category":
            _draw_categories(panels, axis, column, shown)
        else:
            draw_numbers(axis, column, shown)
    panels.heads([_head(column, shown, labels) for column in columns])


def draw_numbers(axis: Any, column: ColumnDensities, shown: Sequence[int]) -> float:
    """Lines, or points of counts, over histograms; the height of the highest bar."""
    counts, highest = column.kind == "count", 0.0
    for i, c in enumerate(shown):
        cells, shares = column.observed(c)
        if cells.size:
            # Values with a probability of their own have no bar. The bars of the others add up to their share.
            heights = shares * ~np.isin(cells, list(column.atoms)) / np.diff(column.edges)[0]
            style = {"histtype": "stepfilled", "facecolor": f"C{i}", "edgecolor": f"C{i}", "linewidth": 0.4}
            bars = axis.hist(cells, column.edges, weights=heights, alpha=0.3, hatch=HATCHES[i], zorder=1, **style)
            highest = max(highest, bars[0].max())
        drawn = {"color": f"C{i}", "linestyle": LINES[i], "linewidth": 0.7 if counts else 1.7, "zorder": 3}
        axis.plot(column.values, column.density[:, c], marker=MARKERS[i] if counts else None, markersize=3, **drawn)
    axis.set_xlim(column.edges[0], column.edges[-1])
    top = _height_of_lines(column, shown)
    axis.set_ylim(0.0, 1.05 * max(top, highest) if top < np.nanmax(column.density[:, list(shown)]) else None)
    number_x_axis(axis, 4, powers=(-3, 5), integer=counts)
    return highest


def _height_of_lines(column: ColumnDensities, shown: Sequence[int]) -> float:
    """The largest density, cut at a multiple of the median in each bar: it may be infinite where the support ends."""
    density = pd.DataFrame(column.density[:, list(shown)])
    medians = density.groupby(np.searchsorted(column.edges, column.values)).transform("median")
    return float(np.nanmax(np.minimum(density, HIGHER * medians)))


def _draw_categories(panels: Panels, axis: Any, column: ColumnDensities, shown: list[int]) -> None:
    """A point for the probability of each category, over bars of its share of the data."""
    places, names = _places_of_categories(column, shown, number_of_names(panels.panel_width))
    at = np.arange(len(names))
    for i, c in enumerate(shown):
        beside = at + 0.8 * ((i + 0.5) / len(shown) - 0.5)
        cells, weights = column.observed(c)
        if cells.size:
            shares = np.bincount(places[cells.astype(int)], weights, minlength=len(names))
            style = {"facecolor": f"C{i}", "edgecolor": f"C{i}", "linewidth": 0.4, "hatch": HATCHES[i]}
            axis.bar(beside, shares, 0.8 / len(shown), alpha=0.3, zorder=1, **style)
        probs = np.bincount(places, column.density[:, c])
        if not column.cells.size:
            axis.vlines(beside, 0.0, probs, color=f"C{i}", linestyle=LINES[i], linewidth=0.7, zorder=2)
        axis.plot(beside, probs, color=f"C{i}", marker=MARKERS[i], markersize=4, linestyle="none", zorder=3)
    highest = np.nanmax([line.get_ydata().max() for line in axis.lines] + [bar.get_height() for bar in axis.patches])
    name_columns(axis, names, panels.panel_width)
    axis.set_ylim(0.0, 1.08 * highest)
    axis.spines["left"].set_visible(True)
    axis.yaxis.get_major_locator().set_params(nbins=3)


def _places_of_categories(column: ColumnDensities, shown: list[int], most: int) -> tuple[np.ndarray, list[str]]:
    """The place of each category, and at most so many names of places; the rarest categories share the last one."""
    names = [short_name(str(name), LONGEST_NAME).replace("$", r"\$") for name in column.names]
    most = min(most, MOST_MARKS // len(shown))
    if len(names) <= most:
        return np.arange(len(names)), names
    own = highest_places(column.density[:, shown].sum(axis=1), most - 1)
    places = np.full(len(names), most - 1)
    places[own] = np.arange(most - 1)
    return places, [*(names[k] for k in own), f"{len(names) - len(own)} others"]


def _head(column: ColumnDensities, shown: list[int], labels: Sequence[Any]) -> str:
    """The name of the column, and the probabilities of its values that have no density."""
    told = [str(column.label)]
    for atom, probs in column.atoms.items():
        told.append(f"P({atom:g}) = " + ", ".join(f"{probs[c]:.2g} ({labels[c]})" for c in shown))
    return "\n".join(told)


def legend_entries(columns: Sequence[ColumnDensities], texts: Sequence[str]) -> list[tuple[Any, str]]:
    """The legend entry of each class, given its text."""
    kinds, data = {column.kind for column in columns}, any(column.cells.size for column in columns)
    entries: list[tuple[Any, str]] = []
    for i, text in enumerate(texts):
        style: Any = "none" if kinds == {"category"} else LINES[i]
        mark = picture.Line2D([], [], color=f"C{i}", linestyle=style, linewidth=1.7)
        if kinds != {"number"}:
            mark.set(marker=MARKERS[i], markersize=4)
        bar = picture.Patch(facecolor=f"C{i}", edgecolor=f"C{i}", alpha=0.3, hatch=HATCHES[i], linewidth=0.4)
        entries.append(((bar, mark) if data else mark, text))
    return entries
