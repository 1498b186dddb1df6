"""Densities of columns by class."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from bayesnb.core.arrays import dense, in_float64
from bayesnb.core.checking import whole_number
from bayesnb.core.forest import how_many
from bayesnb.core.panels import (
    HATCHES,
    LINES,
    MARKERS,
    TINY,
    Panels,
    chosen,
    grid_of_panels,
    line_number,
    shorten_to,
    text_width,
    wrap_to,
    yes_or_no,
)
from bayesnb.data.labels import encode_labels
from bayesnb.data.read import labelled_rows
from bayesnb.families.bins import averages_between, lattice
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.kinds import SampledPosterior
from bayesnb.posterior.under_draws import flatten, pieces_of_rows
from bayesnb.posterior.weighted import of_features

__all__ = ["plot_densities"]

# --------------------------------------------------------------------------------------------------
# Predictive densities of one column under each class, and how much they tell about the class
# --------------------------------------------------------------------------------------------------

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
    of_atoms = getattr(block.family.support, "atoms", ())
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
        values = values[np.asarray(block.family.support(values)) & ~np.isin(values, of_atoms)]
    atoms = {float(atom): _density(posterior, at, np.array([atom]))[0] for atom in of_atoms}
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
        return np.exp(posterior.density.feature(i, feature, cells))
    under_draws = posterior.density.feature_under_draws(i, feature, cells)
    prob = flatten(posterior.parameters).class_prob
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


# --------------------------------------------------------------------------------------------------
# The figure of predictive densities: the distribution of each column in each class
# --------------------------------------------------------------------------------------------------

SIMULATED = 2000
"""Number of rows drawn to find the range of the densities, if a table does not set it."""

MOST_MARKS = 40
"""Bars of a panel, those of all classes together, beyond which rare categories share one."""

LEAST_CATEGORIES = 3
"""Categories that have bars of their own, whatever the number of classes."""

TALL_NAME = 0.9
"""Inches of a category's name, if the names are too wide to be side by side."""


@of_features
def plot_densities(
    posterior: Posterior,
    X: Any = None,
    y: Any = None,
    *,
    features: Sequence[Any] | None = None,
    classes: Sequence[Any] | None = None,
    sort: bool = False,
    bins: int = 25,
    max_panels: int = 12,
    panels_across: int | None = None,
    key: Any = 0,
    axes: Any = None,
    figsize: Any = None,
) -> Any:
    r"""Predictive density of each column given the class, over histograms of the data, one panel a column.

    The density is p(x_j | y=c, data), the parameters integrated out, or the average over draws for a sampled posterior,
    or the density itself for a point. Numbers have lines. Counts have probabilities, drawn as points on thin lines.
    Categories, and zeros and ones, have a point for the probability of each value. A value with a probability of its
    own, such as the zero of a `Hurdle`, has no density: the title of the panel gives its probability, and the area
    under the line is that of the other values.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
    X : table, shape (rows, columns), optional
        Data for the bars: histograms of area one for each class, and shares of categories. They also set the range of
        numbers. Where they hold fewer than two different ones, the range is that of rows drawn from the posterior
        predictive distribution.
    y : labels of shape (rows,) or str, optional
        Needed with X.
    features : sequence, optional
        Names of columns, or their positions where they have no names; by default all but those of count vectors,
        which `plot_spikes` shows.
    classes : sequence, optional
        Classes to show, up to eight. By default all; of more than eight those that contribute most to the mutual
        information of class and columns (see Notes).
    sort : bool, default False
        Whether the column with the most information about the class comes first; otherwise the order of the table, or
        of `features`.
    bins : int, default 25
        Bars of a histogram; those of counts are a whole number of counts wide.
    max_panels : int, default 12
        Of more columns, those with the most information about the class get a panel.
    panels_across : int, optional
        Panels side by side; by default three, or as many as fit the width.
    key : int or JAX key, default 0
        For rows drawn from the posterior predictive distribution.
    axes : array or sequence of matplotlib axes, optional
        Where to draw, one for each panel; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the panels.

    Returns
    -------
    matplotlib.figure.Figure
        The new figure, or that of `axes`. A class of probability zero has no line.

    Raises
    ------
    TypeError, ValueError
        If a column or a class is unknown, all columns are those of count vectors, X comes without y or y without X,
        or `axes` and `figsize` do not fit.

    See Also
    --------
    plot_prior_posterior : Prior and posterior density of each parameter.
    choose_families : A family for each column, by the evidence.

    Notes
    -----
    The information of a column about the class is the mutual information under the predictive distribution,
    :math:`\sum_c p(c) \int p(x_j \mid c) \log (p(x_j \mid c) / p(x_j)) \, dx_j`, over the range of the panel. A class
    contributes its term of the sum. `nb.mutual_information` estimates it with intervals.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.plot_densities(posterior, X, y, features=["island", "body_mass_g"])
    """
    if (X is None) != (y is None):
        raise ValueError("X and y go together: give both for histograms by class, or neither")
    at = _features(posterior, features)
    labels = posterior.classes.tolist()
    wanted = None if classes is None else chosen("classes", classes, labels, most=len(LINES))
    max_panels, bins = whole_number("max_panels", max_panels), whole_number("bins", bins)
    sort = yes_or_no("sort", sort)
    cells = codes = None
    if X is not None:
        labelled = labelled_rows(X, y, classes=posterior.classes)
        codes, cells = labelled.codes, posterior.model.read(labelled.table).whole()

    @cache
    def drawn() -> tuple[Any, np.ndarray]:
        rows, given = posterior.simulate(SIMULATED, key=key, total_count=1)
        return posterior.model.read(rows).whole(), encode_labels(given, SIMULATED, posterior.classes)

    columns = [column_densities(posterior, cells, drawn, each, bins=bins) for each in at]
    columns, shown = _most_telling(columns, posterior.class_probs(), wanted, max_panels, sort=sort)

    panels = grid_of_panels(len(columns), axes=axes, figsize=figsize, across=panels_across, most_across=3)
    for axis, column in zip(panels.axes, columns, strict=True):
        if column.kind == "category":
            _draw_categories(panels, axis, column, shown, codes)
        else:
            _draw_numbers(axis, column, shown, codes)
    panels.heads([_head(column, shown, labels) for column in columns])
    story = "Predictive densities" + " (lines, points) and data (bars)" * (X is not None)
    left_out = []
    if len(columns) < len(at):
        left_out.append(how_many(len(columns), len(at), "column", "most telling"))
    if len(shown) < len(labels):
        left_out.append(how_many(len(shown), len(labels), "class", "most telling" if classes is None else ""))
    panels.title(", ".join([f"{story} by class", *left_out]))
    panels.legend(_entries(columns, [labels[c] for c in shown], data=X is not None))
    return panels.drawn()


