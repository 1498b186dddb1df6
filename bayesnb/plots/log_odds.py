"""The figure of log odds: how strongly each row favours one class over another."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesnb.pictures.layout import MARKERS, first_rows, legend, make_room, names_of_rows, row_axis, wrap
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
) -> Any:
    """Log odds of one class against another for each row (points), with credible intervals (bars).

    The figure of Mosteller and Wallace (1964), *Inference and Disputed Authorship: The Federalist*. A point is the
    difference of two columns of `Posterior.predict_log_proba`, with the parameters integrated out; the bar is the
    equal-tailed interval of the same difference under single draws of the parameters. A point may lie outside its bar,
    mostly on the side of zero: densities are averaged over the draws, and not their logarithms, which favours a class
    with few data.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
        A point estimate has no interval: only its points are shown.
    X : table, shape (rows, columns)
    y : labels of shape (rows,) or str, optional
        True labels, shown by markers. They need not be classes: rows of unknown label may be called "disputed".
    classes : pair of labels, optional
        The class on the right, and the one on the left; by default the second and the first of two.
    prob : float, default 0.89
        Posterior probability of the interval.
    labels : sequence, shape (rows,), optional
        Text beside each row; by default its position.
    sort : bool, default False
        Whether to put the rows in the order of their log odds, the largest at the top.
    max_rows : int, default 60
        The first rows that are shown.
    num_draws, num_chains, key
        As for `Posterior.log_joint_draws`.

    Returns
    -------
    matplotlib.figure.Figure
        Infinite log odds, which only point estimates have, lie at the edge beside an arrow head.

    Raises
    ------
    ValueError
        If there are more than two classes and no pair is named, a class is unknown, there are no rows, or `y` or
        `labels` does not fit them.

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
    >>> classes = ("Adelie", "Chinstrap")
    >>> figure = nb.plot_log_odds(posterior, X[::16], y[::16], classes=classes, sort=True)
    """
    from bayesnb.pictures.picture import Line2D

    posterior = posterior_of(posterior)
    right, left = _pair(posterior, classes)
    proportion("prob", prob)
    X, y = split_labels(X, y)
    table, shown, rows = first_rows(X, max_rows)
    names = names_of_rows(labels, shown, rows)
    truth, kinds = _markers(y, rows, posterior.classes[[right, left]].tolist())
    log_proba = posterior.predict_log_proba(table)
    with np.errstate(invalid="ignore"):
        points = log_proba[:, right] - log_proba[:, left]
    ends = None
    if not isinstance(posterior, PointPosterior):
        joint = posterior.log_joint_draws(table, num_draws=num_draws, num_chains=num_chains, key=key)
        levels = [(1 - prob) / 2, (1 + prob) / 2]
        ends = np.quantile(joint[..., right] - joint[..., left], levels, axis=(0, 1))
    order = np.argsort(-points, kind="stable") if sort else np.arange(shown)

    figure, axis = row_axis([names[row] for row in order], row_height=0.2, width=7.0)
    axis.axvline(0.0, color="black", linewidth=1.2, linestyle="--", zorder=1)
    at = np.arange(shown)
    if ends is not None:
        axis.hlines(at, *ends[:, order], color="0.45", linewidth=1.6, zorder=2)
    values = points[order]
    edge = 1.1 * np.abs(values[np.isfinite(values)]).max(initial=1.0)
    entries = []
    for i, kind in enumerate(kinds):
        of_kind = truth[:shown][order] == i
        style = {"marker": MARKERS[i], "facecolors": "white" if i else "C0", "edgecolors": f"C{i}"}
        axis.scatter(np.clip(values[of_kind], -edge, edge), at[of_kind], s=28, zorder=3, **style)
        handle = Line2D([], [], color=f"C{i}", marker=MARKERS[i], markersize=5, linestyle="none")
        handle.set_markerfacecolor("white" if i else "C0")
        entries.append((handle, f"y = {kind}"))
    for end, marker in ((np.inf, ">"), (-np.inf, "<")):
        beyond = at[values == end]
        if beyond.size:
            axis.scatter(np.full(beyond.size, np.sign(end) * 1.08 * edge), beyond, s=28, marker=marker, c="black")
    axis.tick_params(axis="x", labelsize=8)
    favoured = [posterior.classes[right], posterior.classes[left]]
    axis.set_xlabel(wrap(f"log odds, y = {favoured[0]} against y = {favoured[1]}", 80), fontsize=9)
    axis.set_title(wrap(f"for {favoured[0]} \N{RIGHTWARDS ARROW}", 30), loc="right", fontsize=9)
    axis.set_title(wrap(f"\N{LEFTWARDS ARROW} for {favoured[1]}", 30), loc="left", fontsize=9)
    bars = "no bars: a point estimate has no interval" if ends is None else f"bars: {prob:.4g} interval"
    bars += "; arrow heads: infinite" * bool(np.isinf(values).any())
    number = f"{rows} row{'s' * (rows != 1)}" if shown == rows else f"the first {shown} of {rows} rows"
    figure.suptitle(f"Log odds of {number}\n({bars})", fontsize=10)
    titles = [axis.get_title(loc="left"), axis.get_title(loc="right")]
    make_room(figure, figure.get_suptitle(), max(titles, key=lambda title: title.count("\n")), axis.get_xlabel())
    if y is not None:
        legend(figure, entries)
    return figure


def _pair(posterior: Posterior, classes: tuple[Any, Any] | None) -> tuple[int, int]:
    """Positions of the class on the right and of that on the left."""
    known = posterior.classes.tolist()
    if classes is None:
        if len(known) != 2:
            raise ValueError(
                f"there are {len(known)} classes {known}: name the two to compare with classes=(right, left)"
            )
        return 1, 0
    pair = [classes] if isinstance(classes, str) else list(classes)
    if len(pair) != 2 or pair[0] == pair[1] or any(label not in known for label in pair):
        raise ValueError(f"classes is {classes!r}: give two different ones of {known}")
    return known.index(pair[0]), known.index(pair[1])


def _markers(y: Any, rows: int, pair: list[Any]) -> tuple[np.ndarray, list[Any]]:
    """The kind of each row by its label, and the kinds, those of the pair first; one kind where there are no labels."""
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
    return np.argsort(order)[encode_labels(y, rows, found)], found[order].tolist()
