"""Predicted class probabilities: draws against the closed form."""

from typing import Any

import numpy as np
import pandas as pd

from bayesnb.posterior.convergence import ess_of_mean
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.sampled import SampledPosterior

__all__ = ["probability_frame"]

MAX_SKEWNESS = 0.1
"""Of a mean, skewness of its terms over the root of their effective number: beyond, its z is too far from normal."""


def probability_frame(exact: ExactPosterior, sampled: SampledPosterior, X: Any) -> pd.DataFrame:
    """Class probabilities of rows by both posteriors.

    A probability by draws is a ratio of two means, of the joint density with the class and of its sum over the classes.
    If the draws are right, the first less the exact probability times the second has mean zero.

    Parameters
    ----------
    exact : ExactPosterior
    sampled : SampledPosterior
    X : table, shape (rows, columns)

    Returns
    -------
    pandas.DataFrame
        By row and class: ``exact``, ``sampled``, ``mcse`` (delta method), ``z``, ``ess`` and ``tested``.
    """
    truth = exact.predict_proba(X)
    joint = sampled.log_joint_draws(X)
    weight = np.exp(joint - joint.max(axis=(0, 1, 3), keepdims=True))
    total = weight.sum(axis=3, keepdims=True)
    scale = total.mean(axis=(0, 1))
    sampled_probability = weight.mean(axis=(0, 1)) / scale
    excess = ((weight - truth * total) / scale).reshape(*weight.shape[:2], -1)
    sd = excess.std(axis=(0, 1))
    ess = np.minimum(ess_of_mean(excess), excess.shape[0] * excess.shape[1])
    moving = sd > 1e-12
    safe = np.where(moving, sd, 1.0)
    skewness = (((excess - excess.mean(axis=(0, 1))) / safe) ** 3).mean(axis=(0, 1))
    index = pd.MultiIndex.from_product([range(len(truth)), exact.classes.tolist()], names=["row", "class"])
    columns = {
        "exact": truth.ravel(),
        "sampled": sampled_probability.ravel(),
        "mcse": sd / np.sqrt(ess),
        "z": np.where(moving, excess.mean(axis=(0, 1)) / safe * np.sqrt(ess), 0.0),
        "ess": ess,
        "tested": moving & (np.abs(skewness) <= MAX_SKEWNESS),
    }
    return pd.DataFrame(columns, index=index)
