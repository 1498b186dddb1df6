"""Every scalar parameter on its own: draws against the exact marginal distribution."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpyro.distributions as dist
import pandas as pd
from scipy.special import ndtr

from bayesnb.checks.comparison.legendre import DEGREES, ess_and_z, legendre, ranks_among
from bayesnb.families.cdf import cdf
from bayesnb.families.mean_and_variance import mean_and_variance
from bayesnb.families.pit import pit
from bayesnb.posterior.convergence import ess_of_mean
from bayesnb.posterior.sampled import SampledPosterior

__all__ = ["COLUMNS", "Z_COLUMNS", "marginal_frame", "without_cdf"]

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
        mean, sd = _mean_and_sd(marginals[site])
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


def _mean_and_sd(marginal: dist.Distribution) -> tuple[np.ndarray, np.ndarray]:
    mean, variance = mean_and_variance(marginal)
    return mean.ravel(), np.sqrt(variance).ravel()


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
