"""Coordinates: the value at a point, the density there, and the point of a value."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import biject_to

__all__ = ["Coordinate", "Drawn", "Position", "unconstrained"]


class Position(NamedTuple):
    """A site at a point of the sampler.

    Attributes
    ----------
    value : array or LogProbability
        Value for the program, inside the support even if the exact number underflows.
    stored : array
        Value for the results; a probability may underflow to zero.
    log_density : array, scalar
        Log density of the point under the site's prior, including the change of variables.
    """

    value: Any
    stored: Any
    log_density: Any


class Drawn(NamedTuple):
    """Draws of a site by NumPy.

    Attributes
    ----------
    value : array
    logs : tuple of array
        Logarithms that do not underflow, of a simplex, of a gamma variable, or of a probability and its complement;
        empty for any other distribution.
    """

    value: np.ndarray
    logs: tuple[np.ndarray, ...] = ()


class Coordinate(ABC):
    """A smooth one-to-one map between unconstrained numbers z and the values of a site.

    Subclasses are registered as JAX pytrees. Their arrays tune the map to the target, as a step size does, and may come
    from the closed form. The density is the target's for all their values.
    """

    @abstractmethod
    def at(self, z: Any, prior: dist.Distribution) -> Position:
        """Value and log density at z, under JAX.

        Parameters
        ----------
        z : array
        prior : Distribution
            The site's distribution in the program, `Independent` and `ExpandedDistribution` taken off.
        """

    @abstractmethod
    def point(self, drawn: Drawn, prior: dist.Distribution, rng: np.random.Generator) -> np.ndarray:
        """The z of draws, in NumPy; a random one of them if the map has more dimensions than the site.

        Parameters
        ----------
        drawn : Drawn
            One leading axis.
        prior : Distribution
            As for `at`, given the draws of the sites before.
        rng : numpy.random.Generator
        """


def unconstrained(support: Any, value: Any) -> Any:
    """The point that NumPyro's map takes to a value of the support; `compiled` makes one program of its operations."""
    return biject_to(support).inv(value)
