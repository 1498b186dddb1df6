"""The figure of simulation-based calibration: differences of PIT values from uniform."""

from typing import Any, Protocol, runtime_checkable

import pandas as pd

from bayesnb.pictures.layout import require_result
from bayesnb.uniform import ecdf_difference, shown_p, uniform_band

__all__ = ["plot_sbc"]


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


def plot_sbc(sbc: Uniformity, *, max_panels: int = 12, columns: int = 4) -> Any:
    """Empirical distribution of the PIT values minus the uniform one (line), one panel a parameter.

    Each panel has its own scale; the band is the same in all, and holds the whole line with probability one minus the
    error rate if the posterior is right. A line above zero shows a posterior that is too high, a line below zero one
    that is too low. A line above zero at the left and below zero at the right shows one that is too narrow.

    Parameters
    ----------
    sbc : SBC
    max_panels : int, default 12
        The parameters with the smallest p-values get a panel.
    columns : int, default 4
        Panels side by side.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TypeError
        If `sbc` is not what `nb.sbc` returns.

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
    from bayesnb.pictures.picture import Picture

    require_result(sbc, Uniformity, "sbc", "nb.sbc(model, inference)")
    table = sbc.table
    chosen = set(table["p_value"].sort_values(kind="stable").index[:max_panels])
    panels = [label for label in table.index if label in chosen]
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = Picture(figsize=(max(6.4, 3.2 * columns), 1.0 + 2.2 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    points, lower, upper = uniform_band(len(sbc.pit), 1 - sbc.error_rate)
    for axis, label in zip(axes.flat, panels, strict=False):
        axis.fill_between(points, lower, upper, step="mid", color="0.85", linewidth=0)
        axis.axhline(0.0, color="0.5", linewidth=0.8)
        axis.plot(*ecdf_difference(sbc.pit[label].to_numpy()), color="C0", linewidth=1.4)
        axis.set_title(f"{_wrap(label)}\np {shown_p(table.loc[label, 'p_value'])}", fontsize=8)
        axis.set_xlim(0, 1)
        axis.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        axis.tick_params(labelsize=7)
        axis.spines[["top", "right"]].set_visible(False)
    shown = (
        f"the {len(panels)} of {len(table)} quantities with the smallest p"
        if len(panels) < len(table)
        else f"{len(table)} quantities"
    )
    figure.suptitle(
        f"{sbc.verdict.split(',')[0]}: PIT values of {len(sbc.pit)} simulations, {shown}\n"
        f"(band: where uniform values stay with probability {1 - sbc.error_rate:g})",
        fontsize=10,
    )
    figure.supxlabel("PIT", fontsize=9)
    figure.supylabel("ECDF minus uniform", fontsize=9)
    return figure


def _wrap(label: str) -> str:
    return label if len(label) <= 32 else label.replace("[", "\n[", 1)
