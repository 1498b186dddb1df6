"""Naive Bayes as scikit-learn estimators, with scikit-learn's names, arguments and attributes.

Every estimator describes a `NaiveBayes` model and fits it. The fitted estimator holds the posterior in `posterior_`.
"""

from bayesnb.estimators.bernoulli import BernoulliNB
from bayesnb.estimators.categorical import CategoricalNB
from bayesnb.estimators.dirichlet_multinomial import DirichletMultinomialNB
from bayesnb.estimators.gaussian import GaussianNB
from bayesnb.estimators.generic import NaiveBayesClassifier
from bayesnb.estimators.multinomial import MultinomialNB
from bayesnb.estimators.poisson import PoissonNB

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "DirichletMultinomialNB",
    "GaussianNB",
    "MultinomialNB",
    "NaiveBayesClassifier",
    "PoissonNB",
]
