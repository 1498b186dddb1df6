"""The figure of sensitivity: how much the parameters depend on the prior, and how much on the data."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import pandas as pd

from bayesnb.pictures.choices import chosen, require_result, yes_or_no
from bayesnb.pictures.forest import Points, Rows, forest
from bayesnb.validate import whole_number

__all__ = ["plot_sensitivity"]


@runtime_checkable
class PowerScaled(Protocol):
    """The part of a `Sensitivity` that the figure reads."""

    @property
    def table(self) -> pd.DataFrame:
        """A row for each parameter, with the sensitivities ``prior`` and ``likelihood`` and the ``diagnosis``."""

    @property
    def flat(self) -> pd.Series:
        """For each parameter, whether its prior is flat, and is therefore not measured."""

    @property
    def nothing(self) -> str:
        """The diagnosis of a parameter without a noticeable sensitivity to the prior."""

    @property
    def threshold(self) -> float:
        """Sensitivity that counts as noticeable."""


def plot_sensitivity(
    sensitivity: PowerScaled,
    *,
    parameters: Sequence[Any] | None = None,
    sort: bool = True,
    max_parameters: int = 30,
    backend: str = "matplotlib",
    ax: Any = None,
    figsize: Any = None,
) -> Any:
    """Sensitivity of each parameter to the prior (round) and to the likelihood (square).

    Parameters
    ----------
    sensitivity : Sensitivity
    parameters : sequence, optional
        Labels of the parameters to show, as in `Sensitivity.table`; by default all.
    sort : bool, default True
        The one that is most sensitive to the prior first; otherwise in the order of `parameters`, or of the table.
    max_parameters : int, default 30
        The first ones in this order are drawn.
    backend : {"matplotlib", "bokeh", "plotly"}, default "matplotlib"
        Library that draws.
    ax : matplotlib axes, optional
        Where to draw; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the rows.

    Returns
    -------
    matplotlib.figure.Figure or arviz_plots.PlotCollection
        Right of the dashed line a sensitivity is noticeable. A parameter's diagnosis is beside its name. Both right of
        the line: prior and data disagree. The prior alone: the prior decides. Other backends than matplotlib give the
        collection, which has ``show()`` and ``savefig(path)``.

    Raises
    ------
    ModuleNotFoundError
        If the backend is not installed.
    TypeError, ValueError
        If `sensitivity` is not what `nb.sensitivity` returns, a parameter is unknown, or `backend`, `ax` and `figsize`
        do not fit.

    See Also
    --------
    sensitivity : Sensitivity to prior and likelihood.
    Sensitivity : The result.
    plot_prior_posterior : Prior and posterior density of each parameter.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.sensitivity(posterior).plot(max_parameters=10)
    """
    require_result(sensitivity, PowerScaled, "sensitivity", "nb.sensitivity(posterior)")
    table = sensitivity.table
    if parameters is not None:
        table = table.iloc[chosen("parameters", parameters, table.index)]
    if yes_or_no("sort", sort):
        table = table.sort_values("prior", ascending=False, kind="stable")
    shown = table.head(whole_number("max_parameters", max_parameters))
    told = (("" if each == sensitivity.nothing else f": {each}") for each in shown["diagnosis"])
    rows = Rows(
        [f"{name}{diagnosis}" for name, diagnosis in zip(shown.index, told, strict=True)],
        [
            Points(shown["likelihood"], "to the likelihood", "s", "C1", filled=False),
            Points(shown["prior"], "to the prior"),
        ],
        x_label="cumulative Jensen-Shannon distance for each doubling of the power",
        at=sensitivity.threshold,
        at_label=f"noticeable, from {sensitivity.threshold:g}",
        limits=(-0.015 * shown[["prior", "likelihood"]].max(axis=None), None),
    )
    number = f"{len(table)} parameter{'s' * (len(table) != 1)}"
    if len(shown) < len(table):
        number = f"{len(shown)} of {number}, the {'most sensitive to the prior' if sort else 'first'}"
    flat = int(sensitivity.flat[table.index].sum())
    number += f"; {flat} with a flat prior, not measured" * bool(flat)
    return forest([rows], title=f"Sensitivity of {number}", backend=backend, ax=ax, figsize=figsize)
