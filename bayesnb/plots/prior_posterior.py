"""The figure of prior and posterior: the density of each parameter before and after the data."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.core.arrays import middles_of_steps
from bayesnb.core.checking import whole_number
from bayesnb.core.deferred import constraints, float64, is_distribution, picture
from bayesnb.core.forest import highest_places, how_many
from bayesnb.core.panels import LINES, chosen, grid_of_panels, muted, number_x_axis
from bayesnb.core.running import random_generator
from bayesnb.families.formulas import log_prob, quantile
from bayesnb.model.prior import CLASS_SITE, Prior
from bayesnb.posterior.belief import ClosedForm, offers, require
from bayesnb.posterior.kinds import posterior_of_features
from bayesnb.posterior.posterior import Posterior

LEVELS = np.array([0.002, 0.05, 0.25, 0.5, 0.75, 0.95, 0.998])
"""Quantiles of prior and posterior that determine the range and the height of a panel."""

TAIL = 4
"""A heavy tail is cut at this many interquartile ranges from the median."""

BESIDE = 0.5
"""The prior widens a panel on either side by at most this multiple of the posteriors' width."""

WIDER = 20
"""A posterior wider than this multiple of the narrowest one does not widen the panel."""

HIGHER = 5
"""A posterior is cut above this multiple of the lowest one's height."""

NARROW = 0.025
"""The panel of a narrower posterior shows a part of the range from 0 to 1."""

EVEN = 240
"""Number of evenly spaced points of a density."""

CLOSE = 80
"""Number of further points around the posterior of a class."""

BINS = 40
PRIOR_DRAWS = 4000


@dataclass(frozen=True)
class _Panel:
    """One scalar parameter in each class.

    Attributes
    ----------
    site : str
    title : str
        Its name without a class.
    indices : list of tuple
        Its places in the array of the site, one for each class that is shown; a single one if it has no class.
    """

    site: str
    title: str
    indices: list[tuple[int, ...]]


@dataclass(frozen=True)
class _Curve:
    """A density or a histogram in a panel.

    Attributes
    ----------
    distribution : numpyro distribution, or draws of shape (draws, ...)
    index : tuple
        Place of the parameter.
    levels : array, shape (levels,)
        Quantiles at `LEVELS`.
    """

    distribution: Any
    index: tuple[int, ...]
    levels: np.ndarray

    @property
    def ends(self) -> tuple[float, float]:
        """Range without heavy tails."""
        first, _, lower, median, upper, _, last = self.levels
        reach = TAIL * (upper - lower)
        return float(max(first, median - reach)), float(min(last, median + reach))


