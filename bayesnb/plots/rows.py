"""Figures of rows: log odds and class probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.core.checking import proportion, warns_once, whole_number
from bayesnb.core.forest import Points, Rows, forest, how_many
from bayesnb.core.panels import (
    MARKERS,
    TINY,
    Panels,
    background,
    chosen,
    line_height,
    muted,
    panel_of_rows,
    percent,
    shorten_to,
    yes_or_no,
)
from bayesnb.data.labels import encode_labels, learn_classes
from bayesnb.data.read import as_table, split_labels
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.kinds import PointPosterior
from bayesnb.posterior.weighted import Fitted, posterior_of

__all__ = ["first_rows", "plot_log_odds", "plot_proba"]

# --------------------------------------------------------------------------------------------------
# The rows of a table that a figure shows, and their names
# --------------------------------------------------------------------------------------------------


def first_rows(X: Any, max_rows: int) -> tuple[Any, int, int]:
    """The first rows of a table, their number and the number of all rows.

    Raises
    ------
    ValueError
        If there is no row.
    """
    shown, rows = whole_number("max_rows", max_rows), as_table(X).num_rows
    if rows == 0:
        raise ValueError("X has no rows: give at least one")
    if rows <= shown:
        return X, rows, rows
    if hasattr(X, "head"):
        return X.head(shown), shown, rows
    return (X.tocsr() if hasattr(X, "tocsr") else X)[:shown], shown, rows


def names_of_rows(X: Any, labels: Sequence[Any] | None, shown: int, rows: int) -> list[str]:
    """Text beside each row that is shown: its label; without labels its index in a pandas table, or its position.

    Raises
    ------
    ValueError
        If there is not one label for each row of the table.
    """
    if labels is None:
        return [str(row) for row in (X.index[:shown] if isinstance(X, pd.DataFrame) else range(shown))]
    names = list(labels)
    if isinstance(labels, str) or len(names) != rows:
        raise ValueError(f"labels has {len(names)} entries, X has {rows} rows: give one label for each row")
    return [str(name) for name in names[:shown]]


# --------------------------------------------------------------------------------------------------
# The figure of log odds: how strongly each row favours one class over another
# --------------------------------------------------------------------------------------------------


@warns_once
def plot_log_odds(
    posterior: Posterior | Fitted,
    X: Any,
    y: Any = None,
    *,
    classes: tuple[Any, Any] | None = None,
    prob: float = 0.89,
    labels: Sequence[Any] | None = None,
    sort: bool = False,
    max_rows: int = 60,
    num_draws: int | None = None,
    num_chains: int | None = None,
    key: Any = 0,
    ax: Any = None,
    figsize: Any = None,
) -> Any:
    """Log odds of one class against another for each row (points), with credible intervals (bars).

    The figure of Mosteller and Wallace (1964), *Inference and Disputed Authorship: The Federalist*. A point is the
    difference of two columns of `Posterior.predict_log_proba`, with the parameters integrated out. The bar is the
    equal-tailed interval of the same difference under single draws of the parameters, and the stroke on it their
    median. A point may be outside its bar, mostly on the side of zero: the densities are averaged over the draws, and
    not their logarithms. The draws under which a row is plausible dominate such an average, most of all in a class with
    few data.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
        A point estimate has no interval: only its points are shown.
    X : table, shape (rows, columns)
    y : labels of shape (rows,) or str, optional
        True labels, shown by markers. They need not be classes: rows of unknown label may be called "disputed".
    classes : pair of labels, optional
        The class on the right, and the one on the left. By default the two that are most probable on average over the
        rows that are shown, the later one of `Posterior.classes` on the right.
    prob : float, default 0.89
        Posterior probability of the interval.
    labels : sequence, shape (rows,), optional
        Text beside each row; by default its index in a pandas table, and else its position.
    sort : bool, default False
        Whether to put the rows that are shown in the order of their log odds, the largest at the top.
    max_rows : int, default 60
        The first rows that are shown.
    num_draws, num_chains, key
        As for `Posterior.log_joint_draws`.
    ax : matplotlib axes, optional
        Where to draw; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the rows.

    Returns
    -------
    matplotlib.figure.Figure
        Infinite log odds, which only point estimates have, are arrow heads at the ends of the axis.

    Raises
    ------
    TypeError, ValueError
        If there is one class only, a class is unknown, there are no rows, `y` or `labels`
        does not fit them, or `ax` and `figsize` do not fit.

    See Also
    --------
    Posterior.log_joint_draws : The log densities under draws.
    plot_proba : Class probabilities of rows with intervals.
    plot_evidence : The log odds of one row, feature by feature.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.plot_log_odds(posterior, X, y, classes=("Adelie", "Chinstrap"), max_rows=20)
    """
    posterior = posterior_of(posterior)
    pair = None if classes is None else _pair(posterior, classes)
    proportion("prob", prob)
    X, y = split_labels(X, y)
    table, shown, rows = first_rows(X, max_rows)
    names = names_of_rows(X, labels, shown, rows)
    log_proba = posterior.predict_log_proba(table)
    right, left = _most_probable(log_proba, posterior.classes) if pair is None else pair
    truth, kinds = _kinds(y, rows, posterior.classes[[right, left]].tolist())
    with np.errstate(invalid="ignore"):
        values = log_proba[:, right] - log_proba[:, left]
    order = np.argsort(-values, kind="stable") if yes_or_no("sort", sort) else np.arange(shown)
    number = how_many(shown, rows, "row", "first")
    middle: list[Points] = []
    ends, interval = (None, None), ""
    if isinstance(posterior, PointPosterior):
        remark = "no bars: a point estimate has no interval"
    else:
        joint = posterior.log_joint_draws(table, num_draws=num_draws, num_chains=num_chains, key=key)
        levels = [(1 - prob) / 2, 0.5, (1 + prob) / 2]
        low, median, high = np.quantile(joint[..., right] - joint[..., left], levels, axis=(0, 1))[:, order]
        ends, interval = (low, high), f"{percent(prob)} interval of the log odds under single draws, with their median"
        middle = [Points(median, "", "|", "B2")]
        remark = "points: parameters integrated out, sometimes outside the bar"
    values, truth = values[order], truth[:shown][order]
    marks = [
        Points(np.where(truth == i, values, np.nan), text, MARKERS[i], f"C{i}", filled=i == 0)
        for i, text in enumerate(kinds)
    ]
    favoured = [f"y = {posterior.classes[each]}" for each in (right, left)]
    panel = Rows(
        [names[row] for row in order],
        middle + marks,
        *ends,
        interval,
        x_label=f"log odds, {favoured[0]} (right) against {favoured[1]} (left)",
        at=0.0,
    )
    if np.isinf(values).any():
        remark += "; arrow heads: infinite"
    return forest([panel], title=f"Log odds of {number}\n({remark})", ax=ax, figsize=figsize)


def _most_probable(log_proba: np.ndarray, classes: np.ndarray) -> tuple[int, int]:
    """Positions of the two classes that are most probable on average, the later one first."""
    if len(classes) < 2:
        raise ValueError(
            f"there is one class, {classes.tolist()[0]!r}: log odds need two, so fit with labels of another"
        )
    ranked = np.argsort(-np.exp(log_proba).mean(axis=0), kind="stable")
    return int(max(ranked[:2])), int(min(ranked[:2]))


def _pair(posterior: Posterior, classes: tuple[Any, Any]) -> tuple[int, int]:
    """Positions of the class on the right and of that on the left."""
    known = posterior.classes.tolist()
    pair = [classes] if isinstance(classes, str) else list(classes)
    if len(pair) != 2 or pair[0] == pair[1] or any(label not in known for label in pair):
        raise ValueError(f"classes is {classes!r}: give two different ones of {known}")
    return known.index(pair[0]), known.index(pair[1])


def _kinds(y: Any, rows: int, pair: list[Any]) -> tuple[np.ndarray, list[str]]:
    """The kind of each row by its label, and what the legend says of each, the pair first; one kind without labels."""
    if y is None:
        return np.zeros(rows, dtype=np.intp), [""]
    found = learn_classes(y, rows)
    place = [pair.index(label) if label in pair else len(pair) for label in found.tolist()]
    order = np.argsort(place, kind="stable")
    if len(found) > len(MARKERS):
        raise ValueError(
            f"y holds {len(found)} different labels, more than the eye tells apart: give one name, such as 'another', "
            f"to those beside {pair}"
        )
    return np.argsort(order)[encode_labels(y, rows, found)], [f"y = {label}" for label in found[order]]


# --------------------------------------------------------------------------------------------------
# The figure of class probabilities: a point and a credible interval for each row and class
# --------------------------------------------------------------------------------------------------

MOST_PROBABLE = 3
"""Classes of each row that are shown by default."""

MARKED = 0.8
"""Share of a row's height that its marks take."""

