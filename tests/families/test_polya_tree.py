"""A tree of cells that couples the classes: its sums against enumeration, draws and refits."""

import itertools

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from refitting import assert_same
from scipy.special import betaln

import bayesnb as nb

SPLIT = 0.3

TABLES = [
    np.array([[0, 1, 0], [1, 2, 0]]),
    np.array([[3, 0, 1, 2], [0, 4, 1, 0]]),
    np.array([[0, 2, 5, 0], [1, 1, 0, 3], [4, 0, 0, 0]]),
    np.array([[9, 2, 0, 0, 1], [1, 1, 6, 3, 0]]),
]
"""Cells by class."""


def enumerated(counts):
    """Evidence of counts (classes, cells), every set of split nodes written out: of all, of a split root, of none."""

    def weight(left, right):
        return np.exp(betaln(1 + left, 1 + right).sum())

    def pooled(low, high):
        middle = (low + high) // 2
        if middle == low:
            return 1.0
        return (
            weight(counts[:, low:middle].sum(), counts[:, middle:high].sum())
            * pooled(low, middle)
            * pooled(middle, high)
        )

    def sets(low, high):
        """Prior probability and evidence of each set of split nodes, that of no split node first."""
        middle = (low + high) // 2
        if middle == low:
            return [(1.0, 1.0)]
        own = weight(counts[:, low:middle].sum(axis=1), counts[:, middle:high].sum(axis=1))
        below = itertools.product(sets(low, middle), sets(middle, high))
        return [(1 - SPLIT, pooled(low, high)), *((SPLIT * p * q, own * e * f) for (p, e), (q, f) in below)]

    every = sets(0, counts.shape[1])
    assert sum(p for p, _ in every) == pytest.approx(1)
    return sum(p * e for p, e in every), sum(p * e for p, e in every[1:]) / SPLIT, every[0][1]


def fitted(counts, weight=1, **settings):
    """A posterior whose cells have these counts, and the rows behind it."""
    codes, cells = np.repeat(np.indices(counts.shape).reshape(2, -1), counts.ravel(), axis=1)
    X, labels = pd.DataFrame({"x": cells - 0.5}), list(range(len(counts)))
    family = nb.PolyaTree(np.arange(counts.shape[1] - 1.0), SPLIT)
    model = nb.NaiveBayes(family, class_probs=[1 / len(labels)] * len(labels), **settings)
    weights = np.resize([1, weight], len(codes))
    return nb.fit(model, X, codes, classes=labels, sample_weight=weights), X, codes, weights


def of_cells(posterior):
    """Log probability of which cells the rows fell in, given their labels."""
    (of_x,) = posterior.problem.statistics.blocks
    labels = of_x.n.sum() * np.log(len(posterior.classes))
    return posterior.log_evidence + labels - of_x.log_base.sum()


@pytest.mark.parametrize("counts", TABLES)
class TestSums:
    def test_are_those_over_all_sets_of_split_nodes(self, counts):
        posterior = fitted(counts)[0]
        total, dependent, shared = enumerated(counts)
        assert of_cells(posterior) == pytest.approx(np.log(total), abs=1e-10)
        factor = nb.feature_evidence(posterior)["log_bayes_factor"].item()
        assert factor == pytest.approx(np.log(dependent / shared), abs=1e-10)
        one_more = [
            counts + np.eye(counts.size, dtype=int)[place].reshape(counts.shape) for place in range(counts.size)
        ]
        expected = np.reshape([enumerated(after)[0] / total for after in one_more], counts.shape)
        np.testing.assert_allclose(posterior.mean()["x_prob"].reshape(counts.shape), expected, rtol=1e-10)

    @pytest.mark.parametrize(("weight", "inclusion"), [(1, None), (2, None), (1, 0.4)])
    def test_without_a_row_are_those_of_a_refit(self, counts, weight, inclusion):
        posterior, X, codes, weights = fitted(counts, weight, feature_inclusion=inclusion)
        assert_same(posterior, X, codes, weights)

    def test_are_the_averages_of_draws(self, counts):
        posterior = fitted(counts)[0]
        draws = posterior.draws(num_draws=5000)["x_prob"].reshape(20000, len(counts), -1)
        summary = posterior.summary().iloc[-counts.size :]
        error = 5 * summary["sd"].to_numpy() / np.sqrt(20000)
        assert (abs(draws.mean(axis=0).ravel() - summary["mean"]) < error).all()
        np.testing.assert_allclose(draws.std(axis=0).ravel(), summary["sd"], rtol=0.05)
        total, _, shared = enumerated(counts)
        common = (draws == draws[:, :1]).all(axis=(1, 2)).mean()
        assert common == pytest.approx((1 - SPLIT) * shared / total, abs=0.02)


