"""The interface of inferences, and the closed form: for given hyperparameters, or those of maximal evidence."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesnb.core.checking import Params, warn
from bayesnb.core.deferred import compiled, dist, in_float64, jax, jit, jnp, to_numpy
from bayesnb.core.running import random_generator
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.model.blocks import ModelStatistics
from bayesnb.model.bound import BoundModel
from bayesnb.model.prior import LearnedPrior
from bayesnb.model.problem import Problem, ways_to_fit, ways_to_posterior
from bayesnb.posterior.diagnostics import Diagnostics
from bayesnb.posterior.kinds import AveragedPosterior, ExactPosterior
from bayesnb.posterior.posterior import Posterior

# --------------------------------------------------------------------------------------------------
# The interface of an inference
# --------------------------------------------------------------------------------------------------


class ConvergenceWarning(UserWarning):
    """An iteration has not converged, so that its result may be wrong.

    See Also
    --------
    NUTS : Draws by the no-U-turn sampler.
    SampledPosterior.diagnostics : How well a sampler did.

    Examples
    --------
    >>> import warnings
    >>> import bayesnb as nb
    >>> with warnings.catch_warnings(action="ignore", category=nb.ConvergenceWarning):
    ...     posterior = nb.fit(nb.Bernoulli(), [[1], [0]], ["a", "b"])
    """


def require_closed_form(model: BoundModel, what: str, remedy: str = "") -> None:
    """Raise ValueError for a family that is not conjugate: it has no closed-form posterior or evidence.

    The error advises `remedy`, by default the inferences that take the model.
    """
    for block in model.blocks:
        if not isinstance(block.family, ConjugateFamily):
            family = block.family.family_name
            ways = remedy or ways_to_fit(model)
            raise ValueError(f"column {block.labels[0]!r} is {family}, which has no closed-form {what}: use {ways}")


def warn_of_draws(sampler: str, diagnostics: Diagnostics, settings: Mapping[str, Any], ending: str) -> None:
    """Warn if draws have problems; `settings` are those that might help, and `ending` comes after them."""
    problems = diagnostics.problems()
    if problems:
        shown = ", ".join(f"{name} (now {value})" for name, value in settings.items())
        warn(f"{sampler}: {'; '.join(problems)}. The settings are {shown}{ending}", ConvergenceWarning)


@dataclass(frozen=True)
class Inference(Params, ABC):
    """A way to condition a model on data: a frozen record of settings.

    See Also
    --------
    fit : Fit a table in memory.
    Exact : The closed form.
    NUTS : Draws by the no-U-turn sampler.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"]
    >>> isinstance(nb.Exact(), nb.results.Inference)
    True
    >>> posterior = nb.Exact().fit(nb.fit(nb.Bernoulli(), X, y).problem)
    >>> posterior.predict([[1, 1]])
    array(['a'], dtype='<U1')
    """

    @abstractmethod
    def check(self, problem: Problem) -> None:
        """Raise an error for a problem that this inference cannot solve; it names what is missing and what would work.

        Raises
        ------
        ValueError
        """

    @abstractmethod
    def fit(self, problem: Problem, *, key: Any = 0) -> Posterior:
        """Condition the problem's model on its data.

        Parameters
        ----------
        problem : Problem
        key : int or JAX key, default 0
            Source of randomness, for inferences that have any.
        """


# --------------------------------------------------------------------------------------------------
# Closed-form conjugate posteriors
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exact(Inference):
    """The posterior in closed form, where every family is conjugate.

    A model with `feature_inclusion` gives an `AveragedPosterior`, every other an `ExactPosterior`.

    See Also
    --------
    NUTS : Draws by the no-U-turn sampler.
    ExactPosterior : The posterior in closed form.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [0, 1]], ["a", "b"], nb.Exact())
    >>> posterior.predict([[1, 0]]).tolist()
    ['a']
    """

    def check(self, problem: Problem) -> None:
        require_closed_form(problem.model, "posterior")
        problem.require_numbers()
        problem.require_labels("nb.Exact()", "use nb.MAP() (EM), nb.Gibbs() or nb.NUTS(), or leave them out")

    def fit(self, problem: Problem, *, key: Any = 0) -> ExactPosterior | AveragedPosterior:
        self.check(problem)
        if problem.model.description.feature_inclusion is not None:
            return AveragedPosterior(problem, self)
        return ExactPosterior(problem, self)


# --------------------------------------------------------------------------------------------------
# The closed form under hyperparameters that maximise the evidence
# --------------------------------------------------------------------------------------------------

STARTS = 4
"""Number of draws of the hyperparameters from which the search starts; the best result is used."""

STEP = 3.0
"""Unconstrained distance (a factor of twenty for a positive number) at which the evidence must have fallen on both
sides of a maximum."""

FALL = 1e-3
"""Amount, in nats, by which it must have fallen there."""


@dataclass(frozen=True)
class EmpiricalBayes(Inference):
    """The closed form under the hyperparameters that maximise the evidence (type-II maximum likelihood).

    A hyperparameter is learned if a NumPyro distribution is given in place of a number. The distribution determines the
    allowed numbers and the starts of the search; its density is not used (Murphy 2012, section 5.6). The uncertainty of
    the hyperparameters is left out of the posterior: `NUTS` keeps it.

    The maximum depends on all the data. Its value is not the evidence of a prior, so that `compare_models` gives the
    model no probability. `loo` keeps the hyperparameters learned from all rows and warns that its score tends to be too
    high; `kfold` learns them anew from each training part.

    Raises
    ------
    ValueError
        If no hyperparameter is learned, a family has no closed form, or the evidence has no maximum.

    See Also
    --------
    Exact : The closed form.
    NUTS : Draws by the no-U-turn sampler.

    Examples
    --------
    >>> import bayesnb as nb
    >>> import numpyro.distributions as dist
    >>> X = [["x", "p"], ["x", "q"], ["x", "p"], ["y", "q"], ["y", "q"], ["y", "q"]]
    >>> model = nb.NaiveBayes(nb.Categorical(dist.Gamma(1, 1)))
    >>> posterior = nb.fit(model, X, list("aaabbb"), nb.EmpiricalBayes())
    >>> {name: round(value.item(), 3) for name, value in posterior.hyperparameters().items()}
    {'x_concentration': 0.25}
    """

    def check(self, problem: Problem) -> None:
        source = problem.learned_from or problem.model
        if not source.description.hyperpriors:
            raise ValueError(
                "no hyperparameter is learned: give a NumPyro distribution in place of a number, as in "
                f"nb.Categorical(concentration=dist.Gamma(1, 1)), or use {ways_to_posterior(source)}"
            )
        require_closed_form(source, "evidence to maximise", "nb.NUTS()")
        problem.require_labels("nb.EmpiricalBayes()", "leave them out, or use nb.Gibbs() or nb.NUTS()")

    @in_float64
    def fit(self, problem: Problem, *, key: Any = 0) -> ExactPosterior:
        self.check(problem)
        source = problem.learned_from or problem.model
        learned = replace(problem, model=source).resolved.learned
        starts = drawn_points(learned, random_generator(key), STARTS)
        ends = [
            _climb_evidence(learned, problem.statistics, {name: value[s] for name, value in starts.items()})
            for s in range(STARTS)
        ]
        point = max(ends, key=lambda end: end[0])[1]
        _require_finite_maximum(learned, problem.statistics, point, source.sites.scalar_labels())
        model = source.with_hyperparameters(to_numpy(_constrained_point(learned, point)))
        numbers = replace(problem, model=model, learned_from=source)
        return ExactPosterior(numbers, self)


Point = dict[str, np.ndarray]
"""Hyperparameters on the unconstrained scale, by name."""


def drawn_points(learned: LearnedPrior, rng: np.random.Generator, number: int) -> Point:
    """Draws from the hyperpriors, leading axis the draw."""
    from bayesnb.inference.coordinates import unconstrained

    drawn = learned.draw_hyperparameters(rng, (number,))
    return {name: np.asarray(compiled(unconstrained, learned.hyperpriors[name].support, drawn[name])) for name in drawn}


def _climb_evidence(learned: LearnedPrior, statistics: ModelStatistics, start: Point) -> tuple[float, Point]:
    """Local maximum of the log evidence from a start: its value and its place."""
    from jax.flatten_util import ravel_pytree
    from scipy.optimize import minimize

    line, apart = ravel_pytree(start)

    def descend(line: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = _log_evidence(learned, statistics, apart(jnp.asarray(line)))
        return -float(value), -np.asarray(ravel_pytree(gradient)[0])

    found = minimize(descend, np.asarray(line), jac=True, method="L-BFGS-B", options={"gtol": 1e-7, "ftol": 1e-14})
    return -float(found.fun), to_numpy(apart(jnp.asarray(found.x)))


def _require_finite_maximum(
    learned: LearnedPrior, statistics: ModelStatistics, point: Point, labels: Mapping[str, list[str]]
) -> None:
    """Raise for hyperparameters away from which the evidence does not fall; `labels` names those of each site."""
    top = float(_log_evidence(learned, statistics, point)[0])
    for name, value in point.items():
        for label, index in zip(labels[name], np.ndindex(np.shape(value)), strict=True):
            for step in (STEP, -STEP):
                moved = {**point, name: value.copy()}
                moved[name][index] += step
                if float(_log_evidence(learned, statistics, moved)[0]) > top - FALL:
                    here, there = (float(_constrained_point(learned, p)[name][index]) for p in (point, moved))
                    raise ValueError(
                        f"the evidence has no maximum in {label!r}: from {here:.3g} to {there:.3g} it does not fall, "
                        "as where the classes or categories differ by no more than chance; use nb.NUTS(), whose "
                        "hyperprior decides there, or give a number"
                    )


def _constrained_point(learned: LearnedPrior, point: Point) -> dict[str, Any]:
    return {name: dist.biject_to(learned.hyperpriors[name].support)(point[name]) for name in learned.names}


@jit
def _log_evidence(learned: LearnedPrior, statistics: ModelStatistics, point: Point) -> Any:
    """Log evidence at unconstrained hyperparameters, and its gradient."""

    def at(point: Point) -> Any:
        return learned.given(_constrained_point(learned, point)).log_evidence(statistics)

    return jax.value_and_grad(at)(point)
