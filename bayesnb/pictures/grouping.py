"""The figure of columns that were merged: the rise of the log evidence, merge by merge."""

from typing import Any, Protocol, runtime_checkable

import pandas as pd

from bayesnb.pictures.layout import require_result, row_axis, wrap
from bayesnb.validate import whole_number

__all__ = ["plot_column_grouping"]

COLOURS = {"MultivariateGaussian": "C0", "JointCategorical": "C1"}


@runtime_checkable
class Grouping(Protocol):
    """The part of a `ColumnGrouping` that the figure reads."""

    @property
    def table(self) -> pd.DataFrame:
        """A row for each merge, in their order."""

    @property
    def blocks(self) -> Any:
        """The columns of each block that was merged."""


def plot_column_grouping(grouping: Grouping, *, max_merges: int = 30) -> Any:
    """The rise of the log evidence, merge by merge.

    Parameters
    ----------
    grouping : ColumnGrouping
    max_merges : int, default 30
        The first merges are drawn.

    Returns
    -------
    matplotlib.figure.Figure
        A bar for each merge, from the log evidence before it to that after it, both minus the log evidence of the model
        without merges; with its length, the log Bayes factor, as a number.

    Raises
    ------
    TypeError
        If `grouping` is not what `nb.group_columns` returns.
    ValueError
        If no columns were merged.

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
    require_result(grouping, Grouping, "grouping", "nb.group_columns(model, X, y)")
    if not len(grouping.table):
        raise ValueError("no columns were merged, so that there is nothing to draw: grouping.notes says why")
    shown = grouping.table.head(whole_number("max_merges", max_merges))
    pairs = zip(shown["first"], shown["second"], strict=True)
    names = [f"{wrap(first, 40)}\n+ {wrap(second, 40)}" for first, second in pairs]
    figure, axis = row_axis(names, row_height=0.3, width=7.5)
    for row, (_, merge) in enumerate(shown.iterrows()):
        factor, total = merge["log_bayes_factor"], merge["total"]
        colour = COLOURS[merge["family"]]
        axis.barh(row, factor, left=total - factor, height=0.5, color=colour, alpha=0.8, zorder=2)
        axis.text(total, row, f" +{factor:.1f}", va="center", ha="left", fontsize=8, zorder=3)
    axis.set_xlim(0.0, 1.15 * shown["total"].iloc[-1])
    axis.set_xlabel("log evidence, difference to the model without merges (nats)", fontsize=9)
    axis.tick_params(axis="x", labelsize=8)
    return figure
