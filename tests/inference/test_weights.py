"""The density of weights of features that NUTS samples, beside its likelihood and prior in NumPy."""

import jax
import numpy as np
import pytest
from numpyro.infer.util import log_density
from scipy.special import log_softmax, logsumexp

from bayesnb.inference.weights import _program, _Weights
from bayesnb.weights.laplace import approximate
from bayesnb.weights.likelihood import ConditionalLikelihood
from bayesnb.weights.prior import priors


@pytest.mark.parametrize("shared", [False, True], ids=["a weight each", "one weight"])
def test_the_density_is_likelihood_times_prior(shared, rng, float64):
    """The prior is the sum over the spreads; the power of 2 pi is left out, as in `WeightPrior.log_density`."""
    log_prior = log_softmax(rng.normal(size=(20, 3)), axis=1)
    log_ratios, weights = rng.normal(size=(20, 3, 1 if shared else 4)), rng.uniform(0.2, 3.0, 20)
    likelihood = ConditionalLikelihood.of(log_ratios, log_prior, rng.integers(0, 3, 20), weights)
    num_weights = likelihood.num_features
    around = approximate(likelihood, priors(num_weights, 3, shared=shared), rng)
    arguments = _Weights(likelihood, around).arguments
    given = [part.prior for part in around.parts]
    for _ in range(3):
        point = np.concatenate([rng.uniform(0.1, 3.0, num_weights), rng.normal(size=3)])
        sites = {"weight": point[:num_weights], "offset": point[num_weights:]}
        found = jax.jit(lambda sites: log_density(_program, arguments, {}, sites)[0])(sites)
        expected = likelihood.value_and_gradient(point)[0] + logsumexp([prior.log_density(point) for prior in given])
        assert float(found) == pytest.approx(expected, rel=1e-10)
