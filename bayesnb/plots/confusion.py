"""The figure of the confusion matrices of annotators."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.crowd.result import AnnotationFit
from bayesnb.pictures.choices import chosen
from bayesnb.pictures.panels import grid_of_panels
from bayesnb.pictures.style import SMALL, TINY, background, muted, text_color
from bayesnb.pictures.text import line_height, percent, shorten_to, text_width
from bayesnb.plots.annotators_shown import (
    annotators_in_order,
    first_annotators,
    fit_of_annotations,
    names_of,
    others,
    positions,
)
from bayesnb.posterior.point import PointPosterior
from bayesnb.validate import proportion, whole_number

__all__ = ["plot_confusion"]

MOST_CLASSES = 8
"""Classes that are shown by default."""

NAME = 0.9
"""Inches of the name of a class or label at most."""

CELL = 0.34
"""Inches of a cell."""

NARROW = 0.24
"""Inches of a cell at least, which the number 100 needs."""

SIDE = "class of the item"
"""Label beside the panels."""

STRENGTH = 0.6
"""Share of the colour in a cell of probability one, so that its number can be read."""


@dataclass(frozen=True)
class _Matrices:
    """What is drawn.

    Attributes
    ----------
    values : array, shape (annotators, classes, labels)
        Probabilities.
    intervals : array of str, of the same shape
        Empty where there is none.
        The first labels are those of the classes, in the same order.
    classes, labels : list of str
    """

    values: np.ndarray
    intervals: np.ndarray
    classes: list[str]
    labels: list[str]


def plot_confusion(
    crowd: AnnotationFit,
    *,
    prob: float = 0.89,
    annotators: Any = None,
    classes: Sequence[Any] | None = None,
    sort: str | None = "annotations",
    max_panels: int = 12,
    panels_across: int | None = None,
    axes: Any = None,
    figsize: Any = None,
) -> Any:
    """Confusion matrices of annotators: the probability of each label (columns) given the class (rows).

    Parameters
    ----------
    crowd : AnnotationFit
        What `fit_annotations` returns.
    prob : float, default 0.89
        Posterior probability of the intervals.
    annotators : sequence or name, optional
        Annotators to show, by default all.
    classes : sequence, optional
        Classes to show, in this order, by default up to eight, the most frequent ones. If some are left out, their
        labels share the last column.
    sort : {"annotations", "accuracy"} or None, default "annotations"
        The most annotations first, or the lowest accuracy first; None for the order of `annotators`, or of the table.
    max_panels : int, default 12
        The first ones in this order get a panel.
    panels_across : int, optional
        Panels side by side; by default as many as fit the width, up to four.
    axes : array or sequence of matplotlib axes, optional
        Where to draw, one for each panel; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the panels.

    Returns
    -------
    matplotlib.figure.Figure
        The new figure, or that of `axes`. Numbers are posterior means in percent, each row adds up to 100, and a frame
        marks the right label. Under draws the interval is below the number, if the cells are wide enough. The title of
        a panel has the number of the annotator's annotations in brackets.

    Raises
    ------
    TypeError, ValueError
        If the first argument is something else, an annotator or class is unknown, there is no such order, or `axes` and
        `figsize` do not fit.

    See Also
    --------
    AnnotationFit.confusion_interval : The intervals.
    plot_annotators : Accuracy of annotators, with intervals.
    plot_items : The items with the most uncertain labels.

    Examples
    --------
    >>> import bayesnb as nb
    >>> ratings = nb.datasets.anesthesia()
    >>> columns = {"item": "patient", "annotator": "anesthetist", "label": "rating"}
    >>> crowd = nb.fit_annotations(ratings, **columns, inference=nb.Gibbs(num_samples=2000))
    >>> figure = nb.plot_confusion(crowd)
    """
    proportion("prob", prob)
    frame = annotators_in_order(fit_of_annotations(crowd), annotators, sort)
    shown = frame.head(whole_number("max_panels", max_panels))
    matrices = _matrices(crowd, positions(crowd, shown), classes, prob)
    names = [shorten_to(name, NAME, TINY) for name in matrices.classes]
    beside = max(text_width(name, TINY) for name in names)
    interval = max(text_width(text, TINY) for text in np.unique(matrices.intervals)) + 0.06
    rows, columns = matrices.values.shape[1:]
    panels = grid_of_panels(
        len(shown),
        axes=axes,
        figsize=figsize,
        across=panels_across,
        width=max(1.6, 0.5 + beside + columns * max(CELL, interval)),
        narrowest=max(1.0, 0.2 + beside + columns * NARROW),
    )
    if not panels.given:
        panels.panel_width -= beside / panels.across + 0.1
    cell = panels.panel_width / columns
    with_intervals = 0.06 < interval <= cell
    labels = [shorten_to(label, NAME, TINY) for label in matrices.labels]
    widest = max(text_width(label, TINY) for label in labels)
    upright = widest > cell
    around = 3 * line_height(SMALL) + (widest if upright else line_height(TINY))
    lines = rows * ((1 + with_intervals) * line_height(TINY) + 0.02)
    panels.set_heights(around + rows * CELL + 0.2, around + max(lines, text_width(SIDE, SMALL)))
    for panel, values in enumerate(matrices.values):
        axis = panels.axes[panel]
        _draw(axis, values, matrices.intervals[panel] if with_intervals else np.full(values.shape, ""))
        first, lowest = panel % panels.across == 0, panel + panels.across >= len(shown)
        axis.set_yticks(np.arange(rows), names if first else [""] * rows, fontsize=TINY)
        below = labels if lowest else [""] * columns
        axis.set_xticks(np.arange(columns), below, fontsize=TINY, rotation=90 if upright else 0)
    panels.heads(names_of(shown))
    which = first_annotators(len(shown), len(frame), sort)
    below = f"; below a mean: {percent(prob)} interval" * with_intervals
    panels.title(f"Confusion matrices in percent: {which}\n(in brackets: number of annotations{below})")
    panels.x_label("label given by the annotator")
    panels.y_label(SIDE)
    return panels.drawn()


def _matrices(crowd: AnnotationFit, annotators: np.ndarray, classes: Sequence[Any] | None, prob: float) -> _Matrices:
    """The cells of some annotators; the labels of classes that are left out are one column."""
    known, own, labels = crowd.classes.tolist(), crowd.annotations.own_label, crowd.annotations.labels
    if classes is None:
        codes = sorted(np.argsort(-crowd.class_probs.to_numpy(), kind="stable")[:MOST_CLASSES].tolist())
    else:
        codes = chosen("classes", classes, known)
    shown = own[codes]
    if len(codes) == len(known):
        shown = np.concatenate([shown, np.setdiff1d(np.arange(len(labels)), own)])
    rest = np.setdiff1d(np.arange(len(labels)), shown)
    mean = crowd.confusion.to_numpy()[annotators][:, codes]
    values, names = mean[..., shown], [str(labels[at]) for at in shown]
    intervals = np.full(values.shape, "", dtype=object)
    if not isinstance(crowd.posterior, PointPosterior):
        ends = crowd.confusion_interval(prob=prob)
        for place in np.ndindex(intervals.shape):
            at = annotators[place[0]], codes[place[1]], shown[place[2]]
            lower, upper = (100 * float(ends[end].to_numpy()[at]) for end in ("lower", "upper"))
            intervals[place] = f"{lower:.0f}\N{EN DASH}{upper:.0f}"
    if len(rest):
        values = np.concatenate([values, mean[..., rest].sum(axis=-1, keepdims=True)], axis=-1)
        intervals = np.concatenate([intervals, np.full((*mean.shape[:2], 1), "", dtype=object)], axis=-1)
        names.append(others([labels[at] for at in rest]))
    return _Matrices(values, intervals, [str(known[c]) for c in codes], names)


def _draw(axis: Any, values: np.ndarray, below: np.ndarray) -> None:
    """The cells of a matrix with their numbers, and a frame around those of the right labels."""
    from bayesnb.pictures.picture import to_rgb

    strength = STRENGTH * values[..., None]
    colors = (1 - strength) * np.array(background()) + strength * np.array(to_rgb("C0"))
    rows, columns = values.shape
    edges = [np.arange(number + 1) - 0.5 for number in (columns, rows)]
    axis.pcolormesh(*edges, colors, edgecolors=[muted(0.4)], linewidth=0.5)
    for (row, column), value in np.ndenumerate(values):
        text = f"{100 * value:.0f}\n{below[row, column]}".strip()
        # The layout need not measure what is inside a panel.
        axis.text(column, row, text, ha="center", va="center", fontsize=TINY, in_layout=False)
    right = np.arange(rows)
    axis.bar(right, 0.94, 0.94, right - 0.47, fill=False, edgecolor=text_color(), linewidth=1.2)
    axis.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    axis.tick_params(length=0)
    axis.spines["bottom"].set_visible(False)
    axis.grid(visible=False)
