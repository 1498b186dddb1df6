"""What families of a rate share: a gamma prior on it."""

from typing import Any, ClassVar

import numpy as np
import numpyro.distributions as dist

from bayesnb.families.base import Hyperparameter, Sample
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.exponential import ExponentialFamily
from bayesnb.families.hyperparameters import format_number
from bayesnb.statistics.counts import Counts

__all__ = ["RateFamily"]


class RateFamily(ExponentialFamily, ConjugateFamily):
    r"""Cells from zero on whose density has a rate, with the prior :math:`\mathrm{Gamma}(a, b)` of rate b.

    A subclass has the fields `concentration` and `rate`, a and b.
    """

    concentration: Hyperparameter
    rate: Hyperparameter

    positive: ClassVar[tuple[str, ...]] = ("concentration", "rate")
    flat_prior: ClassVar[dict[str, float]] = {"concentration": 1.0, "rate": 0.0}

    def prior(self, sample: Sample) -> dict[str, Any]:
        return {"rate": sample("rate", dist.Gamma(self.concentration, self.rate))}

    def possible(self, statistics: Counts) -> Any:
        return (statistics.n >= 0) & (statistics.total >= 0) & ((statistics.n > 0) | (statistics.total == 0))

    def mean(self) -> dict[str, Any]:
        return {"rate": self.concentration / self.rate}

    def mode(self) -> dict[str, Any]:
        return {"rate": np.where(self.concentration >= 1, (self.concentration - 1) / self.rate, np.nan)}

    def prior_story(self) -> list[str]:
        """The prior, as the model's repr shows it."""
        return [f"rate ~ Gamma({format_number(self.concentration)}, {format_number(self.rate)})"]
