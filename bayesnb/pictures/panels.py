"""Panels of a figure: those of a new figure, or axes that the caller gives."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.pictures.choices import given_axes, size_in_inches
from bayesnb.pictures.style import SMALL, TINY, TITLE, text_color
from bayesnb.pictures.text import LINE, line_height, line_number, shorten_to, text_width, wrap_to
from bayesnb.validate import whole_number
from bayesnb.warn import warn

__all__ = ["Panels", "grid_of_panels", "panel_of_rows"]

MARGIN = 0.1
"""Inches on either side of a text."""

HANDLE = 5.8
"""Heights of a letter that a legend needs beside the text of an entry: its handle, and the space around it."""

LINES_OF_HEAD = 2
"""Lines of a panel's title that fit above each panel of a grid."""

LEAST = 1.2
"""Inches that a panel of a grid needs at least, with its title and the numbers along its axis."""

BELOW = 0.4
"""Inches that the numbers along the axis of a panel of rows need, with the space around them."""


@dataclass
class Panels:
    """The panels of a figure, and the texts around them.

    A new figure has its title at the top and its legend at the bottom. If its height is not given, it grows with these
    texts. If it is given and they do not fit, there is a warning. In axes that the caller gives, nothing outside them
    is drawn: the label belongs to the last panel, the legend is inside one, and there is a title only if there is one
    panel.

    Attributes
    ----------
    figure : matplotlib.figure.Figure
    axes : list of matplotlib.axes.Axes, one for each panel
    given : bool
        Whether the caller gave them.
    grows : bool
        Whether the height of the figure follows from what it shows.
    width : float
        Inches that a text above or below all panels has.
    panel_width : float
        Inches that the title of a panel has.
    across : int
        Panels side by side.
    least : float
        Inches of height that the figure needs, so that no texts are drawn over each other.
    """

    figure: Any
    axes: list[Any]
    given: bool
    grows: bool
    width: float
    panel_width: float
    across: int
    least: float

    def set_heights(self, height: float, least: float) -> None:
        """Inches of each panel of a grid, if the caller does not give the height, and inches that each one needs."""
        down = -(-len(self.axes) // self.across)
        self.least = down * least
        if self.grows:
            self.figure.set_figheight(_height_of(down, height))

    def grow(self, lines: int, size: str = SMALL) -> None:
        """Add the height of some lines of text to the figure."""
        self.least += lines * line_height(size)
        if self.grows:
            self.figure.set_figheight(self.figure.get_figheight() + lines * line_height(size))

    def drawn(self) -> Any:
        """The figure, to which nothing is added any more.

        Warns
        -----
        UserWarning
            If the caller gave a height that is too small.
        """
        width, height = self.figure.get_size_inches()
        if self.grows:
            self.figure.set_figheight(max(height, self.least))
        elif not self.given and height < self.least:
            least = math.ceil(10 * self.least) / 10
            warn(
                f"a figure {width:g} inches wide and {height:g} inches high is too small for its texts: give "
                f"figsize=({width:g}, {least:g}), or ({width:g}, None) for a height that follows from what the figure "
                "shows, or show less",
                UserWarning,
            )
        return self.figure

    def title(self, text: str) -> None:
        """Title of the figure, or of the only panel in the caller's figure."""
        from bayesnb.pictures.picture import rcParams

        if not self.given:
            wrapped = wrap_to(text, self.width, TITLE, rcParams["figure.titleweight"])
            self.figure.suptitle(wrapped, fontsize=TITLE)
            self.grow(line_number(wrapped), TITLE)
        elif len(self.axes) == 1:
            self.heads([text])

    def heads(self, texts: Sequence[str], *, loc: str = "center") -> None:
        """Titles of the panels."""
        from bayesnb.pictures.picture import rcParams

        wrapped = [wrap_to(text, self.panel_width, SMALL, rcParams["axes.titleweight"]) for text in texts]
        for axis, text in zip(self.axes, wrapped, strict=True):
            axis.set_title(text, fontsize=SMALL, loc=loc)
        for start in range(0, len(wrapped), self.across):
            lines = max(map(line_number, wrapped[start : start + self.across]))
            self.grow(max(0, lines - LINES_OF_HEAD))

    def sides(self, left: str, right: str) -> None:
        """What the left and the right of the only panel mean, above it; they replace its title."""
        from bayesnb.pictures.picture import rcParams

        weight = rcParams["axes.titleweight"]
        wrapped = [wrap_to(text, 0.48 * self.panel_width, SMALL, weight) for text in (left, right)]
        self.axes[0].set_title("")
        for text, loc in zip(wrapped, ("left", "right"), strict=True):
            self.axes[0].set_title(text, fontsize=SMALL, loc=loc)
        self.grow(max(map(line_number, wrapped)))

    def x_label(self, text: str) -> None:
        """Label below the only panel, or below all panels of a grid, which then has no legend there."""
        from bayesnb.pictures.picture import rcParams

        alone = self.given or len(self.axes) == 1
        wrapped = wrap_to(text, self.panel_width if alone else self.width, SMALL, rcParams["axes.labelweight"])
        if alone:
            self.axes[-1].set_xlabel(wrapped, fontsize=SMALL)
        else:
            self.figure.supxlabel(wrapped, fontsize=SMALL, fontweight=rcParams["axes.labelweight"])
        self.grow(line_number(wrapped))

    def y_label(self, text: str) -> None:
        """Label beside all panels."""
        from bayesnb.pictures.picture import rcParams

        if self.given:
            self.axes[0].set_ylabel(text, fontsize=SMALL)
        else:
            self.figure.supylabel(text, fontsize=SMALL, fontweight=rcParams["axes.labelweight"])

    def legend(self, entries: Sequence[tuple[Any, str]], inside: int = -1) -> None:
        """Handles with their texts, in as many columns as fit; in the caller's figure within one of the axes."""
        space = self.panel_width if self.given else self.width
        handles, texts = (
            [handle for handle, _ in entries],
            [wrap_to(text, space - _handle(), SMALL) for _, text in entries],
        )
        options: dict[str, Any] = {"fontsize": SMALL, "handlelength": 2.6}
        if self.given:
            self.axes[inside].legend(handles, texts, loc="best", **options)
            return
        columns = len(texts)
        while columns > 1 and _legend_width(texts, columns) > space:
            columns -= 1
        # The entries fill column by column, each column as high as its own texts.
        lines = max(sum(map(line_number, column)) for column in _columns(texts, columns))
        down = -(-len(texts) // columns)
        # matplotlib adds .4 of a letter's height for each entry, and .8 around. Of few entries, other space has it.
        self.grow(lines + (math.ceil((0.8 + 0.4 * down) / LINE) if down > 3 else 0))
        self.figure.legend(handles, texts, loc="outside lower center", ncols=columns, frameon=False, **options)


def _height_of(down: int, height: float) -> float:
    """Inches of a figure of so many rows of panels."""
    return height * down + 0.2


def _handle() -> float:
    """Inches that a legend needs beside the text of an entry."""
    return HANDLE * line_height(SMALL) / LINE


def _columns(texts: list[str], number: int) -> list[list[str]]:
    """The entries of each column of a legend; matplotlib gives the first columns one more where they are not equal."""
    return [part.tolist() for part in np.array_split(np.array(texts, dtype=object), number)]


def _legend_width(texts: list[str], columns: int) -> float:
    return sum(_handle() + max(text_width(text, SMALL) for text in column) for column in _columns(texts, columns))


def grid_of_panels(
    number: int,
    *,
    axes: Any = None,
    figsize: Any = None,
    across: int | None = None,
    most_across: int = 4,
    width: float = 3.2,
    height: float = 2.3,
    narrowest: float = 1.55,
    **options: Any,
) -> Panels:
    """Panels row by row.

    Parameters
    ----------
    number : int
        Panels.
    axes : array or sequence of axes, optional
        The caller's axes.
    figsize : (width, height), optional
        Inches; a height of None follows from what the figure shows.
    across : int, optional
        What the caller gave as ``panels_across``; by default as many as fit the width, and no more than `most_across`.
    width, height : float
        Inches of a panel, if the caller does not give the size of the figure.
    narrowest : float
        Inches of width that a panel needs at least.
    **options
        For ``Figure.subplots``.

    Raises
    ------
    TypeError, ValueError
        If there are more or fewer axes than panels, or axes come with a size or a number of panels side by side.
    """
    from bayesnb.pictures.picture import Picture

    across = None if across is None else min(whole_number("panels_across", across), number)
    if axes is not None:
        _alone("axes", figsize=figsize, panels_across=across)
        return _panels_of(given_axes("axes", axes, number))
    wide, high = (None, None) if figsize is None else size_in_inches(figsize)
    if across is None:
        across = min(most_across, number, most_across if wide is None else max(1, int(wide / narrowest)))
    down = -(-number // across)
    wide = max(width * across, 5.0) if wide is None else wide
    figure = Picture(figsize=(wide, _height_of(down, height) if high is None else high), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False, **options)
    for axis in grid.flat[number:]:
        axis.set_axis_off()
    found = list(grid.flat[:number])
    for axis in found:
        _dress(axis)
    space = wide / across - 2 * MARGIN
    return Panels(figure, found, False, high is None, wide - 2 * MARGIN, space, across, down * LEAST)


def panel_of_rows(
    names: Sequence[Any],
    *,
    ax: Any = None,
    figsize: Any = None,
    row_height: float,
    least: float = 0.0,
    shorten: bool = False,
    width: float = 6.4,
) -> Panels:
    """A panel with a band for each row, the first at the top, and the names of the rows on the left.

    Parameters
    ----------
    names : sequence
        They are wrapped to less than half of the width.
    ax : matplotlib axes, optional
        The caller's axes.
    figsize : (width, height), optional
        Inches; a height of None follows from the rows.
    row_height : float
        Inches of a band, or more where a name needs more lines.
    least : float
        Inches that the texts within a band need.
    shorten : bool
        Whether a line of a name that is too wide loses its middle; otherwise it is wrapped.
    width : float
        Inches of the figure, if the caller does not give its size.

    Raises
    ------
    TypeError, ValueError
        If `ax` is something else, or comes with a size.
    """
    from bayesnb.pictures.picture import Picture

    if ax is not None:
        _alone("ax", figsize=figsize)
        panels = _panels_of(given_axes("ax", ax, 1))
        name_rows(panels.axes[0], _row_names(names, panels.width, shorten=shorten))
        return panels
    wide, high = (width, None) if figsize is None else size_in_inches(figsize)
    texts = _row_names(names, wide, shorten=shorten)
    of_name = max(map(line_number, texts)) * line_height(SMALL)
    band = max(row_height, 0.05 + of_name)
    figure = Picture(figsize=(wide, BELOW + len(texts) * band if high is None else high), layout="constrained")
    axis = figure.subplots()
    _dress(axis)
    name_rows(axis, texts)
    space = wide - max(text_width(text, SMALL) for text in texts) - 0.3
    needed = BELOW + len(texts) * max(least, 0.03 + of_name)
    return Panels(figure, [axis], False, high is None, wide - 2 * MARGIN, space, 1, needed)


def _row_names(names: Sequence[Any], width: float, *, shorten: bool) -> list[str]:
    space = min(2.4, 0.42 * width)
    if shorten:
        return ["\n".join(shorten_to(line, space, SMALL) for line in str(name).split("\n")) for name in names]
    return [wrap_to(name, space, SMALL) for name in names]


def name_rows(axis: Any, names: Sequence[str]) -> None:
    """A band and a name for each row, the first at the top."""
    for row in range(0, len(names), 2):
        axis.axhspan(row - 0.5, row + 0.5, color=text_color(), alpha=0.06, linewidth=0, zorder=0)
    axis.set_yticks(np.arange(len(names)), names, fontsize=SMALL)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")


def _panels_of(axes: list[Any]) -> Panels:
    """The caller's axes as panels."""
    for axis in axes:
        _dress(axis)
    figure = axes[0].get_figure(root=True)
    wide = axes[-1].get_window_extent().width / figure.dpi
    return Panels(figure, axes, True, False, wide, wide, 1, 0.0)


def _dress(axis: Any) -> None:
    axis.tick_params(labelsize=TINY)
    axis.spines[["left", "top", "right"]].set_visible(False)


def _alone(name: str, **others: Any) -> None:
    """Refuse arguments that describe a new figure."""
    for other, value in others.items():
        if value is not None:
            raise ValueError(f"{other} is for a new figure, and {name} for the caller's: leave one of them out")
