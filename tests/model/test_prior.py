"""The prior of weights and offsets: its constant by direct integration and simulation, and its draws."""

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import log_ndtr, logsumexp
from scipy.stats import multivariate_normal, norm

from bayesnb.model.weights import SPREADS, NormalWeights, priors


def covariance_of(num_weights, spread):
    return spread**2 * np.eye(num_weights) + 1.0


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("num_weights", [1, 2, 7])
def test_mean_and_precision(num_weights, spread):
    prior = NormalWeights.given_spread(num_weights, 3, spread)
    np.testing.assert_array_equal(prior.mean, [1.0] * num_weights + [0.0] * 3)
    expected = np.eye(num_weights + 3)
    expected[:num_weights, :num_weights] = np.linalg.inv(covariance_of(num_weights, spread))
    np.testing.assert_allclose(prior.precision, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("spread", [0.0, *SPREADS])
def test_constant_of_one_weight_by_integration(spread):
    """The integral of the density over w >= 0, divided by the root of 2 pi; the offsets' integral is one."""
    prior = NormalWeights.given_spread(1, 2, spread)
    integral, _ = quad(lambda w: np.exp(-prior.precision[0, 0] * (w - 1) ** 2 / 2), 0, 30, points=[1.0])
    assert prior.log_normaliser == pytest.approx(np.log(integral / np.sqrt(2 * np.pi)), abs=1e-9)


@pytest.mark.parametrize("spread", SPREADS)
def test_constant_of_two_weights_by_integration(spread):
    """Integrated over half the sum and half the difference of the weights, whose spreads differ much."""
    prior = NormalWeights.given_spread(2, 2, spread)
    precision = prior.precision[:2, :2]

    def density(difference, total):
        away = np.array([total + difference - 1, total - difference - 1])
        return np.exp(-away @ precision @ away / 2)

    widest = 7 * spread
    integral, _ = dblquad(
        density, 0, 9, lambda total: -min(total, widest), lambda total: min(total, widest), epsabs=1e-10, epsrel=1e-9
    )
    assert prior.log_normaliser == pytest.approx(np.log(2 * integral / (2 * np.pi)), abs=1e-6)


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("num_weights", [5, 40])
def test_constant_of_many_weights_by_simulation(rng, num_weights, spread):
    draws = rng.multivariate_normal(np.ones(num_weights), covariance_of(num_weights, spread), 20_000, method="cholesky")
    share = (draws >= 0).all(axis=1).mean()
    prior = NormalWeights.given_spread(num_weights, 2, spread)
    log_determinant = np.linalg.slogdet(covariance_of(num_weights, spread))[1]
    probability = np.exp(prior.log_normaliser - log_determinant / 2)
    error = np.sqrt(probability * (1 - probability) / len(draws))
    assert abs(share - probability) < 4.5 * error


@pytest.mark.slow
def test_constant_of_three_weights_by_scipy():
    for spread in SPREADS[1:]:
        probability = multivariate_normal.cdf(
            np.ones(3), np.zeros(3), covariance_of(3, spread), abseps=1e-8, rng=np.random.default_rng(1)
        )
        expected = np.linalg.slogdet(covariance_of(3, spread))[1] / 2 + np.log(probability)
        assert NormalWeights.given_spread(3, 2, spread).log_normaliser == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("num_weights", [2, 100, pytest.param(2000, marks=pytest.mark.slow)])
def test_constant_needs_no_finer_grid(num_weights):
    """The integral over the level on a grid of a million nodes."""
    level, step = np.linspace(-12.0, 12.0, 1_000_001, retstep=True)
    log_density = norm.logpdf(level)
    for spread in SPREADS:
        log_probability = logsumexp(log_density + num_weights * log_ndtr((1 + level) / spread)) + np.log(step)
        expected = log_probability + np.linalg.slogdet(covariance_of(num_weights, spread))[1] / 2
        assert NormalWeights.given_spread(num_weights, 2, spread).log_normaliser == pytest.approx(expected, abs=1e-9)


def test_log_density_is_scipys(rng):
    """Beside the density of the normal distribution divided by the probability of w >= 0."""
    prior = NormalWeights.given_spread(3, 2, 0.8)
    draws = prior.draw(6, rng).reshape(2, 3, 5)
    covariance = np.eye(5)
    covariance[:3, :3] = covariance_of(3, 0.8)
    expected = multivariate_normal.logpdf(draws, prior.mean, covariance) + 2.5 * np.log(2 * np.pi)
    probability = multivariate_normal.cdf(
        np.ones(3), np.zeros(3), covariance_of(3, 0.8), abseps=1e-8, rng=np.random.default_rng(1)
    )
    np.testing.assert_allclose(prior.log_density(draws), expected - np.log(probability), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("num_weights", "spread"), [(1, 0.0), (3, 0.1), (3, 1.6)])
def test_draws_have_the_moments_of_accepted_ones(rng, num_weights, spread):
    prior = NormalWeights.given_spread(num_weights, 2, spread)
    found = prior.draw(20_000, rng)
    assert found.shape == (20_000, num_weights + 2)
    proposed = rng.multivariate_normal(np.ones(num_weights), covariance_of(num_weights, spread), 60_000)
    accepted = proposed[(proposed >= 0).all(axis=1)]
    accepted = np.hstack([accepted, rng.normal(size=(len(accepted), 2))])
    assert found[:, :num_weights].min() >= 0
    for function in (lambda w: w, lambda w: w**2, lambda w: w[:, [0]] * w, lambda w: (w < 0.2) * 1.0):
        one, other = function(found), function(accepted)
        error = np.sqrt(one.var(axis=0) / len(one) + other.var(axis=0) / len(other))
        assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) <= 4.5 * error).all()


def test_one_weight_has_one_prior_and_several_one_for_each_spread():
    cases = {(5, True): (1, [0.0]), (1, False): (1, [0.0]), (5, False): (5, [0.05, 0.1, 0.2, 0.4, 0.8, 1.6])}
    for (features, shared), (num_weights, spreads) in cases.items():
        found = priors(features, 2, shared=shared)
        assert [prior.spread for prior in found] == spreads
        assert {prior.num_weights for prior in found} == {num_weights}
        assert {prior.mean.shape for prior in found} == {(num_weights + 2,)}
    assert NormalWeights.given_spread(1, 2, 0.0).log_normaliser == pytest.approx(norm.logcdf(1.0))
