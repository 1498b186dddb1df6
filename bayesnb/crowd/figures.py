"""Figures of annotators and items: methods of what a fit to annotations gives."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.core.checking import listed, near_matches, proportion, whole_number
from bayesnb.core.forest import ForestPanel, Points, forest, highest_places, how_many
from bayesnb.core.panels import (
    HATCHES,
    SMALL,
    TINY,
    blended,
    chosen,
    grid_of_panels,
    line_height,
    muted,
    panel_of_rows,
    percent,
    text_color,
    text_width,
    yes_or_no,
)
from bayesnb.core.printing import short_name

# --------------------------------------------------------------------------------------------------
# Items and annotators that a user names
# --------------------------------------------------------------------------------------------------

LISTED = 1000
"""Number of names that an error searches for near matches."""


def positions_of(argument: str, names: Any, index: pd.Index) -> np.ndarray:
    """Positions of names in an index, each once, in the order given; all positions if no names are given.

    Errors call the names `argument`, "items" or "annotators".

    Raises
    ------
    ValueError
        If there is no name, or a name is not in the index.
    """
    if names is None:
        return np.arange(len(index))
    named = pd.Index(list(names) if pd.api.types.is_list_like(names) else [names], tupleize_cols=False)
    if named.empty:
        raise ValueError(f"{argument} is empty: name one or more, or leave it out for all")
    found = index.get_indexer(named)
    if (found < 0).any():
        name = named.tolist()[int(np.argmax(found < 0))]
        raise ValueError(
            f"{argument} names {name!r}, which is not in column {index.name!r}{near_matches(name, index[:LISTED])}: "
            f"name some of {listed(index[:LISTED])}"
        )
    return pd.unique(found)


def is_point_estimate(posterior: Any) -> bool:
    """Whether nothing is known of the parameters but values, so that there are no intervals."""
    return "a distribution of the parameters" not in posterior.belief.offers


# --------------------------------------------------------------------------------------------------
# The annotators that a figure shows, and their names
# --------------------------------------------------------------------------------------------------

ORDERS = {
    "accuracy": ("accuracy", 1, "least accurate"),
    "annotations": ("num_annotations", -1, "most active"),
    None: ("", 0, "first"),
}
"""For each order: the column of the frame, its sign, and an adjective for the first annotators."""


def _first_annotators(frame: pd.DataFrame, annotators: Any, sort: str | None, **most: Any) -> tuple[np.ndarray, str]:
    """Positions of the annotators to show, in the order of the figure, and how many of how many they are, in words.

    `sort` and errors are those of `plot_annotators`; `most` is the largest number, by the name of the argument.
    """
    at = positions_of("annotators", annotators, frame.index)
    if sort not in ORDERS:
        raise ValueError(f"sort is {sort!r}: give one of {list(ORDERS)[:2]}, or None for the order of the annotators")
    column, sign, which = ORDERS[sort]
    if column:
        at = at[np.argsort(sign * frame[column].to_numpy()[at], kind="stable")]
    ((name, number),) = most.items()
    shown = at[: whole_number(name, number)]
    return shown, how_many(len(shown), len(at), "annotator", which)


def _names_of(shown: pd.DataFrame) -> list[str]:
    """The items or annotators of a frame, each with its number of annotations in brackets.

    Dates without times have no time of day, as pandas prints them.
    """
    names = shown.index.astype(str)
    return [f"{name} ({number:,})" for name, number in zip(names, shown["num_annotations"], strict=True)]


def others(labels: Sequence[Any]) -> str:
    """What several labels are called together; a single one has its own name."""
    return str(labels[0]) if len(labels) == 1 else f"{len(labels)} others"


# --------------------------------------------------------------------------------------------------
# The figure of the confusion matrices of annotators
# --------------------------------------------------------------------------------------------------

MOST_CLASSES = 8
"""Classes that are shown by default."""

NAME = 18
"""Largest number of letters in the name of a class or label."""

CELL = 0.34
"""Size of a cell, in inches."""

NARROW = 0.24
"""Least size of a cell, in inches: it fits the number 100."""

SIDE = "class of the item"
"""Label beside the panels."""

STRENGTH = 0.6
"""Strength of the colour in a cell of probability one, so that its number is readable."""


def _confusion_matrices(
    crowd: Any, annotators: np.ndarray, classes: Sequence[Any] | None, prob: float
) -> tuple[np.ndarray, np.ndarray, list[str], list[str]]:
    """The cells of some annotators; the labels of classes that are left out are one column, the last.

    Returns
    -------
    tuple of array, array, list of str and list of str
        Probabilities, shape (annotators, classes, labels); texts of intervals of the same shape, empty where there is
        none; names of the classes, and of the labels, first those of the classes in the same order.
    """
    known, own, labels = crowd.classes.tolist(), crowd.annotations.own_label, crowd.annotations.labels
    if classes is None:
        codes = highest_places(crowd.class_probs.to_numpy(), MOST_CLASSES)
    else:
        codes = chosen("classes", classes, known)
    shown = own[codes]
    if len(codes) == len(known):
        shown = np.concatenate([shown, np.setdiff1d(np.arange(len(labels)), own)])
    rest = np.setdiff1d(np.arange(len(labels)), shown)
    cells = np.ix_(annotators, codes, shown)
    mean, names = crowd.confusion.to_numpy(), [str(labels[at]) for at in shown]
    values = mean[cells]
    intervals = np.full(values.shape, "", dtype=object)
    if not is_point_estimate(crowd.posterior):
        ends = crowd.confusion_interval(prob=prob)
        lower, upper = (100 * ends[end].to_numpy()[cells] for end in ("lower", "upper"))
        for at in np.ndindex(intervals.shape):
            intervals[at] = f"{lower[at]:.0f}\N{EN DASH}{upper[at]:.0f}"
    if len(rest):
        values = np.dstack([values, mean[np.ix_(annotators, codes, rest)].sum(axis=-1)])
        intervals = np.dstack([intervals, np.full(values.shape[:2], "", dtype=object)])
        names.append(others([labels[at] for at in rest]))
    return values, intervals, [str(known[c]) for c in codes], names


def _draw_matrix(axis: Any, values: np.ndarray, below: np.ndarray) -> None:
    """The cells of a matrix with their numbers, and a frame around those of the right labels."""
    rows, columns = values.shape
    edges = [np.arange(number + 1) - 0.5 for number in (columns, rows)]
    colors = blended(STRENGTH * values[..., None], "C0")
    axis.pcolormesh(*edges, colors, edgecolors=[muted(0.4)], linewidth=0.5)
    for (row, column), value in np.ndenumerate(values):
        text = f"{100 * value:.0f}\n{below[row, column]}".strip()
        # The layout need not measure what is inside a panel.
        axis.text(column, row, text, ha="center", va="center", fontsize=TINY, in_layout=False)
    right = np.arange(rows)
    axis.bar(right, 0.94, 0.94, right - 0.47, fill=False, edgecolor=text_color(), linewidth=1.2, clip_on=False)
    axis.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    axis.tick_params(length=0)
    axis.spines["bottom"].set_visible(False)
    axis.grid(visible=False)


# --------------------------------------------------------------------------------------------------
# The figure of the items whose labels are uncertain
# --------------------------------------------------------------------------------------------------

OTHERS = HATCHES[-1]
"""Hatch of the classes that are not shown, together."""

MOST_HATCHES = len(HATCHES) - 1
"""Classes that have a hatch of their own."""


SURE = 0.9
"""The title says how many labels have a probability below this one."""


# --------------------------------------------------------------------------------------------------
# The three figures
# --------------------------------------------------------------------------------------------------


class AnnotationFigures:
    """The figures of an `AnnotationFit`, whose frames they draw."""

    def plot_annotators(
        self: Any,
        *,
        prob: float = 0.89,
        annotators: Any = None,
        sort: str | None = "accuracy",
        max_annotators: int = 30,
        ax: Any = None,
        figsize: Any = None,
    ) -> Any:
        """Accuracy of annotators (points), with intervals (bars).

        Parameters
        ----------
        prob : float, default 0.89
            Posterior probability of the interval.
        annotators : sequence or name, optional
            Annotators to show, by default all.
        sort : {"accuracy", "annotations"} or None, default "accuracy"
            The lowest accuracy first, or the most annotations first; None for the order of `annotators`, or of the
            table.
        max_annotators : int, default 30
            The first ones in this order are drawn.
        ax, figsize
            The axes to draw in, or the size of a new figure: see `plot_proba`.

        Returns
        -------
        matplotlib.figure.Figure
            A name has the number of the annotator's annotations beside it, in brackets. The dashed line is the accuracy
            of somebody who gives every item the most frequent class.

        Raises
        ------
        TypeError, ValueError
            If an annotator is unknown, or there is no such order.

        See Also
        --------
        AnnotationFit.accuracy_interval : The intervals.
        AnnotationFit.plot_confusion : Which classes an annotator confuses.
        AnnotationFit.plot_items : The items with the most uncertain labels.

        Examples
        --------
        >>> import bayesnb as nb
        >>> ratings = nb.datasets.anesthesia()
        >>> columns = {"item": "patient", "annotator": "anesthetist", "label": "rating"}
        >>> crowd = nb.fit_annotations(ratings, **columns, inference=nb.Gibbs(num_samples=2000))
        >>> figure = crowd.plot_annotators()
        """
        proportion("prob", prob)
        frame = self.annotators
        at, which = _first_annotators(frame, annotators, sort, max_annotators=max_annotators)
        shown = frame.iloc[at]
        is_point = is_point_estimate(self.posterior)
        ends = shown if is_point else self.accuracy_interval(prob=prob).iloc[at]
        most_frequent = self.class_probs
        rows = ForestPanel(
            _names_of(shown),
            [Points(shown["accuracy"], "estimate" if is_point else "posterior mean")],
            ends["lower"],
            ends["upper"],
            f"{percent(prob)} interval",
            x_label="probability of the right label",
            at=float(most_frequent.max()),
            at_label=f"label {most_frequent.idxmax()} for every item",
        )
        title = f"Accuracy of {which}\n(in brackets: number of annotations"
        title += "; a point estimate has no intervals)" if is_point else ")"
        return forest([rows], title=title, ax=ax, figsize=figsize)

    def plot_confusion(
        self: Any,
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
        prob : float, default 0.89
            Posterior probability of the intervals.
        annotators : sequence or name, optional
            Annotators to show, by default all.
        classes : sequence, optional
            Classes to show, in this order, by default up to eight, the most frequent ones. If some are left out, their
            labels share the last column.
        sort : {"annotations", "accuracy"} or None, default "annotations"
            The most annotations first, or the lowest accuracy first; None for the order of `annotators`, or of the
            table.
        max_panels : int, default 12
            The first ones in this order get a panel.
        panels_across, axes, figsize
            Panels side by side, the axes to draw in, or the size of a new figure: see `plot_densities`.

        Returns
        -------
        matplotlib.figure.Figure
            Numbers are posterior means in percent, each row adds up to 100, and a frame marks the right label. Under
            draws the interval is below the number, if the cells are wide enough. The title of a panel has the number of
            the annotator's annotations in brackets.

        Raises
        ------
        TypeError, ValueError
            If an annotator or a class is unknown, or there is no such order.

        See Also
        --------
        AnnotationFit.confusion_interval : The intervals.
        AnnotationFit.plot_annotators : Accuracy of annotators, with intervals.
        AnnotationFit.plot_items : The items with the most uncertain labels.

        Examples
        --------
        >>> import bayesnb as nb
        >>> ratings = nb.datasets.anesthesia()
        >>> columns = {"item": "patient", "annotator": "anesthetist", "label": "rating"}
        >>> crowd = nb.fit_annotations(ratings, **columns, inference=nb.Gibbs(num_samples=2000))
        >>> figure = crowd.plot_confusion()
        """
        proportion("prob", prob)
        frame = self.annotators
        at, which = _first_annotators(frame, annotators, sort, max_panels=max_panels)
        matrices, intervals, *names_of_both = _confusion_matrices(self, at, classes, prob)
        names, labels = ([short_name(name, NAME).replace("$", r"\$") for name in names] for names in names_of_both)
        beside, widest = (max(text_width(name, TINY) for name in texts) for texts in (names, labels))
        interval = max(text_width(text, TINY) for text in np.unique(intervals)) + 0.06
        rows, columns = matrices.shape[1:]
        panels = grid_of_panels(
            len(at),
            axes=axes,
            figsize=figsize,
            panels_across=panels_across,
            width=max(1.6, 0.5 + beside + columns * max(CELL, interval)),
            narrowest=max(1.0, 0.2 + beside + columns * NARROW),
        )
        if not panels.given:
            panels.panel_width -= beside / panels.across + 0.1
        cell = panels.panel_width / columns
        with_intervals = 0.06 < interval <= cell
        upright = widest > cell
        lines = rows * ((1 + with_intervals) * line_height(TINY) + 0.02)
        panels.set_height(max(rows * CELL, lines, text_width(SIDE, SMALL) / -(-len(at) // panels.across)))
        for panel, values in enumerate(matrices):
            axis = panels.axes[panel]
            _draw_matrix(axis, values, intervals[panel] if with_intervals else np.full(values.shape, ""))
            first, lowest = panel % panels.across == 0, panel + panels.across >= len(at)
            axis.set_yticks(np.arange(rows), names if first else [""] * rows, fontsize=TINY)
            below = labels if lowest else [""] * columns
            axis.set_xticks(np.arange(columns), below, fontsize=TINY, rotation=90 if upright else 0)
        panels.heads(_names_of(frame.iloc[at]))
        below = f"; below a mean: {percent(prob)} interval" * with_intervals
        panels.title(f"Confusion matrices in percent: {which}\n(in brackets: number of annotations{below})")
        panels.x_label("label given by the annotator")
        panels.y_label(SIDE)
        return panels.drawn()

    def plot_items(
        self: Any,
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
        items : sequence or name, optional
            Items to show, by default all.
        classes : sequence, optional
            Classes to show, up to seven; the others share one part of the bar. By default all of up to seven classes,
            and else those that are the most probable in the items that are shown.
        sort : bool, default True
            The largest entropy first; otherwise in the order of `items`, or of the table.
        max_items : int, default 20
            The first ones in this order are drawn.
        ax, figsize
            The axes to draw in, or the size of a new figure: see `plot_proba`.

        Returns
        -------
        matplotlib.figure.Figure
            A name has the number of the item's annotations beside it, in brackets.

        Raises
        ------
        TypeError, ValueError
            If an item or class is unknown, or there are more than seven classes.

        See Also
        --------
        AnnotationFit : The numbers of the picture, in its frames ``items`` and ``proba``.
        AnnotationFit.plot_annotators : Accuracy of annotators.
        AnnotationFit.plot_confusion : Which classes an annotator confuses.

        Examples
        --------
        >>> import bayesnb as nb
        >>> ratings = nb.datasets.anesthesia()
        >>> columns = {"item": "patient", "annotator": "anesthetist", "label": "rating"}
        >>> crowd = nb.fit_annotations(ratings, **columns, inference=nb.Gibbs(num_samples=2000))
        >>> figure = crowd.plot_items(max_items=10)
        """
        frame = self.items
        at = positions_of("items", items, frame.index)
        number, below = len(at), int((frame["probability"].iloc[at] < SURE).sum())
        if yes_or_no("sort", sort):
            at = at[np.argsort(-frame["entropy"].to_numpy()[at], kind="stable")]
        at = at[: whole_number("max_items", max_items)]
        shown, proba = frame.iloc[at], self.proba.to_numpy()[at]
        codes = highest_places(proba.sum(axis=0), MOST_HATCHES)
        if classes is not None:
            codes = chosen("classes", classes, self.classes.tolist(), most=MOST_HATCHES)
        panels = panel_of_rows(_names_of(shown), ax=ax, figsize=figsize, row_height=0.24)
        axis, rows, left = panels.axes[0], np.arange(len(at)), np.zeros(len(at))
        entries = []
        parts: list[tuple[np.ndarray, str, Any, str]] = [
            (proba[:, c], str(self.classes[c]), ("C" + str(i), 0.6), HATCHES[i]) for i, c in enumerate(codes)
        ]
        rest = np.setdiff1d(np.arange(len(self.classes)), codes)
        if len(rest):
            parts.append((proba[:, rest].sum(axis=1), others(self.classes[rest].tolist()), muted(0.25), OTHERS))
        for width, label, color, hatch in parts:
            look = {"facecolor": color, "hatch": hatch, "edgecolor": text_color(), "linewidth": 0.8}
            entries.append((axis.barh(rows, width, left=left, height=0.66, zorder=2, **look), label))
            left = left + width
        axis.set_xlim(0.0, 1.0)
        panels.x_label("probability of the class")
        which = how_many(len(at), number, "item", "most uncertain" if sort else "first")
        panels.title(
            f"Labels of {which}\n({below:,} of {'all ' * (items is None)}{number:,} labels have a probability below "
            f"{percent(SURE)}; in brackets: number of annotations)"
        )
        panels.legend(entries)
        return panels.drawn()
