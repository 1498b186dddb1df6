"""The figures of sensitivity: how much parameters and class probabilities depend on the prior and on the data."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import pandas as pd

from bayesnb.pictures.choices import chosen, require_result, yes_or_no
from bayesnb.pictures.forest import Points, Rows, forest
from bayesnb.pictures.shown import how_many
from bayesnb.validate import whole_number

__all__ = ["plot_sensitivity"]

NOUNS = {"parameters": "parameter", "probabilities": "probability"}
"""By kind, what one of them is called."""


@runtime_checkable
class PowerScaled(Protocol):
    """The part of a `Sensitivity` that the figure reads."""

    @property
    def table(self) -> pd.DataFrame:
        """A row for each parameter, with the sensitivities ``prior`` and ``likelihood`` and the ``diagnosis``."""

    @property
    def probabilities(self) -> pd.DataFrame | None:
        """A row for each row of a table and class: ``probability``, and its change ``prior`` and ``likelihood``."""

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
    kind: str = "parameters",
    parameters: Sequence[Any] | None = None,
    sort: bool = True,
    max_parameters: int = 30,
    backend: str = "matplotlib",
    ax: Any = None,
    figsize: Any = None,
) -> Any:
    """Sensitivity of each parameter, or class probability, to the prior (round) and to the likelihood (square).

    Parameters
    ----------
    sensitivity : Sensitivity
    kind : {"parameters", "probabilities"}, default "parameters"
        The parameters, or the class probabilities of the rows that `nb.sensitivity` was given as `X`.
    parameters : sequence, optional
        Labels of the parameters to show, as in `Sensitivity.table`, or pairs of row and class, as in
        `Sensitivity.probabilities`; by default all.
    sort : bool, default True
        The one that is most sensitive to the prior first; otherwise in the order of `parameters`, or of the table.
    max_parameters : int, default 30
        The first parameters, or class probabilities, in this order are drawn.
    backend : {"matplotlib", "bokeh", "plotly"}, default "matplotlib"
        Library that draws.
    ax : matplotlib axes, optional
        Where to draw; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the rows.

    Returns
    -------
    matplotlib.figure.Figure or arviz_plots.PlotCollection
        Right of the dashed line a parameter's sensitivity is noticeable. Its diagnosis is beside its name. Both right
        of the line: prior and data disagree. The prior alone: the prior decides. A class probability is beside its row
        and class. Its change is right of the dashed line, at zero, if more power increases it. Other backends than
        matplotlib give the collection, which has ``show()`` and ``savefig(path)``.

    Raises
    ------
    ModuleNotFoundError
        If the backend is not installed.
    TypeError, ValueError
        If `sensitivity` is not what `nb.sensitivity` returns, there is no such kind, or no rows were given for class
        probabilities, a parameter is unknown, or `backend`, `ax` and `figsize` do not fit.

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
    >>> found = nb.sensitivity(posterior, X.iloc[::50])
    >>> of_rows = found.plot(kind="probabilities")
    >>> figure = found.plot(max_parameters=10)
    """
    require_result(sensitivity, PowerScaled, "sensitivity", "nb.sensitivity(posterior)")
    table, noun = _table(sensitivity, kind), NOUNS[kind]
    if parameters is not None:
        table = table.iloc[chosen("parameters", parameters, table.index)]
    if yes_or_no("sort", sort):
        table = table.sort_values("prior", key=abs, ascending=False, kind="stable")
    shown = table.head(whole_number("max_parameters", max_parameters))
    points = [
        Points(shown["likelihood"], "to the likelihood", "s", "C1", filled=False),
        Points(shown["prior"], "to the prior"),
    ]
    rows = _of_parameters(sensitivity, shown, points) if kind == "parameters" else _of_probabilities(shown, points)
    number = how_many(len(shown), len(table), noun, "top" if sort else "first")
    flat = int(sensitivity.flat[table.index].sum()) if kind == "parameters" else 0
    number += f"; {flat} with a flat prior, not measured" * bool(flat)
    title = f"Sensitivity to prior and likelihood: {number}"
    return forest([rows], title=title, backend=backend, ax=ax, figsize=figsize)


def _table(sensitivity: PowerScaled, kind: str) -> pd.DataFrame:
    """A row for each parameter, or for each row and class."""
    if kind not in NOUNS:
        raise ValueError(f"kind is {kind!r}: give one of {list(NOUNS)}")
    if kind == "parameters":
        return sensitivity.table
    if sensitivity.probabilities is None:
        raise ValueError("kind is 'probabilities', and there are none: give the rows to nb.sensitivity(posterior, X)")
    return sensitivity.probabilities


def _of_parameters(sensitivity: PowerScaled, shown: pd.DataFrame, points: list[Points]) -> Rows:
    told = (("" if each == sensitivity.nothing else f": {each}") for each in shown["diagnosis"])
    return Rows(
        [f"{name}{diagnosis}" for name, diagnosis in zip(shown.index, told, strict=True)],
        points,
        x_label="cumulative Jensen-Shannon distance for each doubling of the power",
        at=sensitivity.threshold,
        at_label=f"noticeable, from {sensitivity.threshold:g}",
        limits=(-0.015 * shown[["prior", "likelihood"]].max(axis=None), None),
    )


def _of_probabilities(shown: pd.DataFrame, points: list[Points]) -> Rows:
    names = [f"row {row}, {label}: {prob:.3f}" for (row, label), prob in shown["probability"].items()]
    return Rows(names, points, x_label="change of the class probability for each doubling of the power", at=0.0)
