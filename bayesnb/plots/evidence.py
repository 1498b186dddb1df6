"""The figure of one row's evidence: what each feature contributes to the log odds of two classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.pictures.choices import yes_or_no
from bayesnb.pictures.forest import Points, Rows, forest
from bayesnb.pictures.panels import panel_of_rows
from bayesnb.pictures.style import text_color
from bayesnb.pictures.text import percent
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.explain import Evidence, evidence_of_row
from bayesnb.posterior.fitted import Fitted, posterior_of
from bayesnb.validate import proportion, whole_number

__all__ = ["plot_evidence"]


@dataclass(frozen=True)
class _Bar:
    """The sum of some parts of the evidence."""

    name: str
    value: float
    ends: np.ndarray


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
    backend: str = "matplotlib",
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
    backend : {"matplotlib", "bokeh", "plotly"}, default "matplotlib"
        Library that draws. Others than matplotlib draw points in place of bars.
    ax : matplotlib axes, optional
        Where to draw; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the bars.

    Returns
    -------
    matplotlib.figure.Figure or arviz_plots.PlotCollection
        The new figure, or that of `ax`. Filled bars to the right support `class_`, and hatched bars to the left
        `against`. Thin lines are intervals. Each feature has its cell beside it, a word the number of times it occurs.
        An infinite bar, which only point estimates have, ends in an arrow head. Other backends than matplotlib give the
        collection, which has ``show()`` and ``savefig(path)``.

    Raises
    ------
    ModuleNotFoundError
        If the backend is not installed.
    TypeError, ValueError
        As for `Posterior.explain`, or if `backend`, `ax` and `figsize` do not fit.

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
    proportion("prob", prob)
    evidence = evidence_of_row(
        posterior_of(posterior), X_row, class_, against, unit=unit, words=words, num_draws=num_draws, key=key
    )
    bars = _bars(evidence, prob, whole_number("max_features", max_features), sort=yes_or_no("sort", sort))
    interval = "" if evidence.draws is None else f"{percent(prob)} interval"
    if backend != "matplotlib":
        return _with_backend(evidence, bars, interval, backend=backend, ax=ax, figsize=figsize)
    panels = panel_of_rows([bar.name for bar in bars], ax=ax, figsize=figsize, row_height=0.26)
    axis, ink = panels.axes[0], text_color()
    values, ends = np.array([bar.value for bar in bars]), np.array([bar.ends for bar in bars])
    finite = np.concatenate([values, ends.ravel()])
    edge = 1.1 * np.abs(finite[np.isfinite(finite)]).max(initial=0.1)
    at = np.arange(len(bars))
    drawn = axis.barh(at, np.clip(values, -edge, edge), height=0.6, edgecolor=ink, linewidth=0.8, zorder=2)
    for bar, value in zip(drawn, values, strict=True):
        bar.set(facecolor=("C0" if value >= 0 else "C1", 0.6), hatch="" if value >= 0 else "////")
    axis.plot(np.clip(ends, -edge, edge).T, [at, at], color=ink, linewidth=1.6, marker="|", markersize=7, zorder=3)
    for end, marker in ((np.inf, ">"), (-np.inf, "<")):
        beyond = at[values == end]
        axis.scatter(np.full(beyond.size, np.sign(end) * edge), beyond, s=40, marker=marker, color=ink, zorder=4)
    axis.axvline(0.0, color=ink, linewidth=1.0, zorder=4)
    axis.axhline(len(bars) - 1.5, color=ink, linewidth=1.0, zorder=1)
    axis.get_yticklabels()[-1].set_fontweight("bold")
    axis.set_xlim(_limits(values, ends, edge))
    axis.xaxis.get_major_locator().set_params(nbins=5)
    panels.x_label(f"log odds in {unit}" + f"; lines: {interval}s" * bool(interval))
    panels.title(f"Log odds of one row: {evidence.class_} against {evidence.against}")
    panels.sides(
        f"\N{LEFTWARDS ARROW} for {evidence.against}",
        f"for {evidence.class_} \N{RIGHTWARDS ARROW}",
    )
    return panels.drawn()


def _with_backend(evidence: Evidence, bars: list[_Bar], interval: str, **options: Any) -> Any:
    """The same numbers as points and intervals."""
    ends = np.array([bar.ends for bar in bars])
    points = [Points(np.array([bar.value for bar in bars]), "log odds")]
    title = f"Log odds of one row in {evidence.unit}: {evidence.class_} (right) against {evidence.against} (left)"
    return forest(
        [Rows([bar.name for bar in bars], points, ends[:, 0], ends[:, 1], interval, at=0.0)], title=title, **options
    )


def _bars(evidence: Evidence, prob: float, max_features: int, *, sort: bool) -> list[_Bar]:
    """The log odds before any cell, the largest features, the others together, and the sum."""
    size = np.abs(evidence.log_odds[1:])
    ranked = 1 + np.argsort(-size, kind="stable")
    shown, others = ranked[:max_features], ranked[max_features:]
    if len(others) == 1:
        shown, others = ranked, others[:0]
    parts = [[0], *([part] for part in (shown if sort else np.sort(shown)))]
    names = [_name(evidence, part) for (part,) in parts]
    if len(others):
        parts.append(others.tolist())
        names.append(f"{len(others)} others")
    parts.append(list(range(len(evidence.names))))
    names.append("sum")
    return [
        _Bar(name, float(evidence.log_odds[part].sum()), evidence.interval(part, prob))
        for name, part in zip(names, parts, strict=True)
    ]


def _name(evidence: Evidence, part: int) -> str:
    name, cell = evidence.names[part], evidence.cells[part]
    return f"{name} = {cell}" if cell else str(name)


def _limits(values: np.ndarray, ends: np.ndarray, edge: float) -> tuple[float, float]:
    """Ends of the axis: zero and a margin are always there."""
    drawn = np.clip(np.concatenate([values, ends.ravel(), [0.0]]), -edge, edge)
    low, high = np.nanmin(drawn), np.nanmax(drawn)
    margin = 0.06 * (high - low or 1.0)
    return low - margin, high + margin
