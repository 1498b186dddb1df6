"""The formulas of docs/guide/families.md, written out by hand or with SciPy's distributions."""

import numpy as np
import pytest
import scipy.stats as st
from scipy.special import betaln, gammaln, multigammaln

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


def test_bernoulli():
    tosses = one_class(nb.Bernoulli(2.0, 3.0), [1, 0, 0, 1, 1])
    assert log_predictive(tosses, 1) == same(np.log((2 + 3) / (5 + 5)))
    assert tosses.log_evidence == same(betaln(2 + 3, 3 + 2) - betaln(2, 3))


def test_categorical():
    counts = np.array([2, 4, 4, 0, 1, 1, 0, 1, 0, 4])
    song = one_class(nb.Categorical(categories=range(10)), np.repeat(np.arange(10), counts))
    assert log_predictive(song, 1) == same(np.log((1 + 4) / (10 + 17)))
    assert song.log_evidence == same(gammaln(10) - gammaln(10 + 17) + (gammaln(1 + counts) - gammaln(1)).sum())


def test_joint_categorical():
    answers = [["yes", "yes"], ["no", "no"], ["yes", "yes"], ["yes", "no"], ["no", "yes"], ["no", "yes"]]
    labels = ["honest"] * 3 + ["random"] * 3
    together = nb.fit(nb.NaiveBayes({"answers": (nb.JointCategorical(), [0, 1])}), answers, labels)
    pasted = nb.Categorical(0.5, categories=["no no", "no yes", "yes no", "yes yes"])
    dense = nb.fit(nb.NaiveBayes(pasted), [[" ".join(row)] for row in answers], labels)
    assert together.log_evidence == same(dense.log_evidence)
    assert np.exp(together.log_joint([["yes", None]])[0]).tolist() == [
        same(0.5 * (0.5 * 2 + 2) / (0.5 * 4 + 3)),
        same(0.5 * (0.5 * 2 + 1) / (0.5 * 4 + 3)),
    ]


def test_poisson():
    spots = one_class(nb.Poisson(2.0, 0.5), [3, 0, 4])
    a, b = 2.0 + 7, 0.5 + 3
    assert log_predictive(spots, 5) == same(st.nbinom.logpmf(5, a, b / (b + 1)))
    by_hand = gammaln(a) - gammaln(2.0) + 2.0 * np.log(0.5) - a * np.log(b) - gammaln([4, 1, 5]).sum()
    assert spots.log_evidence == same(by_hand)


def test_negative_binomial_of_a_known_total_count():
    visits = one_class(nb.NegativeBinomial(3, 2.0, 3.0), [12, 0])
    assert log_predictive(visits, 5) == same(st.betanbinom.logpmf(5, 3, 2 + 6, 3 + 12))
    by_hand = betaln(2 + 6, 3 + 12) - betaln(2, 3) + gammaln(3 + 12) - gammaln(3) - gammaln(13)
    assert visits.log_evidence == same(by_hand)


def test_geometric():
    tries = one_class(nb.Geometric(2.0, 3.0), [3, 0, 4])
    assert log_predictive(tries, 5) == same(st.betanbinom.logpmf(5, 1, 2 + 3, 3 + 7))
    assert tries.log_evidence == same(betaln(2 + 3, 3 + 7) - betaln(2, 3))


def test_binomial():
    passed = one_class(nb.Binomial(10, 2.0, 3.0), [6, 9])
    assert log_predictive(passed, 7) == same(st.betabinom.logpmf(7, 10, 2 + 15, 3 + 5))
    assert passed.log_evidence == same(betaln(2 + 15, 3 + 5) - betaln(2, 3) + np.log(210) + np.log(10))


def test_multinomial():
    documents = np.array([[3, 1, 0], [1, 3, 0]])
    text = one_class(nb.Multinomial(), documents)
    alpha = 1 + documents.sum(axis=0)
    assert log_predictive(text, [4, 2, 1]) == same(st.dirichlet_multinomial.logpmf([4, 2, 1], alpha, 7))
    first = st.dirichlet_multinomial.logpmf(documents[0], [1, 1, 1], 4)
    second = st.dirichlet_multinomial.logpmf(documents[1], 1 + documents[0], 4)
    assert text.log_evidence == same(first + second)


