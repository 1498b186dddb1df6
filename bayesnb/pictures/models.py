"""The figure of several models: their probabilities, and how well they predict."""

from typing import Any, Protocol, runtime_checkable

import pandas as pd

from bayesnb.pictures.choices import require_result
from bayesnb.pictures.forest import Points, Rows, forest
from bayesnb.pictures.shown import how_many

__all__ = ["plot_model_comparison"]


@runtime_checkable
class Models(Protocol):
    """The part of a `ModelComparison` that the figure reads."""

    @property
    def table(self) -> pd.DataFrame:
        """A row for each model, the best first."""

    @property
    def prior(self) -> pd.Series:
        """Prior probability of each model."""


def plot_model_comparison(
    comparison: Models,
    *,
    panels_across: int | None = None,
    backend: str = "matplotlib",
    axes: Any = None,
    figsize: Any = None,
) -> Any:
    """Posterior probability of each model, and its leave-one-out score relative to the best one.

    Parameters
    ----------
    comparison : ModelComparison
    panels_across : int, optional
        Panels side by side; by default as many as fit the width.
    backend : {"matplotlib", "bokeh", "plotly"}, default "matplotlib"
        Library that draws.
    axes : sequence of matplotlib axes, optional
        Where to draw; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the number of models.

    Returns
    -------
    matplotlib.figure.Figure or arviz_plots.PlotCollection
        The first panel has the posterior probability as a point and as a number, with the prior one as a stroke. The
        second one has the difference of elpd to the highest, with one standard error of the paired difference to either
        side. Without probabilities there is the second panel only. Unknown values are not drawn. Other backends than
        matplotlib give the collection, which has ``show()`` and ``savefig(path)``.

    Raises
    ------
    ModuleNotFoundError
        If the backend is not installed.
    TypeError, ValueError
        If `comparison` is not what `nb.compare_models` returns, or `backend`, `axes` and `figsize` do not fit.

    See Also
    --------
    compare_models : Probabilities and scores of several models.
    ModelComparison : The result.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> models = {"Gaussian": nb.Gaussian(), "log-normal": nb.LogNormal()}
    >>> figure = nb.compare_models(models, X[["bill_length_mm", "body_mass_g"]], y).plot()
    """
    require_result(comparison, Models, "comparison", "nb.compare_models({...}, X, y)")
    table = comparison.table
    names = [str(name) for name in table.index]
    probability, difference, se = (
        table[name] for name in ("model_probability", "elpd_difference", "elpd_difference_se")
    )
    number = how_many(len(table), len(table), "model", "")
    scores = Rows(
        names,
        [Points(difference, filled=False)],
        difference - se,
        difference + se,
        "one standard error to either side",
        x_label="leave-one-out log score, difference to the highest",
        at=0.0,
    )
    if probability.isna().all():
        title, rows = f"Predictions of {number} (right is better); their probabilities are not comparable", [scores]
    else:
        numbers = ["" if pd.isna(value) else f": {value:.3f}" for value in probability]
        marks = [Points(comparison.prior[table.index], "prior", "|", "B1"), Points(probability, "posterior")]
        names = [f"{name}{number}" for name, number in zip(names, numbers, strict=True)]
        title = f"Probabilities and predictions of {number} (right is better)"
        rows = [Rows(names, marks, x_label="probability of the model", limits=(-0.03, 1.03)), scores]
    return forest(rows, title=title, panels_across=panels_across, backend=backend, axes=axes, figsize=figsize)
