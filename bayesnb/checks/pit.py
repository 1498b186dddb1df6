"""The probability integral transform (PIT) of a true value under a posterior."""

import jax
import numpy as np
import numpyro.distributions as dist

from bayesnb.blocks.parameters import ModelParameters, draw_parameters
from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.families.components import dirichlet_marginal
from bayesnb.families.pit import pit
from bayesnb.model.bound import BoundModel
from bayesnb.model.ways import ways_to_posterior
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.point import PointPosterior

__all__ = ["JOINT", "no_distribution", "pits"]

JOINT = "log_likelihood"
"""The test quantity that depends on all parameters and the data."""

RANK_DRAWS = 100
"""Number of draws among which a true value is ranked; a chain thinned to so few draws is nearly independent."""


def pits(
    model: BoundModel,
    posterior: Posterior,
    truth: ModelParameters,
    statistics: ModelStatistics,
    key: jax.Array,
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """PIT of every parameter, by site, and of the log likelihood."""
    if isinstance(posterior, PointPosterior):
        raise ValueError(no_distribution(posterior.inference or posterior, model))
    true_values = model.sites.by_name(truth)
    if isinstance(posterior, ExactPosterior):
        drawn = draw_parameters(posterior.class_posterior, posterior.families, rng, (RANK_DRAWS,))
        draws = posterior.model.sites.by_name(drawn)
        theirs = posterior.model.sites.parameters(true_values)
        found = posterior.model.sites.by_name(_exact_pits(posterior, theirs, drawn, rng))
    else:
        draws = {site: _thinned(values) for site, values in posterior.draws(key=key).items()}
        found = {site: _ranked(true_values[site], draws[site], rng) for site in true_values}
    ours = model.sites.parameters(draws)
    log_likelihood = np.asarray(model.log_density(ours, statistics))
    found[JOINT] = _ranked(np.asarray(model.log_density(truth, statistics)), log_likelihood, rng)
    for site, values in found.items():
        if np.isnan(values).any():
            raise ValueError(f"the posterior of {site!r} is not a number in one of the simulations")
    return found


def _exact_pits(
    posterior: ExactPosterior, truth: ModelParameters, drawn: ModelParameters, rng: np.random.Generator
) -> ModelParameters:
    """PIT of every parameter under its exact marginal distribution, or among draws if that is not known."""
    classes = posterior.class_posterior
    class_prob = truth.class_prob
    if classes.probs is None:
        marginal = dirichlet_marginal(classes.concentration)
        class_prob = _exact_pit(marginal, truth.class_prob, drawn.class_prob, rng)
    blocks = []
    for family, values, draws in zip(posterior.families, truth.blocks, drawn.blocks, strict=True):
        try:
            marginals = family.marginals()
        except NotImplementedError:
            marginals = {}
        blocks.append(
            {name: _exact_pit(marginals.get(name), value, draws[name], rng) for name, value in values.items()}
        )
    return ModelParameters(class_prob, tuple(blocks))


def _exact_pit(
    marginal: dist.Distribution | None, value: np.ndarray, draws: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """PIT under the exact marginal distribution, or among draws if its distribution function is not known."""
    if marginal is None:
        return _ranked(value, draws, rng)
    try:
        return pit(marginal, value, rng)
    except NotImplementedError:
        return _ranked(value, draws, rng)


def _ranked(value: np.ndarray, draws: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """PIT of a value among draws along the first axis, ties broken at random."""
    below, equal = (draws < value).sum(axis=0), (draws == value).sum(axis=0)
    return (below + rng.uniform(size=np.shape(value)) * (equal + 1)) / (len(draws) + 1)


def _thinned(values: np.ndarray) -> np.ndarray:
    """Evenly spaced draws of all chains, from shape (chain, draw, ...)."""
    flat = values.reshape(-1, *values.shape[2:])
    return flat[np.linspace(0, len(flat) - 1, min(RANK_DRAWS, len(flat))).round().astype(int)]


def no_distribution(inference: object, model: BoundModel) -> str:
    """Error message for a point estimate, which cannot be calibrated."""
    return (
        f"{type(inference).__name__} gives a point, and a point has no distribution to be calibrated: use "
        f"{ways_to_posterior(model)}"
    )