@posterior_of_features
def plot_prior_posterior(
    posterior: Posterior,
    *,
    sites: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    max_panels: int = 24,
    panels_across: int | None = None,
    axes: Any = None,
    figsize: Any = None,
) -> Any:
    """Prior density (thin, dashed) and posterior density (filled) of each parameter, the classes in one panel.

    The densities of an exact posterior are exact. A sampled posterior is a histogram of its draws, under the exact
    prior density; a prior of a family that is not conjugate is a histogram of draws too. If all classes have the same
    prior, it is drawn once.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
    sites : sequence of str, optional
        Parameters to show, as `Posterior.mean` names them; by default all.
    classes : sequence, optional
        Classes to show, up to eight; by default the first eight.
    max_panels : int, default 24
        Of more parameters, those that differ most between the classes that are shown get a panel (see Notes). Those
        that are known, such as class probabilities that were given, have none.
    panels_across, axes, figsize
        Panels side by side, the axes to draw in, or the size of a new figure: see `plot_densities`.

    Returns
    -------
    matplotlib.figure.Figure
        The panel of a probability goes from 0 to 1, if its posteriors then have a fortieth of the panel, which those of
        a large vocabulary have not. Other panels span the posteriors, without tails beyond four quartile distances from
        the median, and as much of the priors' central 90 % as leaves the posteriors half of the panel. A posterior that
        is more than twenty times as wide as the narrowest one, such as that of a class without data, does not widen the
        panel.

    Raises
    ------
    TypeError, ValueError
        If the posterior is a point, a site is unknown or known for certain, a class is unknown, or there is nothing to
        learn.

    See Also
    --------
    plot_densities : Predictive densities of numbers.
    ExactPosterior.marginals : The marginal densities.
    sensitivity : Sensitivity to prior and likelihood.

    Notes
    -----
    The difference of a parameter between the classes is the largest posterior median minus the smallest, divided by the
    mean distance of the posterior quartiles.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> figure = nb.plot_prior_posterior(posterior, sites=["bill_length_mm_mean", "island_prob"])
    """
    require(posterior, "a distribution of the parameters", "plot_prior_posterior", "mean() for the values")
    labels = posterior.classes.tolist()
    codes = list(range(len(labels)))[: len(LINES)]
    if classes is not None:
        codes = chosen("classes", classes, labels, most=len(LINES))
    everything = _parameter_panels(posterior, _sites(posterior, sites), codes)
    with float64():
        after, before = _after(posterior), _before(posterior)
        quantiles = {site: _quantile_grid(after[site]) for site in {panel.site for panel in everything}}
        shown = _most_different(everything, quantiles, whole_number("max_panels", max_panels))
        panels = grid_of_panels(len(shown), axes=axes, figsize=figsize, panels_across=panels_across)
        by_site = itertools.groupby(zip(panels.axes, shown, strict=True), key=lambda each: each[1].site)
        for site, of_site in by_site:
            _draw_site(list(of_site), before[site], after[site], quantiles[site])
    for axis in panels.axes:
        number_x_axis(axis, 4)
    panels.heads([panel.title for panel in shown])
    story = [how_many(len(shown), len(everything), "parameter", "most different")]
    if len(codes) < len(labels):
        story.append(how_many(len(codes), len(labels), "class", "first" if classes is None else ""))
    panels.title(", ".join(["Prior and posterior", *story]))
    panels.legend(_entries([labels[c] for c in codes]))
    return panels.drawn()


def _most_different(panels: list[_Panel], quantiles: dict[str, Any], most: int) -> list[_Panel]:
    """The panels whose posteriors differ most between their classes, in the order given."""
    differences = []
    for panel in panels:
        lower, median, upper = np.array([quantiles[panel.site][(..., *index)] for index in panel.indices]).T[2:5]
        spread = (upper - lower).mean()
        differences.append(float(np.ptp(median) / spread) if spread > 0 else 0.0)
    return [panels[k] for k in highest_places(np.array(differences), most)]


def _sites(posterior: Posterior, sites: Sequence[str] | None) -> list[str]:
    """Sites of parameters that are not known for certain."""
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
    wanted = open_sites if sites is None else [sites] if isinstance(sites, str) else list(dict.fromkeys(sites))
    for site in wanted:
        if site not in open_sites:
            why = "is known, so that it has no density" if site in fixed else "is no parameter"
            raise ValueError(f"site {site!r} {why}: name some of {open_sites}")
    if not wanted:
        raise ValueError(f"there is no parameter to show: name some of {open_sites}")
    return wanted


def _parameter_panels(posterior: Posterior, sites: list[str], codes: list[int]) -> list[_Panel]:
    """Each scalar parameter of the sites, its classes together."""
    found = []
    for site in sites:
        axes = posterior.model.sites.axes()[site]
        by_class = bool(axes) and axes[0][0] == "class"
        others = [list(enumerate(labels)) for _, labels in (axes[1:] if by_class else axes)]
        for at in itertools.product(*others):
            index = tuple(place for place, _ in at)
            names = ", ".join(str(label) for _, label in at)
            indices = [(c, *index) for c in codes] if by_class else [index]
            found.append(_Panel(site, f"{site} [{names}]" if names else site, indices))
    return found


