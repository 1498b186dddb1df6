"""The figure of several models: their probabilities, and how well they predict."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from bayesnb.pictures.layout import require_result, wrap

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


def plot_model_comparison(comparison: Models) -> Any:
    """Posterior probability of each model, and its leave-one-out score relative to the best one.

    Parameters
    ----------
    comparison : ModelComparison

    Returns
    -------
    matplotlib.figure.Figure
        On the left the posterior probability, with the prior one as a stroke; on the right the difference of elpd to
        the highest, with one standard error of the paired difference to either side. Unknown values are not drawn.

    Raises
    ------
    TypeError
        If `comparison` is not what `nb.compare_models` returns.

    See Also
    --------
    compare_models : Probabilities and scores of several models.
    ModelComparison : The result.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> size = X[["bill_length_mm", "body_mass_g"]]
    >>> models = {"normal": nb.Gaussian(), "log-normal": nb.LogNormal(), "histogram": nb.Histogram()}
    >>> found = nb.compare_models(models, size, y)
    >>> figure = nb.plot_model_comparison(found)
    """
    from bayesnb.pictures.picture import Picture

    require_result(comparison, Models, "comparison", "nb.compare_models({...}, X, y)")
    table = comparison.table
    names = [wrap(name, 24) for name in table.index]
    lines = max(name.count("\n") + 1 for name in names)
    figure = Picture(figsize=(7.5, 1.5 + len(names) * max(0.3, 0.05 + 0.15 * lines)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    at = np.arange(len(table))
    probability = table["model_probability"].fillna(0.0)
    left.barh(at, probability, height=0.55, color="0.8", edgecolor="0.3", linewidth=0.8)
    if table["model_probability"].notna().any():
        for row, value in zip(at, table["model_probability"], strict=True):
            left.text(1.02, row, f"{value:.3f}", va="center", fontsize=8)
        left.scatter(comparison.prior[table.index], at, marker="|", s=160, color="black", linewidth=1.4, label="prior")
        left.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)
    else:
        left.text(0.5, 0.5, "not comparable", transform=left.transAxes, ha="center", va="center", fontsize=9)
    left.set_xlim(0.0, 1.0)
    left.set_yticks(at, names, fontsize=8)
    left.set_ylim(len(at) - 0.5, -0.5)
    left.set_xlabel("posterior probability", fontsize=9)
    right.axvline(0.0, color="0.6", linewidth=1, linestyle="--")
    right.errorbar(
        table["elpd_difference"],
        at,
        xerr=table["elpd_difference_se"],
        linestyle="none",
        marker="o",
        markersize=5,
        markerfacecolor="white",
        color="C0",
        capsize=2,
    )
    right.set_xlabel("leave-one-out log score, difference to the highest", fontsize=9)
    for axis in (left, right):
        axis.tick_params(axis="x", labelsize=8)
        axis.tick_params(axis="y", length=0)
        axis.spines[["left", "top", "right"]].set_visible(False)
    return figure
