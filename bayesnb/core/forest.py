"""Named rows with points and intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.core.checking import whole_number
from bayesnb.core.deferred import picture
from bayesnb.core.panels import (
    SMALL,
    Panels,
    background,
    grid_of_panels,
    height_of_rows,
    limit_ticks,
    muted,
    name_rows,
    panel_of_rows,
    text_color,
    text_width,
    wrap_to,
    yes_or_no,
)
from bayesnb.core.printing import counted

# --------------------------------------------------------------------------------------------------
# How many rows or panels a figure shows, and how its title says so
# --------------------------------------------------------------------------------------------------

FEWEST = 4
"""Least number of panels, if fewer results are extreme."""

MOST = 12
"""Largest number of panels, if more results are extreme."""


def number_of_panels(given: Any, extreme: int) -> int:
    """Panels at most: what the caller gives, or one for each extreme result within bounds."""
    return min(max(extreme, FEWEST), MOST) if given is None else whole_number("max_panels", given)


def how_many(shown: int, number: int, noun: str, which: str) -> str:
    """How many things a figure shows, such as "1 feature", "6 features" or "the top 4 of 6 features".

    `noun` is what one of them is called. `which` says which ones are shown, if not all are; it is empty if the caller
    has named them.
    """
    named = counted(number, noun)
    if shown == number:
        return named
    return f"the {which} {shown} of {named}" if which else f"{shown} of {named}"


def highest_places(values: np.ndarray, most: int) -> list[int]:
    """Positions of the largest numbers, in the order of the positions; the first ones of equal numbers."""
    found: list[int] = np.sort(np.argsort(-values, kind="stable")[:most]).tolist()
    return found


def top_rows(table: Any, by: str, sort: Any, *, noun: str = "feature", key: Any = None, **most: Any) -> tuple[Any, str]:
    """The rows of a table that a figure shows, and how many of how many they are, in words.

    If `sort`, the rows with the largest number in the column `by` come first; `key` may take absolute values. `noun` is
    what a row is called, and `most` the largest number of rows, by the name of the caller's argument.
    """
    if yes_or_no("sort", sort):
        table = table.sort_values(by, key=key, ascending=False, kind="stable")
    ((name, number),) = most.items()
    shown = table.head(whole_number(name, number))
    return shown, how_many(len(shown), len(table), noun, "top" if sort else "first")


# --------------------------------------------------------------------------------------------------
# Rows with names, points and intervals
# --------------------------------------------------------------------------------------------------

LEAST = 0.9
"""Least height of a panel, in inches."""

NAME = 1.4
"""Largest width of a name, in inches, where panels may be side by side."""


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
        ``"C0"`` is the first colour of the style's cycle, ``"B1"`` that of letters, and ``"B2"`` is between it and the
        background.
    filled : bool, or array of bool of shape (rows,)
    ends : array of shape (2, rows), optional
        Intervals of their own, in their colour.
    shift : float
        Place in the row, from -0.5 at its top to 0.5.
    """

    values: Any
    label: str = ""
    marker: str = "o"
    color: str = "C0"
    filled: Any = True
    ends: Any = None
    shift: float = 0.0


@dataclass(frozen=True)
class ForestPanel:
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
    height : float
        Inches of a row.
    examples : sequence of Points
        Marks that only the legend has.
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
    height: float = 0.22
    examples: Sequence[Points] = ()


def forest(
    rows: Sequence[ForestPanel],
    *,
    title: str = "",
    same_axis: bool = False,
    panels_across: int | None = None,
    ax: Any = None,
    axes: Any = None,
    figsize: Any = None,
) -> Any:
    """Draw panels of rows, a `ForestPanel` each, below a title; all with the same horizontal axis if asked.

    For the other arguments see `plot_densities`, and `plot_proba` for the `ax` of one panel.
    """
    panels = _forest_panels(rows, panels_across, ax, axes, figsize)
    ends = [_axis_limits(rows)] * len(rows) if same_axis else [_axis_limits([panel]) for panel in rows]
    drawn: dict[str, Any] = {}
    for axis, panel, limits in zip(panels.axes, rows, ends, strict=True):
        _draw_panel(axis, panel, limits, drawn)
        limit_ticks(axis, panels.panel_width)
    if title:
        panels.title(title)
    if drawn:
        panels.legend([(handle, label) for label, handle in drawn.items()])
    return panels.drawn()


