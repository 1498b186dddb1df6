"""Layout that several figures share: panels in a grid, a band for each row, and text that does not overlap."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np

from bayesnb.tables.read import as_table
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


def require_result(given: Any, kind: type, name: str, call: str) -> None:
    """Refuse what lacks the attributes of a result that a figure draws.

    Parameters
    ----------
    given : object
    kind : type
        A protocol that can be checked at run time.
    name : str
        What errors call it.
    call : str
        The call that returns such a result.

    Raises
    ------
    TypeError
    """
    if not isinstance(given, kind):
        raise TypeError(f"{name} is a {type(given).__name__}: give what {call} returns")


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


def names_of_rows(labels: Sequence[Any] | None, shown: int, rows: int) -> list[str]:
    """Text beside each row that is shown: its label, or its position if there are no labels.

    Raises
    ------
    ValueError
        If there is not one label for each row of the table.
    """
    if labels is None:
        return [str(row) for row in range(shown)]
    names = list(labels)
    if isinstance(labels, str) or len(names) != rows:
        raise ValueError(f"labels has {len(names)} entries, X has {rows} rows: give one label for each row")
    return [wrap(name, 30) for name in names[:shown]]


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
