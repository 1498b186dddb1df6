"""Predicted class probabilities: draws against the closed form."""

from typing import Any

import numpy as np
import pandas as pd

from bayesnb.checks.comparison.legendre import ess_and_z, legendre, ranks_among
from bayesnb.posterior.convergence import ess_of_mean
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.reading.normalise import log_normalised

__all__ = ["probability_frame"]

EXACT_DRAWS, EXACT_CELLS = 16_000, 2**25
"""Independent draws from the closed form, and the most numbers that they may take together."""


def probability_frame(
    exact: ExactPosterior, sampled: SampledPosterior, X: Any, key: Any, rng: np.random.Generator
) -> pd.DataFrame:
    """Class probabilities of rows by both posteriors.

    Two questions are asked of each row and class. ``z`` compares the predicted probabilities: a probability by draws is
    a ratio of two means of densities. Where a few draws carry most of a density (small concentrations, rare cells),
    that ratio is far from normal, and no sample shows how far. ``z`` is therefore not a test. The tests use the ranks
    of p(y=c | x, theta) among those of independent exact draws, which are bounded and need no moments: their location,
    ``z_rank``, and their spread, ``z_rank_spread``.

    Parameters
    ----------
    exact : ExactPosterior
    sampled : SampledPosterior
    X : table, shape (rows, columns)
        At least one row.
    key : JAX key
        For draws from the closed form.
    rng : numpy.random.Generator
        For ties among ranks.

    Returns
    -------
    pandas.DataFrame
        By row and class: ``exact``, ``sampled``, ``mcse`` (delta method), ``z``, ``z_rank``, ``z_rank_spread`` and the
        ``ess`` behind each of these two; NaN where the probability is certain.

    Raises
    ------
    ValueError
        If X has no rows.
    """
    truth = exact.predict_proba(X)
    if not truth.size:
        raise ValueError("X has no rows: give at least one, or leave X out")
    log_joint = sampled.log_joint_draws(X)
    excess = _excess(log_joint, truth)
    mcse = excess.std(axis=(0, 1)) / np.sqrt(np.minimum(ess_of_mean(excess), excess.shape[0] * excess.shape[1]))
    difference = excess.mean(axis=(0, 1))
    moving = mcse > 1e-12
    ranks = _by_ranks(_log_proba(log_joint), _exact_log_proba(exact, X, truth.size, key), rng)
    columns = {
        "exact": truth.ravel(),
        "sampled": truth.ravel() + difference,
        "mcse": mcse,
        "z": np.where(moving, difference / np.where(moving, mcse, 1.0), 0.0),
        **ranks,
    }
    index = pd.MultiIndex.from_product([range(len(truth)), exact.classes.tolist()], names=["row", "class"])
    return pd.DataFrame(columns, index=index)


def _excess(log_joint: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Each draw's part in the difference of a class probability from the exact one, shape (chain, draw, cells).

    Its mean over the draws is the difference.
    """
    weight = np.exp(log_joint - log_joint.max(axis=(0, 1, 3), keepdims=True))
    total = weight.sum(axis=3, keepdims=True)
    excess = (weight - truth * total) / total.mean(axis=(0, 1))
    return excess.reshape(*weight.shape[:2], -1)


def _log_proba(log_joint: np.ndarray) -> np.ndarray:
    """Log p(y=c | x, theta), shape (chain, draw, cells)."""
    flat = log_normalised(log_joint.reshape(-1, log_joint.shape[-1]))
    return flat.reshape(*log_joint.shape[:2], -1)


def _exact_log_proba(exact: ExactPosterior, X: Any, cells: int, key: Any) -> np.ndarray:
    """Log p(y=c | x, theta) under independent draws from the closed form, shape (draws, cells)."""
    number = max(1000, min(EXACT_DRAWS, EXACT_CELLS // cells))
    return _log_proba(exact.log_joint_draws(X, num_chains=1, num_draws=number, key=key))[0]


def _by_ranks(values: np.ndarray, reference: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Tests of the ranks of each cell, NaN where the reference does not vary."""
    with np.errstate(invalid="ignore"):
        varied = ~(np.ptp(reference, axis=0) <= 1e-12 * np.abs(reference).max(axis=0))
    u = ranks_among(reference[:, varied], values[:, :, varied], rng)
    found: dict[str, np.ndarray] = {}
    for name, degree in (("z_rank", 1), ("z_rank_spread", 2)):
        ess, z = np.full((2, values.shape[2]), np.nan)
        ess[varied], z[varied] = ess_and_z(legendre(u, degree), variance=1 / len(reference))
        found |= {name: z, f"ess_of_{name}": ess}
    return found
