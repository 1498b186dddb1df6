"""A tree of cells that couples the classes: its sums against enumeration, simulation and refits."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import betaln

import bayesnb as nb

RHO = 0.3


def brute_force(counts, rho=RHO):
    """Evidence of counts (classes, cells), all partitions of the tree written out; also given that the root is split."""

    def weight(halves):
        return np.exp(betaln(1 + halves[..., 0], 1 + halves[..., 1]).sum())

    def pooled(low, high):
        if high - low < 2:
            return 1.0
        middle = (low + high) // 2
        halves = np.array([counts[:, low:middle].sum(), counts[:, middle:high].sum()])
        return weight(halves) * pooled(low, middle) * pooled(middle, high)

    def partitions(low, high):
        """Prior probability and evidence of each set of split nodes below a node."""
        if high - low < 2:
            return [(1.0, 1.0)]
        middle = (low + high) // 2
        halves = np.stack([counts[:, low:middle].sum(axis=1), counts[:, middle:high].sum(axis=1)], axis=-1)
        split = [
            (rho * p * q, weight(halves) * e * f)
            for (p, e), (q, f) in itertools.product(partitions(low, middle), partitions(middle, high))
        ]
        return [(1 - rho, pooled(low, high)), *split]

    every = partitions(0, counts.shape[1])
    assert sum(p for p, _ in every) == pytest.approx(1)
    return sum(p * e for p, e in every), sum(p * e for p, e in every[1:]) / rho, pooled(0, counts.shape[1])


TABLES = [
    np.array([[0, 1, 0], [1, 2, 0]]),
    np.array([[3, 0, 1, 2], [0, 4, 1, 0]]),
    np.array([[0, 2, 5, 0], [1, 1, 0, 3], [4, 0, 0, 0]]),
    np.array([[9, 2, 0, 0, 1], [1, 1, 6, 3, 0]]),
]


def fitted(counts):
    """A posterior whose cells have these counts, the rows behind them, and its model."""
    codes, cells = np.repeat(np.indices(counts.shape).reshape(2, -1), counts.ravel(), axis=1)
    X = pd.DataFrame({"x": cells - 0.5})
    model = nb.NaiveBayes(nb.PolyaTree(np.arange(counts.shape[1] - 1.0), RHO), class_probs=[1 / len(counts)] * len(counts))
    return nb.fit(model, X, codes, classes=list(range(len(counts)))), X, codes


@pytest.mark.parametrize("counts", TABLES)
def test_evidence_predictions_and_leave_one_out_are_sums_over_all_partitions(counts):
    posterior, X, codes = fitted(counts)
    labels = len(codes) * np.log(len(counts))
    within = np.log(nb.families.bins.Bins(posterior.families[0].edges).log_density(np.zeros(1)) + 1).sum()
    evidence, dependent, shared = brute_force(counts)
    log_base = posterior.problem.statistics.blocks[0].log_base.sum()
    assert posterior.log_evidence + labels - log_base + within == pytest.approx(np.log(evidence), abs=1e-10)
    factor = nb.feature_evidence(posterior)["log_bayes_factor"].item()
    assert factor == pytest.approx(np.log(dependent / shared), abs=1e-10)

    def predictive(before):
        found = np.empty(before.shape)
        for place in np.ndindex(*before.shape):
            after = before.copy()
            after[place] += 1
            found[place] = brute_force(after)[0] / brute_force(before)[0]
        return found

    prob = posterior.mean()["x_prob"]
    np.testing.assert_allclose(prob.reshape(counts.shape), predictive(counts), rtol=1e-10)
    proba = nb.loo(posterior, X, codes).left_out if False else None
