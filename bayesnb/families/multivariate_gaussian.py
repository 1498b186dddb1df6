"""Blocks of measurements that vary together, with a normal-inverse-Wishart prior."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import jax
import numpy as np
import numpyro.distributions as dist

from bayesnb.core.arrays import namespace, row_pieces, sqrt
from bayesnb.families.base import LIKELIEST, Family, Hyperparameter, JointFamily, Parameters, Sample, filled_cells
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.distributions import CovarianceElement, TDistribution
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.hyperparameters import broadcast_hyperparameter, format_number
from bayesnb.families.moments import Moments, Scatter, scatter
from bayesnb.families.student_t import (
    default_rate,
    distances,
    log_det,
    log_multivariate_gamma_ratio,
    log_normal,
    log_student_t,
    predictive_matrix,
    too_far,
    too_narrow,
    vectors_left_out,
    vectors_refitted,
)

SMALLEST_EIGENVALUE = 1e-12
"""Of a matrix with ones on its diagonal; below, the columns determine each other."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
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
        if isinstance(self.df, dist.Distribution):
            raise TypeError(
                "MultivariateGaussian(df=...) is a distribution: df is not learned; give a number above the number of "
                "columns minus one, or learn kappa or scale"
            )
        if isinstance(self.scale, dist.Distribution):
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
        scale = None if self.scale is None else _matrices(self.scale, num_classes, names)
        kappa = _of_each_class("kappa", self.kappa, num_classes)
        return [(range(size), replace(self, loc=loc, kappa=kappa, df=df, scale=scale))]

    def axes(
        self, parameter: str, columns: tuple[Any, ...], categories: tuple[tuple[Any, ...], ...]
    ) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        of_columns = ("column", columns)
        return (of_columns, ("other_column", columns)) if parameter == "covariance" else (of_columns,)

    def prior(self, sample: Sample) -> dict[str, Any]:
        covariance = sample("covariance", _inverse_wishart(self.df[..., 0], self.scale))
        spread = covariance / self.kappa[..., None]
        mean = sample("mean", _normal(self.loc, spread))
        return {"mean": mean, "covariance": covariance}

    def likelihood(self, mean: Any, covariance: Any) -> dist.Distribution:
        return _normal(mean, covariance)

    def likelihood_of_observed(self, observed: Any, **parameters: Any) -> dist.Distribution:
        mean, covariance = parameters["mean"], parameters["covariance"]
        xp, _ = namespace(observed, mean)
        # A missing cell is independent of the others, and its density at the cell that is filled in is one.
        _, mean = filled_cells(self, xp.where(observed, mean, xp.nan))
        both = observed[..., :, None] & observed[..., None, :]
        alone = xp.eye(covariance.shape[-1]) / (2 * np.pi)
        return self.likelihood(mean, xp.where(both, covariance, alone))

    def statistics(self, x: np.ndarray, membership: Any) -> Scatter:
        return scatter(x, membership)

    def possible(self, statistics: Scatter) -> Any:
        # Where a class becomes small, rows that went earlier leave rounding errors of their own size.
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
        columns = pooled.of_columns
        shape = np.broadcast_shapes(np.shape(self.kappa), columns.mean.shape)
        loc = np.broadcast_to(columns.mean, shape) if self.loc is None else self.loc
        if self.scale is not None:
            return replace(self, loc=loc)
        # A column on its own then has the default rate of a Gaussian, half of the scale.
        squares = np.broadcast_to(2 * default_rate(columns), shape)
        return replace(self, loc=loc, scale=squares[..., None] * np.eye(shape[-1]))

    def log_likelihood(self, parameters: Parameters, statistics: Scatter) -> Any:
        mean, covariance = parameters["mean"], parameters["covariance"]
        xp, _ = namespace(mean, covariance, statistics.n)
        away = statistics.mean - mean
        about = statistics.scatter + statistics.n[..., None] * away[..., :, None] * away[..., None, :]
        trace = xp.trace(xp.linalg.solve(covariance, about), axis1=-2, axis2=-1)
        constant = covariance.shape[-1] * np.log(2 * np.pi) + log_det(covariance)
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
        determinants = self.df * log_det(self.scale)[..., None] - posterior.df * log_det(posterior.scale)[..., None]
        return (
            log_multivariate_gamma_ratio(self.df, statistics.n, size)
            + 0.5 * determinants
            + 0.5 * size * (xp.log(self.kappa) - xp.log(posterior.kappa) - statistics.n * np.log(np.pi))
        )

    def marginals(self) -> dict[str, dist.Distribution]:
        df = self.df - self.scale.shape[-1] + 1
        squares = np.diagonal(self.scale, axis1=-2, axis2=-1)
        spread = sqrt(squares / (df * self.kappa))
        return {
            "mean": TDistribution(df, self.loc, spread, validate_args=False),
            "covariance": CovarianceElement(self.df, self.scale),
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

    def densities_of_rows(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        mean, covariance = parameters["mean"], parameters["covariance"]
        if isinstance(x, jax.Array):
            return lambda rows: log_normal(distances(x[rows], mean, covariance))
        *leading, num_classes, _ = mean.shape
        mean, covariance = (value.reshape(-1, *value.shape[len(leading) :]) for value in (mean, covariance))

        def of_rows(rows: slice) -> np.ndarray:
            some = x[rows]
            pieces = row_pieces(len(mean), num_classes * some.size)
            found = [log_normal(distances(some, mean[draws], covariance[draws])) for draws in pieces]
            return np.concatenate(found).reshape(*leading, len(some), num_classes)

        return of_rows

    def row_log_predictive(self, x: Any, *, ratio: bool = False) -> Any:
        return log_student_t(self._predictive_df, distances(x, self.loc, predictive_matrix(self)))

    @property
    def _predictive_df(self) -> Any:
        return self.df[..., 0] - self.scale.shape[-1] + 1

    def row_log_left_out(
        self, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Scatter, *, refitted: bool
    ) -> np.ndarray | None:
        if refitted:
            return vectors_refitted(self, statistics, x, codes, weights)
        return vectors_left_out(self.update(statistics), statistics, x, codes) if (weights == 1.0).all() else None

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


# NumPyro takes a dozen operations to make one of these distributions. JAX would compile each of them for every shape.
# The checks of arguments take more, and JAX would compile these also within a compiled function.


@jax.jit
def _inverse_wishart(df: Any, scale: Any) -> dist.Distribution:
    return dist.InverseWishart(df, scale_matrix=scale, validate_args=False)


@jax.jit
def _normal(mean: Any, covariance: Any) -> dist.Distribution:
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


def _matrices(value: Any, num_classes: int, names: tuple) -> np.ndarray:
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
    """Refuse matrices that are not square, not symmetric or not positive definite."""
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


def _lowest_eigenvalue(matrix: np.ndarray) -> np.ndarray:
    """Smallest eigenvalue of matrices with their diagonals scaled to ones, as far as these are positive."""
    squares = np.diagonal(matrix, axis1=-2, axis2=-1)
    root = np.sqrt(np.where(squares > 0, squares, 1.0))
    scaled = matrix / root[..., :, None] / root[..., None, :]
    return np.linalg.eigvalsh(np.nan_to_num(scaled, posinf=0.0, neginf=0.0))[..., 0]
