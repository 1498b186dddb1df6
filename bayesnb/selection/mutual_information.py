"""How much does a feature say about the class? Mutual information, and how sure of it the posterior is."""

from collections.abc import Iterator
from functools import singledispatch
from typing import Any

import jax
import numpy as np
import pandas as pd
from scipy.special import gammaln, kl_div, xlogy

from bayesnb.arrays import in_float64
from bayesnb.blocks import Block, ClassPrior, draw_parameters
from bayesnb.decisions import NATS
from bayesnb.families.base import Family, Parameters
from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.categorical import Categorical
from bayesnb.families.dirichlet_multinomial import DirichletMultinomial
from bayesnb.families.fast import random_generator, whole_number
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.multinomial import Multinomial
from bayesnb.families.poisson import Poisson
from bayesnb.inclusion import draw_averaged, in_order
from bayesnb.posterior.averaged import AveragedPosterior
from bayesnb.posterior.base import Posterior, flatten
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.point import PointPosterior
from bayesnb.posterior.sampled import SampledPosterior

__all__ = ["information_at_mean", "mutual_information"]

CHAINS, DRAWS = 4, 250
"""Draws from a closed form, unless the user says."""

PIECE_CELLS = 2**20
"""Densities at a time: eight mebibytes for each array of them."""

