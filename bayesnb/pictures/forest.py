"""Rows with names, points and intervals, drawn by matplotlib, Bokeh or Plotly."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.pictures.backends import Backend, backend_named
from bayesnb.pictures.choices import size_in_inches
from bayesnb.pictures.panels import Panels, grid_of_panels, name_rows, panel_of_rows
from bayesnb.pictures.style import SMALL
from bayesnb.pictures.text import line_height, line_number, text_width, wrap_to
from bayesnb.validate import whole_number

__all__ = ["Points", "Rows", "forest"]

BAND = 0.22
"""Inches of a row."""

LEAST = 0.9
"""Inches of a panel of few rows."""

NAME = 1.4
"""Inches of a name, where panels may be side by side."""

HEAD = 0.8
"""Inches above and below the rows of a panel, where panels may be side by side."""


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
        As arviz-plots names it: ``"C0"`` is the first colour of the backend's cycle, ``"B0"`` is the background,
        ``"B1"`` differs most from it, ``"B2"`` and ``"B3"`` less.
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
    points : sequence of Points
        Drawn one over the other.
    lower, upper : array, shape (rows,), optional
        Ends of the intervals; NaN where a row has none.
    interval : str
        What the intervals are, for the legend; without it they are not in the legend.
    title, x_label : str
    at : float, optional
        Where the dashed line is.
    at_label : str
        What it is, for the legend; without it the line is not in the legend.
    limits : tuple of float or None
        Ends of the axis, None where they follow from what is drawn.
    """

    names: Sequence[str]
    points: Sequence[Points]
    lower: Any = None
    upper: Any = None
    interval: str = ""
    title: str = ""
    x_label: str = ""
    at: float | None = None
    at_label: str = ""
    limits: tuple[float | None, float | None] = (None, None)


def forest(
    rows: Sequence[Rows],
    *,
    title: str = "",
    same_axis: bool = False,
    panels_across: int | None = None,
    backend: str = "matplotlib",
    ax: Any = None,
    axes: Any = None,
    figsize: Any = None,
) -> Any:
    """Draw panels of rows.

    Parameters
    ----------
    rows : sequence of Rows
        A panel each.
    title : str
        Text above all panels.
    same_axis : bool, default False
        Whether the horizontal axes of all panels are the same.
    panels_across : int, optional
        Panels side by side; by default one or two, as the width allows.
    backend : {"matplotlib", "bokeh", "plotly", "none"}, default "matplotlib"
        Library that draws.
    ax, axes : matplotlib axes, or a sequence of them, optional
        Where to draw; by default in a new figure. `ax` is for one panel.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the rows.

    Returns
    -------
    matplotlib.figure.Figure or arviz_plots.PlotCollection
        The collection is what other backends give. It has ``show()`` and ``savefig(path)``.

    Raises
    ------
    ModuleNotFoundError
        If the backend is not installed.
    TypeError, ValueError
        If there is no such backend, axes are given to another one than matplotlib, or axes or size do not fit.
    """
    chosen = backend_named(backend)
    ends = [_limits(rows)] * len(rows) if same_axis else [_limits([panel]) for panel in rows]
    drawn: dict[str, Any] = {}
    if backend == "matplotlib":
        panels = _panels(rows, panels_across, ax, axes, figsize)
        for plot, panel, limits in zip(panels.axes, rows, ends, strict=True):
            _draw(chosen, plot, panel, limits, drawn)
        if title:
            panels.title(title)
        if drawn:
            panels.legend([(handle, label) for label, handle in drawn.items()])
        return panels.drawn()
    for name, given in (("ax", ax), ("axes", axes)):
        if given is not None:
            raise ValueError(f"backend is {backend!r}, and {name} is matplotlib's: leave one of the two out")
    across = 1 if panels_across is None else min(whole_number("panels_across", panels_across), len(rows))
    figure, plots = chosen.panels(len(rows), across, _size(rows, across, figsize))
    for plot, panel, limits in zip(plots, rows, ends, strict=True):
        chosen.name_rows(plot, panel.names)
        _draw(chosen, plot, panel, limits, drawn)
        if panel.x_label:
            chosen.draw.xlabel(panel.x_label, plot)
        if panel.title:
            chosen.draw.title(panel.title, plot)
    return chosen.collection(figure, plots, title)


