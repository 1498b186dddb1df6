"""The figure of the accuracy of annotators."""

from typing import Any

from bayesnb.crowd.result import AnnotationFit
from bayesnb.pictures.forest import Points, Rows, forest
from bayesnb.pictures.text import percent
from bayesnb.plots.annotators_shown import (
    annotators_in_order,
    first_annotators,
    fit_of_annotations,
    names_of,
    positions,
)
from bayesnb.posterior.point import PointPosterior
from bayesnb.validate import proportion, whole_number

__all__ = ["plot_annotators"]


def plot_annotators(
    crowd: AnnotationFit,
    *,
    prob: float = 0.89,
    annotators: Any = None,
    sort: str | None = "accuracy",
    max_annotators: int = 30,
    backend: str = "matplotlib",
    ax: Any = None,
    figsize: Any = None,
) -> Any:
    """Accuracy of annotators (points), with intervals (bars).

    Parameters
    ----------
    crowd : AnnotationFit
        What `fit_annotations` returns. A point estimate has no intervals: only its points are drawn.
    prob : float, default 0.89
        Posterior probability of the interval.
    annotators : sequence or name, optional
        Annotators to show, by default all.
    sort : {"accuracy", "annotations"} or None, default "accuracy"
        The lowest accuracy first, or the most annotations first; None for the order of `annotators`, or of the table.
    max_annotators : int, default 30
        The first ones in this order are drawn.
    backend : {"matplotlib", "bokeh", "plotly"}, default "matplotlib"
        Library that draws.
    ax : matplotlib axes, optional
        Where to draw; by default in a new figure. In a figure with ``layout="constrained"`` long names are not cut.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the rows.

    Returns
    -------
    matplotlib.figure.Figure or arviz_plots.PlotCollection
        A name has the number of the annotator's annotations beside it, in brackets. The dashed line is the accuracy of
        somebody who gives every item the most frequent class. Other backends than matplotlib give the collection,
        which has ``show()`` and ``savefig(path)``.

    Raises
    ------
    ModuleNotFoundError
        If the backend is not installed.
    TypeError, ValueError
        If the first argument is something else, an annotator is unknown, there is no such order, or `backend`, `ax` and
        `figsize` do not fit.

    See Also
    --------
    AnnotationFit.accuracy_interval : The intervals.
    plot_confusion : Which classes an annotator confuses.
    plot_items : The items with the most uncertain labels.

    Examples
    --------
    >>> import bayesnb as nb
    >>> ratings = nb.datasets.anesthesia()
    >>> columns = {"item": "patient", "annotator": "anesthetist", "label": "rating"}
    >>> crowd = nb.fit_annotations(ratings, **columns, inference=nb.Gibbs(num_samples=2000))
    >>> figure = nb.plot_annotators(crowd)
    """
    proportion("prob", prob)
    frame = annotators_in_order(fit_of_annotations(crowd), annotators, sort)
    shown = frame.head(whole_number("max_annotators", max_annotators))
    is_point = isinstance(crowd.posterior, PointPosterior)
    ends = shown if is_point else crowd.accuracy_interval(prob=prob).iloc[positions(crowd, shown)]
    most_frequent = crowd.class_probs
    rows = Rows(
        names_of(shown),
        [Points(shown["accuracy"], "estimate" if is_point else "posterior mean")],
        ends["lower"],
        ends["upper"],
        f"{percent(prob)} interval",
        x_label="probability of the right label",
        at=float(most_frequent.max()),
        at_label=f"label {most_frequent.idxmax()} for every item",
    )
    title = f"Accuracy of {first_annotators(len(shown), len(frame), sort)}\n(in brackets: number of annotations"
    title += "; a point estimate has no intervals)" if is_point else ")"
    return forest([rows], title=title, backend=backend, ax=ax, figsize=figsize)
