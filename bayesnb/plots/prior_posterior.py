"""The figure of prior and posterior: the density of each parameter before and after the data."""

import itertools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist

from bayesnb.blocks.class_prior import CLASS_SITE
from bayesnb.families.cdf import quantile
from bayesnb.families.compiled import log_density
from bayesnb.keys import random_generator
from bayesnb.model.ways import ways_to_posterior
from bayesnb.pictures.layout import legend, panel_grid, wrap
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.exact import ExactPosterior, marginals_by_site
from bayesnb.posterior.fitted import Fitted, posterior_of
from bayesnb.posterior.point import PointPosterior
from bayesnb.validate import whole_number

__all__ = ["plot_prior_posterior"]

LEVELS = (0.002, 0.25, 0.5, 0.75, 0.998)
"""Quantiles of the posterior that determine the range of a panel."""

TAIL = 4
"""Quartile distances from the median beyond which a heavy tail is not shown."""

BESIDE = 2
"""Widths of the posterior that the prior may add on either side."""

GRID = 400
BINS = 40
PRIOR_DRAWS = 4000


def plot_prior_posterior(
    posterior: Posterior | Fitted, *, sites: Sequence[str] | None = None, max_panels: int = 24, columns: int = 4
) -> Any:
    """Prior density (dashed) and posterior density (solid, filled), one panel a scalar parameter.

    The densities of an exact posterior are exact. A sampled posterior is a histogram of its draws, under the exact
    prior density; a prior of a family that is not conjugate is a histogram of draws too.

    A panel spans the posterior and as much of the prior's central 90 % as leaves the posterior a fifth of it; tails
    beyond four quartile distances from the posterior's median are cut.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
    sites : sequence of str, optional
        Parameters to show, as `Posterior.mean` names them; by default all.
    max_panels : int, default 24
        The first scalar parameters get a panel. Those that are known, such as class probabilities that were given,
        have none.
    columns : int, default 4
        Panels side by side.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the posterior is a point, a site is unknown or known for certain, or there is nothing to learn.

    See Also
    --------
    plot_densities : Predictive densities of numbers.
    ExactPosterior.marginals : The marginal densities.
    sensitivity : Sensitivity to prior and likelihood.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.Gaussian(), X[["body_mass_g"]], y)
    >>> figure = nb.plot_prior_posterior(posterior, sites=["x_mean", "x_variance"])
    """
    from bayesnb.pictures.picture import Line2D

    posterior = posterior_of(posterior)
    if isinstance(posterior, PointPosterior):
        raise ValueError(
            f"a point estimate has no density: use {ways_to_posterior(posterior.model)}, or mean() for the values of "
            "this one"
        )
    everything = _parameters(posterior, sites)
    chosen = everything[: whole_number("max_panels", max_panels)]
    figure, axes = panel_grid(len(chosen), columns)
    by_site = itertools.groupby(zip(axes, chosen, strict=True), key=lambda panel: panel[1][0])
    with jax.enable_x64(True):
        after, before = _after(posterior), _before(posterior)
        for site, panels in by_site:
            _draw_site(list(panels), before[site], after[site])
    for axis, (_, label, _) in zip(axes, chosen, strict=True):
        axis.set_title(_title(label), fontsize=8)
        axis.set_yticks([])
        axis.locator_params(axis="x", nbins=3)
        axis.ticklabel_format(axis="x", useOffset=False, scilimits=(-3, 4))
        axis.xaxis.get_offset_text().set_fontsize(7)
    shown = (
        f"the first {len(chosen)} of {len(everything)} parameters"
        if len(chosen) < len(everything)
        else f"{len(everything)} parameter{'s' * (len(everything) != 1)}"
    )
    figure.suptitle(f"Prior and posterior, {shown}", fontsize=10)
    handles = [Line2D([], [], color="0.2", linestyle="--"), Line2D([], [], color="C0", linewidth=2)]
    legend(figure, list(zip(handles, ("prior", "posterior"), strict=True)))
    return figure


def _parameters(posterior: Posterior, sites: Sequence[str] | None) -> list[tuple[str, str, tuple[int, ...]]]:
    """Site, label and index of every scalar parameter that is not known for certain."""
    model = posterior.model
    fixed = {CLASS_SITE} if model.class_prior.probs is not None else set()
    shapes = {site: tuple(len(labels) for _, labels in axes) for site, axes in model.sites.axes().items()}
    for named in model.sites:
        block = model.blocks[named.block]
        # The only category of a column, or the only word of a vocabulary, has probability one.
        if (block.has_categories or block.has_totals) and shapes[named.name][-1] == 1:
            fixed.add(named.name)
    if shapes[CLASS_SITE] == (1,):
        fixed.add(CLASS_SITE)
    open_sites = [site for site in shapes if site not in fixed]
    chosen = open_sites if sites is None else [sites] if isinstance(sites, str) else list(dict.fromkeys(sites))
    for site in chosen:
        if site not in open_sites:
            why = "is known, so that it has no density" if site in fixed else "is no parameter"
            raise ValueError(f"site {site!r} {why}: name some of {open_sites}")
    if not chosen:
        raise ValueError(f"there is no parameter to show: name some of {open_sites}")
    labels = model.sites.scalar_labels()
    return [
        (site, label, index)
        for site in chosen
        for label, index in zip(labels[site], np.ndindex(shapes[site]), strict=True)
    ]


