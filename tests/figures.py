"""What a figure says, as data: texts, limits, places, colours and markers, without sizes of letters and lines."""

from typing import Any

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.legend import Legend

__all__ = ["described"]

FEW = 12
"""Points of a long line that are kept, evenly spaced."""


def described(figure: Any) -> dict[str, Any]:
    """Everything that a figure shows, of lists, texts and numbers alone."""
    return {
        "size": _numbers(figure.get_size_inches()),
        "texts": [figure.get_suptitle(), figure.get_supxlabel(), figure.get_supylabel()],
        "legends": [_legend(legend) for legend in figure.legends],
        "panels": [_panel(axis) for axis in figure.axes],
    }


def _panel(axis: Any) -> dict[str, Any]:
    if not axis.axison:
        return {}
    found = {
        "texts": [axis.get_title(), axis.get_xlabel(), axis.get_ylabel()],
        "limits": [_numbers(axis.get_xlim()), _numbers(axis.get_ylim())],
        "ticks": [_ticks(axis.xaxis), _ticks(axis.yaxis)],
        "spines": [side for side, spine in axis.spines.items() if spine.get_visible()],
        "lines": [_line(line) for line in axis.lines],
        "collections": [_collection(found) for found in axis.collections],
        "patches": [_patch(patch) for patch in axis.patches],
        "notes": [
            [text.get_text(), _numbers(text.get_position()), text.get_ha(), text.get_va()] for text in axis.texts
        ],
        "legend": [_legend(axis.get_legend())] if axis.get_legend() else [],
    }
    return {name: value for name, value in found.items() if value}


def _ticks(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def _legend(legend: Legend) -> list[Any]:
    texts = [text.get_text() for text in legend.get_texts()]
    handles = [_line(handle) if hasattr(handle, "get_xdata") else [] for handle in legend.legend_handles]
    return [legend.get_title().get_text(), *map(list, zip(texts, handles, strict=True))]


def _line(line: Any) -> list[Any]:
    look = [to_hex(line.get_color()), str(line.get_linestyle()), str(line.get_marker())]
    return [*look, to_hex(line.get_markerfacecolor()), _long(line.get_xydata())]


def _collection(collection: Any) -> list[Any]:
    places = [_long(path.vertices) for path in collection.get_paths()]
    colours = [sorted({to_hex(c) for c in found()}) for found in (collection.get_facecolor, collection.get_edgecolor)]
    return [type(collection).__name__, colours, places[:3], _long(np.asarray(collection.get_offsets()))]


def _patch(patch: Any) -> list[Any]:
    look = [to_hex(patch.get_facecolor()), to_hex(patch.get_edgecolor()), str(patch.get_linestyle()), patch.get_hatch()]
    return [*look, _long(patch.get_patch_transform().transform_path(patch.get_path()).vertices)]


def _long(points: Any) -> list[Any]:
    points = np.asarray(points, dtype=float)
    chosen = np.unique(np.linspace(0, len(points) - 1, FEW).round().astype(int)) if len(points) else []
    return [len(points), [_numbers(points[i]) for i in chosen]]


def _numbers(values: Any) -> list[float]:
    return [float(f"{value:.5g}") for value in np.asarray(values, dtype=float)]
