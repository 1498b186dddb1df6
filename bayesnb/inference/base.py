"""The interface of an inference."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from bayesnb.params import Params
from bayesnb.posterior.base import Posterior
from bayesnb.problem import Problem

__all__ = ["ConvergenceWarning", "Inference"]


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
    >>> isinstance(nb.Exact(), nb.Inference)
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
