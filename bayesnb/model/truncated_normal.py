"""Draws and probabilities of normal vectors that are not negative."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import log_ndtr, logsumexp, ndtri_exp

# --------------------------------------------------------------------------------------------------
# Draws of normal vectors without negative entries, by trajectories that are reflected at zero
# --------------------------------------------------------------------------------------------------

WARM_UP = 20
"""Steps of each chain before the first draw."""

TIME = np.pi / 2
"""Length of a trajectory; without bounds its end does not depend on its start."""


def reflected_draws(
    start: np.ndarray, mean: np.ndarray, factor: np.ndarray, num_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """Draws of a normal vector given that no entry is negative, shape (draws, entries).

    Exact Hamiltonian Monte Carlo: a point moves on an ellipse and is reflected where an entry becomes zero (Pakman and
    Paninski 2014, *Journal of Computational and Graphical Statistics* 23, 518-542). Nothing is rejected. Velocities
    have the covariance of the positions, so that correlations do not slow it down.

    Parameters
    ----------
    start : array, shape (chains, entries)
        Points without negative entries.
    mean : array, shape (entries,)
    factor : array, shape (entries, entries)
        Lower Cholesky factor of the covariance.
    num_draws : int
        Chains take turns, so that neighbours are independent.
    rng : numpy.random.Generator
    """
    covariance = factor @ factor.T
    away, kept = start - mean, []
    for step in range(WARM_UP + -(-num_draws // len(start))):
        away = _trajectories(away, rng.standard_normal(away.shape) @ factor.T, covariance, mean)
        if step >= WARM_UP:
            kept.append(away)
    # Rounding may put a draw below zero by 1e-17.
    return np.maximum(mean + np.concatenate(kept)[:num_draws], 0.0)


def _trajectories(away: np.ndarray, velocity: np.ndarray, covariance: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Ends of trajectories, shape (chains, entries), given distances from the mean and velocities at their starts."""
    ends = np.empty_like(away)
    moving, left = np.arange(len(away)), np.full(len(away), TIME)
    while len(moving):
        rows = np.arange(len(moving))
        # Entry j moves as radius cos(t - phase), and is zero where that is -mean.
        radius = np.hypot(away, velocity)
        level = -mean / np.maximum(radius, np.finfo(np.float64).tiny)
        arrival = np.arctan2(velocity, away) + np.arccos(np.clip(level, -1.0, 1.0))
        # By rounding, an entry that is about to reach zero may seem to have reached it already.
        arrival = np.hstack([np.where(level <= -1.0, np.inf, np.maximum(arrival, 0.0)), left[:, None]])
        hit = arrival.argmin(axis=1)
        passed = arrival[rows, hit][:, None]
        cosine, sine = np.cos(passed), np.sin(passed)
        away, velocity = away * cosine + velocity * sine, velocity * cosine - away * sine
        on = hit < len(mean)
        ends[moving[~on]] = away[~on]
        moving, left, hit = moving[on], (left - passed[:, 0])[on], hit[on]
        away, velocity, rows = away[on], velocity[on], np.arange(len(moving))
        # The velocity loses twice its part along the bound's normal, in the metric of the precision.
        away[rows, hit] = -mean[hit]
        velocity -= (2 * velocity[rows, hit] / covariance[hit, hit])[:, None] * covariance[hit]
    return ends


# --------------------------------------------------------------------------------------------------
# Normal vectors whose first entries are not negative: their probability, and exact draws of them.
#
# Entry by entry, each given those before it, draws from truncated normal distributions have a product of
# probabilities as their weight (Geweke 1991, *Computing Science and Statistics* 23, 571-578). The weights vary much
# if entries depend on each other. Botev (2017), *Journal of the Royal Statistical Society B* 79, 125-148, shifts the
# distributions so that the largest possible weight is as small as it can be. The weights are then nearly equal, and
# draws that are accepted in proportion to their weights are exact.
#
# With the scaled factor :math:`L = D (I + M)` of the covariance, M strictly lower triangular, with the hazard
# :math:`h(t) = \phi(t) / \Phi(-t)`, and with the least value :math:`l_j = -\mathrm{mean}_j / D_j` of each entry, the
# best shift is :math:`\mu = M^T h`, where t solves
#
# .. math:: t - h(t) + (I + M)(I + M)^T h(t) = l .
#
# The left side is the gradient of a convex function of h, so that there is one solution.
# --------------------------------------------------------------------------------------------------

