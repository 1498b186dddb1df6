"""Further descriptions of columns that depend on each other, and the classifier that takes them by default."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bayesnb as nb
from bayesnb.core.running import random_generator
from bayesnb.estimators import NaiveBayesClassifier


def simulated(rows):
    """Three numbers and two categories that depend on each other within the classes, and two columns that do not."""
    rng = np.random.default_rng(3)
    y = np.repeat(["left", "right"], rows // 2)
    shared, first = rng.normal(size=rows), rng.integers(0, 3, rows)
    X = pd.DataFrame({name: 2 * shared + rng.normal(size=rows) for name in "abc"})
    X["alone"] = rng.normal(size=rows) + (y == "left")
    X["first"] = np.array(["x", "y", "z"])[first]
    X["second"] = np.where(rng.uniform(size=rows) < 0.8, X["first"], rng.choice(["x", "y", "z"], rows))
    X["coin"] = rng.choice(["heads", "tails"], rows)
    # The labels depend on whether two numbers agree, which no column tells alone.
    X["b"] *= np.where(y == "left", 1, -1)
    return X, y


@pytest.fixture(scope="module")
def table():
    return simulated(400)


def proposed(X, y, **options):
    return nb.propose_descriptions(nb.NaiveBayes.from_frame(X, y), X, y, **options)


def described_again(model, X):
    return {name: columns for name, (_, columns) in model.features.items() if name not in X}


@pytest.mark.parametrize("form", ["frame", "array", "many rows", "bound", "fitted", "infinite"])
def test_blocks_and_parents_of_the_columns_that_depend(table, form):
    X, y = table
    given, labels = X, y
    model = nb.NaiveBayes.from_frame(X, y)
    if form == "array":
        given, model = X.to_numpy(dtype=object), nb.NaiveBayes.from_frame(X.to_numpy(dtype=object), y)
    elif form == "many rows":
        given, labels = simulated(12_000)
    elif form == "bound":
        model = model.bind(X[X.columns[::-1]], y)
    elif form == "fitted":
        model = NaiveBayesClassifier(descriptions=None).fit(X, y)
    elif form == "infinite":
        given = X.assign(alone=X["alone"].where(X["alone"] < 2, np.inf))
        model = nb.NaiveBayes(model.features | {"alone": nb.Histogram()})
    found = nb.propose_descriptions(model, given, labels, key=1)
    again = {name: feature for name, feature in found.features.items() if feature[1] is not None}
    names = list(X)
    columns = {frozenset(names[c] if form == "array" else c for c in columns) for _, columns in again.values()}
    assert frozenset("abc") in columns
    assert frozenset({"first", "second"}) in columns
    assert not any({"alone", "coin"} & each for each in columns)
    assert {type(family) for family, _ in again.values()} == {nb.Given, nb.MultivariateGaussian}


@pytest.mark.parametrize("columns", [["a"], ["alone", "coin"], ["first", "coin"]])
def test_the_model_itself_where_nothing_depends(table, columns):
    X, y = table
    model = nb.NaiveBayes.from_frame(X[columns], y)
    assert nb.propose_descriptions(model, X[columns], y).features == model.features


def test_columns_that_are_called_as_descriptions_are(table):
    X, y = table
    model = proposed(X, y)
    edge = next(name for name in described_again(model, X) if "given" in name)
    named = X.rename(columns={"coin": "a & b & c", "alone": edge})
    found = proposed(named, y)
    again = [*described_again(model, X)]
    expected = [
        f"{name} ({kind[name]})" if name in (kind := {edge: "tree", "a & b & c": "block"}) else name for name in again
    ]
    assert [*found.features] == [*named, *expected]
    weighted, others = nb.weight_features(found, named, y), nb.weight_features(model, X, y)
    np.testing.assert_allclose(weighted.predict_proba(named), others.predict_proba(X), rtol=1e-12)


def test_more_than_two_hundred_columns_are_described_once(table):
    X, y = table
    wide = pd.DataFrame({f"{name}{copy}": X[name] for copy in range(51) for name in ("a", "b", "c", "first")})
    model = nb.NaiveBayes.from_frame(wide)
    assert nb.propose_descriptions(model, wide, y).features == model.features


@pytest.mark.parametrize("rare", ["class", "cells"])
def test_all_rows_decide_where_a_sample_lacks_a_class_or_a_column(rare):
    X, y = simulated(12_000)
    row = np.arange(12_000)
    there = next(k for k in range(50) if k not in set(random_generator(0).choice(12_000, 10_000, replace=False)))
    if rare == "class":
        y = np.where(row == there, "rare", "common")
    else:
        X["note"] = np.where(row == there, "text", None)
    found = described_again(proposed(X, y, key=0), X)
    assert {"first", "second"} in [{*columns} for columns in found.values()]


def test_numbers_that_are_described_again_already(table):
    X, y = table
    model = nb.NaiveBayes({"a": nb.Gaussian(), "b": nb.Gaussian(), "c": nb.Gaussian(), "b again": (nb.Gaussian(), "b")})
    found = nb.propose_descriptions(model, X, y).features
    assert found["a & b & c"][1] == ["a", "b", "c"]


def test_rows_of_weight_zero_do_not_count(table):
    X, y = table
    # Rows that tell of a dependence between the two columns that have none.
    odd = X.iloc[:150].assign(coin=np.where(X["alone"][:150] > 0, "heads", "tails"))
    both, labels = pd.concat([X, odd], ignore_index=True), np.concatenate([y, y[:150]])
    weight = np.repeat([1.0, 0.0], [len(X), 150])
    model = nb.NaiveBayes.from_frame(X, y)
    found = nb.propose_descriptions(model, both, labels, sample_weight=weight)
    assert found.features.keys() == nb.propose_descriptions(model, X, y).features.keys()


def test_the_classifier_learns_weights_of_the_proposed_descriptions(table):
    X, y = table
    classifier = NaiveBayesClassifier().fit(X, y)
    stay = {name: feature for name, feature in proposed(X, y).features.items() if name in classifier.weights_.index}
    posterior = nb.weight_features(nb.NaiveBayes(stay), X, y)
    np.testing.assert_allclose(classifier.predict_proba(X), posterior.predict_proba(X), rtol=1e-12)
    assert [*classifier.weights_.index] == [*posterior.weights.index]
    once = NaiveBayesClassifier(descriptions=None).fit(X, y)
    alone = nb.weight_features(nb.fit(nb.NaiveBayes.from_frame(X, y), X, y), X, y)
    np.testing.assert_allclose(once.predict_proba(X), alone.predict_proba(X), rtol=1e-12)
    assert nb.calibration(classifier, X, y).table.loc["log_score", "posterior"] > -0.45
    assert nb.calibration(once, X, y).table.loc["log_score", "posterior"] < -0.5


def test_a_forgotten_batch_leaves_the_descriptions_of_the_first(table):
    X, y = table
    order = np.random.default_rng(0).permutation(len(X))
    first, second = order[:200], order[200:]
    classifier = NaiveBayesClassifier().partial_fit(X.iloc[first], y[first], classes=["left", "right"])
    before = [*classifier.weights_.index]
    classifier.partial_fit(X.iloc[second], y[second]).forget(X.iloc[second], y[second])
    assert [*classifier.weights_.index] == before
    once = NaiveBayesClassifier().fit(X.iloc[first], y[first])
    joint = (fitted.posterior_.plain.log_joint(X) for fitted in (classifier, once))
    np.testing.assert_allclose(*joint, rtol=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"feature_weights": None},
        {"feature_weights": "shared"},
        {"predictive": "plugin"},
        {"feature_inclusion": 0.5},
        {"inference": "map"},
        {"descriptions": None},
        {"model": nb.NaiveBayes({"a": nb.Gaussian(), "b": nb.Gaussian()})},
    ],
    ids=str,
)
def test_the_classifier_describes_columns_once_without_a_weight_each_or_with_a_model(table, options):
    X, y = table
    classifier = NaiveBayesClassifier(**options).fit(X, y)
    assert described_again(classifier.model_, X) == {}


def test_the_checks_of_a_classifier_are_those_of_the_columns_described_once(table):
    X, y = table
    classifier, once = (NaiveBayesClassifier(**options).fit(X, y) for options in ({}, {"descriptions": None}))
    checks = [nb.check(each, X, y, num_replicates=50).table for each in (classifier, once)]
    pd.testing.assert_frame_equal(*checks)


@pytest.mark.parametrize("readings", [False, True])
def test_further_descriptions_that_tell_nothing_leave(table, readings):
    """As if the model never had them, wherever they are among the others."""
    X, y = table
    if readings:
        X = X.assign(alone=X["alone"].mask(np.random.default_rng(1).random(len(X)) < 0.2 + 0.3 * (y == "left")))
    model = proposed(X, y)
    noise = {"coin given alone": (nb.Given(), ["coin", "alone"]), "a again": (nb.Histogram(), "a")}
    telling = {name: feature for name, feature in model.features.items() if name not in X}
    features = {**{name: model.features[name] for name in X}, **noise, **telling, "c again": (nb.Gaussian(), "c")}
    found = NaiveBayesClassifier(nb.NaiveBayes(features)).fit(X, y).posterior_
    kept = [*found.weights.index]
    assert {*X, "a & b & c"} <= {*kept} <= {*model.features}
    assert ("alone is missing" in kept) == readings
    assert [*found.model.features] == kept
    expected = nb.weight_features(nb.NaiveBayes({name: features[name] for name in kept}), X, y)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-9)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(found.plain.log_joint(X), expected.plain.log_joint(X), rtol=1e-12)


def test_bad_arguments_of_the_classifier(table):
    X, y = table
    with pytest.raises(ValueError, match='descriptions=\'many\': give "auto", "columns" or None'):
        NaiveBayesClassifier(descriptions="many").fit(X, y)
    model = nb.NaiveBayes({"a": nb.Gaussian(), "a again": (nb.Histogram(), "a")})
    given = clone(NaiveBayesClassifier(model))
    assert [*given.fit(X, y).weights_.index] == ["a"]
    with pytest.raises(ValueError, match="an estimator without feature_weights needs a distribution of the rows"):
        given.set_params(feature_weights=None).fit(X, y)
