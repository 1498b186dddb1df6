"""The figure of the evidence that features depend on the class."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from bayesnb.pictures.choices import chosen, yes_or_no
from bayesnb.pictures.forest import Points, Rows, forest
from bayesnb.pictures.shown import how_many
from bayesnb.validate import a_type, whole_number

__all__ = ["plot_feature_evidence"]

COLUMNS = ("log_bayes_factor", "inclusion_probability")


def plot_feature_evidence(
    evidence: pd.DataFrame,
    *,
    features: Sequence[Any] | None = None,
    sort: bool = True,
    max_features: int = 30,
    panels_across: int | None = None,
    backend: str = "matplotlib",
    axes: Any = None,
    figsize: Any = None,
) -> Any:
    """Log Bayes factor of each feature, and the probability that it depends on the class.

    Parameters
    ----------
    evidence : pandas.DataFrame
        What `feature_evidence` returns.
    features : sequence, optional
        Features to show, by default all.
    sort : bool, default True
        The highest log Bayes factor first; otherwise in the order of `features`, or of the table.
    max_features : int, default 30
        The first ones in this order are drawn.
    panels_across : int, optional
        Panels side by side; by default as many as fit the width.
    backend : {"matplotlib", "bokeh", "plotly"}, default "matplotlib"
        Library that draws.
    axes : sequence of matplotlib axes, optional
        Where to draw; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the rows.

    Returns
    -------
    matplotlib.figure.Figure or arviz_plots.PlotCollection
        Right of zero, the dashed line of the first panel, the data favour a parameter for every class; left of it, one
        that all classes share. The second panel has the posterior probability of a parameter for every class. Other
        backends than matplotlib give the collection, which has ``show()`` and ``savefig(path)``.

    Raises
    ------
    ModuleNotFoundError
        If the backend is not installed.
    TypeError, ValueError
        If `evidence` is not what `nb.feature_evidence` returns, a feature is unknown, or `backend`, `axes` and
        `figsize` do not fit.

    See Also
    --------
    feature_evidence : The evidence that a feature depends on the class.
    plot_mutual_information : Mutual information with intervals.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.feature_evidence(posterior).plot()
    """
    table = _table(evidence)
    if features is not None:
        table = table.iloc[chosen("features", features, table.index)]
    if yes_or_no("sort", sort):
        table = table.sort_values("log_bayes_factor", ascending=False, kind="stable")
    shown = table.head(whole_number("max_features", max_features))
    names = [str(name) for name in shown.index]
    factors = Rows(
        names,
        [Points(shown["log_bayes_factor"])],
        x_label="log Bayes factor (nats): one parameter for all classes (left), one for each (right)",
        at=0.0,
    )
    probabilities = Rows(
        names,
        [Points(shown["inclusion_probability"])],
        x_label="probability that the feature depends on the class",
        limits=(-0.03, 1.03),
    )
    number = how_many(len(shown), len(table), "feature", "top" if sort else "first")
    title = f"Evidence that a feature depends on the class: {number}"
    return forest(
        [factors, probabilities], title=title, panels_across=panels_across, backend=backend, axes=axes, figsize=figsize
    )


def _table(evidence: Any) -> pd.DataFrame:
    call = "give what nb.feature_evidence(posterior) returns"
    if not isinstance(evidence, pd.DataFrame):
        raise TypeError(f"evidence is {a_type(evidence)}: {call}")
    if not set(COLUMNS) <= set(evidence.columns):
        raise TypeError(f"evidence has the columns {list(evidence.columns)}: {call}")
    return pd.DataFrame(evidence)[list(COLUMNS)]
