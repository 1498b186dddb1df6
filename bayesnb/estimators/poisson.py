"""Naive Bayes for counts of independent events."""

from dataclasses import replace
from typing import Any

from sklearn.utils.validation import check_non_negative

from bayesnb.arrays import log
from bayesnb.estimators.base import Estimator
from bayesnb.estimators.classes import class_probs
from bayesnb.estimators.read import named, read_numbers
from bayesnb.families.poisson import Poisson
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.problem import Problem
from bayesnb.tables.table import Table

__all__ = ["PoissonNB"]


class PoissonNB(Estimator):
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

    def __init__(
        self,
        *,
        prior: Poisson | None = None,
        fit_prior: bool = True,
        class_prior: Any = None,
        inference: Any = "exact",
        predictive: str = "exact",
        feature_inclusion: Any = None,
        unlabelled: Any = None,
        decay: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.prior = prior
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.inference = inference
        self.predictive = predictive
        self.feature_inclusion = feature_inclusion
        self.unlabelled = unlabelled
        self.decay = decay
        self.random_state = random_state

    def _read(self, X: Any, *, reset: bool) -> Table:
        X = read_numbers(self, X, reset=reset)
        check_non_negative(X, f"{type(self).__name__} (input X)")
        return named(self, X)

    def _model(self, table: Table, labels: Any, weight: Any) -> NaiveBayes:
        family = Poisson() if self.prior is None else self.prior
        if not isinstance(family, Poisson):
            raise TypeError(f"prior is {family!r}: give nb.Poisson(...)")
        probs = class_probs(self.classes_, self.class_prior, self.fit_prior)
        fractional = replace(family, fractional=True)
        return NaiveBayes(fractional, class_probs=probs, feature_inclusion=self.feature_inclusion)

    def _note(self, problem: Problem) -> None:
        self.class_log_prior_ = log(problem.posterior_classes.mean())
        self.rate_ = problem.posterior_families[0].mean()["rate"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
