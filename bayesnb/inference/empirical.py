"""Hyperparameters that maximise the evidence."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from numpyro.distributions import biject_to
from scipy.optimize import minimize

from bayesnb.core.arrays import in_float64
from bayesnb.core.running import random_generator
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.formulas import compiled
from bayesnb.inference.coordinates import unconstrained
from bayesnb.inference.exact import Inference
from bayesnb.model.blocks import ModelStatistics
from bayesnb.model.inferences import ways_to_posterior
from bayesnb.model.prior import LearnedPrior
from bayesnb.model.problem import Problem
from bayesnb.posterior.kinds import ExactPosterior

__all__ = ["EmpiricalBayes"]

STARTS = 4
"""Number of draws of the hyperparameters from which the search starts; the best result is used."""

STEP = 3.0
"""Unconstrained distance (a factor of twenty for a positive number) at which the evidence must have fallen on both
sides of a maximum."""

FALL = 1e-3
"""Nats by which it must have fallen there."""


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
        if not source.hyperpriors:
            raise ValueError(
                "no hyperparameter is learned: give a NumPyro distribution in place of a number, as in "
                f"nb.Categorical(concentration=dist.Gamma(1, 1)), or use {ways_to_posterior(source)}"
            )
        for block in source.blocks:
            if not isinstance(block.family, ConjugateFamily):
                raise ValueError(
                    f"column {block.labels[0]!r} is {block.family.family_name}, which has no closed-form evidence "
                    "to maximise: use nb.NUTS()"
                )
        problem.require_labels("nb.EmpiricalBayes()", "leave them out, or use nb.Gibbs() or nb.NUTS()")

    @in_float64
    def fit(self, problem: Problem, *, key: Any = 0) -> ExactPosterior:
        self.check(problem)
        source = problem.learned_from or problem.model
        learned = replace(problem, model=source).resolved.learned
        drawn = learned.draw_hyperparameters(random_generator(key), (STARTS,))
        starts = {
            name: np.asarray(compiled(unconstrained, prior.support, drawn[name]))
            for name, prior in learned.hyperpriors.items()
        }
        ends = [
            _climb(learned, problem.statistics, {name: value[s] for name, value in starts.items()})
            for s in range(STARTS)
        ]
        point = max(ends, key=lambda end: end[0])[1]
        _require_maximum(learned, problem.statistics, point, source.sites.scalar_labels())
        model = source.with_hyperparameters(_constrained(learned, point))
        numbers = replace(problem, model=model, learned_from=source)
        return ExactPosterior(numbers, self)


Point = dict[str, np.ndarray]
"""Hyperparameters on the unconstrained scale, by name."""


def _climb(learned: LearnedPrior, statistics: ModelStatistics, start: Point) -> tuple[float, Point]:
    """Local maximum of the log evidence from a start: its value and its place."""
    ends = np.cumsum([value.size for value in start.values()])[:-1]

    def lined_up(point: Point) -> np.ndarray:
        return np.concatenate([np.ravel(point[name]) for name in start])

    def apart(line: np.ndarray) -> Point:
        parts = zip(start.items(), np.split(line, ends), strict=True)
        return {name: part.reshape(value.shape) for (name, value), part in parts}

    def descend(line: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = _log_evidence(learned, statistics, apart(line))
        return -float(value), -lined_up(gradient)

    found = minimize(descend, lined_up(start), jac=True, method="L-BFGS-B", options={"gtol": 1e-7, "ftol": 1e-14})
    return -float(found.fun), apart(found.x)


def _require_maximum(
    learned: LearnedPrior, statistics: ModelStatistics, point: Point, labels: Mapping[str, list[str]]
) -> None:
    """Refuse hyperparameters from which the evidence does not fall; `labels` has the names of those of each site."""
    top = float(_log_evidence(learned, statistics, point)[0])
    for name, value in point.items():
        for label, index in zip(labels[name], np.ndindex(np.shape(value)), strict=True):
            for step in (STEP, -STEP):
                moved = {**point, name: value.copy()}
                moved[name][index] += step
                if float(_log_evidence(learned, statistics, moved)[0]) > top - FALL:
                    here, there = (float(_constrained(learned, p)[name][index]) for p in (point, moved))
                    raise ValueError(
                        f"the evidence has no maximum in {label!r}: from {here:.3g} to {there:.3g} it does not fall, "
                        "as where the classes or categories differ by no more than chance; use nb.NUTS(), whose "
                        "hyperprior decides there, or give a number"
                    )


def _constrained(learned: LearnedPrior, point: Point) -> dict[str, np.ndarray]:
    return {name: np.asarray(biject_to(learned.hyperpriors[name].support)(point[name])) for name in learned.names}


@jax.jit
def _log_evidence(learned: LearnedPrior, statistics: ModelStatistics, point: Point) -> Any:
    """Log evidence at unconstrained hyperparameters, and its gradient."""

    def at(point: Point) -> Any:
        values = {name: biject_to(learned.hyperpriors[name].support)(point[name]) for name in learned.names}
        return learned.given(values).log_evidence(statistics)

    return jax.value_and_grad(at)(point)
