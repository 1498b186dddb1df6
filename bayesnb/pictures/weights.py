"""The figure of weights of features: their means and intervals."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import pandas as pd

from bayesnb.pictures.choices import chosen, require_result, yes_or_no
from bayesnb.pictures.forest import Points, Rows, forest
from bayesnb.pictures.shown import how_many
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


def plot_weights(
    posterior: Weighted,
    *,
    features: Sequence[Any] | None = None,
    sort: bool = True,
    max_features: int = 40,
    backend: str = "matplotlib",
    ax: Any = None,
    figsize: Any = None,
) -> Any:
    """A forest of the weights of features.

    Parameters
    ----------
    posterior : WeightedPosterior or fitted estimator
    features : sequence, optional
        Features to show, by default all.
    sort : bool, default True
        The highest mean weight first; otherwise in the order of `features`, or of the table.
    max_features : int, default 40
        The first ones in this order are drawn.
    backend : {"matplotlib", "bokeh", "plotly"}, default "matplotlib"
        Library that draws.
    ax : matplotlib axes, optional
        Where to draw; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the rows.

    Returns
    -------
    matplotlib.figure.Figure or arviz_plots.PlotCollection
        Each weight's posterior mean and its 89 % interval. At one, the dashed line, a feature counts as in naive Bayes;
        at zero it does not count. If all features share one weight, it is drawn once. Other backends than matplotlib
        give the collection, which has ``show()`` and ``savefig(path)``.

    Raises
    ------
    ModuleNotFoundError
        If the backend is not installed.
    TypeError, ValueError
        If `posterior` is not what `nb.weight_features` returns, a feature is unknown, features are named that all share
        one weight, or `backend`, `ax` and `figsize` do not fit.

    See Also
    --------
    weight_features : Weights for features that are not independent.
    WeightedPosterior : A posterior with weights of features.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> weighted = nb.weight_features(nb.fit(nb.NaiveBayes.from_frame(X), X, y), X, y)
    >>> figure = weighted.plot(max_features=5)
    """
    inside = getattr(posterior, "posterior_", None)
    posterior = inside if isinstance(inside, Weighted) else posterior
    require_result(posterior, Weighted, "posterior", "nb.weight_features(posterior, X, y)")
    table = posterior.weights
    if features is not None:
        table = table.iloc[chosen("features", features, table.index)]
    if posterior.feature_weights.shared:
        if features is not None:
            raise ValueError(f"features is {features!r}, and all features share one weight: leave it out")
        table = table.head(1).set_axis(["all features"])
    if yes_or_no("sort", sort):
        table = table.sort_values("mean", ascending=False, kind="stable")
    shown = table.head(whole_number("max_features", max_features))
    rows = Rows(
        [str(name) for name in shown.index],
        [Points(shown["mean"], "mean")],
        shown["lower"],
        shown["upper"],
        "89 % interval",
        x_label="weight",
        at=1.0,
        at_label="naive Bayes",
        limits=(0.0, None),
    )
    number = how_many(len(shown), len(table), "feature", "top" if sort else "first")
    weights = "One weight of all features" if posterior.feature_weights.shared else f"Weights of {number}"
    title = f"{weights} (0: no effect, 1: as in naive Bayes)"
    return forest([rows], title=title, backend=backend, ax=ax, figsize=figsize)
