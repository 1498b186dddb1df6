"""R-hat, ESS and statistics of the sampler."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import scipy.fft
from scipy.special import ndtri

from bayesnb.core.arrays import PIECE_CELLS
from bayesnb.core.checking import first_few
from bayesnb.core.running import results_in_order

# --------------------------------------------------------------------------------------------------
# R-hat and effective sample sizes of many parameters at once.
#
# The definitions are ArviZ's. Its code takes three milliseconds for each parameter, and naive Bayes has hundreds or
# thousands of them.
# --------------------------------------------------------------------------------------------------

TAILS = 0.05, 0.95
"""Tail ESS is the effective sample size of these quantiles."""


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
        r_hat, bulk, tail = zip(*results_in_order(_of_slab, _slabs(draws)), strict=True)
    return np.concatenate(r_hat), np.concatenate(bulk), np.concatenate(tail)


def ess_of_mean(draws: np.ndarray) -> np.ndarray:
    """Effective sample size for the mean of each series (Vehtari et al. 2021), shape (series,).

    Parameters
    ----------
    draws : array, shape (chains, draws, series)
        At least four draws of a chain.
    """
    with np.errstate(all="ignore"):
        return np.concatenate(list(results_in_order(_mean_of_slab, _slabs(draws))))


def _slabs(draws: np.ndarray) -> list[np.ndarray]:
    """The draws of some parameters at a time."""
    step = max(1, PIECE_CELLS // (draws.shape[0] * draws.shape[1]))
    return [draws[:, :, start : start + step] for start in range(0, draws.shape[2], step)]


def _mean_of_slab(draws: np.ndarray) -> np.ndarray:
    return _ess(_half_chains(np.ascontiguousarray(np.moveaxis(draws, 2, 0), dtype=np.float64)))


def _of_slab(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    whole = np.ascontiguousarray(np.moveaxis(draws, 2, 0), dtype=np.float64)
    halves = _half_chains(whole)
    order = _order(halves.reshape(len(halves), -1))
    ordered = halves.take(order)
    scores = _normal_scores(order, ordered).reshape(halves.shape)
    r_hat, bulk = _rhat(scores), _ess(scores)
    # With an odd number of draws the halves lack the middle draw; the quantiles include it.
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


def _half_chains(x: np.ndarray) -> np.ndarray:
    """Split chains into halves; arrays are (parameters, chains, draws) here and below."""
    half = x.shape[2] // 2
    return np.concatenate([x[:, :, :half], x[:, :, -half:]], axis=1)


def _order(x: np.ndarray, kind: Literal["quicksort", "stable"] = "quicksort") -> np.ndarray:
    """Positions of the sorted numbers of each row in the flattened array, shape of `x`."""
    order = np.argsort(x, axis=1, kind=kind)
    order += x.shape[1] * np.arange(len(x))[:, None]
    return order


def _normal_scores(order: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Normal quantiles of the ranks over all chains (Blom 1958); ties share their average rank.

    `order` has the positions of the sorted draws in the flattened array, and `ordered` the sorted draws, each of shape
    (parameters, draws).
    """
    size = order.shape[1]
    quantiles = _rank_quantiles(size)
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
def _rank_quantiles(size: int) -> np.ndarray:
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


# --------------------------------------------------------------------------------------------------
# Diagnostics of draws: whether the chains have converged, and effective sample sizes
# --------------------------------------------------------------------------------------------------

MIN_E_BFMI = 0.3
"""Below this E-BFMI the energy changes little between draws, and the tails are explored slowly (Betancourt 2016)."""

KINDS = ("divergences", "E-BFMI", "tree depth", "R-hat", "bulk ESS", "tail ESS")
"""Kinds of problems, in the order of the messages."""

MORE_DRAWS = "raise num_samples or num_warmup"
NOT_MOVING = "a chain does not move there, and more draws do not help: raise num_warmup or target_accept_prob"


