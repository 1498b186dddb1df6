"""What inferences refuse: settings out of range, models and rows that they cannot take."""

import numpy as np
import numpyro.distributions as dist
import pytest

import bayesnb as nb

X = np.array([[1.0], [2.0], [7.0], [8.0]])
Y = ["a", "b", None, None]
GAUSSIAN, FLAGS = nb.NaiveBayes(nb.Gaussian()), X > 3
LEARNED = nb.NaiveBayes(nb.Bernoulli(dist.Gamma(1.0, 1.0), 1.0))
HALF = nb.NaiveBayes(nb.Bernoulli(), feature_inclusion=0.5)
EMPIRICAL = nb.NaiveBayes(nb.Gaussian(), class_probs="empirical")
EXCHANGED = {"sample_weight": [1, 1, 0.5, 1.5]}


def of(what):
    """A call of a method of a posterior some of whose rows have no label."""
    return lambda: what(nb.fit(GAUSSIAN, X, Y, nb.MAP()))


def fit(*given, **options):
    return lambda: nb.fit(*given, **options)


REFUSED = [
    (fit(GAUSSIAN, X, Y), r"nb.Exact\(\) needs every label, and 2 rows have none: use nb.MAP"),
    (fit(nb.Bernoulli(), np.ones((9, 1)), [0, *[None] * 8]), "8 rows have none"),
    (fit(GAUSSIAN, X, None, nb.MAP(), classes=5), "5 classes and 4 rows"),
    (fit(GAUSSIAN, X, Y, nb.MAP(), classes=list("abcde")), "5 classes and 4 rows"),
    (fit(GAUSSIAN, X, None, nb.MAP()), "y is None.*classes=3"),
    (fit(GAUSSIAN, X, [None] * 4, nb.MAP()), "no label.*classes"),
    (fit(GAUSSIAN, X, Y, nb.MAP(), classes=["a", "c"]), r"label 'b' \(row 1\).*\['a', 'c'\]"),
    (fit(GAUSSIAN, X, None, nb.MAP(), classes=0), "classes is 0"),
    (fit(EMPIRICAL, X, None, nb.MAP(), classes=2), "empirical.*no row has one"),
    (fit(nb.DirichletMultinomial(), X, Y, nb.Gibbs()), "DirichletMultinomial.*posterior given the labels.*NUTS"),
    (
        fit(nb.DirichletMultinomial(), X, list("aabb")),
        r"DirichletMultinomial, which has no closed-form posterior: use",
    ),
    (fit(nb.DirichletMultinomial(dist.Gamma(1.0, 1.0)), X, list("aabb"), nb.EmpiricalBayes()), "evidence to maximise"),
    (fit(LEARNED, FLAGS, Y, nb.MAP()), r"'x_concentration1' is learned.*nb.Gibbs\(\) or nb.NUTS\(\) for draws"),
    (fit(LEARNED, FLAGS, Y, nb.EM()), "is learned.*nb.Gibbs"),
    (
        fit(LEARNED, FLAGS, Y, nb.EmpiricalBayes()),
        r"EmpiricalBayes\(\) needs every label, and 2 rows have none.*Gibbs",
    ),
    (fit(HALF, FLAGS, Y, nb.Gibbs()), "feature_inclusion"),
    (fit(GAUSSIAN, X, Y, nb.Gibbs(), **EXCHANGED), r"the weight 0.5: Gibbs"),
    (
        of(lambda posterior: posterior.update(X[:2], ["a", "b"])),
        "update needs every label, and 2 rows have none",
    ),
    (of(lambda posterior: posterior.forget(X[:2], ["a", "a"])), "forget needs every label"),
    (of(lambda posterior: posterior.log_evidence), "log_evidence in closed form needs every label"),
    (of(nb.feature_evidence), "every label"),
    (lambda: nb.Gibbs(num_chains=0), r"Gibbs\(num_chains=...\) is 0"),
    (lambda: nb.MAP(max_iterations=0), r"MAP\(max_iterations=...\) is 0"),
    (lambda: nb.EM(num_starts=0), r"EM\(num_starts"),
    (lambda: nb.EM(max_iterations=0), r"EM\(max_iterations"),
    (lambda: nb.EM(tolerance=-1), r"EM\(tolerance"),
    (lambda: nb.EM(tolerance="no"), r"EM\(tolerance"),
]


@pytest.mark.parametrize(("call", "told"), REFUSED)
def test_refusals(call, told):
    with pytest.raises(ValueError, match=told):
        call()
