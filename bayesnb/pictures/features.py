"""The figure of a search for features: the rise of the leave-one-out score, step by step."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from bayesnb.pictures.choices import require_result
from bayesnb.pictures.panels import panel_of_rows
from bayesnb.pictures.shown import how_many
from bayesnb.pictures.style import muted
from bayesnb.validate import whole_number

__all__ = ["plot_feature_selection"]


@runtime_checkable
class Selection(Protocol):
    """The part of a `FeatureSelection` that the figure reads."""

    @property
    def table(self) -> pd.DataFrame:
        """A row for each step of the search, the first with all features."""

    @property
    def kept(self) -> tuple[Any, ...]:
        """The features that are kept."""

    @property
    def dropped(self) -> tuple[Any, ...]:
        """The other features."""


def plot_feature_selection(selection: Selection, *, max_steps: int = 60, ax: Any = None, figsize: Any = None) -> Any:
    """The rise of the leave-one-out score of the labels, step by step, with its standard error.

    Parameters
    ----------
    selection : FeatureSelection
    max_steps : int, default 60
        The first steps are drawn.
    ax : matplotlib axes, optional
        Where to draw; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the rows.

    Returns
    -------
    matplotlib.figure.Figure
        A point for each step, beside the feature that it drops or adds: the score minus that of all features. The band
        is two standard errors of the difference to either side. A subset is kept if the last band is right of zero.

    Raises
    ------
    TypeError, ValueError
        If `selection` is not what `nb.select_features` returns, no change of the features raised the score, or `ax` and
        `figsize` do not fit.

    See Also
    --------
    select_features : Drop the features that do not help.
    FeatureSelection : The result.

    Examples
    --------
    >>> import bayesnb as nb
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> temperature = y + rng.normal(size=200)
    >>> names = [f"thermometer {number}" for number in range(4)]
    >>> X = pd.DataFrame({name: temperature + 0.1 * rng.normal(size=200) for name in names})
    >>> X["humidity"] = y + rng.normal(size=200)
    >>> figure = nb.plot_feature_selection(nb.select_features(nb.Gaussian(), X, y))
    """
    require_result(selection, Selection, "selection", "nb.select_features(model, X, y)")
    if len(selection.table) == 1:
        raise ValueError("no feature was dropped, because that would lower the score: there is nothing to draw")
    shown = selection.table.head(1 + whole_number("max_steps", max_steps))
    pairs = zip(shown["action"], shown["feature"], strict=True)
    panels = panel_of_rows(
        [f"{action} {feature}".strip() for action, feature in pairs], ax=ax, figsize=figsize, row_height=0.2
    )
    (axis,) = panels.axes
    at, difference, error = np.arange(len(shown)), shown["difference"].to_numpy(), 2.0 * shown["se"].to_numpy()
    axis.fill_betweenx(at, difference - error, difference + error, color="C0", alpha=0.25, linewidth=0, zorder=1)
    axis.plot(difference, at, color="C0", marker="o", markersize=4, linewidth=1.4, zorder=3)
    axis.axvline(0.0, color=muted(0.6), linewidth=1, linestyle="--", zorder=2)
    number = len(selection.kept) + len(selection.dropped)
    steps = how_many(len(shown) - 1, len(selection.table) - 1, "step", "first")
    panels.title(f"Score of the labels (right is better), {steps}: {len(selection.kept)} of {number} features are kept")
    panels.x_label(
        "leave-one-out log score of the labels, difference to all features (nats), with two standard errors to either "
        "side"
    )
    return panels.drawn()
