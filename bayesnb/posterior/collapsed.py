"""Draws of hyperparameters, and the closed form given each of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from scipy.special import logsumexp

from bayesnb.arrays import in_float64, log
from bayesnb.blocks.class_prior import ClassPrior
from bayesnb.blocks.density import log_joint
from bayesnb.blocks.statistics import updated
from bayesnb.families.base import Family
from bayesnb.posterior.in_jax import log_mean_of_closed_forms
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.problem import Problem
from bayesnb.reading.cells import Cells

__all__ = ["CollapsedPosterior", "posterior_given"]

MIXTURE = 400
"""Number of draws of the hyperparameters over which predictions average closed forms. More draws take longer and remove
little Monte Carlo error, because the closed form has removed most of it."""


class CollapsedPosterior(SampledPosterior):
    """The posterior under learned hyperparameters: draws of these, and the closed form given each.

    Its draws of the parameters are exact given the draws of the hyperparameters. It predicts with the closed forms
    themselves, averaged over up to 400 evenly spaced draws of the hyperparameters (Rao-Blackwell), which has far less
    Monte Carlo error than an average over draws of all the parameters.

    See Also
    --------
    NUTS : Draws by the no-U-turn sampler.
    SampledPosterior : The posterior as draws.
    EmpiricalBayes : Hyperparameters that maximise the evidence.

    Examples
    --------
    >>> import bayesnb as nb
    >>> import numpyro.distributions as dist
    >>> X, y = [[2], [0], [1], [7], [5], [9]], ["a", "a", "a", "b", "b", "b"]
    >>> model = nb.NaiveBayes(nb.Poisson(dist.Gamma(2.0, 1.0), 1.0))
    >>> posterior = nb.fit(model, X, y, nb.NUTS(num_samples=500))
    >>> type(posterior).__name__
    'CollapsedPosterior'
    >>> posterior.predict([[8]])
    array(['b'], dtype='<U1')
    """

    problem: Problem

    @in_float64
    def log_joint_of(self, cells: Cells) -> np.ndarray:
        pieces = []
        for values in self._mixture():
            class_posterior, families = posterior_given(self.problem, values)
            pairs = zip(families, cells, strict=True)
            densities = (family.row_log_predictive(x) for family, x in pairs)  # type: ignore[attr-defined]
            pieces.append(log_joint(class_posterior.mean(), densities))
        return logsumexp(np.stack(pieces), axis=0) - np.log(len(pieces))

    @in_float64
    def density_in_jax(self) -> tuple[Callable[[Any, Sequence[Any]], Any], Any]:
        forms = [posterior_given(self.problem, values) for values in self._mixture()]
        class_probs = np.stack([class_posterior.mean() for class_posterior, _ in forms])
        families = jax.tree.map(lambda *leaves: np.stack(leaves), *(families for _, families in forms))
        return log_mean_of_closed_forms, (log(class_probs), families)

    @in_float64
    def class_probs(self) -> np.ndarray:
        return np.mean([posterior_given(self.problem, values)[0].mean() for values in self._mixture()], axis=0)

    def _mixture(self) -> list[dict[str, np.ndarray]]:
        """Evenly spaced draws of the hyperparameters, at most `MIXTURE` of them."""
        flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in self.parameters.hyperparameters.items()}
        number = len(next(iter(flat.values())))
        kept = np.linspace(0, number - 1, min(number, MIXTURE)).round().astype(int)
        return [{name: value[s] for name, value in flat.items()} for s in kept]


def posterior_given(problem: Problem, values: Mapping[str, Any]) -> tuple[ClassPrior, tuple[Family, ...]]:
    """Class prior and families given the data and values of the hyperparameters, with the values' leading axes.

    A family without a closed form stays as its prior.
    """
    class_prior, families = problem.resolved.learned.given(values)
    return updated(class_prior, families, problem.statistics)