def _forest_panels(rows: Sequence[ForestPanel], across: int | None, ax: Any, axes: Any, figsize: Any) -> Panels:
    """Panels of matplotlib with their names, titles and labels."""
    if len(rows) == 1 and axes is None:
        row_height = max(rows[0].height, LEAST / len(rows[0].names))
        panels = panel_of_rows(rows[0].names, ax=ax, figsize=figsize, row_height=row_height)
        panels.heads([rows[0].title])
        panels.x_label(rows[0].x_label)
        return panels
    panels = grid_of_panels(
        len(rows), axes=axes, figsize=figsize, panels_across=across, most_across=2, width=3.7, narrowest=2.6
    )
    width = min(NAME, 0.42 * panels.panel_width)
    names = [[wrap_to(name, width, SMALL) for name in panel.names] for panel in rows]
    panels.set_height(max(LEAST, *map(height_of_rows, names, [panel.height for panel in rows])))
    panels.panel_width -= max(text_width(text, SMALL) for texts in names for text in texts)
    for axis, panel, texts in zip(panels.axes, rows, names, strict=True):
        name_rows(axis, texts)
        axis.set_xlabel(wrap_to(panel.x_label, panels.panel_width, SMALL), fontsize=SMALL)
    panels.heads([panel.title for panel in rows])
    return panels


def _axis_limits(rows: Sequence[ForestPanel]) -> tuple[float, float]:
    """Limits of the horizontal axis: around everything finite, or as a panel gives them."""
    drawn = [points.values for panel in rows for points in panel.points]
    drawn += [ends for panel in rows for ends in (panel.lower, panel.upper) if ends is not None]
    drawn += [points.ends for panel in rows for points in panel.points if points.ends is not None]
    drawn += [[panel.at] for panel in rows if panel.at is not None]
    values = np.concatenate([np.asarray(each, dtype=np.float64).ravel() for each in drawn])
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    margin = 0.06 * (high - low) or 0.5 * max(abs(high), 1.0)
    lows = [panel.limits[0] for panel in rows if panel.limits[0] is not None]
    highs = [panel.limits[1] for panel in rows if panel.limits[1] is not None]
    return min(lows, default=low - margin), max(highs, default=high + margin)


def _draw_panel(axis: Any, panel: ForestPanel, limits: tuple[float, float], drawn: dict[str, Any]) -> None:
    """Draw the marks of a panel, and add new legend entries to `drawn`, by label."""
    if panel.at is not None:
        (line,) = axis.plot(
            [panel.at] * 2, [-0.5, len(panel.names) - 0.5], color=muted(0.7), linestyle="--", linewidth=1
        )
        drawn.setdefault(panel.at_label, line)
    if panel.lower is not None:
        ends = np.clip(np.stack([panel.lower, panel.upper], axis=1).astype(np.float64), *limits)
        if not np.isnan(ends).all():
            # A single line with gaps, for any number of rows.
            x, y = np.insert(ends, 2, np.nan, axis=1).ravel(), np.repeat(np.arange(len(ends)), 3)
            drawn.setdefault(panel.interval, axis.plot(x, y, color=muted(0.7), linewidth=1.6)[0])
    for points in panel.points:
        _draw_points(axis, points, limits, drawn)
    for each in panel.examples:
        face = muted(0.7) if each.filled else background()
        drawn[each.label] = axis.scatter([], [], marker=each.marker, facecolor=face, edgecolor=muted(0.7))
    axis.set_xlim(limits)
    drawn.pop("", None)  # what has no label is not in the legend


def _draw_points(axis: Any, points: Points, limits: tuple[float, float], drawn: dict[str, Any]) -> None:
    values = np.asarray(points.values, dtype=np.float64)
    color = {"B1": text_color(), "B2": muted(0.7)}.get(points.color, points.color)
    rows = np.arange(len(values)) + points.shift
    if points.ends is not None:
        axis.hlines(rows, *points.ends, color=color, linewidth=1.6)
    style: dict[str, Any] = {"color": color, "s": 70, "linewidth": 1.4, "zorder": 3}
    faces = np.where(np.broadcast_to(points.filled, values.shape)[:, None], picture.to_rgb(color), background())
    if points.marker != "|":
        style = {"edgecolor": color, "s": 28, "linewidth": 1.2, "zorder": 3}
    if np.ndim(points.filled):
        drawn.setdefault(points.label, axis.scatter([], [], marker=points.marker, color=color))
    low, high = limits
    inside = 0.015 * (high - low)
    for marker, there, place in (
        (points.marker, np.isfinite(values), values),
        ("<", values == -np.inf, np.full(len(values), low + inside)),
        (">", values == np.inf, np.full(len(values), high - inside)),
    ):
        if there.any():
            look = style if points.marker == "|" else style | {"facecolor": faces[there]}
            marks = axis.scatter(place[there], rows[there], marker=marker, **look)
            drawn.setdefault(points.label, marks)
