"""Closed-form conjugate posteriors."""

from dataclasses import dataclass
from typing import Any

from bayesnb.families.base import ConjugateFamily
from bayesnb.inference.base import Inference
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.problem import Problem

__all__ = ["Exact"]


@dataclass(frozen=True)
class Exact(Inference):
    """The posterior in closed form, where every family is conjugate.

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
                    f"column {block.labels[0]!r} is {type(block.family).__name__}, which has no closed-form "
                    "posterior: "
                    "use nb.NUTS() for draws, nb.MAP() for a point estimate"
                )

    def fit(self, problem: Problem, *, key: Any = 0) -> ExactPosterior:
        self.check(problem)
        return ExactPosterior(problem, self)
