"""Class probabilities from log joint densities."""

import numpy as np

from bayesnb.arrays import log
from bayesnb.rows import row_pieces
from bayesnb.warn import warn

__all__ = ["is_lost", "log_normalised", "normalise", "normalise_into", "rows_of", "warn_lost", "with_fallback"]


def normalise(log_joint: np.ndarray, class_probs: np.ndarray) -> np.ndarray:
    """Log class probabilities from log joint densities, shape (..., rows, classes).

    Rows whose joint density is zero under every class get the class probabilities, with a warning.
    """
    return with_fallback(log_normalised(log_joint), -np.inf, log(class_probs))


def log_normalised(log_joint: np.ndarray) -> np.ndarray:
    """Log class probabilities; -inf in every class for rows whose joint density is zero in every class."""
    result = np.empty(log_joint.shape)
    for rows in row_pieces(log_joint.shape[-2], log_joint[..., :1, :].size):
        by_class = _less_highest(log_joint[..., rows, :])
        total = log(np.exp(by_class).sum(axis=0))
        total[np.isneginf(total)] = 0.0
        result[..., rows, :] = np.moveaxis(by_class - total, 0, -1)
    return result


def normalise_into(proba: np.ndarray, log_prior: np.ndarray, log_density: np.ndarray) -> None:
    """Put class probabilities into an array, shape (rows, classes); zero in every class where the joint density is."""
    for rows in row_pieces(*log_density.shape):
        by_class = _less_highest(log_prior + log_density[rows])
        total = np.exp(by_class, out=by_class).sum(axis=0)
        total[total == 0] = 1.0
        proba[rows] = (by_class / total).T


def _less_highest(log_joint: np.ndarray) -> np.ndarray:
    """Log joint densities less the highest of each row, the classes first."""
    # Class by class, because short rows cost NumPy more than their numbers do.
    by_class = np.moveaxis(log_joint, -1, 0).copy()
    highest = by_class.max(axis=0)
    highest[np.isneginf(highest)] = 0.0
    by_class -= highest
    return by_class


def with_fallback(found: np.ndarray, nothing: float, instead: np.ndarray) -> np.ndarray:
    """The probabilities found, with `instead` for rows that are `nothing` in every class, and a warning of them."""
    lost = is_lost(found, nothing)
    if lost.any():
        rows = rows_of(lost)
        warn_lost(len(rows), int(rows[0]))
        return np.where(lost[..., None], np.broadcast_to(instead, found.shape), found)
    return found


def is_lost(found: np.ndarray, nothing: float) -> np.ndarray:
    """Which rows are `nothing` in every class, the shape without the classes."""
    lost = found[..., 0] == nothing
    lost[lost] = (found[lost] == nothing).all(axis=-1)
    return lost


def rows_of(lost: np.ndarray) -> np.ndarray:
    """Positions of the rows that are lost under any draw, given an array of shape (..., rows)."""
    return np.flatnonzero(lost.reshape(-1, lost.shape[-1]).any(axis=0))


def warn_lost(number: int, first: int) -> None:
    """Warn of rows that no class can have, given how many and the position of one."""
    warn(
        f"{number} row(s), the first of them row {first}, have probability zero "
        "under every class, because an estimate is exactly 0 or 1; they get the class probabilities. Use "
        "nb.NUTS(), or nb.Exact() for conjugate families, which give every row a probability",
        UserWarning,
    )
