"""The interface of an inference."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from bayesnb.params import Params
from bayesnb.posterior.base import Posterior
from bayesnb.problem import Problem

__all__ = ["ConvergenceWarning", "Inference"]


class ConvergenceWarning(UserWarning):
    """An iteration has not converged, so that its result may be wrong."""


@dataclass(frozen=True)
class Inference(Params, ABC):
    """A way to condition a model on data: a frozen record of settings."""

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
