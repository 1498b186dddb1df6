"""The figure of the items whose labels are uncertain."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesnb.crowd.named import positions_of
from bayesnb.crowd.result import AnnotationFit
from bayesnb.pictures.choices import chosen, yes_or_no
from bayesnb.pictures.panels import panel_of_rows
from bayesnb.pictures.style import HATCHES, muted, text_color
from bayesnb.pictures.text import percent
from bayesnb.plots.annotators_shown import fit_of_annotations, names_of, others
from bayesnb.printing import counted
from bayesnb.validate import whole_number

__all__ = ["plot_items"]

OTHERS = HATCHES[-1]
"""Hatch of the classes that are not shown, together."""

MOST_CLASSES = len(HATCHES) - 1
"""Classes that have a hatch of their own."""


SURE = 0.9
"""The title says how many labels have a probability below this one."""


def plot_items(
    crowd: AnnotationFit,
    *,
    items: Any = None,
    classes: Sequence[Any] | None = None,
    sort: bool = True,
    max_items: int = 20,
    ax: Any = None,
    figsize: Any = None,
) -> Any:
    """Class probabilities of the items with the most uncertain labels, a bar for each item.

    These are the items to look at, or to give to more annotators.

    Parameters
    ----------
    crowd : AnnotationFit
        What `fit_annotations` returns.
    items : sequence or name, optional
        Items to show, by default all.
    classes : sequence, optional
        Classes to show, up to seven; the others share one part of the bar. By default all of up to seven classes, and
        else those that are the most probable in the items that are shown.
    sort : bool, default True
        The largest entropy first; otherwise in the order of `items`, or of the table.
    max_items : int, default 20
        The first ones in this order are drawn.
    ax : matplotlib axes, optional
        Where to draw; by default in a new figure. In a figure with ``layout="constrained"`` long names are not cut.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the items.

    Returns
    -------
    matplotlib.figure.Figure
        The new figure, or that of `ax`. A name has the number of the item's annotations beside it, in brackets.

    Raises
    ------
    TypeError, ValueError
        If the first argument is something else, an item or class is unknown, there are more than seven classes, or `ax`
        and `figsize` do not fit.

    See Also
    --------
    AnnotationFit : The numbers of the picture, in its frames ``items`` and ``proba``.
    plot_annotators : Accuracy of annotators.
    plot_confusion : Which classes an annotator confuses.

    Examples
    --------
    >>> import bayesnb as nb
    >>> ratings = nb.datasets.anesthesia()
    >>> columns = {"item": "patient", "annotator": "anesthetist", "label": "rating"}
    >>> crowd = nb.fit_annotations(ratings, **columns, inference=nb.Gibbs(num_samples=2000))
    >>> figure = nb.plot_items(crowd, max_items=10)
    """
    frame = fit_of_annotations(crowd).items
    at = positions_of("items", items, frame.index)
    number, below = len(at), int((frame["probability"].iloc[at] < SURE).sum())
    if yes_or_no("sort", sort):
        at = at[np.argsort(-frame["entropy"].to_numpy()[at], kind="stable")]
    at = at[: whole_number("max_items", max_items)]
    shown, proba = frame.iloc[at], crowd.proba.to_numpy()[at]
    codes = _classes(crowd, classes, proba)
    panels = panel_of_rows(names_of(shown), ax=ax, figsize=figsize, row_height=0.24)
    axis, rows, left = panels.axes[0], np.arange(len(at)), np.zeros(len(at))
    entries = []
    parts: list[tuple[np.ndarray, str, Any, str]] = [
        (proba[:, c], str(crowd.classes[c]), ("C" + str(i), 0.6), HATCHES[i]) for i, c in enumerate(codes)
    ]
    rest = np.setdiff1d(np.arange(len(crowd.classes)), codes)
    if len(rest):
        parts.append((proba[:, rest].sum(axis=1), others(crowd.classes[rest].tolist()), muted(0.25), OTHERS))
    for width, label, color, hatch in parts:
        look = {"facecolor": color, "hatch": hatch, "edgecolor": text_color(), "linewidth": 0.8}
        entries.append((axis.barh(rows, width, left=left, height=0.66, zorder=2, **look), label))
        left = left + width
    axis.set_xlim(0.0, 1.0)
    panels.x_label("probability of the class")
    panels.title(
        f"{_which(len(at), number, sort=sort)}\n({below:,} of {'all ' * (items is None)}{number:,} labels have a "
        f"probability below {percent(SURE)}; in brackets: number of annotations)"
    )
    panels.legend(entries)
    return panels.drawn()


def _classes(crowd: AnnotationFit, classes: Sequence[Any] | None, proba: np.ndarray) -> list[int]:
    """Positions of the classes that have a part of the bar of their own."""
    if classes is not None:
        return chosen("classes", classes, crowd.classes.tolist(), most=MOST_CLASSES)
    most_probable = np.argsort(-proba.sum(axis=0), kind="stable")[:MOST_CLASSES]
    found: list[int] = np.sort(most_probable).tolist()
    return found


def _which(shown: int, number: int, *, sort: bool) -> str:
    if shown == number:
        return f"Labels of {counted(number, 'item')}"
    return (
        f"Labels of {'the' if sort else 'the first'} {shown} of {number:,} items" + " with the largest entropy" * sort
    )