def _after(posterior: Any) -> dict[str, Any]:
    """Exact marginals, or draws flattened to shape (draws, ...), by site."""
    if offers(posterior, "the closed form of one model"):
        return posterior.marginals()
    return {site: values.reshape(-1, *values.shape[2:]) for site, values in posterior.draws().items()}


def _before(posterior: Posterior) -> dict[str, Any]:
    """The prior's marginals, or draws where a family has no closed form."""
    model = posterior.model
    # Before the data, parameters that classes may share are distributed as those of each class.
    exact = ClosedForm(model, Prior(model.class_prior, model.families)).marginals()
    if all(site.name in exact for site in model.sites):
        return exact
    return model.sites.by_name(model.draw_prior(random_generator(0), (PRIOR_DRAWS,))) | exact


def _draw_site(panels: list[tuple[Any, _Panel]], before: Any, after: Any, new: Any) -> None:
    """Fill the panels of one site; `new` holds the quantiles of the posterior."""
    old = _quantile_grid(before)
    curves = [
        (
            [_Curve(after, index, new[(..., *index)]) for index in panel.indices],
            [_Curve(before, index, old[(..., *index)]) for index in panel.indices],
        )
        for _, panel in panels
    ]
    is_prob = any(
        isinstance(getattr(each, "support", None), type(constraints.unit_interval)) for each in (before, after)
    )
    ranges = [_whole(_range(*pair), pair[0]) if is_prob else _range(*pair) for pair in curves]
    grids = [_grid(ends, *pair) for ends, pair in zip(ranges, curves, strict=True)]
    lines_after, lines_before = (_curve_densities([pair[k] for pair in curves], grids) for k in (0, 1))
    for (axis, _), ends, grid, (posteriors, priors), of_after, of_before in zip(
        panels, ranges, grids, curves, lines_after, lines_before, strict=True
    ):
        tops = [_draw_posterior(axis, i, grid, *each) for i, each in enumerate(zip(posteriors, of_after, strict=True))]
        top = min(max(tops), HIGHER * min(tops))
        # A prior that is narrow, or much higher at one end, must not flatten the posterior.
        top = max(top, min(_draw_priors(axis, grid, priors, of_before), 1.5 * top))
        axis.set_xlim(*ends)
        axis.set_ylim(0.0, 1.06 * top)


def _draw_posterior(axis: Any, i: int, grid: np.ndarray, curve: _Curve, density: np.ndarray | None) -> float:
    """The posterior of a class; its height."""
    style: dict[str, Any] = {"color": f"C{i}", "linestyle": LINES[i]}
    if density is None:
        _bars(axis, curve, color=f"C{i}", alpha=0.3, histtype="stepfilled")
        return _bars(axis, curve, linewidth=1.3, histtype="step", **style)
    axis.fill_between(grid, density, color=f"C{i}", alpha=0.25, linewidth=0)
    axis.plot(grid, density, linewidth=1.8, **style)
    return _top(grid, density, curve)


def _draw_priors(axis: Any, grid: np.ndarray, curves: list[_Curve], densities: list[np.ndarray | None]) -> float:
    """The priors of all classes, one line if they are equal; the largest height."""
    known = [density for density in densities if density is not None]
    equal = len(known) == len(curves) and all(np.allclose(density, known[0]) for density in known)
    tops = []
    for i, (curve, density) in enumerate(zip(curves[:1] if equal else curves, densities, strict=False)):
        style: dict[str, Any] = {
            "color": muted(0.75) if equal or len(curves) == 1 else f"C{i}",
            "linestyle": "--",
            "linewidth": 1.0,
        }
        if density is None:
            tops.append(_bars(axis, curve, histtype="step", **style))
        else:
            axis.plot(grid, density, **style)
            tops.append(_top(grid, density, curve))
    return max(tops)


def _quantile_grid(distribution: Any) -> Any:
    """Shape (levels, ...)."""
    if is_distribution(distribution):
        return quantile(distribution, LEVELS.reshape(-1, *[1] * len(distribution.batch_shape)))
    return np.quantile(distribution, LEVELS, axis=0)