def _after(posterior: Posterior) -> dict[str, Any]:
    """Exact marginals, or draws flattened to shape (draws, ...), by site."""
    if isinstance(posterior, ExactPosterior):
        return posterior.marginals()
    return {site: values.reshape(-1, *values.shape[2:]) for site, values in posterior.draws().items()}


def _before(posterior: Posterior) -> dict[str, Any]:
    """The prior's marginals, or draws where a family has no closed form."""
    model = posterior.model
    exact = marginals_by_site(model, model.class_prior, model.families)
    if all(site.name in exact for site in model.sites):
        return exact
    return model.sites.by_name(model.draw_prior(random_generator(0), (PRIOR_DRAWS,))) | exact


def _draw_site(panels: list[tuple[Any, tuple[str, str, tuple[int, ...]]]], before: Any, after: Any) -> None:
    """Fill the panels of one site."""
    prior, new = _quantiles(before, (0.05, 0.95)), _quantiles(after, LEVELS)
    indices = [index for _, (_, _, index) in panels]
    ranges = [_range([level[index] for level in new], [level[index] for level in prior]) for index in indices]
    # The middles of equal steps: a density may be infinite at the end of its support.
    grids = [low + (high - low) * (np.arange(GRID) + 0.5) / GRID for low, high in ranges]
    before_lines, after_lines = (_densities(distribution, indices, grids) for distribution in (before, after))
    for i, (axis, _) in enumerate(panels):
        tops = []
        if after_lines is None:
            tops.append(
                _bars(axis, after[(..., *indices[i])], ranges[i], color="C0", alpha=0.35, histtype="stepfilled")
            )
            _bars(axis, after[(..., *indices[i])], ranges[i], color="C0", linewidth=1.2, histtype="step")
        else:
            axis.fill_between(grids[i], after_lines[i], color="C0", alpha=0.3, linewidth=0)
            axis.plot(grids[i], after_lines[i], color="C0", linewidth=1.8)
            tops.append(_top(after_lines[i]))
        if before_lines is None:
            top = _bars(axis, before[(..., *indices[i])], ranges[i], color="0.2", linestyle="--", histtype="step")
        else:
            axis.plot(grids[i], before_lines[i], color="0.2", linestyle="--", linewidth=1.3)
            top = _top(before_lines[i])
        # A prior that is narrow, or much higher at one end, must not flatten the posterior.
        tops.append(min(top, 1.5 * tops[0]))
        axis.set_xlim(*ranges[i])
        axis.set_ylim(0.0, 1.06 * max(tops))


def _quantiles(distribution: Any, levels: Sequence[float]) -> list[np.ndarray]:
    if isinstance(distribution, dist.Distribution):
        return [quantile(distribution, np.full(distribution.batch_shape, level)) for level in levels]
    return list(np.quantile(distribution, levels, axis=0))


def _range(new: Sequence[float], prior: Sequence[float]) -> tuple[float, float]:
    """Range of a panel: the posterior, and as much of the prior as leaves the posterior visible."""
    first, lower, median, upper, last = new
    reach = TAIL * (upper - lower)
    low, high = max(first, median - reach), min(last, median + reach)
    width = high - low
    low, high = min(low, max(prior[0], low - BESIDE * width)), max(high, min(prior[1], high + BESIDE * width))
    return (float(low), float(high)) if high > low else (float(median) - 0.5, float(median) + 0.5)


def _densities(distribution: Any, indices: list[tuple[int, ...]], grids: list[np.ndarray]) -> list[np.ndarray] | None:
    """Density of each indexed parameter along its own grid; None for draws."""
    if not isinstance(distribution, dist.Distribution):
        return None
    # All the site's panels at once: each grid is at the position of its parameter, and a median at the other positions.
    points: Any = np.repeat(_quantiles(distribution, (0.5,))[0][None], GRID, axis=0)
    for index, grid in zip(indices, grids, strict=True):
        points[(..., *index)] = grid
    values: Any = np.exp(log_density(distribution, points))
    return [values[(..., *index)] for index in indices]


def _top(density: np.ndarray) -> float:
    """Height of a density; no more than three times that away from the ends, where it may be infinite."""
    return float(min(density.max(), 3 * density[GRID // 50 : -GRID // 50].max()))


def _bars(axis: Any, draws: np.ndarray, ends: tuple[float, float], **style: Any) -> float:
    """A histogram whose area is the share of the draws within the panel; its height."""
    weights = np.full(draws.size, BINS / (draws.size * (ends[1] - ends[0])))
    heights, _, _ = axis.hist(draws, BINS, range=ends, weights=weights, **style)
    return float(heights.max())


def _title(label: str) -> str:
    return wrap(label if len(label) <= 32 else label.replace("[", " [", 1), 36)