OTHERS = -1
"""In the place of a class: all classes that are not shown, together."""


@dataclass(frozen=True)
class _Marks:
    """The probabilities that are drawn in each row.

    Attributes
    ----------
    codes : array, shape (rows, marks)
        Positions of classes, or `OTHERS`.
    points : array, shape (rows, marks)
    ends : array of shape (rows, marks, 2), or None
        Intervals; None for a point estimate.
    """

    codes: np.ndarray
    points: np.ndarray
    ends: np.ndarray | None


@warns_once
def plot_proba(
    posterior: Posterior | Fitted,
    X: Any,
    y: Any = None,
    *,
    prob: float = 0.89,
    classes: Sequence[Any] | None = None,
    labels: Sequence[Any] | None = None,
    sort: bool = False,
    max_rows: int = 30,
    num_draws: int | None = None,
    num_chains: int | None = None,
    key: Any = 0,
    ax: Any = None,
    figsize: Any = None,
) -> Any:
    """Class probabilities of each row (points), with credible intervals (bars).

    A point is `Posterior.predict_proba`, with the parameters integrated out. The bar beside it is the equal-tailed
    interval of the probability under single draws of the parameters, as in `Posterior.proba_interval`. A long bar shows
    that more data could change the answer. A point near one half with a short bar shows that they would not.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
        A point estimate has no interval: only its points are shown.
    X : table, shape (rows, columns)
    y : labels of shape (rows,) or str, optional
        True labels: the point of a row's true class is filled, the others are open.
    prob : float, default 0.89
        Posterior probability of the interval.
    classes : sequence, optional
        Classes to show, up to eight. By default all of two or three, but only the second of two, whose probabilities
        add up to one. Of more classes each row shows its three most probable ones by name, and the sum of the others.
    labels : sequence, shape (rows,), optional
        Text beside each row; by default its index in a pandas table, and else its position.
    sort : bool, default False
        Whether to put the rows in the order of their largest probability, the most certain at the top.
    max_rows : int, default 30
        The first rows that are shown.
    num_draws, num_chains, key
        As for `Posterior.proba_draws`.
    ax : matplotlib axes, optional
        Where to draw; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the rows.

    Returns
    -------
    matplotlib.figure.Figure
        The new figure, or that of `ax`.

    Raises
    ------
    TypeError, ValueError
        If there are no rows, `y` or `labels` does not fit them, a class is unknown, there are more than eight classes,
        or `ax` and `figsize` do not fit.

    See Also
    --------
    Posterior.predict_proba : Class probabilities.
    Posterior.proba_interval : The intervals.
    plot_log_odds : Log odds of rows with intervals.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.plot_proba(posterior, X, y, max_rows=10, sort=True)
    """
    posterior = posterior_of(posterior)
    proportion("prob", prob)
    shown_classes = _classes(posterior, classes)
    X, y = split_labels(X, y)
    table, shown, rows = first_rows(X, max_rows)
    names = names_of_rows(X, labels, shown, rows)
    truth = None if y is None else encode_labels(y, rows, posterior.classes)[:shown]
    points = posterior.predict_proba(table)
    order = np.argsort(-points.max(axis=1), kind="stable") if yes_or_no("sort", sort) else np.arange(shown)
    draws = None
    if not isinstance(posterior, PointPosterior):
        draws = posterior.proba_draws(table, num_draws=num_draws, num_chains=num_chains, key=key)[..., order, :]
    marks = _marks(points[order], draws, shown_classes, prob)
    truth = None if truth is None else truth[order]

    number = marks.codes.shape[1]
    named = shown_classes is None
    height = 0.12 + number * (line_height(TINY) if named else 0.13)
    least = number * line_height(TINY) / MARKED if named else 0.0
    panels = panel_of_rows([names[row] for row in order], ax=ax, figsize=figsize, row_height=height, least=least)
    at = np.arange(shown)[:, None] + MARKED * ((np.arange(number) + 0.5) / number - 0.5)
    if named:
        entries = _draw_named(panels, marks, at, truth, posterior.classes.tolist())
    else:
        entries = _draw_by_class(panels, marks, at, truth, posterior.classes.tolist())
    if truth is not None:
        entries += [_example(muted(0.7), "o", "the row's true class"), _example(muted(0.7), "o", "another", face=None)]
    panels.axes[0].set_xlim(-0.02, 1.02)
    panels.x_label(f"p(y = {posterior.classes[marks.codes[0, 0]]} | x)" if number == 1 else "p(y | x)")
    bars = "no bars: a point estimate has no interval" if draws is None else f"bars: {percent(prob)} interval"
    which = how_many(shown, rows, "row", "first")
    few = f", the {MOST_PROBABLE} most probable of {len(posterior.classes)} classes in each" if named else ""
    panels.title(f"Class probabilities of {which}{few}\n({bars})")
    if len(entries) > 1:
        panels.legend(entries)
    return panels.drawn()