def _range(posteriors: list[_Curve], priors: list[_Curve]) -> tuple[float, float]:
    """Range of a panel: the posteriors, and as much of the priors as leaves the posteriors visible."""
    ends = [curve.ends for curve in posteriors]
    narrowest = min(high - low for low, high in ends)
    lows, highs = zip(*[(low, high) for low, high in ends if high - low <= WIDER * narrowest], strict=True)
    low, high = min(lows), max(highs)
    if not high > low:
        median = float(posteriors[0].levels[3])
        return median - 0.5, median + 0.5
    width = high - low
    first, last = min(curve.levels[1] for curve in priors), max(curve.levels[-2] for curve in priors)
    return (
        float(min(low, max(first, low - BESIDE * width))),
        float(max(high, min(last, high + BESIDE * width))),
    )


def _whole(ends: tuple[float, float], posteriors: list[_Curve]) -> tuple[float, float]:
    """From 0 to 1, unless no posterior could be seen there."""
    wide = max(high - low for low, high in (curve.ends for curve in posteriors))
    return (0.0, 1.0) if wide > NARROW else ends


def _grid(ends: tuple[float, float], posteriors: list[_Curve], priors: list[_Curve]) -> np.ndarray:
    """Points all over the panel, and close to each other where a posterior or a prior is narrow."""
    close = [middles_of_steps(np.clip(curve.ends, *ends), CLOSE) for curve in posteriors]
    close += [middles_of_steps(np.clip(curve.levels[[1, -2]], *ends), CLOSE // 4) for curve in priors]
    return np.sort(np.concatenate([middles_of_steps(ends, EVEN), *close]))


def _curve_densities(curves: list[list[_Curve]], grids: list[np.ndarray]) -> list[list[np.ndarray | None]]:
    """Density of the curves of each panel along its grid; None for draws."""
    distribution = curves[0][0].distribution
    if not is_distribution(distribution):
        return [[None] * len(of_panel) for of_panel in curves]
    # All panels of the site at once: each parameter gets its grid; medians fill the other positions.
    points: Any = np.repeat(quantile(distribution, np.full(distribution.batch_shape, 0.5))[None], len(grids[0]), axis=0)
    for of_panel, grid in zip(curves, grids, strict=True):
        for curve in of_panel:
            points[(..., *curve.index)] = grid
    values: Any = np.exp(log_prob(distribution, points))
    return [[values[(..., *curve.index)] for curve in of_panel] for of_panel in curves]


def _top(grid: np.ndarray, density: np.ndarray, curve: _Curve) -> float:
    """Height of a density between its quantiles 0.05 and 0.95: it may be infinite at the ends of its support."""
    inside = (grid >= curve.levels[1]) & (grid <= curve.levels[-2])
    return float(density[inside].max() if inside.any() else density.max())


def _bars(axis: Any, curve: _Curve, **style: Any) -> float:
    """A histogram whose area is the share of the draws within its range; its height."""
    draws = curve.distribution[(..., *curve.index)]
    low, high = curve.ends
    if not high > low:
        low, high = low - 0.5, high + 0.5
    weights = np.full(draws.size, BINS / (draws.size * (high - low)))
    heights, _, _ = axis.hist(draws, BINS, range=(low, high), weights=weights, **style)
    return float(heights.max())


def _entries(labels: list[Any]) -> list[tuple[Any, str]]:
    """Entries of the legend."""
    found: list[tuple[Any, str]] = [(picture.Line2D([], [], color=muted(0.75), linestyle="--", linewidth=1.0), "prior")]
    for i, label in enumerate(labels):
        line = picture.Line2D([], [], color=f"C{i}", linestyle=LINES[i], linewidth=1.8)
        text = "posterior" if len(labels) == 1 else f"posterior, y = {label}"
        found.append(((picture.Patch(facecolor=f"C{i}", alpha=0.25), line), text))
    return found
