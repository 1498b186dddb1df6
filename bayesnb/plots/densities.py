"""The figure of predictive densities: the distribution of a number in each class."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesnb.blocks.block import Block
from bayesnb.pictures.layout import LINES, MARKERS, legend, panel_grid, wrap
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.fitted import Fitted, posterior_of
from bayesnb.tables.label_column import split_labels
from bayesnb.tables.labels import encode_labels
from bayesnb.tables.read import as_table
from bayesnb.validate import whole_number

__all__ = ["plot_densities"]

GRID = 300
"""Points of a density."""

SIMULATED = 2000
"""Number of rows drawn to find the range of the densities, if no table is given."""

HATCHES = ("", "///", "\\\\\\", "...", "xxx", "---", "|||", "+++")


def plot_densities(
    posterior: Posterior | Fitted,
    X: Any = None,
    y: Any = None,
    *,
    columns: Sequence[Any] | None = None,
    bins: int = 25,
    max_panels: int = 24,
    panels_across: int = 3,
    key: Any = 0,
) -> Any:
    """Predictive density of each number given the class (lines), over histograms of the data, one panel a column.

    The density is p(x_j | y=c, data), the parameters integrated out, or the average over draws for a sampled posterior,
    or the density itself for a point. It comes from `Posterior.log_joint` of rows in which every other cell is missing,
    because a missing cell integrates to one. Counts have probabilities, drawn as points on thin lines. A value with a
    probability of its own, such as the zero of a `Hurdle`, has no density: the title of the panel gives its
    probability, and the area under the line is that of the other values.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
    X : table, shape (rows, columns), optional
        Data for the histograms, each class's of area one; they also set the range. Without them the range is that of
        rows drawn from the posterior predictive distribution.
    y : labels of shape (rows,) or str, optional
        Needed with X.
    columns : sequence, optional
        Names of columns, or their positions where they have no names; by default all that hold numbers other than
        0 and 1.
    bins : int, default 25
        Bars of a histogram; those of counts are a whole number of counts wide.
    max_panels : int, default 24
        The first columns get a panel.
    panels_across : int, default 3
        Panels side by side.
    key : int or JAX key, default 0
        For the rows drawn where X is not given.

    Returns
    -------
    matplotlib.figure.Figure
        A class of probability zero has no line.

    Raises
    ------
    ValueError
        If a column is unknown or holds no numbers, there is none, X comes without y or y without X, or there are more
        classes than line styles.

    See Also
    --------
    plot_prior_posterior : Prior and posterior density of each parameter.
    plot_family_choice : Densities under the first two families.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.plot_densities(posterior, X, y)
    """
    from bayesnb.pictures.picture import Line2D, Patch

    posterior = posterior_of(posterior)
    posterior.require_model("plot_densities")
    classes = posterior.classes.tolist()
    if len(classes) > len(LINES):
        raise ValueError(f"there are {len(classes)} classes, more than the {len(LINES)} that the eye tells apart")
    if (X is None) != (y is None):
        raise ValueError("X and y go together: give both for histograms by class, or neither")
    chosen = _columns(posterior, columns)
    shown = chosen[: whole_number("max_panels", max_panels)]
    if X is None:
        rows, labels = posterior.simulate(SIMULATED, key=key, total_count=1)
    else:
        rows, labels = split_labels(X, y)
    codes = encode_labels(labels, as_table(rows).num_rows, posterior.classes)
    cells = _read(posterior, rows, shown)

    figure, axes = panel_grid(len(shown), whole_number("panels_across", panels_across))
    for axis, (block, j), values in zip(axes, shown, cells, strict=True):
        by_class = [values[(codes == c) & ~np.isnan(values)] for c in range(len(classes))]
        low, high = _range(by_class, trimmed=X is None)
        counts = bool(block.family.support.is_discrete)
        edges = _edges(low, high, whole_number("bins", bins), counts)
        grid = np.arange(edges[0] + 0.5, edges[-1]) if counts else np.linspace(low, high, GRID)
        grid = grid[np.asarray(block.family.support(grid)) & ~np.isin(grid, block.family.atoms)]
        density = _density(posterior, block.columns[j], grid)
        for c, observed in enumerate(by_class):
            if X is not None and observed.size:
                # Values with a probability of their own are in the title. The bars of the others add up to their share.
                weights = ~np.isin(observed, block.family.atoms) / observed.size / np.diff(edges)[0]
                style = {"histtype": "stepfilled", "facecolor": f"C{c}", "edgecolor": f"C{c}", "linewidth": 0.4}
                axis.hist(observed, edges, weights=weights, alpha=0.3, hatch=HATCHES[c], zorder=1, **style)
            drawn = {"color": f"C{c}", "linestyle": LINES[c], "linewidth": 0.7 if counts else 1.7, "zorder": 3}
            axis.plot(grid, density[:, c], marker=MARKERS[c] if counts else None, markersize=3, **drawn)
        told = []
        for atom in block.family.atoms:
            probs = zip(classes, _density(posterior, block.columns[j], np.array([atom]))[0], strict=True)
            told.append(f"P({atom:g}) = " + ", ".join(f"{prob:.2g} ({label})" for label, prob in probs))
        axis.set_title("\n".join([wrap(block.labels[j], 34), *(wrap(line, 44) for line in told)]), fontsize=9)
        axis.set_xlim(edges[0], edges[-1])
        axis.set_ylim(bottom=0.0)
        axis.set_yticks([])
        axis.xaxis.get_major_locator().set_params(nbins=5, integer=counts)
    story = "Predictive densities" + " (lines) and data (bars)" * (X is not None)
    number = f", the first {len(shown)} of {len(chosen)} columns" if len(shown) < len(chosen) else ""
    figure.suptitle(wrap(f"{story} by class{number}", max(40, int(14 * figure.get_figwidth()))), fontsize=10)
    entries: list[tuple[Any, str]] = []
    for c, label in enumerate(classes):
        line = Line2D([], [], color=f"C{c}", linestyle=LINES[c], linewidth=1.7)
        bar = Patch(facecolor=f"C{c}", edgecolor=f"C{c}", alpha=0.3, hatch=HATCHES[c], linewidth=0.4)
        entries.append((line if X is None else (bar, line), f"y = {label}"))
    legend(figure, entries)
    return figure


def _columns(posterior: Posterior, columns: Sequence[Any] | None) -> list[tuple[Block, int]]:
    """Block and place in it of each column to show."""
    found = {label: (block, j) for block in posterior.model.blocks for j, label in enumerate(block.labels)}
    holding = {label: at for label, at in found.items() if at[0].family.cell == "number" and not at[0].is_binary}
    if columns is None:
        if not holding:
            raise ValueError(
                "no column of the model holds numbers other than 0 and 1: plot_spikes shows these and count vectors"
            )
        return list(holding.values())
    names = [columns] if isinstance(columns, str) else list(columns)
    if not names:
        raise ValueError(f"columns is empty: name one or more of {list(holding)}")
    for name in names:
        if name not in holding:
            why = f"is {type(found[name][0].family).__name__}" if name in found else "is not in the model"
            raise ValueError(f"column {name!r} {why}: the columns that hold numbers are {list(holding)}")
    return [holding[name] for name in names]


def _read(posterior: Posterior, X: Any, chosen: list[tuple[Block, int]]) -> list[np.ndarray]:
    """Cells of the columns, missing ones NaN."""
    cells = posterior.model.read(X).whole()
    return [cells[posterior.model.blocks.index(block)][:, j] for block, j in chosen]


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


def _density(posterior: Posterior, column: int, grid: np.ndarray) -> np.ndarray:
    """Density of a column's values under each class, shape (values, classes)."""
    empty = np.full((1, len(posterior.model.schema.columns)), np.nan)
    for block in posterior.model.blocks:
        if block.has_totals:
            empty[:, block.columns] = 0.0
    rows = np.repeat(empty, len(grid), axis=0)
    rows[:, column] = grid
    with np.errstate(invalid="ignore"):
        return np.exp(posterior.log_joint(rows) - posterior.log_joint(empty))
