"""The prior on the class probabilities."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist

from bayesnb.families.dirichlet import dirichlet_log_evidence
from bayesnb.families.log_probability import times_log
from bayesnb.statistics.counts import ClassCounts

__all__ = ["CLASS_SITE", "ClassPrior", "spread_class_prior"]

CLASS_SITE = "class_prob"
"""Name of the class probabilities in results."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ClassPrior:
    """Dirichlet prior on the class probabilities, or known probabilities.

    Attributes
    ----------
    concentration : array, shape (classes,), or None where the probabilities are known
    probs : array, shape (classes,), or None where they are learned
    """

    concentration: Any
    probs: Any

    def prior(self, sample: Callable) -> Any:
        """Draw the class probabilities, or return the known ones."""
        if self.probs is not None:
            return self.probs
        return sample(CLASS_SITE, dist.Dirichlet(self.concentration))

    def update(self, counts: ClassCounts) -> "ClassPrior":
        """Posterior given the classes' weights."""
        return self if self.probs is not None else ClassPrior(self.concentration + counts.n, None)

    def mean(self) -> Any:
        """Mean of the class probabilities, shape (classes,)."""
        if self.probs is not None:
            return self.probs
        return self.concentration / self.concentration.sum(axis=-1, keepdims=True)

    def log_likelihood(self, prob: Any, counts: ClassCounts) -> Any:
        """Log probability of the labels, shape (...,); `prob` is an array or a `LogProbability`."""
        return times_log(counts.n, prob).sum(axis=-1)

    def log_evidence(self, counts: ClassCounts) -> Any:
        """Log probability of the labels, class probabilities integrated out."""
        if self.probs is not None:
            return self.log_likelihood(self.probs, counts)
        return dirichlet_log_evidence(self.concentration, counts.n)


def spread_class_prior(
    concentration: Any, probs: Any, classes: np.ndarray, counts: ClassCounts | None = None
) -> ClassPrior:
    """The class prior as arrays with a number for each class.

    Parameters
    ----------
    concentration : float or array, shape (classes,)
    probs : array of shape (classes,), mapping from label to probability, "empirical" or None
        As for `NaiveBayes`.
    classes : array, shape (classes,)
        Labels.
    counts : ClassCounts, optional
        Weights of the labels, which "empirical" needs. If they are all zero, the probabilities are equal.

    Raises
    ------
    ValueError
        If there is not one number, or one for each class; or "empirical" has no counts.
    """
    labels = classes.tolist()
    if probs is None:
        spread = np.asarray(concentration, dtype=np.float64)
        if spread.ndim and spread.shape != classes.shape:
            raise ValueError(
                f"class_concentration has shape {spread.shape}, there are {len(labels)} classes {labels}: give one "
                "number, or one per class"
            )
        return ClassPrior(np.broadcast_to(spread, classes.shape), None)
    if isinstance(probs, str):
        if counts is None:
            raise ValueError('class_probs="empirical" needs data: fit the model')
        weight = counts.n.sum()
        return ClassPrior(None, counts.n / weight if weight > 0 else np.full(len(labels), 1 / len(labels)))
    if isinstance(probs, Mapping):
        if set(probs) != set(labels):
            raise ValueError(f"class_probs names {list(probs)}, the classes are {labels}")
        return ClassPrior(None, np.array([probs[label] for label in labels], dtype=np.float64))
    if probs.shape != classes.shape:
        raise ValueError(f"class_probs has {len(probs)} entries, there are {len(labels)} classes {labels}")
    return ClassPrior(None, probs)
