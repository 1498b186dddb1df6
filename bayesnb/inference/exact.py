"""Closed-form conjugate posteriors."""

from dataclasses import dataclass
from typing import Any

from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.inference.base import Inference
from bayesnb.model.ways import ways_to_fit
from bayesnb.posterior.averaged import AveragedPosterior
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.problem import Problem

__all__ = ["Exact"]


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
        for block in problem.model.blocks:
            if not isinstance(block.family, ConjugateFamily):
                raise ValueError(
                    f"column {block.labels[0]!r} is {block.family.family_name}, which has no closed-form "
                    f"posterior: use {ways_to_fit(problem.model)}"
                )
        problem.require_numbers()
        problem.require_labels("nb.Exact()", "use nb.MAP() (EM), nb.Gibbs() or nb.NUTS(), or leave them out")

    def fit(self, problem: Problem, *, key: Any = 0) -> ExactPosterior | AveragedPosterior:
        self.check(problem)
        if problem.model.feature_inclusion is not None:
            return AveragedPosterior(problem, self)
        return ExactPosterior(problem, self)
