"""The figure of the features that speak most for each class."""

from typing import Any

import numpy as np
import pandas as pd

from bayesnb.pictures.layout import panel_grid, text_width, wrap
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.fitted import Fitted, posterior_of
from bayesnb.selection.telling import telling_features
from bayesnb.validate import whole_number

__all__ = ["plot_telling_features"]

LABEL_SIZE = 8


def plot_telling_features(
    found: Posterior | Fitted | pd.DataFrame, *, columns: int = 2, max_panels: int = 10, **options: Any
) -> Any:
    """The features that speak most for each class: log odds (points) and intervals (bars), a panel for each class.

    Parameters
    ----------
    found : pandas.DataFrame, Posterior or fitted estimator
        What `telling_features` returns, or a posterior to compute it from.
    columns : int, default 2
        Panels side by side; one for a narrow page.
    max_panels : int, default 10
        The first classes get a panel.
    **options
        For `telling_features`, if `found` is not a frame.

    Returns
    -------
    matplotlib.figure.Figure
        All panels have the same scale. Infinite log odds, which only point estimates have, lie at the edge as an arrow
        head.

    Raises
    ------
    TypeError, ValueError
        If the first argument is none of these, options come with a frame, which has them already, or no feature speaks
        for any class.

    See Also
    --------
    telling_features : The values that favour a class most.
    plot_evidence : The log odds of one row, feature by feature.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.plot_telling_features(posterior, num=3)
    """
    frame = _frame(found, options)
    if frame.empty:
        raise ValueError("no feature speaks for any class, so that there is nothing to draw: all log odds are zero")
    classes = list(dict.fromkeys(frame["class"]))
    shown = classes[: whole_number("max_panels", max_panels)]
    panels = [frame[frame["class"] == label] for label in shown]
    names = [[_name(row) for row in panel.itertuples()] for panel in panels]
    lines = max(sum(name.count("\n") + 1 for name in of_panel) for of_panel in names)
    width = 2.2 + max(text_width(name, LABEL_SIZE) for of_panel in names for name in of_panel)
    figure, axes = panel_grid(len(shown), columns, width=width, height=0.6 + 0.2 * lines)
    numbers = pd.concat(panels)[["log_odds", "lower", "upper"]].to_numpy()
    finite = numbers[np.isfinite(numbers)]
    low, high = finite.min(initial=0.0), 1.05 * finite.max(initial=0.1)
    for axis, label, panel, of_panel in zip(axes, shown, panels, names, strict=True):
        at, values = np.arange(len(panel)), panel["log_odds"].to_numpy()
        ink = axis.xaxis.label.get_color()
        ends = np.clip(panel[["lower", "upper"]].to_numpy(), low, high)
        axis.axvline(0.0, color=ink, linewidth=0.8, linestyle="--", zorder=1)
        axis.hlines(at, *ends.T, color="0.5", linewidth=1.8, zorder=2)
        infinite = np.isinf(values)
        axis.scatter(values[~infinite], at[~infinite], s=22, color="C0", edgecolors=ink, linewidths=0.6, zorder=3)
        axis.scatter(np.full(infinite.sum(), high), at[infinite], s=30, marker=">", color=ink, zorder=3)
        axis.set_yticks(at, of_panel, fontsize=LABEL_SIZE)
        axis.tick_params(axis="y", length=0)
        axis.set_ylim(len(at) - 0.5, -0.5)
        axis.set_xlim(low - 0.03 * (high - low), high + 0.03 * (high - low))
        axis.set_title(wrap(f"for {label}", 30), fontsize=9, loc="left")
    interval = "" if frame["lower"].isna().all() else f", with {frame.attrs.get('prob', 0.89):.4g} intervals"
    number = f" (the first {len(shown)} of {len(classes)} classes)" if len(shown) < len(classes) else ""
    unit = frame.attrs.get("unit", "nats")
    figure.supxlabel(wrap(f"log odds against the other classes in {unit}{interval}{number}", 44), fontsize=9)
    return figure


def _name(row: Any) -> str:
    return wrap(row.feature if pd.isna(row.value) else f"{row.feature} = {row.value}", 30)


def _frame(found: Any, options: dict[str, Any]) -> pd.DataFrame:
    if not isinstance(found, pd.DataFrame):
        return telling_features(posterior_of(found, "found"), **options)
    if not {"class", "feature", "value", "log_odds", "lower", "upper"} <= set(found.columns):
        raise TypeError(f"found has the columns {list(found.columns)}: give what nb.telling_features gave")
    if options:
        raise ValueError(f"{[*options]} are for a posterior: give them to nb.telling_features, which made the frame")
    return found
