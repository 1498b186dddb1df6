"""Shapes of the columns of a class: ratios of sample L-moments, and the share of the commonest value."""

from dataclasses import dataclass
from typing import Self

import numpy as np

__all__ = ["SHAPES", "Grid", "LMomentWeights"]

SHAPES = ("L-skewness", "L-kurtosis", "share of one value")

ROUNDING = 8 * np.finfo(np.float64).eps
"""Values that differ by less than this, relative to the column's largest value, are equal."""


@dataclass(frozen=True)
class Grid:
    """The resolution of each column: values lie on `anchor` plus multiples of `step`.

    Attributes
    ----------
    anchor : array, shape (columns,)
    step : array, shape (columns,)
        Smallest distance between two different values; 0 where no value occurs twice, or all are the same.
    tied : array of bool, shape (columns,)
        Whether a value occurs more than once.
    """

    anchor: np.ndarray
    step: np.ndarray
    tied: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray) -> Self:
        """The resolution of cells of shape (rows, columns); missing cells are NaN."""
        found = [_resolution(column[~np.isnan(column)]) for column in x.T]
        anchor, step, tied = zip(*found, strict=True)
        return cls(np.array(anchor), np.array(step), np.array(tied))

    def round(self, x: np.ndarray) -> np.ndarray:
        """Cells moved to the grid, shape (rows, columns)."""
        coarse = np.flatnonzero(self.step)
        if not len(coarse):
            return x
        anchor, step = self.anchor[coarse], self.step[coarse]
        rounded = x.copy()
        rounded[:, coarse] = anchor + step * np.rint((x[:, coarse] - anchor) / step)
        return rounded


def _resolution(values: np.ndarray) -> tuple[float, float, bool]:
    ordered = np.sort(values)
    if not len(ordered):
        return 0.0, 0.0, False
    gaps = np.diff(ordered)
    different = gaps > ROUNDING * np.abs(ordered[[0, -1]]).max()
    tied = not different.all()
    return float(ordered[0]), float(gaps[different].min()) if tied and different.any() else 0.0, tied


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
