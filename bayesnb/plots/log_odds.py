"""The figure of log odds: how strongly each row favours one class over another."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesnb.pictures.choices import yes_or_no
from bayesnb.pictures.forest import Points, Rows, forest
from bayesnb.pictures.rows import first_rows, names_of_rows
from bayesnb.pictures.shown import how_many
from bayesnb.pictures.style import MARKERS
from bayesnb.pictures.text import percent
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.fitted import Fitted, posterior_of
from bayesnb.posterior.point import PointPosterior
from bayesnb.tables.label_column import split_labels
from bayesnb.tables.labels import encode_labels, learn_classes
from bayesnb.validate import proportion
from bayesnb.warn import warns_once

__all__ = ["plot_log_odds"]


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
    backend: str = "matplotlib",
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
    backend : {"matplotlib", "bokeh", "plotly"}, default "matplotlib"
        Library that draws.
    ax : matplotlib axes, optional
        Where to draw; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the rows.

    Returns
    -------
    matplotlib.figure.Figure or arviz_plots.PlotCollection
        Infinite log odds, which only point estimates have, are arrow heads at the ends of the axis. Other backends than
        matplotlib give the collection, which has ``show()`` and ``savefig(path)``.

    Raises
    ------
    ModuleNotFoundError
        If the backend is not installed.
    TypeError, ValueError
        If there is one class only, a class is unknown, there are no rows, `y` or `labels`
        does not fit them, or `backend`, `ax` and `figsize` do not fit.

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
    return forest([panel], title=f"Log odds of {number}\n({remark})", backend=backend, ax=ax, figsize=figsize)


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
