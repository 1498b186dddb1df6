"""Draws of NumPyro's distributions by NumPy."""

import math
from collections.abc import Callable, Sequence
from functools import singledispatch
from itertools import accumulate
from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.core.deferred import compiled, dist, jax
from bayesnb.core.running import progress_if_long
from bayesnb.families.binned import draw_tree_cells
from bayesnb.families.distributions import (
    AnyTree,
    Binned,
    CombinationOfCategories,
    CoupledTree,
    GammaVector,
    RowsOfTree,
    ZeroOr,
)
from bayesnb.families.formulas import inherited_from

# --------------------------------------------------------------------------------------------------
# Draws from NumPyro's distributions, by NumPy where it has a sampler.
#
# On a CPU, JAX's gamma sampler takes about forty times as long as NumPy's, and it compiles for every shape. Priors
# and likelihoods are declared once, as NumPyro distributions. Distributions that are not registered here use their
# own ``sample``.
# --------------------------------------------------------------------------------------------------


def draw(distribution: dist.Distribution, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> np.ndarray:
    """Independent draws, shape sample_shape + batch_shape + event_shape, float64."""
    return np.asarray(_draw_by_formula(distribution, rng, (*sample_shape, *distribution.batch_shape)))


GAMMAS = 2**16
"""Least number of gamma variables that are drawn together, if there are so many."""


def log_gammas(concentration: Any, rng: np.random.Generator, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Logarithms of independent gamma variables of rate one, which do not underflow.

    Gamma(a) is distributed as Gamma(a + 1) U^(1 / a), with U uniform.

    Parameters
    ----------
    concentration : array
    rng : numpy.random.Generator
    shape : tuple of int, optional
        By default that of `concentration`.
    """
    concentration = np.asarray(concentration)
    shape = concentration.shape if shape is None else shape
    concentration, found = np.broadcast_to(concentration, shape), np.empty(shape)
    # Many in pieces, which need less memory: first all gamma variables, then all uniform ones.
    leading = max((k for k in range(len(shape)) if math.prod(shape[k:]) >= GAMMAS), default=0)
    places = [*np.ndindex(shape[:leading])]
    with progress_if_long("drawing parameters", "step", 2 * len(places), found.size) as count:
        for at in places:
            found[at] = np.log(rng.standard_gamma(concentration[at] + 1))
            count(1)
        for at in places:
            with np.errstate(divide="ignore"):  # a concentration of zero gives zero, whose logarithm is -inf
                found[at] += np.log(rng.uniform(size=found[at].shape)) / concentration[at]
            count(1)
    return found


def _by_jax(distribution: dist.Distribution, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    key = jax.random.key(int(rng.integers(2**32)))
    return compiled(_sample, distribution, key, sample_shape=shape[: len(shape) - len(distribution.batch_shape)])


def _sample(distribution: dist.Distribution, key: Any, sample_shape: tuple[int, ...]) -> Any:
    return distribution.sample(key, sample_shape)


_of_class = singledispatch(_by_jax)


def _draw_by_formula(distribution: dist.Distribution, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """By the formula of the class, which also serves its subclasses, unless they define `sample` themselves."""
    kind = inherited_from(type(distribution), _of_class.registry, "sample")
    return _of_class.registry[kind or object](distribution, rng, shape)


FORMULAS: dict[type, Callable[[Any, np.random.Generator, tuple[int, ...]], Any]] = {
    dist.Beta: lambda d, rng, shape: rng.beta(d.concentration1, d.concentration0, shape),
    dist.Gamma: lambda d, rng, shape: rng.standard_gamma(d.concentration, shape) / np.asarray(d.rate),
    dist.InverseGamma: lambda d, rng, shape: np.asarray(d.rate) / rng.standard_gamma(d.concentration, shape),
    dist.Normal: lambda d, rng, shape: rng.normal(d.loc, d.scale, shape),
    dist.VonMises: lambda d, rng, shape: rng.vonmises(d.loc, d.concentration, shape),
    dist.Exponential: lambda d, rng, shape: rng.standard_exponential(shape) / np.asarray(d.rate),
    dist.Poisson: lambda d, rng, shape: rng.poisson(d.rate, shape).astype(np.float64),
    dist.BernoulliProbs: lambda d, rng, shape: (rng.uniform(size=shape) < np.asarray(d.probs)).astype(np.float64),
    # NumPy counts the trials up to the first success, as whole numbers of 64 bits; floats may be larger.
    dist.GeometricProbs: lambda d, rng, shape: np.floor(
        -rng.standard_exponential(shape) / np.log1p(-np.asarray(d.probs))
    ),
    GammaVector: lambda d, rng, shape: (
        rng.standard_gamma(d.concentration, (*shape, *d.event_shape)) / np.asarray(d.rate)
    ),
    # NumPy's binomial takes whole numbers of 64 bits.
    dist.BinomialProbs: lambda d, rng, shape: rng.binomial(np.asarray(d.total_count, np.int64), d.probs, shape) * 1.0,
    dist.GammaPoisson: lambda d, rng, shape: (
        rng.poisson(rng.standard_gamma(d.concentration, shape) / np.asarray(d.rate)) * 1.0
    ),
    CoupledTree: lambda d, rng, shape: draw_tree_cells(d, rng, shape),
    AnyTree: lambda d, rng, shape: d.draw(rng, shape),
    RowsOfTree: lambda d, rng, shape: d.draw(rng, shape),
}
"""Draws of a shape, batch axes included, from distributions whose draws take one line of NumPy."""

for _kind, _formula in FORMULAS.items():
    _of_class.register(_kind, _formula)


@_of_class.register
def _(distribution: dist.ExpandedDistribution, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    base = distribution.base_dist
    return _draw_by_formula(base, rng, shape) if base.batch_shape == () else _by_jax(distribution, rng, shape)


@_of_class.register
def _(distribution: dist.Dirichlet, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    concentration = np.asarray(distribution.concentration)
    # With logarithms, a small concentration does not underflow to a row of zeros.
    log_gamma = log_gammas(concentration, rng, (*shape, concentration.shape[-1]))
    weight = np.exp(log_gamma - log_gamma.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True)


RIDGE = 1e-13
"""Added to the diagonal of a correlation matrix, so that rounding does not make it singular."""


@_of_class.register
def _(distribution: dist.InverseWishart, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """By the decomposition of Bartlett (1933).

    With the scale L L' and a lower triangular T, of independent elements T_ii^2 ~ Chi2(df - i + 1) and
    T_ij ~ Normal(0, 1), the matrix L (T T')^-1 L' is a draw: Anderson (2003), *An Introduction to Multivariate
    Statistical Analysis*, sections 7.2 and 7.7.
    """
    df, root_of_scale = np.asarray(distribution.concentration), np.asarray(distribution.scale_tril)
    size = root_of_scale.shape[-1]
    factor = np.tril(rng.standard_normal((*shape, size, size)), -1)
    on_diagonal = np.arange(size)
    squares = 2 * rng.standard_gamma((df[..., None] - on_diagonal) / 2, (*shape, size))
    factor[..., on_diagonal, on_diagonal] = np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny))
    root = np.linalg.solve(factor, np.swapaxes(root_of_scale, -1, -2))
    drawn = np.swapaxes(root, -1, -2) @ root
    return (drawn + np.swapaxes(drawn, -1, -2)) / 2 * (1 + RIDGE * np.eye(size))


@_of_class.register
def _(distribution: dist.MultivariateNormal, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    standard = rng.standard_normal((*shape, *distribution.event_shape, 1))
    return np.asarray(distribution.loc) + (np.asarray(distribution.scale_tril) @ standard)[..., 0]


@_of_class.register
def _(distribution: dist.LogNormal, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    # Numbers that would underflow or overflow become the nearest positive finite number.
    limits = np.finfo(np.float64)
    with np.errstate(over="ignore"):
        return np.clip(rng.lognormal(distribution.loc, distribution.scale, shape), limits.tiny, limits.max)


@_of_class.register
def _(distribution: dist.CategoricalProbs, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    # Category by category, because short rows cost NumPy more than their numbers do.
    *edges, total = accumulate(np.moveaxis(np.asarray(distribution.probs), -1, 0))
    uniform, found = rng.uniform(size=shape) * total, np.zeros(shape)
    for edge in edges:
        found += uniform >= edge
    return found


@_of_class.register
def _(distribution: CombinationOfCategories, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    entries = _draw_by_formula(dist.CategoricalProbs(distribution.prob), rng, shape).astype(np.intp)
    combinations = distribution.combinations
    return combinations.rows(entries, rng.integers(max(combinations.num_unseen, 1), size=shape))


@_of_class.register
def _(distribution: Binned, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    codes = _draw_by_formula(dist.CategoricalProbs(distribution.prob), rng, shape).astype(np.intp)
    return distribution.bins.draws(codes, rng.uniform(size=shape))


@_of_class.register
def _(distribution: ZeroOr, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    is_nonzero = rng.uniform(size=shape) < np.asarray(distribution.nonzero_prob)
    return np.where(is_nonzero, _draw_by_formula(distribution.other.expand(distribution.batch_shape), rng, shape), 0.0)


@_of_class.register
def _(distribution: dist.MultinomialProbs, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    probs = np.asarray(distribution.probs, dtype=np.float64)
    return rng.multinomial(np.asarray(distribution.total_count), probs / probs.sum(-1, keepdims=True), shape).astype(
        float
    )


@_of_class.register
def _(distribution: dist.DirichletMultinomial, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    concentration = np.broadcast_to(distribution.concentration, (*shape, *distribution.event_shape))
    prob = draw(dist.Dirichlet(concentration, validate_args=False), rng)
    counts = rng.multinomial(np.asarray(distribution.total_count), prob / prob.sum(-1, keepdims=True), shape)
    return counts.astype(float)


# --------------------------------------------------------------------------------------------------
# Draws of word counts, in time that grows with the words of the documents and not with the vocabulary
# --------------------------------------------------------------------------------------------------

LONG_DOCUMENT = 2**20
"""Documents of at most this many words are drawn word by word."""


def draw_words(
    distribution: dist.Distribution, members: Sequence[np.ndarray], totals: np.ndarray, rng: np.random.Generator
) -> Any:
    """Rows of counts with given totals, as a CSR array of shape (rows, columns); None if only `draw` knows how.

    Parameters
    ----------
    distribution : numpyro.distributions.Distribution
        A multinomial or Dirichlet-multinomial for each class; Pólya's urn draws the latter.
    members : sequence of array of int
        Positions of the rows of each class.
    totals : array of int, shape (rows,)
    rng : numpy.random.Generator
    """
    urn = isinstance(distribution, dist.DirichletMultinomial)
    if not urn and not isinstance(distribution, dist.MultinomialProbs):
        return None
    weights = np.asarray(distribution.concentration if urn else distribution.probs)
    shape = (len(totals), weights.shape[1])
    # A document longer than the vocabulary takes less memory as a row of counts than word by word.
    long = totals > max(LONG_DOCUMENT, shape[1])
    rows, words, counts = [], [], []
    for of_class, edges, at in zip(weights, np.cumsum(weights, axis=1), members, strict=True):
        # Documents of many words as dense rows.
        lengths = totals[at[long[at]]]
        prob = draw(dist.Dirichlet(of_class), rng, lengths.shape) if urn else of_class / of_class.sum()
        drawn = rng.multinomial(lengths, prob).astype(np.float64)
        document, word = np.nonzero(drawn)
        rows.append(at[long[at]][document])
        words.append(word)
        counts.append(drawn[document, word])
        at = at[~long[at]]
        rows.append(np.repeat(at, totals[at]))
        counts.append(np.ones(len(rows[-1])))
        found = np.searchsorted(edges, rng.uniform(size=len(rows[-1])) * edges[-1], side="right")
        words.append(found[_copied(totals[at], edges[-1], rng)] if urn else found)
    place = (np.concatenate(rows), np.concatenate(words))
    return scipy.sparse.coo_array((np.concatenate(counts), place), shape=shape).tocsr()


def _copied(lengths: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """Position, among all words, of the word that each word copies in Pólya's urn; its own position if it is new.

    After k words the next is new with probability strength / (strength + k), else one of them, all equally probable.
    """
    itself = np.arange(lengths.sum())
    before = itself - np.repeat(np.cumsum(lengths) - lengths, lengths)
    pick = rng.uniform(size=len(itself)) * (strength + before)
    source = np.where(pick < before, itself - before + pick.astype(np.intp), itself)
    while (source != source[source]).any():
        source = source[source]
    return source
