"""A pytest plugin that puts this package's estimators in the place of scikit-learn's before its tests are collected."""

import os

import sklearn.naive_bayes

from bayesnb import estimators

for name in ("BernoulliNB", "CategoricalNB", "GaussianNB", "MultinomialNB"):
    estimator = getattr(estimators, name)
    estimator.__init__.__kwdefaults__["predictive"] = os.environ["BAYESNB_PREDICTIVE"]
    setattr(sklearn.naive_bayes, name, estimator)
