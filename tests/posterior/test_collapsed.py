"""Draws of hyperparameters given by hand: every answer is an average over closed forms with these numbers."""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.special import logsumexp

import bayesnb as nb
from bayesnb.model.blocks import ModelParameters
from bayesnb.model.problem import Problem
from bayesnb.posterior import kinds as collapsed

X = np.array([[0.0, 3.0], [1.0, 2.0], [4.0, 0.0], [2.0, 1.0], [6.0, 0.0]])
Y = ["a", "a", "b", "b", "b"]
NEW = np.array([[0.0, 2.0], [5.0, 0.0], [np.nan, 1.0]])
# Two chains of three draws.
SHAPE, CLASSES = np.array([[0.5, 1.0, 2.0], [4.0, 8.0, 16.0]]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 0.5]])


@pytest.fixture
def posterior():
    model = nb.NaiveBayes(nb.Poisson(dist.Gamma(2.0, 1.0), 1.5), class_concentration=dist.Gamma(3.0, 1.0)).bind(X, Y)
    parameters = ModelParameters(
        np.full((2, 3, 2), 0.5),
        ({"rate": np.ones((2, 3, 2, 2))},),
        {"class_concentration": CLASSES, "x_concentration": SHAPE},
    )
    return nb.results.CollapsedPosterior(Problem(model, model.statistics(X, Y)), model, parameters, {}, nb.NUTS())


def exact(chain, draw):
    model = nb.NaiveBayes(nb.Poisson(SHAPE[chain, draw], 1.5), class_concentration=CLASSES[chain, draw])
    return nb.fit(model, X, Y)


def test_it_averages_over_the_closed_forms_of_all_draws(posterior):
    forms = [exact(chain, draw) for chain in range(2) for draw in range(3)]
    expected = logsumexp([form.log_joint(NEW) for form in forms], axis=0) - np.log(6)
    np.testing.assert_allclose(posterior.log_joint(NEW), expected, rtol=1e-10)
    np.testing.assert_allclose(posterior.class_probs(), np.mean([form.class_probs() for form in forms], axis=0))
    with jax.enable_x64(True):
        np.testing.assert_allclose(posterior.log_joint_function()(NEW), expected, rtol=1e-10)


def test_of_many_draws_it_takes_evenly_spaced_ones(posterior, monkeypatch):
    monkeypatch.setattr(collapsed, "MIXTURE", 2)
    forms = [exact(0, 0), exact(1, 2)]
    expected = logsumexp([form.log_joint(NEW) for form in forms], axis=0) - np.log(2)
    np.testing.assert_allclose(posterior.log_joint(NEW), expected, rtol=1e-10)


def test_a_hyperprior_for_each_class_is_saved(tmp_path):
    model = nb.NaiveBayes(nb.Poisson(2.0, 1.5), class_concentration=dist.Gamma(3.0, 1.0).expand([2])).bind(X, Y)
    parameters = ModelParameters(
        np.full((2, 3, 2), 0.5),
        ({"rate": np.ones((2, 3, 2, 2))},),
        {"class_concentration": np.stack([CLASSES, 2 * CLASSES], axis=-1)},
    )
    saved = nb.results.CollapsedPosterior(Problem(model, model.statistics(X, Y)), model, parameters, {}, nb.NUTS())
    saved.save(tmp_path / "p.nc")
    loaded = nb.load(tmp_path / "p.nc")
    assert loaded.problem.model.class_concentration.batch_shape == (2,)
    np.testing.assert_array_equal(loaded.log_joint(NEW), saved.log_joint(NEW))
    np.testing.assert_array_equal(
        loaded.draws()["class_concentration"], saved.parameters.hyperparameters["class_concentration"]
    )
