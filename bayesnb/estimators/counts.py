"""Estimators of counts."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted, check_non_negative

from bayesnb.core.arrays import log
from bayesnb.core.checking import warn
from bayesnb.data.tables import Table
from bayesnb.estimators.base import Estimator, named, read_counts, read_numbers
from bayesnb.families.dirichlet_multinomial import DirichletMultinomial
from bayesnb.families.rates import Poisson
from bayesnb.families.statistics import Counts
from bayesnb.families.words import Multinomial
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.model.problem import Problem

__all__ = ["DirichletMultinomialNB", "Discrete", "MultinomialNB", "PoissonNB", "Smoothed"]

# --------------------------------------------------------------------------------------------------
# The base classes of estimators of counts and categories: scikit-learn's smoothing and fitted attributes
# --------------------------------------------------------------------------------------------------

ALPHA_MIN = 1e-10
"""scikit-learn's smallest alpha if `force_alpha` is False."""


@dataclass(eq=False, repr=False, kw_only=True)
class WithClassPrior(Estimator):
    """An estimator with scikit-learn's class prior."""

    fit_prior: bool = True
    class_prior: Any = None

    def _class_probs(self) -> Any:
        """The class probabilities of the model.

        Raises
        ------
        ValueError
            If the number of probabilities is not that of the classes.
        """
        if self.class_prior is None:
            return "empirical" if self.fit_prior else np.full(len(self.classes_), 1 / len(self.classes_))
        if len(self.class_prior) != len(self.classes_):
            raise ValueError("Number of priors must match number of classes.")
        return np.asarray(self.class_prior, dtype=np.float64)

    def _note(self, problem: Problem) -> None:
        self.class_log_prior_ = log(problem.posterior.classes.mean())


@dataclass(eq=False, repr=False, kw_only=True)
class Discrete(WithClassPrior):
    """An estimator with scikit-learn's smoothing parameters."""

    alpha: Any = 1.0
    force_alpha: bool = True

    def _check_alpha(self) -> Any:
        """The smoothing that is used, checked with scikit-learn's error messages."""
        alpha: Any = self.alpha if isinstance(self.alpha, Real) else np.asarray(self.alpha, dtype=np.float64)
        if isinstance(alpha, np.ndarray) and alpha.shape[0] != self.n_features_in_:
            raise ValueError(
                "When alpha is an array, it should contains `n_features`. "
                f"Got {alpha.shape[0]} elements instead of {self.n_features_in_}."
            )
        smallest = np.min(alpha)
        if not np.isfinite(alpha).all() or smallest < 0:
            raise ValueError("All values in alpha must be greater than 0.")
        if smallest < ALPHA_MIN and not self.force_alpha:
            warn(
                f"alpha too small will result in numeric errors, setting alpha = {ALPHA_MIN:.1e}. Use "
                "`force_alpha=True` to keep alpha unchanged.",
                UserWarning,
            )
            return np.maximum(alpha, ALPHA_MIN)
        return alpha

    def _concentration(self) -> Any:
        """Concentration of the prior: alpha, or the smallest normal float64 in place of zero."""
        return np.maximum(self._alpha, np.finfo(np.float64).tiny)

    def _start(self, table: Table, labels: np.ndarray, sample_weight: Any) -> None:
        self._alpha = self._check_alpha()
        super()._start(table, labels, sample_weight)


class Counting(WithClassPrior):
    """An estimator whose features are counted. Attributes as large as the counts are computed when they are read."""

    @property
    def feature_count_(self) -> np.ndarray:
        """Total of each feature in each class, shape (n_classes, n_features)."""
        return self._counted.total.copy()

    @property
    def _counted(self) -> Counts:
        check_is_fitted(self)
        counted: Any = self._problem.statistics.blocks[0]
        return counted


