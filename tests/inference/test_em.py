"""EM as an inference of its own: against plain EM, and its steps one by one."""

import numpy as np
import pytest
from scipy.special import softmax

import bayesnb as nb
import bayesnb.inference.em as em
from bayesnb.inference.em import Step, climb, extrapolated, label_log_joint, probabilities

RNG = np.random.default_rng(0)
CODES = RNG.integers(3, size=300)
PROB = RNG.uniform(0.1, 0.9, size=(3, 8))
X = (RNG.random((300, 8)) < PROB[CODES]).astype(int)
MODEL = nb.NaiveBayes(nb.Bernoulli(2.0, 2.0))


def log_posterior(posterior):
    problem, parameters = posterior.problem, posterior.parameters
    model = problem.resolved
    of_rows = probabilities(label_log_joint(model, problem.unlabelled, parameters))[1]
    of_labelled = model.prior.log_likelihood(parameters, problem.statistics)
    prior = model.prior.log_density(parameters)
    return float(of_rows @ problem.unlabelled.weights + of_labelled + prior)


@pytest.mark.parametrize("labelled", [0, 30])
@pytest.mark.parametrize("accelerate", [True, False])
def test_em_finds_the_maximum_that_map_finds(accelerate, labelled):
    y = np.array([*CODES[:labelled], *[None] * (len(X) - labelled)], dtype=object)
    given = {"classes": [0, 1, 2], "key": 1}
    slow = nb.fit(MODEL, X, y, nb.MAP(), **given)
    found = nb.fit(MODEL, X, y, nb.EM(accelerate=accelerate, tolerance=1e-9), **given)
    assert log_posterior(found) == pytest.approx(log_posterior(slow), abs=1e-5)
    np.testing.assert_allclose(found.mean()["x_prob"], slow.mean()["x_prob"], atol=2e-3)


def test_more_starts_do_not_lower_the_density():
    densities = [log_posterior(nb.fit(MODEL, X[:60], None, nb.EM(num_starts=n), classes=4, key=3)) for n in (1, 3)]
    assert densities[1] >= densities[0]


def test_em_of_labelled_rows_is_map():
    found, expected = (nb.fit(MODEL, X, CODES, inference) for inference in (nb.EM(), nb.MAP()))
    np.testing.assert_array_equal(found.mean()["x_prob"], expected.mean()["x_prob"])


def test_probabilities_are_a_softmax():
    joint = np.random.default_rng(1).normal(scale=300, size=(2, 50, 3))
    found, density = probabilities(joint)
    np.testing.assert_allclose(found, softmax(joint, axis=-1), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(density, np.logaddexp.reduce(joint, axis=-1), rtol=1e-14)


def linear(rate):
    """A step that goes to (1/2, 1/2) at a constant rate; the log posterior is minus the distance."""

    def step(responsibilities):
        after = 0.5 + rate * (responsibilities - 0.5)
        return Step(None, -float(np.abs(after - 0.5).max()), after)

    return step


def test_steps_of_a_constant_rate_reach_the_limit_in_one_jump():
    start = np.array([[0.9, 0.1]])
    found, rise = climb(linear(0.99), start, np.ones(1), 20, 1e-9, accelerate=True)
    assert rise == 0
    np.testing.assert_allclose(found.responsibilities, 0.5, atol=1e-9)
    plain, rise = climb(linear(0.99), start, np.ones(1), 20, 1e-9, accelerate=False)
    assert rise > 1e-9
    np.testing.assert_allclose(plain.responsibilities[0, 0], 0.5 + 0.4 * 0.99**20)


def test_a_jump_that_lowers_the_density_is_dropped():
    visited = []
    plain = linear(0.5)

    def step(responsibilities):
        visited.append(responsibilities)
        following = plain(responsibilities)
        jumped = len(visited) % 2 == 1 and len(visited) > 1
        return Step(None, -np.inf, responsibilities) if jumped else following

    found, _ = climb(step, np.array([[0.9, 0.1]]), np.ones(1), 5, 0.0, accelerate=True)
    np.testing.assert_allclose(found.responsibilities[0, 0], 0.5 + 0.4 * 0.5**3)
    assert len(visited) == 5


def test_extrapolated_probabilities_stay_in_the_simplex():
    rng = np.random.default_rng(2)
    for _ in range(200):
        first, second, third = rng.dirichlet([0.3, 0.3, 0.3], size=(3, 5))
        ahead = extrapolated(first, second, third, np.ones(5))
        assert (ahead >= 0).all()
        np.testing.assert_allclose(ahead.sum(axis=1), 1)
    np.testing.assert_allclose(extrapolated(first, first, first, np.ones(5)), first, rtol=1e-14)


def test_a_row_of_weight_three_jumps_as_three_rows():
    away, rate = np.array([0.4, 0.3, -0.2, 0.1]), np.array([0.9, 0.5, 0.8, 0.3])
    path = [0.5 + np.stack([away, -away], axis=1) * rate[:, None] ** step for step in range(3)]
    weights = np.array([1, 3, 1, 2])
    repeated = np.repeat(np.array(path), weights, axis=1)
    one_by_one = extrapolated(*repeated, np.ones(7))
    np.testing.assert_allclose(extrapolated(*path, weights), one_by_one[[0, 1, 4, 5]], rtol=1e-12)
    assert np.abs(extrapolated(*path, np.ones(4)) - one_by_one[[0, 1, 4, 5]]).max() > 1e-3


def test_short_runs_take_some_of_the_rows(monkeypatch):
    X = np.concatenate([np.random.default_rng(4).normal(mean, 1.0, (100, 2)) for mean in (0.0, 9.0, 30.0)])
    expected = nb.fit(nb.Gaussian(), X, None, nb.EM(), classes=3, key=1).mean()["x_mean"]
    taken, predictive = [], em._predictive

    def note(problem, counted_rows, membership, rows):
        taken.append((len(counted_rows), len(rows)))
        return predictive(problem, counted_rows, membership, rows)

    monkeypatch.setattr(em, "START_ROWS", 40)
    monkeypatch.setattr(em, "_predictive", note)
    found = nb.fit(nb.Gaussian(), X, None, nb.EM(), classes=3, key=1).mean()["x_mean"]
    np.testing.assert_allclose(np.sort(found, axis=0), np.sort(expected, axis=0), atol=1e-4)
    assert taken == [(40, 40)] * 210 + [(40, 300)]
