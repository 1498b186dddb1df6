"""The figure of the features that speak most for each class."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.pictures.choices import chosen
from bayesnb.pictures.panels import grid_of_panels, name_rows
from bayesnb.pictures.style import SMALL, muted, text_color
from bayesnb.pictures.text import line_height, line_number, percent, wrap_to
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.fitted import Fitted, posterior_of
from bayesnb.selection.telling import telling_features
from bayesnb.validate import whole_number

__all__ = ["plot_telling_features"]

NAMES = 1.5
"""Inches of the names beside a panel."""


def plot_telling_features(
    found: Posterior | Fitted | pd.DataFrame,
    *,
    classes: Sequence[Any] | None = None,
    max_panels: int = 10,
    panels_across: int | None = None,
    axes: Any = None,
    figsize: Any = None,
    **options: Any,
) -> Any:
    """The features that speak most for each class: log odds (points) and intervals (bars), a panel for each class.

    Parameters
    ----------
    found : pandas.DataFrame, Posterior or fitted estimator
        What `telling_features` returns, or a posterior to compute it from.
    classes : sequence, optional
        Classes that get a panel, in this order; by default all for which a feature speaks.
    max_panels : int, default 10
        The first classes get a panel.
    panels_across : int, optional
        Panels side by side; by default two, or as many as the width has room for.
    axes : array or sequence of matplotlib axes, optional
        Where to draw, one for each panel; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the rows.
    **options
        For `telling_features`, if `found` is not a frame.

    Returns
    -------
    matplotlib.figure.Figure
        The new figure, or that of `axes`. All panels have the same scale. Infinite log odds, which only point estimates
        have, are an arrow head at the edge.

    Raises
    ------
    TypeError, ValueError
        If the first argument is none of these, options come with a frame, which has them already, a class is unknown,
        no feature speaks for any class, or `axes` and `figsize` do not fit.

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
    there = list(dict.fromkeys(frame["class"]))
    wanted = there if classes is None else [there[i] for i in chosen("classes", classes, there)]
    shown = wanted[: whole_number("max_panels", max_panels)]
    rows = [frame[frame["class"] == label] for label in shown]
    names = [[wrap_to(_name(row), NAMES, SMALL) for row in of_class.itertuples()] for of_class in rows]
    lines = max(sum(map(line_number, of_class)) for of_class in names)
    panels = grid_of_panels(
        len(shown),
        axes=axes,
        figsize=figsize,
        across=panels_across,
        most_across=2,
        width=3.7,
        height=0.6 + 1.3 * lines * line_height(SMALL),
        narrowest=3.0,
    )
    numbers = pd.concat(rows)[["log_odds", "lower", "upper"]].to_numpy()
    finite = numbers[np.isfinite(numbers)]
    low, high = finite.min(initial=0.0), 1.05 * finite.max(initial=0.1)
    for axis, of_class, of_panel in zip(panels.axes, rows, names, strict=True):
        name_rows(axis, of_panel)
        _draw(axis, of_class, low, high)
    panels.heads([f"for {label}" for label in shown], loc="left")
    interval = "" if frame["lower"].isna().all() else f", with {percent(frame.attrs.get('prob', 0.89))} intervals"
    number = f" (the first {len(shown)} of {len(wanted)} classes)" if len(shown) < len(wanted) else ""
    panels.x_label(f"log odds against the other classes in {frame.attrs.get('unit', 'nats')}{interval}{number}")
    return panels.figure


def _draw(axis: Any, rows: pd.DataFrame, low: float, high: float) -> None:
    """The features of one class, between the ends of the common scale."""
    ink = text_color()
    at, values = np.arange(len(rows)), rows["log_odds"].to_numpy()
    ends = np.clip(rows[["lower", "upper"]].to_numpy(), low, high)
    axis.axvline(0.0, color=ink, linewidth=0.8, linestyle="--", zorder=1)
    axis.hlines(at, *ends.T, color=muted(0.5), linewidth=1.8, zorder=2)
    infinite = np.isinf(values)
    axis.scatter(values[~infinite], at[~infinite], s=22, color="C0", edgecolors=ink, linewidths=0.6, zorder=3)
    axis.scatter(np.full(infinite.sum(), high), at[infinite], s=30, marker=">", color=ink, zorder=3)
    axis.set_xlim(low - 0.03 * (high - low), high + 0.03 * (high - low))
    axis.xaxis.get_major_locator().set_params(nbins=5)


def _name(row: Any) -> str:
    return str(row.feature) if pd.isna(row.value) else f"{row.feature} = {row.value}"


def _frame(found: Any, options: dict[str, Any]) -> pd.DataFrame:
    if not isinstance(found, pd.DataFrame):
        return telling_features(posterior_of(found, "found"), **options)
    if not {"class", "feature", "value", "log_odds", "lower", "upper"} <= set(found.columns):
        raise TypeError(f"found has the columns {list(found.columns)}: give what nb.telling_features gave")
    if options:
        raise ValueError(f"{[*options]} are for a posterior: give them to nb.telling_features, which made the frame")
    return found