def _features(posterior: Posterior, features: Sequence[Any] | None) -> list[tuple[int, int]]:
    """Block and place in it of each column to show."""
    known = shown_columns(posterior)
    if not known:
        raise ValueError("the model has only count vectors, which have no density: plot_spikes shows them")
    if features is None:
        return list(known.values())
    names = list(known)
    return [known[names[k]] for k in chosen("features", features, names)]


def _most_telling(
    columns: list[ColumnDensities], class_prob: np.ndarray, wanted: list[int] | None, max_panels: int, *, sort: bool
) -> tuple[list[ColumnDensities], list[int]]:
    """The columns and the classes to show."""
    every = list(range(len(class_prob)))
    if not sort and len(columns) <= max_panels and (wanted is not None or len(every) <= len(LINES)):
        return columns, wanted if wanted is not None else every
    # Of the classes that are named alone, if some are.
    prior = class_prob if wanted is None else np.where(np.isin(every, wanted), class_prob, 0.0)
    information = np.array([column.information(prior) for column in columns])
    ranked = np.argsort(-information.sum(axis=1), kind="stable")[:max_panels]
    order = ranked if sort else np.sort(ranked)
    if wanted is None:
        wanted = np.sort(np.argsort(-information[order].sum(axis=0), kind="stable")[: len(LINES)]).tolist()
    return [columns[k] for k in order], wanted


def _draw_numbers(axis: Any, column: ColumnDensities, shown: list[int], codes: np.ndarray | None) -> None:
    """Lines, or points of counts, over histograms."""
    counts = column.kind == "count"
    for i, c in enumerate(shown):
        observed = column.cells[(codes == c) & ~np.isnan(column.cells)] if codes is not None else column.cells
        if observed.size:
            # Values with a probability of their own are in the title. The bars of the others add up to their share.
            weights = ~np.isin(observed, list(column.atoms)) / observed.size / np.diff(column.edges)[0]
            style = {"histtype": "stepfilled", "facecolor": f"C{i}", "edgecolor": f"C{i}", "linewidth": 0.4}
            axis.hist(observed, column.edges, weights=weights, alpha=0.3, hatch=HATCHES[i], zorder=1, **style)
        drawn = {"color": f"C{i}", "linestyle": LINES[i], "linewidth": 0.7 if counts else 1.7, "zorder": 3}
        axis.plot(column.values, column.density[:, c], marker=MARKERS[i] if counts else None, markersize=3, **drawn)
    axis.set_xlim(column.edges[0], column.edges[-1])
    axis.set_ylim(bottom=0.0)
    axis.set_yticks([])
    axis.xaxis.get_major_locator().set_params(nbins=4, integer=counts)
    axis.ticklabel_format(axis="x", useOffset=False, scilimits=(-3, 5))
    axis.xaxis.get_offset_text().set_fontsize(TINY)


