"""Panels, and the texts around them."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.core.checking import a_type, is_one_of, listed, near_matches, whole_number
from bayesnb.core.deferred import picture
from bayesnb.core.printing import counted, short_name

# --------------------------------------------------------------------------------------------------
# Checks of a figure's arguments: classes, features, order, axes and size
# --------------------------------------------------------------------------------------------------


def chosen(name: str, given: Any, known: Sequence[Any], *, most: int | None = None) -> list[int]:
    """Positions, among `known`, of the classes or features that a figure shows, in the order given.

    `name` is the argument, "classes" or "features", and `most` the largest number that can be shown.

    Raises
    ------
    ValueError
        If there is none, one is unknown or named twice, or there are too many.
    """
    labels = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    known = list(known)
    unknown = [label for label in labels if not is_one_of(label, known)]
    if unknown or not labels:
        near = near_matches(unknown[0], known) if unknown else ""
        raise ValueError(f"{name} is {labels}: name one or more of [{listed(known)}]{near}")
    positions = [known.index(label) for label in labels]
    if len(set(positions)) < len(positions):
        twice = next(label for k, label in enumerate(labels) if known.index(label) in positions[:k])
        raise ValueError(f"{name} names {twice!r} twice: name each once")
    if most is not None and len(positions) > most:
        raise ValueError(f"{name} has {len(positions)} entries, more than the eye tells apart: name up to {most}")
    return positions


def yes_or_no(name: str, given: Any) -> bool:
    """True or False.

    Raises
    ------
    ValueError
        If it is neither.
    """
    if not is_one_of(given, (True, False)):
        raise ValueError(f"{name} is {given!r}: give True or False")
    return bool(given)


def _size_in_inches(figsize: Any) -> tuple[float, float | None]:
    """Width and height of a figure; the height is None if it follows from what the figure shows."""
    try:
        width, height = figsize
        if 0 < width < float("inf") and (height is None or 0 < height < float("inf")):
            return float(width), None if height is None else float(height)
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"figsize is {figsize!r}: give width and height in inches, such as (3.35, 4), or (3.35, None) for a height "
        "that follows from what the figure shows"
    )


# --------------------------------------------------------------------------------------------------
# Text of a given width in inches
# --------------------------------------------------------------------------------------------------

LINE = 1.25
"""Height of a line, in sizes of its letters."""

MOST_LETTERS = 500
"""A longer line, in letters, loses its middle before it is measured."""

THIN = 1.0
"""Least width of a letter, in points: a text that cannot fit even so is not measured."""

PARTS = re.compile(r"\[?[^\s_/\[-]*(?:[_/-]+|\s+|(?=\[)|$)")
"""Words, and parts of words, with the space behind them.

A part ends behind an underscore, a slash or a hyphen, or before a bracket, as in "height_mean[oak]".
"""


def line_height(size: str) -> float:
    """Height of a line of text, in inches; sizes are matplotlib's, such as "small"."""
    return LINE * picture.FontProperties(size=size).get_size_in_points() / 72


def _line_number(text: str) -> int:
    """Lines of a text; none if it is empty."""
    return text.count("\n") + 1 if text else 0


def text_width(text: str, size: str, weight: Any = "normal") -> float:
    """Width of a text in inches, that of its longest line; a dollar sign has a backslash, as `wrap_to` gives it."""
    # The font states how wide its letters are. TextPath also traces their outlines, and takes 20 times as long.
    font = picture.FontProperties(size=size, weight=weight)
    lines = (line.replace(r"\$", "$") for line in text.split("\n"))
    points = [picture.TextToPath().get_text_width_height_descent(line, font, ismath=False)[0] for line in lines]
    return max(points) / 72


def wrap_to(text: Any, width: float, size: str, weight: Any = "normal") -> str:
    """Text in lines of at most `width` inches; a dollar sign does not start a formula.

    Lines end at spaces, underscores, slashes and hyphens, and before brackets. A word that is longer than a line is
    divided. A line of more than `MOST_LETTERS` loses its middle.
    """
    lines = (short_name(line, MOST_LETTERS).replace("$", r"\$") for line in str(text).split("\n"))
    return "\n".join(_wrap_line(line, width, size, weight) for line in lines)


def _wrap_line(line: str, width: float, size: str, weight: Any) -> str:
    def fits(text: str) -> bool:
        return len(text) <= 72 * width / THIN and text_width(text.rstrip(), size, weight) <= width

    if fits(line):
        return line
    lines = [""]
    for part in PARTS.findall(line):
        if lines[-1] and not fits(lines[-1] + part):
            lines.append("")
        rest = part
        while not fits(lines[-1] + rest):
            # The longest prefix that fits, and at least one letter.
            prefixes = [rest[:number] for number in range(2, len(rest))]
            kept = 1 + bisect_left(prefixes, True, key=lambda text: not fits(text))
            lines[-1:] = [rest[:kept], ""]
            rest = rest[kept:]
        lines[-1] += rest
    return "\n".join(text.rstrip() for text in lines if text.strip())


