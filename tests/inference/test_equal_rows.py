"""Equal rows without a label are one row with a weight: the posterior is that of the rows one by one."""

import itertools

import numpy as np
import pandas as pd
import pytest
from arviz_stats.base import array_stats
from scipy.special import betaln, gammaln, softmax

import bayesnb as nb
from bayesnb.inference.gibbs import _draw_labels

CRITICAL_Z = 4.5
PATTERNS = np.array([[1.0, 1, 0], [0, 1, 1], [np.nan, 0, 1], [1, 1, 0]])
X = PATTERNS[[0, 1, 0, 2, 3, 1, 0, 2, 1, 0]]
Y = ["a", "b", None, None, None, None, None, None, None, None]


def fitted(inference, monkeypatch, *, grouped):
    monkeypatch.setattr("bayesnb.model.problem.MOST_DISTINCT", 0.5 if grouped else -1.0)
    posterior = nb.fit(nb.Bernoulli(2.0, 1.5), X, Y, inference, key=1)
    assert len(posterior.problem.unlabelled) == (3 if grouped else 8)
    assert posterior.problem.unlabelled.weights.sum() == 8
    return posterior


@pytest.mark.parametrize("inference", [nb.EM(), nb.MAP(), nb.MLE()], ids=["EM", "MAP", "MLE"])
def test_a_point_estimate_is_that_of_the_rows_one_by_one(inference, monkeypatch):
    expected, found = (fitted(inference, monkeypatch, grouped=grouped).mean() for grouped in (False, True))
    for site, value in expected.items():
        np.testing.assert_allclose(found[site], value, rtol=1e-12, atol=1e-12)


def test_annotations_are_as_those_of_items_one_by_one(monkeypatch):
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        [(i, who, "xyz"[min(i % 3 + int(rng.random() < 0.3), 2)]) for i in range(90) for who in ("Ann", "Bob", "Cem")],
        columns=["item", "annotator", "label"],
    )
    found = []
    for most in (-1.0, 0.5):
        monkeypatch.setattr("bayesnb.model.problem.MOST_DISTINCT", most)
        crowd = nb.fit_annotations(
            table, item="item", annotator="annotator", label="label", known={4: "y"}, inference=nb.EM()
        )
        found.append(crowd)
        assert (len(crowd.posterior.problem.unlabelled) < 89) == (most > 0)
    one_by_one, together = found
    np.testing.assert_allclose(together.proba, one_by_one.proba, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(together.confusion, one_by_one.confusion, rtol=1e-12, atol=1e-12)
    assert together.items.index.tolist() == list(range(90))
    assert together.items["label"].tolist() == one_by_one.items["label"].tolist()


def enumerated():
    """Mean and mean square of class and feature probabilities, by a sum over all labellings of the rows."""
    unknown = [i for i, label in enumerate(Y) if label is None]
    seen = ~np.isnan(X)
    weights, means, squares = [], [], []
    for guess in itertools.product(range(2), repeat=len(unknown)):
        codes = np.array([0, 1, *guess])
        members = np.eye(2)[codes]
        ones, n = members.T @ np.nan_to_num(X), members.T @ seen
        a, b = 2.0 + ones, 1.5 + n - ones
        classes = 1.0 + members.sum(axis=0)
        weights.append(gammaln(classes).sum() + betaln(a, b).sum())
        line = np.concatenate([classes / classes.sum(), (a / (a + b)).ravel()])
        size = np.concatenate([[classes.sum()] * 2, (a + b).ravel()])
        means.append(line)
        squares.append(line * (line * size + 1) / (size + 1))
    weights = softmax(weights)
    return weights @ means, weights @ squares


def test_gibbs_agrees_with_a_sum_over_all_labels_of_rows_that_are_equal(monkeypatch):
    posterior = fitted(nb.Gibbs(num_warmup=100, num_samples=500, num_chains=32), monkeypatch, grouped=True)
    draws = posterior.parameters
    line = np.concatenate([draws.class_prob, draws.blocks[0]["prob"].reshape(32, 500, -1)], axis=-1)
    mean, square = enumerated()
    for values, expected in ((line, mean), (line**2, square)):
        error = array_stats.mcse(values, chain_axis=0, draw_axis=1, method="mean")
        assert np.abs((values.mean(axis=(0, 1)) - expected) / error).max() < CRITICAL_Z


@pytest.mark.parametrize("share", [0.5, 1.5])
def test_gibbs_refuses_a_fraction_though_equal_rows_add_up(share):
    with pytest.raises(ValueError, match=rf"the weight {share:g}: Gibbs"):
        nb.fit(nb.Bernoulli(), X, Y, nb.Gibbs(), sample_weight=[1, 1, *[share] * 8])


def test_an_error_counts_the_rows_as_given():
    with pytest.raises(ValueError, match="8 rows have none"):
        nb.fit(nb.Bernoulli(), X, Y, nb.Exact())


@pytest.mark.parametrize("weights", [[1.0, 1.0], [2.0, 2.0], [1.0, 5.0]])
def test_as_many_labels_as_the_weight_are_drawn(weights):
    responsibilities = np.array([[[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]] * 2000)
    drawn = _draw_labels(responsibilities, np.array(weights), np.random.default_rng(0))
    np.testing.assert_array_equal(drawn.sum(axis=-1), np.broadcast_to(weights, (2000, 2)))
    np.testing.assert_array_equal(drawn[:, 1], np.broadcast_to([weights[1], 0, 0], (2000, 3)))
    expected, n = weights[0] * responsibilities[0, 0], 2000 * weights[0]
    error = weights[0] * np.sqrt(responsibilities[0, 0] * (1 - responsibilities[0, 0]) / n)
    assert np.abs((drawn[:, 0].mean(axis=0) - expected) / error).max() < CRITICAL_Z
