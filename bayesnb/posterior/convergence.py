"""R-hat and effective sample sizes of many parameters at once.

The definitions are ArviZ's. Its code takes three milliseconds for each parameter, and naive Bayes has hundreds or
thousands of them.
"""

from functools import cache
from typing import Literal

import numpy as np
import scipy.fft
from scipy.special import ndtri

from bayesnb.parallel import in_order

__all__ = ["ess_of_mean", "rhat_and_ess"]

SLAB_CELLS = 2**16
"""Number of draws, over all chains and parameters, that are processed together, so that they fit a core's cache."""

TAILS = 0.05, 0.95
"""Quantiles whose effective sample sizes are those of the tails."""


def rhat_and_ess(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rank-normalised split R-hat, bulk and tail effective sample sizes (Vehtari et al. 2021).

    Parameters
    ----------
    draws : array, shape (chains, draws, parameters)
        At least four draws of a chain; each parameter takes more than one value.

    Returns
    -------
    r_hat, ess_bulk, ess_tail : array, shape (parameters,)
    """
    with np.errstate(all="ignore"):
        r_hat, bulk, tail = zip(*in_order(_of_slab, _slabs(draws)), strict=True)
    return np.concatenate(r_hat), np.concatenate(bulk), np.concatenate(tail)


def ess_of_mean(draws: np.ndarray) -> np.ndarray:
    """Effective sample size for the mean of each series (Vehtari et al. 2021), shape (series,).

    Parameters
    ----------
    draws : array, shape (chains, draws, series)
        At least four draws of a chain.
    """
    with np.errstate(all="ignore"):
        return np.concatenate(list(in_order(_mean_of_slab, _slabs(draws))))


def _slabs(draws: np.ndarray) -> list[np.ndarray]:
    """The draws of some parameters at a time."""
    step = max(1, SLAB_CELLS // (draws.shape[0] * draws.shape[1]))
    return [draws[:, :, start : start + step] for start in range(0, draws.shape[2], step)]


def _mean_of_slab(draws: np.ndarray) -> np.ndarray:
    return _ess(_split(np.ascontiguousarray(np.moveaxis(draws, 2, 0), dtype=np.float64)))


def _of_slab(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    whole = np.ascontiguousarray(np.moveaxis(draws, 2, 0), dtype=np.float64)
    halves = _split(whole)
    order = _order(halves.reshape(len(halves), -1))
    ordered = halves.take(order)
    scores = _normal_scores(order, ordered).reshape(halves.shape)
    r_hat, bulk = _rhat(scores), _ess(scores)
    # If the number of draws is odd, the halves lack the middle draw, which counts for the quantiles.
    every = ordered if whole.shape[2] % 2 == 0 else np.sort(whole.reshape(len(whole), -1), axis=1)
    # A draw is at most the quantile exactly if it is at most the sorted draw next below the quantile.
    edges = (every[:, int(level * (whole[0].size - 1))][:, None, None] for level in TAILS)
    lower, upper = (_ess((halves <= edge).astype(np.float64)) for edge in edges)
    middle = ordered.shape[1] // 2
    # Distances from the median fall and rise again along the sorted draws: a stable sort merges the two runs.
    folded = np.abs(ordered - ordered[:, middle - 1 : middle + 1].mean(axis=1, keepdims=True))
    again = _order(folded, kind="stable")
    folded_scores = _normal_scores(order.take(again), folded.take(again)).reshape(halves.shape)
    return np.maximum(r_hat, _rhat(folded_scores)), bulk, np.minimum(lower, upper)


def _split(x: np.ndarray) -> np.ndarray:
    """The halves of chains as chains of their own; arrays are (parameters, chains, draws) here and below."""
    half = x.shape[2] // 2
    return np.concatenate([x[:, :, :half], x[:, :, -half:]], axis=1)


def _order(x: np.ndarray, kind: Literal["quicksort", "stable"] = "quicksort") -> np.ndarray:
    """Positions of the sorted numbers of each row in the flattened array, shape of `x`."""
    order = np.argsort(x, axis=1, kind=kind)
    order += x.shape[1] * np.arange(len(x))[:, None]
    return order


def _normal_scores(order: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Normal quantiles of the ranks over all chains (Blom 1958); ties share their average rank.

    Parameters
    ----------
    order : array of int, shape (parameters, draws)
        Positions of the sorted draws in the flattened array.
    ordered : array, shape (parameters, draws)
        The sorted draws.
    """
    size = order.shape[1]
    quantiles = _quantiles(size)
    sorted_scores = np.tile(quantiles[::2], (len(order), 1))
    like_next = np.zeros(order.shape, dtype=bool)
    np.equal(ordered[:, 1:], ordered[:, :-1], out=like_next[:, :-1])
    tied = np.flatnonzero(like_next)
    if tied.size:
        starts = np.diff(tied, prepend=-2) != 1
        first, last = tied[starts], tied[np.append(starts[1:], True)] + 1
        like_next.flat[tied + 1] = True
        shared = quantiles[first % size + last % size]
        sorted_scores.flat[np.flatnonzero(like_next)] = np.repeat(shared, last - first + 1)
    scores = np.empty(order.size)
    scores[order] = sorted_scores
    return scores


@cache
def _quantiles(size: int) -> np.ndarray:
    """Normal scores of the ranks 1, 1.5, 2, ..., `size`: ties have half ranks. One table is used for all parameters."""
    return ndtri((np.arange(2 * size - 1) / 2 + 1 - 3 / 8) / (size + 1 / 4))


def _rhat(x: np.ndarray) -> np.ndarray:
    """Gelman and Rubin's ratio of the pooled to the within-chain scale."""
    n = x.shape[2]
    between = n * x.mean(axis=2).var(axis=1, ddof=1)
    within = x.var(axis=2, ddof=1).mean(axis=1)
    return np.sqrt((between / within + n - 1) / n)


def _ess(x: np.ndarray) -> np.ndarray:
    """Effective sample size for the mean, by Geyer's initial monotone sequence."""
    chains, n = x.shape[1:]
    covariance = _autocovariance(x)
    within = covariance[:, 0] * n / (n - 1)
    pooled = covariance[:, 0]
    if chains > 1:
        pooled = pooled + x.mean(axis=2).var(axis=1, ddof=1)
    correlation = 1 - (within[:, None] - covariance) / pooled[:, None]
    correlation[:, 0] = 1.0
    # Sums of neighbouring correlations are made positive and decreasing. The sequence ends at the first sum that is not
    # positive; of that sum, the even member counts if it is positive.
    pairs = max(1, (n - 1) // 2)
    even = correlation[:, : 2 * pairs : 2]
    sums = even + correlation[:, 1 : 2 * pairs : 2]
    ended = sums <= 0
    ended[:, -1] = True
    end = ended.argmax(axis=1)[:, None]
    before = np.arange(pairs) < end
    total = np.where(before, np.minimum.accumulate(sums, axis=1), 0.0).sum(axis=1)
    last_even, last_sum = (np.take_along_axis(array, end, axis=1)[:, 0] for array in (even, sums))
    last = np.where((last_even > 0) | (last_sum >= 0), last_even, 0.0)
    size = chains * n
    tau = np.maximum(2 * total + last - 1, 1 / np.log10(size))
    return np.where(np.ptp(x, axis=(1, 2)) < np.finfo(np.float64).resolution, size, size / tau)


def _autocovariance(x: np.ndarray) -> np.ndarray:
    """Autocovariance at every lag, averaged over the chains, shape (parameters, draws)."""
    n = x.shape[2]
    size = scipy.fft.next_fast_len(2 * n, real=True)
    spectrum = scipy.fft.rfft(x - x.mean(axis=2, keepdims=True), size, axis=2)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=1)
    return scipy.fft.irfft(power, size, axis=1)[:, :n] / n
