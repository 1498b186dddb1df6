"""The figure of mutual information: how much information the features have about the class."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bayesnb.pictures.choices import chosen, require_known, yes_or_no
from bayesnb.pictures.forest import Points, Rows, forest
from bayesnb.pictures.shown import how_many
from bayesnb.pictures.text import percent
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.fitted import Fitted, posterior_of
from bayesnb.selection.mutual_information import mutual_information
from bayesnb.validate import whole_number

__all__ = ["plot_mutual_information"]


def plot_mutual_information(
    found: Posterior | Fitted | pd.DataFrame,
    *,
    features: Sequence[Any] | None = None,
    sort: bool = True,
    max_features: int = 20,
    backend: str = "matplotlib",
    ax: Any = None,
    figsize: Any = None,
    **options: Any,
) -> Any:
    """Mutual information of features and class (points), with intervals (bars).

    Parameters
    ----------
    found : Posterior, fitted estimator or pandas.DataFrame
        The result of `mutual_information`, or a posterior to compute it for.
    features : sequence, optional
        Features to show, by default all.
    sort : bool, default True
        The most informative first; otherwise in the order of `features`, or of the table.
    max_features : int, default 20
        The first ones in this order are drawn.
    backend : {"matplotlib", "bokeh", "plotly"}, default "matplotlib"
        Library that draws.
    ax : matplotlib axes, optional
        Where to draw; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the rows.
    **options
        For `mutual_information` of a posterior: `unit`, `prob`, `num_draws`, `key`.

    Returns
    -------
    matplotlib.figure.Figure or arviz_plots.PlotCollection
        The point is the estimate, the bar its interval, and the small stroke the posterior mean, which the prior and
        noise shift, mostly up. Without data there is no estimate, and the point is the value at the parameters'
        posterior mean. Other backends than matplotlib give the collection, which has ``show()`` and ``savefig(path)``.

    Raises
    ------
    ModuleNotFoundError
        If the backend is not installed.
    TypeError, ValueError
        If the first argument is neither, options come with a frame, which has them already, a feature is unknown, the
        information of every feature is NaN, or `backend`, `ax` and `figsize` do not fit.

    See Also
    --------
    mutual_information : Mutual information of each feature and the class.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.plot_mutual_information(posterior, unit="bits")
    """
    require_known(options, plot_mutual_information, mutual_information)
    frame = _frame(found, options)
    if features is not None:
        frame = frame.iloc[chosen("features", features, frame.index)]
    point = "estimate" if frame["estimate"].notna().any() else "at_posterior_mean"
    if frame[[point, "mean"]].isna().all(axis=None):
        shown = ", ".join(map(repr, frame.index[:3])) + (", ..." if len(frame) > 3 else "")
        raise ValueError(
            f"the mutual information of every feature ({shown}) is NaN, so that there is nothing to draw: "
            "nb.mutual_information says when it is; a family can define mutual_information(class_prob, parameters)"
        )
    if yes_or_no("sort", sort):
        frame = frame.sort_values(point, ascending=False, kind="stable")
    shown = frame.head(whole_number("max_features", max_features))
    drawn = shown[[point, "mean", "lower", "upper"]]
    rows = Rows(
        [str(name) for name in shown.index],
        [
            Points(shown["mean"], "posterior mean", "|", "B1"),
            Points(shown[point], "estimate" if point == "estimate" else "at the posterior mean", filled=False),
        ],
        shown["lower"],
        shown["upper"],
        f"{percent(frame.attrs.get('prob', 0.89))} interval",
        x_label=f"mutual information with the class ({frame.attrs.get('unit', 'nats')})",
        limits=(-0.015 * drawn.max(axis=None), None),
    )
    number = how_many(len(shown), len(frame), "feature", "top" if sort else "first")
    title = f"Mutual information of feature and class: {number}"
    return forest([rows], title=title, backend=backend, ax=ax, figsize=figsize)


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
