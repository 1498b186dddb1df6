"""Formulas that fits and fitted models share, which need NumPy alone."""

from collections.abc import Callable
from math import prod
from operator import add
from typing import Any

import numpy as np

from bayesnb.core.cells import shortened
from bayesnb.core.checking import is_one_of, near_matches, warn

# --------------------------------------------------------------------------------------------------
# Stirling's series, for NumPy and for JAX
# --------------------------------------------------------------------------------------------------

FROM = 16.0
"""From here on the series have an error of 1e-14."""


def rising_by_series(a: Any, x: Any, xp: Any = np, rest: Any = None) -> Any:
    """`log_rising` for a >= 16; for smaller a, a finite number without meaning. `xp` is NumPy or `jax.numpy`.

    If x may be negative, `rest` is `stirling_rest`, since a + x may be below 16.
    """
    large = xp.maximum(a, FROM)
    logs = (large + x - 0.5) * xp.log1p(x / large) + x * (xp.log(large) - 1)
    return logs + ((rest or rest_by_series)(large + x) - rest_by_series(large))


def rest_by_series(z: Any) -> Any:
    """`stirling_rest` for z >= 16."""
    square = 1 / (z * z)
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / z


def rising_in_numpy(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """`log_rising` of arrays for x >= 0, without a log-gamma function.

    For a >= 16 it has the same digits. For smaller a, sixteen factors of the rising factorial come before the series.
    """
    found = rising_by_series(a, x)
    small = a < FROM
    if not small.any():
        return found
    # The first factor has a logarithm of its own, since it may be as small as the others together.
    factors = np.log(a / (a + x)) + np.log(prod((a + k) / (a + k + x) for k in range(1, int(FROM))))
    return np.where(small, rising_by_series(a + FROM, x) + factors, found)


# --------------------------------------------------------------------------------------------------
# Features and rows that say nothing
# --------------------------------------------------------------------------------------------------

HIGHEST = 700.0
"""Logarithm of nearly the largest float64."""


def in_halves(terms: Any, function: Callable[[Any, Any], Any]) -> Any:
    """The sum of terms, or another function of them, half by half: engines limit how deep an expression is."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return function(in_halves(terms[:middle], function), in_halves(terms[middle:], function))


def mixed(
    log_density: Any, log_prior: Any, share: Any, xp: Any = np, computed: Callable[[Any], Any] = lambda step: step
) -> Any:
    r"""Log densities given the class, if with probability `share` they are the same given every class.

    .. math:: p'(x \mid c) = (1 - s) \, p(x \mid c) + s \sum_k \pi_k \, p(x \mid k)

    Parameters
    ----------
    log_density : array, shape (..., classes)
        A number that all classes share changes the result by this number.
    log_prior : array, shape (..., classes)
        Log class probabilities, which add up to one.
    share : float or None
        None means zero, where JAX must know it before it has the number.
    xp : module
        NumPy or `jax.numpy`.
    computed : callable
        For expressions: computes a step that is read several times.

    Returns
    -------
    array, shape (..., classes)
        The log ratio of class c to another is at most the logarithm of :math:`1 + (1 - s) / (s \pi_c)`.
    """
    if isinstance(share, float | int | None) and not share:
        return log_density
    # Class by class, because short rows cost NumPy more than their numbers do.
    classes = range(log_density.shape[-1])
    highest = in_halves([log_density[..., c] + log_prior[..., c] for c in classes], xp.maximum)
    highest = computed(xp.where(xp.isneginf(highest), 0.0, highest))[..., None]
    # Relative to the highest joint density. A class without probability may be far above, and must not be infinite.
    density = computed(xp.exp(xp.minimum(log_density - highest, HIGHEST)))
    prior = xp.exp(log_prior)
    pooled = computed(in_halves([density[..., c] * prior[..., c] for c in classes], add))
    with np.errstate(divide="ignore"):
        return highest + xp.log((1.0 - share) * density + share * pooled[..., None])


# --------------------------------------------------------------------------------------------------
# Rows that no class can have
# --------------------------------------------------------------------------------------------------


def with_fallback(found: np.ndarray, nothing: float, instead: np.ndarray) -> np.ndarray:
    """The probabilities found, with `instead` for rows that are `nothing` in every class, and a warning of them."""
    lost = is_lost(found, nothing)
    if lost.any():
        # A row is reported if it is impossible under any draw.
        rows = np.flatnonzero(lost.reshape(-1, lost.shape[-1]).any(axis=0))
        warn_lost(len(rows), int(rows[0]))
        return np.where(lost[..., None], np.broadcast_to(instead, found.shape), found)
    return found


def is_lost(found: np.ndarray, nothing: float) -> np.ndarray:
    """Which rows are `nothing` in every class, the shape without the classes."""
    lost = found[..., 0] == nothing
    lost[lost] = (found[lost] == nothing).all(axis=-1)
    return lost


def warn_lost(number: int, first: int) -> None:
    """Warn of rows that no class can have, given how many and the position of one."""
    warn(
        f"{number} row(s), the first of them row {first}, have probability zero "
        "under every class, because an estimate is exactly 0 or 1; they get the class probabilities. Use "
        "nb.NUTS(), or nb.Exact() for conjugate families, which give every row a probability",
        UserWarning,
    )


# --------------------------------------------------------------------------------------------------
# The two classes whose log odds explain a row
# --------------------------------------------------------------------------------------------------

BEFORE = "before any cell"
"""Name of the part without features: the log odds of the class probabilities."""

TOGETHER = "features together"
"""Name of the joint part of the features, where their parts do not add up."""


def two_classes(labels: list[Any], log_joint: np.ndarray, class_: Any, against: Any) -> tuple[int, int]:
    """Positions of the two classes of an explanation; the most probable ones take the places that are free.

    Parameters
    ----------
    labels : list
        Of all classes.
    log_joint : array, shape (classes,)
        Of the row.
    class_, against : label or None
        What the user gives.

    Raises
    ------
    ValueError
        If there is one class, or a label is no class, or both are the same.
    """
    if len(labels) < 2:
        raise ValueError(f"there is one class, {labels[0]!r}: log odds need two, so fit with the labels of another")
    for name, label in (("class_", class_), ("against", against)):
        if label is not None and not is_one_of(label, labels):
            raise ValueError(
                f"{name} is {shortened(label)}, which is no class{near_matches(label, labels)}: give one of {labels}"
            )
    if class_ is not None and class_ == against:
        raise ValueError(f"class_ and against are both {class_!r}: give two different classes of {labels}")
    by_probability = [labels[c] for c in np.argsort(-log_joint, kind="stable")]
    if class_ is None:
        class_ = next(label for label in by_probability if against is None or label != against)
    if against is None:
        against = next(label for label in by_probability if label != class_)
    return labels.index(class_), labels.index(against)


def log_correction(log_given: Any, log_class_prob: np.ndarray) -> Any:
    """Log of given class probabilities over those of the rows, zero if there are none; the arrays broadcast.

    A class that is given no probability has none, also where it has no rows.
    """
    if log_given is None:
        return 0.0
    nothing = np.full(log_class_prob.shape, -np.inf)
    return np.subtract(log_given, log_class_prob, out=nothing, where=~np.isneginf(log_given))
