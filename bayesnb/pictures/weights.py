"""The figure of weights of features: their means and intervals."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from bayesnb.pictures.layout import make_room, require_result, row_axis, wrap
from bayesnb.validate import whole_number
from bayesnb.weights.feature_weights import FeatureWeights

__all__ = ["plot_weights"]


@runtime_checkable
class Weighted(Protocol):
    """The part of a `WeightedPosterior` that the figure reads."""

    @property
    def weights(self) -> pd.DataFrame:
        """Mean, sd, lower and upper of each feature's weight."""

    @property
    def feature_weights(self) -> FeatureWeights:
        """Whether all features share one weight."""


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
        at zero it does not count. If all features share one weight, it is drawn once.

    Raises
    ------
    TypeError
        If `posterior` is not what `nb.weight_features` returns.

    See Also
    --------
    weight_features : Weights for features that are not independent.
    WeightedPosterior : A posterior with weights of features.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.plot_weights(nb.weight_features(posterior, X, y))
    """
    require_result(posterior, Weighted, "posterior", "nb.weight_features(posterior, X, y)")
    table = posterior.weights
    if posterior.feature_weights.shared:
        table = table.head(1).set_axis(["all features"])
    if sort:
        table = table.sort_values("mean", ascending=False, kind="stable")
    shown = table.head(whole_number("max_features", max_features))
    figure, axis = row_axis([wrap(name, 40) for name in shown.index], row_height=0.24, width=5.5)
    rows, mean = np.arange(len(shown)), shown["mean"].to_numpy()
    sides = np.abs(shown[["lower", "upper"]].to_numpy().T - mean)
    axis.axvline(1.0, color="0.45", linewidth=1.0, linestyle="--", zorder=1)
    axis.text(1.0, -0.6, "naive Bayes", fontsize=8, color="0.35", ha="center", va="bottom")
    make_room(figure, "naive Bayes")
    axis.errorbar(mean, rows, xerr=sides, fmt="o", color="C0", markersize=4, linewidth=1.6, zorder=3)
    axis.set_xlim(left=0.0)
    label = "weight: mean and 89 % interval"
    if len(table) > len(shown):
        label += f"\n{len(shown)} of {len(table)} features"
        make_room(figure, "features")
    axis.set_xlabel(label, fontsize=9)
    axis.tick_params(axis="x", labelsize=8)
    return figure