def test_gaussian():
    x, (m, kappa, a, b) = np.array([1.1, 2.3, 1.9]), (0.5, 0.2, 1.5, 0.8)
    size = one_class(nb.Gaussian(m, kappa, a, b), x)
    n, ssd = 3, ((x - x.mean()) ** 2).sum()
    kappa_n, m_n, a_n = kappa + n, (kappa * m + n * x.mean()) / (kappa + n), a + n / 2
    b_n = b + (ssd + kappa * n * (x.mean() - m) ** 2 / (kappa + n)) / 2
    t = st.t(2 * a_n, m_n, np.sqrt(b_n * (kappa_n + 1) / (a_n * kappa_n)))
    assert log_predictive(size, 2.0) == same(t.logpdf(2.0))
    by_hand = gammaln(a_n) - gammaln(a) + a * np.log(b) - a_n * np.log(b_n)
    assert size.log_evidence == same(by_hand + np.log(kappa / kappa_n) / 2 - n / 2 * np.log(2 * np.pi))


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


def test_log_normal():
    prices = np.array([1.1, 2.3, 9.9, 4.0, 30.0])
    skewed, logs = one_class(nb.LogNormal(), prices), one_class(nb.Gaussian(), np.log(prices))
    assert skewed.log_evidence == same(logs.log_evidence - np.log(prices).sum())
    assert log_predictive(skewed, 5.0) == same(log_predictive(logs, np.log(5.0)) - np.log(5.0))


def test_exponential():
    waits = one_class(nb.Exponential(2.0, 0.5), [3.1, 0.0, 4.2])
    a, b = 2.0 + 3, 0.5 + 7.3
    assert log_predictive(waits, 5.0) == same(st.lomax.logpdf(5.0, a, scale=b))
    assert waits.log_evidence == same(gammaln(a) - gammaln(2.0) + 2.0 * np.log(0.5) - a * np.log(b))


def test_gamma():
    waits, walks = [3.1, 0.4, 5.2, 1.8, 2.2, 0.9], [4.8, 5.5, 5.1, 4.6, 5.9, 5.0]
    found = nb.fit(nb.Gamma(), np.array([waits + walks]).T, ["bus"] * 6 + ["walk"] * 6, nb.MLE()).mean()
    shape, _, scale = st.gamma.fit(waits, floc=0)
    assert found["x_mean"][0, 0] == pytest.approx(shape * scale, rel=1e-5)
    assert found["x_concentration"][0, 0] == pytest.approx(shape, rel=1e-5)


def test_histogram():
    edges = np.array([0.0, 1.0, 3.0, 4.0])
    waits = one_class(nb.Histogram(edges, 0.5), [0.4, 2.2, 2.9, 7.0])
    bars = st.rv_histogram((np.array([1, 2, 0]) + 0.5, edges), density=False)
    assert log_predictive(waits, 2.0) == same(np.log(4.5 / 6.5) + bars.logpdf(2.0))
    counts, width = np.array([0, 1, 2, 0, 1]), np.array([1.0, 2.0, 2.0])
    by_hand = gammaln(2.5) - gammaln(6.5) + (gammaln(0.5 + counts) - gammaln(0.5)).sum() - np.log(width).sum()
    assert waits.log_evidence == same(by_hand + st.lomax.logpdf(7.0 - 4.0, 1))


def test_hurdle():
    rain = np.array([0.0, 2.5, 0.0, 0.0, 7.1, 4.4])
    days = one_class(nb.Hurdle(nb.Gaussian()), rain)
    whether, amount = one_class(nb.Bernoulli(), rain != 0), one_class(nb.Gaussian(), rain[rain != 0])
    assert days.log_evidence == same(whether.log_evidence + amount.log_evidence)
    assert log_predictive(days, 0.0) == same(np.log((1 + 3) / (2 + 6)))
    assert log_predictive(days, 3.0) == same(np.log((1 + 3) / (2 + 6)) + log_predictive(amount, 3.0))
