"""Mutual information of a feature and the class, given parameters."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import digamma, ndtr

from bayesnb.core.deferred import constraints, dist, float64
from bayesnb.core.running import results_in_order

# --------------------------------------------------------------------------------------------------
# Mutual information by chance, if the cell does not depend on the class.
#
# The estimate at the maximum of the likelihood is never negative, and noise makes it positive, so that its
# expectation without dependence is positive. To first order it is df / (2 N), with df the parameters that dependence
# adds and N the cells (Wilks 1938, *Annals of Mathematical Statistics* 9, 60-62); for tables it is known exactly.
# --------------------------------------------------------------------------------------------------

MOST_ROWS = 10**6
"""Larger tables use the expectation to first order: for this many cells the exact one takes 0.05 s."""


def chance_information(weight: np.ndarray, num_parameters: int) -> tuple[np.ndarray, np.ndarray]:
    """Degrees of freedom, and the expected mutual information to first order.

    Parameters
    ----------
    weight : array, shape (classes, columns)
        Observed cells of each class; classes without any do not count.
    num_parameters : int
        Parameters of one cell.

    Returns
    -------
    tuple of array, shape (columns,)
    """
    df = np.maximum((weight > 0).sum(axis=0) - 1, 0) * num_parameters
    return df, _first_order(df, weight.sum(axis=0))


def tables_by_chance(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Degrees of freedom and expected mutual information of tables with the given margins, without dependence.

    With margins a and b, each cell of the table is hypergeometric, and the expectation is

    .. math:: \sum_{ij} \sum_n P(n \mid a_i, b_j, N) \, \frac{n}{N} \log\frac{N n}{a_i b_j}.

    Weights that are not whole numbers have no hypergeometric distribution; such columns use df / (2 N), and so do
    those of more than a million cells.

    Parameters
    ----------
    counts : array, shape (classes, columns, categories)

    Returns
    -------
    tuple of array, shape (columns,)
        Classes and categories without any count do not count as degrees of freedom.
    """
    from sklearn.metrics.cluster import expected_mutual_information

    of_class, of_category = counts.sum(axis=-1), counts.sum(axis=0)
    total = of_class.sum(axis=0)
    df = np.maximum((of_class > 0).sum(axis=0) - 1, 0) * np.maximum((of_category > 0).sum(axis=-1) - 1, 0)
    expected = _first_order(df, total)
    whole = (counts == np.rint(counts)).all(axis=(0, 2)) & (df > 0) & (total <= MOST_ROWS)
    # Words that are equally frequent have the same margins.
    _, first, same = np.unique(
        np.vstack([of_class[:, whole], of_category[whole].T]), axis=1, return_index=True, return_inverse=True
    )
    distinct = []
    for column in np.flatnonzero(whole)[first]:
        table = counts[:, column].astype(np.int64)
        seen = table[table.any(axis=1)][:, table.any(axis=0)]
        distinct.append(expected_mutual_information(seen, int(total[column])))
    expected[whole] = np.array(distinct)[same]
    return df, expected


