"""The figure of class-conditional probabilities: a spike for each column, a panel for each class."""

from typing import Any

import numpy as np

from bayesnb.arrays import in_float64
from bayesnb.densities_under_draws import flatten
from bayesnb.pictures.layout import panel_grid, text_width, wrap
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.fitted import Fitted, posterior_of
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.validate import whole_number

__all__ = ["plot_spikes"]

LABEL_SIZE = 8


def plot_spikes(
    posterior: Posterior | Fitted,
    block: Any = None,
    *,
    num_labels: int = 5,
    tolerance: float = 0.05,
    max_panels: int = 10,
) -> Any:
    """Probability of each column given the class, a thin spike at the posterior mean, one panel a class.

    Murphy (2012), *Machine Learning: a Probabilistic Perspective*, Figure 3.8. The tallest spikes of each class carry
    the names of their columns. Spikes of about the same height in every class give no information about the class: they
    have an open marker and the words "alike in every class".

    Parameters
    ----------
    posterior : Posterior or fitted estimator
    block : str, optional
        Name of a block of columns of 0 and 1 or of count vectors, or of one of its columns; needed where the model has
        several such blocks.
    num_labels : int, default 5
        Spikes that are named in each panel.
    tolerance : float, default 0.05
        A column is alike in every class if the smallest of its probabilities, over all classes, is at least
        1 - `tolerance` times the largest.
    max_panels : int, default 10
        The first classes get a panel.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is no such block, or several and none is named; or if `tolerance` is not from 0 to 1.

    See Also
    --------
    plot_densities : Predictive densities of numbers.
    plot_telling_features : The values that favour each class most.

    Examples
    --------
    >>> import bayesnb as nb
    >>> counts, authors = nb.datasets.federalist()
    >>> known = authors.isin(["Hamilton", "Madison"])
    >>> X, y = (counts[known] > 0).drop(columns="(other)"), authors[known]
    >>> figure = nb.plot_spikes(nb.fit(nb.Bernoulli(), X, y))
    """
    posterior = posterior_of(posterior)
    posterior.require_model("plot_spikes")
    position = _position(posterior, block)
    chosen = posterior.model.blocks[position]
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance is {tolerance}: give a number from 0, below 1")
    probs = _probs(posterior, position)
    shown = min(len(probs), whole_number("max_panels", max_panels))
    tallest = np.argsort(-probs, axis=1, kind="stable")[:, : whole_number("num_labels", num_labels)]
    everywhere = probs.min(axis=0) >= (1 - tolerance) * probs.max(axis=0)
    if len(probs) == 1:
        everywhere[:] = False
    texts = [
        {
            int(j): wrap(chosen.labels[j], 24) + "\n(alike in every class)" * bool(everywhere[j])
            for j in sorted(tallest[c].tolist())
        }
        for c in range(shown)
    ]
    margin = 1.4
    width = max(9.0, margin + max(_span(list(text.values())) for text in texts))
    lines = max(text.count("\n") + 1 for panel in texts for text in panel.values())
    figure, axes = panel_grid(shown, 1, width=width, height=2.2 + 0.14 * lines)
    for c, axis in enumerate(axes):
        axis.vlines(np.arange(probs.shape[1]), 0.0, probs[c], color="0.25", linewidth=0.6)
        axis.set_xlim(-0.02 * probs.shape[1] - 0.5, 1.02 * probs.shape[1] - 0.5)
        axis.set_ylim(0.0, 1.05 * probs[:shown].max())
        axis.spines["left"].set_visible(True)
        axis.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        axis.set_ylabel(wrap(f"y = {posterior.classes[c]}", 26), fontsize=9)
        _name_spikes(axis, probs[c], texts[c], everywhere, width - margin)
    axes[-1].set_xlabel("column", fontsize=9)
    count = probs.shape[1]
    what = "p(x = 1 | y)" if chosen.is_binary else "p(column | y)"
    number = f", the first {shown} of {len(probs)} classes" if shown < len(probs) else ""
    figure.suptitle(f"Posterior mean of {what} for {count} column{'s' * (count != 1)}{number}", fontsize=10)
    return figure


def _position(posterior: Posterior, block: Any) -> int:
    """Position of the block that is meant."""
    fitting = {i: b for i, b in enumerate(posterior.model.blocks) if b.is_binary or b.has_totals}
    if not fitting:
        families = sorted({type(family).__name__ for family in posterior.model.families})
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
        parameters = {name: value[None] for name, value in posterior.mean_parameters().blocks[position].items()}
    return np.asarray(posterior.model.blocks[position].family.likelihood(**parameters).mean).mean(axis=0)


def _span(texts: list[str]) -> float:
    """Width of texts side by side, in inches."""
    return sum(text_width(text, LABEL_SIZE) + 0.15 for text in texts)


def _name_spikes(axis: Any, probs: np.ndarray, texts: dict[int, str], everywhere: np.ndarray, width: float) -> None:
    """Names above the panel, each near its spike, without overlap, and with a line down to the spike."""
    widths = [text_width(text, LABEL_SIZE) / width + 0.15 / width for text in texts.values()]
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
        axis.plot([j], [probs[j]], marker="o", markersize=4.5, color="black", linestyle="none")
        axis.lines[-1].set_markerfacecolor("white" if everywhere[j] else "black")
        axis.annotate(
            text,
            (j, probs[j]),
            (left + size / 2, 1.08),
            textcoords="axes fraction",
            ha="center",
            va="bottom",
            fontsize=LABEL_SIZE,
            arrowprops={"arrowstyle": "-", "color": "0.6", "linewidth": 0.6, "shrinkB": 3},
        )
