"""The figure of a comparison: exact marginal densities over the sampled histograms."""

import re
from collections.abc import Callable, Collection
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np
import numpyro.distributions as dist
import pandas as pd

from bayesnb.families.compiled import log_density
from bayesnb.families.mean_and_variance import mean_and_variance
from bayesnb.pictures.choices import require_result
from bayesnb.pictures.panels import grid_of_panels
from bayesnb.pictures.shown import how_many, number_of_panels
from bayesnb.pictures.style import muted
from bayesnb.printing import counted

__all__ = ["plot_comparison"]

FIRST_CLAUSE = re.compile(", and |: ")
"""What ends the first clause of a reason."""

LARGE = 3.0
"""An absolute z that chance makes rarely."""


@runtime_checkable
class Marginals(Protocol):
    """The part of a `Comparison` that the figure reads."""

    @property
    def table(self) -> pd.DataFrame:
        """A row for each compared parameter; the columns that start with ``z_`` are differences in standard errors."""

    @property
    def verdict(self) -> str:
        """The answer in words."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the answer is not yes."""

    @property
    def exact(self) -> Any:
        """The posterior whose marginal densities are drawn."""

    @property
    def sampled(self) -> Any:
        """The posterior whose draws are counted."""


def plot_comparison(
    comparison: Marginals,
    *,
    max_panels: int | None = None,
    panels_across: int | None = None,
    axes: Any = None,
    figsize: Any = None,
) -> Any:
    """Exact marginal density (line) over the histogram of the draws (bars), one panel a parameter.

    Parameters
    ----------
    comparison : Comparison
    max_panels : int, optional
        The parameters with the largest absolute z, of location, spread, skewness or tails, get a panel, the largest
        first. By default those with an absolute z of three or more, but at least 4 and at most 12.
    panels_across : int, optional
        Panels side by side; by default as many as fit the width.
    axes : sequence of matplotlib axes, optional
        Where to draw, one for each panel; by default in a new figure.
    figsize : (width, height), optional
        Inches of a new figure; a height of None follows from the panels.

    Returns
    -------
    matplotlib.figure.Figure
        The head of a panel names the largest of its four z. The title gives the verdict with its first reason,
        and says how many parameters of how many are shown.

    Raises
    ------
    TypeError, ValueError
        If `comparison` is not what `nb.compare` returns, or `axes` and `figsize` do not fit.

    See Also
    --------
    compare : Whether samples agree with the closed form.
    Comparison : The result.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> model = nb.NaiveBayes({"bill_length_mm": nb.Gaussian()})
    >>> exact = nb.fit(model, X, y)
    >>> sampled = nb.from_samples(model, exact.draws(key=1), X=X, y=y)
    >>> figure = nb.compare(exact, sampled).plot(max_panels=6)
    """
    require_result(comparison, Marginals, "comparison", "nb.compare(exact, sampled)")
    table = comparison.table
    differences = table[[column for column in table.columns if column.startswith("z_")]].fillna(0.0)
    worst = differences.abs().max(axis=1).sort_values(ascending=False, kind="stable")
    shown = worst.index[: number_of_panels(max_panels, int((worst >= LARGE).sum()))]
    marginals = {panel[0]: panel[1:] for panel in _panels(comparison, set(shown))}
    panels = grid_of_panels(len(shown), axes=axes, figsize=figsize, across=panels_across)
    for axis, label in zip(panels.axes, shown, strict=True):
        draws, density = marginals[label]
        low, high = np.quantile(draws, [0.001, 0.999])
        bars = {"color": muted(0.25), "edgecolor": muted(0.5), "linewidth": 0.3}
        axis.hist(draws, bins=40, range=(low, high), density=True, **bars)
        grid = np.linspace(low, high, 200)
        axis.plot(grid, density(grid), color="C0", linewidth=1.8)
        axis.set_yticks([])
        axis.locator_params(axis="x", nbins=3)
    # The difference for which a panel is shown.
    of_panel = [(label, differences.loc[label]) for label in shown]
    panels.heads([f"{label}\nz {_name(off.abs().idxmax())} {off[off.abs().idxmax()]:+.1f}" for label, off in of_panel])
    number = how_many(len(shown), len(table), "parameter", "most different")
    panels.title(f"{_answer(comparison)}\nDraws (bars) and exact density (line): {number}")
    return panels.drawn()


def _answer(comparison: Marginals) -> str:
    """The verdict, with its first reason if it is not yes; what follows the first clause of a reason is advice."""
    answer = comparison.verdict.split(":")[0]
    if not comparison.reasons:
        return answer
    more = len(comparison.reasons) - 1
    others = f" (and {counted(more, 'other reason')})" if more else ""
    return f"{answer}: {FIRST_CLAUSE.split(comparison.reasons[0])[0]}{others}"


def _name(column: str) -> str:
    return column.removeprefix("z_")


def _panels(comparison: Marginals, shown: Collection[str]) -> list[tuple[str, np.ndarray, Any]]:
    """Label, draws and exact density of the parameters that are shown."""
    labels = iter(comparison.table.index)
    found = []
    draws = comparison.sampled.draws()
    with jax.enable_x64(True):
        for site, marginal in comparison.exact.marginals().items():
            _, variance = mean_and_variance(marginal)
            for index in np.ndindex(variance.shape):
                if variance[index] == 0:
                    continue
                label = next(labels)
                if label in shown:
                    found.append((label, draws[site][(..., *index)].ravel(), _density(marginal, index)))
    return found


def _density(marginal: dist.Distribution, index: tuple[int, ...]) -> Callable[[np.ndarray], np.ndarray]:
    """The density of one parameter, from the marginals of all parameters of its site."""

    def density(grid: np.ndarray) -> np.ndarray:
        densities: Any = np.exp(log_density(marginal, grid.reshape(-1, *[1] * len(index))))
        return densities[(..., *index)]

    return density
