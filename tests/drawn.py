"""What a figure looks like when it is drawn: texts that touch or leave it, and colours that vanish."""

from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.text import Text


def result(kind: type, **attributes: Any) -> Any:
    """A result that holds only what its figure reads."""
    made = object.__new__(kind)
    vars(made).update(attributes)
    return made


def collisions(figure: Any) -> list[tuple[str, ...]]:
    """Texts of a figure that leave the page, and pairs of texts that touch."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    boxes = [(text.get_text(), Text.get_window_extent(text, renderer)) for text in _texts(figure)]
    page = figure.bbox.padded(1)
    found: list[tuple[str, ...]] = [(text,) for text, box in boxes if not _within(box, page)]
    for i, (text, box) in enumerate(boxes):
        found += [(text, other) for other, place in boxes[:i] if box.padded(-0.5).overlaps(place)]
    return found


def _texts(figure: Any) -> list[Any]:
    """Texts that are drawn."""
    undrawn = _undrawn(figure)
    texts = {id(text): text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()}
    return [text for label, text in texts.items() if label not in undrawn]


def _within(box: Any, page: Any) -> bool:
    return page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1


def _undrawn(figure: Any) -> set[int]:
    """Labels of ticks beyond the ends of an axis, which exist and are not drawn."""
    found = set()
    for axes in figure.axes:
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            for tick in axis.get_major_ticks():
                if not axes.axison or not min(limits) <= tick.get_loc() <= max(limits):
                    found |= {id(tick.label1), id(tick.label2)}
    return found


def faint(figure: Any, least: float = 0.2) -> list[str]:
    """Texts, lines and edges whose colour is nearly that of what is behind them.

    The distance of two colours is the largest of the three differences of red, green and blue.
    """
    if figure.stale:
        figure.draw_without_rendering()
    behind = [to_rgb(figure.get_facecolor()), *(to_rgb(axis.get_facecolor()) for axis in figure.axes)]
    colors = [(f"text {text.get_text()!r}", text.get_color()) for text in _texts(figure)]
    for axis in figure.axes:
        colors += [(f"line {line}", line.get_color()) for line in axis.lines if line.get_linestyle() != "None"]
        colors += [(f"marker {line}", line.get_markeredgecolor()) for line in axis.lines if line.get_marker() != "None"]
        for collection in axis.collections:
            colors += [(f"collection {collection}", color) for color in collection.get_edgecolors()]
    return [what for what, color in colors if to_rgba(color)[3] > 0 and _distance(color, behind) < least]


def _distance(color: Any, behind: list[Any]) -> float:
    return min(float(np.abs(np.subtract(to_rgb(color), each)).max()) for each in behind)


def intervals(axis: Any) -> np.ndarray:
    """Ends of the intervals of a forest, shape (rows, 2): they are one line with a gap after each row."""
    (line,) = (line for line in axis.lines if len(line.get_xdata()) > 2 and np.isnan(line.get_xdata()[2]))
    ends, rows = (values.reshape(-1, 3) for values in line.get_data())
    assert np.isnan(ends[:, 2]).all()
    assert (rows == np.arange(len(rows))[:, None]).all()
    return ends[:, :2]
