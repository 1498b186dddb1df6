"""The figure of a comparison: exact marginal densities over the sampled histograms."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np
import numpyro.distributions as dist
import pandas as pd

from bayesnb.families.compiled import log_density
from bayesnb.pictures.layout import require_result

__all__ = ["plot_comparison"]


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
    def exact(self) -> Any:
        """The posterior whose marginal densities are drawn."""

    @property
    def sampled(self) -> Any:
        """The posterior whose draws are counted."""


def plot_comparison(comparison: Marginals, *, max_panels: int = 24, columns: int = 4) -> Any:
    """Exact marginal density (line) over the histogram of the draws (bars), one panel a parameter.

    Parameters
    ----------
    comparison : Comparison
    max_panels : int, default 24
        The parameters with the largest absolute z, of location, spread, skewness or tails, are shown. The title of a
        panel names the one of the four that is largest there.
    columns : int, default 4
        Panels side by side.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TypeError
        If `comparison` is not what `nb.compare` returns.

    See Also
    --------
    compare : Whether samples agree with the closed form.
    Comparison : The result.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"]
    >>> exact = nb.fit(nb.Bernoulli(), X, y)
    >>> sampled = nb.fit(nb.Bernoulli(), X, y, nb.NUTS(num_samples=500))
    >>> figure = nb.plot_comparison(nb.compare(exact, sampled))
    """
    from bayesnb.pictures.picture import Picture

    require_result(comparison, Marginals, "comparison", "nb.compare(exact, sampled)")
    table = comparison.table
    differences = [column for column in table.columns if column.startswith("z_")]
    worst = table[differences].abs().max(axis=1).sort_values(ascending=False, kind="stable")
    chosen = set(worst.index[:max_panels])
    panels = [panel for panel in _panels(comparison) if panel[0] in chosen]
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = Picture(figsize=(3.2 * columns, 0.9 + 2.3 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    for axis, (label, draws, density) in zip(axes.flat, panels, strict=False):
        low, high = np.quantile(draws, [0.001, 0.999])
        axis.hist(draws, bins=40, range=(low, high), density=True, color="0.8", edgecolor="0.6", linewidth=0.3)
        grid = np.linspace(low, high, 200)
        axis.plot(grid, density(grid), color="C0", linewidth=1.8)
        # The difference for which the panel is shown.
        off = table.loc[label, differences].fillna(0.0)
        worst_of = off.abs().idxmax()
        axis.set_title(f"{_wrap(label)}\nz {worst_of.removeprefix('z_')} {off[worst_of]:+.1f}", fontsize=8)
        axis.set_yticks([])
        axis.tick_params(labelsize=7)
        axis.locator_params(axis="x", nbins=3)
        axis.spines[["left", "top", "right"]].set_visible(False)
    shown = (
        f"the {len(panels)} of {len(table)} parameters with the largest |z|"
        if len(panels) < len(table)
        else f"{len(table)} parameters"
    )
    answer = comparison.verdict.split(",")[0]
    figure.suptitle(f"{answer}: draws (bars) and exact density (line), {shown}", fontsize=10)
    return figure


def _wrap(label: str) -> str:
    return label if len(label) <= 32 else label.replace("[", "\n[", 1)


def _panels(comparison: Marginals) -> list[tuple[str, np.ndarray, Any]]:
    """Label, draws and exact density of every compared parameter."""
    labels = iter(comparison.table.index)
    found = []
    draws = comparison.sampled.draws()
    with jax.enable_x64(True):
        for site, marginal in comparison.exact.marginals().items():
            with np.errstate(divide="ignore", invalid="ignore"):  # infinite with very few data
                variance = np.asarray(marginal.variance)
            for index in np.ndindex(variance.shape):
                if variance[index] == 0:
                    continue
                found.append((next(labels), draws[site][(..., *index)].ravel(), _density(marginal, index)))
    return found


def _density(marginal: dist.Distribution, index: tuple[int, ...]) -> Callable[[np.ndarray], np.ndarray]:
    """The density of one parameter, from the marginals of all parameters of its site."""

    def density(grid: np.ndarray) -> np.ndarray:
        densities: Any = np.exp(log_density(marginal, grid.reshape(-1, *[1] * len(index))))
        return densities[(..., *index)]

    return density
