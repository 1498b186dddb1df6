"""The posterior of weights and offsets, as normal distributions at the modes, restricted to w >= 0."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky
from scipy.special import log_ndtr, logsumexp, softmax

from bayesnb.core.running import one_blas_thread
from bayesnb.model.feature_weights import (
    RATIOS,
    SPREAD,
    SPREADS,
    ConditionalLikelihood,
    FeatureWeights,
    NormalWeights,
    priors,
)
from bayesnb.model.truncated_normal import TruncatedNormal

MOST_STEPS = 200
"""Newton steps. The function is convex, and a dozen are usual."""

GOOD_ENOUGH = 1e-10
"""The search ends at a smaller expected gain of a step, in nats or as a share of the function."""

SUFFICIENT = 1e-4
"""Share of the expected gain that a step must have (Armijo's rule)."""

SHORTEST = 1e-12
"""The search gives up below this step length, in Newton steps."""

TOLERANCE = 0.3
"""Tolerated relative error of the second derivatives, measured by the gradients at both ends of a step."""

SMALL = 1e-6
"""A step of smaller gain, in nats, keeps the second derivatives."""

FEWER, FEW_NUMBERS = 4, 10**5
"""The search begins with every fourth row if these have at least 10^5 densities."""

NEGLIGIBLE = 0.003
"""Spreads of a smaller probability without readings are not tried with them, except beside a more probable one."""

SIMULATIONS = 500
"""Draws that estimate the probability that no weight is negative."""


@dataclass(frozen=True)
class Approximation:
    """A normal distribution restricted to w >= 0, which approximates the posterior given the spread.

    Attributes
    ----------
    prior : NormalWeights
    mode : array, shape (weights + classes,)
    gaussian : NormalWeights
        The approximation as the prior of further rows. Its mean differs from the mode where a weight is zero.
    distribution : TruncatedNormal
        The same for draws.
    log_evidence : float
        Log density of the labels given the features and the spread.
    """

    prior: NormalWeights
    mode: np.ndarray
    gaussian: NormalWeights
    distribution: TruncatedNormal
    log_evidence: float


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

    def parts_near(self, probability: float) -> list[Approximation]:
        """The parts of at least this probability, and those beside them."""
        likely = np.convolve(self.probabilities > probability, [1, 1, 1], "same") > 0
        return list(compress(self.parts, likely))

    @property
    def log_evidence(self) -> float:
        """Log density of the labels given the features, the spread, and the ratio of readings, integrated out."""
        # Those that are not tried are as probable a priori, and explain the labels far worse.
        spreads, ratios = ({getattr(part.prior, name) for part in self.parts} for name in ("spread", "ratio"))
        number = len(ratios) * max(len(spreads - {0.0}), 1)
        return float(logsumexp([part.log_evidence for part in self.parts]) - np.log(number))

    @property
    def mode(self) -> np.ndarray:
        """The modes, averaged over the spread, shape (weights + classes,)."""
        return np.einsum("k,kp->p", self.probabilities, [self.padded(part.mode) for part in self.parts])

    @property
    def num_weights(self) -> int:
        """Number of weights; a part may lack those of the readings, which come last."""
        return max(part.prior.num_weights for part in self.parts)

    @property
    def mean_spread_of_readings(self) -> float:
        """Posterior mean of the spread of the readings' weights."""
        return float(self.probabilities @ [part.prior.ratio * part.prior.spread for part in self.parts])

    def padded(self, values: np.ndarray) -> np.ndarray:
        """Weights and offsets, shape (..., weights + classes), with weights of zero for readings that a part lacks."""
        missing = max(len(part.mode) for part in self.parts) - values.shape[-1]
        return np.insert(values, [self.num_weights - missing] * missing, 0.0, axis=-1)

    def draw(self, num_draws: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draws in random order, shape (draws, weights + classes), and the position of each one's part."""
        numbers = rng.multinomial(num_draws, self.probabilities)
        found = [
            self.padded(part.distribution.draw(number, rng))
            for part, number in zip(self.parts, numbers, strict=True)
            if number
        ]
        which = np.repeat(np.arange(len(self.parts)), numbers)
        order = rng.permutation(num_draws)
        return np.concatenate(found)[order], which[order]


def approximate(
    likelihood: ConditionalLikelihood,
    priors: Sequence[NormalWeights],
    rng: np.random.Generator,
    start: np.ndarray | None = None,
) -> Mixture:
    """Laplace's approximation of the posterior.

    Given the spread, the posterior density is log-concave. It is expanded to second order at its mode, which may be at
    a weight of zero.

    Parameters
    ----------
    likelihood : ConditionalLikelihood
    priors : sequence of NormalWeights
        One for each spread; they are equally probable.
    rng : numpy.random.Generator
        For the probability that no weight is negative, and for the rows that the search begins with.
    start : array, shape (weights + classes,), optional
        Where the search begins; by default at the mode of some of the rows.
    """
    parts = []
    # Second derivatives use their own threads; BLAS threads would wait for each other in the many small products.
    with one_blas_thread():
        search = _start(likelihood, priors[-1], rng) if start is None else ModeSearch.at(likelihood, start)
        for prior in reversed(priors):
            search = find_mode(search, prior).refreshed()
            parts.append(_expand(search, prior, rng))
    return Mixture(parts[::-1])


def approximate_with_readings(
    likelihood: ConditionalLikelihood, num_again: int, num_readings: int, rng: np.random.Generator
) -> Mixture:
    """As `approximate`, each ratio of the readings' spread included; without the readings if that is most probable.

    Parameters
    ----------
    likelihood : ConditionalLikelihood
        Readings come last.
    num_again, num_readings : int
        As for `priors`.
    """
    size, others = (likelihood.num_features, likelihood.num_classes), likelihood.num_features - num_readings
    of_others = priors(others, size[1], shared=False, num_again=num_again - num_readings)
    without = approximate(likelihood.of_features(slice(others)), of_others, rng)
    # Readings move the spread of the other weights by little. The weight of one feature alone has no spread.
    likely = SPREADS if others == 1 else [part.prior.spread for part in without.parts_near(NEGLIGIBLE)]
    given = [
        p for p in priors(*size, shared=False, num_again=num_again, num_readings=num_readings) if p.spread in likely
    ]
    # A single weight has one part, which has the prior probability of all spreads.
    each = [*without.parts] * (len(SPREADS) // len(without.parts))
    (own,) = rng.spawn(1)  # without readings, the draws are those of a model that has none
    found = Mixture([*each, *approximate(likelihood, given, own).parts])
    ratios = np.array([part.prior.ratio for part in found.parts])
    of_ratio = {ratio: found.probabilities[ratios == ratio].sum() for ratio in (0.0, *RATIOS)}
    return without if max(of_ratio, key=lambda ratio: of_ratio[ratio]) == 0.0 else found


def log_factors_of_again(likelihood: ConditionalLikelihood, num_again: int, rng: np.random.Generator) -> np.ndarray:
    r"""Log Bayes factors for each further description alone, beside the features that describe columns first.

    With the gradient g and the curvature h of the log likelihood in the weight w, the other weights integrated out, at
    w = 0 and the mode of the others,

    .. math:: \log \int_0^\infty e^{g w - h w^2 / 2} \, N^+(w \mid 0, \tau^2) \, dw
              = \log \frac{2}{\tau \sqrt{p}} + \frac{g^2}{2 p} + \log \Phi \Bigl(\frac{g}{\sqrt{p}}\Bigr), \qquad
              p = h + \tau^{-2}.

    Parameters
    ----------
    likelihood : ConditionalLikelihood
        Further descriptions come last.
    num_again : int
    rng : numpy.random.Generator

    Returns
    -------
    array, shape (num_again,)
        Given the spread of highest evidence without these descriptions.
    """
    first = likelihood.num_features - num_again
    own = priors(first, likelihood.num_classes, shared=False)
    parts = approximate(likelihood.of_features(slice(first)), own, rng).parts
    best = max(parts, key=lambda part: part.log_evidence)
    free = (best.mode > 0) | (np.arange(len(best.mode)) >= first)
    point = np.insert(best.mode, [first] * num_again, 0.0)
    (_, slope), information = likelihood.value_and_gradient(point), likelihood.information(point)
    again = slice(first, first + num_again)
    crossed = np.delete(information[again], again, axis=1)[:, free].T
    explained = crossed * cho_solve(cho_factor(best.gaussian.precision[np.ix_(free, free)]), crossed)
    spread = best.prior.spread or SPREAD
    precision = np.maximum(np.diag(information)[again] - explained.sum(axis=0), 0.0) + spread**-2
    scaled = slope[again] / np.sqrt(precision)
    return np.log(2 / spread) - np.log(precision) / 2 + scaled**2 / 2 + log_ndtr(scaled)


def learn_on(weights: FeatureWeights, likelihood: ConditionalLikelihood, rng: np.random.Generator) -> FeatureWeights:
    """The weights after more rows, each predicted before it is among the data (Dawid 1984, *JRSS A* 147, 278-292).

    The prior is the normal distribution that earlier rows left. The spread of the weights stays as it was learned.
    """
    assert weights.gaussian is not None
    (part,) = approximate(likelihood, [weights.gaussian], rng).parts
    shape, size = weights.weight_draws.shape[:2], weights.weight_draws.shape[2]
    return FeatureWeights.of(
        part.mode,
        part.distribution.draw(shape[0] * shape[1], rng).reshape(*shape, -1),
        size,
        spread_draws=weights.spread_draws,
        num_rows=weights.num_rows + len(likelihood.codes),
        gaussian=part.gaussian,
    )


def _start(likelihood: ConditionalLikelihood, prior: NormalWeights, rng: np.random.Generator) -> "ModeSearch":
    """The start of the search: with many rows, the mode of a subset, with its second derivatives."""
    fewer = len(likelihood.codes) // FEWER
    if fewer * likelihood.log_ratio[:, 0].size < FEW_NUMBERS:
        return ModeSearch.at(likelihood, prior.mean)
    some = likelihood.take(np.sort(rng.choice(len(likelihood.codes), fewer, replace=False)))
    share = some.row_weights.sum() / likelihood.row_weights.sum()
    if share == 0.0:
        return ModeSearch.at(likelihood, prior.mean)
    found = find_mode(_start(some, prior, rng), prior)
    return replace(found, likelihood=likelihood, information=found.information / share)


def _expand(search: "ModeSearch", prior: NormalWeights, rng: np.random.Generator) -> Approximation:
    """The normal distribution at a mode."""
    mode, information = search.point, search.information + prior.precision
    from_prior = mode - prior.mean
    gradient = prior.precision @ from_prior - search.slope
    # The gradient is zero, up to what the search tolerates, except for weights that are held at zero.
    gradient[~_held(mode, gradient, prior)] = 0.0
    solved = cho_factor(information, lower=True)
    # Complete the square: the gradient at a bound moves the centre beyond it.
    step = cho_solve(solved, gradient)
    covariance = cho_solve(solved, np.eye(len(mode)))
    factor = cholesky((covariance + covariance.T) / 2, lower=True)
    distribution = TruncatedNormal.of(mode - step, factor, prior.num_weights)
    log_evidence = (
        search.log_likelihood
        - from_prior @ prior.precision @ from_prior / 2
        + gradient @ step / 2
        + np.log(np.diag(factor)).sum()
        + distribution.log_probability(SIMULATIONS, rng)
        - prior.log_normaliser
    )
    gaussian = NormalWeights(prior.num_weights, mode - step, information)
    return Approximation(prior, mode, gaussian, distribution, float(log_evidence))


@dataclass(frozen=True)
class ModeSearch:
    """A point, the likelihood there, and its second derivatives at this point or at an earlier one.

    Attributes
    ----------
    likelihood : ConditionalLikelihood
    point : array, shape (weights + classes,)
    log_likelihood : float
    slope : array, shape (weights + classes,)
        Gradient of the log likelihood.
    information : array, shape (weights + classes, weights + classes)
        Minus its second derivatives.
    """

    likelihood: ConditionalLikelihood
    point: np.ndarray
    log_likelihood: float
    slope: np.ndarray
    information: np.ndarray

    @classmethod
    def at(cls, likelihood: ConditionalLikelihood, point: np.ndarray) -> Self:
        """All computed at the point."""
        return cls(likelihood, point, *likelihood.value_and_gradient(point), likelihood.information(point))

    def moved(self, point: np.ndarray) -> Self:
        """At another point, with the second derivatives unchanged."""
        value, slope = self.likelihood.value_and_gradient(point)
        return replace(self, point=point, log_likelihood=value, slope=slope)

    def refreshed(self) -> Self:
        """With the second derivatives at the point."""
        return replace(self, information=self.likelihood.information(self.point))


def find_mode(search: ModeSearch, prior: NormalWeights) -> ModeSearch:
    """The mode of the posterior given the spread, by a projected Newton method.

    A weight at zero that the gradient holds there does not take part in a step (Bertsekas 1982, *SIAM Journal on
    Control and Optimization* 20, 221-246). Second derivatives take most of the time. Those of an earlier point are used
    as long as they predict the change of the gradient, within a tolerance.

    Parameters
    ----------
    search : ModeSearch
        Where to begin.
    prior : NormalWeights

    Returns
    -------
    ModeSearch
        At the mode. Its second derivatives may be those of an earlier point.
    """
    size, centre, precision = prior.num_weights, prior.mean, prior.precision

    def negative_log_density(at: ModeSearch) -> float:
        return -at.log_likelihood + (at.point - centre) @ precision @ (at.point - centre) / 2

    def gradient_of(at: ModeSearch) -> np.ndarray:
        return precision @ (at.point - centre) - at.slope

    search = search.moved(np.concatenate([np.maximum(search.point[:size], 0.0), search.point[size:]]))
    for _ in range(MOST_STEPS):
        value, gradient, curvature = negative_log_density(search), gradient_of(search), search.information + precision
        free = ~_held(search.point, gradient, prior)
        solved = cho_factor(curvature[np.ix_(free, free)])
        step = np.zeros(len(gradient))
        step[free] = -cho_solve(solved, gradient[free])
        expected = -gradient @ step / 2
        if expected <= GOOD_ENOUGH * max(1.0, abs(value) * 1e-3):
            break
        length = 1.0
        while True:
            tried = search.point + length * step
            tried[:size] = np.maximum(tried[:size], 0.0)
            there = search.moved(tried)
            gain = gradient @ (search.point - tried)
            if negative_log_density(there) <= value - SUFFICIENT * gain or length < SHORTEST:
                break
            length /= 2
        change = tried - search.point
        predicted = curvature @ change
        missed = (gradient_of(there) - gradient - predicted)[free]
        stale = missed @ cho_solve(solved, missed) > TOLERANCE**2 * (change @ predicted)
        search = there.refreshed() if stale and expected > SMALL else there
    return search


def _held(point: np.ndarray, gradient: np.ndarray, prior: NormalWeights) -> np.ndarray:
    """Which weights the gradient holds at zero."""
    held = (point <= 0.0) & (gradient > 0.0)
    held[prior.num_weights :] = False
    return held
