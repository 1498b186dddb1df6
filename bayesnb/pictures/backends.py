"""The libraries that draw forests: matplotlib, and with the functions of arviz-plots Bokeh and Plotly.

arviz-plots has the same drawing functions for each library, its backends. What they do not have in common is here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from bayesnb.pictures.style import background, muted, text_color

__all__ = ["Backend", "backend_named"]

DOTS = 100
"""Dots of an inch, for the libraries that measure figures in dots."""


@dataclass(frozen=True)
class Backend:
    """A library that draws.

    Attributes
    ----------
    name : str
        That of arviz-plots.
    size : float
        Size of a mark.
    markers : mapping
        By marker of matplotlib, the arguments that give it.
    label : str
        The argument that puts a mark into the legend.
    label_too : mapping
        Arguments beside it.
    newline : str
        What begins a line in the name of a row.
    spacing : mapping
        Arguments that keep panels side by side apart.
    """

    name: str
    size: float
    markers: Mapping[str, Mapping[str, Any]]
    label: str = "label"
    label_too: Mapping[str, Any] = field(default_factory=dict)
    newline: str = "\n"
    spacing: Mapping[str, Any] = field(default_factory=dict)

    @property
    def draw(self) -> Any:
        """The module of arviz-plots that draws.

        Raises
        ------
        ModuleNotFoundError
            If a package that it needs is not installed.
        """
        try:
            return import_module(f"arviz_plots.backend.{self.name}")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"backend={self.name!r} needs the package {error.name}: pip install 'arviz-plots[{self.name}]'",
                name=error.name,
            ) from error

    def color(self, name: str) -> Any:
        """The colour of an alias of arviz-plots."""
        return house_color(name) if self.name == "matplotlib" else name

    def in_legend(self, label: str) -> dict[str, Any]:
        """Arguments that put a mark into the legend; none without a label."""
        return {self.label: label, **self.label_too} if label else {}

    def name_rows(self, plot: Any, names: Sequence[str]) -> None:
        """A band and a name for each row, the first at the top."""
        for row in range(0, len(names), 2):
            self.draw.hspan(row - 0.5, row + 0.5, plot, color=self.color("B3"), alpha=0.12)
        self.draw.yticks(np.arange(len(names)), [name.replace("\n", self.newline) for name in names], plot)
        self.draw.ylim((len(names) - 0.5, -0.5), plot)

    def panels(self, number: int, across: int, figsize: tuple[float, float]) -> tuple[Any, list[Any]]:
        """A figure of this size in inches, and its panels row by row."""
        figure, plots = self.draw.create_plotting_grid(
            number,
            -(-number // across),
            across,
            figsize=(DOTS * figsize[0], DOTS * figsize[1]),
            figsize_units="dots",
            squeeze=False,
            **(self.spacing if across > 1 else {}),
        )
        return figure, list(plots.flat[:number])

    def collection(self, figure: Any, plots: Sequence[Any], title: str) -> Any:
        """The figure with its title, as arviz-plots returns its own: an `arviz_plots.PlotCollection`."""
        import xarray as xr
        from arviz_plots import PlotCollection

        bokeh = self.name == "bokeh"
        if title:
            as_text = {"render_as_text": True} if bokeh else {}
            figure, _ = self.draw.set_figure_title(figure, title.replace("\n", " "), **as_text)
        if self.name == "plotly":
            figure.update_layout(legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0})
        for plot in plots if bokeh else ():
            for found in plot.legend:
                plot.add_layout(found, "below")
        whole, parts = np.empty((), dtype=object), np.empty(len(plots), dtype=object)
        whole[()], parts[:] = figure, list(plots)
        tree = xr.DataTree(xr.Dataset({"figure": whole, "plot": ("panel", parts)}))
        return PlotCollection(xr.Dataset(), tree, backend=self.name)


MATPLOTLIB = ("o", "s", "^", "D", "v", "P", "X", "*", "|", "<", ">")
BOKEH = ("circle", "square", "triangle", "diamond", "inverted_triangle", "plus", "x", "star", "|")
PLOTLY = (
    *("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star", "|"),
    *("triangle-left", "triangle-right"),
)
SAME = {each: {"marker": each} for each in MATPLOTLIB}

BACKENDS = (
    Backend("matplotlib", size=28.0, markers=SAME),
    Backend(
        "bokeh",
        size=8.0,
        markers={own: {"marker": name} for own, name in zip(MATPLOTLIB, BOKEH, strict=False)}
        | {end: {"marker": "triangle", "angle": turn * np.pi / 2} for end, turn in (("<", 1), (">", -1))},
        label="legend_label",
    ),
    Backend(
        "plotly",
        size=64.0,
        markers={own: {"marker": name} for own, name in zip(MATPLOTLIB, PLOTLY, strict=True)},
        label="name",
        label_too={"showlegend": True},
        newline="<br>",
        spacing={"plot_hspace": 0.2},
    ),
    Backend("none", size=28.0, markers=SAME),
)
"""The last one draws nothing. Its figure holds what would be drawn."""


def house_color(name: str) -> Any:
    """For matplotlib, the colour of an alias in the style that is in use."""
    if not name.startswith("B"):
        return name
    return {"B0": background(), "B1": text_color(), "B2": muted(0.7), "B3": muted(0.4)}[name]


def backend_named(name: str) -> Backend:
    """The backend of a name.

    Parameters
    ----------
    name : str

    Returns
    -------
    Backend

    Raises
    ------
    ValueError
        If there is none.
    """
    for backend in BACKENDS:
        if backend.name == name:
            return backend
    raise ValueError(f"backend is {name!r}: give one of {[backend.name for backend in BACKENDS]}")
