"""The figure of the features that are the strongest evidence for each class."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bayesnb.pictures.choices import chosen, require_known
from bayesnb.pictures.forest import Points, Rows, forest
from bayesnb.pictures.shown import how_many
from bayesnb.pictures.text import percent
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.fitted import Fitted, posterior_of
from bayesnb.selection.telling import telling_features
from bayesnb.validate import whole_number

__all__ = ["plot_telling_features"]


def plot_telling_features(
    found: Posterior | Fitted | pd.DataFrame,
    *,
    classes: Sequence[Any] | None = None,
    max_panels: int = 10,
    panels_across: int | None = None,
    backend: str = "matplotlib",
    axes: Any = None,
    figsize: Any = None,
    **options: Any,
) -> Any:
    """The strongest evidence for each class: log odds of features (points) and intervals (bars), one panel a class.

    Parameters
    ----------
    found : pandas.DataFrame, Posterior or fitted estimator
        What `telling_features` returns, or a posterior to compute it from.
    classes : sequence, optional
        Classes that get a panel, in this order; by default all for which a feature is evidence.
    max_panels : int, default 10
        The first classes get a panel.
    panels_across : int, optional
        Panels side by side; by default two, or as many as fit the width.
    backend : {"matplotlib", "bokeh", "plotly"}, default "matplotlib"
        Library that draws.
    axes : array or sequence of matplotlib axes, optional
        Where to draw, one for each panel; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the rows.
    **options
        For `telling_features`, if `found` is not a frame.

    Returns
    -------
    matplotlib.figure.Figure or arviz_plots.PlotCollection
        The new figure, or that of `axes`; all panels have the same scale. Infinite log odds, which only point estimates
        have, are an arrow head at the edge. Other backends than matplotlib give the collection, which has ``show()``
        and ``savefig(path)``.

    Raises
    ------
    ModuleNotFoundError
        If the backend is not installed.
    TypeError, ValueError
        If the first argument is none of these, options come with a frame, which has them already, a class is unknown,
        no feature is evidence for any class, or `backend`, `axes` and `figsize` do not fit.

    See Also
    --------
    telling_features : The values that favour a class most.
    plot_evidence : The log odds of one row, feature by feature.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.plot_telling_features(posterior, num=3)
    """
    require_known(options, plot_telling_features, telling_features)
    frame = _frame(found, options)
    if frame.empty:
        raise ValueError("no feature is evidence for any class (all log odds are zero): there is nothing to draw")
    there = list(dict.fromkeys(frame["class"]))
    wanted = there if classes is None else [there[i] for i in chosen("classes", classes, there)]
    shown = wanted[: whole_number("max_panels", max_panels)]
    interval = f"{percent(frame.attrs.get('prob', 0.89))} interval"
    rows = []
    for label in shown:
        of_class = frame[frame["class"] == label]
        rows.append(
            Rows(
                [_name(row) for row in of_class.itertuples()],
                [Points(of_class["log_odds"].to_numpy(), "log odds")],
                of_class["lower"].to_numpy(),
                of_class["upper"].to_numpy(),
                interval,
                title=f"for {label}",
                at=0.0,
            )
        )
    number = f" ({how_many(len(shown), len(wanted), 'class', 'first')})" if len(shown) < len(wanted) else ""
    title = f"Log odds against the other classes in {frame.attrs.get('unit', 'nats')}{number}"
    return forest(
        rows,
        title=title,
        same_axis=True,
        panels_across=panels_across,
        backend=backend,
        axes=axes,
        figsize=figsize,
    )


def _name(row: Any) -> str:
    return str(row.feature) if pd.isna(row.value) else f"{row.feature} = {row.value}"


def _frame(found: Any, options: dict[str, Any]) -> pd.DataFrame:
    if not isinstance(found, pd.DataFrame):
        return telling_features(posterior_of(found, "found"), **options)
    if not {"class", "feature", "value", "log_odds", "lower", "upper"} <= set(found.columns):
        raise TypeError(f"found has the columns {list(found.columns)}: give what nb.telling_features gave")
    if options:
        raise ValueError(f"{[*options]} are for a posterior: give them to nb.telling_features, which made the frame")
    return found
