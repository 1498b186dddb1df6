"""The figure of class probabilities: a point and a credible interval for each row and class."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesnb.pictures.layout import MARKERS, first_rows, legend, make_room, names_of_rows, row_axis, wrap
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.fitted import Fitted, posterior_of
from bayesnb.posterior.point import PointPosterior
from bayesnb.tables.label_column import split_labels
from bayesnb.tables.labels import encode_labels
from bayesnb.warn import warns_once

__all__ = ["plot_proba"]


@warns_once
def plot_proba(
    posterior: Posterior | Fitted,
    X: Any,
    y: Any = None,
    *,
    prob: float = 0.89,
    classes: Sequence[Any] | None = None,
    labels: Sequence[Any] | None = None,
    max_rows: int = 30,
    num_draws: int | None = None,
    num_chains: int | None = None,
    key: Any = 0,
) -> Any:
    """Class probabilities of each row (points), with credible intervals (bars).

    A point is `Posterior.predict_proba`, with the parameters integrated out; the bar beside it is the equal-tailed
    interval of the probability under single draws of the parameters, `Posterior.proba_interval`. A long bar shows that
    more data could change the answer. A point near one half with a short bar shows that they would not.

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
        Classes to show; by default all, but only the second of two, whose probabilities add up to one.
    labels : sequence, shape (rows,), optional
        Text beside each row; by default its position.
    max_rows : int, default 30
        The first rows that are shown.
    num_draws, num_chains, key
        As for `Posterior.proba_interval`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there are no rows, `y` or `labels` does not fit them, a class is unknown, or there are more classes than
        markers.

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
    >>> figure = nb.plot_proba(posterior, X[::50], y[::50])
    """
    from bayesnb.pictures.picture import Line2D

    posterior = posterior_of(posterior)
    shown_classes = _codes(posterior, classes)
    X, y = split_labels(X, y)
    table, shown, rows = first_rows(X, max_rows)
    names = names_of_rows(labels, shown, rows)
    truth = None if y is None else encode_labels(y, rows, posterior.classes)[:shown]
    points = posterior.predict_proba(table)
    point_only = isinstance(posterior, PointPosterior)
    if not point_only:
        ends = posterior.proba_interval(table, prob=prob, num_draws=num_draws, num_chains=num_chains, key=key)

    figure, axis = row_axis(names, row_height=0.12 + 0.13 * len(shown_classes), width=6.4)
    entries = []
    for i, code in enumerate(shown_classes):
        at = np.arange(shown) + 0.8 * ((i + 0.5) / len(shown_classes) - 0.5)
        color = f"C{i}"
        if not point_only:
            axis.hlines(at, ends[:, code, 0], ends[:, code, 1], color=color, linewidth=1.6, zorder=2)
        filled = np.ones(shown, dtype=bool) if truth is None else truth == code
        faces = np.where(filled, color, "white")
        axis.scatter(points[:, code], at, s=26, marker=MARKERS[i], c=faces, edgecolors=color, zorder=3)
        handle = Line2D([], [], color=color, marker=MARKERS[i], markersize=5, linestyle="none" if point_only else "-")
        entries.append((handle, f"y = {posterior.classes[code]}"))
    if truth is not None:
        for face, text in (("0.3", "the row's true class"), ("white", "another class")):
            handle = Line2D([], [], color="0.3", marker="o", markerfacecolor=face, markersize=5, linestyle="none")
            entries.append((handle, text))
    axis.set_xlim(-0.02, 1.02)
    single = wrap(f"p(y = {posterior.classes[shown_classes[0]]} | x)", 60)
    axis.set_xlabel(single if len(shown_classes) == 1 else "p(y | x)", fontsize=9)
    axis.tick_params(axis="x", labelsize=8)
    bars = "no bars: a point estimate has no interval" if point_only else f"bars: {prob:.4g} interval"
    number = f"{rows} row{'s' * (rows != 1)}" if shown == rows else f"the first {shown} of {rows} rows"
    figure.suptitle(f"Class probabilities of {number}\n({bars})", fontsize=10)
    make_room(figure, figure.get_suptitle(), axis.get_xlabel())
    if len(entries) > 1:
        legend(figure, entries)
    return figure


def _codes(posterior: Posterior, classes: Sequence[Any] | None) -> list[int]:
    """Positions of the classes to show."""
    known = posterior.classes.tolist()
    if classes is None:
        codes = [1] if len(known) == 2 else list(range(len(known)))
    else:
        chosen = [classes] if isinstance(classes, str) else list(classes)
        unknown = [label for label in chosen if label not in known]
        if unknown or not chosen:
            raise ValueError(f"classes is {chosen}: name one or more of {known}")
        codes = [known.index(label) for label in dict.fromkeys(chosen)]
    if len(codes) > len(MARKERS):
        raise ValueError(
            f"there are {len(codes)} classes to show, more than the eye tells apart: name up to {len(MARKERS)} of them "
            "with classes=[...]"
        )
    return codes
