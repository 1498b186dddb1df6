"""Posteriors in closed form: exact, averaged over subsets of features, points."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpyro.distributions as dist

from bayesnb.core.arrays import in_float64, log, to_numpy
from bayesnb.core.checking import whole_number
from bayesnb.core.printing import Piece
from bayesnb.core.running import random_generator
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.formulas import cdf, dirichlet_marginal, mean_and_sd, mean_of, quantile, variance_of
from bayesnb.model.blocks import CLASS_SITE, AveragedPrior, ModelParameters, Prior
from bayesnb.model.bound import BoundModel, ways_to_posterior
from bayesnb.model.describe import feature_names, in_column_order, shared_families
from bayesnb.model.problem import Problem
from bayesnb.model.sites import Site
from bayesnb.posterior.base import Posterior, parameters_by_class
from bayesnb.posterior.density import Averaged, Given, Integrated, RowDensity
from bayesnb.posterior.draws import Fitting

__all__ = [
    "AveragedPosterior",
    "ClosedFormPosterior",
    "ExactPosterior",
    "PointPosterior",
    "SpreadPosterior",
    "marginals_by_site",
]

# --------------------------------------------------------------------------------------------------
# A single value for every parameter
# --------------------------------------------------------------------------------------------------


class PointPosterior(Posterior):
    """All the posterior's mass at one point: a maximum likelihood or MAP estimate, or known parameters.

    Attributes
    ----------
    parameters : ModelParameters
        The values, no leading axes.

    See Also
    --------
    MAP : The mode of the posterior.
    MLE : Maximum likelihood.
    from_parameters : A posterior of known parameters.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"]
    >>> posterior = nb.fit(nb.Bernoulli(2.0, 2.0), X, y, nb.MAP())
    >>> posterior.predict_proba([[1, 1]])
    array([[0.75, 0.25]])
    """

    def __init__(
        self,
        model: BoundModel,
        parameters: ModelParameters,
        problem: Problem | None = None,
        inference: Fitting | None = None,
    ) -> None:
        self.model = model
        self.parameters = parameters
        self.problem = problem
        self.inference = inference

    def site_moments(self, site: str) -> dict[str, Any]:
        return {"value": self.model.sites.by_name(self.parameters)[site]}

    def site_summaries(self, prob: float) -> dict[str, dict[str, Any]]:
        return {site: {"value": value} for site, value in self.mean().items()}

    def _parts(self) -> list[Piece]:
        return [*self._title(), *parameters_by_class(self.model, self.site_moments)]

    def mean_parameters(self) -> ModelParameters:
        return self.parameters

    @property
    def density(self) -> RowDensity:
        pairs = zip(self.model.families, self.parameters.blocks, strict=True)
        return RowDensity(log(self.class_probs()), [Given(family, dict(values)) for family, values in pairs])

    def class_probs(self) -> np.ndarray:
        return np.asarray(self.parameters.class_prob)

    def parameter_draws(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        raise ValueError(
            f"a point estimate has no spread to draw from: use {ways_to_posterior(self.model)} for draws and "
            "intervals, or mean() for the values"
        )

    def draws_for_intervals(self, num_draws: int | None, key: Any) -> None:
        return None

    def row_parameters(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, Any], ...]:
        return tuple({name: value[codes] for name, value in block.items()} for block in self.parameters.blocks)


class SpreadPosterior(Posterior):
    """A posterior under which the parameters are uncertain."""

    def plugin(self) -> PointPosterior:
        """The posterior mean as a point estimate, which ignores that the parameters are uncertain.

        For single-trial features (Bernoulli, categorical) it predicts the same; for count vectors and Gaussians it is
        overconfident where there are few data.

        Raises
        ------
        ValueError
            If a mean is infinite, such as that of a variance with very few data.
        """
        for site, value in self.mean().items():
            if not np.isfinite(value).all():
                raise ValueError(
                    f"the posterior mean of {site!r} is infinite, so that it cannot be plugged in: predict "
                    "with the posterior itself, or give a prior with a finite mean"
                )
        return PointPosterior(self.model, self.mean_parameters())


# --------------------------------------------------------------------------------------------------
# The closed form
# --------------------------------------------------------------------------------------------------


class ClosedFormPosterior(SpreadPosterior):
    """Methods that all posteriors of updated families share."""

    problem: Problem
    inference: Fitting

    def __init__(self, problem: Problem, inference: Fitting) -> None:
        self.problem = problem
        self.inference = inference
        self.model = problem.resolved
        self.closed_form = problem.posterior

    @property
    def families(self) -> tuple[Any, ...]:
        """Posterior of each block of the model, the same types as the priors."""
        return self.closed_form.families

    def class_probs(self) -> np.ndarray:
        return np.asarray(self.closed_form.classes.mean())

    def parameter_draws(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        shape = (
            whole_number("num_chains", 4 if num_chains is None else num_chains),
            whole_number("num_draws", 1000 if num_draws is None else num_draws),
        )
        return self.closed_form.draw(random_generator(key), shape)

    def row_parameters(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, Any], ...]:
        return self.closed_form.draw_for_rows(codes, rng)

    def draws_for_densities(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        return self.parameter_draws(num_chains, 250 if num_draws is None else num_draws, key)

    def _class_moments(self) -> dict[str, Any]:
        """Mean and standard deviation of the class probabilities."""
        if self.closed_form.classes.probs is None:
            return moments_of(dirichlet_marginal(self.closed_form.classes.concentration))
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
    closed_form : Prior
        The posterior of all parameters, of the type of the prior.

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

    @property
    def density(self) -> RowDensity:
        return RowDensity(log(self.class_probs()), [Integrated(family) for family in self.families])

    @in_float64
    def marginals(self) -> dict[str, dist.Distribution]:
        """Distribution of every scalar parameter, by site; batch shape that of the site.

        Class probabilities that are known have none.
        """
        return marginals_by_site(self.model, self.closed_form)

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
    return dict(zip(("mean", "sd"), mean_and_sd(marginal), strict=True))


def marginals_by_site(model: BoundModel, prior: Prior) -> dict[str, dist.Distribution]:
    """Distribution of every scalar parameter, by site; batch shape that of the site.

    Parameters
    ----------
    model : BoundModel
        Names the sites.
    prior : Prior
        Prior or posterior. Class probabilities that are known, and families that are not conjugate, are left out.
    """
    found: dict[str, dist.Distribution] = {}
    if prior.classes.probs is None:
        found[CLASS_SITE] = dirichlet_marginal(prior.classes.concentration)
    for site in model.sites:
        if isinstance(prior.families[site.block], ConjugateFamily):
            found[site.name] = marginal_of_site(site, prior.families)
    return found


def marginal_of_site(site: Site, families: Sequence[Any]) -> dist.Distribution:
    """Distribution of every scalar parameter of a site, whose family is conjugate; batch shape that of the site."""
    family = families[site.block]
    if site.column is not None:
        family = family.take((slice(None), site.column))
    return family.marginals()[site.parameter]


# --------------------------------------------------------------------------------------------------
# The closed form, averaged over all subsets of the features
# --------------------------------------------------------------------------------------------------

BISECTIONS = 60
"""Halvings of the interval that holds a quantile."""


class AveragedPosterior(ClosedFormPosterior):
    r"""The posterior in closed form, averaged over all subsets of the features.

    A feature either has a parameter for every class, or all classes share one. With D features there are :math:`2^D`
    such models, and the prior probabilities of inclusion :math:`p_d` are a distribution over them. One pass averages
    all of them, because the sum over subsets is a product over features (Dash and Cooper 2002, *Exact model averaging
    with naive Bayesian classifiers*, ICML, 91-98):

    .. math::
        p(y=c \mid x, D) \propto p(c \mid D) \prod_d \left[ w_d \, p(x_d \mid c, D) + (1 - w_d) \, p(x_d \mid D)
        \right], \qquad w_d = \frac{p_d B_d}{1 - p_d + p_d B_d},

    with :math:`B_d` the Bayes factor of `feature_evidence` and :math:`p(x_d \mid D)` the predictive of a parameter that
    all classes share. It has all methods of a posterior: draws share a feature's parameters among the classes with
    probability :math:`1 - w_d`.

    `ExactPosterior.averaged`, or a fit of ``nb.NaiveBayes(..., feature_inclusion=0.5)``, gives one.

    Attributes
    ----------
    families, shared : tuple of ConjugateFamily
        Posterior of each block, a parameter for every class, and one for all of them (class axis of length one).
    closed_form : Prior
        The posterior of all parameters, of the type of the prior.

    See Also
    --------
    ExactPosterior.averaged : How to get one from an exact posterior.
    feature_evidence : The evidence that a feature depends on the class.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"]
    >>> posterior = nb.fit(nb.Bernoulli(), X, y).averaged(0.5)
    >>> posterior.predict_proba([[1, 1]]).round(3)
    array([[0.692, 0.308]])
    """

    def __init__(self, problem: Problem, inference: Fitting) -> None:
        super().__init__(problem, inference)
        self.shared = _updated(problem)
        self._log_inclusion = problem.log_inclusion
        closed_form = problem.posterior
        self.closed_form = AveragedPrior(closed_form.classes, closed_form.families, self.shared, self.inclusion)

    @property
    def inclusion_probability(self) -> Any:
        """Posterior probability that each feature depends on the class, a pandas series by feature."""
        import pandas as pd

        values = in_column_order(self.model.blocks, [prob.tolist() for prob in self.inclusion])
        names = pd.Index(feature_names(self.model.blocks), name="feature", tupleize_cols=False)
        return pd.Series(values, index=names, name="inclusion_probability", dtype=np.float64)

    @property
    def inclusion(self) -> tuple[np.ndarray, ...]:
        """Posterior probability that each feature depends on the class, for each block an array."""
        return tuple(np.exp(log_probs[0]) for log_probs in self._log_inclusion)

    @property
    def density(self) -> RowDensity:
        blocks = zip(self.families, self.shared, self._log_inclusion, strict=True)
        return RowDensity(log(self.class_probs()), [Averaged(own, shared, *probs) for own, shared, probs in blocks])

    def mean_parameters(self) -> ModelParameters:
        blocks = []
        for own, shared, prob in zip(self.families, self.shared, self.inclusion, strict=True):
            means, of_all = to_numpy(own.mean()), to_numpy(shared.mean())
            weights = {name: prob.reshape(*prob.shape, *[1] * (np.ndim(value) - 2)) for name, value in means.items()}
            blocks.append({name: _weighted(weights[name], value, of_all[name]) for name, value in means.items()})
        return ModelParameters(self.class_probs(), tuple(blocks))

    @in_float64
    def site_moments(self, site: str) -> dict[str, Any]:
        if site == CLASS_SITE:
            return self._class_moments()
        named = self.model.sites[site]
        own, shared = (marginal_of_site(named, families) for families in (self.families, self.shared))
        return _moments_of_mixture(self._inclusion_of(named), own, shared)

    def _inclusion_of(self, site: Site) -> np.ndarray:
        """Posterior probability that each feature of a site depends on the class."""
        inclusion = self.inclusion[site.block]
        return inclusion if site.column is None else inclusion[site.column]

    @in_float64
    def site_summaries(self, prob: float) -> dict[str, dict[str, Any]]:
        own = marginals_by_site(self.model, self.closed_form)
        shared = marginals_by_site(self.model, Prior(self.closed_form.classes, self.shared))
        levels = {"lower": (1 - prob) / 2, "upper": (1 + prob) / 2}
        of_classes = summary_of(own[CLASS_SITE], prob) if CLASS_SITE in own else self._known_class_probs()
        found = {CLASS_SITE: of_classes}
        for site in self.model.sites:
            found[site.name] = _summary_of_mixture(self._inclusion_of(site), own[site.name], shared[site.name], levels)
        return found

    def _details(self) -> str:
        return f"averaged over the subsets of {len(feature_names(self.model.blocks))} features"


@in_float64
def _updated(problem: Problem) -> tuple[ConjugateFamily, ...]:
    """Each block's shared family given the data of all classes."""
    shared = shared_families(problem.resolved.blocks)
    return tuple(
        to_numpy(family.update(counted.pooled()))
        for family, counted in zip(shared, problem.statistics.blocks, strict=True)
    )


