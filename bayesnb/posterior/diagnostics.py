"""Have the chains converged, and how many independent draws are they worth?"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from bayesnb.posterior.convergence import rhat_and_ess

__all__ = ["Diagnostics", "diagnose"]


@dataclass(frozen=True, repr=False)
class Diagnostics:
    """Diagnostics of draws; arrays over all scalar parameters, in the order of the sites.

    Attributes
    ----------
    labels : tuple of str
        ``site[index]`` of each scalar parameter.
    r_hat, ess_bulk, ess_tail : array, shape (parameters,)
        Rank-normalised split R-hat and effective sample sizes of Vehtari et al. (2021), *Bayesian Analysis* 16(2).
        R-hat is NaN with one chain.
    divergences : int
    num_chains, num_draws : int
    """

    labels: tuple[str, ...]
    r_hat: np.ndarray
    ess_bulk: np.ndarray
    ess_tail: np.ndarray
    divergences: int
    num_chains: int
    num_draws: int

    def __str__(self) -> str:
        worst, ess = _worst(self.r_hat, largest=True), _worst(np.fmin(self.ess_bulk, self.ess_tail), largest=False)
        parts = [f"{self.divergences} divergences"]
        parts += [] if worst is None else [f"R-hat up to {self.r_hat[worst]:.3f}"]
        parts += [] if ess is None else [f"ESS from {min(self.ess_bulk[ess], self.ess_tail[ess]):.0f}"]
        return ", ".join(parts)

    def __repr__(self) -> str:
        return f"Diagnostics({self})"

    def problems(self, *, max_r_hat: float = 1.01, min_ess_per_chain: float = 100) -> list[str]:
        """What is wrong with the draws, in words; empty if nothing is."""
        found = []
        if self.divergences:
            found.append(
                f"{self.divergences} of {self.num_chains * self.num_draws} draws diverged: the draws may miss part "
                "of the "
                "posterior"
            )
        worst = _worst(self.r_hat, largest=True)
        if worst is not None and self.r_hat[worst] > max_r_hat:
            found.append(f"R-hat is {self.r_hat[worst]:.3f} for {self.labels[worst]}: the chains disagree")
        for name, ess in (("bulk", self.ess_bulk), ("tail", self.ess_tail)):
            worst = _worst(ess, largest=False)
            if worst is not None and ess[worst] < min_ess_per_chain * self.num_chains:
                found.append(
                    f"{name} ESS is {ess[worst]:.0f} for {self.labels[worst]}: too few for reliable quantiles and "
                    "standard "
                    "errors"
                )
        return found


def diagnose(
    draws: Mapping[str, np.ndarray], sample_stats: Mapping[str, np.ndarray], known: Collection[str] = ()
) -> Diagnostics:
    """Diagnostics of draws by site, arrays of shape (chain, draw, ...); sites in `known` need not move."""
    labels: list[str] = []
    found: list[np.ndarray] = []
    for site, values in draws.items():
        chains, steps = values.shape[:2]
        flat = values.reshape(chains, steps, -1)
        labels += [f"{site}{list(index)}" if index else site for index in np.ndindex(values.shape[2:])]
        # A known parameter does not move, nor does the probability of an only category: neither has to converge. Any
        # other that stands still has not begun to.
        still = (flat == flat[:, :1]).all(axis=(0, 1))
        constant = still & ((site in known) | (flat == 1.0).all(axis=(0, 1)))
        of_site = np.full((3, flat.shape[2]), np.nan)
        of_site[:, ~constant] = np.array([[np.inf], [0.0], [0.0]])
        if steps >= 4 and not still.all():
            of_site[:, ~still] = rhat_and_ess(flat[:, :, ~still])
        if chains < 2 and steps >= 4:
            of_site[0] = np.nan
        found.append(of_site)
    r_hat, ess_bulk, ess_tail = np.concatenate(found, axis=1)
    return Diagnostics(
        labels=tuple(labels),
        r_hat=r_hat,
        ess_bulk=ess_bulk,
        ess_tail=ess_tail,
        divergences=int(np.sum(sample_stats.get("diverging", 0))),
        num_chains=chains,
        num_draws=steps,
    )


def _worst(values: np.ndarray, *, largest: bool) -> int | None:
    if np.isnan(values).all():
        return None
    return int(np.nanargmax(values) if largest else np.nanargmin(values))
