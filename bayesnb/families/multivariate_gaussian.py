"""Blocks of measurements that vary together, with a normal-inverse-Wishart prior."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.core.arrays import row_pieces, rows_by_pattern, sqrt
from bayesnb.core.deferred import dist, is_distribution, jax, jit, jnp, map_tree, namespace, pytree
from bayesnb.core.logarithms import log_rising
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import (
    LIKELIEST,
    Axes,
    Family,
    Hyperparameter,
    JointFamily,
    Parameters,
    Sample,
    distributions,
)
from bayesnb.families.gaussian import SMALLEST_REST, Gaussian, default_rate, too_far, too_narrow
from bayesnb.families.hyperparameters import broadcast_hyperparameter, filled_cells, format_number
from bayesnb.families.moments import Moments, Scatter
from bayesnb.families.needs import CentredProducts
from bayesnb.serve.scorer import MultivariateT

# --------------------------------------------------------------------------------------------------
# Squared distances of rows from the centre of each class, measured by a matrix, over the observed cells.
#
# Densities of vectors with an elliptical shape are functions of three numbers for each row and class: the squared
# distance :math:`(x - m)^T A^{-1} (x - m)`, the logarithm of the determinant of A, and the number of observed cells.
# Where cells of a row are missing, all three are those of the observed cells, with their rows and columns of A.
# --------------------------------------------------------------------------------------------------

SMALLEST_SHARE = 1e-14
"""Smallest share of a column's variance that the columns before it may leave."""

ROWS = 256
"""Rows with missing cells that JAX computes at a time: each row has a matrix for every class."""


def distances(x: Any, centre: Any, matrix: Any) -> tuple[Any, Any, Any]:
    """What the densities of all rows need; rows in which the same cells are missing are computed together.

    Parameters
    ----------
    x : array, shape (rows, columns)
        Missing cells are NaN.
    centre : array, shape (..., classes, columns)
    matrix : array, shape (..., classes, columns, columns)

    Returns
    -------
    squared, log_det : array, shape (..., rows, classes)
        Squared distances, and logarithms of determinants.
    observed : array, shape (rows, 1)
        Number of observed cells.
    """
    centre, matrix = np.asarray(centre), np.asarray(matrix)
    observed = ~np.isnan(x)
    shape = (*centre.shape[:-2], len(x), centre.shape[-2])
    squared, log_dets = np.zeros(shape), np.zeros(shape)
    for rows, shown in rows_by_pattern(observed):
        if not shown.any():
            continue
        whole, columns = shown.all(), np.flatnonzero(shown)
        some, middle = (matrix, centre) if whole else (matrix[..., columns[:, None], columns], centre[..., columns])
        away = x[rows][:, slice(None) if whole else columns] - middle[..., None, :]
        squared[..., rows, :] = np.swapaxes(_squared_distance(some[..., None, :, :], away), -1, -2)
        log_dets[..., rows, :] = _log_det(some)[..., None, :]
    return squared, log_dets, observed.sum(axis=1, keepdims=True)


def _squared_distance(matrix: Any, away: Any) -> Any:
    """The squared length of vectors (..., columns) as positive definite matrices (..., columns, columns) measure it.

    A matrix of a single vector axis measures all vectors along that axis.
    """
    xp, _ = namespace(matrix, away)
    factor, size = _cholesky(matrix)
    if factor.shape[-3:-2] == (1,):
        # With one matrix for many vectors, its root is computed once.
        root = xp.linalg.inv(factor[..., 0, :, :]) / size
        solved = away @ xp.swapaxes(root, -1, -2)
    else:
        solved = xp.linalg.solve(factor, (away / size)[..., None])[..., 0]
    return (solved**2).sum(axis=-1)


def _log_det(matrix: Any) -> Any:
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


