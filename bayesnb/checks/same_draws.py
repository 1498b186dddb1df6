"""Tests whether draws come from a distribution."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import numpyro.distributions as dist
import pandas as pd
from scipy.special import ndtr

from bayesnb.core.arrays import close
from bayesnb.families.formulas import cdf, independent_pit, mean_and_sd, pit
from bayesnb.model.blocks import CLASS_SITE, ModelParameters
from bayesnb.model.bound import BoundModel
from bayesnb.model.problem import Problem
from bayesnb.posterior.diagnostics import ess_of_mean
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.sampled import SampledPosterior

__all__ = [
    "COLUMNS",
    "DEGREES",
    "Z_COLUMNS",
    "dependence",
    "differences",
    "ess_and_z",
    "legendre",
    "marginal_frame",
    "ranks_among",
    "without_cdf",
]

# --------------------------------------------------------------------------------------------------
# Tests of numbers that are uniform if draws are right.
#
# A Legendre polynomial of a uniform number has mean zero and variance one, and it is bounded. Its mean over
# correlated draws times the root of their effective number is therefore close to standard normal from a few hundred
# effective draws on. A standard deviation over its estimated standard error is not. Tests of this kind are Neyman's
# smooth tests (1937, *Skandinavisk Aktuarietidskrift* 20, 149-199) for draws that depend on each other.
# --------------------------------------------------------------------------------------------------

DEGREES = (1, 2, 3, 4)
"""Degrees of the polynomials, which test location, spread, skewness and tails."""


def legendre(u: np.ndarray, degree: int) -> np.ndarray:
    """Legendre polynomial of 2 u - 1, of mean zero and variance one if `u` is uniform.

    Parameters
    ----------
    u : array
        Numbers between zero and one.
    degree : {1, 2, 3, 4}

    Returns
    -------
    array, shape of `u`
    """
    v = 2 * u - 1
    if degree == 1:
        return np.sqrt(3) * v
    square = v * v
    if degree == 2:
        return np.sqrt(5) / 2 * (3 * square - 1)
    if degree == 3:
        return np.sqrt(7) / 2 * v * (5 * square - 3)
    return 3 / 8 * (35 * square * square - 30 * square + 3)


def ess_and_z(series: np.ndarray, *, variance: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Effective number of draws of each series, and its mean in standard errors.

    Parameters
    ----------
    series : array, shape (chains, draws, series)
        Of mean zero and variance one if the draws are right.
    variance : float, default 0
        Variance of the number that the mean is compared with.

    Returns
    -------
    ess, z : array, shape (series,)
        `ess` is at most the number of draws, also for chains that are worth more.
    """
    ess = np.minimum(ess_of_mean(series), series.shape[0] * series.shape[1])
    return ess, series.mean(axis=(0, 1)) / np.sqrt(1 / ess + variance)


