"""Figures of columns: their densities by class, and the probabilities of words."""

from collections.abc import Sequence
from functools import cache, partial
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.special import rel_entr

from bayesnb.core.checking import one_of, whole_number
from bayesnb.core.deferred import in_float64
from bayesnb.core.forest import highest_places, how_many
from bayesnb.core.panels import (
    LINES,
    SMALL,
    background,
    chosen,
    grid_of_panels,
    muted,
    text_color,
    text_width,
    wrap_to,
    yes_or_no,
)
from bayesnb.core.printing import counted
from bayesnb.data.read import labelled_rows
from bayesnb.families.formulas import mean_of
from bayesnb.posterior.column_densities import (
    ColumnDensities,
    column_densities,
    draw_columns,
    legend_entries,
    simulated_cells,
)
from bayesnb.posterior.kinds import posterior_of_features
from bayesnb.posterior.posterior import Posterior

# --------------------------------------------------------------------------------------------------
# The figure of predictive densities: the distribution of each column in each class
# --------------------------------------------------------------------------------------------------


@posterior_of_features
def plot_densities(
    posterior: Posterior,
    X: Any = None,
    y: Any = None,
    *,
    features: Sequence[Any] | None = None,
    classes: Sequence[Any] | None = None,
    sort: bool = False,
    bins: int = 25,
    max_panels: int = 12,
    panels_across: int | None = None,
    key: Any = 0,
    axes: Any = None,
    figsize: Any = None,
) -> Any:
    r"""Predictive density of each column given the class, over histograms of the data, one panel a column.

    The density is p(x_j | y=c, data), the parameters integrated out, or the average over draws for a sampled posterior,
    or the density itself for a point. Numbers have lines. Counts have probabilities, drawn as points on thin lines.
    Categories, and zeros and ones, have a point for the probability of each value. A value with a probability of its
    own, such as the zero of a `Hurdle`, has no density: the title of the panel gives its probability, and the area
    under the line is that of the other values.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
    X : table, shape (rows, columns), optional
        Data for the bars: histograms of area one for each class, and shares of categories. They also set the range of
        numbers. Where they hold fewer than two different ones, the range is that of rows drawn from the posterior
        predictive distribution.
    y : labels of shape (rows,) or str, optional
        Needed with X.
    features : sequence, optional
        Names of columns, or their positions where they have no names; by default all but those of count vectors,
        which `plot_spikes` shows.
    classes : sequence, optional
        Classes to show, up to eight. By default all; of more than eight those that contribute most to the mutual
        information of class and columns (see Notes).
    sort : bool, default False
        Whether the column with the most information about the class comes first; otherwise the order of the table, or
        of `features`.
    bins : int, default 25
        Bars of a histogram; those of counts are a whole number of counts wide.
    max_panels : int, default 12
        Of more columns, those with the most information about the class get a panel.
    panels_across : int, optional
        Panels side by side; by default as many as fit the width, here up to three.
    key : int or JAX key, default 0
        For rows drawn from the posterior predictive distribution.
    axes : array or sequence of matplotlib axes, optional
        Where to draw, one for each panel; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the panels.

    Returns
    -------
    matplotlib.figure.Figure
        The new figure, or that of `axes`. A class of probability zero has no line. Infinite densities are cut.

    Raises
    ------
    TypeError, ValueError
        If a column or a class is unknown, all columns are those of count vectors, X comes without y or y without X,
        or `axes` and `figsize` do not fit.

    See Also
    --------
    plot_prior_posterior : Prior and posterior density of each parameter.
    choose_families : A family for each column, by the evidence.

    Notes
    -----
    The information of a column about the class is the mutual information under the predictive distribution,
    :math:`\sum_c p(c) \int p(x_j \mid c) \log (p(x_j \mid c) / p(x_j)) \, dx_j`, over the range of the panel. A class
    contributes its term of the sum. `nb.mutual_information` estimates it with intervals.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.plot_densities(posterior, X, y, features=["island", "body_mass_g"])
    """
    if (X is None) != (y is None):
        raise ValueError("X and y go together: give both for histograms by class, or neither")
    at = _features(posterior, features)
    labels = posterior.classes.tolist()
    wanted = None if classes is None else chosen("classes", classes, labels, most=len(LINES))
    max_panels, bins = whole_number("max_panels", max_panels), whole_number("bins", bins)
    sort = yes_or_no("sort", sort)
    data = None
    if X is not None:
        rows = labelled_rows(X, y, classes=posterior.classes)
        data = posterior.model.read(rows.table).whole(), rows.codes, rows.weights

    drawn = cache(partial(simulated_cells, posterior, key))
    columns = [column_densities(posterior, each, data, drawn, bins=bins) for each in at]
    columns, shown = _most_telling(columns, posterior.class_probs(), wanted, max_panels, sort=sort)

    panels = grid_of_panels(len(columns), axes=axes, figsize=figsize, panels_across=panels_across, most_across=3)
    draw_columns(panels, columns, shown, labels)
    story = "Predictive densities" + " (lines, points) and data (bars)" * (X is not None)
    left_out = []
    if len(columns) < len(at):
        left_out.append(how_many(len(columns), len(at), "column", "most telling"))
    if len(shown) < len(labels):
        left_out.append(how_many(len(shown), len(labels), "class", "most telling" if classes is None else ""))
    panels.title(", ".join([f"{story} by class", *left_out]))
    panels.legend(legend_entries(columns, [f"y = {labels[c]}" for c in shown]))
    return panels.drawn()


