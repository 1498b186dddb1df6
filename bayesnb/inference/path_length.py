"""Step sizes with which NUTS takes paths of a good length, where the scale of every parameter is known."""

import math

__all__ = ["with_good_paths"]

SHORTEST, LONGEST = 3.55, 5.1
"""Lengths of the shortest and of the longest good path. Below 3.35 and above 5.3, many paths are doubled once more."""

MOST_GROWTH = 1.12
"""By how much a step may grow: the acceptance falls from 0.66 to 0.57 on a standard normal."""


def with_good_paths(step_size: float) -> float:
    r"""The step size, or a near one whose paths turn round in time.

    NUTS doubles a path until it makes a U-turn, so that paths have :math:`2^m - 1` steps. On a standard normal, a path
    is a rotation by :math:`2 \arcsin(\varepsilon / 2)` a step, and turns from half a period, :math:`\pi`, on. If a path
    is just too short, the doubled one is nearly a whole period: it ends where it began, where no turn is seen either,
    and the sampler doubles it again. A draw then costs up to ten times as many gradients. A step that is a little
    larger prevents it, or one that is up to a third smaller.

    No acceptance prevents it in all models: with 0.6 it happens at 20 to 50 and at 400 to 1,500 parameters, and with
    0.7 at others.

    Parameters
    ----------
    step_size : float
        In coordinates with a posterior variance near one.

    Returns
    -------
    float

    Examples
    --------
    Paths of 7 steps; of 7 instead of 15, 31 or 63; and of 15 instead of these.

    >>> with_good_paths(0.6), round(with_good_paths(0.46), 3), round(with_good_paths(0.42), 3)
    (0.6, 0.502, 0.338)
    """
    angle = 2 * math.asin(min(step_size / 2, 1.0))
    steps = 3
    # A path of three steps turns a little earlier, in the few dimensions that have steps of this size.
    while steps * angle < (3.2 if steps == 3 else 3.35):
        steps = 2 * steps + 1
    if steps * angle <= 5.3:
        return step_size
    shorter = steps // 2
    # Paths of three steps have few dimensions, and posteriors that are less normal: there a step does not grow.
    larger = shorter > 3 and SHORTEST / shorter <= MOST_GROWTH * angle
    return 2 * math.sin((SHORTEST / shorter if larger else LONGEST / steps) / 2)
