"""Shapes of the columns of a class: ratios of sample L-moments, and the share of the commonest value."""

from dataclasses import dataclass
from typing import Self

import numpy as np

__all__ = ["SHAPES", "LMomentWeights"]

SHAPES = ("L-skewness", "L-kurtosis", "share of one value")


@dataclass(frozen=True)
class LMomentWeights:
    r"""Weights of the sorted cells of a class in the L-moments of its columns.

    The sample L-moment of order r is :math:`\frac1n \sum_i w_{ri} x_{(i)}`, with the shifted Legendre polynomials in
    :math:`p_{ki} = \binom{i}{k} / \binom{n-1}{k}`, i from 0: :math:`w_2 = 2 p_1 - 1`,
    :math:`w_3 = 6 p_2 - 6 p_1 + 1` and :math:`w_4 = 20 p_3 - 30 p_2 + 12 p_1 - 1` (Hosking 1990, *Journal of the Royal
    Statistical Society B* 52, section 3).

    Attributes
    ----------
    n : array, shape (columns,)
        Number of observed cells; columns with fewer than four have no shape.
    weights : array, shape (columns, rows, 3), or (1, rows, 3) where all columns have the same n
    """

    n: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, missing: np.ndarray) -> Self:
        """The weights for a class with these missing cells, shape (rows, columns)."""
        n = (~missing).sum(axis=0)
        different = n if (n != n[:1]).any() else n[:1]
        return cls(n, _weights(different[:, None], len(missing)))

    def shapes(self, x: np.ndarray, tied: np.ndarray) -> np.ndarray:
        """The numbers that `SHAPES` names, NaN where they are undefined.

        Parameters
        ----------
        x : array, shape (rows, columns)
        tied : array of bool, shape (columns,)
            Columns in which a value may occur more than once.

        Returns
        -------
        array, shape (columns, 3)
        """
        ordered = np.sort(np.ascontiguousarray(x.T), axis=1)
        most = np.ones(len(ordered))
        most[tied] = _longest_run(ordered[tied])
        ordered -= ordered[:, :1].copy()
        if (self.n < len(x)).any():
            ordered = np.nan_to_num(ordered)
        spread, skewness, kurtosis = (ordered[:, None] @ self.weights)[:, 0].T
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.stack([skewness / spread, kurtosis / spread, most / self.n], axis=1)
        found[self.n < 4] = np.nan
        return found


def _weights(n: np.ndarray, rows: int) -> np.ndarray:
    """Weights for columns with n observed cells, shape (columns, 1); missing cells come last and are zero."""
    i = np.arange(rows)
    with np.errstate(invalid="ignore", divide="ignore"):
        p1 = i / (n - 1)
        p2 = p1 * (i - 1) / (n - 2)
        p3 = p2 * (i - 2) / (n - 3)
    weights = np.stack([2 * p1 - 1, 6 * p2 - 6 * p1 + 1, 20 * p3 - 30 * p2 + 12 * p1 - 1], axis=-1)
    return np.where((n >= 4)[..., None], weights, 0.0)


def _longest_run(ordered: np.ndarray) -> np.ndarray:
    """Length of the longest run of equal numbers in each row of sorted numbers; NaN equals nothing."""
    place = np.arange(ordered.shape[1])
    begins = np.ones(ordered.shape, dtype=bool)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    since = np.maximum.accumulate(np.where(begins, place, 0), axis=1)
    return (place - since).max(axis=1, initial=-1) + 1
