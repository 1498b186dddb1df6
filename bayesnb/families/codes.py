"""Codes of categories as places in a table: counted, looked up, and laid out as rows of zeros and ones."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from bayesnb.sparse import csr_of_ones

__all__ = [
    "count_codes",
    "count_codes_by_class",
    "count_codes_on_device",
    "one_hot",
    "one_hot_pairs",
    "places_by_class",
    "with_certain_last",
]


def count_codes(x: np.ndarray, membership: np.ndarray, num_categories: int) -> np.ndarray:
    """Weight of the cells of each category, shape (classes, columns, categories).

    Parameters
    ----------
    x : array, shape (rows, columns)
        Codes; missing ones NaN.
    membership : array, shape (rows, classes)
        Weight of each row in each class.
    num_categories : int
    """
    sums = one_hot(x, num_categories).T @ membership
    by_class = np.moveaxis(sums.reshape(x.shape[1], num_categories + 1, -1), -1, 0)
    return np.ascontiguousarray(by_class[..., :num_categories])


def count_codes_by_class(x: np.ndarray, codes: np.ndarray, num_classes: int, num_categories: int) -> np.ndarray:
    """As `count_codes`, for rows of one class (rows,) and of weight one each."""
    shape = num_classes, x.shape[1], num_categories + 1
    counted = np.bincount(places_by_class(x, codes, shape).ravel(), minlength=math.prod(shape)).reshape(shape)
    return counted[..., :-1].astype(np.float64)


def count_codes_on_device(x: Any, membership: Any, num_categories: int) -> Any:
    """As `count_codes`, for JAX to compile."""
    categories = jnp.arange(float(num_categories))
    # One category after the other, so that no array is larger than the cells.
    return jnp.moveaxis(jax.lax.map(lambda k: membership.T @ (x == k).astype(x.dtype), categories), 0, -1)


def one_hot(x: np.ndarray, num_categories: int) -> scipy.sparse.csr_array:
    """Rows as sparse vectors with a one for each cell: in the place of its category, or one after where it is missing.

    Parameters
    ----------
    x : array, shape (rows, columns)
        Codes; missing ones NaN.
    num_categories : int

    Returns
    -------
    CSR array, shape (rows, columns * (num_categories + 1))
    """
    return _ones_at(with_missing_last(x, num_categories).astype(np.int32), num_categories + 1)


def one_hot_pairs(x: np.ndarray, num_categories: int) -> scipy.sparse.csr_array:
    """As `one_hot`, with a one for each pair of columns j and j + pairs, in the place of both categories.

    Parameters
    ----------
    x : array, shape (rows, 2 * pairs)
        Codes; missing ones NaN.
    num_categories : int

    Returns
    -------
    CSR array, shape (rows, pairs * (num_categories + 1)**2)
    """
    width, pairs = num_categories + 1, x.shape[1] // 2
    codes = with_missing_last(x, num_categories).astype(np.int32)
    return _ones_at(codes[:, :pairs] * np.int32(width) + codes[:, pairs:], width**2)


def _ones_at(places: np.ndarray, width: int) -> scipy.sparse.csr_array:
    """A one in each column's share of a row, (rows, columns), where each share is so wide."""
    num_columns = places.shape[1]
    places += width * np.arange(num_columns, dtype=np.int32)
    return csr_of_ones(places, num_columns * width)


def places_by_class(x: np.ndarray, codes: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Position of each cell in a flat table of class, column and category, the last of which is a missing cell's.

    Parameters
    ----------
    x : array, shape (rows, columns)
    codes : array of int, shape (rows,)
        Position of each row's class.
    shape : tuple of int
        Classes, columns, categories and one more.
    """
    places = np.arange(0, math.prod(shape), shape[-1]).reshape(shape[:2]).take(codes, axis=0)
    places += with_missing_last(x, shape[-1] - 1)
    return places


def with_certain_last(log_prob: np.ndarray) -> np.ndarray:
    """Log probabilities of the categories, and that of a missing cell, which is certain under every class."""
    return np.concatenate([log_prob, np.zeros((*log_prob.shape[:-1], 1))], axis=-1)


def with_missing_last(x: np.ndarray, num_categories: int) -> np.ndarray:
    """Codes as signed integers, that after the last for a missing cell."""
    codes = x if x.dtype.kind in "iu" else np.where(np.isnan(x), num_categories, x)
    return codes.astype(np.intp, copy=False)
