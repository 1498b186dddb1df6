r"""The posterior of class probabilities q of rows without labels, given likelihood ratios; arrays only.

.. math:: p(q \mid x) \propto \mathrm{Dirichlet}(q \mid a) \prod_i \Bigl(\sum_c q_c \, r_{ic}\Bigr)^{w_i}, \qquad
    r_{ic} \propto p(x_i \mid c)

The logarithm is concave in q. Draws are made on the scale of log odds, where a class without rows has an exponential
tail. Its density has the exponents a in place of a - 1, and its mode is inside the simplex for every a.
"""

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np
from scipy.special import softmax

from bayesnb.core.arrays import distinct_rows, row_pieces
from bayesnb.core.running import results_in_order

MOST_GROUPS = 500
"""Rows with more distinct ratios than these are put into groups of nearly equal ones."""

FINEST = 2.0**-9
"""First width of a group, in square roots of probabilities; it doubles until there are few enough."""

MOST_STEPS = 100
"""Steps to the mode; about ten are enough."""

WALKERS = 250
"""Draws that move together in one thread."""

NUM_MOVES, NUM_STEPS, STEP = 10, 4, 0.4
"""Trajectories of each draw, their leapfrog steps, and the mean size of a step, in posterior standard deviations.

A trajectory of 1.6 is a quarter of the period of a normal distribution, so that its end hardly depends on its start."""


