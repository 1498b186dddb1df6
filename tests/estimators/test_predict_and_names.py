"""Decisions by an estimator's `predict`, and names of words in a pipeline."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import bayesnb as nb
from bayesnb.estimators import BernoulliNB, MultinomialNB, NaiveBayesClassifier

X = np.array([[1, 1], [1, 0], [1, 1], [0, 0], [0, 1], [0, 0]])
Y = ["ill", "ill", "ill", "well", "well", "well"]
LOSS = np.array([[0.0, 1.0], [9.0, 0.0]])


@pytest.mark.parametrize("estimator", [BernoulliNB(), BernoulliNB(predictive="plugin"), NaiveBayesClassifier()])
def test_decisions_follow_from_the_probabilities(estimator):
    with pytest.raises(NotFittedError):
        estimator.predict(X, loss=LOSS)
    estimator.fit(X, Y)
    proba = estimator.predict_proba(X)
    np.testing.assert_array_equal(estimator.predict(X, loss=LOSS), estimator.classes_[(proba @ LOSS.T).argmin(axis=1)])
    expected = [estimator.classes_[row.argmax()] if row.max() >= 0.8 else "ask" for row in proba]
    assert estimator.predict(X, confidence=0.8, abstain="ask").tolist() == expected
    assert "ask" in expected
    pipeline = make_pipeline(estimator)
    np.testing.assert_array_equal(pipeline.predict(X, loss=LOSS), estimator.predict(X, loss=LOSS))
    with pytest.raises(ValueError, match="abstain"):
        estimator.predict(X, abstain="ask")


def test_a_pipeline_names_the_words():
    texts, y = ["red tea", "red cake", "blue rum", "blue coke"], ["x", "x", "z", "z"]
    vectorizer = CountVectorizer()
    pipeline = make_pipeline(vectorizer, MultinomialNB())
    pipeline.fit(texts, y, multinomialnb__feature_names=vectorizer.get_feature_names_out)
    assert pipeline[-1].posterior_.model.schema.columns == tuple(vectorizer.get_feature_names_out())
    assert {*nb.telling_features(pipeline[-1])["feature"]} == {*vectorizer.get_feature_names_out()}
    with pytest.raises(ValueError, match="names"):
        MultinomialNB().fit(X, Y, feature_names=lambda: ["one"])