def _draw_categories(
    panels: Panels, axis: Any, column: ColumnDensities, shown: list[int], codes: np.ndarray | None
) -> None:
    """A point for the probability of each category, over bars of its share of the data."""
    own, others = _categories(column, shown)
    at = np.arange(len(own) + bool(others.size))
    for i, c in enumerate(shown):
        beside = at + 0.8 * ((i + 0.5) / len(shown) - 0.5)
        observed = column.cells[(codes == c) & ~np.isnan(column.cells)] if codes is not None else column.cells
        if observed.size:
            shares = np.bincount(observed.astype(int), minlength=len(column.names)) / observed.size
            style = {"facecolor": f"C{i}", "edgecolor": f"C{i}", "linewidth": 0.4, "hatch": HATCHES[i]}
            axis.bar(beside, _joined(shares, own, others), 0.8 / len(shown), alpha=0.3, zorder=1, **style)
        probs = _joined(column.density[:, c], own, others)
        if codes is None:
            axis.vlines(beside, 0.0, probs, color=f"C{i}", linestyle=LINES[i], linewidth=0.7, zorder=2)
        axis.plot(beside, probs, color=f"C{i}", marker=MARKERS[i], markersize=4, linestyle="none", zorder=3)
    highest = np.nanmax([line.get_ydata().max() for line in axis.lines] + [bar.get_height() for bar in axis.patches])
    names = [str(column.names[k]) for k in own] + [f"{others.size} others"] * bool(others.size)
    _name_categories(panels, axis, at, names)
    axis.set_xlim(-0.5, len(at) - 0.5)
    axis.set_ylim(0.0, 1.08 * highest)
    axis.spines["left"].set_visible(True)
    axis.yaxis.get_major_locator().set_params(nbins=3)


def _categories(column: ColumnDensities, shown: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Categories with a place of their own, and the rarest, which share one where there are many."""
    every = np.arange(len(column.names))
    most = max(LEAST_CATEGORIES, MOST_MARKS // len(shown))
    if len(every) <= most:
        return every, every[:0]
    ranked = np.argsort(-column.density[:, shown].sum(axis=1), kind="stable")
    return np.sort(ranked[: most - 1]), np.sort(ranked[most - 1 :])


def _joined(values: np.ndarray, own: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.append(values[own], values[others].sum()) if others.size else values[own]


def _name_categories(panels: Panels, axis: Any, at: np.ndarray, names: list[str]) -> None:
    """Names below the axis, side by side where they fit, and else upright."""
    space = 0.75 * panels.panel_width / len(names)
    level = [wrap_to(name, space, TINY) for name in names]
    divided = any(text_width(max(name.split() or [""], key=len), TINY) > space for name in names)
    upright = divided or max(map(line_number, level)) > 2
    texts = [shorten_to(name, TALL_NAME, TINY) for name in names] if upright else level
    axis.set_xticks(at, texts, rotation=90 if upright else 0, fontsize=TINY)


def _head(column: ColumnDensities, shown: list[int], labels: list[Any]) -> str:
    """The name of the column, and the probabilities of its values that have no density."""
    told = [str(column.label)]
    for atom, probs in column.atoms.items():
        told.append(f"P({atom:g}) = " + ", ".join(f"{probs[c]:.2g} ({labels[c]})" for c in shown))
    return "\n".join(told)


def _entries(columns: list[ColumnDensities], labels: list[Any], *, data: bool) -> list[tuple[Any, str]]:
    """What the legend says of each class."""
    from bayesnb.core.picture import Line2D, Patch

    kinds = {column.kind for column in columns}
    entries: list[tuple[Any, str]] = []
    for i, label in enumerate(labels):
        mark = Line2D([], [], color=f"C{i}", linestyle="none" if kinds == {"category"} else LINES[i], linewidth=1.7)
        if kinds != {"number"}:
            mark.set(marker=MARKERS[i], markersize=4)
        bar = Patch(facecolor=f"C{i}", edgecolor=f"C{i}", alpha=0.3, hatch=HATCHES[i], linewidth=0.4)
        entries.append(((bar, mark) if data else mark, f"y = {label}"))
    return entries
