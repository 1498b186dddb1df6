"""Figures of rows: evidence, log odds and class probabilities."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.core.checking import is_one_of, proportion, warns_once, whole_number
from bayesnb.core.forest import ForestPanel, Points, forest, how_many
from bayesnb.core.panels import MARKERS, chosen, percent, yes_or_no
from bayesnb.core.printing import short_name
from bayesnb.data.labels import read_labels
from bayesnb.data.read import as_row, as_table, split_labels
from bayesnb.posterior.belief import offers
from bayesnb.posterior.kinds import Fitted, posterior_of
from bayesnb.posterior.posterior import Posterior

# --------------------------------------------------------------------------------------------------
# The rows that a figure shows, and their names
# --------------------------------------------------------------------------------------------------


def _first_rows(X: Any, y: Any, labels: Sequence[Any] | None, max_rows: int) -> tuple[Any, Any, list[str], int]:
    """The first rows of a table, the labels of all rows, the text beside each row that is shown, and their number.

    The text is the row's label; without labels its index in a pandas table, or its position.
    """
    X, y = split_labels(X, y)
    shown, rows = whole_number("max_rows", max_rows), as_table(X).num_rows
    if rows == 0:
        raise ValueError("X has no rows: give at least one")
    names: Any = X.index if isinstance(X, pd.DataFrame) else range(rows)
    if labels is not None:
        names = list(labels)
        if isinstance(labels, str) or len(names) != rows:
            raise ValueError(f"labels has {len(names)} entries, X has {rows} rows: give one label for each row")
    if rows > shown:
        X = X.head(shown) if hasattr(X, "head") else (X.tocsr() if hasattr(X, "tocsr") else X)[:shown]
    return X, y, [str(name) for name in names[:shown]], rows


# --------------------------------------------------------------------------------------------------
# The figure of one row's evidence: what each feature contributes to the log odds of two classes
# --------------------------------------------------------------------------------------------------


def plot_evidence(
    posterior: Posterior | Fitted,
    X_row: Any,
    class_: Any = None,
    against: Any = None,
    *,
    unit: str = "nats",
    prob: float = 0.89,
    words: bool = True,
    max_features: int = 15,
    sort: bool = True,
    num_draws: int | None = None,
    key: Any = 0,
    ax: Any = None,
    figsize: Any = None,
) -> Any:
    """Log odds of two classes in one row, a bar for each feature and their sum at the bottom.

    A picture of `Posterior.explain`.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
        A point estimate has no intervals: only its bars are drawn.
    X_row, class_, against, unit, prob, num_draws, key
        As for `Posterior.explain`.
    words : bool, default True
        Whether each word of a count vector has a bar, rather than the whole vector one.
    max_features : int, default 15
        The features with the largest log odds, in absolute value, have a bar each; the others share one.
    sort : bool, default True
        The largest first; otherwise in the order of the table.
    ax, figsize
        The axes to draw in, or the size of a new figure: see `plot_proba`.

    Returns
    -------
    matplotlib.figure.Figure
        Filled bars to the right support `class_`, and hatched bars to the left `against`. Thin lines are intervals.
        Each feature has its cell beside it, a word the number of times it occurs. An infinite bar, which only point
        estimates have, ends in an arrow head.

    Raises
    ------
    TypeError, ValueError
        As for `Posterior.explain`.

    See Also
    --------
    Posterior.explain : The numbers of the picture.
    plot_log_odds : Log odds of rows with intervals.
    telling_features : The values that favour a class most.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.plot_evidence(posterior, X.iloc[[0]], "Adelie", "Chinstrap", unit="decibans")
    """
    found = posterior_of(posterior).explain(
        as_row(X_row), class_, against, unit=unit, prob=prob, words=words, num_draws=num_draws, key=key
    )
    return found.plot(max_features=max_features, sort=sort, ax=ax, figsize=figsize)


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
    ax, figsize
        The axes to draw in, or the size of a new figure: see `plot_proba`.

    Returns
    -------
    matplotlib.figure.Figure
        Infinite log odds, which only point estimates have, are arrow heads at the ends of the axis.

    Raises
    ------
    TypeError, ValueError
        If there is one class only, a class is unknown, there are no rows, or `y` or `labels` does not fit them.

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
    pair = None if classes is None else _pair_of_classes(posterior, classes)
    proportion("prob", prob)
    table, y, names, rows = _first_rows(X, y, labels, max_rows)
    shown = len(names)
    log_proba = posterior.predict_log_proba(table)
    right, left = _most_probable(log_proba, posterior.classes) if pair is None else pair
    truth, kinds = _kinds(y, rows, posterior.classes[[right, left]].tolist())
    with np.errstate(invalid="ignore"):
        values = log_proba[:, right] - log_proba[:, left]
    order = np.argsort(-values, kind="stable") if yes_or_no("sort", sort) else np.arange(shown)
    number = how_many(shown, rows, "row", "first")
    middle: list[Points] = []
    ends, interval = (None, None), ""
    if not offers(posterior, "a distribution of the parameters"):
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
    panel = ForestPanel(
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


def _pair_of_classes(posterior: Posterior, classes: tuple[Any, Any]) -> tuple[int, int]:
    """Positions of the class on the right and of that on the left."""
    known = posterior.classes.tolist()
    pair = [classes] if isinstance(classes, str) else list(classes)
    if len(pair) != 2 or not all(is_one_of(label, known) for label in pair) or pair[0] == pair[1]:
        raise ValueError(f"classes is {classes!r}: give two different ones of {known}")
    return known.index(pair[0]), known.index(pair[1])


def _kinds(y: Any, rows: int, pair: list[Any]) -> tuple[np.ndarray, list[str]]:
    """The kind of each row by its label, and its legend entry, the pair first; one kind without labels."""
    if y is None:
        return np.zeros(rows, dtype=np.intp), [""]
    labels = read_labels(y, rows)
    found = labels.classes()
    place = [pair.index(label) if label in pair else len(pair) for label in found.tolist()]
    order = np.argsort(place, kind="stable")
    if len(found) > len(MARKERS):
        raise ValueError(
            f"y holds {len(found)} different labels, more than the eye tells apart: give one name, such as 'another', "
            f"to those beside {pair}"
        )
    return np.argsort(order)[labels.codes(found)], [f"y = {label}" for label in found[order]]


# --------------------------------------------------------------------------------------------------
# The figure of class probabilities: a point and a credible interval for each row and class
# --------------------------------------------------------------------------------------------------

MOST_PROBABLE = 3
"""Default number of classes shown for each row."""

MARKED = 0.8
"""Share of a row's height for its markers."""

