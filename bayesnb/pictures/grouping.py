"""The figure of columns that were merged: the rise of the log evidence, merge by merge."""

from typing import Any, Protocol, runtime_checkable

import pandas as pd

from bayesnb.pictures.choices import require_result
from bayesnb.pictures.panels import panel_of_rows
from bayesnb.pictures.shown import how_many
from bayesnb.pictures.style import TINY, text_color
from bayesnb.pictures.text import text_width
from bayesnb.validate import whole_number

__all__ = ["plot_column_grouping"]

COLOURS = {"MultivariateGaussian": "C0", "JointCategorical": "C1"}

PATTERNS = {"MultivariateGaussian": "", "JointCategorical": "///"}
"""Hatches, so that the families differ without colour."""


@runtime_checkable
class Grouping(Protocol):
    """The part of a `ColumnGrouping` that the figure reads."""

    @property
    def table(self) -> pd.DataFrame:
        """A row for each merge, in their order."""

    @property
    def blocks(self) -> Any:
        """The columns of each block that was merged."""


def plot_column_grouping(grouping: Grouping, *, max_merges: int = 30, ax: Any = None, figsize: Any = None) -> Any:
    """The rise of the log evidence, merge by merge.

    Parameters
    ----------
    grouping : ColumnGrouping
    max_merges : int, default 30
        The first merges are drawn.
    ax : matplotlib axes, optional
        Where to draw; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the rows.

    Returns
    -------
    matplotlib.figure.Figure
        A bar for each merge, from the log evidence before it to that after it, both minus the log evidence of the model
        without merges; with its length, the log Bayes factor, as a number.

    Raises
    ------
    TypeError, ValueError
        If `grouping` is not what `nb.group_columns` returns, no columns were merged, or `ax` and `figsize` do not fit.

    See Also
    --------
    group_columns : Merge columns that depend on each other.
    ColumnGrouping : The result.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> X = X[["bill_length_mm", "flipper_length_mm", "body_mass_g"]].dropna()
    >>> grouping = nb.group_columns(nb.Gaussian(), X, y[X.index])
    >>> figure = nb.plot_column_grouping(grouping)
    """
    from bayesnb.pictures.picture import Patch

    require_result(grouping, Grouping, "grouping", "nb.group_columns(model, X, y)")
    if not len(grouping.table):
        raise ValueError("no columns were merged, so that there is nothing to draw: grouping.notes says why")
    shown = grouping.table.head(whole_number("max_merges", max_merges))
    names = [f"{first}\n+ {second}" for first, second in zip(shown["first"], shown["second"], strict=True)]
    panels = panel_of_rows(names, ax=ax, figsize=figsize, row_height=0.45, shorten=True)
    (axis,) = panels.axes
    numbers = [f" +{factor:.1f}" for factor in shown["log_bayes_factor"]]
    for row, (_, merge) in enumerate(shown.iterrows()):
        factor, total, family = merge["log_bayes_factor"], merge["total"], merge["family"]
        look = {"facecolor": COLOURS[family], "edgecolor": text_color(), "hatch": PATTERNS[family], "linewidth": 0.6}
        axis.barh(row, factor, left=total - factor, height=0.5, zorder=2, **look)
        axis.text(total, row, numbers[row], va="center", ha="left", fontsize=TINY, zorder=3)
    widest = max(text_width(number, TINY) for number in numbers)
    axis.set_xlim(0.0, shown["total"].iloc[-1] / max(0.4, 1 - (widest + 0.05) / panels.panel_width))
    axis.locator_params(axis="x", nbins=5)
    panels.x_label("log evidence, difference to the model without merges (nats)")
    panels.title(
        f"Log evidence that merges of columns add: {how_many(len(shown), len(grouping.table), 'merge', 'first')}"
    )
    families = [family for family in COLOURS if (shown["family"] == family).any()]
    looks = [{"facecolor": COLOURS[each], "edgecolor": text_color(), "hatch": PATTERNS[each]} for each in families]
    panels.legend([(Patch(**look), family) for look, family in zip(looks, families, strict=True)])
    return panels.drawn()
