"""Exponential families: densities of rows as one matrix product, and point estimates."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.core.arrays import any_missing, in_float64, namespace, row_pieces
from bayesnb.core.deferred import dist, is_jax, jax, jit, jnp
from bayesnb.families.base import LIKELIEST, MODE, Family, Hyperparameter, Parameters, filled_cells
from bayesnb.families.hyperparameters import with_defaults
from bayesnb.families.statistics import Counts, Statistics, class_sums, observed_weight

# --------------------------------------------------------------------------------------------------
# Log densities of rows as one matrix product of sufficient statistics and natural parameters
# --------------------------------------------------------------------------------------------------

FARTHEST = 5e5
"""Largest change of a log partition by the origin. What cancels in a product is as large, and leaves 1e-10 of error."""


def times(weight: Any, value: Any) -> Any:
    """Product that is zero where the weight is zero, also if the value is infinite."""
    xp, _ = namespace(weight, value)
    # Where the value is finite, the product has a derivative with respect to the weight.
    nothing = (weight == 0) & ~xp.isfinite(value)
    return xp.where(nothing, 0.0, weight * xp.where(nothing, 0.0, value))


@dataclass(frozen=True)
class Weights:
    """A matrix for products with rows, in which minus infinity counts only where the row is positive.

    Attributes
    ----------
    values : array, shape (results, entries)
        In Fortran's order, as a product with a sparse array reads them.
    impossible : array of the same shape, or None
        Ones in place of minus infinity; None if there are none.
    """

    values: np.ndarray
    impossible: np.ndarray | None

    @classmethod
    def of(cls, values: np.ndarray) -> Self:
        """Weights as given, infinite ones among them."""
        if np.fmin.reduce(values, axis=None, initial=0.0) != -np.inf:
            return cls(np.asfortranarray(values), None)
        impossible = np.isneginf(values)
        finite = np.where(impossible, 0.0, values)
        return cls(np.asfortranarray(finite), np.asfortranarray(impossible, dtype=np.float64))

    def of_rows(self, rows: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Products with rows (rows, entries), an array or CSR array; (results, rows); an array may go into `out`."""
        sums = _product(self.values, rows) if out is None else np.matmul(self.values, rows.T, out=out)
        if self.impossible is not None:
            sums[_product(self.impossible, rows) > 0] = -np.inf
        return sums


def _product(values: np.ndarray, rows: Any) -> np.ndarray:
    # SciPy multiplies a sparse array from the left only.
    return values @ rows.T if isinstance(rows, np.ndarray) else (rows @ values.T).T


@dataclass(frozen=True)
class _Frame:
    """Some classes, whose terms are measured from one origin.

    Attributes
    ----------
    origin : tuple of array
        The origin, shape (columns,); empty if terms are measured from zero.
    terms : list of int
        Terms that the densities need; the natural parameters of the others are zero.
    weights : Weights
        Shape (draws times classes, entries): the natural parameters of each term, and the log partition with its sign
        changed.
    with_base : bool
        Whether the base measure counts.
    """

    origin: tuple[Any, ...]
    terms: list[int]
    weights: Weights
    with_base: bool


