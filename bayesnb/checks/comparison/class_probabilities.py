"""Predicted class probabilities: draws against the closed form."""

from typing import Any

import numpy as np
import pandas as pd

from bayesnb.posterior.convergence import ess_of_mean
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.sampled import SampledPosterior

__all__ = ["probability_frame"]

MAX_SKEWNESS = 0.1
"""Largest skewness of a mean's terms over the root of their effective number; beyond, its z is too far from normal."""


def probability_frame(exact: ExactPosterior, sampled: SampledPosterior, X: Any, key: Any) -> pd.DataFrame:
    """Class probabilities of rows by both posteriors.

    The draws give a probability as a ratio of two means, of the joint density with the class and of its sum over
    classes. If the draws are right, the first minus the exact probability times the second has mean zero. Its z is
    tested unless a few draws hold most of that mean, because z is then not near normal. Draws from the closed form show
    whether they do.

    Parameters
    ----------
    exact : ExactPosterior
    sampled : SampledPosterior
    X : table, shape (rows, columns)
    key : JAX key
        For draws from the closed form.

    Returns
    -------
    pandas.DataFrame
        By row and class: ``exact``, ``sampled``, ``mcse`` (delta method), ``z``, ``ess`` and ``tested``.
    """
    truth = exact.predict_proba(X)
    found = _excess(sampled.log_joint_draws(X), truth)
    draws = {"num_chains": sampled.num_chains, "num_draws": sampled.num_draws}
    skewness = _skewness(_excess(exact.log_joint_draws(X, **draws, key=key), truth))
    ess = np.minimum(ess_of_mean(found), found.shape[0] * found.shape[1])
    mcse = found.std(axis=(0, 1)) / np.sqrt(ess)
    difference = found.mean(axis=(0, 1))
    # A single class is certain.
    moving = mcse > 1e-12
    index = pd.MultiIndex.from_product([range(len(truth)), exact.classes.tolist()], names=["row", "class"])
    columns = {
        "exact": truth.ravel(),
        "sampled": truth.ravel() + difference,
        "mcse": mcse,
        "z": np.where(moving, difference / np.where(moving, mcse, 1.0), 0.0),
        "ess": ess,
        "tested": moving & (np.abs(skewness) <= MAX_SKEWNESS * np.sqrt(ess)),
    }
    return pd.DataFrame(columns, index=index)


def _excess(log_joint: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Contribution of each draw to a class probability's difference from the exact one, shape (chain, draw, cells).

    Its mean over the draws is the difference.
    """
    weight = np.exp(log_joint - log_joint.max(axis=(0, 1, 3), keepdims=True))
    total = weight.sum(axis=3, keepdims=True)
    excess = (weight - truth * total) / total.mean(axis=(0, 1))
    return excess.reshape(*weight.shape[:2], -1)


def _skewness(series: np.ndarray) -> np.ndarray:
    """Skewness of draws whose mean is zero; infinite where they do not move."""
    scale = np.sqrt((series**2).mean(axis=(0, 1)))
    return np.where(scale > 0, (series**3).mean(axis=(0, 1)) / np.where(scale > 0, scale, 1.0) ** 3, np.inf)
