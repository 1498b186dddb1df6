"""The figure of families that were compared: the densities of each column's classes under the first two."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bayesnb.arrays import in_float64
from bayesnb.families.bins import averages_between
from bayesnb.pictures.choices import chosen, require_result
from bayesnb.pictures.panels import grid_of_panels
from bayesnb.pictures.shown import how_many
from bayesnb.pictures.style import HATCHES, LINES, MARKERS
from bayesnb.validate import whole_number

__all__ = ["plot_family_choice"]

GRID = 400
"""Points of a density."""

MOST_BARS = 100
"""Bars of single whole numbers."""

SHARE_SHOWN = 0.99
"""Share of the cells other than zero within the panel; the rest lies beyond its ends."""

MOST_HEIGHT = 1.6
"""Largest height of a panel, in heights of its highest bar."""


@runtime_checkable
class Choice(Protocol):
    """The part of a `FamilyChoice` that the figure reads."""

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels."""

    @property
    def first_two(self) -> Mapping[Any, Sequence[Any]]:
        """By column, the families chosen and next, if there is one, as `Compared`."""

    def posterior_of(self, column: Any, family: Any) -> Any:
        """A family of a column given its cells, hyperparameters of shape (classes, 1)."""

    def cells_by_class(self, column: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        """The observed cells of a column and their weights, for each class."""


@in_float64
def plot_family_choice(
    choice: Choice,
    *,
    features: Sequence[Any] | None = None,
    classes: Sequence[Any] | None = None,
    max_features: int = 12,
    axes: Any = None,
    figsize: Any = None,
) -> Any:
    """Predictive densities of each column's classes under the family chosen and the next one, over the data.

    Parameters
    ----------
    choice : FamilyChoice
    features : sequence, optional
        Columns to show, by default all that more than one family can hold.
    classes : sequence, optional
        Classes to show, up to eight; by default all.
    max_features : int, default 12
        The first columns get panels; the title says how many there are.
    axes : sequence of matplotlib axes, optional
        Where to draw, two for each column; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the panels.

    Returns
    -------
    matplotlib.figure.Figure
        A line of panels for each column: on the left the family chosen, on the right the next one. Lines are densities
        with the parameters integrated out, bars are the cells. Zeros are left out where one of the families is a
        `Hurdle`, and so is the probability that it gives them. Whole numbers of few values have probabilities, drawn as
        points.

    Raises
    ------
    TypeError, ValueError
        If `choice` is not what `nb.choose_families` returns, a column or class is unknown, a column has one family
        only, there is none to show, there are more than eight classes, or `axes` and `figsize` do not fit.

    See Also
    --------
    choose_families : A family for each column, by the evidence.
    FamilyChoice : The result.
    plot_densities : Predictive densities of numbers.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> choice = nb.choose_families(X[["bill_length_mm", "body_mass_g"]], y)
    >>> figure = nb.plot_family_choice(choice)
    """
    from bayesnb.pictures.picture import Line2D, Patch

    require_result(choice, Choice, "choice", "nb.choose_families(X, y)")
    codes = chosen("classes", choice.classes if classes is None else classes, choice.classes, most=len(LINES))
    several = _columns(choice, features)
    shown = several[: whole_number("max_features", max_features)]
    panels = grid_of_panels(2 * len(shown), axes=axes, figsize=figsize, across=None if axes is not None else 2)
    heads = []
    points = False
    for i, column in enumerate(shown):
        families = [each.candidate for each in choice.first_two[column]]
        posteriors = [choice.posterior_of(column, each.family) for each in families]
        points |= _draw(panels.axes[2 * i : 2 * i + 2], families, posteriors, choice.cells_by_class(column), codes)
        heads += [f"{column}: {each.name}" for each in families]
    panels.heads(heads)
    number = how_many(len(shown), len(several), "column", "first")
    panels.title(f"Densities (lines) and data (bars) under the family chosen (left) and the next one (right): {number}")
    entries: list[tuple[Any, str]] = []
    for i, code in enumerate(codes):
        mark = Line2D([], [], color=f"C{i}", linestyle=LINES[i], marker=MARKERS[i] if points else None, markersize=3)
        entries.append(((Patch(**_bars(i)), mark), f"y = {choice.classes[code]}"))
    panels.legend(entries)
    return panels.drawn()


def _columns(choice: Choice, given: Sequence[Any] | None) -> list[Any]:
    several = [column for column, families in choice.first_two.items() if len(families) > 1]
    if not several:
        raise ValueError("no column has more than one family that can hold it: there is nothing to compare")
    for name in [given] if isinstance(given, str) else list(given or ()):
        if name in choice.first_two and name not in several:
            raise ValueError(f"column {name!r} has one family only: the columns with two to compare are {several}")
    return several if given is None else [several[i] for i in chosen("features", given, several)]


def _all_counts(families: Sequence[Any]) -> bool:
    """Whether all families are of counts, so that their probabilities are points."""
    return all(each.counts for each in families)


def _bars(i: int) -> dict[str, Any]:
    """How the bars of a class look."""
    return {"facecolor": f"C{i}", "edgecolor": f"C{i}", "alpha": 0.25, "hatch": HATCHES[i], "linewidth": 0.4}


def _draw(
    axes: Sequence[Any],
    families: Sequence[Any],
    posteriors: Sequence[Any],
    by_class: Sequence[tuple[np.ndarray, np.ndarray]],
    codes: Sequence[int],
) -> bool:
    """The panels of a column: the cells of the classes that are shown, under two families. Whether they have points."""
    counts = _all_counts(families)
    without_zeros = any(each.hurdle for each in families)
    weight = [by_class[code][1].sum() for code in codes]
    if without_zeros:
        by_class = [(cells[cells != 0], weights[cells != 0]) for cells, weights in by_class]
    edges = _edges(np.concatenate([cells for cells, _ in by_class]), counts)  # the same for all choices of classes
    by_class = [by_class[code] for code in codes]
    grid = np.linspace(edges[0], edges[-1], GRID)
    if counts:
        grid = np.arange(np.ceil(edges[0]), edges[-1], max(1, np.ptp(edges) // GRID))
    if without_zeros:
        grid = grid[grid != 0]
    points = counts and len(grid) <= MOST_BARS + 1
    highest = peak = 0.0
    for axis, each, posterior in zip(axes, families, posteriors, strict=True):
        inside = grid[np.asarray(each.family.support(grid))]
        if posterior.steps and not points:
            # Cells may be narrower than a line: the bars show the data at this width, and so does the density.
            average = averages_between(edges, posterior.steps, partial(_density, posterior))
            inside, density = np.repeat(edges, 2)[1:-1], np.repeat(average, 2, axis=0).T[codes]
        else:
            density = _density(posterior, inside).T[codes]
        for c, (cells, weights) in enumerate(by_class):
            if weight[c] > 0:
                share = weights / weight[c] / np.diff(edges)[0]
                bars = axis.hist(cells, edges, weights=share, histtype="stepfilled", zorder=1, **_bars(c))
                highest = max(highest, bars[0].max())
            drawn: dict[str, Any] = (
                {"marker": MARKERS[c], "markersize": 3, "linewidth": 0.7} if points else {"linewidth": 1.6}
            )
            peak = max(peak, density[c].max(initial=0.0))
            axis.plot(inside, density[c], color=f"C{c}", linestyle=LINES[c], zorder=3, **drawn)
        axis.set_xlim(edges[0], edges[-1])
        axis.locator_params(axis="x", nbins=5)
        axis.set_yticks([])
    # A density may be high where no cell is: the bars limit the scale, which is the same for both families.
    top = max(1.05 * highest, min(MOST_HEIGHT * highest, 1.05 * peak))
    for axis in axes:
        axis.set_ylim(0.0, top or 1.0)
    return points


def _density(posterior: Any, values: np.ndarray) -> np.ndarray:
    """Predictive density of each class, shape (values, classes)."""
    return np.exp(np.asarray(posterior.cell_log_predictive(values))).T


def _edges(cells: np.ndarray, counts: bool) -> np.ndarray:
    """Edges of the bars: around each whole number, if they are few, or thirty over nearly all cells."""
    if counts and np.ptp(cells) <= MOST_BARS:
        return np.arange(cells.min() - 0.5, cells.max() + 1)
    low, high = np.quantile(cells, ((1 - SHARE_SHOWN) / 2, (1 + SHARE_SHOWN) / 2))
    margin = 0.05 * (high - low) or 0.5 * max(abs(high), 1.0)
    return np.linspace(low - margin, high + margin, 31)