class Smoothed(Counting, Discrete):
    """An estimator that smooths its counts."""

    @property
    def feature_log_prob_(self) -> np.ndarray:
        """Log of the smoothed share of each feature in each class, shape (n_classes, n_features)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._log_prob(self._counted)

    @abstractmethod
    def _log_prob(self, counted: Counts) -> np.ndarray: ...


# --------------------------------------------------------------------------------------------------
# Naive Bayes for counts of independent events
# --------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False, kw_only=True)
class PoissonNB(WithClassPrior):
    """Naive Bayes for counts of independent events: each feature is Poisson, with a gamma prior on its rate.

    Parameters
    ----------
    prior : Poisson, optional
        The prior on the rates.
    fit_prior, class_prior, inference, predictive, feature_inclusion, unlabelled, decay, random_state
        As for `BernoulliNB`.

    Attributes
    ----------
    posterior_, classes_, class_count_, class_log_prior_, n_features_in_
        As for `BernoulliNB`.
    rate_ : array of shape (n_classes, n_features)
        Posterior mean of the rates.

    See Also
    --------
    bayesnb.estimators.MultinomialNB : Count vectors.
    bayesnb.Poisson : Counts.

    Examples
    --------
    >>> from bayesnb.estimators import PoissonNB
    >>> X, y = [[1], [2], [7], [5]], ["a", "a", "b", "b"]
    >>> classifier = PoissonNB().fit(X, y)
    >>> classifier.rate_.round(2)
    array([[1.76],
           [5.74]])
    """

    _input_tags: ClassVar = {"positive_only": True}

    prior: Poisson | None = None
    feature_inclusion: Any = None

    def _read(self, X: Any, *, reset: bool) -> Table:
        X = read_numbers(self, X, reset=reset)
        check_non_negative(X, f"{type(self).__name__} (input X)")
        return named(self, X)

    def _model(self, table: Table, labels: Any, weight: Any) -> NaiveBayes:
        family = Poisson() if self.prior is None else self.prior
        if not isinstance(family, Poisson):
            raise TypeError(f"prior is {family!r}: give nb.Poisson(...)")
        fractional = replace(family, fractional=True)
        return NaiveBayes(fractional, class_probs=self._class_probs(), feature_inclusion=self.feature_inclusion)

    def _note(self, problem: Problem) -> None:
        super()._note(problem)
        self.rate_ = problem.posterior.families[0].mean()["rate"]


# --------------------------------------------------------------------------------------------------
# Naive Bayes for count vectors
# --------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False, kw_only=True)
class MultinomialNB(Smoothed):
    """Naive Bayes for count vectors, with scikit-learn's arguments and a posterior.

    The exact predictive of a document is Dirichlet-multinomial; ``predictive="plugin"`` gives scikit-learn's numbers,
    which are overconfident for long documents. Weights that are not counts (tf-idf) are accepted, as in scikit-learn.
    The result is then not a probability, and ``predictive="plugin"`` is the better choice: with ``alpha=0.01`` the
    exact formula loses 0.4 to 1.6 points of macro-F1 on tf-idf of three tables (docs/real-data.md).

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default 1.0
        Concentration of the Dirichlet prior on each class's word probabilities.
    force_alpha, fit_prior, class_prior, inference, predictive, unlabelled, decay, random_state
        As for `BernoulliNB`.

    Attributes
    ----------
    posterior_, classes_, class_count_, class_log_prior_, feature_count_, feature_log_prob_, n_features_in_
        As for `BernoulliNB`.

    See Also
    --------
    bayesnb.estimators.DirichletMultinomialNB : Count vectors in which words come in bursts.
    bayesnb.Multinomial : Count vectors.

    Examples
    --------
    >>> from bayesnb.estimators import MultinomialNB
    >>> X, y = [[9, 0, 1], [8, 1, 0], [0, 7, 2], [1, 0, 8]], ["a", "a", "b", "b"]
    >>> classifier = MultinomialNB().fit(X, y)
    >>> classifier.predict_proba([[1, 1, 0]]).round(3)
    array([[0.673, 0.327]])
    >>> MultinomialNB(predictive="plugin").fit(X, y).predict_proba([[1, 1, 0]]).round(3)
    array([[0.672, 0.328]])
    """

    _input_tags: ClassVar = {"allow_nan": False, "positive_only": True}

    def _read(self, X: Any, *, reset: bool) -> Table:
        return read_counts(self, X, reset=reset)

    def _model(self, table: Table, labels: Any, weight: Any) -> NaiveBayes:
        family = Multinomial(self._concentration(), fractional=True)
        return NaiveBayes(family, class_probs=self._class_probs())

    def _log_prob(self, counted: Counts) -> np.ndarray:
        smoothed = counted.total + self._alpha
        return np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True))


# --------------------------------------------------------------------------------------------------
# Naive Bayes for count vectors in which words come in bursts
# --------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False, kw_only=True)
class DirichletMultinomialNB(Counting):
    """Naive Bayes for count vectors in which words come in bursts: the Dirichlet compound multinomial.

    scikit-learn has no such estimator. In a pipeline of counts this one can replace `MultinomialNB`. Weights that are
    not counts (tf-idf) are accepted, as in scikit-learn; the result is then not a probability.

    Parameters
    ----------
    concentration, rate : float or array-like of shape (n_features,), default 1.5 and 0.1
        Gamma prior on each concentration.
    fit_prior, class_prior
        As for `BernoulliNB`.
    inference : {"map", "mle", "nuts"} or Inference, default "map"
        How to fit; there is no closed form. Maximum likelihood has an estimate only if the counts of every class vary
        more than a multinomial's. It gives a document probability zero in a class that never shows one of its words.
    unlabelled, decay
        As for `BernoulliNB`.
    random_state : int, RandomState instance or None, default None
        For inferences and intervals that draw.

    Attributes
    ----------
    posterior_ : Posterior
    classes_ : array of shape (n_classes,)
    class_count_, class_log_prior_ : array of shape (n_classes,)
    feature_count_ : array of shape (n_classes, n_features)
        Total count of each feature in each class.
    concentration_ : array of shape (n_classes, n_features)
        Estimated concentrations; with ``inference="nuts"`` their posterior mean.
    n_features_in_ : int

    See Also
    --------
    bayesnb.estimators.MultinomialNB : Count vectors.
    bayesnb.DirichletMultinomial : Count vectors in which words come in bursts.

    Examples
    --------
    >>> from bayesnb.estimators import DirichletMultinomialNB
    >>> X, y = [[9, 0, 1], [8, 1, 0], [0, 7, 2], [1, 0, 8]], ["a", "a", "b", "b"]
    >>> classifier = DirichletMultinomialNB().fit(X, y)
    >>> classifier.predict([[3, 0, 0], [0, 1, 2]])
    array(['a', 'b'], dtype='<U1')
    """

    _input_tags: ClassVar = {"allow_nan": False, "positive_only": True}
    predictive: ClassVar[str] = "exact"  # type: ignore[misc]  # no parameter

    concentration: Any = 1.5
    rate: Any = 0.1
    inference: Any = "map"

    def _read(self, X: Any, *, reset: bool) -> Table:
        return read_counts(self, X, reset=reset)

    def _model(self, table: Table, labels: Any, weight: Any) -> NaiveBayes:
        family = DirichletMultinomial(self.concentration, self.rate, fractional=True)
        return NaiveBayes(family, class_probs=self._class_probs())

    def _note(self, problem: Problem) -> None:
        super()._note(problem)
        self.concentration_ = self.posterior_.mean()["x_concentration"]
