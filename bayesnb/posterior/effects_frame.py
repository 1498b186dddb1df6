"""The frame of effects of columns, which draws itself."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.core.checking import whole_number
from bayesnb.core.forest import ForestPanel, Points, forest, highest_places, how_many
from bayesnb.core.frames import PrintedFrame
from bayesnb.core.panels import (
    LINES,
    MARKERS,
    chosen,
    grid_of_panels,
    limit_ticks,
    muted,
    name_columns,
    number_of_names,
    percent,
    text_color,
    yes_or_no,
)
from bayesnb.core.printing import short_name

QUANTILES = 50
"""Strokes below a curve: quantiles of the data."""

MOST_CATEGORIES = 30
"""Categories of a column in a picture, those with the largest log odds in absolute value."""

LONGEST_NAME = 14
"""A category's name with more letters loses its middle, where panels are side by side."""

BESIDE = 0.4
"""Space beside a panel, in inches, for its numbers."""

NUMBERS = ["log_odds", "lower", "upper"]


@dataclass(frozen=True)
class ColumnEffect:
    """What a column adds to log odds.

    Attributes
    ----------
    column : hashable
    kind : {"number", "category", "date"}
    importance : float
        Mean absolute log odds over rows, of all pairs of classes.
    values : list
        The last one is None, a missing cell, if such a cell adds something.
    given : list of str or None
        Each value of another column that this one is given, such as "sex = male"; else a single None.
    parents : list
        Names of the other columns.
    added : array, shape (3, given, values)
        Log odds, and the ends of their interval.
    atoms : tuple of float
        Numbers with a probability of their own.
    cells : array
        Observed cells of the rows of a table; empty without one.
    """

    column: Any
    kind: str
    importance: float
    values: list[Any]
    given: list[str | None]
    parents: list[Any]
    added: np.ndarray
    atoms: tuple[float, ...]
    cells: np.ndarray

    @property
    def name(self) -> str:
        """The column, and those that it is given."""
        return str(self.column) + (f" given {', '.join(map(str, self.parents))}" if self.parents else "")

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Rows of the frame."""
        for k, given in enumerate(self.given):
            for v, value in enumerate(self.values):
                yield self.column, given, value, *self.added[:, k, v]

    def with_few_values(self, most: int = MOST_CATEGORIES) -> "ColumnEffect":
        """With at most so many categories; itself if the values are none."""
        if self.kind != "category":
            return self
        size = np.abs(np.nan_to_num(self.added[0])).max(axis=0)
        shown = highest_places(size, min(most, MOST_CATEGORIES))
        return replace(self, values=[self.values[v] for v in shown], added=self.added[..., shown])

    def texts(self, *, shares: bool = True) -> list[str]:
        """The names of the values, perhaps with their share of the rows."""
        times, number = Counter(self.cells.tolist()), len(self.cells) if shares else 0
        return [
            "missing"
            if value is None
            else f"{value} ({percent(round(times[value] / number, 2))})"
            if number
            else str(value)
            for value in self.values
        ]


class Effects(PrintedFrame):
    """The result of `effects`: what columns add to the log odds of two classes, over their values.

    What pandas makes of it, such as a sorted or a rounded frame, is an ordinary frame again.

    See Also
    --------
    effects : What columns add to the log odds of two classes.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.Bernoulli(), [[1, 0], [1, 1], [0, 1]], ["a", "a", "b"])
    >>> nb.effects(posterior).columns.tolist()
    ['column', 'given', 'value', 'log_odds', 'lower', 'upper']
    """

    def __init__(self, found: Sequence[ColumnEffect], told: dict[str, Any], *, has_intervals: bool) -> None:
        rows = [row for each in found for row in each.rows()]
        frame = pd.DataFrame(rows, columns=["column", "given", "value", *NUMBERS], dtype=object)
        frame = frame.astype(dict.fromkeys(NUMBERS, float))
        frame.attrs = told
        heading = f"What columns add to the log odds of {told['class']} against {told['against']} in {told['unit']}"
        super().__init__(frame, heading + f", lower and upper: {percent(told['prob'])} interval" * has_intervals)
        self._beside, self._has_intervals = tuple(found), has_intervals

    def plot(
        self,
        *,
        columns: Sequence[Any] | None = None,
        sort: bool = True,
        max_panels: int = 6,
        panels_across: int | None = None,
        ax: Any = None,
        axes: Any = None,
        figsize: Any = None,
    ) -> Any:
        """A panel for each column: a curve of its log odds with a band, or points of its categories with intervals.

        Parameters
        ----------
        columns : sequence, optional
            Columns to show, by default all.
        sort : bool, default True
            Whether the column with the largest mean absolute log odds comes first; otherwise the order of the table, or
            of `columns`.
        max_panels : int, default 6
            The first columns in this order get a panel.
        ax : matplotlib axes, optional
            Where to draw a single column: see `plot_proba`.
        panels_across, axes, figsize
            Panels side by side, the axes to draw in, or the size of a new figure: see `plot_densities`.

        Returns
        -------
        matplotlib.figure.Figure
            All panels have the same scale of log odds, and above each is the column's mean absolute log odds. Strokes
            below a curve are 50 quantiles of the data. Of many categories, those with the largest log odds are shown. A
            column that is given another one has a line for each value of that; if there are more than eight in all
            panels, only a picture of fewer columns names them in its legend. Missing cells, and numbers with a
            probability of their own, are points. A single column of categories has a row for each, with its share of
            the data. Infinite log odds, which only point estimates have, are drawn in such rows alone.

        Raises
        ------
        TypeError, ValueError
            If a column is unknown, there is none, or `axes` and `figsize` do not fit.

        See Also
        --------
        effects : The numbers of the picture.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
        >>> figure = nb.effects(posterior, X).plot(max_panels=4)
        """
        every = self._beside
        if columns is not None:
            every = [every[k] for k in chosen("columns", columns, [each.column for each in every])]
        if yes_or_no("sort", sort):
            every = sorted(every, key=lambda each: -each.importance)
        if not every:
            raise ValueError("no column has an effect of its own: nb.telling_features shows the words of count vectors")
        shown = every[: whole_number("max_panels", max_panels)]
        class_, against, unit, prob = (self.attrs[name] for name in ("class", "against", "unit", "prob"))
        alone = len(shown) == 1
        number = shown[0].column if alone else how_many(len(shown), len(every), "column", "top" if sort else "first")
        title = f"What {number} adds to" if alone else "What columns add to"
        title += f" the log odds of {class_} against {against}" + ("" if alone else f": {number}")
        if alone and shown[0].kind == "category":
            return self._forest(shown[0], title, ax=ax, axes=axes, figsize=figsize)
        if self._has_intervals:
            title += f"\n({'band' if alone else 'bands and bars'}: {percent(prob)} interval{'s' * (not alone)})"
        width = 6.4 if alone else 3.2
        given: dict[str, Any] = {"ax": ax, "axes": axes, "figsize": figsize, "panels_across": panels_across}
        panels = grid_of_panels(len(shown), **given, most_across=3, width=width)
        panels.set_height(3.0 if alone else 1.8)
        panels.panel_width -= BESIDE
        legend: dict[str, Any] = {}
        whole, shown = shown, [each.with_few_values(number_of_names(panels.panel_width)) for each in shown]
        limits = _limits(shown)
        for axis, each in zip(panels.axes, shown, strict=True):
            if each.kind == "category":
                _draw_category_points(axis, each, panels.panel_width, legend)
            else:
                _draw_curves(axis, each, panels.panel_width, legend)
            axis.axhline(0.0, color=muted(0.7), linestyle="--", linewidth=1, zorder=1)
            axis.set_ylim(limits)
            axis.spines["left"].set_visible(True)
        if not alone:
            panels.heads([_title_of_panel(*each) for each in zip(whole, shown, strict=True)])
        else:
            panels.x_label(str(shown[0].column))
        panels.title(title)
        panels.y_label(f"log odds in {unit}")
        if 0 < len(legend) <= len(LINES):
            panels.legend([(handle, text) for text, handle in legend.items()])
        return panels.drawn()

    def _forest(self, effect: ColumnEffect, title: str, **where: Any) -> Any:
        effect = effect.with_few_values()
        number = len(effect.given)
        points = [
            Points(
                effect.added[0, k],
                given or "",
                MARKERS[k],
                f"C{k}",
                ends=effect.added[1:, k],
                shift=0.7 * ((k + 0.5) / number - 0.5),
            )
            for k, given in enumerate(effect.given)
        ]
        label = f"log odds in {self.attrs['unit']}"
        label += f"; lines: {percent(self.attrs['prob'])} intervals" * self._has_intervals
        panel = ForestPanel(effect.texts(), points, x_label=label, at=0.0, height=0.22 + 0.08 * (number - 1))
        return forest([panel], title=title, **where)


def _title_of_panel(effect: ColumnEffect, shown: ColumnEffect) -> str:
    """The name of a column and its mean absolute log odds; and the number of its categories, if not all are shown."""
    head, number = f"{effect.name}: {effect.importance:.2g} on average", len(shown.values)
    all_shown = number == len(effect.values)
    return head if all_shown else f"{head}, {how_many(number, len(effect.values), 'category', 'top')}"


def _limits(shown: Sequence[ColumnEffect]) -> tuple[float, float]:
    """Ends of the axis, which shows all log odds, and the intervals up to half the range of the log odds beyond."""
    points = np.concatenate([each.added[0].ravel() for each in shown])
    finite = np.append(points[np.isfinite(points)], 0.0)
    low, high = finite.min(), finite.max()
    space = 0.5 * (high - low) or 0.5
    ends = np.concatenate([each.added[1:].ravel() for each in shown])
    ends = np.append(ends[np.isfinite(ends)], finite)
    low, high = max(low - space, ends.min()), min(high + space, ends.max())
    margin = 0.08 * (high - low) or 0.5
    return low - margin, high + margin


def _draw_curves(axis: Any, effect: ColumnEffect, width: float, legend: dict[str, Any]) -> None:
    """A line with its band for each value of the parent; points of missing cells and of numbers on their own."""
    known = [value for value in effect.values if value is not None]
    x = np.array(known, dtype="datetime64[us]" if effect.kind == "date" else float)
    smooth = ~np.isin(x, effect.atoms) if effect.atoms else np.ones(len(x), bool)
    odds, lower, upper = effect.added[..., : len(x)]
    for k, given in enumerate(effect.given):
        (line,) = axis.plot(x[smooth], odds[k, smooth], color=f"C{k}", linestyle=LINES[k], linewidth=1.7, zorder=3)
        axis.fill_between(x[smooth], lower[k, smooth], upper[k, smooth], color=f"C{k}", alpha=0.2, linewidth=0)
        if not smooth.all():
            _draw_with_ends(axis, x[~smooth], effect.added[:, k, : len(x)][:, ~smooth], k)
        if given is not None:
            legend.setdefault(given, line)
    if len(effect.values) > len(x):
        beyond = x[-1:] + 0.08 * (x[-1:] - x[:1])
        marks = _draw_with_ends(axis, beyond, effect.added[:, 0, -1:], None)
        legend.setdefault("missing", marks)
    if len(effect.cells):
        places = np.quantile(effect.cells.astype(x.dtype), np.linspace(0, 1, QUANTILES), method="nearest")
        axis.vlines(places, 0.0, 0.05, transform=axis.get_xaxis_transform(), color=muted(0.7), linewidth=0.8)
    if effect.kind == "date" and len(x):
        ticks = x[0] + (x[-1] - x[0]) * np.array([0, 0.5, 1])
        axis.set_xticks(ticks, np.datetime_as_string(ticks, "D"))
    elif effect.kind == "number":
        limit_ticks(axis, width)


def _draw_category_points(axis: Any, effect: ColumnEffect, width: float, legend: dict[str, Any]) -> None:
    """A point with its interval for each category and value of the parent."""
    names = [short_name(text, LONGEST_NAME).replace("$", r"\$") for text in effect.texts(shares=False)]
    at = np.arange(len(names))
    for k, given in enumerate(effect.given):
        marks = _draw_with_ends(axis, at + 0.7 * ((k + 0.5) / len(effect.given) - 0.5), effect.added[:, k], k)
        if given is not None:
            legend.setdefault(given, marks)
    name_columns(axis, names, width)


def _draw_with_ends(axis: Any, x: Any, added: np.ndarray, k: int | None) -> Any:
    """Points with their intervals, of a value of the parent, or None for missing cells."""
    color, marker = (text_color(), "X") if k is None else (f"C{k}", MARKERS[k])
    axis.vlines(x, added[1], added[2], color=color, linewidth=1.6, zorder=3)
    (marks,) = axis.plot(x, added[0], color=color, marker=marker, markersize=5, linestyle="none", zorder=4)
    return marks
