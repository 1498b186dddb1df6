"""Naive Bayes for count vectors in which words come in bursts."""

from typing import Any

from bayesnb.arrays import log
from bayesnb.estimators.classes import class_probs
from bayesnb.estimators.read import read_counts
from bayesnb.estimators.smoothing import Counting
from bayesnb.families.dirichlet_multinomial import DirichletMultinomial
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.problem import Problem
from bayesnb.tables.table import Table

__all__ = ["DirichletMultinomialNB"]


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

    predictive = "exact"

    def __init__(
        self,
        *,
        concentration: Any = 1.5,
        rate: Any = 0.1,
        fit_prior: bool = True,
        class_prior: Any = None,
        inference: Any = "map",
        unlabelled: Any = None,
        decay: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.concentration = concentration
        self.rate = rate
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.inference = inference
        self.unlabelled = unlabelled
        self.decay = decay
        self.random_state = random_state

    def _read(self, X: Any, *, reset: bool) -> Table:
        return read_counts(self, X, reset=reset)

    def _model(self, table: Table, labels: Any, weight: Any) -> NaiveBayes:
        family = DirichletMultinomial(self.concentration, self.rate, fractional=True)
        return NaiveBayes(family, class_probs=class_probs(self.classes_, self.class_prior, self.fit_prior))

    def _note(self, problem: Problem) -> None:
        self.class_log_prior_ = log(problem.posterior_classes.mean())
        self.concentration_ = self.posterior_.mean()["x_concentration"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.positive_only = True
        return tags