@dataclass(frozen=True, repr=False)
class Diagnostics:
    """Diagnostics of draws; arrays over all scalar parameters, in the order of the sites.

    Attributes
    ----------
    labels : tuple of str
        Name of each scalar parameter, such as ``island_prob[Adelie, Dream]``.
    r_hat, ess_bulk, ess_tail : array, shape (parameters,)
        Rank-normalised split R-hat and effective sample sizes of Vehtari et al. (2021), *Bayesian Analysis* 16(2).
        R-hat is NaN with one chain.
    divergences : int or None
        Draws whose trajectory diverged; None where the sampler's statistics do not say.
    saturated : int
        Draws whose trajectory ended because it reached the largest tree depth allowed.
    e_bfmi : array, shape (chains,)
        See `e_bfmi`; NaN where the sampler reports no energy.
    num_chains, num_draws : int
    """

    labels: tuple[str, ...]
    r_hat: np.ndarray
    ess_bulk: np.ndarray
    ess_tail: np.ndarray
    divergences: int | None
    saturated: int
    e_bfmi: np.ndarray
    num_chains: int
    num_draws: int

    def __str__(self) -> str:
        worst, ess = _worst(self.r_hat, largest=True), _worst(np.fmin(self.ess_bulk, self.ess_tail), largest=False)
        parts = ["divergences unknown" if self.divergences is None else f"{self.divergences} divergences"]
        parts += [] if worst is None else [f"R-hat up to {self.r_hat[worst]:.3f} for {self.labels[worst]}"]
        least = None if ess is None else min(self.ess_bulk[ess], self.ess_tail[ess])
        parts += [] if ess is None else [f"ESS from {least:.0f} for {self.labels[ess]}"]
        return ", ".join(parts)

    def __repr__(self) -> str:
        return f"Diagnostics({self})"

    def problems(self, *, max_r_hat: float = 1.01, min_ess_per_chain: float = 100) -> list[str]:
        """Problems of the draws and what to do, in words; empty if there are none."""
        return list(self.problems_by_kind(max_r_hat=max_r_hat, min_ess_per_chain=min_ess_per_chain).values())

    def problems_by_kind(self, *, max_r_hat: float = 1.01, min_ess_per_chain: float = 100) -> dict[str, str]:
        """As `problems`, by kind, one of `KINDS`.

        More draws are advised only if the trajectories have no problem, because more draws remove no bias.
        """
        found = self._of_trajectories()
        more = "this follows from the above, and more draws alone do not help" if found else MORE_DRAWS
        wrong = np.flatnonzero(self.r_hat > max_r_hat)
        if wrong.size:
            worst_first = wrong[np.argsort(-self.r_hat[wrong], kind="stable")]
            found["R-hat"] = (
                f"R-hat is {self.r_hat[worst_first[0]]:.3f} for {self._named(worst_first, f'above {max_r_hat:g}')}: "
                f"the chains disagree; {more}"
            )
        enough = min_ess_per_chain * self.num_chains
        for kind, ess in (("bulk ESS", self.ess_bulk), ("tail ESS", self.ess_tail)):
            few = np.flatnonzero(ess < enough)
            if few.size:
                worst_first = few[np.argsort(ess[few], kind="stable")]
                worst = ess[worst_first[0]]
                found[kind] = (
                    f"{kind} is {worst:.0f} for {self._named(worst_first, f'below {enough:g}')}: too few for reliable "
                    f"quantiles and standard errors; {more if worst > 0 else NOT_MOVING}"
                )
        return found

    def _named(self, parameters: np.ndarray, beyond: str) -> str:
        """The first parameter by name, four more that are also `beyond` the limit, and the number of the others."""
        first, *others = [self.labels[i] for i in parameters]
        return first + (f", and {beyond} for {first_few(others, 4)}" if others else "")

    def _of_trajectories(self) -> dict[str, str]:
        """Problems of the trajectories of a Hamiltonian sampler."""
        found = {}
        draws = self.num_chains * self.num_draws
        if self.divergences:
            found["divergences"] = (
                f"{self.divergences} of {draws} draws diverged: the draws may miss part of the posterior; raise "
                "target_accept_prob towards 1"
            )
        worst = _worst(self.e_bfmi, largest=False)
        if worst is not None and self.e_bfmi[worst] < MIN_E_BFMI:
            found["E-BFMI"] = (
                f"E-BFMI is {self.e_bfmi[worst]:.2f} in chain {worst}: the tails are explored too slowly; raise "
                "num_warmup, or give a prior with lighter tails"
            )
        if self.saturated:
            found["tree depth"] = (
                f"{self.saturated} of {draws} draws reached max_tree_depth: their trajectories were cut off; raise "
                "max_tree_depth"
            )
        return found