def _moments_of_mixture(weight: np.ndarray, own: dist.Distribution, shared: dist.Distribution) -> dict[str, Any]:
    """Mean and standard deviation of a mixture of two distributions."""
    means, variances = [mean_of(own), mean_of(shared)], [variance_of(own), variance_of(shared)]
    with np.errstate(invalid="ignore"):  # with very few data, some means and variances are infinite
        between = np.where((weight == 0) | (weight == 1), 0.0, weight * (1 - weight) * (means[0] - means[1]) ** 2)
    found = {"mean": _weighted(weight, *means), "sd": np.sqrt(_weighted(weight, *variances) + between)}
    return {name: np.broadcast_to(value, own.batch_shape) for name, value in found.items()}


def _summary_of_mixture(
    weight: np.ndarray, own: dist.Distribution, shared: dist.Distribution, levels: dict[str, float]
) -> dict[str, Any]:
    """Mean, standard deviation and quantiles of a mixture of two distributions."""
    shape = own.batch_shape
    found = _moments_of_mixture(weight, own, shared)
    for name, level in levels.items():
        low, high = np.sort([np.broadcast_to(_quantile(part, level), shape) for part in (own, shared)], axis=0)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            below = _weighted(weight, cdf(own, middle), cdf(shared, middle)) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        found[name] = (low + high) / 2
    return found


def _weighted(weight: np.ndarray, own: Any, shared: Any) -> np.ndarray:
    """Average of a feature's own value and the shared one; a value of weight zero adds nothing, even if infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(weight == 0, 0.0, weight * own) + np.where(weight == 1, 0.0, (1 - weight) * shared)


def _quantile(distribution: dist.Distribution, level: float) -> np.ndarray:
    return quantile(distribution, np.full(distribution.batch_shape, level))
