"""The program with parameters that are given: their prior is left out, and nothing else."""

import jax
import numpy as np
import pytest
from numpyro import handlers
from numpyro.infer.util import log_density
from scipy import stats

import bayesnb as nb

X = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
Y = np.array([0, 1, 1, 0])
PROB = np.array([[0.7, 0.2], [0.4, 0.9]])
OF_CELLS = stats.bernoulli.logpmf(X, PROB[Y]).sum()


def density(model, values, **given):
    with jax.enable_x64(True):
        total, trace = log_density(model.program, (X, Y), {"given": given}, values)
    return float(total), {name for name, site in trace.items() if site["type"] == "sample"}


@pytest.mark.slow
def test_a_given_parameter_has_no_prior():
    model = nb.NaiveBayes(nb.Bernoulli(3.0, 2.0)).bind(X, Y)
    of_labels = stats.dirichlet.logpdf([0.3, 0.7], [1.0, 1.0]) + np.log([0.3, 0.7, 0.7, 0.3]).sum()
    of_prior = stats.beta.logpdf(PROB, 3.0, 2.0).sum()
    found, sites = density(model, {"class_prob": np.array([0.3, 0.7])}, x_prob=PROB)
    assert found == pytest.approx(of_labels + OF_CELLS, rel=1e-10)
    assert sites == {"class_prob", "y", "x"}
    whole, _ = density(model, {"class_prob": np.array([0.3, 0.7]), "x_prob": PROB})
    assert whole == pytest.approx(found + of_prior, rel=1e-10)


@pytest.mark.slow
def test_class_probabilities_of_each_row():
    model = nb.NaiveBayes(nb.Bernoulli(3.0, 2.0)).bind(X, Y)
    first = np.array([0.9, 0.2, 0.4, 0.6])
    rows = np.stack([first, 1 - first], axis=1)
    expected = OF_CELLS + stats.beta.logpdf(PROB, 3.0, 2.0).sum() + np.log(rows[np.arange(4), Y]).sum()
    found, sites = density(model, {"x_prob": PROB}, class_prob=rows)
    assert found == pytest.approx(expected, rel=1e-10)
    assert sites == {"x_prob", "y", "x"}


def test_a_learned_hyperparameter_may_be_given():
    import numpyro.distributions as dist

    learned = nb.NaiveBayes(nb.Bernoulli(dist.Gamma(2.0, 1.0), 2.0)).bind(X, Y)
    fixed = nb.NaiveBayes(nb.Bernoulli(3.0, 2.0)).bind(X, Y)
    values = {"class_prob": np.array([0.3, 0.7]), "x_prob": PROB}
    found, _ = density(learned, values, x_concentration1=3.0)
    assert found == pytest.approx(density(fixed, values)[0], rel=1e-10)


def test_bad_names():
    model = nb.NaiveBayes(nb.Bernoulli()).bind(X, Y)
    with pytest.raises(ValueError, match=r"given has 'prob', which the program does not draw: its sites are \['class"):
        handlers.seed(model.program, 0)(X, Y, given={"prob": PROB})
    known = nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.5, 0.5]).bind(X, Y)
    with pytest.raises(ValueError, match="'class_prob', which the program does not draw"):
        handlers.seed(known.program, 0)(X, Y, given={"class_prob": [0.5, 0.5]})