def gaussians_by_chance(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As `chance_information`, of Gaussian columns; parameters as there.

    With few whole cells in a class, the information is larger than df / (2 N): about half-way to the expectation of the
    log likelihood ratio over N, which is exact (that of the logarithm of a chi-squared variable).
    """
    df, expected = chance_information(weight, 2)
    total = weight.sum(axis=0)

    def lost(n: np.ndarray) -> np.ndarray:
        return np.where(n > 1, n * (np.log(np.maximum(n, 2) / 2) - digamma((np.maximum(n, 2) - 1) / 2)), 0.0)

    of_ratio = (lost(weight).sum(axis=0) - lost(total)) / (2 * np.where(total > 0, total, 1.0))
    whole = ((weight == np.rint(weight)) & (weight != 1)).all(axis=0)
    return df, np.where(whole & (df > 0), (expected + of_ratio) / 2, expected)


def _first_order(df: np.ndarray, total: np.ndarray) -> np.ndarray:
    return df / (2 * np.where(total > 0, total, 1.0))


# --------------------------------------------------------------------------------------------------
# Mutual information of a class and a cell under given parameters: sums over values, and integrals
# --------------------------------------------------------------------------------------------------

PIECE_CELLS = 2**16
"""Densities in memory at a time: half a mebibyte for each array of them fits the cache."""

BREAKS = np.arange(-7.0, 7.5, 1.0)
"""Distances from each class's mean, in standard deviations, between which Gauss-Legendre rules integrate."""

type Piece = tuple[slice, slice, slice]
"""Which draws, classes and columns."""

FAR = np.array([9.0, 12.0, 18.0, 27.0, 40.0])

FAR_BREAKS = np.concatenate([-FAR, BREAKS, FAR])
"""As `BREAKS`, for densities whose tails may be those of an exponential distribution."""

MASS_ERROR = 1e-6
"""Largest distance from one of a density's integral, above which the integral of the information is not trusted."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)
"""Six nodes between breaks: errors of 1e-12 nats for classes of like spread, 1e-9 where spreads differ most."""

DEVIATE_NODES, DEVIATE_WEIGHTS = np.polynomial.legendre.leggauss(16)
"""Nodes between whole standard normal deviates of a class: errors of 1e-8 of the information for exponential
distributions of any two rates. With six, 1e-5: the density of a steeper class falls within a part of one deviate."""

COUNTED = 4096
"""Counts below this are summed one by one; above, an integral replaces the sum."""

SUMMED = 512
"""For distributions beyond `COUNTED`, this many counts at each end are summed one by one."""

LOST = 1e-9
"""Largest probability of the counts outside a sum."""

TAIL = 7
"""Densities are cut off at the quantiles of this standard normal deviate, which leaves out 3e-12 of them."""


def divergence(class_prob: np.ndarray, density: np.ndarray, weight: Any = 1.0) -> np.ndarray:
    """Sum over classes and values of p(c) times the divergence of p(x | c) from p(x).

    Parameters
    ----------
    class_prob : array, shape (draws, classes, 1) or (draws, classes, columns)
    density : array, shape (draws, classes, columns, values)
    weight : array, shape (draws, columns, values) or such that it broadcasts
        Weight of each value, if the sum approximates an integral.

    Returns
    -------
    array, shape (draws, columns)
    """
    prior = class_prob[..., None]
    average = (prior * density).sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.log(density / average)
        terms *= density
    # A density may be zero, or so small that its share of the average is rounded to zero.
    terms[~np.isfinite(terms)] = 0.0
    # Term by term p log(p / q) - p + q, which is never negative and adds up to the same.
    terms += average
    terms -= density
    np.maximum(terms, 0.0, out=terms)
    return ((prior * terms).sum(axis=1) * weight).sum(axis=-1)


def gaussian_information(class_prob: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Mutual information under normal likelihoods, shape (draws, columns).

    Parameters
    ----------
    class_prob : array, shape (draws, classes, 1) or (draws, classes, columns)
    mean, deviation : array, shape (draws, classes, columns)
    """
    # The same shift and change of unit for all classes do not change the information, and keep densities in range.
    unit = deviation.max(axis=1, keepdims=True)
    unit = np.where(np.isfinite(unit), unit, np.nan)
    mean, deviation = (mean - mean.mean(axis=1, keepdims=True)) / unit, deviation / unit

    def of_piece(piece: Piece, of_class: np.ndarray) -> np.ndarray:
        x, weight = _gauss_legendre(_breaks(mean[piece], deviation[piece], BREAKS))
        scale = deviation[piece][..., None]
        z = (x[:, None] - mean[piece][..., None]) / scale
        return divergence(of_class, np.exp(-0.5 * z**2) / (scale * np.sqrt(2 * np.pi)), weight)

    return _piecewise(class_prob, mean.shape, mean.shape[1] ** 2 * len(BREAKS) * len(NODES), of_piece)


def _breaks(centre: np.ndarray, scale: np.ndarray, away: np.ndarray) -> np.ndarray:
    """Points some scales away from the classes' centres (draws, classes, columns), shape (draws, columns, points)."""
    with np.errstate(invalid="ignore"):  # a mean that is infinite
        breaks = np.moveaxis(centre[..., None] + scale[..., None] * away, 1, 2)
    return breaks.reshape(*breaks.shape[:2], -1)


def _gauss_legendre(breaks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights between neighbouring breaks, in any order; all have shape (draws, columns, numbers)."""
    breaks = np.sort(breaks, axis=-1)
    half = np.diff(breaks, axis=-1)[..., None] / 2
    x = (breaks[..., :-1, None] + half * (1 + NODES)).reshape(*breaks.shape[:2], -1)
    return x, (half * WEIGHTS).reshape(x.shape)


def information_from_likelihood(
    likelihood: "Callable[..., dist.Distribution]", class_prob: np.ndarray, parameters: Mapping[str, Any]
) -> np.ndarray:
    """Mutual information under any NumPyro likelihood of numbers.

    A continuous density is integrated over its own quantiles, class by class, and that of an angle over the circle.
    Counts below 4096 are summed; of larger ones, an integral replaces most of the sum.

    Parameters
    ----------
    likelihood : callable
        From parameters to the distribution of a cell.
    class_prob : array, shape (draws, classes, 1) or (draws, classes, columns)
    parameters : mapping
        Arrays of shape (draws, classes, columns).

    Returns
    -------
    array, shape (draws, columns)
        NaN where an integral is not accurate.

    Raises
    ------
    NotImplementedError
        If cells are neither counts nor angles nor numbers with quantiles; the error says which.
    """
    from bayesnb.families.formulas import log_prob, quantile

    # A rate of zero, the mode in a class without a cell, has no distribution; the limit of small rates has.
    parameters = {name: np.where(np.equal(value, 0.0), 1e-100, value) for name, value in parameters.items()}
    with float64():
        distribution = likelihood(**parameters)
        if distribution.event_shape:
            raise NotImplementedError(f"the likelihood {type(distribution).__name__} is one of vectors")
        if distribution.is_discrete:
            return _over_counts(likelihood, class_prob, parameters)
        if distribution.support is constraints.circular:
            return _over_circle(likelihood, class_prob, parameters)  # an angle has no first and last quantile
        edges = np.arange(-TAIL, TAIL)[:, None] + (1 + DEVIATE_NODES) / 2
        deviate = edges.reshape(-1, *[1] * len(distribution.batch_shape))
        weight = np.tile(DEVIATE_WEIGHTS / 2, 2 * TAIL).reshape(deviate.shape[0], 1, 1)
        weight = weight * np.exp(-0.5 * deviate[:, 0] ** 2) / np.sqrt(2 * np.pi)
        # x of class c on the first axis but one, densities under every class on the axis of classes.
        try:
            x = quantile(distribution, ndtr(deviate))
        except NotImplementedError:
            raise NotImplementedError(f"the likelihood {type(distribution).__name__} has no icdf and no cdf") from None
        result = np.zeros((x.shape[1], x.shape[3]))
        for c in range(x.shape[2]):
            density = np.exp(log_prob(distribution, x[:, :, [c]]))
            # Where only a class of probability zero has a density, no other class needs one.
            average = np.maximum((class_prob * density).sum(axis=2), np.finfo(float).tiny)
            result += (class_prob[:, c] * np.log(density[:, :, c] / average) * weight).sum(axis=0)
        return result


def _over_circle(
    likelihood: "Callable[..., dist.Distribution]", class_prob: np.ndarray, parameters: Mapping[str, Any]
) -> np.ndarray:
    """As `information_from_likelihood`, by an integral over angles; NaN where a density does not integrate to one.

    The rules' points are standard deviations away from the classes' means; those beyond one end of the circle are
    counted on from the other.
    """
    whole = likelihood(**parameters)
    centre, scale = np.asarray(whole.mean), np.sqrt(np.asarray(whole.variance))

    def of_piece(piece: Piece, of_class: np.ndarray) -> np.ndarray:
        breaks = _breaks(centre[piece], scale[piece], FAR_BREAKS)
        both = np.broadcast_to([-np.pi, np.pi], (*breaks.shape[:2], 2))
        x, weight = _gauss_legendre(np.concatenate([(breaks + np.pi) % (2 * np.pi) - np.pi, both], axis=-1))
        some = likelihood(**{name: np.asarray(value)[piece] for name, value in parameters.items()})
        return _if_accurate(of_class, _densities_of_numbers(some, x), weight)

    return _piecewise(class_prob, centre.shape, centre.shape[1] ** 2 * len(FAR_BREAKS) * len(NODES), of_piece)


def _if_accurate(class_prob: np.ndarray, density: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """`divergence`, and NaN where a density does not integrate to one."""
    mass = (density * weight[:, None]).sum(axis=-1)
    accurate = (np.abs(mass - 1) < MASS_ERROR).all(axis=1)
    return np.where(accurate, divergence(class_prob, density, weight), np.nan)


def _over_counts(
    likelihood: "Callable[..., dist.Distribution]", class_prob: np.ndarray, parameters: Mapping[str, Any]
) -> np.ndarray:
    """As `information_from_likelihood`, for counts: a sum, or, where they are many, sums and an integral."""
    whole = likelihood(**parameters)
    last = _last_count(whole)
    few = last < COUNTED
    cells = int(last) + 1 if few else SUMMED + 512 * whole.batch_shape[1]

    def of_piece(piece: Piece, of_class: np.ndarray) -> np.ndarray:
        with dist.distribution.validation_enabled(False):  # the integral takes numbers between counts
            some = likelihood(**{name: np.asarray(value)[piece] for name, value in parameters.items()})
            if few:
                return divergence(of_class, _densities_of_numbers(some, np.arange(int(last) + 1)))
            return _over_many_counts(some, of_class, last)

    return _piecewise(class_prob, whole.batch_shape, whole.batch_shape[1] * cells, of_piece)


def _last_count(distribution: "dist.Distribution") -> float:
    """The largest count that matters: the end of the support, or what leaves a probability below `LOST` out.

    Infinite if a support without an end has probabilities beyond `COUNTED`.
    """
    support = distribution.support
    if support is constraints.nonnegative_integer:
        highest = np.max(np.asarray(distribution.mean + 9 * np.sqrt(distribution.variance) + 30))
        while highest < COUNTED:
            if (_densities_of_numbers(distribution, np.arange(highest + 1)).sum(axis=-1) > 1 - LOST).all():
                return float(highest)
            # The tail of a geometric distribution reaches farther in standard deviations than that of a Poisson one.
            highest = min(2 * highest, COUNTED - 1.0) if highest < COUNTED - 1 else np.inf
        return np.inf
    if support is constraints.boolean:
        return 1.0
    if np.all(np.asarray(getattr(support, "lower_bound", 1)) == 0):
        return float(np.max(np.asarray(support.upper_bound)))
    raise NotImplementedError(
        f"the likelihood {type(distribution).__name__} is one of whole numbers that do not begin at zero"
    )


def _densities_of_numbers(distribution: "dist.Distribution", x: np.ndarray) -> np.ndarray:
    """Densities or probabilities of numbers, shape (draws, classes, columns, numbers).

    Parameters
    ----------
    x : array, shape (numbers,) or (draws, columns, numbers)
    """
    from bayesnb.families.formulas import log_prob

    spread = x.reshape(-1, 1, 1, 1) if x.ndim == 1 else np.moveaxis(x, -1, 0)[:, :, None]
    return np.moveaxis(np.exp(log_prob(distribution, spread)), 0, -1)


def _over_many_counts(distribution: "dist.Distribution", class_prob: np.ndarray, last: float) -> np.ndarray:
    """`divergence` of counts up to `last`; NaN where the probabilities do not add up to one.

    The first and the last values are summed one by one, because probabilities may change much from one to the next
    there. Between them the sum is an integral with the first correction of Euler and Maclaurin: a sum from a to b is
    the integral from a - 1/2 to b + 1/2, minus a 24th of the difference between the slopes there. The points of the
    integral are standard deviations away from the means, as in `_over_circle`, and powers of two away from the ends,
    because densities of overdispersed counts fall like a power of the count.
    """
    centre, scale = (np.asarray(value) for value in (distribution.mean, np.sqrt(distribution.variance)))
    with np.errstate(invalid="ignore", divide="ignore"):
        farthest = centre + FAR[-1] * (scale + scale**2 / centre)
    farthest = min(last, float(np.max(farthest, where=np.isfinite(farthest), initial=2.0 * SUMMED)))
    steps = SUMMED * 2.0 ** np.arange(1, np.ceil(np.log2(farthest / SUMMED)) + 1)
    first = SUMMED - 0.5
    if np.isfinite(last):
        end = last - SUMMED + 0.5
        summed, slopes = [np.arange(end + 0.5, last + 1)], [(first, 1.0), (end, -1.0)]
        steps = np.concatenate([steps, last - steps])
    else:
        end, summed, slopes = max(farthest, steps[-1]), [], [(first, 1.0)]
    breaks = _breaks(centre, scale, FAR_BREAKS)
    ends = np.broadcast_to(np.concatenate([steps, [first, end]]), (*breaks.shape[:2], len(steps) + 2))
    x, weight = _gauss_legendre(np.clip(np.concatenate([breaks, ends], axis=-1), first, end))
    counts = np.concatenate([np.arange(SUMMED), *summed])
    parts = [(counts, np.ones(len(counts)))]
    parts += [(np.array([at - 0.5, at + 0.5]), np.array([-sign, sign]) / 24) for at, sign in slopes]
    # All numbers in one call: JAX compiles the density once.
    for values, weights in parts:
        shape = (*x.shape[:2], len(values))
        x = np.concatenate([x, np.broadcast_to(values, shape)], axis=-1)
        weight = np.concatenate([weight, np.broadcast_to(weights, shape)], axis=-1)
    return _if_accurate(class_prob, _densities_of_numbers(distribution, x), weight)


def _piecewise(
    class_prob: np.ndarray,
    shape: tuple[int, ...],
    cells: int,
    of_piece: Callable[[Piece, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Information of some draws and columns at a time, whose densities fit in memory, in several threads.

    `class_prob` has shape (draws, classes, 1) or (draws, classes, columns), `shape` is (draws, classes, columns), and
    `cells` the number of densities of each draw and column. `of_piece` gives the information of a piece from its class
    probabilities. The result has shape (draws, columns).
    """
    num_draws, _, num_columns = shape
    class_prob, result = np.broadcast_to(class_prob, shape), np.empty((num_draws, num_columns))
    columns = max(1, min(num_columns, PIECE_CELLS // cells))
    draws = max(1, PIECE_CELLS // (cells * columns))
    starts = itertools.product(range(0, num_draws, draws), range(0, num_columns, columns))
    pieces = [(slice(i, i + draws), slice(None), slice(j, j + columns)) for i, j in starts]
    for piece, found in zip(
        pieces, results_in_order(lambda piece: of_piece(piece, class_prob[piece]), pieces), strict=True
    ):
        result[piece[0], piece[2]] = found
    return result
