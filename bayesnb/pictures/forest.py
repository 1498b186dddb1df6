"""Rows with names, points and intervals, drawn by matplotlib, Bokeh or Plotly."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.pictures.backends import Backend, backend_named
from bayesnb.pictures.layout import legend

__all__ = ["Points", "Rows", "forest"]


@dataclass(frozen=True)
class Points:
    """Marks of one kind: a value in each row.

    Attributes
    ----------
    values : array, shape (rows,)
        NaN where a row has no such mark. Infinite values are arrow heads at the ends of the axis.
    label : str
        Its text in the legend; without one it is not in the legend.
    marker : str
        A marker of matplotlib, of `MARKERS` or ``"|"``.
    color : str
        ``"C0"`` is the first colour of the backend's cycle. ``"B1"`` differs most from the background, ``"B2"`` and
        ``"B3"`` less.
    filled : bool
    """

    values: Any
    label: str = ""
    marker: str = "o"
    color: str = "C0"
    filled: bool = True


@dataclass(frozen=True)
class Rows:
    """One panel of rows, the first at the top.

    Attributes
    ----------
    names : sequence of str, shape (rows,)
        As `wrap` gives them.
    points : sequence of Points
    lower, upper : array, shape (rows,), optional
        Ends of the intervals; NaN where a row has none.
    interval : str
        What the intervals are, for the legend; without it they are not in the legend.
    title, xlabel : str
        As `wrap` gives them.
    reference : float, optional
        Where the dashed line is.
    left : float, optional
        Where the axis begins, by default left of everything.
    """

    names: Sequence[str]
    points: Sequence[Points]
    lower: Any = None
    upper: Any = None
    interval: str = ""
    title: str = ""
    xlabel: str = ""
    reference: float | None = None
    left: float | None = None


def forest(
    panels: Sequence[Rows],
    *,
    title: str = "",
    across: int = 1,
    sharex: bool = False,
    backend: str = "matplotlib",
    axes: Sequence[Any] | None = None,
    figsize: tuple[float, float] | None = None,
) -> Any:
    """Draw panels of rows.

    Parameters
    ----------
    panels : sequence of Rows
    title : str
        Text above all panels.
    across : int, default 1
        Panels side by side.
    sharex : bool, default False
        Whether the horizontal axes of all panels are the same.
    backend : {"matplotlib", "bokeh", "plotly", "none"}, default "matplotlib"
        Library that draws.
    axes : sequence of matplotlib.axes.Axes, shape (panels,), optional
        Where to draw; by default in a new figure.
    figsize : tuple of float, optional
        Width and height in inches; by default what the rows need.

    Returns
    -------
    matplotlib.figure.Figure or arviz_plots.PlotCollection
        The collection is what other backends give. It has ``show()`` and ``savefig(path)``.

    Raises
    ------
    ModuleNotFoundError
        If the backend is not installed.
    ValueError
        If there is no such backend, or `axes` are given to another one than matplotlib.
    """
    chosen = backend_named(backend)
    across = min(across, len(panels))
    every = [_limits(panels)] * len(panels) if sharex else [_limits([panel]) for panel in panels]
    if backend == "matplotlib":
        figure, plots = _axes(panels, across, axes, figsize)
    elif axes is not None:
        raise ValueError(f"backend is {backend!r}, and the axes are matplotlib's: leave one of the two out")
    else:
        figure, plots = chosen.panels(len(panels), across, figsize or _size(panels, across))
    entries: dict[str, Any] = {}
    for plot, panel, limits in zip(plots, panels, every, strict=True):
        _draw(chosen, plot, panel, limits, entries)
    if backend != "matplotlib":
        return chosen.collection(figure, plots, title)
    if title:
        figure.suptitle(title, fontsize=10)
    if entries:
        legend(figure, [(handle, label) for label, handle in entries.items()])
    return figure


def _limits(panels: Sequence[Rows]) -> tuple[float, float]:
    """Ends of the horizontal axis: around everything finite, or from where a panel says that it begins."""
    drawn = [points.values for panel in panels for points in panel.points]
    drawn += [ends for panel in panels for ends in (panel.lower, panel.upper) if ends is not None]
    drawn += [[panel.reference] for panel in panels if panel.reference is not None]
    values = np.concatenate([np.asarray(each, dtype=np.float64).ravel() for each in drawn])
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    margin = 0.06 * (high - low) or 0.5 * max(abs(high), 1.0)
    starts = [panel.left for panel in panels if panel.left is not None]
    return (min(starts) if starts else low - margin), high + margin


def _size(panels: Sequence[Rows], across: int) -> tuple[float, float]:
    """Width and height in inches that the rows need."""
    return 3.2 + 3.2 * across, sum(_heights(panels, across))


def _heights(panels: Sequence[Rows], across: int) -> list[float]:
    """Height of each row of panels: all rows of a panel are as high as its longest name."""
    lines = [len(panel.names) * max(name.count("\n") + 1 for name in panel.names) for panel in panels]
    return [0.8 + 0.2 * max(lines[i : i + across]) for i in range(0, len(panels), across)]


def _axes(
    panels: Sequence[Rows], across: int, axes: Sequence[Any] | None, figsize: tuple[float, float] | None
) -> tuple[Any, list[Any]]:
    """A figure of matplotlib and the axes of the panels."""
    from bayesnb.pictures.picture import Picture

    if axes is not None:
        return axes[0].figure, list(axes)
    figure = Picture(figsize=figsize or _size(panels, across), layout="constrained")
    heights = _heights(panels, across)
    grid = figure.subplots(len(heights), across, squeeze=False, height_ratios=heights)
    for axis in grid.flat[len(panels) :]:
        axis.set_axis_off()
    found = list(grid.flat[: len(panels)])
    for axis in found:
        axis.tick_params(axis="y", length=0)
        axis.spines[["left", "top", "right"]].set_visible(False)
    return figure, found


def _draw(backend: Backend, plot: Any, panel: Rows, limits: tuple[float, float], entries: dict[str, Any]) -> None:
    """Draw a panel, and add its marks to those of the legend."""
    draw, at = backend.draw, np.arange(len(panel.names))
    for row in at[::2].tolist():
        draw.hspan(row - 0.5, row + 0.5, plot, color="B3", alpha=0.12)
    if panel.lower is not None:
        _draw_intervals(backend, plot, panel, limits, entries)
    for points in panel.points:
        _draw_points(backend, plot, points, limits, entries)
    if panel.reference is not None:
        draw.vline(panel.reference, plot, color="B2", linestyle="C1", width=1.0)
    draw.yticks(at, [backend.text(name).replace("\n", backend.newline) for name in panel.names], plot)
    draw.ylim((len(at) - 0.5, -0.5), plot)
    draw.xlim(limits, plot)
    if panel.xlabel:
        draw.xlabel(backend.text(panel.xlabel), plot)
    if panel.title:
        draw.title(backend.text(panel.title), plot)


def _draw_intervals(
    backend: Backend, plot: Any, panel: Rows, limits: tuple[float, float], entries: dict[str, Any]
) -> None:
    ends = np.clip(np.stack([panel.lower, panel.upper], axis=1).astype(np.float64), *limits)
    if np.isnan(ends).all():
        return
    # One line with gaps, whatever the number of rows.
    x = np.insert(ends, 2, np.nan, axis=1).ravel()
    y = np.repeat(np.arange(len(ends), dtype=np.float64), 3)
    label = panel.interval if panel.interval not in entries else ""
    line = backend.draw.line(x, y, plot, color="B2", width=1.6, **backend.in_legend(label))
    if label:
        entries[label] = line


def _draw_points(
    backend: Backend, plot: Any, points: Points, limits: tuple[float, float], entries: dict[str, Any]
) -> None:
    values = np.asarray(points.values, dtype=np.float64)
    if points.marker == "|":
        style = {"color": points.color, "size": 2.5 * backend.size, "width": 1.4}
    else:
        face = points.color if points.filled else "B0"
        style = {"facecolor": face, "edgecolor": points.color, "size": backend.size, "width": 1.2}
    low, high = limits
    inside = 0.015 * (high - low)
    for marker, drawn, place in (
        (points.marker, np.isfinite(values), values),
        ("<", values == -np.inf, np.full(len(values), low + inside)),
        (">", values == np.inf, np.full(len(values), high - inside)),
    ):
        if drawn.any():
            label = points.label if points.label not in entries else ""
            marks = backend.draw.scatter(
                place[drawn],
                np.flatnonzero(drawn),
                plot,
                **style,
                **backend.markers[marker],
                **backend.in_legend(label),
            )
            if label:
                entries[label] = marks
