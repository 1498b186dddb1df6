"""Draws of weights of features by NUTS."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import logsumexp
from numpyro.distributions import constraints
from scipy.special import softmax

from bayesnb.inference.coordinates.beginning import Beginning
from bayesnb.inference.coordinates.plain import Plain
from bayesnb.inference.nuts import NUTS
from bayesnb.keys import as_key, random_generator, split
from bayesnb.posterior.diagnostics import diagnose
from bayesnb.weights.laplace import Mixture
from bayesnb.weights.likelihood import ConditionalLikelihood
from bayesnb.weights.prior import WeightPrior

__all__ = ["sample_weights"]

SMALLEST = 1e-3
"""Smallest weight at which a chain starts."""


def sample_weights(
    likelihood: ConditionalLikelihood, around: Mixture, names: Sequence[str], settings: NUTS, key: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Draws of weights and offsets, the spread summed out, and of the spread given them.

    Parameters
    ----------
    likelihood : ConditionalLikelihood
    around : Mixture
        Approximates the posterior; chains start at its draws.
    names : sequence of str
        Names of the weights and of the classes, for warnings.
    settings : NUTS
    key : int or JAX key

    Returns
    -------
    tuple of array
        Weights followed by offsets, shape (chain, draw, weights + classes), and positions of the spreads among the
        parts of the mixture, shape (chain, draw).
    """
    start_key, chain_key, spread_key = split(as_key(key), 3)
    target = _Weights(likelihood, around)
    sites, stats = settings.sample(target, start_key, chain_key)
    draws = np.concatenate([sites["weight"], sites["offset"]], axis=-1)
    diagnostics = diagnose({"weights": draws}, stats, names={"weights": names})
    settings.warn_of(diagnostics, target, ". inference=None needs no sampling")
    return draws, _spreads([part.prior for part in around.parts], draws, random_generator(spread_key))


def _spreads(priors: Sequence[WeightPrior], draws: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draws of the spread given weights, as positions among the priors."""
    log_density = np.stack([prior.log_density(draws) for prior in priors], axis=-1)
    cumulative = np.cumsum(softmax(log_density, axis=-1), axis=-1)
    return np.minimum((cumulative < rng.uniform(size=(*draws.shape[:-1], 1))).sum(axis=-1), len(priors) - 1)


def _program(
    log_ratio: Any, log_prior: Any, of_label: Any, row_weights: Any, precisions: Any, log_normalisers: Any
) -> None:
    """The posterior density of weights and offsets, the spread summed out."""
    weight = numpyro.sample("weight", dist.ImproperUniform(constraints.positive, (), log_ratio.shape[-1:]))
    offset = numpyro.sample("offset", dist.ImproperUniform(constraints.real, (), log_prior.shape[-1:]))
    away = jnp.concatenate([weight - 1.0, offset])
    # The precision of each spread: (spreads, entries, entries).
    given = -jnp.einsum("p,kpq,q->k", away, precisions, away) / 2 - log_normalisers
    numpyro.factor("prior", logsumexp(given))
    scores = log_prior + offset
    scores = scores.at[:, 1:].add((log_ratio @ weight).T)
    log_likelihood = (scores * of_label).sum(axis=1) - logsumexp(scores, axis=1)
    numpyro.factor("labels", (row_weights * log_likelihood).sum())


class _Weights:
    """The density that NUTS samples."""

    program: Callable = staticmethod(_program)
    knows_scale = False

    def __init__(self, likelihood: ConditionalLikelihood, around: Mixture) -> None:
        self.likelihood = likelihood
        self.around = around

    @property
    def arguments(self) -> tuple[Any, ...]:
        of_label = np.eye(self.likelihood.num_classes)[self.likelihood.codes]
        priors = [part.prior for part in self.around.parts]
        precisions = np.stack([prior.precision for prior in priors])
        log_normalisers = np.array([prior.log_normaliser for prior in priors])
        given = self.likelihood
        return jax.device_put(
            (given.log_ratio, given.log_prior.T, of_label, given.row_weights, precisions, log_normalisers)
        )

    def begin(self, rng: np.random.Generator, number: int) -> Beginning:
        size = self.likelihood.num_features
        draws, _ = self.around.draw(max(number, 200), rng)
        points = {"weight": np.log(np.maximum(draws[:, :size], SMALLEST)), "offset": draws[:, size:]}
        return Beginning(
            {"weight": Plain(), "offset": Plain()},
            {name: value[:number] for name, value in points.items()},
            {name: value.var(axis=0) for name, value in points.items()},
        )