def _features(posterior: Posterior, features: Sequence[Any] | None) -> list[tuple[int, int]]:
    """Block and place in it of each column to show, by default of all that have a density, in the table's order.

    Columns of a count vector have none: the likelihood is given their total.
    """
    found = [
        (position, label, (i, j))
        for i, block in enumerate(posterior.model.blocks)
        for j, (position, label) in enumerate(zip(block.columns, block.labels, strict=True))
        if not block.has_totals
    ]
    if not found:
        raise ValueError("the model has only count vectors, which have no density: plot_spikes shows them")
    _, names, places = zip(*sorted(found, key=itemgetter(0)), strict=True)
    return list(places) if features is None else [places[k] for k in chosen("features", features, names)]


def _most_telling(
    columns: list[ColumnDensities], class_prob: np.ndarray, wanted: list[int] | None, max_panels: int, *, sort: bool
) -> tuple[list[ColumnDensities], list[int]]:
    """The columns and the classes to show."""
    every = list(range(len(class_prob)))
    if not sort and len(columns) <= max_panels and (wanted is not None or len(every) <= len(LINES)):
        return columns, wanted if wanted is not None else every
    # If classes are named, the information is about these alone.
    prior = class_prob if wanted is None else np.where(np.isin(every, wanted), class_prob, 0.0)
    information = np.array([column.information(prior) for column in columns])
    total = information.sum(axis=1)
    order = np.argsort(-total, kind="stable")[:max_panels].tolist() if sort else highest_places(total, max_panels)
    return [columns[k] for k in order], wanted or highest_places(information[order].sum(axis=0), len(LINES))


# --------------------------------------------------------------------------------------------------
# The figure of class-conditional probabilities: a spike for each column, a panel for each class
# --------------------------------------------------------------------------------------------------

LABELS = ("telling", "tallest")

NAME = 1.4
"""Largest width of a column's name, in inches."""

CLASS = 1.8
"""Largest width of a class's name beside its panel, in inches."""

GAP = 0.15
"""Space between two names, in inches."""

BESIDE = 1.0
"""Space beside a panel, in inches, for its numbers and the name of its class."""


@posterior_of_features
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
    axes, figsize
        As for `plot_densities`. By default the figure is as wide as the names need.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TypeError, ValueError
        If there is no such block, or several and none is named; if a class is unknown; or if `tolerance` is not from 0
        to 1.

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
    position = _position_of_block(posterior, block)
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
    # For each panel, the positions of the columns to name, the most important first.
    ranked = [[j for j in np.argsort(-score[c], kind="stable")[:number].tolist() if score[c, j] > 0] for c in shown]
    texts = {
        j: wrap_to(whole.labels[j], NAME, SMALL) + "\n(alike in\nevery class)" * bool(alike[j])
        for of_panel in ranked
        for j in of_panel
    }
    widest = max(_span([texts[j] for j in of_panel]) for of_panel in ranked)
    panels = grid_of_panels(len(shown), axes=axes, figsize=figsize, across=1, width=max(9.0, BESIDE + widest))
    of_classes = [wrap_to(f"y = {every[c]}", CLASS, SMALL) for c in shown]
    panels.set_height(max(1.5, *(text_width(text, SMALL) for text in of_classes)))
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
    what = "p(x = 1 | y)" if whole.is_binary else "p(column | y)"
    first = f", {how_many(len(shown), len(wanted), 'class', 'first')}" if len(shown) < len(wanted) else ""
    panels.title(f"Posterior mean of {what} for {counted(probs.shape[1], 'column')}{first}")
    return panels.drawn()


def _telling(probs: np.ndarray, class_prob: np.ndarray, *, binary: bool) -> np.ndarray:
    """What each spike contributes to the divergence of its class from the average; negative below the average."""
    average = np.average(probs, axis=0, weights=class_prob)
    score = rel_entr(probs, average)
    if binary:
        score += rel_entr(1 - probs, 1 - average)
    return np.where(probs > average, score, -1.0)


def _position_of_block(posterior: Posterior, block: Any) -> int:
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
    parameters = posterior.belief.draws_to_average().blocks[position]
    return mean_of(posterior.model.blocks[position].family.likelihood(**parameters)).mean(axis=0)


def _span(texts: list[str]) -> float:
    """Width of texts side by side, in inches."""
    return sum(text_width(text, SMALL) + GAP for text in texts)


def _name_spikes(axis: Any, probs: np.ndarray, texts: dict[int, str], alike: np.ndarray, width: float) -> None:
    """Names above the panel, each near its spike, without overlap, and with a line down to the spike."""
    widths = [(text_width(text, SMALL) + GAP) / width for text in texts.values()]
    low, high = axis.get_xlim()
    wanted = [(j - low) / (high - low) for j in texts]
    # First, from left to right, each name moves away from its left neighbour; then, from right to left, away from the
    # edge.
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
