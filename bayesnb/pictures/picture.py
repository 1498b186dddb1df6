"""A figure that a notebook shows."""

from io import BytesIO

from matplotlib.figure import Figure

__all__ = ["Picture"]


class Picture(Figure):
    """A matplotlib figure that shows itself as the value of a notebook's cell.

    Jupyter shows other figures only after pyplot is imported. This package does not import it, because pyplot keeps
    every figure in memory and may open a window on the screen.
    """

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()
