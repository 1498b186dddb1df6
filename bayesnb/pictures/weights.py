"""The figure of weights of features: their means and intervals."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from bayesnb.pictures.layout import require_result, row_axis, wrap
from bayesnb.validate import whole_number

__all__ = ["plot_weights"]


@runtime_checkable
class Weighted(Protocol):
    """The part of a `WeightedPosterior` that the figure reads."""

    @property
    def weights(self) -> pd.DataFrame:
        """Mean, sd, lower and upper of each feature's weight."""


def plot_weights(posterior: Weighted, *, max_features: int = 40, sort: bool = True) -> Any:
    """A forest of the weights of features.

    Parameters
    ----------
    posterior : WeightedPosterior
    max_features : int, default 40
        The features with the highest mean weights are drawn, or the first ones if they are not sorted.
    sort : bool, default True
        The highest weight first; otherwise in the order of the table.

    Returns
    -------
    matplotlib.figure.Figure
        Each weight's posterior mean and its 89 % interval. At one, the dashed line, a feature counts as in naive Bayes;
        at zero it does not count.

    Raises
    ------
    TypeError
        If `posterior` is not what `nb.weight_features` returns.
    """
    require_result(posterior, Weighted, "posterior", "nb.weight_features(posterior, X, y)")
    table = posterior.weights
    if sort:
        table = table.sort_values("mean", ascending=False, kind="stable")
    number = len(table)
    table = table.head(whole_number("max_features", max_features))
    figure, axis = row_axis([wrap(name, 40) for name in table.index], row_height=0.24, width=6.5)
    rows, mean = np.arange(len(table)), table["mean"].to_numpy()
    sides = np.abs(table[["lower", "upper"]].to_numpy().T - mean)
    axis.axvline(1.0, color="0.45", linewidth=1.0, linestyle="--", zorder=1)
    axis.errorbar(mean, rows, xerr=sides, fmt="o", color="C0", markersize=4, linewidth=1.6, zorder=3)
    axis.set_xlim(left=0.0)
    more = f"; {number - len(table)} more features are not shown" if number > len(table) else ""
    axis.set_xlabel(f"weight: mean and 89 % interval (one: naive Bayes){more}", fontsize=9)
    axis.tick_params(axis="x", labelsize=8)
    return figure
