"""The figure of simulation-based calibration: differences of PIT values from uniform."""

from typing import Any, Protocol, runtime_checkable

import pandas as pd

from bayesnb.pictures.choices import require_result
from bayesnb.pictures.panels import grid_of_panels
from bayesnb.pictures.shown import how_many
from bayesnb.pictures.style import muted
from bayesnb.uniform import ecdf_difference, shown_p, uniform_band
from bayesnb.validate import whole_number

__all__ = ["plot_sbc"]

NUMBERS = 0.45
"""Inches of the numbers beside a panel."""


@runtime_checkable
class Uniformity(Protocol):
    """The part of an `SBC` that the figure reads."""

    @property
    def table(self) -> pd.DataFrame:
        """A row for each parameter, with its ``p_value``."""

    @property
    def pit(self) -> pd.DataFrame:
        """PIT values, shape (simulations, parameters)."""

    @property
    def error_rate(self) -> float:
        """Probability that a right posterior leaves the band."""

    @property
    def verdict(self) -> str:
        """The answer in words."""


def plot_sbc(
    sbc: Uniformity, *, max_panels: int = 12, panels_across: int | None = None, axes: Any = None, figsize: Any = None
) -> Any:
    """Empirical distribution of the PIT values minus the uniform one (line), one panel a parameter.

    Each panel has its own scale; the band is the same in all, and holds the whole line with probability one minus the
    error rate if the posterior is right. A line above zero shows a posterior that is too high, a line below zero one
    that is too low. A line above zero at the left and below zero at the right shows one that is too narrow.

    Parameters
    ----------
    sbc : SBC
    max_panels : int, default 12
        The quantities with the smallest p-values get a panel, the smallest first.
    panels_across : int, optional
        Panels side by side; by default as many as fit the width.
    axes : sequence of matplotlib axes, optional
        Where to draw, one for each panel; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the panels.

    Returns
    -------
    matplotlib.figure.Figure
        The title says how many quantities of how many are shown.

    Raises
    ------
    TypeError, ValueError
        If `sbc` is not what `nb.sbc` returns, or `axes` and `figsize` do not fit.

    See Also
    --------
    sbc : Simulation-based calibration of an inference.
    SBC : The result.

    Examples
    --------
    >>> import bayesnb as nb
    >>> model = nb.NaiveBayes(nb.Bernoulli()).bind([[0, 1], [1, 1]], ["a", "b"])
    >>> figure = nb.plot_sbc(nb.sbc(model, num_simulations=100))
    """
    require_result(sbc, Uniformity, "sbc", "nb.sbc(model, inference)")
    table = sbc.table
    shown = table["p_value"].sort_values(kind="stable").index[: whole_number("max_panels", max_panels)]
    panels = grid_of_panels(len(shown), axes=axes, figsize=figsize, across=panels_across)
    points, lower, upper = uniform_band(len(sbc.pit), 1 - sbc.error_rate)
    for axis, label in zip(panels.axes, shown, strict=True):
        axis.fill_between(points, lower, upper, step="mid", color=muted(0.2), linewidth=0)
        axis.axhline(0.0, color=muted(0.5), linewidth=0.8)
        axis.plot(*ecdf_difference(sbc.pit[label].to_numpy()), color="C0", linewidth=1.4)
        axis.set_xlim(0, 1)
        axis.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        axis.locator_params(axis="y", nbins=5)
        axis.spines["left"].set_visible(True)
    panels.panel_width -= NUMBERS
    panels.heads([f"{label}\np {shown_p(table.loc[label, 'p_value'])}" for label in shown])
    number = how_many(len(shown), len(table), "quantity", "least uniform")
    panels.title(
        f"{sbc.verdict.split(',')[0]}: PIT values of {len(sbc.pit)} simulations, {number}\n"
        f"(band: where uniform values stay with probability {1 - sbc.error_rate:g})"
    )
    panels.x_label("PIT")
    panels.y_label("ECDF minus uniform")
    return panels.drawn()
