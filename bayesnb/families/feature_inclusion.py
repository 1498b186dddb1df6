"""Features whose distribution may not depend on the class."""

from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, logit

from bayesnb.core.deferred import namespace, pytree
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import JointFamily, Parameters, formulas
from bayesnb.families.host_sums import stated_needs
from bayesnb.families.hyperparameters import accepts_fractions, given, support_of

# --------------------------------------------------------------------------------------------------
# Features that have a distribution for each class, or one that all classes share
# --------------------------------------------------------------------------------------------------


@pytree
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
    def of(family: Any, prob: np.ndarray) -> "FeatureInclusion":
        """The prior that includes each feature with a probability (features,); a family that each class has alike."""
        kind = _JointInclusion if isinstance(family, JointFamily) else FeatureInclusion
        return kind(family, family.take(slice(0, 1)), logit(prob)[None])

    # Cells, statistics, and the parameters of each class are those of the inner family.
    cell: ClassVar[Any] = property(attrgetter("family.cell"))
    support = property(attrgetter("family.support"))
    own_support: ClassVar[Any] = property(lambda self: support_of(self.family))
    fractional: ClassVar[Any] = property(lambda self: accepts_fractions(self.family))
    whole_rows: ClassVar[Any] = property(attrgetter("family.whole_rows"))
    needs: ClassVar[Any] = property(lambda self: partial(stated_needs, self.family))
    statistics: ClassVar[Any] = property(attrgetter("family.statistics"))
    possible: ClassVar[Any] = property(attrgetter("family.possible"))
    prior: ClassVar[Any] = property(attrgetter("family.prior"))
    likelihood: ClassVar[Any] = property(attrgetter("family.likelihood"))
    log_likelihood: ClassVar[Any] = property(attrgetter("family.log_likelihood"))

    @property
    def prob(self) -> np.ndarray:
        """Probability that a feature depends on the class, shape (1, features)."""
        return expit(self.log_odds)

    def take(self, index: Any) -> Self:
        own, *others = index if isinstance(index, tuple) else (index,)
        # What all classes share has a class axis of length one.
        of_all = own if own is None else slice(None) if isinstance(own, slice) else np.zeros_like(own)
        shared = (of_all, *others) if others else of_all
        return replace(
            self, family=self.family.take(index), shared=self.shared.take(shared), log_odds=self.log_odds[shared]
        )

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
        family, shared = given(self.family, statistics), given(self.shared, statistics.pooled())
        return replace(self, family=family, shared=shared, log_odds=self.log_odds + self.log_bayes_factor(statistics))

    def log_evidence(self, statistics: Any) -> Any:
        """Log density of the rows with these statistics, parameters integrated out, of all classes: (1, features)."""
        return log_mixture(self.log_odds, *self.log_evidences(statistics))

    def cell_log_predictive(self, x: Any) -> Any:
        own, of_all = (family.cell_log_predictive(x) for family in (self.family, self.shared))
        return log_mixture(self.log_odds, own, of_all)

    def mean(self) -> dict[str, Any]:
        own, of_all = self.family.mean(), self.shared.mean()
        return {
            name: formulas.weighted_mean(_with_axes(self.prob, np.ndim(value)), value, of_all[name])
            for name, value in own.items()
        }

    def marginals(self) -> dict[str, Any]:
        of_all = self.shared.marginals()
        return {
            name: formulas.MixtureOfTwo(_with_axes(self.prob, len(own.batch_shape)), own, of_all[name])
            for name, own in self.family.marginals().items()
        }

    def drawn(
        self, own: Parameters, of_all: Parameters, sample_shape: tuple[int, ...], rng: np.random.Generator
    ) -> dict[str, Any]:
        """Draws of the parameters, given draws of those for each class and of those that all classes share."""
        depends = rng.uniform(size=(*sample_shape, *np.shape(self.log_odds))) < self.prob
        return {name: np.where(_with_axes(depends, np.ndim(value)), value, of_all[name]) for name, value in own.items()}


@pytree
class _JointInclusion(FeatureInclusion, JointFamily):
    """A block of columns that are one observation, included with some probability."""

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
