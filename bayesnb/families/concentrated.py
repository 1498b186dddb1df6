"""Families of two parameters, a location and a concentration, whose posterior has no closed form."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.base import Hyperparameter
from bayesnb.families.exponential import ExponentialFamily
from bayesnb.families.maximum import maximum

__all__ = ["Concentrated", "default_rate"]

RATE = 0.15
"""With the default shape 1.5 of the gamma prior, the prior mean of a concentration is ten times that of the column."""


class Concentrated(ExponentialFamily):
    """A family of a location and a concentration.

    The fields `concentration` and `rate` are the gamma prior of the concentration. A subclass states `estimate`, which
    is cheap. From it follow the defaults that the data determine, and the first point of the search for a maximum.
    """

    concentration: Hyperparameter
    rate: Hyperparameter

    why_no_maximum_likelihood: ClassVar[str] = "no observed cell, or all of them equal"
    why_no_mode: ClassVar[str] = "no observed cell, and a prior whose density has no single maximum"

    @abstractmethod
    def estimate(self, statistics: Any) -> dict[str, np.ndarray]:
        """Approximate maximum of the likelihood, shape (classes, columns), by name.

        Parameters
        ----------
        statistics : Counts

        Returns
        -------
        dict of array
            NaN where the cells do not determine a parameter, and where the likelihood grows with it without bound.
        """

    def on_scale_of(self, pooled: Any) -> Self:
        if self.rate is not None:
            return self
        rate = default_rate(self.estimate(pooled)["concentration"])
        return self.with_hyperparameters({"rate": np.broadcast_to(rate, np.shape(self.concentration))})

    def maximum_likelihood(self, statistics: Any) -> dict[str, Any]:
        return maximum(self.on_scale_of(statistics.pooled()), statistics, self.estimate(statistics), with_prior=False)

    def maximum_a_posteriori(self, statistics: Any) -> dict[str, Any]:
        return maximum(self, statistics, self.estimate(statistics), with_prior=True)


def default_rate(concentration: np.ndarray) -> np.ndarray:
    """Rate of a concentration's prior, given the concentration of the whole column; NaN counts as one.

    The prior mean is ten times the column's concentration where that is large, which is the default of `Gaussian` for
    the precision of a class. It is ten where the column is spread widely, because then the classes may be far apart.
    """
    return RATE / (1 + np.where(concentration > 0, concentration, 1.0))
