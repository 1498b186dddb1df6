"""Densities of rows that are multivariate Student-t, and the same with the row left out of its class."""

from typing import Any

import numpy as np

from bayesnb.arrays import log_rising, namespace
from bayesnb.families.distances import Distances, log_det, squared_distance
from bayesnb.rows import row_pieces
from bayesnb.statistics.scatter import Scatter

__all__ = ["left_out", "log_multivariate_gamma_ratio", "log_normal", "log_student_t", "predictive_matrix", "refitted"]

SMALLEST_REST = 1e-6
"""Smallest share of a spread that must remain without a row; below, the difference is too inaccurate."""


def log_multivariate_gamma_ratio(df: Any, more: Any, size: int) -> Any:
    r"""Log of :math:`\Gamma_p((\nu + n) / 2) / \Gamma_p(\nu / 2)`, the multivariate gamma functions of p columns.

    Parameters
    ----------
    df, more : array
        The degrees of freedom and what is added to them.
    size : int
        The number p.
    """
    return sum(log_rising((df - j) / 2, more / 2) for j in range(size))


def predictive_matrix(family: Any) -> Any:
    r"""The matrix that measures distances in the predictive density, :math:`\Psi (\kappa + 1) / \kappa`."""
    return family.scale * ((family.kappa + 1) / family.kappa)[..., None]


def log_student_t(df: Any, of_rows: Distances) -> Any:
    r"""Log density of the observed cells of rows whose matrix and degrees of freedom are those of all columns.

    With k observed cells and squared distance d by the matrix A,

    .. math:: \log\Gamma((\nu + k) / 2) - \log\Gamma(\nu / 2) - \tfrac{k}{2} \log \pi - \tfrac12 \log |A|
              - \tfrac{\nu + k}{2} \log(1 + d).

    Parameters
    ----------
    df : array, shape (classes,)
        The :math:`\nu` of the predictive density, which does not depend on the cells observed.
    of_rows : Distances
    """
    xp, _ = namespace(of_rows.squared, df)
    number = of_rows.observed
    constant = log_rising(df / 2 + 0.0 * number, number / 2) - 0.5 * number * np.log(np.pi)
    return constant - 0.5 * of_rows.log_det - 0.5 * (df + number) * xp.log1p(of_rows.squared)


def log_normal(of_rows: Distances) -> Any:
    """Log density of the observed cells of rows with a multivariate normal distribution."""
    return -0.5 * (of_rows.squared + of_rows.log_det + of_rows.observed * np.log(2 * np.pi))


def left_out(whole: Any, statistics: Scatter, x: np.ndarray, codes: np.ndarray) -> np.ndarray | None:
    r"""Log density of each row given the others of its class, shape (rows,); None where a difference loses its digits.

    Without the row the scale matrix is :math:`\Psi - \frac{\kappa}{\kappa - 1} d d^T` with d the distance from the
    location, a change of rank one: its determinant is that of :math:`\Psi` times
    :math:`1 - \frac{\kappa}{\kappa - 1} d^T \Psi^{-1} d`. The density of the row is the ratio of the normalisers of
    both posteriors.

    Parameters
    ----------
    whole : MultivariateGaussian
        The posterior given all rows.
    statistics : Scatter
        Of all rows.
    x : array, shape (rows, columns)
    codes : array of int, shape (rows,)
    """
    columns = statistics.of_columns
    if np.isnan(x).any() or (statistics.n <= 1).any() or (columns.ssd <= 0).any():
        return None
    share = (x - columns.mean[codes]) ** 2 * (columns.n / ((columns.n - 1) * columns.ssd))[codes]
    found = np.empty(len(x))
    size = x.shape[1]
    for c in np.unique(codes):
        rows = np.flatnonzero(codes == c)
        kappa, df = whole.kappa[c, 0], whole.df[c, 0]
        distance = squared_distance(whole.scale[c][None], x[rows] - whole.loc[c]) * kappa / (kappa - 1)
        if distance.max() > 1 - SMALLEST_REST:
            return None
        constant = log_rising((df - size) / 2, np.array(size / 2)) - 0.5 * size * np.log(np.pi)
        constant += 0.5 * size * np.log1p(-1 / kappa) - 0.5 * log_det(whole.scale[c])
        found[rows] = constant + 0.5 * (df - 1) * np.log1p(-distance)
    return found if share.max(initial=0.0) < 1 - SMALLEST_REST else None


def refitted(prior: Any, statistics: Scatter, x: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """As `ConjugateFamily.row_log_refitted`: the posterior of each class without each row, many rows at a time.

    Parameters
    ----------
    prior : MultivariateGaussian
        The prior with its defaults not set.
    statistics : Scatter
        Of all rows.
    x : array, shape (rows, columns)
    codes : array of int, shape (rows,)
    weights : array, shape (rows,)

    Returns
    -------
    array, shape (rows, classes)
        NaN where a row cannot have been among the data, or lacks a cell.
    """
    num_classes, size = statistics.mean.shape
    result = np.full((len(x), num_classes), np.nan)
    before, given = (
        _with_axis_of_rows(kind, names)
        for kind, names in ((statistics, ("n", "mean", "scatter")), (prior, ("loc", "kappa", "df", "scale")))
    )
    for rows in row_pieces(len(x), num_classes * size * size):
        cells = x[rows]
        own = np.where(codes[rows] == np.arange(num_classes)[:, None], weights[rows], 0.0)[..., None]
        mean = np.broadcast_to(cells, (num_classes, *cells.shape))
        row = Scatter(own, mean, np.zeros((*mean.shape, size)))
        with np.errstate(invalid="ignore"):
            rest = (before - row).without_rounding(before)
            possible = prior.possible(rest).all(axis=(0, 2)) & ~np.isnan(cells).any(axis=1)
        some = np.flatnonzero(possible)
        rest = Scatter(rest.n[:, some], rest.mean[:, some], rest.scatter[:, some])
        after = given.on_scale_of(rest.pooled()).update(rest)
        matrix = predictive_matrix(after)
        squared = squared_distance(matrix, cells[some] - after.loc)
        of_rows = Distances(squared, log_det(matrix), np.full((1, 1), size))
        result[rows][some] = log_student_t(after.df[..., 0] - size + 1, of_rows).T
    return result


def _with_axis_of_rows(kind: Any, names: tuple[str, ...]) -> Any:
    """Arrays (classes, ...) with an axis of rows, of length one, behind that of the classes."""
    values = {name: getattr(kind, name) for name in names}
    return type(kind)(**{name: None if value is None else np.asarray(value)[:, None] for name, value in values.items()})
