"""The figure of a calibration: observed frequencies over predicted probabilities."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from bayesnb.pictures.choices import require_result
from bayesnb.pictures.panels import grid_of_panels
from bayesnb.pictures.style import SMALL, background, muted
from bayesnb.pictures.text import percent, text_width

__all__ = ["plot_reliability"]

LOOKS: dict[str, dict[str, Any]] = {
    "posterior": {"color": "C0", "marker": "o", "linestyle": "-"},
    "other": {"color": "C1", "marker": "s", "linestyle": "--"},
}

LABELS = {
    "classes": ("predicted probability of a class", "observed frequency"),
    "confidence": ("probability of the predicted class", "accuracy"),
}

SCALES = ("auto", "linear", "logit")

NEAR_ONE = 0.05
"""A probability nearer to zero or one than this is hard to read on a linear axis."""

NARROWEST, WIDEST = 1e-2, 1e-4
"""Bounds for the distance of the ends of a logit axis to zero and one."""

SHARE = 0.75
"""Share of the height that the diagram has."""

BINS = 20
"""Bars of the histogram."""


@runtime_checkable
class Reliability(Protocol):
    """The part of a `Calibration` that the figure reads."""

    @property
    def table(self) -> pd.DataFrame:
        """Scores, a row for each; a column for each model."""

    @property
    def bins(self) -> pd.DataFrame:
        """A row for each model and bin."""

    @property
    def predictions(self) -> Mapping[str, np.ndarray]:
        """Class probabilities of each model, shape (rows, classes)."""

    @property
    def prob(self) -> float:
        """Probability of the intervals."""

    @property
    def names(self) -> Mapping[str, str]:
        """What the legend calls each model."""


def plot_reliability(
    calibration: Reliability,
    *,
    kind: str = "classes",
    scale: str = "auto",
    names: Sequence[str] | None = None,
    axes: Any = None,
    figsize: Any = None,
) -> Any:
    """Reliability diagram with intervals, over a histogram of the predictions.

    Parameters
    ----------
    calibration : Calibration
    kind : {"classes", "confidence"}, default "classes"
        The probabilities of every class, or those of the predicted class.
    scale : {"auto", "linear", "logit"}, default "auto"
        The axes of probabilities and frequencies. A logit axis spreads probabilities near zero and one. By default it
        is taken if a model's mean predictions in at least half of its bins are nearer to zero or one than 0.05.
    names : sequence of str, optional
        Names of the models in the legend, as many as were compared; by default the types of the two, or "posterior" and
        "other" where these are the same.
    axes : sequence of matplotlib axes, optional
        Two, for the diagram and for the histogram; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the panels.

    Returns
    -------
    matplotlib.figure.Figure
        Points on the diagonal are calibrated. The shaded sides say "overconfident": there the predictions are nearer to
        zero or one than the frequencies. On a logit axis what is beyond the ends, such as a frequency of one, is drawn
        at the end.

    Raises
    ------
    TypeError, ValueError
        If `calibration` is not what `nb.calibration` returns, there is no such kind or scale, or `names`, `axes` and
        `figsize` do not fit.

    See Also
    --------
    calibration : Calibration of the predicted probabilities.
    Calibration : The result.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X[::3], y[::3])
    >>> figure = nb.calibration(posterior, X[1::3], y[1::3]).plot(kind="confidence")
    """
    require_result(calibration, Reliability, "calibration", "nb.calibration(posterior, X, y)")
    _one_of("kind", kind, tuple(LABELS))
    _one_of("scale", scale, SCALES)
    models = _names(calibration, names)
    bins = calibration.bins[calibration.bins["kind"] == kind]
    if scale == "auto":
        mean = bins["mean_predicted"]
        near = (np.minimum(mean, 1 - mean) < NEAR_ONE).groupby(bins["model"]).mean()
        scale = "logit" if near.max() >= 0.5 else "linear"
    low, high = _ends(bins, kind, scale)
    ratios = [SHARE, 1 - SHARE]
    new: dict[str, Any] = {} if axes is not None else {"across": 1, "height_ratios": ratios, "figsize": (5.0, 6.0)}
    if figsize is not None:
        new["figsize"] = figsize
    panels = grid_of_panels(2, axes=axes, height=3.0, **new)
    diagram, histogram = panels.axes
    _shade(diagram, low, high, kind)
    if scale == "logit":
        edges = expit(np.linspace(logit(low), logit(high), BINS + 1))
    else:
        edges = np.linspace(max(low, 0.0), 1.0, BINS + 1)
    entries = []
    for model, name in models.items():
        look = LOOKS[model]
        entries.append((_draw_bins(diagram, bins[bins["model"] == model], (low, high), look), name))
        predictions = calibration.predictions[model]
        values = predictions.ravel() if kind == "classes" else predictions.max(axis=1)
        line = {"color": look["color"], "linestyle": look["linestyle"]}
        histogram.hist(np.clip(values, edges[0], edges[-1]), bins=edges, histtype="step", linewidth=1.5, **line)
    across, up = LABELS[kind]
    for axis in (diagram, histogram):
        axis.set_xscale(scale)
        if scale == "logit":
            axis.set_xticks(*_ticks(low, high))
            axis.set_xticks([], minor=True)
        axis.set_xlim(low, high)
        axis.spines["left"].set_visible(True)
    diagram.set_yscale(scale)
    if scale == "logit":
        diagram.set_yticks(*_ticks(low, high))
        diagram.set_yticks([], minor=True)
    diagram.set_ylim(low, high)
    beside = f"{up} ({percent(calibration.prob)} interval)"
    diagram.set_ylabel(beside, fontsize=SMALL)
    panels.least = text_width(beside, SMALL) / SHARE + 1.0
    histogram.set_ylabel("predictions", fontsize=SMALL)
    histogram.set_xlabel(across, fontsize=SMALL)
    errors = calibration.table.loc["calibration_error"]
    panels.legend(
        [
            (handle, f"{name}: calibration error {errors[model]:.3f}")
            for (handle, name), model in zip(entries, models, strict=True)
        ],
        inside=0,
    )
    return panels.drawn()


def _one_of(name: str, given: Any, known: Sequence[str]) -> None:
    if given not in known:
        raise ValueError(f"{name} is {given!r}: give one of {list(known)}")


def _names(calibration: Reliability, names: Sequence[str] | None) -> dict[str, str]:
    """By model, its name in the legend."""
    models = list(calibration.predictions)
    if names is None:
        return {model: calibration.names[model] for model in models}
    given = [names] if isinstance(names, str) else list(names)
    if len(given) != len(models):
        raise ValueError(f"names is {given}: give {len(models)}, for {' and '.join(models)}")
    return dict(zip(models, map(str, given), strict=True))


def _ends(bins: pd.DataFrame, kind: str, scale: str) -> tuple[float, float]:
    """Ends of both axes; those of a logit axis are as near to zero and one as what is drawn."""
    drawn = bins[["lower", "mean_predicted", "observed", "observed_lower", "observed_upper"]].to_numpy()
    if scale == "linear":
        low, high = 0.0, 1.0
        margin = 0.03
    else:
        distance = np.minimum(drawn, 1 - drawn)
        low = np.clip(distance[distance > 0].min(initial=NARROWEST) / 2, WIDEST, NARROWEST) / 1.6
        high = 1 - low
        margin = 0.0
    if kind == "confidence":
        low = max(low, 0.95 * drawn.min())
    return float(low - margin), float(high + margin)


def _ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """Probabilities along a logit axis and their texts: 0.5, 0.9, 0.99 and so on, not more than fit."""
    decades = int(np.floor(-np.log10(1 - high)))
    distances = [10.0**-decade for decade in range(decades, 0, -1 if decades <= 3 else -2)]
    texts = [f"{distance:.{decades}f}".rstrip("0") for distance in distances]
    found = [*zip(distances, texts, strict=True), (0.5, "0.5")]
    found += [(1 - x, f"{1 - x:.{decades}f}".rstrip("0")) for x in reversed(distances)]
    inside = [(place, text) for place, text in found if low <= place <= high]
    return [place for place, _ in inside], [text for _, text in inside]


def _shade(axis: Any, low: float, high: float, kind: str) -> None:
    """The diagonal, the side of overconfidence in grey, and words on either side."""
    axis.plot([low, high], [low, high], color=muted(0.5), linewidth=1, zorder=1)
    over: dict[str, Any] = {"facecolor": muted(0.09), "edgecolor": "none", "zorder": 0}
    middle = low if kind == "confidence" else 0.5
    right = np.array([middle, high])
    axis.fill_between(right, np.full(2, low), right, **over)
    sides = [("overconfident", 0.98, 0.02), ("underconfident", 0.02, 0.98)]
    if kind == "classes":
        left = np.array([low, middle])
        axis.fill_between(left, left, np.full(2, high), **over)
        sides = [("overconfident", 0.98, 0.02), ("overconfident", 0.02, 0.98)]
        sides += [("underconfident", 0.48, 0.02), ("underconfident", 0.52, 0.98)]
    for text, x, y in sides:
        across, up = "right" if x in (0.98, 0.48) else "left", "bottom" if y < 0.5 else "top"
        axis.text(
            x, y, text, transform=axis.transAxes, ha=across, va=up, fontsize=SMALL, color=muted(0.6), style="italic"
        )


def _draw_bins(axis: Any, bins: pd.DataFrame, ends: tuple[float, float], look: Mapping[str, Any]) -> Any:
    """A point and an interval for each bin."""
    names = ["mean_predicted", "observed", "observed_lower", "observed_upper"]
    x, y, lower, upper = (bins[name].clip(*ends).to_numpy() for name in names)
    face = background() if look["marker"] == "s" else look["color"]
    style = {"markersize": 5, "linewidth": 1, "capsize": 2, "markerfacecolor": face, "clip_on": False}
    return axis.errorbar(x, y, yerr=[y - lower, upper - y], zorder=3, **style, **look)