NAME = 36
"""Largest number of letters in the name of a row and class."""

MARK = 0.13
"""Vertical space per marker, in inches, when a row has several."""


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
    shown_classes = _classes_to_show(posterior, classes)
    table, y, names, rows = _first_rows(X, y, labels, max_rows)
    shown = len(names)
    truth = None if y is None else read_labels(y, rows).codes(posterior.classes)[:shown]
    points = posterior.predict_proba(table)
    order = np.argsort(-points.max(axis=1), kind="stable") if yes_or_no("sort", sort) else np.arange(shown)
    points, names = points[order], [names[row] for row in order]
    named, known = shown_classes is None, posterior.classes.tolist()
    codes = np.argsort(-points, axis=1, kind="stable")[:, :MOST_PROBABLE]
    if shown_classes is not None:
        codes = np.tile(shown_classes, (shown, 1))
    values, number = _of_codes(points, codes, others=named), codes.shape[1]
    filled = np.ones(values.shape, dtype=bool)
    if truth is not None:
        filled = truth[order, None] == codes
        filled = np.column_stack([filled, ~filled.any(axis=1)]) if named else filled
    ends, bars = None, "no bars: a point estimate has no interval"
    if offers(posterior, "a distribution of the parameters"):
        draws = posterior.proba_draws(table, num_draws=num_draws, num_chains=num_chains, key=key)[..., order, :]
        levels = [(1 - prob) / 2, (1 + prob) / 2]
        ends = np.quantile(_of_codes(draws, codes, others=named), levels, axis=(0, 1))
        bars = f"bars: {percent(prob)} interval"
    if named:
        others = f"{len(known) - number} others"
        of_rows = [[*(known[code] for code in row), others] for row in codes]
        names = [
            short_name(f"{name}, {label}", NAME)
            for name, of_row in zip(names, of_rows, strict=True)
            for label in of_row
        ]
        marks = [Points(values.ravel(), filled=filled.ravel(), ends=None if ends is None else ends.reshape(2, -1))]
    else:
        texts = [f"y = {known[code]}" if number > 1 or truth is not None else "" for code in codes[0]]
        shifts = MARKED * ((np.arange(number) + 0.5) / number - 0.5)
        marks = [
            Points(values[:, i], text, MARKERS[i], f"C{i}", filled[:, i], None if ends is None else ends[..., i], shift)
            for i, (text, shift) in enumerate(zip(texts, shifts, strict=True))
        ]
    kinds = [Points([], "the row's true class"), Points([], "another", filled=False)]
    panel = ForestPanel(
        names,
        marks,
        x_label=f"p(y = {known[codes[0, 0]]} | x)" if values.shape[1] == 1 else "p(y | x)",
        limits=(-0.02, 1.02),
        height=0.12 + MARK * (1 if named else number),
        examples=() if truth is None else kinds,
    )
    few = f", the {MOST_PROBABLE} most probable of {len(known)} classes in each" if named else ""
    title = f"Class probabilities of {how_many(shown, rows, 'row', 'first')}{few}\n({bars})"
    return forest([panel], title=title, ax=ax, figsize=figsize)


def _classes_to_show(posterior: Posterior, classes: Sequence[Any] | None) -> list[int] | None:
    """Positions of the classes to show; None for the most probable of each row."""
    number = len(posterior.classes)
    if classes is not None:
        return chosen("classes", classes, posterior.classes.tolist(), most=len(MARKERS))
    if number <= MOST_PROBABLE:
        return [1] if number == 2 else list(range(number))
    return None


def _of_codes(probs: np.ndarray, codes: np.ndarray, *, others: bool) -> np.ndarray:
    """The probabilities of some classes of each row, shape (..., rows, marks), and the sum of the others if asked."""
    at = np.broadcast_to(codes, (*probs.shape[:-1], codes.shape[1]))
    own = np.take_along_axis(probs, at, axis=-1)
    if not others:
        return own
    # Sum the others rather than subtract from one: the sum may be tiny.
    rest = probs.copy()
    np.put_along_axis(rest, at, 0.0, axis=-1)
    return np.concatenate([own, rest.sum(axis=-1, keepdims=True)], axis=-1)
