"""Named rows with points and intervals, for matplotlib, Bokeh and Plotly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.core.checking import whole_number
from bayesnb.data.read import as_table
from bayesnb.figures.panels import (
    SMALL,
    Panels,
    background,
    grid_of_panels,
    line_height,
    line_number,
    muted,
    name_rows,
    panel_of_rows,
    size_in_inches,
    text_color,
    text_width,
    wrap_to,
)

__all__ = ["Points", "Rows", "first_rows", "forest", "how_many", "names_of_rows", "number_of_panels"]

# --------------------------------------------------------------------------------------------------
# How many of many things a figure shows, and what its title says of it
# --------------------------------------------------------------------------------------------------

FEWEST = 4
"""Panels, if fewer results are extreme."""

MOST = 12
"""Panels, if more results are extreme."""

PLURALS = {"class": "classes", "probability": "probabilities", "quantity": "quantities"}


def number_of_panels(given: Any, extreme: int) -> int:
    """Panels at most: what the caller gives, or one for each extreme result within bounds."""
    return min(max(extreme, FEWEST), MOST) if given is None else whole_number("max_panels", given)


def how_many(shown: int, number: int, noun: str, which: str) -> str:
    """How many things a figure shows, such as "1 feature", "6 features" or "the top 4 of 6 features".

    Parameters
    ----------
    shown : int
        Things that the figure shows.
    number : int
        Things that there are.
    noun : str
        What one of them is called.
    which : str
        Which ones are shown, if not all are; empty if the caller has named them.
    """
    named = f"{number} {noun if number == 1 else PLURALS.get(noun, f'{noun}s')}"
    if shown == number:
        return named
    return f"the {which} {shown} of {named}" if which else f"{shown} of {named}"


# --------------------------------------------------------------------------------------------------
# The libraries that draw forests: matplotlib, and with the functions of arviz-plots Bokeh and Plotly.
#
# arviz-plots has the same drawing functions for each library, its backends. What they do not have in common is here.
# --------------------------------------------------------------------------------------------------

DOTS = 100
"""Dots of an inch, for the libraries that measure figures in dots."""


@dataclass(frozen=True)
class Backend:
    """A library that draws.

    Attributes
    ----------
    name : str
        That of arviz-plots.
    size : float
        Size of a mark.
    markers : mapping
        By marker of matplotlib, the arguments that give it.
    label : str
        The argument that puts a mark into the legend.
    label_too : mapping
        Arguments beside it.
    newline : str
        What begins a line in the name of a row.
    spacing : mapping
        Arguments that keep panels side by side apart.
    """

    name: str
    size: float
    markers: Mapping[str, Mapping[str, Any]]
    label: str = "label"
    label_too: Mapping[str, Any] = field(default_factory=dict)
    newline: str = "\n"
    spacing: Mapping[str, Any] = field(default_factory=dict)

    @property
    def draw(self) -> Any:
        """The module of arviz-plots that draws.

        Raises
        ------
        ModuleNotFoundError
            If a package that it needs is not installed.
        """
        try:
            return import_module(f"arviz_plots.backend.{self.name}")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"backend={self.name!r} needs the package {error.name}: pip install 'arviz-plots[{self.name}]'",
                name=error.name,
            ) from error

    def color(self, name: str) -> Any:
        """The colour of an alias of arviz-plots."""
        return house_color(name) if self.name == "matplotlib" else name

    def in_legend(self, label: str) -> dict[str, Any]:
        """Arguments that put a mark into the legend; none without a label."""
        return {self.label: label, **self.label_too} if label else {}

    def name_rows(self, plot: Any, names: Sequence[str]) -> None:
        """A band and a name for each row, the first at the top."""
        for row in range(0, len(names), 2):
            self.draw.hspan(row - 0.5, row + 0.5, plot, color=self.color("B3"), alpha=0.12)
        self.draw.yticks(np.arange(len(names)), [name.replace("\n", self.newline) for name in names], plot)
        self.draw.ylim((len(names) - 0.5, -0.5), plot)

    def panels(self, number: int, across: int, figsize: tuple[float, float]) -> tuple[Any, list[Any]]:
        """A figure of this size in inches, and its panels row by row."""
        figure, plots = self.draw.create_plotting_grid(
            number,
            -(-number // across),
            across,
            figsize=(DOTS * figsize[0], DOTS * figsize[1]),
            figsize_units="dots",
            squeeze=False,
            **(self.spacing if across > 1 else {}),
        )
        return figure, list(plots.flat[:number])

    def collection(self, figure: Any, plots: Sequence[Any], title: str) -> Any:
        """The figure with its title, as arviz-plots returns its own: an `arviz_plots.PlotCollection`."""
        import xarray as xr
        from arviz_plots import PlotCollection

        bokeh = self.name == "bokeh"
        if title:
            as_text = {"render_as_text": True} if bokeh else {}
            figure, _ = self.draw.set_figure_title(figure, title.replace("\n", " "), **as_text)
        if self.name == "plotly":
            figure.update_layout(legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0})
        for plot in plots if bokeh else ():
            for found in plot.legend:
                plot.add_layout(found, "below")
        whole, parts = np.empty((), dtype=object), np.empty(len(plots), dtype=object)
        whole[()], parts[:] = figure, list(plots)
        tree = xr.DataTree(xr.Dataset({"figure": whole, "plot": ("panel", parts)}))
        return PlotCollection(xr.Dataset(), tree, backend=self.name)


MATPLOTLIB = ("o", "s", "^", "D", "v", "P", "X", "*", "|", "<", ">")
BOKEH = ("circle", "square", "triangle", "diamond", "inverted_triangle", "plus", "x", "star", "|")
PLOTLY = (
    *("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star", "|"),
    *("triangle-left", "triangle-right"),
)
SAME = {each: {"marker": each} for each in MATPLOTLIB}

BACKENDS = (
    Backend("matplotlib", size=28.0, markers=SAME),
    Backend(
        "bokeh",
        size=8.0,
        markers={own: {"marker": name} for own, name in zip(MATPLOTLIB, BOKEH, strict=False)}
        | {end: {"marker": "triangle", "angle": turn * np.pi / 2} for end, turn in (("<", 1), (">", -1))},
        label="legend_label",
    ),
    Backend(
        "plotly",
        size=64.0,
        markers={own: {"marker": name} for own, name in zip(MATPLOTLIB, PLOTLY, strict=True)},
        label="name",
        label_too={"showlegend": True},
        newline="<br>",
        spacing={"plot_hspace": 0.2},
    ),
    Backend("none", size=28.0, markers=SAME),
)
"""The last one draws nothing. Its figure holds what would be drawn."""


def house_color(name: str) -> Any:
    """For matplotlib, the colour of an alias in the style that is in use."""
    if not name.startswith("B"):
        return name
    return {"B0": background(), "B1": text_color(), "B2": muted(0.7), "B3": muted(0.4)}[name]


def backend_named(name: str) -> Backend:
    """The backend of a name.

    Parameters
    ----------
    name : str

    Returns
    -------
    Backend

    Raises
    ------
    ValueError
        If there is none.
    """
    for backend in BACKENDS:
        if backend.name == name:
            return backend
    raise ValueError(f"backend is {name!r}: give one of {[backend.name for backend in BACKENDS]}")


# --------------------------------------------------------------------------------------------------
# The rows of a table that a figure shows, and their names
# --------------------------------------------------------------------------------------------------


def first_rows(X: Any, max_rows: int) -> tuple[Any, int, int]:
    """The first rows of a table, their number and the number of all rows.

    Raises
    ------
    ValueError
        If there is no row.
    """
    shown, rows = whole_number("max_rows", max_rows), as_table(X).num_rows
    if rows == 0:
        raise ValueError("X has no rows: give at least one")
    if rows <= shown:
        return X, rows, rows
    if hasattr(X, "head"):
        return X.head(shown), shown, rows
    return (X.tocsr() if hasattr(X, "tocsr") else X)[:shown], shown, rows


def names_of_rows(X: Any, labels: Sequence[Any] | None, shown: int, rows: int) -> list[str]:
    """Text beside each row that is shown: its label; without labels its index in a pandas table, or its position.

    Raises
    ------
    ValueError
        If there is not one label for each row of the table.
    """
    if labels is None:
        return [str(row) for row in (X.index[:shown] if isinstance(X, pd.DataFrame) else range(shown))]
    names = list(labels)
    if isinstance(labels, str) or len(names) != rows:
        raise ValueError(f"labels has {len(names)} entries, X has {rows} rows: give one label for each row")
    return [str(name) for name in names[:shown]]


# --------------------------------------------------------------------------------------------------
# Rows with names, points and intervals, drawn by matplotlib, Bokeh or Plotly
# --------------------------------------------------------------------------------------------------

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