def _classes(posterior: Posterior, classes: Sequence[Any] | None) -> list[int] | None:
    """Positions of the classes to show; None for the most probable of each row."""
    number = len(posterior.classes)
    if classes is not None:
        return chosen("classes", classes, posterior.classes.tolist(), most=len(MARKERS))
    if number <= MOST_PROBABLE:
        return [1] if number == 2 else list(range(number))
    return None


def _marks(points: np.ndarray, draws: np.ndarray | None, classes: list[int] | None, prob: float) -> _Marks:
    """The probabilities of the classes to show, and of the others together where these are the most probable ones."""
    rows = len(points)
    if classes is not None:
        codes = np.tile(classes, (rows, 1))
    else:
        codes = np.argsort(-points, axis=1, kind="stable")[:, :MOST_PROBABLE]

    def of_marks(probs: np.ndarray) -> np.ndarray:
        """Shape (..., rows, classes) to (..., rows, marks)."""
        own = np.take_along_axis(probs, np.broadcast_to(codes, (*probs.shape[:-1], codes.shape[1])), axis=-1)
        if classes is not None:
            return own
        # The sum of the others, and not one minus the sum of these: it may be tiny.
        others = probs.copy()
        np.put_along_axis(others, np.broadcast_to(codes, own.shape), 0.0, axis=-1)
        return np.concatenate([own, others.sum(axis=-1, keepdims=True)], axis=-1)

    ends = None
    if draws is not None:
        levels = [(1 - prob) / 2, (1 + prob) / 2]
        ends = np.moveaxis(np.quantile(of_marks(draws), levels, axis=(0, 1)), 0, -1)
    shown = codes if classes is not None else np.column_stack([codes, np.full(rows, OTHERS)])
    return _Marks(shown, of_marks(points), ends)


