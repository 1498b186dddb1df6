"""The importances of columns: mean absolute log odds of rows that are left out of the fit, as refits have them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import RFE, SelectFromModel
from slow import names_fast

import bayesnb as nb
from bayesnb.posterior.weighted_posterior import WeightedPosterior


def table(rows=24):
    rng = np.random.default_rng(4)
    code = np.arange(rows) % 3
    X = pd.DataFrame(
        {
            "a": rng.normal(code, 1.0),
            "free": rng.choice(["x", "y"], rows),
            "b": rng.normal(-code, 2.0),
            "c": rng.choice(["s", "t", "u"], rows),
            "d": rng.poisson(1.0 + code),
        }
    )
    X.loc[3, "a"] = np.nan
    return X, np.array(["p", "q", "r"])[code]


SINGLE = {"a": nb.Gaussian(0.0, 0.1, 1.0, 1.0), "c": nb.Categorical(), "d": nb.Poisson(1.0, 1.0)}
MODELS = {
    "single": nb.NaiveBayes(SINGLE),
    "block": nb.NaiveBayes({"d": SINGLE["d"], "c & free": (nb.JointCategorical(), ["c", "free"])}),
}


def by_refits(classifier, model, X, y, weights):
    """From `explain` of each row under the fit of the others, with the weights of all."""
    probs = classifier.posterior_.class_probs()
    classes = classifier.classes_.tolist()
    found = np.zeros((len(X), X.shape[1]))
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        posterior = nb.fit(model, X[others], y[others], sample_weight=weights[others])
        if classifier.posterior_.feature_weights is not None:
            posterior = WeightedPosterior(posterior, classifier.posterior_.feature_weights)
        for k, label in enumerate(classes):
            for c in range(k):
                log_odds = posterior.explain(X.iloc[[i]], label, classes[c], num_draws=1)["log_odds"]
                for place, name in enumerate(X.columns):
                    parts = log_odds.get(name, 0.0)
                    if name in ("c", "free"):
                        parts += log_odds.get("c & free", 0.0) / 2
                    found[i, place] += probs[k] * probs[c] * abs(parts)
    return np.average(found, axis=0, weights=weights) / ((1 - (probs**2).sum()) / 2)


@pytest.mark.parametrize("weights", [pytest.param(None, marks=pytest.mark.slow), "each", "shared"])
@pytest.mark.parametrize("name", names_fast(MODELS, {"block"}))
def test_they_are_those_of_refits(name, weights):
    X, y = table()
    of_rows = np.ones(len(X)) if name == "block" else 0.5 + np.arange(len(X)) % 4
    classifier = nb.NaiveBayesClassifier(MODELS[name], feature_weights=weights).fit(X, y, of_rows)
    expected = by_refits(classifier, MODELS[name], X, y, of_rows)
    np.testing.assert_allclose(classifier.feature_importances_, expected, rtol=1e-7, atol=1e-12)
    assert classifier.feature_importances_.shape == (classifier.n_features_in_,)
    assert classifier.feature_importances_[2] == 0.0  # no feature describes it


def test_columns_are_eliminated_and_selected_by_them():
    rng = np.random.default_rng(1)
    y = np.arange(300) % 2
    X = rng.normal(size=(300, 6)) + y[:, None] * np.array([0, 2.0, 0, 0, 1.5, 0])
    expected = [False, True, False, False, True, False]
    assert RFE(nb.NaiveBayesClassifier(), n_features_to_select=2).fit(X, y).support_.tolist() == expected
    assert SelectFromModel(nb.NaiveBayesClassifier()).fit(X, y).get_support().tolist() == expected


def test_batches_have_those_of_the_rows_that_are_kept(tmp_path):
    X, y = table(60)
    batches = nb.NaiveBayesClassifier()
    for rows in np.array_split(np.arange(60), 2):
        batches.partial_fit(X.iloc[rows], y[rows], classes=["p", "q", "r"])
    whole = nb.NaiveBayesClassifier().fit(X, y)
    np.testing.assert_allclose(batches.feature_importances_, whole.feature_importances_, rtol=1e-9)
    batches.save(tmp_path / "batches.nb")
    np.testing.assert_array_equal(nb.load(tmp_path / "batches.nb").feature_importances_, batches.feature_importances_)
    some = nb.NaiveBayesClassifier(keep_rows=20).partial_fit(X, y, classes=["p", "q", "r"])
    some.partial_fit(X, y)
    assert len(some._kept) == 20
    assert (some.feature_importances_ > 0).any()


WITHOUT = {
    "points": lambda X, y: nb.NaiveBayesClassifier(MODELS["single"], inference="map").fit(X, y),
    "words": lambda X, y: nb.NaiveBayesClassifier(nb.Multinomial(), feature_weights=None).fit(X[["d"]].assign(e=1), y),
    "another population": lambda X, y: nb.NaiveBayesClassifier().fit(X, y).with_class_probs([0.2, 0.3, 0.5]),
    "no kept rows": lambda X, y: (
        nb.NaiveBayesClassifier(keep_rows=0).partial_fit(X, y, classes=["p", "q", "r"]).partial_fit(X, y)
    ),
    "forgotten": lambda X, y: nb.NaiveBayesClassifier(MODELS["single"]).fit(X, y).forget(X[:3], y[:3]),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_where_there_are_none_an_error_names_the_way_out(name):
    with pytest.raises(AttributeError, match=r"there is none for draws and points.*nb\.effects\(classifier, X\)"):
        _ = WITHOUT[name](*table()).feature_importances_


def test_effects_of_a_classifier_are_in_their_order():
    X, y = table(90)
    classifier = nb.NaiveBayesClassifier(MODELS["single"]).fit(X, y)
    heads = [axis.get_title() for axis in nb.plot_effects(classifier, X).axes]
    order = np.argsort(-classifier.feature_importances_)[:3]
    assert heads == [f"{X.columns[k]}: {classifier.feature_importances_[k]:.2g} on average" for k in order]
