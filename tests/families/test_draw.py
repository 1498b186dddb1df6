"""Draws by NumPy have the mean and the variance that NumPyro's distributions state."""

from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

from bayesnb.families.distributions import GammaPoisson, GammaVector, ZeroOr
from bayesnb.families.draw import draw, log_gammas

DRAWS = 4000


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(1.0, 4.0, shape)


A, B = numbers(2, 3), numbers(2, 3, seed=1)
VECTORS, ROOTS = numbers(2, 3, 4), np.tril(numbers(2, 3, 4, 4))
PROBS = VECTORS / VECTORS.sum(axis=-1, keepdims=True)
"""Parameters for a batch of two by three."""


@pytest.mark.parametrize(
    "distribution",
    [
        dist.Beta(A, B),
        dist.Dirichlet(VECTORS),
        dist.Gamma(A, B),
        GammaVector(VECTORS, B[..., None]),
        dist.InverseGamma(A + 4, B),
        dist.Normal(A, B),
        dist.MultivariateNormal(VECTORS, scale_tril=ROOTS),
        dist.LogNormal(A, B / 8),
        dist.BernoulliProbs(A / 5),
        dist.CategoricalProbs(PROBS),
        dist.Poisson(A),
        dist.Exponential(A),
        dist.GeometricProbs(A / 5),
        dist.BinomialProbs(A / 5, total_count=9),
        GammaPoisson(A, B),
        dist.MultinomialProbs(PROBS, total_count=9),
        dist.DirichletMultinomial(VECTORS, total_count=9),
        ZeroOr(A / 5, dist.Normal(A[0], B[0])),
        dist.Laplace(A, B),
    ],
    ids=lambda distribution: type(distribution).__name__,
)
@pytest.mark.usefixtures("float64")
def test_mean_and_variance(distribution: Any, rng: np.random.Generator) -> None:
    drawn = draw(distribution, rng, (DRAWS,))
    assert drawn.shape == (DRAWS, 2, 3, *distribution.event_shape)
    mean, variance = moments_of(distribution)
    away = drawn - mean
    assert np.abs(away.mean(axis=0) / np.sqrt(variance / DRAWS)).max() < 5
    spread = away**2 - variance
    assert np.abs(spread.mean(axis=0) / (spread.std(axis=0) / np.sqrt(DRAWS))).max() < 5


def moments_of(distribution: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance; those of a category are those of its number."""
    if isinstance(distribution, dist.CategoricalProbs):
        number = np.arange(4)
        mean = PROBS @ number
        return mean, PROBS @ number**2 - mean**2
    if isinstance(distribution, GammaVector):
        return moments_of(dist.Gamma(distribution.concentration, distribution.rate))
    if isinstance(distribution, ZeroOr):
        prob, (mean, variance) = distribution.nonzero_prob, moments_of(distribution.other)
        return prob * mean, prob * variance + prob * (1 - prob) * mean**2
    return np.asarray(distribution.mean), np.asarray(distribution.variance)


class InNumPy(dist.Laplace):
    """A distribution whose draws JAX cannot compile."""

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> np.ndarray:
        seed = np.asarray(jax.random.key_data(key)).tolist()
        return np.random.default_rng(seed).laplace(self.loc, self.scale, (*sample_shape, *self.batch_shape))


@pytest.mark.parametrize("kind", [InNumPy, dist.Laplace])
def test_other_distributions_draw_by_their_own_sampler(kind: Any) -> None:
    found = draw(kind(A, B), np.random.default_rng(5), (7,))
    key = jax.random.key(int(np.random.default_rng(5).integers(2**32)))
    with jax.enable_x64(True):
        np.testing.assert_allclose(found, kind(A, B).sample(key, (7,)), rtol=1e-13)


def test_numbers_other_than_zero_are_drawn_for_each_place(rng: np.random.Generator) -> None:
    """Also where the places of a column share their parameters, and NumPyro draws."""
    drawn = draw(ZeroOr(np.ones((2, 3)), dist.Laplace(A[:1], B[:1])), rng, (5,))
    assert drawn.shape == (5, 2, 3)
    assert (drawn[:, 0] != drawn[:, 1]).all()


def test_probabilities_of_float32_may_exceed_one_together(rng: np.random.Generator) -> None:
    drawn = draw(dist.MultinomialProbs(np.float32([0.6, 0.4, 0.0]), total_count=9), rng, (5,))
    assert drawn.sum(axis=-1).tolist() == [9.0] * 5


@pytest.mark.parametrize("least", [1, 3, 10])
def test_gamma_variables_drawn_in_pieces_are_those_of_one_call(least: int, monkeypatch: Any) -> None:
    def drawn(at_once: int) -> np.ndarray:
        monkeypatch.setattr("bayesnb.families.draw.GAMMAS", at_once)
        return log_gammas(A / 5, np.random.default_rng(0), (4, *A.shape))

    np.testing.assert_array_equal(drawn(least), drawn(10**6))