BREAKS = np.arange(-9.0, 9.5, 1.0)
"""Standard deviations from each class's mean between which a rule of Gauss and Legendre integrates."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)

COUNTED = 4096
"""Counts below are summed one by one; beyond, a sum over counts is an integral."""


@in_float64
def mutual_information(
    posterior: Posterior, unit: str = "nats", *, prob: float = 0.89, num_draws: int | None = None, key: Any = 0
) -> pd.DataFrame:
    r"""Mutual information of each feature and the class, with its posterior uncertainty.

    .. math::
        I(X_j; Y) = \sum_c \sum_x p(x, c) \log \frac{p(x, c)}{p(x) \, p(c)}

    (Murphy 2012, Eq. 3.76), a sum over the values of a discrete feature and an integral over those of a Gaussian one.
    It is a function of the parameters, so that it has a posterior distribution of its own. It is never negative, so
    that ``mean`` lies above zero for a feature that says nothing too: look at ``lower``, or ask `feature_evidence`.

    Parameters
    ----------
    posterior : Posterior
        Of features of any of the package's families.
    unit : {"nats", "bits"}, default "nats"
    prob : float, default 0.89
        Posterior probability between ``lower`` and ``upper``, equal tails.
    num_draws : int, optional
        Draws in each chain: by default 250 in each of 4 from a closed form, and all there are of a sampled posterior.
    key : int or JAX key, default 0
        For the draws from a closed form.

    Returns
    -------
    pandas.DataFrame
        By feature, in the order of the table's columns: ``at_posterior_mean``, of the parameters' posterior means
        (infinite ones, of a variance that next to no data inform, give NaN); ``mean``, ``lower`` and ``upper``, over
        draws of all parameters, class probabilities included; NaN for a point estimate, which has no spread. Unit and
        `prob` stand in ``attrs``.

    Raises
    ------
    TypeError
        If the first argument is no posterior.
    ValueError
        If the unit is unknown, `prob` is not between 0 and 1, or a family is none of the package's.

    Notes
    -----
    Of a `Multinomial` block each word has a row: the feature is whether one token, drawn at random from the document,
    is that word, :math:`p(x=1 \mid c) = \theta_{cv}`; of a `DirichletMultinomial` one,
    :math:`\alpha_{cv} / \sum_w \alpha_{cw}`, with the document's own word probabilities integrated out. So it counts
    occurrences, as the measure of McCallum and Nigam (1998, *A comparison of event models for naive Bayes text
    classification*, section 3), but classes weigh what their documents do, where theirs weigh what their tokens do.

    Integrals are composite rules of Gauss and Legendre, eight nodes between neighbours of the points that lie whole
    standard deviations from the classes' means. Counts of Poisson features are summed one by one up to 4096, and
    integrated beyond.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> nb.mutual_information(posterior, unit="bits").loc[["flipper_length_mm", "sex"]].round(1)
                       at_posterior_mean  mean  lower  upper
    feature
    flipper_length_mm                0.9   0.9    0.8    0.9
    sex                              0.0   0.0    0.0    0.0
    """
    if not isinstance(posterior, Posterior):
        raise TypeError(f"posterior is a {type(posterior).__name__}: give a posterior, nb.fit(model, X, y)")
    if unit not in NATS:
        raise ValueError(f"unit is {unit!r}: give one of {list(NATS)}")
    if not 0 < prob < 1:
        raise ValueError(f"prob is {prob}: give a number between 0 and 1")
    columns = {"at_posterior_mean": _at_mean(posterior), **_over_draws(posterior, prob, num_draws, key)}
    blocks = posterior.model.blocks
    labels = [block.labels for block in blocks]
    found = pd.DataFrame(
        {name: np.array(in_order(blocks, values)) / NATS[unit] for name, values in columns.items()},
        index=pd.Index(in_order(blocks, labels), name="feature"),
    )
    found.attrs |= {"unit": unit, "prob": prob}
    return found


@in_float64
def information_at_mean(posterior: Posterior, unit: str = "nats") -> np.ndarray:
    """The column ``at_posterior_mean`` of `mutual_information` alone, shape (columns,)."""
    if unit not in NATS:
        raise ValueError(f"unit is {unit!r}: give one of {list(NATS)}")
    return np.array(in_order(posterior.model.blocks, _at_mean(posterior))) / NATS[unit]


def _at_mean(posterior: Posterior) -> list[np.ndarray]:
    """Mutual information at the posterior mean, in nats, for each block an array of shape (columns,)."""
    with np.errstate(divide="ignore"):  # an infinite mean
        mean = posterior._mean_parameters()
    found = []
    for block, parameters in zip(posterior.model.blocks, mean.blocks, strict=True):
        values = {name: np.asarray(value)[None] for name, value in _of_tokens(block, parameters).items()}
        pieces = [
            _information(
                block.family, block, np.asarray(mean.class_prob)[None], {k: v[:, :, columns] for k, v in values.items()}
            )
            for columns in _pieces(block, 1, np.shape(mean.class_prob)[0])
        ]
        found.append(np.concatenate(pieces, axis=1)[0])
    return found


def _over_draws(posterior: Posterior, prob: float, num_draws: int | None, key: Any) -> dict[str, list[np.ndarray]]:
    """Mean and interval over draws, in nats, for each block arrays of shape (columns,)."""
    names = ("mean", "lower", "upper")
    found: dict[str, list[np.ndarray]] = {name: [] for name in names}
    draws = None if isinstance(posterior, PointPosterior) else _Draws(posterior, num_draws, key)
    for i, block in enumerate(posterior.model.blocks):
        pieces = []
        for columns in _pieces(block, 1 if draws is None else len(draws.class_prob), len(posterior.classes)):
            if draws is None:
                pieces.append(np.full((3, columns.stop - columns.start), np.nan))
                continue
            values = _information(block.family, block, draws.class_prob, draws.of_columns(i, columns))
            ends = np.quantile(values, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
            pieces.append(np.stack([values.mean(axis=0), *ends]))
        for name, column in zip(names, np.concatenate(pieces, axis=1), strict=True):
            found[name].append(column)
    return found


class _Draws:
    """Draws of the parameters, some columns at a time: those of a large vocabulary do not fit the memory at once.

    Attributes
    ----------
    class_prob : array, shape (draws, classes)
    """

    def __init__(self, posterior: Posterior, num_draws: int | None, key: Any) -> None:
        self._posterior = posterior
        self._rng = random_generator(key)
        if isinstance(posterior, SampledPosterior):
            given = flatten(posterior._parameters(None, num_draws, key))
            self.class_prob = given.class_prob
            self._given = [_of_tokens(*pair) for pair in zip(posterior.model.blocks, given.blocks, strict=True)]
            return
        assert isinstance(posterior, ExactPosterior | AveragedPosterior)
        number = CHAINS * whole_number("num_draws", DRAWS if num_draws is None else num_draws)
        self.class_prob = draw_parameters(posterior.class_posterior, (), self._rng, (number,)).class_prob

    def of_columns(self, block: int, columns: slice) -> dict[str, np.ndarray]:
        """Draws of the parameters of some columns of a block, shape (draws, classes, columns, ...)."""
        posterior, shape = self._posterior, self.class_prob.shape[:1]
        if isinstance(posterior, SampledPosterior):
            return {name: value[:, :, columns] for name, value in self._given[block].items()}
        assert isinstance(posterior, ExactPosterior | AveragedPosterior)
        nothing = ClassPrior(None, np.ones(1))
        own = _marginal(posterior.families[block], columns)
        if isinstance(posterior, ExactPosterior):
            return draw_parameters(nothing, [own], self._rng, shape).blocks[0]
        shared = _marginal(posterior.shared[block], columns)
        inclusion = posterior._inclusion[block]
        weights = np.broadcast_to(inclusion, len(posterior.model.blocks[block].columns))[columns]
        return draw_averaged(nothing, [own], [shared], [weights], self._rng, shape).blocks[0]


def _of_tokens(block: Block, parameters: Parameters) -> Parameters:
    """Parameters of the features that are looked at: for bursty documents, those of one token."""
    if not isinstance(block.family, DirichletMultinomial):
        return parameters
    concentration = np.asarray(parameters["concentration"])
    return {"prob": concentration / concentration.sum(axis=-1, keepdims=True)}


def _marginal(family: Family, columns: slice) -> Family:
    """The distribution of some columns' parameters on their own; a Dirichlet's components are Beta, one by one."""
    if isinstance(family, Multinomial):
        concentration = np.asarray(family.concentration)
        rest = concentration.sum(axis=-1, keepdims=True) - concentration
        # Of a single word the rest is nothing, and its probability one.
        family = Bernoulli(concentration, np.maximum(rest, np.finfo(np.float64).tiny))
    return family.take((slice(None), columns))


def _pieces(block: Block, num_draws: int, num_classes: int) -> Iterator[slice]:
    """Columns of a block, as many at a time as keep their draws in memory."""
    categories = np.shape(jax.tree.leaves(block.family)[0])[2:]
    step = max(1, PIECE_CELLS // (num_draws * num_classes * int(np.prod(categories))))
    for start in range(0, len(block.columns), step):
        yield slice(start, min(start + step, len(block.columns)))


def _divergence(class_prob: np.ndarray, density: np.ndarray, weight: Any = 1.0) -> np.ndarray:
    """Sum over classes and values of p(c) times the divergence of p(x | c) from p(x), shape (draws, columns).

    Parameters
    ----------
    class_prob : array, shape (draws, classes)
    density : array, shape (draws, classes, columns, values)
    weight : array, shape (draws, columns, values) or such that it broadcasts
        Of each value in a sum that stands for an integral.
    """
    prior = class_prob[:, :, None, None]
    average = (prior * density).sum(axis=1, keepdims=True)
    # Term by term p log(p / q) - p + q, which is never negative and adds up to the same.
    terms = kl_div(density, average)
    terms[np.isinf(terms)] = 0.0  # a density so small that its share of the average is rounded to zero
    return ((prior * terms).sum(axis=1) * weight).sum(axis=-1)


@singledispatch
def _information(family: Family, block: Block, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
    """Mutual information of some columns of a block under draws of the parameters, in nats.

    Parameters
    ----------
    family : Family
    block : Block
    class_prob : array, shape (draws, classes)
    parameters : mapping
        Arrays of shape (draws, classes, columns, ...).

    Returns
    -------
    array, shape (draws, columns)
    """
    raise ValueError(
        f"column {block.labels[0]!r} is {type(family).__name__}, whose mutual information with the class is known for "
        "the package's own families only: leave the column out of the model, or ask nb.feature_evidence"
    )


@_information.register(Bernoulli)
@_information.register(DirichletMultinomial)
@_information.register(Multinomial)
def _(family: Family, block: Block, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
    prob = parameters["prob"]
    # The values on an axis of their own would double the memory.
    return sum(_divergence(class_prob, of_value[..., None]) for of_value in (prob, 1 - prob))  # type: ignore[return-value]


@_information.register
def _(family: Categorical, block: Block, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
    return _divergence(class_prob, parameters["prob"])


@_information.register
def _(family: Gaussian, block: Block, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
    mean, deviation = parameters["mean"], np.sqrt(parameters["variance"])
    # A shift and a change of unit, the same for all classes, change no information and keep densities in range.
    unit = deviation.max(axis=1, keepdims=True)
    unit = np.where(np.isfinite(unit), unit, np.nan)
    mean, deviation = (mean - mean.mean(axis=1, keepdims=True)) / unit, deviation / unit

    def density(x: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
        z = (x - mean) / deviation
        return np.exp(-0.5 * z**2) / (deviation * np.sqrt(2 * np.pi))

    return _integrated(class_prob, mean, deviation, -np.inf, density)


@_information.register
def _(family: Poisson, block: Block, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
    rate = parameters["rate"]
    highest = (rate + 9 * np.sqrt(rate) + 30).max(axis=(0, 1))
    result = np.empty((len(rate), rate.shape[2]))
    # A column of large counts needs a long sum, which the others are spared.
    magnitude = np.ceil(np.log2(highest))
    for power in np.unique(magnitude):
        together = magnitude == power
        result[:, together] = _of_counts(class_prob, rate[:, :, together], float(highest[together].max()))
    return result


def _of_counts(class_prob: np.ndarray, rate: np.ndarray, highest: float) -> np.ndarray:
    """Mutual information of Poisson counts, none of which is above `highest`, shape (draws, columns)."""
    counts = np.arange(min(int(highest) + 1, COUNTED), dtype=np.float64)
    log_factorial = gammaln(counts + 1)

    def density(x: np.ndarray, rate: np.ndarray, _: np.ndarray | None = None) -> np.ndarray:
        return np.exp(xlogy(x, rate) - rate - gammaln(x + 1))

    total = np.empty((len(rate), rate.shape[2]))
    step = max(1, PIECE_CELLS // (rate.shape[1] * rate.shape[2] * len(counts)))
    for start in range(0, len(rate), step):
        piece = slice(start, start + step)
        cells = np.exp(xlogy(counts, rate[piece, ..., None]) - rate[piece, ..., None] - log_factorial)
        total[piece] = _divergence(class_prob[piece], cells)
    if highest >= COUNTED:
        edge = COUNTED - 0.5
        total += _integrated(class_prob, rate, np.sqrt(np.maximum(rate, 1.0)), edge, density)
        # Euler-Maclaurin: a sum from a on is the integral from a - 1/2 on, and a 24th of the slope there.
        ends = density(np.array([COUNTED - 1.0, COUNTED]), rate[..., None])
        total += _divergence(class_prob, ends, np.array([-1.0, 1.0]) / 24)
    return total


def _integrated(
    class_prob: np.ndarray, centre: np.ndarray, scale: np.ndarray, lowest: float, density: Any
) -> np.ndarray:
    """`_divergence` as an integral over x above `lowest`, shape (draws, columns).

    Parameters
    ----------
    class_prob : array, shape (draws, classes)
    centre, scale : array, shape (draws, classes, columns)
        Where the densities lie, and how wide they are.
    lowest : float
    density : callable
        From x, centre and scale, of shapes that broadcast, to p(x | c).
    """
    num_draws, num_classes, num_columns = centre.shape
    result = np.empty((num_draws, num_columns))
    nodes = (num_classes * len(BREAKS) - 1) * len(NODES)
    step = max(1, PIECE_CELLS // (num_classes * num_columns * nodes))
    for start in range(0, num_draws, step):
        piece = slice(start, start + step)
        breaks = np.moveaxis(centre[piece, ..., None] + scale[piece, ..., None] * BREAKS, 1, 2)
        breaks = np.sort(np.maximum(breaks.reshape(*breaks.shape[:2], -1), lowest), axis=-1)
        half = np.diff(breaks, axis=-1)[..., None] / 2
        x = (breaks[..., :-1, None] + half * (1 + NODES)).reshape(*breaks.shape[:2], -1)
        weight = (half * WEIGHTS).reshape(x.shape)
        cells = density(x[:, None], centre[piece, ..., None], scale[piece, ..., None])
        result[piece] = _divergence(class_prob[piece], cells, weight)
    return result
