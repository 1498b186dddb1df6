"""The figure of a posterior predictive check: replicated statistics and the observed ones."""

from textwrap import fill
from typing import Any, Protocol, runtime_checkable

import pandas as pd

from bayesnb.pictures.layout import require_result

__all__ = ["plot_check"]


@runtime_checkable
class Replication(Protocol):
    """The part of a `Check` that the figure reads."""

    @property
    def table(self) -> pd.DataFrame:
        """A row for each statistic: ``observed``, ``p_value``, ``detail``."""

    @property
    def by_extremity(self) -> pd.DataFrame:
        """The table, the most extreme statistics first."""

    @property
    def replicated(self) -> pd.DataFrame:
        """Values of the statistics, shape (replicates, statistics)."""

    @property
    def dropped(self) -> tuple[str, ...]:
        """Statistics that are not defined."""


def plot_check(check: Replication, *, max_panels: int = 24, columns: int = 4) -> Any:
    """Histogram of each statistic over the replicates (bars) and its observed value (line), one panel a statistic.

    The bars of a ``shape`` line show the largest over all columns, which determines its p-value; the title names the
    most extreme statistic and its class.

    Parameters
    ----------
    check : Check
    max_panels : int, default 24
        The most extreme statistics are shown; of ``shape`` lines only a small p-value counts as extreme.
    columns : int, default 4
        Panels side by side.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TypeError
        If `check` is not what `nb.check` returns.
    ValueError
        If no statistic is defined.

    See Also
    --------
    check : Posterior predictive checks.
    Check : The result.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.plot_check(nb.check(posterior, X, y, num_replicates=200), max_panels=8)
    """
    from bayesnb.pictures.picture import Picture

    require_result(check, Replication, "check", "nb.check(posterior, X, y)")
    table = check.table
    if table.empty:
        raise ValueError(f"no statistic is defined on these data, so there is nothing to plot: {list(check.dropped)}")
    panels = list(check.by_extremity.index[:max_panels])
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = Picture(figsize=(max(3.2 * columns, 5.0), 1.0 + 2.3 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    for axis, label in zip(axes.flat, panels, strict=False):
        values = check.replicated[label].dropna()
        axis.hist(values, bins=min(30, max(1, values.nunique())), color="0.8", edgecolor="0.5", linewidth=0.4)
        axis.axvline(table.loc[label, "observed"], color="black", linewidth=2.2)
        axis.margins(x=0.08)
        title = [fill(label, 34), table.loc[label, "detail"], _p_value(table.loc[label, "p_value"], len(values))]
        axis.set_title("\n".join(filter(None, title)), fontsize=8)
        axis.set_yticks([])
        axis.tick_params(labelsize=7)
        axis.locator_params(axis="x", nbins=3)
        axis.ticklabel_format(axis="x", useOffset=False, scilimits=(-3, 4))
        axis.xaxis.get_offset_text().set_fontsize(7)
        axis.spines[["left", "top", "right"]].set_visible(False)
    shown = (
        f"the {len(panels)} most extreme of {len(table)} statistics"
        if len(panels) < len(table)
        else f"{len(table)} statistic{'s' * (len(table) != 1)}"
    )
    figure.suptitle(fill(f"Replicated (bars) and observed (line), {shown}", 20 + 18 * columns), fontsize=10)
    return figure


def _p_value(value: float, number: int) -> str:
    if value == 0:
        return f"p < {1 / number:.2g}"
    return f"p > {1 - 1 / number:.4g}" if value == 1 else f"p = {value:.3f}"
