"""Features whose distribution may not depend on the class."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import expit, logit

from bayesnb.core.arrays import namespace
from bayesnb.core.deferred import dist, pytree
from bayesnb.families.conjugate import ConjugateFamily, given
from bayesnb.families.family import JointFamily, Parameters, Sample, accepts_fractions
from bayesnb.families.supports import support_of

# --------------------------------------------------------------------------------------------------
# Features that have a distribution for each class, or one that all classes share
# --------------------------------------------------------------------------------------------------


@pytree
@dataclass(frozen=True)
class FeatureInclusion(ConjugateFamily):
    """Columns of another family, each included with some probability: without it, all classes share its parameters.

    Its density is the mean over the two hypotheses. The prior couples the classes, and the data update the odds of
    inclusion by the Bayes factor. The columns of a joint family are one feature.

    Attributes
    ----------
    family : ConjugateFamily
        With parameters for each class, which differ; see `given_dependence`.
    shared : ConjugateFamily
        With parameters that all classes share, class axis of length one.
    log_odds : array, shape (1, features)
        Log odds that a feature depends on the class.
    """

    family: Any
    shared: Any
    log_odds: Any

    def __post_init__(self) -> None:
        """The families have checked their own fields."""

    @staticmethod
    def of(family: ConjugateFamily, prob: np.ndarray) -> "FeatureInclusion":
        """The prior that includes each feature with a probability (features,); a family that each class has alike."""
        kind = JointInclusion if isinstance(family, JointFamily) else FeatureInclusion
        return kind(family, family.take(slice(0, 1)), logit(prob)[None])

    @property
    def cell(self) -> Any:  # type: ignore[override]
        """What a cell is; the inner family's."""
        return self.family.cell

    @property
    def support(self) -> Any:
        """The numbers that the inner family holds."""
        return self.family.support

    @property
    def own_support(self) -> Any:
        """The support, in NumPy."""
        return support_of(self.family)

    @property
    def fractional(self) -> bool:
        """Whether cells may be fractions, though the support has whole numbers only."""
        return accepts_fractions(self.family)

    @property
    def prob(self) -> np.ndarray:
        """Probability that a feature depends on the class, shape (1, features)."""
        return expit(self.log_odds)

    def take(self, index: Any) -> Self:
        own, *others = index if isinstance(index, tuple) else (index,)
        # The class axis of what all classes share has length one.
        if own is not None:
            own = slice(None) if isinstance(own, slice) else np.zeros_like(own)
        of_all = (own, *others)
        return replace(
            self, family=self.family.take(index), shared=self.shared.take(of_all), log_odds=self.log_odds[of_all]
        )

    # Parameters for each class, and their likelihood, are those of the inner family.

    def prior(self, sample: Sample) -> dict[str, Any]:
        return self.family.prior(sample)

    def likelihood(self, *args: Any, **parameters: Any) -> "dist.Distribution":
        return self.family.likelihood(*args, **parameters)

    def log_likelihood(self, parameters: Parameters, statistics: Any) -> Any:
        return self.family.log_likelihood(parameters, statistics)

    def statistics(self, x: Any, membership: Any) -> Any:
        return self.family.statistics(x, membership)

    def possible(self, statistics: Any) -> Any:
        return self.family.possible(statistics)

    def on_scale_of(self, pooled: Any) -> Self:
        family = self.family.on_scale_of(pooled)
        return replace(self, family=family, shared=family.take(slice(0, 1)))

    def given_dependence(self) -> Self:
        return replace(self, log_odds=np.full_like(self.log_odds, np.inf))

    def log_evidences(self, statistics: Any) -> tuple[Any, Any]:
        """Log evidence of each feature if it depends on the class, and if it does not, shape (1, features) each."""
        own = self.family.given_dependence().log_evidence(statistics)
        return own.sum(axis=-2, keepdims=True), self.shared.log_evidence(statistics.pooled())

    def log_bayes_factor(self, statistics: Any) -> np.ndarray:
        """Log Bayes factor of dependence on the class, shape (1, features)."""
        return np.subtract(*self.log_evidences(statistics))

    def update(self, statistics: Any) -> Self:
        own, of_all = self.log_evidences(statistics)
        return replace(
            self,
            family=given(self.family, statistics),
            shared=given(self.shared, statistics.pooled()),
            log_odds=self.log_odds + own - of_all,
        )

    def log_evidence(self, statistics: Any) -> Any:
        """Log density of the rows with these statistics, parameters integrated out, of all classes: (1, features)."""
        return log_mixture(self.log_odds, *self.log_evidences(statistics))

    def cell_log_predictive(self, x: Any) -> Any:
        own, of_all = (family.cell_log_predictive(x) for family in (self.family, self.shared))
        return log_mixture(self.log_odds, own, of_all)

    def row_log_left_out(
        self, x: Any, codes: np.ndarray, weights: np.ndarray, statistics: Any, *, refitted: bool
    ) -> None:
        """None: a faster way than the general one takes the densities of single cells."""

    def mean(self) -> dict[str, Any]:
        from bayesnb.families.formulas import weighted_mean

        own, of_all = self.family.mean(), self.shared.mean()
        return {
            name: weighted_mean(_with_axes(self.prob, np.ndim(value)), value, of_all[name])
            for name, value in own.items()
        }

    def marginals(self) -> dict[str, Any]:
        from bayesnb.families.formulas import MixtureOfTwo

        of_all = self.shared.marginals()
        return {
            name: MixtureOfTwo(_with_axes(self.prob, len(own.batch_shape)), own, of_all[name])
            for name, own in self.family.marginals().items()
        }

    def drawn(
        self, own: Parameters, of_all: Parameters, sample_shape: tuple[int, ...], rng: np.random.Generator
    ) -> dict[str, Any]:
        """Draws of the parameters, given draws of those for each class and of those that all classes share."""
        depends = rng.uniform(size=(*sample_shape, *np.shape(self.log_odds))) < self.prob
        return {name: np.where(_with_axes(depends, np.ndim(value)), value, of_all[name]) for name, value in own.items()}


@pytree
@dataclass(frozen=True)
class JointInclusion(FeatureInclusion, JointFamily):
    """A block of columns that are one observation, included with some probability."""

    @property
    def whole_rows(self) -> bool:  # type: ignore[override]
        """Whether the statistics take only rows without a missing cell."""
        return self.family.whole_rows

    def row_log_predictive(self, x: Any, *, ratio: bool = False) -> Any:
        own, of_all = (family.row_log_predictive(x) for family in (self.family, self.shared))
        return log_mixture(self.log_odds, own, of_all)


def log_mixture(log_odds: Any, own: Any, of_all: Any) -> Any:
    """Log density of features that depend on the class with some odds; NumPy or JAX, the arrays broadcast.

    Parameters
    ----------
    log_odds : array
    own, of_all : array
        Log density if the feature depends on the class, and if it does not.
    """
    xp, _ = namespace(log_odds, own)
    log_in, log_out = (-xp.logaddexp(0.0, odds) for odds in (-log_odds, log_odds))
    return xp.logaddexp(log_in + own, log_out + of_all)


def _with_axes(weight: np.ndarray, number: int) -> np.ndarray:
    """Numbers of features (..., features) with so many axes in all: further ones for parts of a feature."""
    return weight.reshape(*weight.shape, *[1] * (number - weight.ndim))
