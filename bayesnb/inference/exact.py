"""What an inference is, and the exact one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from bayesnb.core.checking import Params
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.model.inferences import ways_to_fit
from bayesnb.model.problem import Problem
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.kinds import AveragedPosterior, ExactPosterior

__all__ = ["ConvergenceWarning", "Exact", "Inference"]

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
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", nb.ConvergenceWarning)
    ...     posterior = nb.fit(nb.Bernoulli(), [[1], [0]], ["a", "b"])
    """


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
