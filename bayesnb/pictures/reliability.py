"""The figure of a calibration: observed frequencies over predicted probabilities."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from bayesnb.pictures.layout import require_result

__all__ = ["plot_reliability"]

STYLES = {
    "posterior": {"color": "C0", "marker": "o", "linestyle": "-"},
    "other": {"color": "C1", "marker": "s", "linestyle": "--"},
}
AXES = {
    "classes": ("predicted probability of a class", "observed frequency"),
    "confidence": ("probability of the predicted class", "accuracy"),
}


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


def plot_reliability(calibration: Reliability, *, kind: str = "classes") -> Any:
    """Reliability diagram with intervals, over a histogram of the predictions.

    Parameters
    ----------
    calibration : Calibration
    kind : {"classes", "confidence"}, default "classes"
        The probabilities of every class, or those of the predicted class.

    Returns
    -------
    matplotlib.figure.Figure
        Points on the diagonal are calibrated; below it, on the right, overconfident.

    Raises
    ------
    TypeError
        If `calibration` is not what `nb.calibration` returns.
    ValueError
        If there is no such kind.

    See Also
    --------
    calibration : Calibration of the predicted probabilities.
    Calibration : The result.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.plot_reliability(nb.calibration(posterior, X, y))
    """
    from bayesnb.pictures.picture import Picture

    require_result(calibration, Reliability, "calibration", "nb.calibration(posterior, X, y)")
    if kind not in AXES:
        raise ValueError(f"kind is {kind!r}: give one of {list(AXES)}")
    figure = Picture(figsize=(5, 6), layout="constrained")
    diagram, histogram = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    diagram.plot([0, 1], [0, 1], color="0.6", linewidth=1, zorder=1)
    edges = np.linspace(0, 1, 21)
    for model, predictions in calibration.predictions.items():
        style = STYLES[model]
        chosen = calibration.bins[(calibration.bins["model"] == model) & (calibration.bins["kind"] == kind)]
        error = calibration.table.loc["calibration_error", model]
        diagram.errorbar(
            chosen["mean_predicted"],
            chosen["observed"],
            yerr=[chosen["observed"] - chosen["observed_lower"], chosen["observed_upper"] - chosen["observed"]],
            label=f"{model}: calibration error {error:.3f}",
            markersize=5,
            linewidth=1,
            capsize=2,
            markerfacecolor="white" if model == "other" else style["color"],
            **style,
        )
        values = predictions.ravel() if kind == "classes" else predictions.max(axis=1)
        histogram.hist(
            values, bins=edges, histtype="step", color=style["color"], linestyle=style["linestyle"], linewidth=1.5
        )
    across, up = AXES[kind]
    diagram.set_ylabel(f"{up} ({calibration.prob:.0%} interval)")
    diagram.set_ylim(-0.03, 1.03)
    diagram.legend(loc="lower left", bbox_to_anchor=(0, 1), fontsize=9, frameon=False)
    histogram.set_xlabel(across)
    histogram.set_ylabel("predictions")
    histogram.set_xlim(-0.03, 1.03)
    for axis in (diagram, histogram):
        axis.spines[["top", "right"]].set_visible(False)
    return figure