@dataclass(frozen=True)
class _Product:
    r"""Log densities of rows under values of the parameters, :math:`T(x)\,\eta(\theta) - A(\theta) + \log h(x)`.

    Terms and natural parameters are measured from an origin for each class and column, the average over the draws of
    `ExponentialFamily.origin`. One origin for all classes would lose the digits of classes that are far apart in units
    of their own spread. If draws are far from their average, the formula itself replaces the product.

    Attributes
    ----------
    family : ExponentialFamily
    parameters : dict
        Arrays of shape (..., classes, columns).
    x : array, shape (rows, columns)
    complete : bool
        Whether no cell is missing.
    frames : list of _Frame, or None
        One for all classes, or one for each; None if draws are too far from their average.
    """

    family: Any
    parameters: dict[str, np.ndarray]
    x: np.ndarray
    complete: bool
    frames: list[_Frame] | None

    @classmethod
    def of(cls, family: Any, parameters: Mapping[str, Any], x: Any, *, with_base: bool = True) -> Self:
        """Prepare the product of a family's terms in these rows and its natural parameters.

        Parameters
        ----------
        family : ExponentialFamily
        parameters : mapping
            Arrays of shape (..., classes, columns).
        x : array, shape (rows, columns)
            Missing cells are NaN.
        with_base : bool
            Whether a base measure that all classes share counts.
        """
        values = {name: np.asarray(value) for name, value in parameters.items()}
        x = np.asarray(x, dtype=np.float64)
        complete = not any_missing(x)
        with np.errstate(divide="ignore", over="ignore"):
            frames = _frames(family, values, complete=complete, with_base=with_base)
        return cls(family, values, x, complete, frames)

    def of_rows(self, rows: slice) -> np.ndarray:
        """Log densities of some of the rows, shape (..., rows, classes)."""
        x = self.x[rows]
        found = [np.swapaxes(self._of_piece(x[piece]), -1, -2) for piece in row_pieces(*x.shape)]
        return np.swapaxes(np.concatenate(found, axis=-1) if len(found) > 1 else found[0], -1, -2)

    def _of_piece(self, x: np.ndarray) -> np.ndarray:
        """Log densities of rows whose temporary arrays fit the cache."""
        observed, cells = filled_cells(self.family, x)
        *leading, num_classes, num_columns = self._shape
        if self.frames is None:
            flat = {name: value.reshape(-1, num_classes, num_columns) for name, value in self.parameters.items()}
            found = [
                _by_formula(self.family, {name: value[i] for name, value in flat.items()}, observed, cells)
                for i in range(int(np.prod(leading)))
            ]
            return np.reshape(found, (*leading, len(cells), num_classes))
        number = len(self.frames)
        sums = np.empty((int(np.prod(leading)) * num_classes // number, number, len(cells)))
        for k, frame in enumerate(self.frames):
            self._put(frame, observed, cells, sums[:, k])
        return np.swapaxes(sums.reshape(*leading, num_classes, len(cells)), -1, -2)

    @property
    def _shape(self) -> tuple[int, ...]:
        return next(iter(self.parameters.values())).shape

    def _put(self, frame: _Frame, observed: np.ndarray, cells: np.ndarray, out: np.ndarray) -> None:
        """Put log densities under a frame's classes into an array, shape (draws times classes, rows)."""
        frame.weights.of_rows(self._design(frame, observed, cells), out)
        if frame.with_base:
            # The base measure may be infinite, and is therefore no factor of the product.
            base = np.asarray(self.family.log_base(cells, *frame.origin))
            if base.any():
                out += np.where(observed, base, 0.0).sum(axis=-1)

    def _design(self, frame: _Frame, observed: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """The factors of a frame's weights, shape (rows, entries)."""
        with np.errstate(over="ignore"):
            terms = self.family.terms(cells, *frame.origin) if frame.terms else ()
            parts = [np.asarray(terms[k]) for k in frame.terms]
        if not self.complete:
            parts = [np.where(observed, part, 0.0) for part in parts]
        parts.append(np.ones((len(cells), 1)) if self.complete else observed.astype(np.float64))
        return np.concatenate(parts, axis=1)


def _natural_parameters(family: Any, parameters: Any, *origin: Any) -> tuple[tuple[Any, ...], Any]:
    """What the family's `natural` gives: a tuple of natural parameters, and the log partition.

    Raises
    ------
    TypeError
        If the natural parameters are not in a tuple.
    """
    given = family.natural(parameters, *origin)
    if not (isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], tuple | list)):
        raise TypeError(
            f"natural of {type(family).__name__} does not give a tuple of natural parameters and the log partition: "
            "write the inner tuple, too, as in return (parameter,), log_partition"
        )
    return given


def _by_formula(family: Any, parameters: Parameters, observed: Any, cells: Any) -> Any:
    """Log density of rows, by the formula itself, shape (rows, classes); parameters of shape (classes, columns)."""
    xp, _ = namespace(cells)
    own, x = family.origin(parameters), cells[:, None]
    origin = () if own is None else (own,)
    natural, log_partition = _natural_parameters(family, parameters, *origin)
    products = map(times, family.terms(x, *origin), natural)
    densities = sum(products, family.log_base(x, *origin)) - log_partition
    return xp.where(observed[:, None], densities, 0.0).sum(axis=-1)


def _frames(family: Any, parameters: dict[str, np.ndarray], *, complete: bool, with_base: bool) -> list[_Frame] | None:
    own = family.origin(parameters)
    if own is None:
        natural, partition = _natural_parameters(family, parameters)
        return [_frame((), natural, partition, complete=complete, with_base=with_base)]
    own = np.asarray(own)
    average = own.reshape(-1, *own.shape[-2:]).mean(axis=0)
    natural, partition = _natural_parameters(family, parameters, average)
    _, nearest = _natural_parameters(family, parameters, own)
    if not (np.abs(partition - nearest) <= FARTHEST).all():
        return None
    classes = [slice(c, c + 1) for c in range(len(average))]
    # The base measure depends on the origin: the classes do not share it.
    return [
        _frame(
            (average[c.start],),
            [eta[..., c, :] for eta in natural],
            partition[..., c, :],
            complete=complete,
            with_base=True,
        )
        for c in classes
    ]


def _frame(origin: tuple[Any, ...], natural: Any, partition: Any, *, complete: bool, with_base: bool) -> _Frame:
    natural, partition = [np.asarray(eta) for eta in natural], -np.asarray(partition)
    terms = [k for k, eta in enumerate(natural) if eta.any()]
    parts = [natural[k] for k in terms]
    parts.append(partition.sum(axis=-1, keepdims=True) if complete else partition)
    weights = Weights.of(np.concatenate([part.reshape(-1, part.shape[-1]) for part in parts], axis=1))
    return _Frame(origin, terms, weights, with_base)


# --------------------------------------------------------------------------------------------------
# The maximum of a density of a few numbers, by Newton's method, for all classes and columns at once
# --------------------------------------------------------------------------------------------------

MAX_STEPS = 100
"""Largest number of steps; about ten are usual."""

LONGEST_STEP = 2.0
"""Largest change of a coordinate in one step."""

FARTHEST_COORDINATE = 32.0
"""Distance of a coordinate, such as the logarithm of a concentration, from its start at which the search is given up, a
factor of 8e13."""

FLAT = 1e-10
"""Curvature of the density below which a maximum is not unique."""

ROUNDING_OF_DENSITY = 1e-12
"""Relative error of a density."""

NEAR = 0.1
"""Expected gain below which a step is taken as it is: rounding may hide the gain of a density of large terms."""

SETTLED = 1e-12
"""Expected gain below which the search ends, a millionth of a standard deviation from the maximum."""

ROUNDED = 1e-6
"""Expected gain below which the search ends where a step has not lowered it: what is left is rounding of the slopes."""


@in_float64
def maximum(family: Family, statistics: Any, start: Mapping[str, Any], *, with_prior: bool) -> dict[str, np.ndarray]:
    """Parameters at which the likelihood, or the posterior density, has its maximum.

    The density of the parameters as named is maximised. Newton's method moves in unconstrained coordinates, the
    logarithm of a positive number, with the absolute values of the Hessian's eigenvalues, so that every step goes
    uphill (Nocedal and Wright 2006, *Numerical Optimization*, 2nd edition, section 3.4). JAX differentiates.

    Parameters
    ----------
    family : Family
        Every hyperparameter a number; parameters of shape (classes, columns), independent of each other's cells.
    statistics : Statistics
    start : mapping
        A first value of each parameter, shape (classes, columns); where the support does not hold it, the coordinate is
        zero.
    with_prior : bool
        Whether the prior density counts.

    Returns
    -------
    dict of array, shape (classes, columns)
        NaN in all parameters of a class and column whose density has no maximum, or more than one.
    """
    of = partial(_expansion, family, statistics, float(with_prior))
    first = z = np.nan_to_num(np.asarray(_coordinates(family, dict(start))), posinf=0.0, neginf=0.0)
    height, gradient, hessian = map(np.asarray, of(z))
    settled, before = np.zeros(height.shape, bool), np.full(height.shape, np.inf)
    for _ in range(MAX_STEPS):
        step, curvature, gain = _step(gradient, hessian)
        settled |= (gain <= SETTLED) | ((gain <= ROUNDED) & (gain >= before))
        step, before = np.where(settled, 0.0, step), gain
        if (settled | (np.abs(z - first) > FARTHEST_COORDINATE).any(axis=0)).all():
            break
        for _ in range(30):
            proposed, *slopes = map(np.asarray, of(z + step))
            worse = (gain > NEAR) & ~(proposed >= height - ROUNDING_OF_DENSITY * np.abs(height))
            if not worse.any():
                break
            step = np.where(worse, step / 4, step)
        z = z + step
        height, (gradient, hessian) = proposed, slopes
    found = settled & (np.abs(z - first) <= FARTHEST_COORDINATE).all(axis=0) & (curvature > FLAT)
    return {name: np.where(found, np.asarray(value), np.nan) for name, value in _values(family, z).items()}


def _step(gradient: np.ndarray, hessian: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Newton's step (numbers, classes, columns), the least curvature and the expected gain (classes, columns)."""
    curvature, axes = np.linalg.eigh(np.moveaxis(hessian, (0, 1), (-2, -1)))
    along = np.einsum("...ik,i...->...k", axes, gradient) / np.maximum(np.abs(curvature), FLAT)
    step = np.einsum("...ik,...k->i...", axes, along)
    gain = 0.5 * (gradient * step).sum(axis=0)
    step *= np.minimum(1.0, LONGEST_STEP / np.maximum(np.abs(step).max(axis=0), LONGEST_STEP))
    return step, -curvature.max(axis=-1), gain


@jit
def _expansion(family: Family, statistics: Any, power: Any, z: Any) -> tuple[Any, Any, Any]:
    """Log density at a point, the prior's to a power, its gradient and its Hessian, which link no two classes."""

    def log_density(z: Any) -> Any:
        values, log_prior = _at(family, z)
        height = family.log_likelihood(values, statistics) + power * log_prior
        return height.sum(), height

    (gradient, height), along = jax.linearize(jax.grad(log_density, has_aux=True), z)
    units = jnp.broadcast_to(jnp.eye(len(z))[:, :, None, None], (len(z), *z.shape))
    return height, gradient, jax.vmap(lambda unit: along(unit)[0])(units)


def _at(family: Family, z: Any) -> tuple[dict[str, Any], Any]:
    """Parameters at a point, and their log density under the prior."""
    values: dict[str, Any] = {}
    densities = []

    def place(name: str, distribution: "dist.Distribution") -> Any:
        values[name] = dist.biject_to(distribution.support)(z[len(values)])
        densities.append(distribution.log_prob(values[name]))
        return values[name]

    family.prior(place)
    return values, sum(densities)


@jit
def _values(family: Family, z: Any) -> dict[str, Any]:
    return _at(family, z)[0]


@jit
def _coordinates(family: Family, values: dict[str, Any]) -> Any:
    found = []

    def note(name: str, distribution: "dist.Distribution") -> Any:
        found.append(dist.biject_to(distribution.support).inv(values[name]))
        return values[name]

    family.prior(note)
    return jnp.stack(found)


# --------------------------------------------------------------------------------------------------
# Exponential families: densities as products of sufficient statistics and natural parameters
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExponentialFamily(Family):
    r"""A family whose log density is a product of sufficient statistics and natural parameters.

    .. math:: \log p(x \mid \theta) = \sum_k T_k(x)\, \eta_k(\theta) - A(\theta) + \log h(x)

    A subclass states `terms` T, `natural` (the natural parameters and the log partition A) and, where h is not one,
    `log_base`: Murphy (2012), *Machine Learning: a Probabilistic Perspective*, section 9.2. Statistics, the density of
    rows on the host and on an accelerator, under one value of the parameters or under thousands of draws, and the
    density of statistics follow. The formulas take NumPy arrays and JAX arrays
    (`bayesnb.core.arrays.namespace` says which).

    A family whose terms would lose digits far from zero states an `origin` as well. `terms`, `natural` and `log_base`
    then take it as a second argument.

    See Also
    --------
    Family : The base class of all families.
    ConjugateFamily : Families with a conjugate prior.

    Examples
    --------
    Gamma distributed cells have no conjugate prior; NUTS samples their posterior.

    >>> from dataclasses import dataclass
    >>> import jax, jax.numpy as jnp, numpy as np, numpyro.distributions as dist
    >>> from jax.scipy.special import gammaln
    >>> import bayesnb as nb
    >>> @jax.tree_util.register_dataclass
    ... @dataclass(frozen=True)
    ... class Gamma(nb.families.ExponentialFamily):
    ...     scale: float = 1.0
    ...
    ...     support = dist.constraints.positive
    ...     holds = "a positive number"
    ...     positive = ("scale",)
    ...
    ...     def prior(self, sample):
    ...         prior = dist.HalfNormal(self.scale)
    ...         return {"concentration": sample("concentration", prior), "rate": sample("rate", prior)}
    ...
    ...     def likelihood(self, concentration, rate):
    ...         return dist.Gamma(concentration, rate)
    ...
    ...     def terms(self, x):
    ...         return jnp.log(x), x
    ...
    ...     def natural(self, parameters):
    ...         a, b = parameters["concentration"], parameters["rate"]
    ...         return (a - 1, -b), gammaln(a) - a * jnp.log(b)
    >>> posterior = nb.from_parameters(
    ...     Gamma(),
    ...     classes=["a", "b"],
    ...     class_probs=[0.5, 0.5],
    ...     parameters={"concentration": [[1.0], [2.0]], "rate": [[1.0], [1.0]]},
    ... )
    >>> posterior.predict_proba([[1.0], [3.0]])
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """

    @abstractmethod
    def terms(self, x: Any, *origin: Any, **_: Any) -> tuple[Any, ...]:
        """The sufficient statistics of single cells.

        Parameters
        ----------
        x : array
            Cells of the support, any shape.
        origin : array
            Only for families that state `origin`; broadcasts against `x`.

        Returns
        -------
        tuple of array
            One for each natural parameter, in the shape of `x`.
        """

    @abstractmethod
    def natural(self, parameters: Parameters, *origin: Any, **_: Any) -> tuple[tuple[Any, ...], Any]:
        """The natural parameters and the log partition.

        Parameters
        ----------
        parameters : mapping
            Arrays of shape (..., classes, columns).
        origin : array
            Only for families that state `origin`; broadcasts against the parameters.

        Returns
        -------
        tuple of tuple of array and array, each of shape (..., classes, columns)
        """

    def log_base(self, x: Any, *origin: Any, **_: Any) -> Any:
        """Log h(x) of single cells, in the shape of `x` or a number; zero by default."""
        return 0.0

    def origin(self, parameters: Parameters) -> Any:
        """Where the terms are measured from, shape (..., classes, columns); None, the default, for zero.

        Products of terms and natural parameters take the average over draws.
        """
        return None

    def statistics(self, x: Any, membership: Any) -> Statistics:
        observed, cells = filled_cells(self, x)

        def summed(values: Any) -> Any:
            return class_sums(np.where(observed, values, 0.0), membership)

        terms = self.terms(cells)
        if not isinstance(terms, tuple):
            raise TypeError(
                f"terms of {type(self).__name__} gives one array: give a tuple of arrays, one for each natural "
                "parameter, as in return (x,)"
            )
        sums = [summed(term) for term in terms]
        total = sums[0] if len(sums) == 1 else np.stack(sums, axis=-1)
        return Counts(observed_weight(x, membership), total, summed(self.log_base(cells)))

    def log_likelihood(self, parameters: Parameters, statistics: Any) -> Any:
        natural, log_partition = _natural_parameters(self, parameters)
        total = statistics.total
        sums = (total,) if len(natural) == 1 else tuple(total[..., k] for k in range(len(natural)))
        return sum(map(times, sums, natural)) - times(statistics.n, log_partition)

    def densities_of_rows(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        if is_jax(x):
            observed, cells = filled_cells(self, x.astype(np.float64))
            return lambda rows: _by_formula(self, parameters, observed[rows], cells[rows])
        return _Product.of(self, parameters, x, with_base=not ratio).of_rows


# --------------------------------------------------------------------------------------------------
# Families of two parameters, a location and a concentration, whose posterior has no closed form
# --------------------------------------------------------------------------------------------------

RATE = 0.15
"""With the default shape 1.5 of the gamma prior, the prior mean of a concentration is ten times that of the column."""


class Concentrated(ExponentialFamily):
    """A family of a location and a concentration.

    The fields `concentration` and `rate` are the gamma prior of the concentration. A subclass states `estimate`, which
    is cheap. From it follow the defaults that the data determine, and the first point of the search for a maximum.
    """

    concentration: Hyperparameter
    rate: Hyperparameter

    why_no_estimate: ClassVar[dict[str, str]] = {
        LIKELIEST: "no observed cell, or all of them equal",
        MODE: "no observed cell, and a prior whose density has no single maximum",
    }

    @abstractmethod
    def estimate(self, statistics: Any) -> dict[str, np.ndarray]:
        """Approximate maximum of the likelihood, shape (classes, columns), by name.

        Parameters
        ----------
        statistics : Counts

        Returns
        -------
        dict of array
            NaN where the cells do not determine a parameter, and where the likelihood grows with it without bound.
        """

    def on_scale_of(self, pooled: Any) -> Self:
        return with_defaults(self, rate=default_rate(self.estimate(pooled)["concentration"]))

    def maximum_likelihood(self, statistics: Any) -> dict[str, Any]:
        return maximum(self.on_scale_of(statistics.pooled()), statistics, self.estimate(statistics), with_prior=False)

    def maximum_a_posteriori(self, statistics: Any) -> dict[str, Any]:
        return maximum(self, statistics, self.estimate(statistics), with_prior=True)


def default_rate(concentration: np.ndarray) -> np.ndarray:
    """Rate of a concentration's prior, given the concentration of the whole column; NaN counts as one.

    The prior mean is ten times the column's concentration where that is large, which is the default of `Gaussian` for
    the precision of a class. It is ten where the column is spread widely, because then the classes may be far apart.
    """
    return RATE / (1 + np.where(concentration > 0, concentration, 1.0))
