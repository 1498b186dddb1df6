"""The joint density of rows and classes, averaged over draws of the parameters."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bayesnb.arrays import in_float64, log
from bayesnb.blocks.density import summed
from bayesnb.blocks.parameters import ModelParameters
from bayesnb.families.base import Family

__all__ = ["log_mean_joint", "pieces_of_rows"]

ROWS = 256
"""Number of rows whose densities under all draws and one class are in memory at a time."""


@in_float64
def log_mean_joint(families: Sequence[Family], parameters: ModelParameters, chunk: tuple[Any, ...]) -> np.ndarray:
    r"""Log of the average of :math:`p(x, y=c \mid \theta_s)` over the draws s.

    It is computed for one class and some rows at a time, so that no array of all draws, rows and classes is needed.

    Parameters
    ----------
    families : sequence of Family
    parameters : ModelParameters
        One leading axis, the draws.
    chunk : tuple of array
        Encoded rows of each block.

    Returns
    -------
    array, shape (rows, classes)
    """
    num_rows, (num_draws, num_classes) = chunk[0].shape[0], parameters.class_prob.shape
    log_class_prob = log(parameters.class_prob)
    result = np.empty((num_rows, num_classes))
    for c in range(num_classes):
        densities = [
            family.densities_of_rows({name: value[:, c : c + 1] for name, value in values.items()}, x)
            for family, values, x in zip(families, parameters.blocks, chunk, strict=True)
        ]
        for rows in pieces_of_rows(num_rows):
            joint = summed(of_rows(rows)[..., 0] for of_rows in densities) + log_class_prob[:, c, None]
            result[rows, c] = _log_sum(joint)
    return result - np.log(num_draws)


def pieces_of_rows(num_rows: int) -> Iterator[slice]:
    """Slices of rows whose densities under all draws and one class are in memory at a time."""
    for start in range(0, num_rows, ROWS):
        yield slice(start, min(start + ROWS, num_rows))


def _log_sum(joint: np.ndarray) -> np.ndarray:
    """Log of the sum of exponentials over the first axis; the argument is overwritten."""
    highest = joint.max(axis=0)
    highest[np.isneginf(highest)] = 0.0
    joint -= highest
    with np.errstate(divide="ignore"):
        return np.log(np.exp(joint, out=joint).sum(axis=0)) + highest
