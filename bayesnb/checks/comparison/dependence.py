r"""Tests of the independence of parameters that are independent under the exact posterior.

In a closed form the parameters of different cells (class and column) are independent. Inside a cell, the distribution
function of each parameter given the earlier ones, at its draw, is independent of the earlier ones. All of these numbers
are independent and uniform. The product of first Legendre polynomials (a correlation of ranks) tests each pair. Inside
a cell, the first polynomial of one times the second of the other tests spreads. If draws of a mean are shuffled against
those of its variance, the mean has the right marginal distribution and no correlation with the variance, but its spread
does not depend on the variance.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpyro.distributions as dist

from bayesnb.blocks.parameters import ModelParameters
from bayesnb.checks.comparison.legendre import legendre
from bayesnb.families.pit import independent_pit
from bayesnb.posterior.exact import ExactPosterior

__all__ = ["Products", "dependence"]

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
