"""Point estimates: maximum likelihood and maximum a posteriori."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bayesnb.arrays import in_float64, to_numpy
from bayesnb.blocks.parameters import ModelParameters
from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.families.base import Family
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.dirichlet import dirichlet_mode
from bayesnb.inference.base import Inference
from bayesnb.inference.em import Estimate, maximise
from bayesnb.keys import random_generator
from bayesnb.model.ways import gives_mode, ways_to_fit, ways_to_posterior
from bayesnb.posterior.point import PointPosterior
from bayesnb.problem import Problem
from bayesnb.validate import whole_number

__all__ = ["MAP", "MLE"]


@dataclass(frozen=True)
class _PointEstimate(Inference):
    """An estimate from statistics: those of the labelled rows, or of all rows by EM."""

    max_iterations: int = 2000

    def __post_init__(self) -> None:
        whole_number(f"{type(self).__name__}(max_iterations=...)", self.max_iterations)

    @in_float64
    def fit(self, problem: Problem, *, key: Any = 0) -> PointPosterior:
        self.check(problem)
        estimate = partial(self._estimate, problem)
        if problem.unlabelled is None:
            parameters = estimate(problem.statistics)
        else:
            parameters = self._maximise(problem, estimate, random_generator(key))
        return PointPosterior(problem.resolved, parameters, problem, self)

    def _maximise(self, problem: Problem, estimate: Estimate, rng: np.random.Generator) -> ModelParameters:
        """Parameters where labels are missing."""
        return maximise(problem, estimate, rng, self.max_iterations)

    @abstractmethod
    def _estimate(self, problem: Problem, statistics: ModelStatistics) -> ModelParameters: ...


@dataclass(frozen=True)
class MLE(_PointEstimate):
    """Maximum likelihood: the frequencies, means and variances of the data, priors ignored.

    An estimate of exactly 0 or 1 is possible, and a row that contradicts it has probability zero. If the data do not
    determine a parameter, or the likelihood grows without bound, no estimate exists and `fit` raises an error.

    If labels are missing, EM maximises the likelihood summed over them, as for `MAP`. With Gaussian columns this
    likelihood grows without bound as a class shrinks to a single cell, and EM finds a local maximum.

    Parameters
    ----------
    max_iterations : int, default 2000
        Iterations of EM; not used if every row has a label.

    Warns
    -----
    ConvergenceWarning
        If EM has not converged.

    See Also
    --------
    MAP : The mode of the posterior.
    PointPosterior : A point estimate.

    Examples
    --------
    >>> import bayesnb as nb
    >>> estimate = nb.fit(nb.Bernoulli(), [[1], [1], [0], [1]], ["a", "a", "b", "b"], nb.MLE())
    >>> estimate.mean()["x_prob"].tolist()
    [[1.0], [0.5]]
    >>> estimate.predict_proba([[0]])
    array([[0., 1.]])
    """

    def check(self, problem: Problem) -> None:
        problem.require_every_feature("MLE")
        for block in problem.model.blocks:
            if type(block.family).maximum_likelihood is Family.maximum_likelihood:
                raise ValueError(
                    f"column {block.labels[0]!r} is {block.family.family_name}, which gives no "
                    f"maximum_likelihood: use {ways_to_fit(problem.model)}; or define "
                    "maximum_likelihood(statistics) in the class"
                )

    def _estimate(self, problem: Problem, statistics: ModelStatistics) -> ModelParameters:
        n = statistics.classes.n
        known = problem.resolved.class_prior.probs
        if known is None and n.sum() == 0:
            raise ValueError(
                "all weights are zero, so that the class probabilities have no maximum likelihood estimate: give "
                "positive weights, or class_probs"
            )
        blocks = []
        for block, counted in zip(problem.resolved.blocks, statistics.blocks, strict=True):
            estimate = block.family.maximum_likelihood(counted)
            assert estimate is not None
            _require_estimate(problem, block, estimate, "maximum likelihood", block.family.why_no_maximum_likelihood)
            blocks.append(estimate)
        class_prob = n / n.sum() if known is None else known
        return ModelParameters(class_prob, tuple(blocks))


@dataclass(frozen=True)
class MAP(_PointEstimate):
    """Maximum a posteriori: the mode of the parameters' joint posterior density.

    The density is that of the parameters as named (probabilities, rates, mean and variance), not of a transformation.
    With uniform priors it is the maximum likelihood estimate; a concentration below one can leave the density
    unbounded, for which `fit` raises an error.

    If labels are missing, EM maximises the density with the labels summed out (Dempster, Laird and Rubin 1977, *Journal
    of the Royal Statistical Society B* 39(1), 1-38; for naive Bayes, Nigam, McCallum, Thrun and Mitchell 2000, *Machine
    Learning* 39, 103-134). Each iteration weights a row in every class by the probability of that label, and estimates
    the parameters as from labelled rows. It ends when no probability of a label changes by more than 1e-7. The density
    never decreases, and the result is a local maximum. The start is the prediction of the labelled rows or, if a class
    has no labelled row, the best of ten random starts.

    Parameters
    ----------
    max_iterations : int, default 2000
        Iterations of EM; not used if every row has a label.

    Warns
    -----
    ConvergenceWarning
        If EM has not converged.

    See Also
    --------
    MLE : Maximum likelihood.
    PointPosterior : A point estimate.

    Examples
    --------
    >>> import bayesnb as nb
    >>> estimate = nb.fit(nb.Bernoulli(2.0, 2.0), [[1], [1], [0], [1]], ["a", "a", "b", "b"], nb.MAP())
    >>> estimate.mean()["x_prob"].tolist()
    [[0.75], [0.5]]
    """

    def check(self, problem: Problem) -> None:
        problem.require_every_feature(type(self).__name__)
        for block in problem.model.blocks:
            if not gives_mode(type(block.family)):
                method = "mode()" if isinstance(block.family, ConjugateFamily) else "maximum_a_posteriori(statistics)"
                raise ValueError(
                    f"column {block.labels[0]!r} is {block.family.family_name}, which gives no mode: use "
                    f"{ways_to_fit(problem.model)}; or define {method} in the class"
                )
        problem.require_numbers()

    def _estimate(self, problem: Problem, statistics: ModelStatistics) -> ModelParameters:
        posterior = problem.resolved.class_prior.update(statistics.classes)
        class_prob = posterior.probs if posterior.probs is not None else dirichlet_mode(posterior.concentration)
        if np.isnan(class_prob).any():
            raise ValueError(
                "the density of the class probabilities is unbounded (class_concentration below one and a class "
                "without rows), so it has no mode: use a class_concentration of at least one, or "
                f"{_ways_to_posterior(problem)}"
            )
        blocks = []
        for block, counted in zip(problem.resolved.blocks, statistics.blocks, strict=True):
            estimate = to_numpy(block.family.maximum_a_posteriori(counted))
            assert estimate is not None
            _require_estimate(problem, block, estimate, "mode", block.family.why_no_mode)
            blocks.append(estimate)
        return ModelParameters(class_prob, tuple(blocks))


def _require_estimate(problem: Problem, block: Any, estimate: dict[str, Any], what: str, why: str) -> None:
    classes = problem.model.schema.classes.tolist()
    for parameter, value in estimate.items():
        lost = np.argwhere(~np.isfinite(value))
        if len(lost):
            c, j = lost[0][:2]
            raise ValueError(
                f"{block.owner(j)} in class {classes[c]!r}: the {what} estimate of {parameter!r} does not exist "
                f"({why}); use {_ways_to_posterior(problem)}{' or another prior' * (what == 'mode')}"
            )


def _ways_to_posterior(problem: Problem) -> str:
    """The inferences that give a distribution of the parameters from these data."""
    if problem.unlabelled is None:
        return ways_to_posterior(problem.model)
    return "nb.Gibbs() or nb.NUTS()" if problem.conjugate else "nb.NUTS()"
