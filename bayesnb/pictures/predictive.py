"""The figure of a posterior predictive check: replicated statistics and the observed ones."""

from typing import Any, Protocol, runtime_checkable

import pandas as pd

from bayesnb.pictures.choices import require_result
from bayesnb.pictures.panels import grid_of_panels
from bayesnb.pictures.shown import how_many, number_of_panels
from bayesnb.pictures.style import TINY, muted, text_color

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
    def extreme(self) -> tuple[str, ...]:
        """Statistics that are extreme."""

    @property
    def dropped(self) -> tuple[str, ...]:
        """Statistics that are not defined."""


def plot_check(
    check: Replication,
    *,
    max_panels: int | None = None,
    panels_across: int | None = None,
    axes: Any = None,
    figsize: Any = None,
) -> Any:
    """Histogram of each statistic over the replicates (bars) and its observed value (line), one panel a statistic.

    The bars of a ``shape`` line show the largest over all columns, which determines its p-value; the head of the panel
    names the most extreme statistic and its class.

    Parameters
    ----------
    check : Check
    max_panels : int, optional
        The most extreme statistics get a panel, the smallest adjusted p-value first. By default those of
        `Check.extreme`, but at least 4 and at most 12.
    panels_across : int, optional
        Panels side by side; by default as many as fit the width.
    axes : sequence of matplotlib axes, optional
        Where to draw, one for each panel; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the panels.

    Returns
    -------
    matplotlib.figure.Figure
        The title says how many statistics of how many are shown.

    Raises
    ------
    TypeError, ValueError
        If `check` is not what `nb.check` returns, no statistic is defined, or `axes` and `figsize` do not fit.

    See Also
    --------
    check : Posterior predictive checks.
    Check : The result.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.check(posterior, X, y, num_replicates=100).plot()
    """
    require_result(check, Replication, "check", "nb.check(posterior, X, y)")
    table = check.table
    if table.empty:
        raise ValueError(f"no statistic is defined on these data, so there is nothing to plot: {list(check.dropped)}")
    shown = check.by_extremity.index[: number_of_panels(max_panels, len(check.extreme))]
    panels = grid_of_panels(len(shown), axes=axes, figsize=figsize, across=panels_across)
    heads = []
    for axis, label in zip(panels.axes, shown, strict=True):
        values = check.replicated[label].dropna()
        bars = {"color": muted(0.25), "edgecolor": muted(0.5), "linewidth": 0.4}
        axis.hist(values, bins=min(30, max(1, values.nunique())), **bars)
        axis.axvline(table.loc[label, "observed"], color=text_color(), linewidth=2.2)
        axis.margins(x=0.08)
        parts = [label, table.loc[label, "detail"], _p_value(table.loc[label, "p_value"], len(values))]
        heads.append("\n".join(filter(None, parts)))
        axis.set_yticks([])
        axis.locator_params(axis="x", nbins=3)
        axis.ticklabel_format(axis="x", useOffset=False, scilimits=(-3, 4))
        axis.xaxis.get_offset_text().set_fontsize(TINY)
    panels.heads(heads)
    panels.title(
        f"Replicated (bars) and observed (line): {how_many(len(shown), len(table), 'statistic', 'most extreme')}"
    )
    return panels.drawn()


def _p_value(value: float, number: int) -> str:
    if value == 0:
        return f"p < {1 / number:.2g}"
    return f"p > {1 - 1 / number:.4g}" if value == 1 else f"p = {value:.3f}"
