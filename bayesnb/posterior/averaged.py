"""The closed form, averaged over all subsets of the features."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays import in_float64, log, to_numpy
from bayesnb.blocks.class_prior import CLASS_SITE
from bayesnb.blocks.density import log_joint
from bayesnb.blocks.parameters import ModelParameters, draw_parameters
from bayesnb.families.cdf import cdf, quantile
from bayesnb.families.columns import of_column
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.mean_variance import mean_of, variance_of
from bayesnb.model.inclusion import draw_averaged, feature_names, in_column_order, mixed, shared_families
from bayesnb.model.sites import Site
from bayesnb.posterior.data import Fitting
from bayesnb.posterior.exact import ClosedFormPosterior, marginal_of_site, marginals_by_site, summary_of
from bayesnb.posterior.in_jax import log_joint_of_averages
from bayesnb.problem import Problem
from bayesnb.reading.cells import Cells

__all__ = ["AveragedPosterior"]

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
    class_posterior : ClassPrior
        Posterior of the class probabilities.

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

    @in_float64
    def log_joint_of(self, cells: Cells) -> np.ndarray:
        blocks = zip(self.families, self.shared, self._log_inclusion, cells, strict=True)
        return log_joint(self.class_probs(), (_average(*block) for block in blocks))

    @in_float64
    def feature_log_density(self, i: int, j: int, x: Any) -> np.ndarray:
        own, shared, inclusion = self.families[i], self.shared[i], self._log_inclusion[i]
        if own.joint:
            return _average(own, shared, inclusion, x)
        column = slice(j, j + 1)
        log_in, log_out = (values[column] for values in inclusion)
        return _average(of_column(own, j), of_column(shared, j), (log_in, log_out), x[:, column])

    def density_in_jax(self) -> tuple[Callable[[Any, Sequence[Any]], Any], Any]:
        return log_joint_of_averages, (log(self.class_probs()), self.feature_densities_in_jax())

    def feature_densities_in_jax(self) -> list[tuple[Any, ...]]:
        log_probs = ((np.asarray(log_in), np.asarray(log_out)) for log_in, log_out in self._log_inclusion)
        pairs = zip(self.families, self.shared, log_probs, strict=True)
        return [(own, shared, *probs) for own, shared, probs in pairs]

    def draw_parameters(self, rng: np.random.Generator, shape: tuple[int, ...]) -> ModelParameters:
        return draw_averaged(self.class_posterior, self.families, self.shared, self.inclusion, rng, shape)

    def row_parameters(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, Any], ...]:
        own = draw_parameters(self.class_posterior, [family.take(codes) for family in self.families], rng).blocks
        only_class = np.zeros_like(codes)
        common = draw_parameters(self.class_posterior, [family.take(only_class) for family in self.shared], rng).blocks
        return tuple(
            mixed(rng.uniform(size=(len(codes), len(prob))) < prob, values, of_all)
            for prob, values, of_all in zip(self.inclusion, own, common, strict=True)
        )

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
        own = marginals_by_site(self.model, self.class_posterior, self.families)
        shared = marginals_by_site(self.model, self.class_posterior, self.shared)
        levels = {"lower": (1 - prob) / 2, "upper": (1 + prob) / 2}
        of_classes = summary_of(own[CLASS_SITE], prob) if CLASS_SITE in own else self._known_class_probs()
        found = {CLASS_SITE: of_classes}
        for site in self.model.sites:
            found[site.name] = _summary_of_mixture(self._inclusion_of(site), own[site.name], shared[site.name], levels)
        return found

    def _details(self) -> str:
        return f"averaged over the subsets of {len(feature_names(self.model.blocks))} features"


def _average(own: Any, shared: Any, inclusion: tuple[np.ndarray, np.ndarray], x: Any) -> np.ndarray:
    """Log density of each row under each class, a feature's two hypotheses averaged."""
    log_in, log_out = inclusion
    if own.joint:
        return np.logaddexp(log_in + own.row_log_predictive(x), log_out + shared.row_log_predictive(x))
    return own.row_log_average(shared, log_in, log_out, x)


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
