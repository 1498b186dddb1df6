"""Sizes of letters, colours, markers, line styles and hatches that figures share.

Sizes are relative to the caller's ``rcParams["font.size"]``, and colours come from the caller's style, so that figures
follow ``plt.style.context``. No colour carries a meaning alone: a marker, a line style or a hatch differs too.
"""

from typing import Any

__all__ = ["HATCHES", "LINES", "MARKERS", "SMALL", "TINY", "TITLE", "background", "muted", "text_color"]

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
    """Colour of letters, of strokes at zero and of other lines that no class owns."""
    from bayesnb.pictures.picture import rcParams

    return rcParams["text.color"]


def background() -> tuple[float, float, float]:
    """Colour behind a panel, which fills open markers."""
    from bayesnb.pictures.picture import rcParams, to_rgb, to_rgba

    opaque = (rcParams[name] for name in ("axes.facecolor", "figure.facecolor") if to_rgba(rcParams[name])[3] > 0)
    return to_rgb(next(opaque, "white"))


def muted(strength: float) -> tuple[float, float, float]:
    """A colour between the background (0) and the letters (1), which can be seen on light and dark."""
    from bayesnb.pictures.picture import to_rgb

    red, green, blue = (
        (1 - strength) * behind + strength * front
        for behind, front in zip(background(), to_rgb(text_color()), strict=True)
    )
    return red, green, blue