def e_bfmi(energy: np.ndarray) -> np.ndarray:
    """Estimated Bayesian fraction of missing information of a Hamiltonian sampler.

    The mean square change of the energy between draws, over its variance (Betancourt 2016, arXiv:1604.00695). It is
    near two if draws are independent, and near zero if the momentum changes too little for the energy to cross its
    range.

    Parameters
    ----------
    energy : array, shape (chains, draws)

    Returns
    -------
    array, shape (chains,)
        NaN if the energy does not change.
    """
    if energy.shape[1] < 2:
        return np.full(len(energy), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (np.diff(energy, axis=1) ** 2).mean(axis=1) / energy.var(axis=1, ddof=1)


def diagnose(
    draws: Mapping[str, np.ndarray],
    sample_stats: Mapping[str, np.ndarray],
    known: Collection[str] = (),
    names: Mapping[str, Sequence[str]] | None = None,
) -> Diagnostics:
    """Diagnostics of draws.

    Parameters
    ----------
    draws : mapping
        By site, arrays of shape (chain, draw, ...).
    sample_stats : mapping
        The sampler's statistics of each draw.
    known : collection of str, optional
        Sites that need not move.
    names : mapping, optional
        By site, the name of each scalar parameter; by default the site and the index.
    """
    labels: list[str] = []
    is_known: list[bool] = []
    for site, values in draws.items():
        positions = [f"{site}{list(index)}" if index else site for index in np.ndindex(values.shape[2:])]
        # A user's family need not name the axes of its parameters.
        of_site = positions if names is None else names[site]
        labels += of_site if len(of_site) == len(positions) else positions
        is_known += [site in known] * len(positions)
    flat = np.concatenate([values.reshape(*values.shape[:2], -1) for values in draws.values()], axis=2)
    chains, steps = flat.shape[:2]
    # A known parameter is constant and need not converge, as is the probability of a column's only category. Any other
    # parameter whose draws are constant has not converged.
    still = (flat == flat[:, :1]).all(axis=(0, 1))
    constant = still & (is_known | (flat == 1.0).all(axis=(0, 1)))
    found = np.full((3, len(labels)), np.nan)
    found[:, ~constant] = np.array([[np.inf], [0.0], [0.0]])
    if steps >= 4 and not still.all():
        found[:, ~still] = rhat_and_ess(flat[:, :, ~still])
    if chains < 2 and steps >= 4:
        found[0] = np.nan
    r_hat, ess_bulk, ess_tail = found
    return Diagnostics(
        labels=tuple(labels),
        r_hat=r_hat,
        ess_bulk=ess_bulk,
        ess_tail=ess_tail,
        divergences=int(np.sum(sample_stats["diverging"])) if "diverging" in sample_stats else None,
        saturated=int(np.sum(sample_stats.get("reached_max_tree_depth", 0))),
        e_bfmi=e_bfmi(np.asarray(sample_stats.get("energy", np.full((chains, steps), np.nan)))),
        num_chains=chains,
        num_draws=steps,
    )


def _worst(values: np.ndarray, *, largest: bool) -> int | None:
    if np.isnan(values).all():
        return None
    return int(np.nanargmax(values) if largest else np.nanargmin(values))
