"""Squared distances of rows from the centre of each class, measured by a matrix, over the observed cells.

Densities of vectors with an elliptical shape are functions of three numbers for each row and class: the squared
distance :math:`(x - m)^T A^{-1} (x - m)`, the logarithm of the determinant of A, and the number of observed cells.
Where cells of a row are missing, all three are those of the observed cells, with their rows and columns of A.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays import namespace

__all__ = ["Distances", "distances", "distances_on_device", "log_det", "squared_distance"]

SMALLEST_SHARE = 1e-14
"""Smallest share of a column's variance that the columns before it may leave."""

ROWS = 256
"""Rows with missing cells that JAX computes at a time: each row has a matrix for every class."""


class Distances(NamedTuple):
    """What the density of a row needs.

    Attributes
    ----------
    squared, log_det : array, shape (..., rows, classes)
    observed : array, shape (rows, 1)
        Number of observed cells.
    """

    squared: Any
    log_det: Any
    observed: Any


def distances(x: np.ndarray, centre: np.ndarray, matrix: np.ndarray) -> Distances:
    """Distances of all rows; rows in which the same cells are missing are computed together.

    Parameters
    ----------
    x : array, shape (rows, columns)
        Missing cells are NaN.
    centre : array, shape (..., classes, columns)
    matrix : array, shape (..., classes, columns, columns)
    """
    observed = ~np.isnan(x)
    shape = (*centre.shape[:-2], len(x), centre.shape[-2])
    squared, log_dets = np.zeros(shape), np.zeros(shape)
    for rows, columns in _patterns(observed):
        whole = len(columns) == x.shape[1]
        some, middle = (matrix, centre) if whole else (matrix[..., columns[:, None], columns], centre[..., columns])
        away = x[rows][:, slice(None) if whole else columns] - middle[..., None, :]
        squared[..., rows, :] = np.swapaxes(squared_distance(some[..., None, :, :], away), -1, -2)
        log_dets[..., rows, :] = log_det(some)[..., None, :]
    return Distances(squared, log_dets, observed.sum(axis=1, keepdims=True))


def _patterns(observed: np.ndarray) -> list[tuple[Any, np.ndarray]]:
    """Rows in which the same cells are observed, and these columns; rows without a cell are left out."""
    if observed.all():
        return [(slice(None), np.arange(observed.shape[1]))]
    kinds, which = np.unique(observed, axis=0, return_inverse=True)
    pairs = ((np.flatnonzero(which == k), np.flatnonzero(kind)) for k, kind in enumerate(kinds))
    return [(rows, columns) for rows, columns in pairs if len(columns)]


def squared_distance(matrix: Any, away: Any) -> Any:
    """The squared length of vectors (..., columns) as positive definite matrices (..., columns, columns) measure it.

    A matrix of a single vector axis measures all vectors along that axis.
    """
    xp, _ = namespace(matrix, away)
    factor, size = _cholesky(matrix)
    if factor.shape[-3:-2] == (1,):
        # One matrix for many vectors: its root once, and a product of matrices.
        root = xp.linalg.inv(factor[..., 0, :, :]) / size
        solved = away @ xp.swapaxes(root, -1, -2)
    else:
        solved = xp.linalg.solve(factor, (away / size)[..., None])[..., 0]
    return (solved**2).sum(axis=-1)


def log_det(matrix: Any) -> Any:
    """Logarithm of the determinant of positive definite matrices, shape (...,)."""
    xp, _ = namespace(matrix)
    factor, size = _cholesky(matrix)
    return 2 * (xp.log(xp.diagonal(factor, axis1=-2, axis2=-1)) + xp.log(size)).sum(axis=-1)


def _cholesky(matrix: Any) -> tuple[Any, Any]:
    """Cholesky factor of the matrix with ones on its diagonal, and the square roots that scale it so.

    So scaled, the units of the columns do not matter, and no product of them overflows.

    Raises
    ------
    ValueError
        If a column has no variance of its own beside the others, up to the digits of float64; under NumPy only.
    """
    xp, _ = namespace(matrix)
    size = xp.sqrt(xp.diagonal(matrix, axis1=-2, axis2=-1))
    scaled = matrix / size[..., :, None] / size[..., None, :]
    try:
        factor = xp.linalg.cholesky(scaled)
        singular = xp is np and bool((np.diagonal(factor, axis1=-2, axis2=-1) ** 2 < SMALLEST_SHARE).any())
    except np.linalg.LinAlgError:
        singular = True
    if singular:
        raise ValueError(
            "a matrix of MultivariateGaussian is singular in float64: columns of the block determine each other, and "
            "`scale` is too small beside their spread; leave `scale` out, give a larger one, or drop a column"
        )
    return factor, size


def distances_on_device(x: Any, centre: Any, matrix: Any) -> Distances:
    """As `distances`, for JAX to compile, to run and to differentiate; no axes before those of the classes.

    Where no cell is missing, there is one Cholesky factor for each class, else one for each row and class.
    """
    x = x.astype(jnp.float64)
    observed = ~jnp.isnan(x)
    cells = jnp.where(observed, x, 0.0)

    def of_whole_rows() -> tuple[Any, Any]:
        squared = jax.vmap(squared_distance, (0, 1), 1)(matrix[:, None], cells[:, None] - centre)
        return squared, jnp.broadcast_to(log_det(matrix), squared.shape)

    def of_rows() -> tuple[Any, Any]:
        each = partial(_distance_of_row, centre=centre, matrix=matrix)
        return jax.lax.map(each, (cells, observed), batch_size=ROWS)

    squared, log_dets = jax.lax.cond(observed.all(), of_whole_rows, of_rows)
    return Distances(squared, log_dets, observed.sum(axis=1, keepdims=True))


def _distance_of_row(row: tuple[Any, Any], *, centre: Any, matrix: Any) -> tuple[Any, Any]:
    """Squared distance and log determinant of the observed cells of one row, shape (classes,) each.

    A missing cell gets a row and a column of the identity, and the distance zero.
    """
    cells, observed = row
    both = observed[:, None] & observed
    filled = jnp.where(both, matrix, jnp.eye(len(cells)))
    return squared_distance(filled, jnp.where(observed, cells - centre, 0.0)), log_det(filled)
