"""Figures of features: what they say of a row, and the probabilities of words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import rel_entr

from bayesnb.core.arrays import in_float64
from bayesnb.core.checking import one_of, whole_number
from bayesnb.core.forest import how_many
from bayesnb.core.panels import (
    SMALL,
    background,
    chosen,
    grid_of_panels,
    muted,
    text_color,
    text_width,
    wrap_to,
)
from bayesnb.families.formulas import mean_of
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.kinds import SampledPosterior
from bayesnb.posterior.under_draws import flatten
from bayesnb.posterior.weighted import Fitted, of_features, posterior_of

__all__ = ["plot_evidence", "plot_spikes"]

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
    ax : matplotlib axes, optional
        Where to draw; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the bars.

    Returns
    -------
    matplotlib.figure.Figure
        The new figure, or that of `ax`. Filled bars to the right support `class_`, and hatched bars to the left
        `against`. Thin lines are intervals. Each feature has its cell beside it, a word the number of times it occurs.
        An infinite bar, which only point estimates have, ends in an arrow head.

    Raises
    ------
    TypeError, ValueError
        As for `Posterior.explain`, or if `ax` and `figsize` do not fit.

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
        X_row, class_, against, unit=unit, prob=prob, words=words, num_draws=num_draws, key=key
    )
    return found.plot(max_features=max_features, sort=sort, ax=ax, figsize=figsize)


# --------------------------------------------------------------------------------------------------
# The figure of class-conditional probabilities: a spike for each column, a panel for each class
# --------------------------------------------------------------------------------------------------

LABELS = ("telling", "tallest")

NAME = 1.4
"""Inches of the name of a column."""

CLASS = 1.8
"""Inches of the name of a class, beside its panel."""

GAP = 0.15
"""Inches between two names."""

BESIDE = 1.0
"""Inches beside a panel, for its numbers and the name of its class."""


@of_features
def plot_spikes(
    posterior: Posterior,
    block: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    label: str = "telling",
    num_labels: int = 5,
    tolerance: float = 0.05,
    max_panels: int = 10,
    axes: Any = None,
    figsize: Any = None,
) -> Any:
    r"""Probability of each column given the class, a thin spike at the posterior mean, one panel a class.

    Murphy (2012), *Machine Learning: a Probabilistic Perspective*, Figure 3.8. The most telling spikes of each class
    carry the names of their columns. Spikes of about the same height in every class give no information about the
    class: where they are named, they have an open marker and the words "alike in every class".

    Parameters
    ----------
    posterior : Posterior or fitted estimator
    block : str, optional
        Name of a block of columns of 0 and 1 or of count vectors, or of one of its columns; needed where the model has
        several such blocks.
    classes : sequence, optional
        Classes that get a panel, in this order; by default all.
    label : {"telling", "tallest"}, default "telling"
        Which spikes are named (see Notes).
    num_labels : int, default 5
        Spikes that are named in each panel; fewer if their names do not fit the width.
    tolerance : float, default 0.05
        A column is alike in every class if the smallest of its probabilities, over all classes, is at least
        1 - `tolerance` times the largest.
    max_panels : int, default 10
        The first classes get a panel.
    axes : array or sequence of matplotlib axes, optional
        Where to draw, one for each panel; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the panels. By default the figure is as wide as the names
        need.

    Returns
    -------
    matplotlib.figure.Figure
        The new figure, or that of `axes`.

    Raises
    ------
    TypeError, ValueError
        If there is no such block, or several and none is named; if a class is unknown; if `tolerance` is not from 0 to
        1; or if `axes` and `figsize` do not fit.

    See Also
    --------
    plot_densities : Predictive densities of numbers.
    telling_features : The values that favour a class most.

    Notes
    -----
    A spike of the class c tells most if it contributes most to the Kullback-Leibler divergence of the class from the
    average over the classes, :math:`p_{cj} \log (p_{cj} / \sum_k p(k) p_{kj})`, and for a column of 0 and 1 the
    same with the term of :math:`1 - p_{cj}`. Only spikes above the average are telling. With one class the tallest
    spikes are named.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X = [[1, 0, 1], [1, 1, 1], [0, 1, 1], [0, 1, 1]]
    >>> y = ["spam", "spam", "ham", "ham"]
    >>> posterior = nb.fit(nb.Bernoulli(), X, y, feature_names=["buy", "cat", "the"])
    >>> figure = nb.plot_spikes(posterior, num_labels=1)
    """
    position = _position(posterior, block)
    whole = posterior.model.blocks[position]
    one_of("label", label, LABELS)
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance is {tolerance}: give a number from 0, below 1")
    every = posterior.classes.tolist()
    wanted = list(range(len(every))) if classes is None else chosen("classes", classes, every)
    shown = wanted[: whole_number("max_panels", max_panels)]
    probs = _probs(posterior, position)
    alike = probs.min(axis=0) >= (1 - tolerance) * probs.max(axis=0)
    score = probs
    if len(probs) == 1:
        alike[:] = False
    elif label == "telling":
        score = _telling(probs, posterior.class_probs(), binary=whole.is_binary)
    number = whole_number("num_labels", num_labels)
    # Of each panel, the positions of the columns to name, the first ones first.
    ranked = [[j for j in np.argsort(-score[c], kind="stable")[:number].tolist() if score[c, j] > 0] for c in shown]
    texts = {
        j: wrap_to(whole.labels[j], NAME, SMALL) + "\n(alike in\nevery class)" * bool(alike[j])
        for of_panel in ranked
        for j in of_panel
    }
    widest = max(_span([texts[j] for j in of_panel]) for of_panel in ranked)
    panels = grid_of_panels(
        len(shown), axes=axes, figsize=figsize, across=1 if axes is None else None, width=max(9.0, BESIDE + widest)
    )
    of_classes = [wrap_to(f"y = {every[c]}", CLASS, SMALL) for c in shown]
    panels.set_heights(1.5, max(text_width(text, SMALL) for text in of_classes))
    space = panels.panel_width if panels.given else panels.panel_width + 0.2 - BESIDE
    for axis, c, of_class, of_panel in zip(panels.axes, shown, of_classes, ranked, strict=True):
        axis.vlines(np.arange(probs.shape[1]), 0.0, probs[c], color=muted(0.75), linewidth=0.6)
        axis.set_xlim(-0.02 * probs.shape[1] - 0.5, 1.02 * probs.shape[1] - 0.5)
        axis.set_ylim(0.0, 1.05 * probs[shown].max())
        axis.spines["left"].set_visible(True)
        axis.set_xticks([])
        axis.set_ylabel(of_class, fontsize=SMALL)
        named = list(of_panel)
        while len(named) > 1 and _span([texts[j] for j in named]) > space:
            named.pop()
        _name_spikes(axis, probs[c], {j: texts[j] for j in sorted(named)}, alike, space)
    panels.axes[-1].set_xlabel("columns, in the order of the table", fontsize=SMALL)
    count = probs.shape[1]
    what = "p(x = 1 | y)" if whole.is_binary else "p(column | y)"
    first = f", {how_many(len(shown), len(wanted), 'class', 'first')}" if len(shown) < len(wanted) else ""
    panels.title(f"Posterior mean of {what} for {count} column{'s' * (count != 1)}{first}")
    return panels.drawn()


def _telling(probs: np.ndarray, class_prob: np.ndarray, *, binary: bool) -> np.ndarray:
    """What each spike contributes to the divergence of its class from the average; negative below the average."""
    average = np.average(probs, axis=0, weights=class_prob)
    score = rel_entr(probs, average)
    if binary:
        score += rel_entr(1 - probs, 1 - average)
    return np.where(probs > average, score, -1.0)


def _position(posterior: Posterior, block: Any) -> int:
    """Position of the block that is meant."""
    fitting = {i: b for i, b in enumerate(posterior.model.blocks) if b.is_binary or b.has_totals}
    if not fitting:
        families = sorted({family.family_name for family in posterior.model.families})
        raise ValueError(
            f"the model has no columns of 0 and 1 and no count vectors, only {', '.join(families)}: plot_densities "
            "shows numbers, plot_prior_posterior any parameter"
        )
    names = [b.name for b in fitting.values()]
    if block is None:
        if len(fitting) > 1:
            raise ValueError(f"the model has several blocks of 0/1 columns or count vectors: give one of {names}")
        return next(iter(fitting))
    for i, candidate in fitting.items():
        if block == candidate.name or block in candidate.labels:
            return i
    raise ValueError(f"block is {block!r}: give one of {names}, or a column of theirs")


@in_float64
def _probs(posterior: Posterior, position: int) -> np.ndarray:
    """Posterior mean of the probability of each column, shape (classes, columns).

    It is the mean of a cell, or of a vector of one count, averaged over draws. A closed form has it at the posterior
    mean of the parameters.
    """
    if isinstance(posterior, SampledPosterior):
        parameters = flatten(posterior.parameters).blocks[position]
    else:
        parameters = {name: value[None] for name, value in posterior.distribution.mean().blocks[position].items()}
    return mean_of(posterior.model.blocks[position].family.likelihood(**parameters)).mean(axis=0)


def _span(texts: list[str]) -> float:
    """Width of texts side by side, in inches."""
    return sum(text_width(text, SMALL) + GAP for text in texts)


def _name_spikes(axis: Any, probs: np.ndarray, texts: dict[int, str], alike: np.ndarray, width: float) -> None:
    """Names above the panel, each near its spike, without overlap, and with a line down to the spike."""
    widths = [(text_width(text, SMALL) + GAP) / width for text in texts.values()]
    low, high = axis.get_xlim()
    wanted = [(j - low) / (high - low) for j in texts]
    # From the left, each name moves away from its left neighbour; then, from the right, away from the panel's edge.
    lefts: list[float] = []
    for centre, size in zip(wanted, widths, strict=True):
        before = lefts[-1] + widths[len(lefts) - 1] if lefts else 0.0
        lefts.append(max(centre - size / 2, before))
    edge = 1.0
    for i in reversed(range(len(lefts))):
        lefts[i] = min(lefts[i], edge - widths[i])
        edge = lefts[i]
    for (j, text), left, size in zip(texts.items(), lefts, widths, strict=True):
        axis.plot([j], [probs[j]], marker="o", markersize=4.5, color=text_color(), linestyle="none")
        axis.lines[-1].set_markerfacecolor(background() if alike[j] else text_color())
        axis.annotate(
            text,
            (j, probs[j]),
            (left + size / 2, 1.0),
            textcoords="axes fraction",
            ha="center",
            va="bottom",
            fontsize=SMALL,
            arrowprops={"arrowstyle": "-", "color": muted(0.4), "linewidth": 0.6, "shrinkB": 3},
        )