PROB = 0.89
"""Probability of the intervals that results show, the default of all intervals of the package."""


def percent(prob: float) -> str:
    """A probability as "89 %"."""
    return f"{100 * prob:.4g} %"


# --------------------------------------------------------------------------------------------------
# Sizes of letters, colours, markers, line styles and hatches that figures share.
#
# Sizes are relative to the caller's ``rcParams["font.size"]``, and colours come from the caller's style, so that
# figures follow ``plt.style.context``. No colour carries a meaning alone: a marker, a line style or a hatch differs
# too.
# --------------------------------------------------------------------------------------------------

TITLE = "medium"
"""Size of a figure's title."""

SMALL = "small"
"""Size of the labels of axes, the titles of panels, the names of rows, and the legend."""

TINY = "x-small"
"""Size of numbers along an axis."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""Markers that differ without colour."""

LINES: tuple[Any, ...] = (
    "-",
    "--",
    "-.",
    ":",
    (0, (6, 1, 1, 1, 1, 1)),
    (0, (8, 3)),
    (0, (1, 3)),
    (0, (4, 1, 4, 1, 1, 1)),
)
"""Line styles that differ without colour."""

HATCHES = ("", "///", "\\\\\\", "...", "xxx", "---", "|||", "+++")
"""Hatches that differ without colour."""


def text_color() -> Any:
    """Colour of letters and of lines that belong to no class."""
    return picture.rcParams["text.color"]


def background() -> tuple[float, float, float]:
    """Colour behind a panel, which fills open markers."""
    colors = (picture.rcParams[name] for name in ("axes.facecolor", "figure.facecolor"))
    return picture.to_rgb(next((color for color in colors if picture.to_rgba(color)[3] > 0), "white"))


def blended(strength: Any, color: Any) -> np.ndarray:
    """The colour between the background (0) and another one (1)."""
    return (1 - strength) * np.array(background()) + strength * np.array(picture.to_rgb(color))


def muted(strength: float) -> Any:
    """A colour between the background (0) and the letters (1), visible in light and dark styles."""
    return tuple(blended(strength, text_color()).tolist())


# --------------------------------------------------------------------------------------------------
# Panels of a figure: those of a new figure, or axes that the caller gives
# --------------------------------------------------------------------------------------------------

MARGIN = 0.1
"""Space on either side of a text, in inches."""

HANDLE = 5.8
"""Width of a legend's handle and the space around it, in letter heights."""

TICK = 0.4
"""Space that a number along an axis needs, in inches."""

HEIGHT = 1.55
"""Height of a panel of a grid, in inches, without texts."""

WIDTH = 6.4
"""Width of a figure of one panel of rows, in inches."""

TALL = 40.0
"""Provisional height of a figure, in inches, while the texts around its panels are measured."""


