"""Where scikit-learn computes the exact predictive, the numbers are its numbers."""

import numpy as np
import pytest
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, MultinomialNB

import bayesnb as nb


@pytest.mark.parametrize("alpha", [0.3, 1.0, 2.5])
def test_categorical(rng, alpha):
    X, y = rng.integers(0, 4, (60, 5)), rng.integers(0, 3, 60)
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical(alpha, categories=range(4))), X, y)
    class_prior = (1 + np.bincount(y)) / (3 + 60)
    theirs = CategoricalNB(alpha=alpha, class_prior=class_prior, min_categories=4).fit(X, y)
    np.testing.assert_allclose(posterior.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 2.5])
def test_bernoulli(rng, alpha):
    X, y = rng.integers(0, 2, (60, 5)), rng.integers(0, 3, 60)
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli(alpha, alpha)), X, y)
    class_prior = (1 + np.bincount(y)) / (3 + 60)
    theirs = BernoulliNB(alpha=alpha, class_prior=class_prior).fit(X, y)
    np.testing.assert_allclose(posterior.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-12)


def test_multinomial_plug_in(rng):
    X, y = rng.poisson(2.0, (60, 5)), rng.integers(0, 3, 60)
    posterior = nb.fit(nb.NaiveBayes(nb.Multinomial(0.7), class_probs="empirical"), X, y)
    theirs = MultinomialNB(alpha=0.7).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(posterior.plugin().predict_proba(X), theirs, rtol=0, atol=1e-12)
    assert np.abs(posterior.predict_proba(X) - theirs).max() > 1e-3
