"""Diagnostics of draws: whether the chains have converged, and effective sample sizes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayesnb.posterior.convergence import rhat_and_ess
from bayesnb.tables.columns import first_few

__all__ = ["KINDS", "MIN_E_BFMI", "Diagnostics", "diagnose", "e_bfmi"]

MIN_E_BFMI = 0.3
"""Below this, the energy changes so little from draw to draw that the tails are explored slowly (Betancourt 2016)."""

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
        # A family of the user's may not name the axes of its parameters.
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
