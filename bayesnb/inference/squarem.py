"""Accelerated expectation-maximisation, over the probabilities of the missing labels."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Step", "climb", "extrapolated"]

ROUNDING = 1e-13
"""Relative rounding error of the log posterior, a sum over all rows."""


@dataclass(frozen=True)
class Step:
    """One step of EM from given probabilities of the labels.

    Attributes
    ----------
    parameters : ModelParameters
        The estimate given the probabilities.
    log_posterior : float
        Log posterior density of the estimate, the labels summed out, up to a constant.
    responsibilities : array, shape (rows, classes)
        Probabilities of the labels given the estimate.
    """

    parameters: Any
    log_posterior: float
    responsibilities: np.ndarray


def climb(
    step: Callable[[np.ndarray], Step],
    start: np.ndarray,
    weights: np.ndarray,
    max_iterations: int,
    tolerance: float,
    *,
    accelerate: bool,
) -> tuple[Step, float]:
    """Steps until the log posterior no longer rises.

    Two steps of EM, from :math:`r_0` to :math:`r_1` to :math:`r_2`, give a point to jump to (SQUAREM with the step
    length S3: Varadhan and Roland 2008, *Scandinavian Journal of Statistics* 35(2), 335-353). The next step starts
    there. If its estimate has a lower log posterior than that of the second step, it is dropped, and the next step
    starts from :math:`r_2`. The log posterior therefore never falls.

    Parameters
    ----------
    step : callable
        Maps probabilities of the labels to a `Step`.
    start : array, shape (rows, classes)
    weights : array, shape (rows,)
        A row of weight w counts as w rows in the step length.
    max_iterations : int
        Largest number of steps, those that are dropped among them.
    tolerance : float
        The iteration ends when a step raises the log posterior by no more.
    accelerate : bool
        Whether to jump. Without it, these are the steps of plain EM.

    Returns
    -------
    tuple of Step and float
        The last step, and by how much it raises the log posterior: zero if the iteration has converged, infinity if it
        has had one step only.
    """
    before, current, rise, number = start, step(start), np.inf, 1
    while number < max_iterations:
        further = step(current.responsibilities)
        number += 1
        rise = further.log_posterior - current.log_posterior
        if rise <= max(tolerance, ROUNDING * abs(further.log_posterior)):
            return further, 0.0
        if accelerate and number < max_iterations:
            ahead = extrapolated(before, current.responsibilities, further.responsibilities, weights)
            jump = step(ahead)
            number += 1
            if jump.log_posterior >= further.log_posterior:
                before, current = ahead, jump
                continue
        before, current = current.responsibilities, further
    return current, rise


def extrapolated(first: np.ndarray, second: np.ndarray, third: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Probabilities of labels ahead of three in a row, each of shape (rows, classes), given weights of the rows."""

    def squared(difference: np.ndarray) -> float:
        return float(weights @ np.einsum("rc,rc->r", difference, difference))

    change = second - first
    bend = third - second - change
    curvature = squared(bend)
    length = max(1.0, np.sqrt(squared(change) / curvature)) if curvature > 0 else 1.0
    ahead = np.maximum(first + 2 * length * change + length**2 * bend, 0.0)
    return ahead / ahead.sum(axis=-1, keepdims=True)
