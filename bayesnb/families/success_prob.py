"""What families of successes and failures share: a Beta prior on the probability of success."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.base import Hyperparameter, Sample
from bayesnb.families.beta import Beta, beta_mode
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.exponential import ExponentialFamily
from bayesnb.families.hyperparameters import format_number
from bayesnb.families.large_counts import log_beta_ratio
from bayesnb.statistics.counts import Counts

__all__ = ["SuccessFamily"]


class SuccessFamily(ExponentialFamily, ConjugateFamily):
    r"""Cells that count successes and failures of one probability, whose prior is :math:`\mathrm{Beta}(a, b)`.

    With S successes and F failures the posterior is :math:`\mathrm{Beta}(a + S,\, b + F)`. A subclass has the fields
    `concentration1` and `concentration0`, and states `trials` besides its density.
    """

    concentration1: Hyperparameter
    concentration0: Hyperparameter

    positive: ClassVar[tuple[str, ...]] = ("concentration1", "concentration0")
    flat_prior: ClassVar[dict[str, float]] = {"concentration1": 1.0, "concentration0": 1.0}
    why_no_maximum_likelihood: ClassVar[str] = "no observed cell"

    @abstractmethod
    def trials(self, statistics: Counts) -> tuple[Any, Any]:
        """Weight of the successes and of the failures behind statistics, arrays of shape (..., classes, columns)."""

    def prior(self, sample: Sample) -> dict[str, Any]:
        return {"prob": sample("prob", Beta(self.concentration1, self.concentration0))}

    def possible(self, statistics: Counts) -> Any:
        successes, failures = self.trials(statistics)
        return (statistics.n >= 0) & (successes >= 0) & (failures >= 0) & ((statistics.n > 0) | (failures == 0))

    def update(self, statistics: Counts) -> Self:
        successes, failures = self.trials(statistics)
        concentrations: dict[str, Any] = {
            "concentration1": self.concentration1 + successes,
            "concentration0": self.concentration0 + failures,
        }
        return replace(self, **concentrations)

    def log_evidence(self, statistics: Counts) -> Any:
        ratio = log_beta_ratio(*self.trials(statistics), self.concentration1, self.concentration0)
        return statistics.log_base + ratio

    def maximum_likelihood(self, statistics: Counts) -> dict[str, Any]:
        successes, failures = self.trials(statistics)
        with np.errstate(invalid="ignore"):
            return {"prob": successes / (successes + failures)}

    def mean(self) -> dict[str, Any]:
        return {"prob": self.concentration1 / (self.concentration1 + self.concentration0)}

    def mode(self) -> dict[str, Any]:
        return {"prob": beta_mode(self.concentration1, self.concentration0)}

    def prior_story(self) -> list[str]:
        """The prior, as the model's repr shows it."""
        return [f"prob ~ Beta({format_number(self.concentration1)}, {format_number(self.concentration0)})"]