MOST_STEPS = 200
"""Newton steps for the shift. Five to fifty are usual."""

CLOSE = 1e-9
"""Largest error of the equation for the shift, as a share of the largest least value."""

BATCHES = 20
"""After this many sets of candidates, trajectories make the missing draws."""

CHAINS = 200
"""Trajectories that are computed together."""

BLOCK = 64
"""Number of entries that share one product with the entries before them."""

TINY = 1e-300
"""Smallest variance of an entry given those before it; its square root is a divisor."""


@dataclass(frozen=True)
class TruncatedNormal:
    """A normal vector, given that its first entries are not negative.

    Attributes
    ----------
    mean : array, shape (entries,)
        Without the condition.
    factor : array, shape (entries, entries)
        Lower Cholesky factor of the covariance without the condition.
    order : array of int, shape (bounded,)
        The entries that have a bound, in the order in which they are drawn.
    lower : array, shape (bounded, bounded)
        Cholesky factor of the covariance of these entries, in this order.
    shift : array, shape (bounded,)
        Mean of the distribution from which each entry is drawn, in its own standard deviations.
    log_bound : float
        Log of the largest possible weight.
    """

    mean: np.ndarray
    factor: np.ndarray
    order: np.ndarray
    lower: np.ndarray
    shift: np.ndarray
    log_bound: float

    @classmethod
    def of(cls, mean: np.ndarray, factor: np.ndarray, num_bounded: int) -> Self:
        """The distribution, given the mean and the factor of all entries and the number of those that have a bound."""
        some = factor[:num_bounded, :num_bounded]
        order, lower = _ordered(mean[:num_bounded], some @ some.T)
        shift, log_bound = _best_shift(mean[order], lower)
        return cls(mean, factor, order, lower, shift, log_bound)

    def log_probability(self, num_draws: int, rng: np.random.Generator) -> float:
        """Log probability of the condition, estimated without bias by the average weight of draws."""
        return float(logsumexp(self._simulate(num_draws, rng)[1]) - np.log(num_draws))

    def draw(self, num_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Draws, shape (draws, entries); they are independent unless too few candidates were accepted."""
        bounded = len(self.order)
        first = self._accepted(num_draws, rng)
        # The other entries are normal given the first ones.
        standard = solve_triangular(self.factor[:bounded, :bounded], (first - self.mean[:bounded]).T, lower=True).T
        free = rng.standard_normal((num_draws, len(self.mean) - bounded))
        rest = self.mean[bounded:] + np.hstack([standard, free]) @ self.factor[bounded:].T
        return np.hstack([first, rest])

    def _accepted(self, num_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Draws of the entries that have a bound, accepted in proportion to their weights.

        Of dozens of groups of dependent entries, too few candidates are accepted. The other draws are then ends of
        trajectories.
        """
        found: list[np.ndarray] = []
        missing = num_draws
        for _ in range(BATCHES):
            draws, log_weight = self._simulate(num_draws, rng)
            kept = -rng.standard_exponential(len(draws)) < log_weight - self.log_bound
            found.append(draws[kept][:missing])
            missing -= len(found[-1])
            if not missing:
                return np.concatenate(found)
            if kept.sum() * BATCHES < num_draws:
                break
        start = draws[rng.choice(len(draws), min(CHAINS, missing), p=np.exp(log_weight - logsumexp(log_weight)))]
        bounded = len(self.order)
        rest = reflected_draws(start, self.mean[:bounded], self.factor[:bounded, :bounded], missing, rng)
        return np.concatenate([*found, rest])

    def _simulate(self, num_draws: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Candidates that are not negative, shape (draws, bounded), and their log weights."""
        mean, scale = self.mean[self.order], np.diag(self.lower)
        standard = np.empty((num_draws, len(mean)))
        log_weight = np.zeros(num_draws)
        for start in range(0, len(mean), BLOCK):
            block = slice(start, start + BLOCK)
            # The contribution of all entries before the block, as one product.
            before = mean[block] + standard[:, :start] @ self.lower[block, :start].T
            for j in range(start, min(start + BLOCK, len(mean))):
                inside = slice(start, j)
                given = before[:, j - start] + standard[:, inside] @ self.lower[j, inside]
                shift, least = self.shift[j], -given / scale[j]
                log_above = log_ndtr(shift - least)
                # A normal number above the least value, by its distribution function: -log(u) is an exponential draw.
                standard[:, j] = shift - ndtri_exp(log_above - rng.standard_exponential(num_draws))
                log_weight += log_above + shift**2 / 2 - standard[:, j] * shift
        draws = np.empty_like(standard)
        # Rounding may put a draw below zero by 1e-17.
        draws[:, self.order] = np.maximum(mean + standard @ self.lower.T, 0.0)
        return draws, log_weight


def _ordered(mean: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order in which entries are drawn, and the Cholesky factor of the covariance in this order.

    The entry that is least probable to meet the condition comes next, given the means of those before it (Gibson,
    Glasbey and Elston 1994, *Monte Carlo evaluation of multivariate normal integrals*).
    """
    size = len(mean)
    order, lower, covariance = np.arange(size), np.zeros((size, size)), covariance.copy()
    # Mean and variance of each entry given the means of those before it.
    centre, variance = mean.copy(), np.diag(covariance).copy()
    for j in range(size):
        scale = np.sqrt(np.maximum(variance[j:], TINY))
        above = centre[j:] / scale
        next_one = j + int(np.argmin(above))
        swap = [next_one, j]
        for array in (order, centre, variance, covariance, lower):
            array[[j, next_one]] = array[swap]
        covariance[:, [j, next_one]] = covariance[:, swap]
        rest = slice(j + 1, None)
        lower[j, j] = scale[next_one - j]
        lower[rest, j] = (covariance[rest, j] - lower[rest, :j] @ lower[j, :j]) / lower[j, j]
        centre[rest] += lower[rest, j] * _hazard(-above[next_one - j])
        variance[rest] -= lower[rest, j] ** 2
    return order, lower


def _best_shift(mean: np.ndarray, lower: np.ndarray) -> tuple[np.ndarray, float]:
    """The shift with the smallest bound of the weights, and the log of the bound; no shift if it is not found."""
    scale = np.diag(lower)
    unit = lower / scale[:, None]
    matrix, least = unit @ unit.T, -mean / scale

    def errors(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        hazard = _hazard(at)
        return at - hazard + matrix @ hazard - least, hazard

    at = least.copy()
    error, hazard = errors(at)
    for _ in range(MOST_STEPS):
        if np.abs(error).max() <= CLOSE * max(1.0, np.abs(least).max()):
            shift = unit.T @ hazard - hazard
            reached = shift + hazard
            return shift, float((shift**2 / 2 - reached * shift + log_ndtr(-at)).sum())
        # The derivative of the hazard h(t) is h (h - t), between 0 and 1.
        slope = np.clip(hazard * (hazard - at), 1e-12, 1.0)
        step = -cho_solve(cho_factor(matrix + np.diag(1.0 / slope - 1.0 + 1e-12)), error) / slope
        length = 1.0
        while True:
            there, hazard_there = errors(at + length * step)
            if there @ there <= (1 - 1e-4 * length) * (error @ error) or length < 1e-10:
                break
            length /= 2
        at, error, hazard = at + length * step, there, hazard_there
    return np.zeros(len(mean)), 0.0


def _hazard(at: np.ndarray) -> np.ndarray:
    """Density of a standard normal number over the probability above it."""
    return np.exp(-(at**2) / 2 - np.log(2 * np.pi) / 2 - log_ndtr(-at))
