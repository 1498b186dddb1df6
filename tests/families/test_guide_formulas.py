"""Formulas of docs/guide/families.md by hand or by SciPy, of families for which `tests/references` has no file."""

import numpy as np
import pytest
import scipy.stats as st
from scipy.special import gammaln, multigammaln

import bayesnb as nb


def one_class(family, cells):
    """The posterior of a single class, whose probability is known to be one."""
    cells = np.asarray(cells, dtype=float)
    cells = cells[:, None] if cells.ndim == 1 else cells
    return nb.fit(nb.NaiveBayes(family, class_probs=[1.0]), cells, ["c"] * len(cells), classes=["c"])


def log_predictive(posterior, cells):
    return posterior.log_joint(np.atleast_2d(cells))[0, 0]


def same(expected):
    return pytest.approx(expected, rel=1e-12)


def test_multivariate_gaussian():
    x, m, psi = np.array([[1.1, 0.3], [2.3, 1.9], [1.9, 1.0]]), np.array([0.5, 0.0]), np.array([[1.0, 0.3], [0.3, 2.0]])
    pair = one_class(nb.MultivariateGaussian(m, 0.2, 4.5, psi), x)
    away, scatter = x.mean(axis=0) - m, (x - x.mean(axis=0)).T @ (x - x.mean(axis=0))
    psi_n, m_n = psi + scatter + 0.2 * 3 / 3.2 * np.outer(away, away), (0.2 * m + x.sum(axis=0)) / 3.2
    t = st.multivariate_t(m_n, 4.2 / 3.2 / 6.5 * psi_n, df=6.5)
    assert log_predictive(pair, [2.0, 1.0]) == same(t.logpdf([2.0, 1.0]))
    marginal = st.t(6.5, m_n[0], np.sqrt(4.2 / 3.2 / 6.5 * psi_n[0, 0]))
    assert log_predictive(pair, [2.0, np.nan]) == same(marginal.logpdf(2.0))
    by_hand = multigammaln(7.5 / 2, 2) - multigammaln(4.5 / 2, 2) + np.log(0.2 / 3.2) - 3 * np.log(np.pi)
    by_hand += (4.5 * np.linalg.slogdet(psi)[1] - 7.5 * np.linalg.slogdet(psi_n)[1]) / 2
    assert pair.log_evidence == same(by_hand)


def test_histogram():
    edges = np.array([0.0, 1.0, 3.0, 4.0])
    waits = one_class(nb.Histogram(edges, 0.5), [0.4, 2.2, 2.9, 7.0])
    bars = st.rv_histogram((np.array([1, 2, 0]) + 0.5, edges), density=False)
    assert log_predictive(waits, 2.0) == same(np.log(4.5 / 6.5) + bars.logpdf(2.0))
    counts, width = np.array([0, 1, 2, 0, 1]), np.array([1.0, 2.0, 2.0])
    by_hand = gammaln(2.5) - gammaln(6.5) + (gammaln(0.5 + counts) - gammaln(0.5)).sum() - np.log(width).sum()
    assert waits.log_evidence == same(by_hand + st.lomax.logpdf(7.0 - 4.0, 3))
