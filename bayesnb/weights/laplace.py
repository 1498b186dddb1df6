"""The posterior of weights and offsets, as normal distributions at the modes, restricted to w >= 0."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky
from scipy.special import logsumexp, softmax

from bayesnb.weights.likelihood import ConditionalLikelihood
from bayesnb.weights.prior import WeightPrior
from bayesnb.weights.truncated_normal import draw_truncated, log_probability

__all__ = ["Approximation", "Mixture", "approximate", "find_mode"]

MOST_STEPS = 200
"""Newton steps. The function is convex, and a dozen are usual."""

GOOD_ENOUGH = 1e-10
"""Expected gain of a step, in nats, at which the search ends; and that gain as a share of the function."""

SUFFICIENT = 1e-4
"""Share of the expected gain that a step must have (Armijo's rule)."""


@dataclass(frozen=True)
class Approximation:
    """A normal distribution restricted to w >= 0, which approximates the posterior given the spread.

    Attributes
    ----------
    prior : WeightPrior
    mode : array, shape (weights + classes,)
    mean : array, shape (weights + classes,)
        Of the normal distribution without the restriction; it differs from the mode where a weight is zero.
    factor : array, shape (weights + classes, weights + classes)
        Lower Cholesky factor of the covariance.
    log_evidence : float
        Log density of the labels given the features and the spread.
    """

    prior: WeightPrior
    mode: np.ndarray
    mean: np.ndarray
    factor: np.ndarray
    log_evidence: float

    def draw(self, num_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Independent draws, shape (draws, weights + classes)."""
        return draw_truncated(self.mean, self.factor, self.prior.num_weights, num_draws, rng)


@dataclass(frozen=True)
class Mixture:
    """The approximations given each spread, weighted by their evidence.

    Attributes
    ----------
    parts : sequence of Approximation
    """

    parts: Sequence[Approximation]

    @property
    def probabilities(self) -> np.ndarray:
        """Posterior probability of each spread."""
        return softmax([part.log_evidence for part in self.parts])

    @property
    def log_evidence(self) -> float:
        """Log density of the labels given the features, the spread integrated out."""
        return float(logsumexp([part.log_evidence for part in self.parts]) - np.log(len(self.parts)))

    @property
    def mode(self) -> np.ndarray:
        """The modes, averaged over the spread, shape (weights + classes,)."""
        return np.einsum("k,kp->p", self.probabilities, [part.mode for part in self.parts])

    def draw(self, num_draws: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draws in random order, shape (draws, weights + classes), and the position of each one's part."""
        numbers = rng.multinomial(num_draws, self.probabilities)
        found = [part.draw(number, rng) for part, number in zip(self.parts, numbers, strict=True) if number]
        which = np.repeat(np.arange(len(self.parts)), numbers)
        order = rng.permutation(num_draws)
        return np.concatenate(found)[order], which[order]


def approximate(likelihood: ConditionalLikelihood, priors: Sequence[WeightPrior]) -> Mixture:
    """Laplace's approximation of the posterior.

    Given the spread, the posterior density is log-concave. It is expanded to second order at its mode, which may be at
    a weight of zero.

    Parameters
    ----------
    likelihood : ConditionalLikelihood
    priors : sequence of WeightPrior
        One for each spread; they are equally probable.
    """
    parts = []
    start = priors[-1].mean
    for prior in reversed(priors):
        mode, gradient, information = find_mode(likelihood, prior, start)
        parts.append(_expand(likelihood, prior, mode, gradient, information))
        start = mode
    return Mixture(parts[::-1])


def _expand(
    likelihood: ConditionalLikelihood,
    prior: WeightPrior,
    mode: np.ndarray,
    gradient: np.ndarray,
    information: np.ndarray,
) -> Approximation:
    """The normal distribution at a mode, where the negative log density has a gradient and second derivatives."""
    solved = cho_factor(information, lower=True)
    # Complete the square: the gradient at a bound moves the centre beyond it.
    step = cho_solve(solved, gradient)
    mean = mode - step
    covariance = cho_solve(solved, np.eye(len(mode)))
    factor = cholesky((covariance + covariance.T) / 2, lower=True)
    from_prior = mode - prior.mean
    value = -likelihood.value(mode) + from_prior @ prior.precision @ from_prior / 2
    log_evidence = (
        -value
        + gradient @ step / 2
        + np.log(np.diag(factor)).sum()
        + log_probability(mean, factor, prior.num_weights)
        - prior.log_normaliser
    )
    return Approximation(prior, mode, mean, factor, float(log_evidence))


def find_mode(
    likelihood: ConditionalLikelihood, prior: WeightPrior, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mode of the posterior given the spread, by a projected Newton method.

    A weight at zero that the gradient holds there does not take part in a step (Bertsekas 1982, *SIAM Journal on
    Control and Optimization* 20, 221-246).

    Returns
    -------
    tuple of array
        The mode; the gradient of the negative log density there, zero except for weights at zero; and its second
        derivatives.
    """
    size, centre, precision = prior.num_weights, prior.mean, prior.precision

    def projected(point: np.ndarray) -> np.ndarray:
        return np.concatenate([np.maximum(point[:size], 0.0), point[size:]])

    def negative_log_density(point: np.ndarray) -> float:
        return -likelihood.value(point) + (point - centre) @ precision @ (point - centre) / 2

    point = projected(start)
    for _ in range(MOST_STEPS):
        log_likelihood, slope = likelihood.value_and_gradient(point)
        from_prior = precision @ (point - centre)
        value, gradient = (point - centre) @ from_prior / 2 - log_likelihood, from_prior - slope
        information = likelihood.information(point) + precision
        held = np.concatenate([(point[:size] <= 0.0) & (gradient[:size] > 0.0), np.zeros(len(point) - size, bool)])
        free = ~held
        step = np.zeros(len(point))
        step[free] = -cho_solve(cho_factor(information[np.ix_(free, free)]), gradient[free])
        if -gradient @ step / 2 <= GOOD_ENOUGH * max(1.0, abs(value) * 1e-3):
            break
        length = 1.0
        while True:
            tried = projected(point + length * step)
            gain = gradient @ (point - tried)
            if negative_log_density(tried) <= value - SUFFICIENT * gain or length < 1e-12:
                break
            length /= 2
        point = tried
    gradient[free] = 0.0
    return point, gradient, information