def heaped(rng, rows, years):
    """Ages in whole years, 40 % of them rounded to multiples of five; one class is some years older."""
    older = rng.integers(0, 2, rows)
    age = np.rint(rng.normal(40 + years * older, 12, rows))
    return pd.DataFrame({"age": np.where(rng.random(rows) < 0.4, 5 * np.rint(age / 5), age)}), older


class TestHeaps:
    def test_cancel_in_predictions_and_in_the_evidence_of_dependence(self):
        X, older = heaped(np.random.default_rng(0), 800, 5)
        tree, bins = (nb.fit(nb.NaiveBayes(family), X, older) for family in (nb.PolyaTree(), nb.Histogram()))
        new = pd.DataFrame({"age": np.arange(20.0, 70)})
        steps = [np.abs(np.diff(posterior.predict_proba(new)[:, 1])).max() for posterior in (tree, bins)]
        assert steps[0] < 0.2 < steps[1]
        inclusion = [nb.feature_evidence(posterior)["inclusion_probability"].item() for posterior in (tree, bins)]
        assert inclusion[0] > 0.9 > 0.1 > inclusion[1]
        assert nb.loo_scores(tree, X, older)["elpd_label"] > nb.loo_scores(bins, X, older)["elpd_label"] + 10

    def test_have_cells_of_their_own_as_wide_as_the_resolution(self):
        X, _ = heaped(np.random.default_rng(1), 800, 5)
        edges = np.array(nb.PolyaTree.from_column(X["age"]).edges)
        value, number = np.unique(X["age"], return_counts=True)
        for age in value[number > 800 / 32]:
            assert {age - 0.5, age + 0.5} <= set(edges)
        assert (np.diff(edges) >= 1).all()
        assert edges[[0, -1]].tolist() == [value[0] - 0.5, value[-1] + 0.5]

    def test_of_a_weight_are_those_of_as_many_rows(self):
        X, older = heaped(np.random.default_rng(2), 200, 5)
        weight = np.arange(200) % 4
        weighted = nb.fit(nb.PolyaTree(), X, older, sample_weight=weight)
        repeated = nb.fit(nb.PolyaTree(), X.loc[np.repeat(np.arange(200), weight)], np.repeat(older, weight))
        assert weighted.families[0].edges == repeated.families[0].edges
        assert weighted.log_evidence == pytest.approx(repeated.log_evidence)


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ([2.5] * 9, 1),
        ([0.0, 1.0] * 20, 2),
        ([np.nan] * 5, 1),
        ([1.0, 2.0, np.nan, 9.0], 3),
        (np.linspace(0, 1, 999), 32),
        (np.append(np.linspace(0, 1, 101), [0.5] * 3), 32),
        (np.append(np.linspace(0, 1, 101), [0.5] * 4), 34),
    ],
    ids=["constant", "two", "missing", "few", "many", "four ties", "five ties"],
)
def test_every_column_has_cells(column, cells):
    X, y = np.reshape(column, (-1, 1)), np.arange(len(column)) % 2
    posterior = nb.fit(nb.PolyaTree(), X, y)
    assert len(posterior.families[0].edges) - 1 == cells
    proba = posterior.predict_proba([[-1e9], [1e9], [np.nan]])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert posterior.predict_proba(X[:1]).shape == (1, 2)


