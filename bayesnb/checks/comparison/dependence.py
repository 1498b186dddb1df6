r"""Are parameters independent that the exact posterior makes independent?

In a closed form every cell's parameters are independent of all other cells', and inside a cell each parameter given
those before it is independent of them. Through their distribution functions all of them are independent uniform
numbers. A pair of them is tested by the product of first Legendre polynomials (a correlation of ranks) and, inside a
cell, also by the first polynomial of one times the second of the other: a mean that was shuffled against its variance
has the right marginal distribution and no correlation with it, but a spread that no longer follows the variance.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpyro.distributions as dist

from bayesnb.blocks import ModelParameters
from bayesnb.checks.comparison.legendre import legendre
from bayesnb.families.pit import independent_pit
from bayesnb.posterior.exact import ExactPosterior

__all__ = ["Products", "dependence"]

LARGEST = 10
"""Pairs whose effective number of draws is computed, those of the largest correlations."""

GROUP = 2000
"""Parameters all of whose pairs are tested; of more, only pairs inside a class are, so many parameters at a time."""


class Products(NamedTuple):
    """Series of mean zero and variance one if the parameters behind them are independent.

    Attributes
    ----------
    test : str
    names : list of str
    series : array, shape (chains, draws, products)
    number : int
        Products that these were chosen from.
    """

    test: str
    names: list[str]
    series: np.ndarray
    number: int


class _Scores(NamedTuple):
    """Independent numbers of a site: names, class of each, and values of shape (chains, draws, numbers)."""

    names: np.ndarray
    classes: np.ndarray
    u: np.ndarray


def dependence(exact: ExactPosterior, parameters: ModelParameters, rng: np.random.Generator) -> list[Products]:
    """Products of pairs of parameters: the largest of all pairs, and those that see a spread depend on a parameter.

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
    """Those parameters of a site that are not known given others."""
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
    """Positions of parameters of which every pair is tested."""
    if len(classes) <= GROUP:
        yield np.arange(len(classes))
        return
    for c in np.unique(classes):
        members = np.flatnonzero(classes == c)
        yield from np.array_split(members, -(-len(members) // GROUP))


def _largest_of(series: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Size and both members of the largest correlations in a group, shape (3, pairs); series: (draws, members)."""
    first, second = np.triu_indices(len(group), k=1)
    sizes = np.abs(series.T @ series)[first, second] / len(series)
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