def _draw_by_class(
    panels: Panels, marks: _Marks, at: np.ndarray, truth: np.ndarray | None, classes: list[Any]
) -> list[tuple[Any, str]]:
    """A marker and a colour for each class; what the legend says of them."""
    entries = []
    for i, code in enumerate(marks.codes[0]):
        filled = np.ones(len(at), dtype=bool) if truth is None else truth == code
        _draw(panels.axes[0], marks, i, at[:, i], filled, color=f"C{i}", marker=MARKERS[i])
        line = "none" if marks.ends is None else "-"
        entries.append(_example(f"C{i}", MARKERS[i], f"y = {classes[code]}", line=line))
    return entries


def _draw_named(
    panels: Panels, marks: _Marks, at: np.ndarray, truth: np.ndarray | None, classes: list[Any]
) -> list[tuple[Any, str]]:
    """The name of its class beside each point; nothing is left for the legend to say."""
    number = marks.codes.shape[1]
    for i in range(number):
        codes = marks.codes[:, i]
        others = i == number - 1
        if truth is None:
            filled = np.ones(len(at), dtype=bool)
        else:
            filled = ~(truth[:, None] == marks.codes[:, :-1]).any(axis=1) if others else truth == codes
        color, marker = (muted(0.6), "|") if others else (f"C{i}", MARKERS[i])
        _draw(panels.axes[0], marks, i, at[:, i], filled, color=color, marker="o" if others else marker)
        for row, code in enumerate(codes):
            name = f"{len(classes) - number + 1} others" if code == OTHERS else str(classes[code])
            _name(panels, marks, row, i, at[row, i], name)
    return []


def _name(panels: Panels, marks: _Marks, row: int, i: int, at: float, name: str) -> None:
    """A name on the side of a point that has more space."""
    ends = [marks.points[row, i]] if marks.ends is None else [marks.points[row, i], *marks.ends[row, i]]
    right = 1 - max(ends) >= min(ends)
    beside = (max(ends), 6) if right else (min(ends), -6)
    space = max(0.4, panels.panel_width * max(1 - max(ends), min(ends)) - 0.15)
    panels.axes[0].annotate(
        shorten_to(name, space, TINY),
        (beside[0], at),
        (beside[1], 0),
        textcoords="offset points",
        ha="left" if right else "right",
        va="center",
        fontsize=TINY,
    )


def _draw(axis: Any, marks: _Marks, i: int, at: np.ndarray, filled: np.ndarray, *, color: Any, marker: str) -> None:
    """The points of all rows in one place of each row, and their intervals."""
    from bayesnb.core.picture import to_rgb

    if marks.ends is not None:
        axis.hlines(at, marks.ends[:, i, 0], marks.ends[:, i, 1], color=color, linewidth=1.6, zorder=2)
    faces = np.where(filled[:, None], to_rgb(color), background())
    axis.scatter(marks.points[:, i], at, s=26, marker=marker, c=faces, edgecolors=[to_rgb(color)], zorder=3)


def _example(color: Any, marker: str, text: str, *, line: Any = "none", face: Any = "own") -> tuple[Any, str]:
    """An entry of the legend."""
    from bayesnb.core.picture import Line2D

    handle = Line2D([], [], color=color, marker=marker, markersize=5, linestyle=line)
    if face is None:
        handle.set_markerfacecolor(background())
    return handle, text
