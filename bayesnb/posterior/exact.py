"""The closed form."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays import in_float64, log, to_numpy
from bayesnb.blocks.class_prior import CLASS_SITE, ClassPrior
from bayesnb.blocks.density import log_joint, summed
from bayesnb.blocks.parameters import ModelParameters, draw_parameters
from bayesnb.families.base import Family, Parameters
from bayesnb.families.cdf import quantile
from bayesnb.families.columns import of_column
from bayesnb.families.components import dirichlet_marginal
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.mean_and_variance import mean_and_variance
from bayesnb.keys import random_generator
from bayesnb.model.bound import BoundModel
from bayesnb.model.sites import Site
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.data import Fitting
from bayesnb.posterior.point import SpreadPosterior
from bayesnb.problem import Problem
from bayesnb.reading.cells import Cells
from bayesnb.validate import whole_number

__all__ = [
    "ClosedFormPosterior",
    "ExactPosterior",
    "marginal_of_site",
    "marginals_by_site",
    "moments_of",
    "summary_of",
]


class ClosedFormPosterior(SpreadPosterior):
    """Methods that all posteriors of updated families share."""

    problem: Problem
    inference: Fitting

    def __init__(self, problem: Problem, inference: Fitting) -> None:
        self.problem = problem
        self.inference = inference
        self.model = problem.resolved
        self.families = problem.posterior_families
        self.class_posterior = problem.posterior_classes

    def class_probs(self) -> np.ndarray:
        return np.asarray(self.class_posterior.mean())

    def parameter_draws(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        shape = (
            whole_number("num_chains", 4 if num_chains is None else num_chains),
            whole_number("num_draws", 1000 if num_draws is None else num_draws),
        )
        return self.draw_parameters(random_generator(key), shape)

    @abstractmethod
    def feature_densities_in_jax(self) -> list[tuple[Any, ...]]:
        """For each block the arrays from which `log_joint_of_weighted` computes the densities of its features."""

    @abstractmethod
    def draw_parameters(self, rng: np.random.Generator, shape: tuple[int, ...]) -> ModelParameters:
        """Independent draws of all parameters."""

    def draws_for_densities(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        return self.parameter_draws(num_chains, 250 if num_draws is None else num_draws, key)

    def _class_moments(self) -> dict[str, Any]:
        """Mean and standard deviation of the class probabilities."""
        if self.class_posterior.probs is None:
            return moments_of(dirichlet_marginal(self.class_posterior.concentration))
        return {"mean": self.class_probs(), "sd": 0.0}

    def _known_class_probs(self) -> dict[str, Any]:
        """Columns of `summary` for class probabilities that are known."""
        probs = self.class_probs()
        return self._class_moments() | {"lower": probs, "upper": probs}


class ExactPosterior(ClosedFormPosterior):
    """The posterior in closed form: every family with updated hyperparameters.

    Attributes
    ----------
    families : tuple of ConjugateFamily
        Posterior of each block of the model, the same types as the priors.
    class_posterior : ClassPrior
        Posterior of the class probabilities.

    See Also
    --------
    Exact : The closed form.
    SampledPosterior : The posterior as draws.
    AveragedPosterior : The posterior averaged over subsets of the features.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.Bernoulli(), [[1], [1], [0], [0]], ["a", "a", "b", "b"])
    >>> posterior.mean()["x_prob"].tolist()
    [[0.75], [0.25]]
    >>> posterior.summary().round(2)
                   mean    sd  lower  upper
    parameter
    class_prob[a]  0.50  0.19   0.20   0.80
    class_prob[b]  0.50  0.19   0.20   0.80
    x_prob[a, 0]   0.75  0.19   0.38   0.98
    x_prob[b, 0]   0.25  0.19   0.02   0.62
    """

    @in_float64
    def log_joint_of(self, cells: Cells) -> np.ndarray:
        densities = (family.row_log_predictive(x) for family, x in zip(self.families, cells, strict=True))
        return log_joint(self.class_probs(), densities)

    @in_float64
    def log_ratio_of(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        densities = (family.row_log_predictive_ratio(x) for family, x in zip(self.families, cells, strict=True))
        return log(self.class_probs()), summed(densities)

    @in_float64
    def feature_log_density(self, i: int, j: int, x: Any) -> np.ndarray:
        family = self.families[i]
        if family.joint:
            return np.asarray(family.row_log_predictive(x))
        return np.asarray(of_column(family, j).row_log_predictive(x[:, j : j + 1]))

    def feature_densities_in_jax(self) -> list[tuple[Any, ...]]:
        return [(family,) for family in self.families]

    def device_densities(self) -> list[tuple[Family, Parameters | None]]:
        return [(family, None) for family in self.families]

    def draw_parameters(self, rng: np.random.Generator, shape: tuple[int, ...]) -> ModelParameters:
        return draw_parameters(self.class_posterior, self.families, rng, shape)

    def row_parameters(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, Any], ...]:
        families = [family.take(codes) for family in self.families]
        return draw_parameters(self.class_posterior, families, rng).blocks

    @in_float64
    def marginals(self) -> dict[str, dist.Distribution]:
        """Distribution of every scalar parameter, by site; batch shape that of the site.

        Class probabilities that are known have none.
        """
        return marginals_by_site(self.model, self.class_posterior, self.families)

    @in_float64
    def site_moments(self, site: str) -> dict[str, Any]:
        if site == CLASS_SITE:
            return self._class_moments()
        return moments_of(marginal_of_site(self.model.sites[site], self.families))

    @in_float64
    def site_summaries(self, prob: float) -> dict[str, dict[str, Any]]:
        marginals = self.marginals()
        known = {} if CLASS_SITE in marginals else {CLASS_SITE: self._known_class_probs()}
        return known | {site: summary_of(marginal, prob) for site, marginal in marginals.items()}

    def averaged(self, prior_inclusion: Any = 0.5) -> Posterior:
        """The posterior averaged over all subsets of the features, each in or out.

        Parameters
        ----------
        prior_inclusion : float, array of shape (features,), or mapping from feature to float, default 0.5
            Prior probability that a feature depends on the class; with one minus it, all classes share its parameters.

        Returns
        -------
        AveragedPosterior
            What a fit of the same model with ``feature_inclusion=prior_inclusion`` gives.

        Raises
        ------
        TypeError, ValueError
            If a number is not a probability, the priors of a column differ by class, or the hyperparameters were
            learned.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X = [[1, 0], [1, 1], [1, 0], [0, 1], [0, 1], [0, 0]]
        >>> posterior = nb.fit(nb.Bernoulli(), X, ["a", "a", "a", "b", "b", "b"])
        >>> posterior.averaged().inclusion_probability.round(2).to_dict()
        {0: 0.9, 1: 0.49}
        >>> posterior.predict_proba([[1, 0]]).round(2), posterior.averaged().predict_proba([[1, 0]]).round(2)
        (array([[0.86, 0.14]]), array([[0.8, 0.2]]))
        """
        if self.problem.learned_from is not None:
            raise ValueError(
                "the hyperparameters of this posterior were learned on the condition that every feature depends on "
                "the class: average a model with numbers, nb.NaiveBayes(..., feature_inclusion=...)"
            )
        model = self.problem.model.with_feature_inclusion(prior_inclusion)
        return self.inference.fit(replace(self.problem, model=model), key=0)

    def mean_parameters(self) -> ModelParameters:
        blocks = tuple(to_numpy(family.mean()) for family in self.families)
        return ModelParameters(self.class_probs(), blocks)


def summary_of(marginal: dist.Distribution, prob: float) -> dict[str, Any]:
    """Columns of `summary` for the parameters that a distribution describes; equal tails outside `prob`."""
    lower, upper = (quantile(marginal, np.full(marginal.batch_shape, end)) for end in ((1 - prob) / 2, (1 + prob) / 2))
    return moments_of(marginal) | {"lower": lower, "upper": upper}


def moments_of(marginal: dist.Distribution) -> dict[str, Any]:
    """Mean and standard deviation of the parameters that a distribution describes."""
    mean, variance = mean_and_variance(marginal)
    return {"mean": mean, "sd": np.sqrt(variance)}


def marginals_by_site(
    model: BoundModel, class_prior: ClassPrior, families: Sequence[Family]
) -> dict[str, dist.Distribution]:
    """Distribution of every scalar parameter, by site; batch shape that of the site.

    Parameters
    ----------
    model : BoundModel
        Names the sites.
    class_prior : ClassPrior
        Prior or posterior of the class probabilities, which have no distribution where they are known.
    families : sequence of Family
        Prior or posterior of each block. Sites of a family that is not conjugate are left out.
    """
    found: dict[str, dist.Distribution] = {}
    if class_prior.probs is None:
        found[CLASS_SITE] = dirichlet_marginal(class_prior.concentration)
    for site in model.sites:
        if isinstance(families[site.block], ConjugateFamily):
            found[site.name] = marginal_of_site(site, families)
    return found


def marginal_of_site(site: Site, families: Sequence[Any]) -> dist.Distribution:
    """Distribution of every scalar parameter of a site, whose family is conjugate; batch shape that of the site."""
    family = families[site.block]
    if site.column is not None:
        family = family.take((slice(None), site.column))
    return family.marginals()[site.parameter]
