"""The picture of mutual information: how much the features say about the class."""

from typing import Any

import numpy as np
import pandas as pd

from bayesnb.families.fast import whole_number
from bayesnb.plots.layout import row_axis, wrap
from bayesnb.posterior.base import Posterior
from bayesnb.selection.mutual_information import mutual_information

__all__ = ["plot_mutual_information"]


def plot_mutual_information(found: Posterior | pd.DataFrame, *, max_features: int = 20, **options: Any) -> Any:
    """Mutual information of features and class, the most informative first (points), and how sure it is (bars).

    Parameters
    ----------
    found : Posterior or pandas.DataFrame
        What `mutual_information` gave, or a posterior to ask it of.
    max_features : int, default 20
        The most informative features that are shown.
    **options
        For `mutual_information` of a posterior: `unit`, `prob`, `num_draws`, `key`.

    Returns
    -------
    matplotlib.figure.Figure
        The point is the value at the posterior mean of the parameters, the small stroke the mean over the posterior and
        the bar the interval.

    Raises
    ------
    TypeError, ValueError
        If the first argument is neither, or options come with a frame, which has them already.
    """
    from matplotlib.lines import Line2D

    frame = _frame(found, options)
    shown = frame.sort_values("at_posterior_mean", ascending=False, kind="stable")[
        : whole_number("max_features", max_features)
    ]
    at = np.arange(len(shown))
    figure, axis = row_axis([wrap(name, 30) for name in shown.index], row_height=0.22, width=6.4)
    known = shown["mean"].notna().any()
    axis.hlines(at, shown["lower"], shown["upper"], color="0.45", linewidth=1.6, zorder=2)
    axis.scatter(shown["mean"], at, marker="|", s=70, color="black", linewidth=1.2, zorder=3)
    axis.scatter(shown["at_posterior_mean"], at, s=28, facecolors="white", edgecolors="C0", zorder=4)
    axis.set_xlim(left=-0.015 * axis.get_xlim()[1])
    axis.tick_params(axis="x", labelsize=8)
    axis.set_xlabel(f"mutual information with the class ({frame.attrs.get('unit', 'nats')})", fontsize=9)
    number = f"{len(frame)} feature{'s' * (len(frame) != 1)}"
    number = number if len(shown) == len(frame) else f"the top {len(shown)} of {number}"
    figure.suptitle(f"What a feature says about the class: {number}", fontsize=10)
    point = Line2D([], [], color="C0", marker="o", markerfacecolor="white", markersize=5, linestyle="none")
    handles, texts = [point], ["at the posterior mean"]
    if known:
        handles += [
            Line2D([], [], color="black", marker="|", markersize=8, linestyle="none"),
            Line2D([], [], color="0.45", linewidth=1.6),
        ]
        texts += ["posterior mean of it", f"{frame.attrs.get('prob', 0.89):.4g} interval"]
    figure.legend(handles, texts, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


def _frame(found: Any, options: dict[str, Any]) -> pd.DataFrame:
    if isinstance(found, Posterior):
        return mutual_information(found, **options)
    columns = {"at_posterior_mean", "mean", "lower", "upper"}
    if not isinstance(found, pd.DataFrame) or not columns <= set(found.columns):
        raise TypeError(f"found is a {type(found).__name__}: give a posterior, or what nb.mutual_information gave")
    if options:
        raise ValueError(f"{[*options]} are for a posterior: give them to nb.mutual_information, which made the frame")
    return found
