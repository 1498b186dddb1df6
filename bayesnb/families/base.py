"""What a family of feature distributions has to say.

A family is a frozen record whose fields are the hyperparameters of its prior. Subclass `Family`, or `ConjugateFamily`
where the posterior has the prior's type, register the class as a pytree, and everything else in the package works with
it::

    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Exponential(ConjugateFamily):
        concentration: Hyperparameter = 1.0
        rate: Hyperparameter = 1.0
        ...

Inside a fitted model every field is an array of shape (classes, columns), or (classes, columns, categories) where a
column has categories. The methods must not care about the leading axes: the package calls them for one column, for one
class a row, and under ``jax.vmap``.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.arrays import to_numpy
from bayesnb.families.chance import by_chance
from bayesnb.families.information import from_likelihood
from bayesnb.families.pit import independent_pit
from bayesnb.stats import Statistics

__all__ = [
    "ConjugateFamily",
    "Family",
    "Hyperparameter",
    "Parameters",
    "Sample",
    "broadcast_hyperparameter",
    "format_number",
    "log_weights",
    "require_hyperprior",
]

Hyperparameter = Any
"""A number or an array; inside a bound model an array of shape (classes, columns[, categories])."""

Parameters = Mapping[str, Any]
"""Parameter arrays by name, each of shape (..., classes, columns) or (..., classes, columns, categories)."""

Sample = Callable[[str, dist.Distribution], Any]
"""Draws a named parameter from its distribution: ``numpyro.sample`` inside a program, a fast sampler elsewhere."""


@dataclass(frozen=True)
class Family(ABC):
    """Distribution of the cells of a column given the class, with a prior on its parameters.

    Class attributes a subclass may set:

    cell
        ``"number"`` (the default), ``"category"`` (the table's values are coded 0, 1, ...; a missing cell is NaN) or
        ``"count vector"`` (the columns of a block form one observation).
    support, holds
        Which numbers a cell may hold, as a NumPyro constraint and in words.
    hint
        What to do about a value outside the support, for the error message.
    positive
        Names of the hyperparameters that must be positive.
    sparse
        Whether `statistics` and the row densities take SciPy CSR arrays, whose empty cells are zeros.
    compact
        Whether `statistics` and the row densities take cells, where none is missing, in the small type that the table
        holds them in: zeros and ones as bool, codes of categories as integers.
    why_no_maximum_likelihood
        What it says of the data where `maximum_likelihood` is NaN, for the error message.
    """

    cell: ClassVar[Literal["number", "category", "count vector"]] = "number"
    support: ClassVar[Any] = constraints.real
    holds: ClassVar[str] = "a finite number"
    hint: ClassVar[str] = "use a family whose support holds it, or mark the cell as missing (NaN)"
    positive: ClassVar[tuple[str, ...]] = ()
    sparse: ClassVar[bool] = False
    compact: ClassVar[bool] = False
    why_no_maximum_likelihood: ClassVar[str] = "no observed cell, or no spread"

    def __post_init__(self) -> None:
        for name, value in self.hyperparameters().items():
            _require_numbers(type(self).__name__, name, value, positive=name in self.positive)

    @property
    def accepts_fractions(self) -> bool:
        """Whether cells may be any number from zero, where the support says whole ones."""
        return False

    @abstractmethod
    def prior(self, sample: Sample) -> dict[str, Any]:
        """Draw the parameters, calling ``sample(name, distribution)`` for each of them.

        Returns
        -------
        dict
            The parameters by name, in the shapes of the hyperparameters.
        """

    @abstractmethod
    def likelihood(self, *args: Any, **parameters: Any) -> dist.Distribution:
        """Distribution of a cell (of a count vector, for that kind of family) given the parameters."""

    def draw_sparse(
        self, parameters: Parameters, members: Sequence[np.ndarray], totals: np.ndarray, rng: np.random.Generator
    ) -> Any:
        """Draw sparse rows of counts that have given totals.

        Parameters
        ----------
        parameters : mapping
            Arrays of shape (classes, columns).
        members : sequence of array of int
            Positions of the rows of each class.
        totals : array of int, shape (rows,)
        rng : numpy.random.Generator

        Returns
        -------
        CSR array of shape (rows, columns), or None
            None, the default, where `likelihood` draws the rows, which are then dense.
        """
        return None

    @abstractmethod
    def statistics(self, x: Any, membership: np.ndarray) -> Statistics:
        """Sufficient statistics of rows.

        Parameters
        ----------
        x : array, shape (rows, columns)
            Missing cells are NaN. CSR arrays come only to families that set `sparse`.
        membership : array, shape (rows, classes)
            Weight of each row in each class.
        """

    def statistics_by_class(self, x: Any, codes: np.ndarray, num_classes: int) -> Statistics:
        """As `statistics`, for rows of one class and of weight one each.

        Parameters
        ----------
        x : array, shape (rows, columns)
        codes : array of int, shape (rows,)
            Position of each row's class.
        num_classes : int
        """
        return self.statistics(x, np.eye(num_classes)[codes])

    def device_statistics(self, x: Any, codes: Any, membership: Any) -> Statistics:
        """As `statistics`, for JAX to compile and to run where the table lives.

        The default says that there is none: the table then comes to the host chunk by chunk, and `statistics` counts.

        Parameters
        ----------
        x : jax.Array, float64, shape (rows, columns)
            Missing cells are NaN.
        codes : jax.Array of int, shape (rows,)
            Position of each row's class.
        membership : jax.Array, float64, shape (rows, classes)
            Weight of each row in each class, zero in all but its own; zero in all for rows that do not count.

        Raises
        ------
        NotImplementedError
            Unless a family defines it.
        """
        raise NotImplementedError

    @abstractmethod
    def log_likelihood(self, parameters: Parameters, statistics: Any) -> Any:
        """Log density of all the rows behind the statistics, shape (..., classes, columns).

        Terms that hold no parameter (``log_base``) are left out.
        """

    def possible(self, statistics: Any) -> Any:
        """Which cells of (classes, columns) hold statistics that some table could have given."""
        return np.asarray(statistics.n) >= 0

    def too_far_from_zero(self, statistics: Any) -> np.ndarray | None:
        """Means, shape (classes, columns), so far from zero that too few digits of the densities are left; else NaN.

        None where that cannot happen. Such a model is refused, with the advice to subtract a number from the column.
        """
        return None

    def on_scale_of(self, pooled: Any) -> Self:
        """Fill in the hyperparameters that were left to the scale of the data.

        Parameters
        ----------
        pooled : Statistics
            Statistics of all classes together, class axis of length one.
        """
        return self

    def maximum_likelihood(self, statistics: Any) -> dict[str, Any] | None:
        """Parameters that maximise the likelihood, NaN where none does; None where they are not known."""
        return None

    def maximum_a_posteriori(self, statistics: Any) -> dict[str, Any] | None:
        """Mode of the parameters' joint posterior density, NaN where it is unbounded; None where it is not known."""
        return None

    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters, in the order of the likelihood's arguments."""
        signature = inspect.signature(self.likelihood)
        return tuple(name for name in signature.parameters if name != "total_count")

    def row_log_likelihood(self, parameters: Parameters, x: Any) -> Any:
        """Log density of each row under each class, summed over the observed cells.

        Parameters
        ----------
        parameters : mapping
            Arrays of shape (..., classes, columns) or (..., classes, columns, categories).
        x : array, shape (rows, columns)

        Returns
        -------
        array, shape (..., rows, classes)
        """
        axis = -2 if self.cell == "number" else -3
        spread = {name: jnp.expand_dims(value, axis - 1) for name, value in parameters.items()}
        return _sum_over_cells(self.likelihood(**spread), x)

    def row_log_ratio(self, parameters: Parameters, x: Any) -> Any:
        """As `row_log_likelihood`, but for a term of each row that all classes share: enough to tell classes apart."""
        return self.row_log_likelihood(parameters, x)

    def device_log_likelihood(self, parameters: Parameters, x: Any) -> Any:
        """As `row_log_likelihood` for parameters without leading axes, for JAX to compile and to run.

        The default takes NumPyro's distribution, in float64.

        Parameters
        ----------
        parameters : mapping
        x : jax.Array, float32 or float64, shape (rows, columns)
            Missing cells are NaN.

        Returns
        -------
        jax.Array, shape (rows, classes)

        Raises
        ------
        NotImplementedError
            If the family is one of count vectors and does not define it: `row_log_likelihood` then does it.
        """
        return _sum_on_device(self, self.likelihood(**{name: value[None] for name, value in parameters.items()}), x)

    def mutual_information(self, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
        """Mutual information of the class and each column's cells under given parameters, in nats.

        The default asks NumPyro's likelihood: it sums over counts, and integrates over quantiles.

        Parameters
        ----------
        class_prob : array, shape (draws, classes, 1) or (draws, classes, columns)
        parameters : mapping
            Arrays of shape (draws, classes, columns, ...); of a count vector, those of `parameters_of_each_column`.

        Returns
        -------
        array, shape (draws, columns)

        Raises
        ------
        NotImplementedError
            If it is not known.
        """
        return from_likelihood(self.likelihood, class_prob, parameters)

    def information_by_chance(self, weight: np.ndarray, statistics: Any) -> tuple[np.ndarray, np.ndarray]:
        """How large mutual information is without dependence, at the maximum of the likelihood.

        Parameters
        ----------
        weight : array, shape (classes, columns)
            Observed cells of the classes that count.
        statistics : Statistics
            Of each column on its own.

        Returns
        -------
        tuple of array, shape (columns,)
            Degrees of freedom and expected information in nats: by default df / (2 N), df the parameters of a cell
            times the classes but one.
        """
        return by_chance(weight, len(self.parameter_names()))

    def of_each_column(self) -> "Family":
        """The family of each column on its own, where the columns form one vector: whether one token is that word."""
        return self

    def statistics_of_each_column(self, statistics: Any) -> Any:
        """Statistics for `of_each_column`."""
        return statistics

    def parameters_of_each_column(self, parameters: Parameters) -> Parameters:
        """Parameters for `of_each_column`."""
        return parameters

    def story(self) -> tuple[str, list[str]]:
        """The likelihood, and a line for each part of the prior, as the model's repr shows them."""
        hyperparameters = ", ".join(f"{name}={format_number(value)}" for name, value in self.hyperparameters().items())
        return type(self).__name__, [f"prior: {hyperparameters}"]

    def hyperparameters(self) -> dict[str, Any]:
        """The prior's hyperparameters by name."""
        return {field.name: getattr(self, field.name) for field in _array_fields(self)}

    def spread(self, num_classes: int, names: tuple, sizes: tuple[int, ...]) -> list[tuple[Sequence[int], Self]]:
        """The same family with each hyperparameter as an array for every class and column.

        Parameters
        ----------
        num_classes : int
        names : tuple
            Names of the columns.
        sizes : tuple of int
            Number of categories of each column; zero for columns of numbers.

        Returns
        -------
        list of (sequence of int, Family)
            Positions among `names` and the family of these columns; more than one entry where columns differ in their
            number of categories.

        Raises
        ------
        ValueError
            If a hyperparameter does not broadcast to (columns,) or (classes, columns).
        """
        shape = (num_classes, len(names))
        changes = {
            name: broadcast_hyperparameter(self, name, value, shape)
            for name, value in self.hyperparameters().items()
            if value is not None
        }
        return [(range(len(names)), replace(self, **changes))]

    def take(self, index: Any) -> Self:
        """The same family with every hyperparameter array indexed by `index` (class axis first)."""
        return jax.tree.map(lambda leaf: leaf[index], self)


@dataclass(frozen=True)
class ConjugateFamily(Family):
    """A family whose posterior has the type of its prior; subclass it to add one of your own.

    A family is a frozen dataclass, registered as a JAX pytree, whose fields are the hyperparameters. Write the formulas
    with ``jax.numpy``: they run on arrays of any leading shape, under ``jit`` for NUTS and in float64.

    Examples
    --------
    Waiting times, exponential with a gamma prior on the rate.

    >>> from dataclasses import dataclass
    >>> import jax, jax.numpy as jnp, numpy as np, numpyro.distributions as dist
    >>> from jax.scipy.special import gammaln
    >>> import bayesnb as nb
    >>> @jax.tree_util.register_dataclass
    ... @dataclass(frozen=True)
    ... class Exponential(nb.ConjugateFamily):
    ...     concentration: float = 1.0
    ...     rate: float = 1.0
    ...
    ...     support = dist.constraints.positive
    ...     holds = "a positive number"
    ...     positive = ("concentration", "rate")
    ...
    ...     def prior(self, sample):
    ...         return {"rate": sample("rate", dist.Gamma(self.concentration, self.rate))}
    ...
    ...     def likelihood(self, rate):
    ...         return dist.Exponential(rate)
    ...
    ...     def statistics(self, x, membership):  # x (rows, columns), NaN if missing; membership (rows, classes)
    ...         n = membership.T @ ~np.isnan(x)
    ...         return nb.Counts(n, membership.T @ np.nan_to_num(x), np.zeros_like(n))
    ...
    ...     def log_likelihood(self, parameters, statistics):
    ...         return statistics.n * jnp.log(parameters["rate"]) - statistics.total * parameters["rate"]
    ...
    ...     def update(self, statistics):
    ...         return Exponential(self.concentration + statistics.n, self.rate + statistics.total)
    ...
    ...     def predictive(self):
    ...         shift = dist.transforms.AffineTransform(-self.rate, 1.0)
    ...         return dist.TransformedDistribution(dist.Pareto(self.rate, self.concentration), shift)
    ...
    ...     def log_evidence(self, statistics):
    ...         a, b, posterior = self.concentration, self.rate, self.update(statistics)
    ...         a_n, b_n = posterior.concentration, posterior.rate
    ...         return gammaln(a_n) - gammaln(a) + a * jnp.log(b) - a_n * jnp.log(b_n)
    >>> posterior = nb.fit(nb.NaiveBayes(Exponential()), [[0.2], [0.3], [4.0], [7.0]], ["a", "a", "b", "b"])
    >>> posterior.predict_proba([[0.4]]).round(3)
    array([[0.78, 0.22]])
    """

    @abstractmethod
    def update(self, statistics: Any) -> Self:
        """Posterior given statistics; the same type, other hyperparameters."""

    @abstractmethod
    def predictive(self) -> dist.Distribution:
        """Distribution of one new cell, the parameters integrated out."""

    @abstractmethod
    def log_evidence(self, statistics: Any) -> Any:
        """Log density of the rows behind the statistics, parameters integrated out, shape (classes, columns)."""

    def marginals(self) -> dict[str, dist.Distribution]:
        """Distribution of each scalar parameter on its own, for comparison with samples.

        The default reads them off `prior`; a family whose prior draws a vector, or one parameter given another, says
        them itself.
        """
        found: dict[str, dist.Distribution] = {}

        def note(name: str, distribution: dist.Distribution) -> Any:
            if found or distribution.event_shape:
                raise NotImplementedError(
                    f"{type(self).__name__} draws several parameters or a vector: define marginals() to compare it"
                )
            found[name] = distribution
            return distribution.mean

        self.prior(note)
        return found

    def independent_pit(self, parameters: Parameters, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draws of the parameters as uniform numbers, independent of each other if the draws follow this distribution.

        `bayesnb.compare` tests with them whether parameters depend on each other as they should. The default takes
        each parameter given those that `prior` draws before it, and one component of a Dirichlet vector after the
        other. That is right for every family; define it where a parameter's distribution has no ``cdf``.

        Parameters
        ----------
        parameters : mapping
            Draws, shape (..., classes, columns) or (..., classes, columns, categories).
        rng : numpy.random.Generator
            For draws that were rounded to zero or one; see `bayesnb.families.pit.pit`.

        Returns
        -------
        dict
            The parameters in the order of `prior`, each in its shape; NaN where nothing is known of one that others
            do not tell.
        """
        found: dict[str, np.ndarray] = {}

        def note(name: str, distribution: dist.Distribution) -> Any:
            found[name] = independent_pit(distribution, np.asarray(parameters[name]), rng)
            return parameters[name]

        with jax.enable_x64(True):
            self.prior(note)
        return found

    def mean(self) -> dict[str, Any]:
        """Mean of every parameter; infinite where it does not exist."""
        with jax.enable_x64(True), np.errstate(divide="ignore"):
            return to_numpy({name: marginal.mean for name, marginal in self.marginals().items()})

    def maximum_a_posteriori(self, statistics: Any) -> dict[str, Any] | None:
        return self.update(statistics).mode()

    def mode(self) -> dict[str, Any] | None:
        """Mode of the parameters' joint density, NaN where it is unbounded; None where no closed form is known."""
        return None

    def row_log_predictive(self, x: Any) -> Any:
        """Log predictive density of each row under each class, summed over the observed cells.

        Returns
        -------
        array, shape (rows, classes)
        """
        return _sum_over_cells(self.take(None).predictive(), x)

    def cell_log_predictive(self, x: np.ndarray) -> np.ndarray | None:
        """Log predictive density of each cell, shape (rows, classes, columns); zero for a missing one.

        None where only the general way serves, by the evidence of each cell's own statistics.
        """
        return None

    def row_log_predictive_ratio(self, x: Any) -> Any:
        """As `row_log_predictive`, but for a term of each row that all classes share: enough to tell classes apart."""
        return self.row_log_predictive(x)

    def device_log_predictive(self, x: Any) -> Any:
        """As `row_log_predictive`, for JAX to compile and to run; see `device_log_likelihood`."""
        return _sum_on_device(self, self.take(None).predictive(), x)

    def row_log_left_out(self, x: Any, codes: np.ndarray, statistics: Any) -> np.ndarray | None:
        """Log density of each row given the others of its class, summed over the observed cells; called on the prior.

        Leave-one-out has a general way, by the evidence of the row's own statistics; a family may know a faster one.

        Parameters
        ----------
        x : array, shape (rows, columns)
            Rows of weight one.
        codes : array of int, shape (rows,)
        statistics : Statistics
            Of all rows, these among them.

        Returns
        -------
        array of shape (rows,), or None
            None where only the general way serves; not finite where a row cannot have been among the data.
        """
        return None

    def row_log_refitted(
        self, x: Any, codes: np.ndarray, weights: np.ndarray, statistics: Any, held: np.ndarray
    ) -> np.ndarray | None:
        """Log density of each row under each class given the other rows, `on_scale_of` following them alone.

        It is called on the prior as the user left it, of a family whose defaults follow the data. Leave-one-out has a
        general way, which calls `on_scale_of` for every row; a family may know a faster one.

        Parameters
        ----------
        x : array, shape (rows, columns)
        codes : array of int, shape (rows,)
            Position of each row's class.
        weights : array, shape (rows,)
        statistics : Statistics
            Of all rows, these among them.
        held : array, shape (rows, classes)
            Log predictive density of each row under each class given all rows, from which the family may start.

        Returns
        -------
        array of shape (rows, classes), or None
            None where only the general way serves; rows that only the general way serves, and rows that cannot have
            been among the data, are not finite.
        """
        return None


def _sum_over_cells(distribution: dist.Distribution, x: Any) -> np.ndarray:
    """Sum of the cells' log densities; `distribution` has batch shape (..., 1, classes, columns)."""
    with jax.enable_x64(True):
        cells = np.asarray(x)[:, None, :]
        missing = np.isnan(cells)
        log_density = distribution.log_prob(jnp.where(missing, 1.0, cells))
        return np.asarray(jnp.where(missing, 0.0, log_density).sum(axis=-1))


def _sum_on_device(family: Family, distribution: dist.Distribution, x: Any) -> Any:
    """As `_sum_over_cells`, for JAX to compile."""
    if family.cell == "count vector":
        raise NotImplementedError
    observed = ~jnp.isnan(x)
    cells = jnp.where(observed, x.astype(jnp.float64), 0.0 if family.cell == "category" else 1.0)
    values = cells.astype(jnp.int32) if family.cell == "category" else cells
    log_density = distribution.log_prob(values[:, None, :])
    return jnp.where(observed[:, None, :], log_density, 0.0).sum(axis=-1)


def log_weights(x: Any, log_p: np.ndarray) -> np.ndarray:
    """Sum over columns of x * log p, where a log p of minus infinity counts only against an x that is not zero.

    Parameters
    ----------
    x : array or SciPy sparse array, shape (rows, columns)
        Non-negative, no missing cell.
    log_p : array, shape (..., columns)

    Returns
    -------
    array, shape (..., rows)
    """
    leading = log_p.shape[:-1]
    flat = log_p.reshape(-1, log_p.shape[-1])
    if np.fmin.reduce(flat, axis=None, initial=0.0) == -np.inf:
        impossible = np.isneginf(flat)
        sums = np.asarray(x @ np.where(impossible, 0.0, flat).T)
        sums = np.where(np.asarray(x @ impossible.T.astype(np.float64)) > 0, -np.inf, sums)
    else:
        sums = np.asarray(x @ flat.T)
    return np.moveaxis(sums, 0, -1).reshape(*leading, x.shape[0])


def broadcast_hyperparameter(family: Family, name: str, value: Any, shape: tuple[int, int]) -> np.ndarray:
    """A hyperparameter as an array of shape (classes, columns).

    Raises
    ------
    ValueError
        If it does not broadcast to that shape.
    """
    array = np.asarray(value, dtype=np.float64)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(
            f"{type(family).__name__}({name}=...) has shape {array.shape}, which broadcasts neither to {shape[1:]}, "
            "one "
            f"number per column, nor to {shape}, one per class and column"
        ) from None


def format_number(value: Any) -> str:
    """A hyperparameter for the eye: one number where all are equal, else the shape."""
    if value is None:
        return "on the data's scale"
    if isinstance(value, dist.Distribution):
        return _format_distribution(value)
    array = np.asarray(value)
    if array.size and (array == array.flat[0]).all():
        return f"{array.flat[0]:.4g}"
    if array.ndim > 1 and (array == array[:1]).all():
        return format_number(array[0])
    if array.ndim == 1 and array.size <= 6:
        return "(" + ", ".join(f"{number:.4g}" for number in array) + ")"
    return f"<array of shape {array.shape}>"


def require_hyperprior(where: str, distribution: dist.Distribution, *, positive: bool) -> None:
    """Refuse a distribution that a hyperparameter cannot have.

    Raises
    ------
    ValueError
        If it is one of vectors or of whole numbers, or holds numbers that are not positive where they must be.
    """
    shown = _format_distribution(distribution)
    if distribution.event_shape:
        raise ValueError(
            f"{where} is {shown}, a distribution of vectors: give one of numbers, such as dist.Gamma(1, 1), with "
            ".expand([...]) for several of them"
        )
    if distribution.is_discrete:
        raise ValueError(f"{where} is {shown}, a distribution of whole numbers: give a continuous one")
    lowest = getattr(distribution.support, "lower_bound", -np.inf)
    if positive and not np.all(np.asarray(lowest) >= 0):
        raise ValueError(
            f"{where} is {shown}, which holds numbers that are not positive: give a distribution of positive numbers, "
            "such as dist.Gamma(1, 1), dist.LogNormal(0, 1) or dist.HalfNormal(1)"
        )


def _format_distribution(distribution: dist.Distribution) -> str:
    base = distribution
    while isinstance(base, dist.ExpandedDistribution | dist.Independent):
        base = base.base_dist
    arguments = ", ".join(format_number(getattr(base, name)) for name in base.arg_constraints)
    shape = "" if not distribution.batch_shape else f", shape {tuple(distribution.batch_shape)}"
    return f"{type(base).__name__}({arguments}){shape}"


def _array_fields(family: Family) -> list[Any]:
    return [field for field in fields(family) if not field.metadata.get("static")]


def _require_numbers(family: str, name: str, value: Any, *, positive: bool) -> None:
    """Refuse hyperparameters that are no finite (positive) numbers; what JAX traces or maps is let through."""
    if isinstance(value, dist.Distribution):
        require_hyperprior(f"{family}({name}=...)", value, positive=positive)
        return
    if value is None or not isinstance(value, str | int | float | list | tuple | np.ndarray | np.generic):
        return
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{family}({name}={value!r}): a hyperparameter is a number or an array of numbers") from None
    # Of numbers spread over an axis, one is enough.
    numbers = numbers[(*(slice(None if step else 1) for step in numbers.strides), ...)]
    if numbers.size and numbers.min() > (0.0 if positive else -np.inf) and numbers.max() < np.inf:
        return
    wrong = ~np.isfinite(numbers) | (positive & (numbers <= 0))
    if wrong.any():
        kind = "positive finite" if positive else "finite"
        raise ValueError(
            f"{family}({name}={value!r}): {numbers[wrong].flat[0]} is not a {kind} number, as the prior's density needs"
        )
