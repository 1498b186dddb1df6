"""Tables at the edge of what is possible: finite, right answers."""

import numpy as np
import numpyro.distributions as dist
import pytest

import bayesnb as nb
from bayesnb.families.draw import draw


@pytest.mark.parametrize(
    ("family", "cell"),
    [
        (nb.Bernoulli(), 1),
        (nb.Categorical(), "red"),
        (nb.Multinomial(), 3),
        (nb.Gaussian(), 2.5),
        (nb.Gaussian(), 0.0),
        (nb.Poisson(), 4),
        (nb.Poisson(), 0),
    ],
    ids=repr,
)
def test_one_row_in_all(family, cell):
    X = np.array([[cell]], dtype=object)
    posterior = nb.fit(nb.NaiveBayes(family), X, ["only"])
    np.testing.assert_allclose(posterior.predict_proba(X), [[1.0]])
    assert np.isfinite(posterior.log_evidence)
    assert np.isfinite(posterior.log_joint(X)).all()
    assert all(np.isfinite(value).all() for value in posterior.draws(num_draws=50).values())


def test_weights_of_zero():
    X, y = np.array([[1.0], [2.0], [3.0]]), [0, 1, 1]
    model = nb.NaiveBayes(nb.Gaussian(1.0, 1.0, 1.0, 1.0))
    without = nb.fit(model, X[:2], y[:2], classes=[0, 1])
    np.testing.assert_allclose(nb.fit(model, X, y, sample_weight=[1, 1, 0]).log_joint(X), without.log_joint(X))
    nothing = nb.fit(model, X, y, sample_weight=[0, 0, 0])
    assert nothing.log_evidence == 0.0
    np.testing.assert_allclose(nothing.predict_proba(X), 0.5)
    by_default = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y, sample_weight=[0, 0, 0])
    np.testing.assert_allclose(by_default.predict_proba(X), 0.5)


def test_probabilities_of_1e_minus_300():
    known = nb.from_parameters(
        nb.Bernoulli(), classes=["a", "b"], class_probs=[0.5, 0.5], parameters={"prob": [[1e-300] * 5, [2e-300] * 5]}
    )
    np.testing.assert_allclose(known.predict_proba([[1] * 5])[0], np.array([1, 32]) / 33, rtol=1e-12)
    np.testing.assert_allclose(known.predict_proba([[0] * 5])[0], [0.5, 0.5])
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli(1e-300, 1.0)), [[0], [0], [0]], ["a", "b", "b"])
    log_joint = posterior.log_joint([[1]])[0]
    np.testing.assert_allclose(log_joint, np.log([2 / 5, 3 / 5]) + np.log(1e-300) - np.log([2.0, 3.0]), rtol=1e-12)


def test_the_scale_of_the_weights_does_not_set_the_scale_of_the_default_prior(rng):
    X, y = rng.normal(5.0, 2.0, (40, 2)), np.arange(40) % 2
    plain = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y).model
    light = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y, sample_weight=np.full(40, 1e-4)).model
    np.testing.assert_allclose(light.families[0].rate, plain.families[0].rate, rtol=1e-9)


def test_dirichlet_draws_at_a_small_concentration():
    """Concentration 0.001: a draw is nearly all in one component, none is NaN, components are alike."""
    drawn = draw(dist.Dirichlet(np.full(4, 0.001)), np.random.default_rng(0), (4000,))
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0, rtol=1e-12)
    assert (drawn.max(axis=1) > 0.99).mean() > 0.97
    # The mean is 1/4, the standard deviation of a component close to sqrt(3)/4.
    np.testing.assert_allclose(drawn.mean(axis=0), 0.25, atol=4.5 * np.sqrt(3) / 4 / np.sqrt(4000))
