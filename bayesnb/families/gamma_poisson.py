"""Poisson counts whose rate has a gamma distribution."""

from typing import Any

import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro.distributions.util import validate_sample

from bayesnb.families.large_counts import log_negative_binomial

__all__ = ["GammaPoisson"]


class GammaPoisson(dist.GammaPoisson):
    """NumPyro's distribution, whose own density loses half of its digits to a difference of log-gamma functions."""

    @validate_sample
    def log_prob(self, value: Any) -> Any:
        return log_negative_binomial(jnp.asarray(value, jnp.result_type(float)), self.concentration, self.rate)
