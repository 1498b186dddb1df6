"""Layout that several figures share: panels in a grid, a band for each row, and text that does not overlap."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np

from bayesnb.pictures.choices import require_result
from bayesnb.pictures.rows import first_rows, names_of_rows
from bayesnb.pictures.style import LINES, MARKERS
from bayesnb.validate import whole_number

__all__ = [
    "LINES",
    "MARKERS",
    "first_rows",
    "legend",
    "make_room",
    "names_of_rows",
    "panel_grid",
    "require_result",
    "row_axis",
    "text_width",
    "wrap",
]


def wrap(text: Any, width: int) -> str:
    """Text in lines of at most `width` characters; a dollar sign does not start a formula."""
    return fill(str(text), width).replace("$", r"\$")


def text_width(text: str, size: float) -> float:
    """Width of a text in inches."""
    from bayesnb.pictures.picture import TextPath

    return max(float(TextPath((0, 0), line or " ", size=size).get_extents().width) for line in text.split("\n")) / 72


def panel_grid(number: int, across: int, *, width: float = 3.2, height: float = 2.3) -> tuple[Any, list[Any]]:
    """A figure and its axes, row by row."""
    from bayesnb.pictures.picture import Picture

    across = min(whole_number("columns", across), number)
    down = -(-number // across)
    figure = Picture(figsize=(max(width * across, 5.0), 0.6 + height * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False)
    for axis in axes.flat[number:]:
        axis.set_axis_off()
    for axis in axes.flat[:number]:
        axis.tick_params(labelsize=7)
        axis.spines[["left", "top", "right"]].set_visible(False)
    return figure, list(axes.flat[:number])


def row_axis(names: Sequence[str], *, row_height: float, width: float) -> tuple[Any, Any]:
    """A figure and an axis with a band for each row, the first at the top."""
    from bayesnb.pictures.picture import Picture

    lines = max(name.count("\n") + 1 for name in names)
    height = 0.4 + len(names) * max(row_height, 0.05 + 0.15 * lines)
    figure = Picture(figsize=(width, height), layout="constrained")
    axis = figure.subplots()
    for row in range(0, len(names), 2):
        axis.axhspan(row - 0.5, row + 0.5, color="0.5", alpha=0.1, linewidth=0, zorder=0)  # on light and dark
    axis.set_yticks(np.arange(len(names)), names, fontsize=8)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    axis.spines[["left", "top", "right"]].set_visible(False)
    return figure, axis


def make_room(figure: Any, *texts: str) -> None:
    """Grow a figure by the height of texts above and below its panels."""
    lines = sum(text.count("\n") + 1 for text in texts)
    figure.set_figheight(figure.get_figheight() + 0.17 * lines)


def legend(figure: Any, entries: Sequence[tuple[Any, str]]) -> None:
    """A legend below the figure, in as many columns as fit."""
    texts = [wrap(text, 40) for _, text in entries]
    widest = max(text_width(text, 8) for text in texts) + 0.55
    columns = min(len(texts), max(1, int((figure.get_figwidth() - 0.3) / widest)))
    handles = [handle for handle, _ in entries]
    # The entries fill column by column, each column as high as its own texts.
    down = -(-len(texts) // columns)
    make_room(
        figure, max(("\n".join(texts[i : i + down]) for i in range(0, len(texts), down)), key=lambda t: t.count("\n"))
    )
    figure.legend(
        handles, texts, loc="outside lower center", ncols=columns, fontsize=8, frameon=False, handlelength=2.6
    )
