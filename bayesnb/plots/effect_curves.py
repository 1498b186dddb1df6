"""Figures of effects: what columns add to the log odds of two classes, over their values."""

from collections.abc import Sequence
from typing import Any

from bayesnb.posterior.effects import effects
from bayesnb.posterior.kinds import Fitted
from bayesnb.posterior.posterior import Posterior


def plot_effect(
    posterior: Posterior | Fitted,
    column: Any,
    X: Any = None,
    *,
    class_: Any = None,
    against: Any = None,
    unit: str = "nats",
    prob: float = 0.89,
    num_draws: int | None = None,
    key: Any = 0,
    ax: Any = None,
    figsize: Any = None,
) -> Any:
    """What a column adds to the log odds of two classes, over its values, with a band.

    All descriptions of the column and its readings are together. It is a picture of `effects`.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
        A point estimate has no band.
    column : hashable
        Its name, or its position where columns have no names.
    X : table, shape (rows, columns), optional
        Data, which sets the range and has its quantiles below the curve.
    class_, against, unit, prob, num_draws, key
        As for `effects`.
    ax, figsize
        The axes to draw in, or the size of a new figure: see `plot_proba`.

    Returns
    -------
    matplotlib.figure.Figure
        Numbers and dates have a curve, categories a row each with their share of the data. A column that is given
        another one has a line, or a point, for each value of that. Missing cells, and numbers with a probability of
        their own, are points.

    Raises
    ------
    TypeError, ValueError
        As for `effects`.

    See Also
    --------
    effects : The numbers of the picture.
    plot_effects : The columns that matter most.
    plot_evidence : What the cells of a row add.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.plot_effect(posterior, "flipper_length_mm", X, class_="Gentoo")
    """
    options = {"class_": class_, "against": against, "unit": unit, "prob": prob, "num_draws": num_draws, "key": key}
    return effects(posterior, X, [column], **options).plot(ax=ax, figsize=figsize)


def plot_effects(
    posterior: Posterior | Fitted,
    X: Any = None,
    *,
    columns: Sequence[Any] | None = None,
    class_: Any = None,
    against: Any = None,
    unit: str = "nats",
    prob: float = 0.89,
    sort: bool = True,
    max_panels: int = 6,
    panels_across: int | None = None,
    num_draws: int | None = None,
    key: Any = 0,
    axes: Any = None,
    figsize: Any = None,
) -> Any:
    """What the columns that matter most add to the log odds of two classes, one panel a column.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
    X : table, shape (rows, columns), optional
        As for `plot_effect`.
    columns, class_, against, unit, prob, num_draws, key
        As for `effects`.
    sort : bool, default True
        Whether the column with the largest mean absolute log odds comes first; otherwise the order of the table, or of
        `columns`.
    max_panels : int, default 6
        The first columns in this order get a panel.
    panels_across, axes, figsize
        Panels side by side, the axes to draw in, or the size of a new figure: see `plot_densities`.

    Returns
    -------
    matplotlib.figure.Figure
        All panels have the same scale. Above each is the mean absolute log odds of its column over all pairs of
        classes: of a classifier its `feature_importances_`, else those of the rows of X, or of simulated rows.

    Raises
    ------
    TypeError, ValueError
        As for `effects`.

    See Also
    --------
    effects : The numbers of the picture.
    plot_effect : The picture of one column.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.plot_effects(posterior, X, class_="Gentoo")
    """
    options = {"class_": class_, "against": against, "unit": unit, "prob": prob, "num_draws": num_draws, "key": key}
    shown = {"sort": sort, "max_panels": max_panels, "panels_across": panels_across, "axes": axes, "figsize": figsize}
    return effects(posterior, X, columns, **options).plot(**shown)