def _panels(rows: Sequence[Rows], across: int | None, ax: Any, axes: Any, figsize: Any) -> Panels:
    """Panels of matplotlib with their names, titles and labels."""
    if len(rows) == 1 and axes is None:
        panels = panel_of_rows(rows[0].names, ax=ax, figsize=figsize, row_height=max(BAND, LEAST / len(rows[0].names)))
        if rows[0].title:
            panels.heads([rows[0].title])
        if rows[0].x_label:
            panels.x_label(rows[0].x_label)
        return panels
    panels = grid_of_panels(
        len(rows), axes=axes, figsize=figsize, across=across, most_across=2, width=3.7, narrowest=2.6
    )
    width = min(NAME, 0.42 * panels.panel_width)
    names = [[wrap_to(name, width, SMALL) for name in panel.names] for panel in rows]
    panels.set_heights(
        HEAD + max(max(len(texts) * max(BAND, 0.05 + _lines(texts)), LEAST) for texts in names),
        HEAD + max(len(texts) * (0.03 + _lines(texts)) for texts in names),
    )
    panels.panel_width -= max(text_width(text, SMALL) for texts in names for text in texts)
    for axis, panel, texts in zip(panels.axes, rows, names, strict=True):
        name_rows(axis, texts)
        axis.set_xlabel(wrap_to(panel.x_label, panels.panel_width, SMALL), fontsize=SMALL)
    panels.heads([panel.title for panel in rows])
    return panels


def _lines(texts: Sequence[str]) -> float:
    """Inches of the longest name: all rows of a panel are as high."""
    return max(map(line_number, texts)) * line_height(SMALL)


def _size(rows: Sequence[Rows], across: int, figsize: Any) -> tuple[float, float]:
    """Width and height in inches, for other libraries than matplotlib."""
    width, height = (3.2 + 3.2 * across, None) if figsize is None else size_in_inches(figsize)
    if height is None:
        lines = [sum(map(line_number, panel.names)) for panel in rows]
        height = sum(1.5 + 0.25 * max(lines[i : i + across]) for i in range(0, len(rows), across))
    return width, height


def _limits(rows: Sequence[Rows]) -> tuple[float, float]:
    """Ends of the horizontal axis: around everything finite, or where a panel says that it ends."""
    drawn = [points.values for panel in rows for points in panel.points]
    drawn += [ends for panel in rows for ends in (panel.lower, panel.upper) if ends is not None]
    drawn += [[panel.at] for panel in rows if panel.at is not None]
    values = np.concatenate([np.asarray(each, dtype=np.float64).ravel() for each in drawn])
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    margin = 0.06 * (high - low) or 0.5 * max(abs(high), 1.0)
    lows = [panel.limits[0] for panel in rows if panel.limits[0] is not None]
    highs = [panel.limits[1] for panel in rows if panel.limits[1] is not None]
    return min(lows, default=low - margin), max(highs, default=high + margin)


def _draw(backend: Backend, plot: Any, panel: Rows, limits: tuple[float, float], drawn: dict[str, Any]) -> None:
    """Draw the marks of a panel, and add those that are new in the legend to `drawn`."""
    draw = backend.draw
    if panel.at is not None:
        end = len(panel.names) - 0.5
        line: dict[str, Any] = {"color": backend.color("B2"), "linestyle": "C1", "width": 1.0}
        label = _new(panel.at_label, drawn)
        mark = draw.line([panel.at, panel.at], [-0.5, end], plot, **line, **backend.in_legend(label))
        if label:
            drawn[label] = mark
    if panel.lower is not None:
        _draw_intervals(backend, plot, panel, limits, drawn)
    for points in panel.points:
        _draw_points(backend, plot, points, limits, drawn)
    draw.xlim(limits, plot)


def _new(label: str, drawn: dict[str, Any]) -> str:
    """A label that is not in the legend yet; else nothing."""
    return "" if label in drawn else label


def _draw_intervals(
    backend: Backend, plot: Any, panel: Rows, limits: tuple[float, float], drawn: dict[str, Any]
) -> None:
    ends = np.clip(np.stack([panel.lower, panel.upper], axis=1).astype(np.float64), *limits)
    if np.isnan(ends).all():
        return
    # One line with gaps, whatever the number of rows.
    x = np.insert(ends, 2, np.nan, axis=1).ravel()
    y = np.repeat(np.arange(len(ends), dtype=np.float64), 3)
    label = _new(panel.interval, drawn)
    line = backend.draw.line(x, y, plot, color=backend.color("B2"), width=1.6, **backend.in_legend(label))
    if label:
        drawn[label] = line


def _draw_points(
    backend: Backend, plot: Any, points: Points, limits: tuple[float, float], drawn: dict[str, Any]
) -> None:
    values = np.asarray(points.values, dtype=np.float64)
    color = backend.color(points.color)
    if points.marker == "|":
        style = {"color": color, "size": 2.5 * backend.size, "width": 1.4}
    else:
        face = color if points.filled else backend.color("B0")
        style = {"facecolor": face, "edgecolor": color, "size": backend.size, "width": 1.2}
    low, high = limits
    inside = 0.015 * (high - low)
    for marker, there, place in (
        (points.marker, np.isfinite(values), values),
        ("<", values == -np.inf, np.full(len(values), low + inside)),
        (">", values == np.inf, np.full(len(values), high - inside)),
    ):
        if there.any():
            label = _new(points.label, drawn)
            kind = {**backend.markers[marker], **backend.in_legend(label)}
            marks = backend.draw.scatter(place[there], np.flatnonzero(there), plot, **style, **kind)
            if label:
                drawn[label] = marks
