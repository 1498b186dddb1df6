"""The figure of mutual information: how much information the features have about the class."""

from typing import Any

import numpy as np
import pandas as pd

from bayesnb.pictures.layout import row_axis, wrap
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.fitted import Fitted, posterior_of
from bayesnb.selection.mutual_information import mutual_information
from bayesnb.validate import whole_number

__all__ = ["plot_mutual_information"]


def plot_mutual_information(found: Posterior | Fitted | pd.DataFrame, *, max_features: int = 20, **options: Any) -> Any:
    """Mutual information of features and class, the most informative first (points), with intervals (bars).

    Parameters
    ----------
    found : Posterior, fitted estimator or pandas.DataFrame
        The result of `mutual_information`, or a posterior to compute it for.
    max_features : int, default 20
        The most informative features that are shown.
    **options
        For `mutual_information` of a posterior: `unit`, `prob`, `num_draws`, `key`.

    Returns
    -------
    matplotlib.figure.Figure
        The point is the estimate, the bar its interval, and the small stroke the posterior mean, which noise and prior
        pull up. Without data there is no estimate, and the point is the value at the parameters' posterior mean.

    Raises
    ------
    TypeError, ValueError
        If the first argument is neither, options come with a frame, which has them already, or the information of
        every feature is NaN.

    See Also
    --------
    mutual_information : Mutual information of each feature and the class.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.plot_mutual_information(posterior)
    """
    from bayesnb.pictures.picture import Line2D

    frame = _frame(found, options)
    ranked_by = "estimate" if frame["estimate"].notna().any() else "at_posterior_mean"
    if frame[[ranked_by, "mean"]].isna().all(axis=None):
        shown = ", ".join(map(repr, frame.index[:3])) + (", ..." if len(frame) > 3 else "")
        raise ValueError(
            f"the mutual information of every feature ({shown}) is NaN, so that there is nothing to draw: "
            "nb.mutual_information says when it is; a family can define mutual_information(class_prob, parameters)"
        )
    shown = frame.sort_values(ranked_by, ascending=False, kind="stable")[: whole_number("max_features", max_features)]
    at = np.arange(len(shown))
    figure, axis = row_axis([wrap(name, 30) for name in shown.index], row_height=0.22, width=6.4)
    axis.hlines(at, shown["lower"], shown["upper"], color="0.45", linewidth=1.6, zorder=2)
    axis.scatter(shown["mean"], at, marker="|", s=70, color="black", linewidth=1.2, zorder=3)
    axis.scatter(shown[ranked_by], at, s=28, facecolors="white", edgecolors="C0", zorder=4)
    axis.set_xlim(left=-0.015 * axis.get_xlim()[1])
    axis.tick_params(axis="x", labelsize=8)
    axis.set_xlabel(f"mutual information with the class ({frame.attrs.get('unit', 'nats')})", fontsize=9)
    number = f"{len(frame)} feature{'s' * (len(frame) != 1)}"
    number = number if len(shown) == len(frame) else f"the top {len(shown)} of {number}"
    figure.suptitle(f"What a feature says about the class: {number}", fontsize=10)
    point = Line2D([], [], color="C0", marker="o", markerfacecolor="white", markersize=5, linestyle="none")
    handles, texts = [point], ["estimate" if ranked_by == "estimate" else "at the posterior mean"]
    if shown["lower"].notna().any():
        handles.append(Line2D([], [], color="0.45", linewidth=1.6))
        texts.append(f"{frame.attrs.get('prob', 0.89):.4g} interval")
    if shown["mean"].notna().any():
        handles.append(Line2D([], [], color="black", marker="|", markersize=8, linestyle="none"))
        texts.append("posterior mean, pulled up by the prior")
    figure.legend(handles, texts, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


def _frame(found: Any, options: dict[str, Any]) -> pd.DataFrame:
    if not isinstance(found, pd.DataFrame):
        return mutual_information(posterior_of(found, "found"), **options)
    if not {"estimate", "lower", "upper", "at_posterior_mean", "mean"} <= set(found.columns):
        raise TypeError(
            f"found has the columns {list(found.columns)}: give a posterior, or what nb.mutual_information gave"
        )
    if options:
        raise ValueError(f"{[*options]} are for a posterior: give them to nb.mutual_information, which made the frame")
    return found