@dataclass(frozen=True)
class ClassProbsDensity:
    """The density of class probabilities on the scale of log odds, around its mode.

    Attributes
    ----------
    mode : array, shape (classes,)
    concentration : array, shape (classes,)
    proba : array, shape (groups, classes)
        Class probabilities of each group of rows at the mode.
    weights : array, shape (groups,)
        Weight of the rows of each group.
    within : array, shape (classes, classes)
        Sum over the rows of the products of their deviations from the group's `proba`: what the second derivatives of
        the groups lack.
    spread : array, shape (classes, classes - 1)
        Times independent normal numbers, it gives log odds with the curvature at the mode.
    """

    mode: np.ndarray
    concentration: np.ndarray
    proba: np.ndarray
    weights: np.ndarray
    within: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, ratios: np.ndarray, concentration: np.ndarray) -> Self:
        """The density given likelihood ratios (rows, classes), in any scale for each row."""
        ratios, weights = _groups(ratios, np.ones(len(ratios)), 0.0)
        mode = mode_of(ratios, concentration, weights)
        proba, products = _proba(ratios, mode), _products_of_proba(ratios, weights, mode)
        width = FINEST
        while len(proba) > MOST_GROUPS:
            proba, weights = _groups(proba, weights, width)
            width *= 2.0
        within = products - (proba.T * weights) @ proba
        total = weights.sum() + concentration.sum()
        curvature = products + np.diag(concentration) - total * np.outer(mode, mode)
        values, vectors = np.linalg.eigh(curvature)  # the first is zero: log odds do not change with the sum of logs
        return cls(mode, concentration, proba, weights, within, vectors[:, 1:] / np.sqrt(values[1:]))

    def draw(self, number: int, rng: np.random.Generator) -> np.ndarray:
        """Independent draws, shape (draws, classes).

        Each is the end of a short chain of Hamiltonian Monte Carlo (Neal 2011, *Handbook of Markov Chain Monte Carlo*,
        chapter 5) that begins near the mode.
        """
        starts = range(0, number, WALKERS)
        rngs = rng.spawn(len(starts))
        sizes = [min(WALKERS, number - start) for start in starts]
        return np.concatenate(list(results_in_order(lambda k: self._walk(sizes[k], rngs[k]), range(len(sizes)))))

    @np.errstate(divide="ignore", invalid="ignore", over="ignore")
    def _walk(self, number: int, rng: np.random.Generator) -> np.ndarray:
        place = 0.5 * rng.normal(size=(number, self.spread.shape[1]))
        density, slope = self._density_and_slope(place)
        for _ in range(NUM_MOVES):
            step = STEP * rng.uniform(0.25, 1.25, size=(number, 1))
            start = rng.normal(size=place.shape)
            speed, end, end_slope = start, place, slope
            for _ in range(NUM_STEPS):
                speed = speed + step / 2.0 * end_slope
                end = end + step * speed
                end_density, end_slope = self._density_and_slope(end)
                speed = speed + step / 2.0 * end_slope
            gain = end_density - density + ((start**2).sum(axis=1) - (speed**2).sum(axis=1)) / 2.0
            accepted = np.log(rng.uniform(size=number)) < gain
            density = np.where(accepted, end_density, density)
            place, slope = (np.where(accepted[:, None], *pair) for pair in ((end, place), (end_slope, slope)))
        return self._probs(place)

    def _probs(self, place: np.ndarray) -> np.ndarray:
        return softmax(np.log(self.mode) + place @ self.spread.T, axis=1)

    def _density_and_slope(self, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log density (draws,) and its gradient (draws, classes - 1) where normal numbers are `place`."""
        probs = self._probs(place)
        ratio = probs / self.mode
        of_groups = ratio @ self.proba.T
        away = ratio - 1.0
        bent = away @ self.within
        density = np.log(of_groups) @ self.weights - (away * bent).sum(axis=1) / 2.0
        density += np.log(probs) @ self.concentration
        by_class = ratio * (np.divide(self.weights, of_groups, out=of_groups) @ self.proba - bent) + self.concentration
        return density, (by_class - probs * by_class.sum(axis=1, keepdims=True)) @ self.spread


def _proba(ratios: np.ndarray, probs: np.ndarray) -> np.ndarray:
    """Class probabilities of rows (rows, classes), given those before any cell."""
    proba = ratios * probs
    return np.divide(proba, proba.sum(axis=1, keepdims=True), out=proba)


def _products_of_proba(ratios: np.ndarray, weights: np.ndarray, probs: np.ndarray) -> np.ndarray:
    """Sum over the rows of the products of their class probabilities, shape (classes, classes)."""

    def of_piece(rows: slice) -> np.ndarray:
        proba = _proba(ratios[rows], probs)
        return (proba.T * weights[rows]) @ proba

    return reduce(add, results_in_order(of_piece, list(row_pieces(*ratios.shape))), np.zeros((len(probs),) * 2))


def _groups(proba: np.ndarray, weights: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Means and weights of groups of rows that are equal, or nearly equal where a width is given."""
    cells = np.rint(np.sqrt(proba) / width) if width else proba
    found = distinct_rows([cells], 1.0)
    if found is None:  # no rows
        return proba, weights
    first, position = found
    total = np.bincount(position, weights)
    if not width:
        return proba[first], total
    sums = [np.bincount(position, weights * of_class) for of_class in proba.T]
    return np.stack(sums, axis=1) / total[:, None], total


def mode_of(ratios: np.ndarray, concentration: np.ndarray, weights: np.ndarray, start: Any = None) -> np.ndarray:
    """The mode on the scale of log odds, by Newton's method on the simplex with steps that raise the density."""

    def log_density(probs: np.ndarray) -> float:
        pieces = row_pieces(*ratios.shape)
        of_rows = results_in_order(lambda rows: np.log(ratios[rows] @ probs) @ weights[rows], list(pieces))
        return sum(of_rows, np.log(probs) @ concentration)

    probs = np.full(ratios.shape[1], 1.0 / ratios.shape[1]) if start is None else start
    value = log_density(probs)
    for _ in range(MOST_STEPS):
        curvature = _products_of_proba(ratios, weights, probs) + np.diag(concentration)
        solved = np.linalg.solve(curvature, probs)
        change = 1.0 - solved / (probs @ solved)  # of the probabilities, relative to them
        gain = change @ curvature @ change
        if gain < 1e-6:  # a thousandth of a standard deviation
            break
        step = min(1.0, 0.9 / max(-change.min(), 1e-9))
        while (higher := log_density(probs * (1.0 + step * change))) < value + 0.1 * step * gain and step > 1e-6:
            step /= 2.0  # at the rounding of the sum of very many rows no step raises it
        probs, value = probs * (1.0 + step * change), higher
    return probs / probs.sum()
