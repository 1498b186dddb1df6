"""The density of weights of features that NUTS samples, beside its likelihood and prior in NumPy."""

import jax
import numpy as np
import pytest
from numpyro.infer.util import log_density
from scipy import stats
from scipy.special import log_softmax, logsumexp, softmax

from bayesnb.inference.nuts import SMALLEST, _program, _SampledWeights, _spreads, sample_weights
from bayesnb.model.feature_weights import ConditionalLikelihood, priors
from bayesnb.model.laplace import approximate


def labelled(rng, features, num_again=0):
    """The likelihood of twenty labels, and the approximation of its posterior."""
    log_prior = log_softmax(rng.normal(size=(20, 3)), axis=1)
    log_density, weights = rng.normal(size=(20, 3, features)), rng.uniform(0.2, 3.0, 20)
    likelihood = ConditionalLikelihood.of(log_density, log_prior, rng.integers(0, 3, 20), weights)
    return likelihood, approximate(likelihood, priors(features, 3, shared=features == 1, num_again=num_again), rng)


@pytest.mark.parametrize(("num_weights", "num_again"), [(4, 0), (4, 3), (1, 0)])
def test_the_density_is_likelihood_times_prior(num_weights, num_again, rng, float64):
    """The prior is the sum over the spreads; the power of 2 pi is left out, as in `NormalWeights.log_density`."""
    likelihood, around = labelled(rng, num_weights, num_again)
    arguments = _SampledWeights(likelihood, around).arguments
    given = [part.prior for part in around.parts]
    density = jax.jit(lambda sites: log_density(_program, arguments, {}, sites)[0])
    for _ in range(3):
        point = np.concatenate([rng.uniform(0.1, 3.0, num_weights), rng.normal(size=3)])
        sites = {"weight": point[:num_weights], "offset": point[num_weights:]}
        expected = likelihood.value_and_gradient(point)[0] + logsumexp([prior.log_density(point) for prior in given])
        assert float(density(sites)) == pytest.approx(expected, rel=1e-10)


def test_the_spread_follows_its_probabilities_given_the_weights(rng):
    given = priors(4, 3, shared=False)
    draw = np.array([1.1, 0.7, 1.3, 0.9, 0.2, -0.1, 0.0])
    drawn = _spreads(given, np.broadcast_to(draw, (4, 1000, 7)), rng)
    assert drawn.shape == (4, 1000)
    expected = softmax([prior.log_density(draw) for prior in given])
    often = expected > 0.01
    counts = np.bincount(drawn.ravel(), minlength=len(given))
    expected = np.append(expected[often], expected[~often].sum())
    assert stats.chisquare(np.append(counts[often], counts[~often].sum()), 4000 * expected).pvalue > 1e-4


def test_chains_begin_at_draws_of_the_approximation(rng):
    likelihood, around = labelled(rng, 4)
    beginning = _SampledWeights(likelihood, around).begin(np.random.default_rng(1), 5)
    draws, _ = around.draw(200, np.random.default_rng(1))
    logs = np.log(np.maximum(draws[:, :4], SMALLEST))
    for name, expected in (("weight", logs), ("offset", draws[:, 4:])):
        np.testing.assert_allclose(beginning.points[name], expected[:5])
        np.testing.assert_allclose(beginning.variance[name], expected.var(axis=0))


def test_draws_are_weights_followed_by_offsets(rng):
    class Given:
        """Draws that are known, in place of a sampler."""

        sites = {"weight": rng.uniform(0.1, 2.0, (2, 50, 4)), "offset": rng.normal(size=(2, 50, 3))}  # noqa: RUF012

        def sample(self, target, start_key, chain_key):
            assert not (jax.random.key_data(start_key) == jax.random.key_data(chain_key)).all()
            return self.sites, {}

        def warn_of(self, diagnostics, target, ending):
            self.named = diagnostics.problems()

    settings = Given()
    draws, which = sample_weights(*labelled(rng, 4), list("abcdxyz"), settings, 0)
    np.testing.assert_array_equal(draws[..., :4], settings.sites["weight"])
    np.testing.assert_array_equal(draws[..., 4:], settings.sites["offset"])
    assert which.shape == (2, 50)
    assert set(np.unique(which)) <= set(range(6))