def distances_in_jax(x: Any, centre: Any, matrix: Any) -> tuple[Any, Any, Any]:
    """As `distances`, for JAX to compile and to differentiate, without axes before those of the classes.

    Where no cell is missing, there is one Cholesky factor for each class, else one for each row and class.
    """
    observed = ~jnp.isnan(x)
    cells = jnp.where(observed, x, 0.0)

    def of_whole_rows() -> tuple[Any, Any]:
        squared = jax.vmap(_squared_distance, (0, 1), 1)(matrix[:, None], cells[:, None] - centre)
        return squared, jnp.broadcast_to(_log_det(matrix), squared.shape)

    def of_rows() -> tuple[Any, Any]:
        each = partial(_distance_of_row, centre=centre, matrix=matrix)
        return jax.lax.map(each, (cells, observed), batch_size=ROWS)

    squared, log_dets = jax.lax.cond(observed.all(), of_whole_rows, of_rows)
    return squared, log_dets, observed.sum(axis=1, keepdims=True)


def _distance_of_row(row: tuple[Any, Any], *, centre: Any, matrix: Any) -> tuple[Any, Any]:
    """Squared distance and log determinant of the observed cells of one row, shape (classes,) each.

    A missing cell gets a row and a column of the identity, and the distance zero.
    """
    cells, observed = row
    both = observed[:, None] & observed
    filled = jnp.where(both, matrix, jnp.eye(len(cells)))
    return _squared_distance(filled, jnp.where(observed, cells - centre, 0.0)), _log_det(filled)


# --------------------------------------------------------------------------------------------------
# Densities of rows that are multivariate Student-t, and the same with the row left out of its class
# --------------------------------------------------------------------------------------------------


def _predictive_matrix(family: Any) -> Any:
    r"""The matrix that measures distances in the predictive density, :math:`\Psi (\kappa + 1) / \kappa`."""
    return family.scale * ((family.kappa + 1) / family.kappa)[..., None]


def _log_student_t(df: Any, squared: Any, log_det: Any, observed: Any) -> Any:
    r"""Log density of the observed cells of rows whose matrix and degrees of freedom are those of all columns.

    With k observed cells and squared distance d by the matrix A,

    .. math:: \log\Gamma((\nu + k) / 2) - \log\Gamma(\nu / 2) - \tfrac{k}{2} \log \pi - \tfrac12 \log |A|
              - \tfrac{\nu + k}{2} \log(1 + d).

    Parameters
    ----------
    df : array, shape (classes,)
        The :math:`\nu` of the predictive density, which does not depend on the cells observed.
    squared, log_det, observed : array
        Results of `distances`.
    """
    constant = log_rising(df / 2 + 0.0 * observed, observed / 2) - 0.5 * observed * np.log(np.pi)
    return constant - 0.5 * log_det - 0.5 * (df + observed) * namespace(squared, df)[0].log1p(squared)


def _log_normal(squared: Any, log_det: Any, observed: Any) -> Any:
    """Log density of the observed cells of rows with a multivariate normal distribution, given their `distances`."""
    return -0.5 * (squared + log_det + observed * np.log(2 * np.pi))


def _vectors_left_out(whole: Any, statistics: Scatter, x: np.ndarray, codes: np.ndarray) -> np.ndarray | None:
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
        distance = _squared_distance(whole.scale[c][None], x[rows] - whole.loc[c]) * kappa / (kappa - 1)
        if distance.max() > 1 - SMALLEST_REST:
            return None
        constant = log_rising((df - size) / 2, np.array(size / 2)) - 0.5 * size * np.log(np.pi)
        constant += 0.5 * size * np.log1p(-1 / kappa) - 0.5 * _log_det(whole.scale[c])
        found[rows] = constant + 0.5 * (df - 1) * np.log1p(-distance)
    return found if share.max(initial=0.0) < 1 - SMALLEST_REST else None