@dataclass
class Panels:
    """The panels of a figure, and the texts around them.

    A new figure has its title at the top and its legend at the bottom. If its height is not given, it grows with these
    texts. In axes that the caller gives, nothing outside them
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
    height : float
        Inches of the panels below each other, without the texts around them, if the height of the figure is not given.
    """

    figure: Any
    axes: list[Any]
    given: bool
    grows: bool
    width: float
    panel_width: float
    across: int
    height: float

    def set_height(self, height: float) -> None:
        """Inches of each panel of a grid, without the texts around it."""
        self.height = -(-len(self.axes) // self.across) * height

    def drawn(self) -> Any:
        """The finished figure; if its height is not given, it follows from the layout."""
        if self.grows:
            self.figure.draw_without_rendering()
            around = TALL * (1 - sum(axis.get_position().height for axis in self.axes[:: self.across]))
            self.figure.set_figheight(around + self.height)
        return self.figure

    def title(self, text: str) -> None:
        """Title of the figure, or of the only panel in the caller's figure."""
        if not self.given:
            weight = picture.rcParams["figure.titleweight"]
            self.figure.suptitle(wrap_to(text, self.width, TITLE, weight), fontsize=TITLE)
        elif len(self.axes) == 1:
            self.heads([text])

    def heads(self, texts: Sequence[str]) -> None:
        """Titles of the panels."""
        for axis, text in zip(self.axes, texts, strict=True):
            _set_head(axis, text, self.panel_width, "center")

    def sides(self, left: str, right: str) -> None:
        """Above the only panel, in place of its title, what left and right mean."""
        self.axes[0].set_title("")
        for text, loc in ((left, "left"), (right, "right")):
            _set_head(self.axes[0], text, 0.48 * self.panel_width, loc)

    def x_label(self, text: str) -> None:
        """Label below the only panel, or below all panels of a grid, which then has no legend there."""
        alone, weight = self.given or len(self.axes) == 1, picture.rcParams["axes.labelweight"]
        wrapped = wrap_to(text, self.panel_width if alone else self.width, SMALL, weight)
        if alone:
            self.axes[-1].set_xlabel(wrapped, fontsize=SMALL)
        else:
            self.figure.supxlabel(wrapped, fontsize=SMALL, fontweight=weight)

    def y_label(self, text: str) -> None:
        """Label beside all panels."""
        if self.given:
            self.axes[0].set_ylabel(text, fontsize=SMALL)
        else:
            self.figure.supylabel(text, fontsize=SMALL, fontweight=picture.rcParams["axes.labelweight"])

    def legend(self, entries: Sequence[tuple[Any, str]], inside: int = -1) -> None:
        """A legend in as many columns as fit; in the caller's figure it is inside one of the axes."""
        space = self.panel_width if self.given else self.width
        handles = [handle for handle, _ in entries]
        texts = [wrap_to(text, space - _handle(), SMALL) for _, text in entries]
        options: dict[str, Any] = {"fontsize": SMALL, "handlelength": 2.6}
        if self.given:
            self.axes[inside].legend(handles, texts, loc="best", **options)
            return
        columns = len(texts)
        while columns > 1 and _legend_width(texts, columns) > space:
            columns -= 1
        self.figure.legend(handles, texts, loc="outside lower center", ncols=columns, frameon=False, **options)


def _set_head(axis: Any, text: str, width: float, loc: Any) -> None:
    wrapped = wrap_to(text, width, SMALL, picture.rcParams["axes.titleweight"])
    axis.set_title(wrapped, fontsize=SMALL, loc=loc)


def _handle() -> float:
    """Width of a legend entry without its text, in inches."""
    return HANDLE * line_height(SMALL) / LINE


def _legend_width(texts: list[str], columns: int) -> float:
    """Width of a legend, in inches; matplotlib makes the first columns longer if they differ."""
    parts = np.array_split(np.array(texts, dtype=object), columns)
    return sum(_handle() + max(text_width(text, SMALL) for text in part) for part in parts)


def _given_panels(name: str, given: Any, number: int, **others: Any) -> Panels:
    """The axes of the caller's figure as panels; `others` are arguments that describe a new figure.

    Raises
    ------
    TypeError
        If `given` is something else.
    ValueError
        If there are more or fewer axes than panels, or one of the other arguments is given, too.
    """
    for other_name, value in others.items():
        if value is not None:
            raise ValueError(f"{other_name} is for a new figure, and {name} for the caller's: leave one of them out")
    found = _flat_entries(given)
    other = next((each for each in found if not isinstance(each, picture.Axes)), None)
    if other is not None or not found or (name == "ax" and not isinstance(given, picture.Axes)):
        what = "one of matplotlib's Axes" if name == "ax" else "matplotlib's Axes, one for each panel"
        wrong = a_type(given if other is None else other)
        raise TypeError(f"{name} is or holds {wrong}: give {what}, as figure.subplots() makes them")
    if len(found) != number:
        raise ValueError(
            f"{name} has {len(found)} axes, and the figure has {counted(number, 'panel')}: give {number} "
            "axes, or choose other panels"
        )
    figure = found[0].get_figure(root=True)
    wide = found[-1].get_window_extent().width / figure.dpi
    return Panels(figure, _dressed(found), True, False, wide, wide, 1, 0.0)


def _flat_entries(given: Any) -> list[Any]:
    """The entries of an array, or of sequences within sequences."""
    if hasattr(given, "flat"):
        return list(given.flat)
    if isinstance(given, list | tuple):
        return [each for inner in given for each in _flat_entries(inner)]
    return [given]


def grid_of_panels(
    number: int,
    *,
    ax: Any = None,
    axes: Any = None,
    figsize: Any = None,
    panels_across: int | None = None,
    across: int | None = None,
    most_across: int = 4,
    width: float = 3.2,
    narrowest: float = 1.55,
    **options: Any,
) -> Panels:
    """Panels row by row.

    Parameters
    ----------
    number : int
        Panels.
    ax, axes, figsize, panels_across
        What the caller gave: see `plot_densities`, and `plot_proba` for the `ax` of one panel.
    across : int, optional
        Panels side by side in a new figure if the caller has no choice; by default as many as fit the width, and no
        more than `most_across`.
    width : float
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
    if panels_across is not None:
        across = min(whole_number("panels_across", panels_across), number)
    if ax is not None:
        return _given_panels("ax", ax, number, figsize=figsize)
    if axes is not None:
        return _given_panels("axes", axes, number, figsize=figsize, panels_across=panels_across)
    wide, high = (None, None) if figsize is None else _size_in_inches(figsize)
    if across is None:
        across = min(most_across, number, most_across if wide is None else max(1, int(wide / narrowest)))
    down = -(-number // across)
    wide = max(width * across, 5.0) if wide is None else wide
    figure = picture.Picture(figsize=(wide, high or TALL), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False, **options)
    for axis in grid.flat[number:]:
        axis.set_axis_off()
    space = wide / across - 2 * MARGIN
    found = _dressed(list(grid.flat[:number]))
    return Panels(figure, found, False, high is None, wide - 2 * MARGIN, space, across, down * HEIGHT)


def panel_of_rows(names: Sequence[Any], *, ax: Any = None, figsize: Any = None, row_height: float) -> Panels:
    """A panel with a band for each row, the first at the top, and the names of the rows on the left.

    Parameters
    ----------
    names : sequence
        They are wrapped to less than half of the width.
    ax, figsize
        What the caller gave: see `plot_proba`.
    row_height : float
        Inches of a band, or more where a name needs more lines.

    Raises
    ------
    TypeError, ValueError
        If `ax` is something else, or comes with a size.
    """
    if ax is not None:
        panels = _given_panels("ax", ax, 1, figsize=figsize)
        name_rows(panels.axes[0], _row_names(names, panels.width))
        return panels
    wide, high = (WIDTH, None) if figsize is None else _size_in_inches(figsize)
    texts = _row_names(names, wide)
    figure = picture.Picture(figsize=(wide, high or TALL), layout="constrained")
    axes = _dressed([figure.subplots()])
    name_rows(axes[0], texts)
    space = wide - max(text_width(text, SMALL) for text in texts) - 0.3
    return Panels(figure, axes, False, high is None, wide - 2 * MARGIN, space, 1, height_of_rows(texts, row_height))


def height_of_rows(names: Sequence[str], row_height: float) -> float:
    """Inches of bands, each of `row_height`, or as many as the name with the most lines needs."""
    return len(names) * max(row_height, 0.05 + max(map(_line_number, names)) * line_height(SMALL))


def _row_names(names: Sequence[Any], width: float) -> list[str]:
    return [wrap_to(name, min(2.4, 0.42 * width), SMALL) for name in names]


def name_rows(axis: Any, names: Sequence[str]) -> None:
    """A band and a name for each row, the first at the top."""
    for row in range(0, len(names), 2):
        axis.axhspan(row - 0.5, row + 0.5, color=text_color(), alpha=0.06, linewidth=0, zorder=0)
    axis.set_yticks(np.arange(len(names)), names, fontsize=SMALL)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")


def number_x_axis(axis: Any, ticks: int, *, powers: tuple[int, int] = (-3, 4), **options: Any) -> None:
    """A few short numbers below a panel, at most `ticks`, and none beside it; `options` are for the axis's locator.

    Numbers are written out between the two powers of ten.
    """
    axis.set_yticks([])
    axis.xaxis.get_major_locator().set_params(nbins=ticks, **options)
    axis.ticklabel_format(axis="x", useOffset=False, scilimits=powers)
    axis.xaxis.get_offset_text().set_fontsize(TINY)


def limit_ticks(axis: Any, width: float) -> None:
    """At most nine numbers below a panel of a width in inches, and no more than fit."""
    axis.xaxis.get_major_locator().set_params(nbins=min(9, max(2, int(width / TICK))))


def number_of_names(width: float) -> int:
    """Names of columns that fit a panel of a width in inches if they are upright."""
    return max(2, int(width * LINE / line_height(TINY)))


def name_columns(axis: Any, names: Sequence[str], width: float) -> None:
    """Names below a panel of a width in inches, upright where they do not fit side by side."""
    upright = max(text_width(name, TINY) for name in names) > 0.9 * width / len(names)
    axis.set_xticks(np.arange(len(names)), names, rotation=90 if upright else 0, fontsize=TINY)
    axis.set_xlim(-0.5, len(names) - 0.5)


def _dressed(axes: list[Any]) -> list[Any]:
    for axis in axes:
        axis.tick_params(labelsize=TINY)
        axis.spines[["left", "top", "right"]].set_visible(False)
    return axes
