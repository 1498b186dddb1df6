"""A figure that a notebook shows, and the parts of matplotlib that figures are made of."""

from io import BytesIO

__all__ = ["Axes", "FontProperties", "Line2D", "Patch", "Picture", "TextToPath", "rcParams", "to_rgb", "to_rgba"]

try:
    from matplotlib import rcParams
    from matplotlib.axes import Axes
    from matplotlib.colors import to_rgb, to_rgba
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.textpath import TextToPath
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("figures need matplotlib: pip install 'bayesnb[plots]'", name=error.name) from error


class Picture(Figure):
    """A matplotlib figure that shows itself as the value of a notebook's cell.

    Jupyter shows other figures only after pyplot is imported. This package makes no figure with pyplot, which keeps
    every figure in memory and may open a window on the screen.
    """

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()