def _vectors_refitted(
    prior: Any, statistics: Scatter, x: np.ndarray, codes: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """As `ConjugateFamily.row_log_left_out`, refitted, by the posterior of each class without each row.

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
    # An axis of rows, of length one, behind that of the classes.
    before, given = map_tree(lambda leaf: np.asarray(leaf)[:, None], (statistics, prior))
    for rows in row_pieces(len(x), num_classes * size * size):
        cells = x[rows]
        own = np.where(codes[rows] == np.arange(num_classes)[:, None], weights[rows], 0.0)[..., None]
        mean = np.broadcast_to(cells, (num_classes, *cells.shape))
        row = Scatter(own, mean, np.zeros((*mean.shape, size)))
        with np.errstate(invalid="ignore"):
            rest = (before - row).without_rounding(before)
            possible = prior.possible(rest).all(axis=(0, 2)) & ~np.isnan(cells).any(axis=1)
        some = np.flatnonzero(possible)
        rest = map_tree(lambda leaf, some=some: leaf[:, some], rest)
        after = given.on_scale_of(rest.pooled()).update(rest)
        matrix = _predictive_matrix(after)
        squared = _squared_distance(matrix, cells[some] - after.loc)
        df = after.df[..., 0] - size + 1
        result[rows][some] = _log_student_t(df, squared, _log_det(matrix), np.full((1, 1), size)).T
    return result


# --------------------------------------------------------------------------------------------------
# Vectors of measurements with a normal-inverse-Wishart prior
# --------------------------------------------------------------------------------------------------

SMALLEST_EIGENVALUE = 1e-12
"""Smallest pivot of the correlation matrix; below it the columns are collinear."""


@pytree
class MultivariateGaussian(JointFamily, ConjugateFamily):
    r"""Blocks of columns of real numbers that vary together, with a normal-inverse-Wishart prior.

    .. math:: \Sigma_c \sim \mathrm{InverseWishart}(\nu, \Psi), \quad
              \mu_c \mid \Sigma_c \sim \mathrm{Normal}(m,\, \Sigma_c / \kappa)

    The columns of a block are one observation; its blocks, and other columns, are independent given the class. The
    posterior has the same form: with n rows of mean :math:`\bar x` and scatter S,

    .. math:: \kappa' = \kappa + n, \quad \nu' = \nu + n, \quad m' = \frac{\kappa m + n \bar x}{\kappa + n}, \quad
              \Psi' = \Psi + S + \frac{\kappa n}{\kappa + n} (\bar x - m)(\bar x - m)^T

    (Murphy 2007, *Conjugate Bayesian analysis of the Gaussian distribution*, Eqs. 251 to 254; Gelman et al. 2013,
    *Bayesian Data Analysis*, section 3.6). The predictive of a row of p columns is multivariate Student-t with
    :math:`\nu - p + 1` degrees of freedom, location m and scale matrix
    :math:`\Psi (\kappa + 1) / (\kappa (\nu - p + 1))` (Murphy 2007, Eq. 258).

    A row to predict may lack cells of the block: its density is the marginal of the observed ones. A fit counts the
    rows with all cells of the block, because the posterior given other rows has no closed form; a warning says how many
    are left out.

    Hyperparameters that are not given follow the data, so that the unit of a column changes no prediction. With s² the
    variance of a whole column, all classes together: `loc` is the columns' means, `kappa` is 0.1, `df` is the number of
    columns plus one, and `scale` is diagonal with 0.2 s². Each column on its own then has the prior of
    `bayesnb.Gaussian`, and every correlation is uniform from -1 to 1 (Gelman et al. 2013, section 3.6).

    Parameters
    ----------
    loc : float or array, optional
        Prior mean of the class means; broadcasts to (columns,) or (classes, columns).
    kappa : float or array of shape (classes, 1), default 0.1
        Prior weight of `loc`, in rows.
    df : float or array of shape (classes, 1), optional
        Degrees of freedom of the inverse Wishart prior, above the number of columns minus one.
    scale : float or array, optional
        Scale matrix of the inverse Wishart prior, of shape (columns, columns) or (classes, columns, columns), symmetric
        and positive definite. A number means that number times the identity matrix.

    Raises
    ------
    ValueError
        If `kappa` or `df` is not positive and finite, `df` is too small for the columns, or `scale` is not a symmetric
        positive definite matrix.
    TypeError
        If `df` is a distribution: it is not learned.

    See Also
    --------
    Gaussian : Numbers.
    group_columns : Merge columns that depend on each other.

    Notes
    -----
    With a single column the family is ``Gaussian(loc, kappa, concentration=df / 2, rate=scale / 2)``. With several, a
    column on its own is ``Gaussian(loc, kappa, concentration=(df - columns + 1) / 2, rate=scale[j, j] / 2)``.

    A block of p columns has p (p + 1) / 2 numbers in each covariance matrix. With fewer rows in a class than that, the
    prior decides most of them: `Gaussian` columns, which ignore correlations, may then predict better. Columns that are
    constant or that determine each other exactly are allowed, because the prior keeps the matrix positive definite;
    maximum likelihood then does not exist.

    Numerical domain: as for `Gaussian`, means of up to 1e12 standard deviations.

    Examples
    --------
    The classes differ only in the sign of the correlation, which independent columns cannot use.

    >>> import numpy as np
    >>> import bayesnb as nb
    >>> x = np.linspace(-1, 1, 20)
    >>> wave = 0.3 * np.sin(9 * x)
    >>> X = np.concatenate([np.c_[x, x + wave], np.c_[x, wave - x]])
    >>> y = ["together"] * 20 + ["against"] * 20
    >>> posterior = nb.fit(nb.MultivariateGaussian(), X, y)
    >>> posterior.predict_proba([[0.5, 0.5], [0.5, -0.5], [0.5, np.nan]]).round(2)
    array([[0. , 1. ],
           [1. , 0. ],
           [0.5, 0.5]])
    """

    loc: Hyperparameter = None
    kappa: Hyperparameter = 0.1
    df: Hyperparameter = None
    scale: Hyperparameter = None

    whole_rows: ClassVar[bool] = True
    hint: ClassVar[str] = "mark the cell as missing (NaN) or clip it"
    positive: ClassVar[tuple[str, ...]] = ("kappa", "df")
    why_no_estimate: ClassVar[dict[str, str]] = Family.why_no_estimate | {
        LIKELIEST: "no more rows than columns, a constant column, or columns that determine each other",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if is_distribution(self.df):
            raise TypeError(
                "MultivariateGaussian(df=...) is a distribution: df is not learned; give a number above the number of "
                "columns minus one, or learn kappa or scale"
            )
        if is_distribution(self.scale):
            if self.scale.batch_shape:
                raise ValueError(
                    f"MultivariateGaussian(scale=...) is a distribution of shape {self.scale.batch_shape}: give one of "
                    "a single number, which is learned as that number times the identity"
                )
        elif isinstance(self.scale, list | tuple | np.ndarray) and np.ndim(self.scale) == 2:
            _require_scale(np.asarray(self.scale, dtype=np.float64))

    def spread(self, num_classes: int, names: tuple, sizes: tuple[int, ...]) -> list[tuple[Sequence[int], Self]]:
        size = len(names)
        loc = None if self.loc is None else broadcast_hyperparameter(self, "loc", self.loc, (num_classes, size))
        df = _of_each_class("df", size + 1.0 if self.df is None else self.df, num_classes)
        if df.min() <= size - 1:
            raise ValueError(
                f"MultivariateGaussian(df={df.min():g}) of {size} columns ({', '.join(map(repr, names[:3]))}"
                f"{', ...' * (size > 3)}): the prior is proper for df above {size - 1}; give more, or leave df out for "
                f"{size + 1}"
            )
        scale = None if self.scale is None else _scale_matrices(self.scale, num_classes, names)
        kappa = _of_each_class("kappa", self.kappa, num_classes)
        return [(range(size), replace(self, loc=loc, kappa=kappa, df=df, scale=scale))]

    def axes(self, parameter: str, columns: tuple[Any, ...], categories: tuple[tuple[Any, ...], ...]) -> Axes:
        of_columns = ("column", columns)
        return (of_columns, ("other_column", columns)) if parameter == "covariance" else (of_columns,)

    def prior(self, sample: Sample) -> dict[str, Any]:
        covariance = sample("covariance", _inverse_wishart(self.df[..., 0], self.scale))
        spread = covariance / self.kappa[..., None]
        mean = sample("mean", _normal_distribution(self.loc, spread))
        return {"mean": mean, "covariance": covariance}

    def likelihood(self, mean: Any, covariance: Any) -> "dist.Distribution":
        return _normal_distribution(mean, covariance)

    def likelihood_of_observed(self, observed: Any, **parameters: Any) -> "dist.Distribution":
        mean, covariance = parameters["mean"], parameters["covariance"]
        xp, _ = namespace(observed, mean)
        # A missing cell is independent of the others, with density one at its filled-in value.
        _, mean = filled_cells(self, xp.where(observed, mean, xp.nan))
        both = observed[..., :, None] & observed[..., None, :]
        alone = xp.eye(covariance.shape[-1]) / (2 * np.pi)
        return self.likelihood(mean, xp.where(both, covariance, alone))

    def needs(self) -> Any:
        return CentredProducts()

    def possible(self, statistics: Scatter) -> Any:
        # In a class that becomes small, removed rows leave rounding errors of their own size.
        lowest = _lowest_eigenvalue(statistics.scatter)[..., None]
        fine = (statistics.of_columns.ssd >= 0).all(axis=-1, keepdims=True) & (lowest >= -1e-6)
        return (statistics.n >= 0) & fine

    def beyond_float64(self, statistics: Scatter) -> tuple[np.ndarray, str] | None:
        if self.scale is None:
            return too_narrow(statistics.of_columns)
        if self.loc is None:
            return None
        posterior = self.update(statistics)
        deviation = np.sqrt(np.diagonal(posterior.scale, axis1=-2, axis2=-1) / posterior.df)
        return too_far(posterior.loc, deviation, "subtract a number near {mean:.3g} from the column")

    def on_scale_of(self, pooled: Scatter) -> Self:
        (xp, _), columns = namespace(pooled.mean), pooled.of_columns
        shape = np.broadcast_shapes(np.shape(self.kappa), columns.mean.shape)
        loc = xp.broadcast_to(columns.mean, shape) if self.loc is None else self.loc
        if self.scale is not None:
            return replace(self, loc=loc)
        # A column on its own then has the default rate of a Gaussian, half of the scale.
        squares = xp.broadcast_to(2 * default_rate(columns), shape)
        return replace(self, loc=loc, scale=squares[..., None] * np.eye(shape[-1]))

    def log_likelihood(self, parameters: Parameters, statistics: Scatter) -> Any:
        mean, covariance = parameters["mean"], parameters["covariance"]
        xp, _ = namespace(mean, covariance, statistics.n)
        away = statistics.mean - mean
        about = statistics.scatter + statistics.n[..., None] * away[..., :, None] * away[..., None, :]
        trace = xp.trace(xp.linalg.solve(covariance, about), axis1=-2, axis2=-1)
        constant = covariance.shape[-1] * np.log(2 * np.pi) + _log_det(covariance)
        return -0.5 * (statistics.n * constant[..., None] + trace[..., None])

    def maximum_likelihood(self, statistics: Scatter) -> dict[str, Any]:
        with np.errstate(invalid="ignore", divide="ignore"):
            covariance = statistics.scatter / statistics.n[..., None]
        known = _lowest_eigenvalue(covariance) > SMALLEST_EIGENVALUE
        known &= statistics.n[..., 0] > covariance.shape[-1]
        return {
            "mean": np.where(statistics.n > 0, statistics.mean, np.nan),
            "covariance": np.where(known[..., None, None], covariance, np.nan),
        }

    def update(self, statistics: Scatter) -> Self:
        # The prior counts like kappa rows of mean loc and of a scatter matrix scale.
        whole = Scatter(self.kappa, self.loc, self.scale) + statistics
        return type(self)(whole.mean, whole.n, self.df + statistics.n, whole.scatter)

    def log_evidence(self, statistics: Scatter) -> Any:
        # Murphy (2007), Eq. 266.
        xp, _ = namespace(self.scale, statistics.n)
        posterior, size = self.update(statistics), self.scale.shape[-1]
        determinants = self.df * _log_det(self.scale)[..., None] - posterior.df * _log_det(posterior.scale)[..., None]
        return (
            # A ratio of multivariate gamma functions.
            sum(log_rising((self.df - j) / 2, statistics.n / 2) for j in range(size))
            + 0.5 * determinants
            + 0.5 * size * (xp.log(self.kappa) - xp.log(posterior.kappa) - statistics.n * np.log(np.pi))
        )

    def marginals(self) -> "dict[str, dist.Distribution]":
        df = self.df - self.scale.shape[-1] + 1
        squares = np.diagonal(self.scale, axis1=-2, axis2=-1)
        spread = sqrt(squares / (df * self.kappa))
        return {
            "mean": distributions.TDistribution(df, self.loc, spread, validate_args=False),
            "covariance": distributions.CovarianceElement(self.df, self.scale),
        }

    def maximum_a_posteriori(self, statistics: Scatter) -> dict[str, Any]:
        # Joint mode of (mean, covariance): the conditional normal adds one to the exponent df + columns + 1.
        after = self.update(statistics)
        return {"mean": after.loc, "covariance": after.scale / (after.df[..., None] + after.scale.shape[-1] + 2)}

    def of_each_column(self) -> Family:
        squares = np.diagonal(np.asarray(self.scale), axis1=-2, axis2=-1)
        kappa, df = (np.broadcast_to(value, squares.shape) for value in (self.kappa, self.df))
        return Gaussian(self.loc, kappa, (df - squares.shape[-1] + 1) / 2, squares / 2)

    def statistics_of_each_column(self, statistics: Scatter) -> Moments:
        return statistics.of_columns

    def parameters_of_each_column(self, parameters: Parameters) -> Parameters:
        variance = np.diagonal(np.asarray(parameters["covariance"]), axis1=-2, axis2=-1)
        return {"mean": parameters["mean"], "variance": variance}

    def density_formula(self, parameters: Parameters, x: Any) -> Any:
        return _log_normal(*distances_in_jax(x, parameters["mean"], parameters["covariance"]))

    def density_kernel(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        mean, covariance = parameters["mean"], parameters["covariance"]
        *leading, num_classes, _ = mean.shape
        mean, covariance = (value.reshape(-1, *value.shape[len(leading) :]) for value in (mean, covariance))

        def of_rows(rows: slice) -> np.ndarray:
            some = x[rows]
            pieces = row_pieces(len(mean), num_classes * some.size)
            found = [_log_normal(*distances(some, mean[draws], covariance[draws])) for draws in pieces]
            return np.concatenate(found).reshape(*leading, len(some), num_classes)

        return of_rows

    def predictive_formula(self, x: Any) -> Any:
        return _log_student_t(self._predictive_df, *distances_in_jax(x, self.loc, _predictive_matrix(self)))

    def predictive_kernel(self, x: Any, *, ratio: bool = False) -> Any:
        return _log_student_t(self._predictive_df, *distances(x, self.loc, _predictive_matrix(self)))

    def scorer(self) -> MultivariateT:
        matrix = _predictive_matrix(self)
        _cholesky(matrix)  # raises the error of a singular matrix
        return MultivariateT(np.arange(self.loc.shape[-1]), self.loc, matrix, self._predictive_df)

    @property
    def _predictive_df(self) -> Any:
        return self.df[..., 0] - self.scale.shape[-1] + 1

    def row_log_left_out(
        self, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Scatter, *, refitted: bool
    ) -> np.ndarray | None:
        if refitted:
            return _vectors_refitted(self, statistics, x, codes, weights)
        return _vectors_left_out(self.update(statistics), statistics, x, codes) if (weights == 1.0).all() else None

    def story(self) -> tuple[str, list[str]]:
        loc, kappa, scale = (format_number(value) for value in (self.loc, self.kappa, self.scale))
        df = "columns + 1" if self.df is None else format_number(self.df)
        prior = [
            f"mean ~ MultivariateNormal({loc}, covariance / {kappa})",
            f"covariance ~ InverseWishart({df}, {scale})",
        ]
        return "MultivariateNormal(mean, covariance)", prior

    def power_scaled(self, statistics: Scatter, power: float) -> dict[str, Any]:
        # With p columns and away = mean - loc, the density of the covariance S and the mean is, up to a constant,
        # |S|^-((df + p + 2) / 2) exp(-tr(S^-1 (scale + kappa away away')) / 2). A power multiplies kappa, scale and
        # df + p + 2.
        posterior = replace(self, kappa=power * self.kappa, scale=power * self.scale).update(statistics)
        size = self.scale.shape[-1]
        df = posterior.df + (power - 1) * (self.df + size + 2)
        if df.min() <= size - 1:
            raise ValueError(
                f"the prior of a block of {size} columns raised to the power {power:g} leaves no posterior: its df "
                f"would be {df.min():.3g}, and has to be above {size - 1}; give powers nearer to one, such as "
                "prior=(0.95, 1.05), or a larger df"
            )
        return {"loc": posterior.loc, "kappa": posterior.kappa, "df": df, "scale": posterior.scale}


# NumPyro needs a dozen operations to make such a distribution, and JAX would compile each for every shape. The checks
# of arguments need more, which JAX would compile even within a compiled function.


@jit
def _inverse_wishart(df: Any, scale: Any) -> "dist.Distribution":
    return dist.InverseWishart(df, scale_matrix=scale, validate_args=False)


@jit
def _normal_distribution(mean: Any, covariance: Any) -> "dist.Distribution":
    return dist.MultivariateNormal(mean, covariance_matrix=covariance, validate_args=False)


def _of_each_class(name: str, value: Any, num_classes: int) -> np.ndarray:
    """A hyperparameter of the block as an array of shape (classes, 1)."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in {(), (1,), (1, 1), (num_classes, 1)}:
        raise ValueError(
            f"MultivariateGaussian({name}=...) has shape {array.shape}: give one number for the block, or an array of "
            f"shape {(num_classes, 1)}, one for each class"
        )
    return np.broadcast_to(array, (num_classes, 1))


def _scale_matrices(value: Any, num_classes: int, names: tuple) -> np.ndarray:
    """The scale as an array of shape (classes, columns, columns)."""
    array, size = np.asarray(value, dtype=np.float64), len(names)
    if array.ndim == 0:
        array = array * np.eye(size)
    if array.shape not in {(size, size), (num_classes, size, size)}:
        raise ValueError(
            f"MultivariateGaussian(scale=...) has shape {array.shape}: the block has the {size} columns "
            f"{', '.join(map(repr, names[:3]))}{', ...' * (size > 3)}; give a number, a matrix of shape "
            f"{(size, size)}, or one for each class, {(num_classes, size, size)}"
        )
    _require_scale(array)
    return np.broadcast_to(array, (num_classes, size, size))


def _require_scale(scale: np.ndarray) -> None:
    """Raise for matrices that are not square, not symmetric or not positive definite."""
    what = "MultivariateGaussian(scale=...)"
    if scale.shape[-1] != scale.shape[-2]:
        raise ValueError(f"{what} has shape {scale.shape}: give a square matrix, one row and column for each column")
    squares = np.diagonal(scale, axis1=-2, axis2=-1)
    if (squares <= 0).any():
        raise ValueError(
            f"{what} is not positive definite: {squares.min():g} is on its diagonal; give positive numbers there, the "
            "scale of each column's variance"
        )
    root = np.sqrt(squares)
    allowed = 1e-8 * root[..., :, None] * root[..., None, :]
    turned = np.swapaxes(scale, -1, -2)
    if (np.abs(scale - turned) > allowed).any():
        *_, i, j = np.argwhere(np.abs(scale - turned) > allowed)[0]
        raise ValueError(
            f"{what} is not symmetric: element ({i}, {j}) is {scale[..., i, j].flat[0]:g} and element ({j}, {i}) is "
            f"{scale[..., j, i].flat[0]:g}; give a covariance matrix"
        )
    lowest = _lowest_eigenvalue(scale).min()
    if lowest <= SMALLEST_EIGENVALUE:
        raise ValueError(
            f"{what} is not positive definite: with its diagonal scaled to ones, its smallest eigenvalue is "
            f"{lowest:.3g}; give a matrix of correlations smaller in size, such as a diagonal one"
        )


def _lowest_eigenvalue(matrix: Any) -> Any:
    """Smallest eigenvalue of matrices with their diagonals scaled to ones, as far as these are positive."""
    xp, _ = namespace(matrix)
    squares = xp.diagonal(matrix, axis1=-2, axis2=-1)
    root = xp.sqrt(xp.where(squares > 0, squares, 1.0))
    scaled = matrix / root[..., :, None] / root[..., None, :]
    return xp.linalg.eigvalsh(xp.nan_to_num(scaled, posinf=0.0, neginf=0.0))[..., 0]
