"""The distribution of each number of a vector."""

from functools import singledispatch

import numpy as np
import numpyro.distributions as dist

from bayesnb.families.beta import Beta
from bayesnb.families.gamma_vector import GammaVector

__all__ = ["component_marginal", "dirichlet_marginal"]


@singledispatch
def component_marginal(distribution: dist.Distribution) -> dist.Distribution | None:
    """Distribution of each number that a distribution draws, of the draws' shape; None if it is not known."""
    return None if distribution.event_shape else distribution


@component_marginal.register
def _(distribution: dist.Dirichlet) -> dist.Distribution:
    return dirichlet_marginal(distribution.concentration)


@component_marginal.register
def _(distribution: GammaVector) -> dist.Distribution:
    return dist.Gamma(distribution.concentration, distribution.rate)


def dirichlet_marginal(concentration: object) -> dist.Distribution:
    """Beta distribution of each component of a Dirichlet. A single component is one with certainty."""
    numbers = np.asarray(concentration)
    if numbers.shape[-1] == 1:
        return dist.Delta(np.ones_like(numbers))
    rest = numbers.sum(axis=-1, keepdims=True) - numbers
    # The rest may be rounded to zero, of which the checks of parameters would say that it is not positive.
    return Beta(numbers, rest, validate_args=False)