def ranks_among(reference: np.ndarray, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rank of each value among independent draws, as a number that is uniform if both have the same distribution.

    Parameters
    ----------
    reference : array, shape (independent draws, quantities)
    values : array, shape (..., quantities)
    rng : numpy.random.Generator
        Breaks ties, and chooses a number between the ranks of neighbours.

    Returns
    -------
    array, shape of `values`
    """
    result = np.empty(values.shape)
    for k in range(values.shape[-1]):
        ordered = np.sort(reference[:, k])
        below, upto = (np.searchsorted(ordered, values[..., k], side=side) for side in ("left", "right"))
        place = below + (upto - below + 1) * rng.uniform(size=below.shape)
        result[..., k] = place / (len(ordered) + 1)
    return result


# --------------------------------------------------------------------------------------------------
# Every scalar parameter on its own: draws against the exact marginal distribution
# --------------------------------------------------------------------------------------------------

Z_COLUMNS = ("z_mean", "z_sd", "z_skew", "z_tails")
"""Columns for the polynomials of degree one to four."""

ESS_COLUMNS = tuple(f"ess_of_{name}" for name in Z_COLUMNS)
"""Effective number of draws behind each z."""

COLUMNS = (
    *("exact_mean", "sampled_mean", "mcse_mean", "exact_sd", "sampled_sd"),
    *(*Z_COLUMNS, "p_value", "ess_bulk", "ess_tail", "r_hat"),
)
"""Columns of a comparison's table."""

SLAB_CELLS = 2**20
"""Draws whose polynomials are in memory at a time."""


def without_cdf(marginals: Mapping[str, dist.Distribution]) -> list[str]:
    """Sites whose exact distribution has no known distribution function."""
    found = []
    for site, marginal in marginals.items():
        try:
            cdf(marginal, np.ones(marginal.batch_shape))
        except NotImplementedError:
            found.append(site)
    return found


def marginal_frame(
    sampled: SampledPosterior,
    marginals: Mapping[str, dist.Distribution],
    reference: Mapping[str, np.ndarray],
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Tests of every scalar parameter's draws against its exact distribution.

    Parameters
    ----------
    sampled : SampledPosterior
    marginals : mapping
        Exact distribution of every scalar parameter, by site.
    reference : mapping
        Independent draws of the sites whose distribution function is not known, shape (draws, ...).
    rng : numpy.random.Generator
        For draws that were rounded, and for ranks.

    Returns
    -------
    pandas.DataFrame
        A row for each parameter that is not certain: the columns of `Comparison.table`, and ``ess_of_z_mean`` and so
        on, the effective number of draws behind each z.
    """
    labels = sampled.model.sites.scalar_labels()
    names: list[str] = []
    pieces = [{name: np.empty(0) for name in (*COLUMNS, *ESS_COLUMNS)}]
    for site, draws, of_site in _sites(sampled):
        if site not in marginals:  # class probabilities that are known
            continue
        mean, sd = (moment.ravel() for moment in mean_and_sd(marginals[site]))
        # A single class, or a column of a single category, is certain: there is nothing to compare.
        moving = np.flatnonzero(sd != 0)
        if moving.size:
            u = _uniform(marginals[site], draws, reference.get(site), rng)
            flat, u = (values.reshape(*values.shape[:2], -1)[:, :, moving] for values in (draws, u))
            exact = {"exact_mean": mean[moving], "exact_sd": sd[moving]}
            names += [labels[site][k] for k in moving]
            variance = 1 / len(reference[site]) if site in reference else 0.0
            pieces.append(exact | _summary(flat) | _tests(u, variance) | _diagnostics(sampled, of_site, moving))
    columns = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    return pd.DataFrame(columns, index=pd.Index(names, name="parameter"))


def _sites(sampled: SampledPosterior) -> Iterator[tuple[str, np.ndarray, slice]]:
    """Name, draws and position among all scalar parameters of each site."""
    position = 0
    for site, draws in sampled.model.sites.by_name(sampled.parameters).items():
        size = int(np.prod(draws.shape[2:]))
        yield site, np.asarray(draws, dtype=np.float64), slice(position, position + size)
        position += size


def _uniform(
    marginal: dist.Distribution, draws: np.ndarray, reference: np.ndarray | None, rng: np.random.Generator
) -> np.ndarray:
    """Numbers that are uniform if the draws are right: distribution functions or ranks among independent draws."""
    if reference is None:
        return pit(marginal, draws, rng)
    flat = draws.reshape(*draws.shape[:2], -1)
    return ranks_among(reference.reshape(len(reference), -1), flat, rng).reshape(draws.shape)


def _summary(draws: np.ndarray) -> dict[str, np.ndarray]:
    sd = draws.std(axis=(0, 1), ddof=1)
    return {
        "sampled_mean": draws.mean(axis=(0, 1)),
        "sampled_sd": sd,
        "mcse_mean": sd / np.sqrt(ess_of_mean(draws)),
    }


def _tests(u: np.ndarray, variance: float) -> dict[str, np.ndarray]:
    """The four tests of each parameter, from uniform numbers of shape (chain, draw, parameters); see `ess_and_z`."""
    step = max(1, SLAB_CELLS // (u.shape[0] * u.shape[1]))
    slabs = [u[:, :, start : start + step] for start in range(0, u.shape[2], step)]
    found: dict[str, np.ndarray] = {}
    for z_column, ess_column, degree in zip(Z_COLUMNS, ESS_COLUMNS, DEGREES, strict=True):
        ess, z = np.concatenate([ess_and_z(legendre(slab, degree), variance=variance) for slab in slabs], axis=1)
        found |= {z_column: z, ess_column: ess}
    smallest = np.minimum.reduce([2 * ndtr(-np.abs(found[name])) for name in Z_COLUMNS])
    return found | {"p_value": np.minimum(len(DEGREES) * smallest, 1.0)}


def _diagnostics(sampled: SampledPosterior, of_site: slice, moving: np.ndarray) -> dict[str, np.ndarray]:
    diagnostics = sampled.diagnostics
    return {name: getattr(diagnostics, name)[of_site][moving] for name in ("ess_bulk", "ess_tail", "r_hat")}


# --------------------------------------------------------------------------------------------------
# Tests of the independence of parameters that are independent under the exact posterior.
#
# In a closed form the parameters of different cells (class and column) are independent. Inside a cell, the
# distribution function of each parameter given the earlier ones, at its draw, is independent of the earlier ones. All
# of these numbers are independent and uniform. The product of first Legendre polynomials (a correlation of ranks)
# tests each pair. Inside a cell, the first polynomial of one times the second of the other tests spreads. If draws of
# a mean are shuffled against those of its variance, the mean has the right marginal distribution and no correlation
# with the variance, but its spread does not depend on the variance.
# --------------------------------------------------------------------------------------------------

LARGEST = 10
"""Number of pairs, those of the largest correlations, whose effective number of draws is computed."""

GROUP = 2000
"""Up to this number of parameters, all pairs are tested; above it, pairs inside a class, this many parameters at a
time."""


class Products(NamedTuple):
    """Series that have mean zero and variance one if the parameters are independent.

    Attributes
    ----------
    test : str
    names : list of str
    series : array, shape (chains, draws, products)
    number : int
        Number of products from which these were chosen.
    """

    test: str
    names: list[str]
    series: np.ndarray
    number: int


class _Scores(NamedTuple):
    """Independent numbers of a site, with the name and class of each; values have shape (chains, draws, numbers)."""

    names: np.ndarray
    classes: np.ndarray
    u: np.ndarray


def dependence(exact: ExactPosterior, parameters: ModelParameters, rng: np.random.Generator) -> list[Products]:
    """Products of pairs of parameters: the largest of all pairs, and those that test spreads.

    Parameters
    ----------
    exact : ExactPosterior
    parameters : ModelParameters
        Draws in the order of the exact posterior's model, leading axes (chain, draw).
    rng : numpy.random.Generator
        For draws that were rounded.
    """
    blocks = [
        family.independent_pit(values, rng) for family, values in zip(exact.families, parameters.blocks, strict=True)
    ]
    orders = [list(block) for block in blocks]
    u = exact.model.sites.by_name(ModelParameters(_class_pit(exact, parameters, rng), tuple(blocks)))
    labels = exact.model.sites.scalar_labels()
    pairs = _largest_pairs([_scores(values, labels[site]) for site, values in u.items()])
    return [found for found in (pairs, _crossed(exact, orders, u, labels)) if found.names]


def _class_pit(exact: ExactPosterior, parameters: ModelParameters, rng: np.random.Generator) -> np.ndarray:
    if exact.class_posterior.probs is not None:
        return np.full(parameters.class_prob.shape, np.nan)
    return independent_pit(dist.Dirichlet(exact.class_posterior.concentration), parameters.class_prob, rng)


def _scores(u: np.ndarray, labels: list[str]) -> _Scores:
    """The parameters of a site that the others do not determine."""
    flat = u.reshape(*u.shape[:2], -1)
    known = np.flatnonzero(~np.isnan(flat[0, 0]))
    return _Scores(np.array(labels, dtype=object)[known], known // (flat.shape[2] // u.shape[2]), flat[:, :, known])


def _largest_pairs(scores: list[_Scores]) -> Products:
    names = np.concatenate([found.names for found in scores])
    series = np.concatenate([legendre(found.u, 1) for found in scores], axis=2)
    groups = list(_groups(np.concatenate([found.classes for found in scores])))
    flat = series.reshape(series.shape[0] * series.shape[1], -1) if len(names) else np.empty((1, 0))
    sizes, first, second = np.concatenate([_largest_of(flat[:, group], group) for group in groups], axis=1)
    largest = np.argsort(-sizes)[:LARGEST]
    first, second = first[largest].astype(int), second[largest].astype(int)
    both = [f"{one} and {other}" for one, other in zip(names[first], names[second], strict=True)]
    number = sum(len(group) * (len(group) - 1) // 2 for group in groups)
    return Products("correlation", both, series[:, :, first] * series[:, :, second], number)


def _groups(classes: np.ndarray) -> Iterator[np.ndarray]:
    """Positions of the groups of parameters in which every pair is tested."""
    if len(classes) <= GROUP:
        yield np.arange(len(classes))
        return
    for c in np.unique(classes):
        members = np.flatnonzero(classes == c)
        yield from np.array_split(members, -(-len(members) // GROUP))


def _largest_of(series: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Sum and both members of the largest correlations in a group, shape (3, pairs); series: (draws, members)."""
    first, second = np.triu_indices(len(group), k=1)
    sizes = np.abs(series.T @ series)[first, second]
    number = min(LARGEST, len(sizes))
    largest = np.argpartition(sizes, len(sizes) - number)[len(sizes) - number :] if number else np.empty(0, dtype=int)
    return np.stack([sizes[largest], group[first[largest]], group[second[largest]]])


def _crossed(exact: ExactPosterior, orders: list[list[str]], u: dict[str, np.ndarray], labels: dict) -> Products:
    """First polynomial of a parameter times second of one drawn given it, for every cell."""
    names: list[str] = []
    series = []
    sites = {(site.block, site.column, site.parameter): site.name for site in exact.model.sites}
    for (block, column, parameter), later in sites.items():
        for before in orders[block][: orders[block].index(parameter)]:
            earlier = sites[block, column, before]
            if u[earlier].shape != u[later].shape:
                continue
            product = legendre(u[earlier], 1) * legendre(u[later], 2)
            flat = product.reshape(*product.shape[:2], -1)
            known = np.flatnonzero(~np.isnan(flat[0, 0]))
            names += [f"{labels[later][k]} given {labels[earlier][k]}" for k in known]
            series.append(flat[:, :, known])
    return Products("spread given", names, np.concatenate(series, axis=2) if series else np.empty(0), len(names))


# --------------------------------------------------------------------------------------------------
# Do two posteriors record the same prior and the same data?
# --------------------------------------------------------------------------------------------------


def differences(mine: Problem, theirs: Problem) -> list[str]:
    """Differences of prior and data, in words; empty if there are no differences."""
    found = []
    priors = _other_priors(mine, theirs)
    if priors:
        found.append(f"the priors of {', '.join(priors[:4])}{', ...' if len(priors) > 4 else ''} differ")
    if not _same_data(mine, theirs):
        found.append("the data differ")
    return found


def _other_priors(mine: Problem, theirs: Problem) -> list[str]:
    # Defaults follow the data: other data give other numbers of the same prior.
    written = _by_column(mine.model, mine.model.families), _by_column(theirs.model, theirs.model.families)
    used = _by_column(mine.resolved, mine.resolved.families), _by_column(theirs.resolved, theirs.resolved.families)
    other = [
        name
        for name in used[0]
        if not close(used[0][name], used[1][name]) and not close(written[0][name], written[1][name])
    ]
    if not close(mine.resolved.class_prior, theirs.resolved.class_prior) and mine.model.class_probs != "empirical":
        other.insert(0, CLASS_SITE)
    return other


def _same_data(mine: Problem, theirs: Problem) -> bool:
    if theirs.unlabelled is not None or not mine.statistics.classes.same_rows(theirs.statistics.classes):
        return False
    one, other = (_by_column(problem.model, problem.statistics.blocks) for problem in (mine, theirs))
    return one.keys() == other.keys() and all(one[name].same_rows(other[name]) for name in one)


def _by_column(model: BoundModel, trees: Sequence[Any]) -> dict[str, Any]:
    """Families or statistics of blocks, by column or block, because models may order them differently."""
    found = {}
    for block, tree in zip(model.blocks, trees, strict=True):
        for j in block.members:
            name = block.name if j is None else str(block.labels[j])
            found[name] = tree if j is None else jax.tree.map(lambda leaf, j=j: np.asarray(leaf)[:, j], tree)
    return found