@pytest.mark.slow
def test_labels_that_are_missing_are_summed_out_by_gibbs():
    """Two rows without a label: the posterior means are averages over their four labellings."""
    known, lost = np.array([[3, 0, 1, 2], [0, 4, 1, 0]]), [0, 3]
    posterior, X, codes, _ = fitted(known)
    total, expected = 0.0, 0.0
    for labels in itertools.product([0, 1], repeat=2):
        after = known.copy()
        np.add.at(after, (list(labels), lost), 1)
        evidence = enumerated(after)[0]
        total, expected = total + evidence, expected + evidence * fitted(after)[0].mean()["x_prob"]
    rows = pd.concat([X, pd.DataFrame({"x": np.array(lost) - 0.5})])
    gibbs = nb.fit(
        posterior.problem.model.description,
        rows,
        [*codes.tolist(), None, None],
        nb.Gibbs(num_warmup=50, num_samples=600),
    )
    np.testing.assert_allclose(gibbs.mean()["x_prob"], expected / total, atol=0.02)


def test_a_prior_that_is_flat_has_no_sensitivity():
    posterior, *_ = fitted(TABLES[3])
    half = nb.fit(nb.NaiveBayes(nb.PolyaTree([0.0, 1, 2])), [[0.5], [1.5], [2.5], [0.2]], list("aabb"))
    assert (nb.sensitivity(half).table["prior"].iloc[-8:] == 0).all()
    assert (nb.sensitivity(posterior).table["prior"] > 0).any()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda X, y: nb.fit(nb.PolyaTree(), X, y, nb.NUTS()), ValueError, r"column 0 is PolyaTree.*use nb.Exact\(\)"),
        (lambda X, y: nb.fit(nb.PolyaTree(), X, y, nb.MAP()), ValueError, r"gives no mode: use nb.Exact\(\) for the"),
        (
            lambda X, y: nb.fit(nb.PolyaTree(), X, [*y[:-1], None], "em"),
            ValueError,
            r"column 0 is PolyaTree, which gives no mode: use nb.Gibbs\(\); or give the column another family, "
            r"nb.NaiveBayes.from_frame\(X, y, families=\{0: nb.Gaussian\(\)\}\)$",
        ),
        (
            lambda X, y: nb.fit(nb.PolyaTree(split=dist.Beta(1, 1)), X, y, nb.Gibbs()),
            ValueError,
            r"couples the classes.*use nb.NUTS\(\)",
        ),
        (lambda X, y: nb.Hurdle(nb.PolyaTree()), ValueError, r"cell of their own, use nb.PolyaTree\(\) alone"),
        (lambda X, y: nb.PolyaTree(split=1.5), ValueError, "give a probability above 0 and at most 1"),
        (lambda X, y: nb.PolyaTree(split=0.0), ValueError, "0.0 is not a positive finite number"),
        (lambda X, y: nb.PolyaTree([2, 1]), ValueError, r"the edges 2 and 1 of PolyaTree\(edges=...\) do not increase"),
    ],
)
def test_what_cannot_be_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make(np.arange(8.0)[:, None], np.arange(8) % 2)


@pytest.mark.parametrize("family", [nb.PolyaTree(), nb.Histogram(), nb.Hurdle(nb.Histogram())])
def test_columns_on_a_lattice_are_simulated_on_it(family):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"grade": rng.integers(1, 4, 300), "dose": 0.25 * rng.poisson(9, 300), "size": rng.normal(size=300)}
    )
    model = nb.NaiveBayes(dict.fromkeys(X, family)).bind(X, np.arange(300) % 2)
    posterior = nb.fit(model, X, np.arange(300) % 2)
    rows, _ = posterior.simulate(400)
    assert (rows["grade"] % 1 == 0).all()
    assert (rows["dose"] % 0.25 == 0).all()
    assert ((rows["size"] % 0.25 != 0) | (rows["size"] == 0)).all()
    assert rows["grade"].isin([1, 2, 3]).mean() > 0.9
    assert rows["grade"].isin([0, 1, 2, 3]).all()
    means = (rows["dose"].clip(0, 6).mean() - X["dose"].mean()) / X["dose"].std()
    assert abs(means) < 5 / np.sqrt(400)
