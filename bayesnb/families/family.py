"""The interface of families, and its defaults."""

import inspect
import itertools
import operator
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial, reduce
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from bayesnb.core.arrays import dense
from bayesnb.core.checking import Params, is_jax
from bayesnb.core.deferred import Deferred, compiled, dist, float64, jax, jnp, map_tree
from bayesnb.families.host_sums import CountedFamily
from bayesnb.families.hyperparameters import (
    REAL,
    broadcast_hyperparameter,
    filled_cells,
    format_number,
    kind_of_cell,
    require_numbers,
    spread_over_categories,
)
from bayesnb.families.mutual_information import chance_information, information_from_likelihood, tables_by_chance
from bayesnb.families.statistics import Counts

if TYPE_CHECKING:
    from bayesnb.families import distributions, formulas
else:
    # They subclass NumPyro's distributions, and therefore import NumPyro.
    distributions, formulas = map(Deferred, ("bayesnb.families.distributions", "bayesnb.families.formulas"))

# --------------------------------------------------------------------------------------------------
# The interface of a family of feature distributions.
#
# A family is a frozen record whose fields are the hyperparameters of its prior. Subclass `Family`, or
# `ExponentialFamily` if its density has sufficient statistics, and `ConjugateFamily` if the posterior has the prior's
# type, and register the class as a pytree.
#
# Inside a fitted model every field is an array of shape (classes, columns), or (classes, columns, categories) where a
# column has categories. The methods must work for any leading axes: the package calls them for one column, for one
# class per row, and under ``jax.vmap``.
# --------------------------------------------------------------------------------------------------

DRAW_BYTES = 2**26
"""Memory for cell densities under many draws."""

LIKELIEST, MODE = "maximum likelihood", "mode"
"""Names of the point estimates."""

Hyperparameter = Any
"""A number or an array; inside a bound model an array of shape (classes, columns[, categories])."""

Parameters = Mapping[str, Any]
"""Parameter arrays by name, each of shape (..., classes, columns) or (..., classes, columns, categories)."""

type Axes = tuple[tuple[str, tuple[Any, ...]], ...]
"""Name and labels of each axis after the class, of a parameter."""

type Sample = Callable[[str, dist.Distribution], Any]
"""Draws a named parameter from its distribution: ``numpyro.sample`` inside a program, a fast sampler elsewhere."""


@dataclass(frozen=True)
class Family(CountedFamily, Params, ABC):
    """Distribution of the cells of a column given the class, with a prior on its parameters.

    Class attributes a subclass may set:

    cell
        ``"number"`` (the default), ``"category"`` (the table's values are coded 0, 1, ...; a missing cell is NaN) or
        ``"count vector"`` (a `JointFamily` whose rows are vectors of counts; the likelihood is given their totals).
    support, holds
        Which numbers a cell may hold, as a NumPyro constraint and in words; properties if they follow a static field.
    hint
        What to do about a value outside the support, for the error message.
    positive
        Names of the hyperparameters that must be positive.
    takes
        Other forms in which `statistics` and the densities of rows take cells: ``"sparse"`` for SciPy CSR arrays, whose
        empty cells are zeros; ``"small types"`` for cells, none of them missing, in the small type that the table holds
        them in, zeros and ones as bool and codes of categories as integers.
    why_no_estimate
        Why `maximum_likelihood` and `maximum_a_posteriori` may be NaN, for the error messages: texts by ``"maximum
        likelihood"`` and ``"mode"``.
    categories, other
        For columns of categories. Usually they are fields with ``metadata={"static": True}``: the values that may
        occur, a sequence or a mapping from column to sequence, and whether all other values share one more category.
        By default the table's own values are the categories.

    See Also
    --------
    ConjugateFamily : Families with a conjugate prior.
    ExponentialFamily : Families that state natural parameters.
    JointFamily : Families whose columns are one observation.
    NaiveBayes : The description of a model.

    Examples
    --------
    >>> import bayesnb as nb
    >>> family = nb.Gaussian(loc=0.0)
    >>> isinstance(family, nb.families.Family)
    True
    >>> family.hyperparameters()
    {'loc': 0.0, 'kappa': 0.1, 'concentration': 1.0, 'rate': None}
    """

    cell: ClassVar[Literal["number", "category", "count vector"]] = "number"
    support = REAL
    holds: ClassVar[str] = "a finite number"
    hint: ClassVar[str] = "use a family whose support holds it, or mark the cell as missing (NaN)"
    positive: ClassVar[tuple[str, ...]] = ()
    takes: ClassVar[tuple[str, ...]] = ()
    _story: ClassVar[tuple[str, ...]] = ()
    why_no_estimate: ClassVar[dict[str, str]] = {
        LIKELIEST: "no observed cell, or no spread",
        MODE: "density unbounded, for a concentration below one",
    }

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.cell == "count vector" and not hasattr(cls, "likelihood_of_observed"):
            raise TypeError(f"the columns of {cls.__name__} are one observation: make it a subclass of JointFamily")
        # A dataclass keeps a __repr__ that the class has. Its own one would print arrays in full.
        if "__repr__" not in vars(cls):
            cls.__repr__ = Family.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        shown = (f"{field.name}={_short(getattr(self, field.name))}" for field in fields(self) if field.repr)
        return f"{self.family_name}({', '.join(shown)})"

    def __post_init__(self) -> None:
        if (categories := listed_categories(self)) is not None:
            # JAX compares settings and hashes them, which it cannot do with lists.
            object.__setattr__(self, "categories", _as_tuples(categories))
        for name, value in self.settings().items():
            if isinstance(value, np.generic):
                object.__setattr__(self, name, value.item())
        for name, value in self.hyperparameters().items():
            require_numbers(self.family_name, name, value, positive=name in self.positive)

    # What every family states.

    @abstractmethod
    def prior(self, sample: Sample) -> dict[str, Any]:
        """Draw the parameters, calling ``sample(name, distribution)`` for each of them.

        The distributions have the shape of the hyperparameters, so that each class and column has a parameter of its
        own. ``.expand(jnp.shape(self.rate))`` gives it to a distribution that has no hyperparameters.

        Returns
        -------
        dict
            The parameters by name, in the shapes of the hyperparameters.
        """

    @abstractmethod
    def likelihood(self, *args: Any, **parameters: Any) -> "dist.Distribution":
        """Distribution of a cell (of a row of the block, for a joint family) given the parameters."""

    @abstractmethod
    def log_likelihood(self, parameters: Parameters, statistics: Any) -> Any:
        """Log density of all the rows behind the statistics, shape (..., classes, columns).

        Terms that hold no parameter (``log_base``) are left out.
        """

    # What a family may state: each has a default.

    def possible(self, statistics: Any) -> Any:
        """Which cells of (classes, columns) hold statistics that some table could have given."""
        return statistics.n >= 0

    def beyond_float64(self, statistics: Any) -> tuple[np.ndarray, str] | None:
        """What float64 does not hold: the means (classes, columns) of cells that are too far from zero, or too narrow.

        A model asks it of the columns as a whole, class axis of length one, before `on_scale_of`, and of each class
        after it. It then raises an error.

        Returns
        -------
        tuple of array and str, or None
            NaN for the other classes and columns; and what is wrong, after the column's name, and what helps, with
            ``{mean}`` in it. None, the default, if that cannot happen.
        """
        return None

    def on_scale_of(self, pooled: Any) -> Self:
        """Fill in the hyperparameters that were left to the scale of the data.

        Parameters
        ----------
        pooled : Statistics
            Statistics of all classes together, class axis of length one.

        Returns
        -------
        Family
            A copy with numbers in place of the defaults, ``dataclasses.replace(self, scale=...)``, of shape (1,
            columns) or (classes, columns). Fields that are not None stay as they are.
        """
        return self

    def must_see(self, column: Any) -> tuple[str, ...]:
        """Names of the constants (static fields) that follow from the cells of the column, and are not known yet."""
        return ()

    def having_seen(self, cells: Mapping[Any, np.ndarray], weights: np.ndarray | None = None) -> Self:
        """The family with the constants that follow from the cells of its columns.

        A model calls it when it is bound to a table, for the columns that the family `must_see`. The constants then
        stay as they are, for updates and for other tables.

        Parameters
        ----------
        cells : mapping
            By column, cells of shape (rows,), missing ones NaN. Of a table in pieces one column at a time, as its
            different numbers, with the weight of each.
        weights : array, shape (rows,), optional
            Each row counts as that many rows; by default once.
        """
        return self

    def maximum_likelihood(self, statistics: Any) -> dict[str, Any] | None:
        """Parameters that maximise the likelihood, NaN where none does; None where they are not known."""
        return None

    def maximum_a_posteriori(self, statistics: Any) -> dict[str, Any] | None:
        """Mode of the parameters' joint posterior density, NaN where it is unbounded; None where it is not known."""
        return None

    def mutual_information(self, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
        """Mutual information of the class and each column's cells under given parameters, in nats.

        The default uses NumPyro's likelihood. It sums over counts, with an integral in place of most of the sum where
        they reach 4096, and integrates angles over the circle and other numbers over their quantiles (``icdf``, or
        ``cdf`` and bisection).

        Parameters
        ----------
        class_prob : array, shape (draws, classes, 1) or (draws, classes, columns)
        parameters : mapping
            Arrays of shape (draws, classes, columns, ...); of a count vector, those of `parameters_of_each_column`.

        Returns
        -------
        array, shape (draws, columns)
            NaN where an integral is not accurate.

        Raises
        ------
        NotImplementedError
            If there is no way to compute it; `nb.mutual_information` then warns, and shows the text of the error.
        """
        return information_from_likelihood(self.likelihood, class_prob, parameters)

    def information_by_chance(self, weight: np.ndarray, statistics: Any) -> tuple[np.ndarray, np.ndarray]:
        """How large mutual information is without dependence, at the maximum of the likelihood.

        Parameters
        ----------
        weight : array, shape (classes, columns)
            Observed cells of the classes that count.
        statistics : Statistics
            Statistics of each column on its own.

        Returns
        -------
        tuple of array, shape (columns,)
            Degrees of freedom and expected information in nats: by default df / (2 N), df the parameters of a cell
            times the classes but one. For categories, and for zeros and ones, it is exact if the statistics are
            `Counts`.
        """
        cell = kind_of_cell(self) if isinstance(statistics, Counts) else ""
        if cell == "category":
            return tables_by_chance(np.asarray(statistics.total))
        if cell == "zero or one":
            return tables_by_chance(np.stack([statistics.n - statistics.total, statistics.total], axis=-1))
        return chance_information(weight, len(parameter_names(self)))

    def scorer(self) -> Any:
        """The constants of the density of new cells, for a `Scorer`, which predicts without the family's formulas.

        It is called on the posterior of a family of measurements or counts, and leaves out factors that all classes
        share. Families of categories, of few whole numbers and of bins need none.

        Returns
        -------
        StudentT, RisingFactorials, MultivariateT or None
            Of `bayesnb.serve.scorer`, its numbers the positions of the columns. None: `row_log_predictive` predicts.
        """
        return None

    def axes(self, parameter: str, columns: tuple[Any, ...], categories: tuple[tuple[Any, ...], ...]) -> Axes:
        """Name and labels of each axis after the class, of a parameter of a block.

        Results put the name of the block, or of the column, before the name of the axis. The default is that of the
        columns, and for columns of categories that of the categories.

        Parameters
        ----------
        parameter : str
        columns : tuple
            Names of the columns.
        categories : tuple of tuple
            Categories of each column; empty for columns of numbers.
        """
        of_columns = ("column", columns)
        return (of_columns, ("category", categories[0])) if self.cell == "category" else (of_columns,)

    @property
    def by_column(self) -> bool:
        """Whether results name each column of the family, also where one family is given for several.

        It is so where `spread` may give several entries: columns of categories have arrays of different sizes, and a
        column may have a constant of its own.
        """
        return self.cell == "category" and not isinstance(self, JointFamily)

    def on_a_line(self, draws: Parameters) -> Parameters:
        """Draws as numbers with a meaningful mean, interval and R-hat: by default as they are.

        An angle is moved by whole turns to within half a turn of its mean direction.

        Parameters
        ----------
        draws : mapping
            Arrays of shape (chains, draws, classes, columns) or (chains, draws, classes, columns, categories).
        """
        return draws

    @property
    def family_name(self) -> str:
        """The name under which users make the family: by default that of its class."""
        return type(self).__name__

    @property
    def parameter_note(self) -> str:
        """What printed results say of the parameters, where they are not those of the cells; empty by default."""
        return ""

    def story(self) -> tuple[str, list[str]]:
        """The likelihood and the prior, as the model's repr shows them.

        Returns
        -------
        tuple of str and list of str
            The likelihood, and a line for each part of the prior. By default the name of the class with its settings
            that are neither None nor False, and one line of hyperparameters.

        Examples
        --------
        >>> import bayesnb as nb
        >>> nb.Poisson(2.0, 1.0).story()
        ('Poisson(rate)', ['rate ~ Gamma(2, 1)'])
        """
        if self._story:
            shown = {name: format_number(value) for name, value in self.hyperparameters().items()}
            for name, value in self.settings().items():
                shown[name] = format_number(value) if isinstance(value, float) else str(value)
            likelihood, *prior = (line.format(**shown) for line in self._story)
            return likelihood, prior
        settings = ", ".join(
            f"{name}={reprlib.repr(value)}"
            for name, value in self.settings().items()
            if value is not None and value is not False
        )
        hyperparameters = ", ".join(f"{name}={format_number(value)}" for name, value in self.hyperparameters().items())
        return type(self).__name__ + (f"({settings})" if settings else ""), [f"prior: {hyperparameters}"]

    # The density of rows, and a faster way to compute it.

    def densities_of_rows(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        """Log densities of rows under each class, for some rows at a time. What all rows need is prepared once.

        Parameters
        ----------
        parameters : mapping
            Arrays of shape (..., classes, columns) or (..., classes, columns, categories).
        x : array, CSR array or jax.Array, shape (rows, columns)
            Missing cells are NaN. A JAX array, in float64, is for JAX to compile, to run and to differentiate;
            the parameters then have no leading axes.
        ratio : bool, default False
            Whether a term of each row that all classes share may be left out; the rest is enough for class
            probabilities.

        Returns
        -------
        callable
            Maps a slice of rows to their log densities, summed over the observed cells, shape (..., rows, classes). The
            choice is `density_formula` for a JAX array and `density_kernel` for another.
        """
        if is_jax(x):
            return lambda rows: self.density_formula(parameters, x[rows].astype(jnp.float64))
        return self.density_kernel(parameters, x, ratio=ratio)

    def row_log_likelihood(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Any:
        """Log density of each row under each class, as `densities_of_rows` gives it for all rows."""
        return self.densities_of_rows(parameters, x, ratio=ratio)(slice(0, x.shape[0]))

    def density_formula(self, parameters: Parameters, x: Any) -> Any:
        """Log density of each row under each class: the definition, which JAX runs as it is.

        Of a family without a kernel of its own it takes parameters with leading axes, too. The default is that of
        NumPyro's distribution.
        """
        if isinstance(self, JointFamily) and self.cell != "count vector":

            def of_row(row: Any) -> Any:
                observed, cells = filled_cells(self, row)
                try:
                    return self.likelihood_of_observed(observed, **parameters).log_prob(cells)
                except NotImplementedError:
                    return jnp.where(observed.all(), self.likelihood(**parameters).log_prob(cells), jnp.nan)

            return jax.vmap(of_row, out_axes=-2)(x)
        axis = -4 if self.cell == "category" else -3
        spread = {name: jnp.expand_dims(value, axis) for name, value in parameters.items()}
        return log_density_of_rows(self, partial(self.likelihood, **spread), x)

    def density_kernel(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        """As `densities_of_rows`, for arrays of NumPy and SciPy; by default `density_formula`, compiled."""
        cells = dense(x)
        numbers = max(np.size(value) for value in parameters.values())
        step = 2 ** int(np.log2(max(DRAW_BYTES // (8 * numbers or 1), 1)))  # few shapes for JAX to compile

        def of_rows(rows: slice) -> np.ndarray:
            some = cells[rows]
            pieces = [some[start : start + step] for start in range(0, max(len(some), 1), step)]
            found = [compiled(type(self).density_formula, self, dict(parameters), piece) for piece in pieces]
            return np.concatenate(found, axis=-2)

        return of_rows

    # What follows.

    def hyperparameters(self) -> dict[str, Any]:
        """The prior's hyperparameters by name, and after them those of the families in fields of this one."""
        parts = _inner_families(self)
        own = {name: getattr(self, name) for name in _field_names(type(self), static=False) if name not in parts}
        return reduce(operator.or_, (part.hyperparameters() for part in parts.values()), own)

    def settings(self) -> dict[str, Any]:
        """The static fields by name: constants of the likelihood, and what the table's cells may be."""
        own = {name: getattr(self, name) for name in _field_names(type(self), static=True)}
        return reduce(operator.or_, (part.settings() for part in _inner_families(self).values()), own)

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
        given = {name: value for name, value in self.hyperparameters().items() if value is not None}
        if self.cell == "category":
            return [
                (columns, replace(self, **arrays))
                for columns, arrays in spread_over_categories(self, given, num_classes, names, sizes)
            ]
        shape = (num_classes, len(names))
        arrays = {name: broadcast_hyperparameter(self, name, value, shape) for name, value in given.items()}
        return [(range(len(names)), replace(self, **arrays))]

    def take(self, index: Any) -> Self:
        """The same family with every hyperparameter array indexed by `index` (class axis first)."""
        return map_tree(lambda leaf: leaf[index], self)


@dataclass(frozen=True)
class JointFamily(Family):
    """A family of blocks whose columns are one observation, such as a vector or the counts of a document's words.

    Its statistics ``n`` and its evidences have the shape (classes, 1), and its densities are those of whole rows.

    Attributes
    ----------
    whole_rows : bool
        Whether the statistics take only rows in which no cell of the block is missing. A fit leaves the other rows out
        of the block, with a warning.
    num_given : int
        Number of the last columns that the density is conditional on: the family describes the columns before them.

    See Also
    --------
    Family : The base class of all families.

    Examples
    --------
    >>> import bayesnb as nb
    >>> isinstance(nb.MultivariateGaussian(), nb.families.JointFamily)
    True
    """

    whole_rows: ClassVar[bool] = False
    num_given: ClassVar[int] = 0

    def likelihood_of_observed(self, observed: Any, **parameters: Any) -> "dist.Distribution":
        """The likelihood with the missing cells integrated out.

        Its density is taken at cells with a number of the support in the places of the missing ones (`filled_cells`).

        Parameters
        ----------
        observed : array of bool, shape (..., columns)
            Which cells are observed.
        **parameters
            As for `likelihood`.

        Raises
        ------
        NotImplementedError
            If the family does not define it.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not say how cells of a row are integrated out: define "
            "likelihood_of_observed in the class, or leave out rows with missing cells"
        )

    def missing_as_values(self, statistics: Any) -> Sequence[float]:
        """Weight of the missing cells of each described column that count as a value; by default none does."""
        return ()

    def with_every_value(self) -> Self:
        """The family with a parameter for every value that an observation may have.

        A family of categories may hold the values of its data alone (`on_scale_of`). Tables that are drawn from
        the prior may have others.
        """
        return self

    def of_each_column(self) -> Family | None:
        """The family of each column on its own, with the prior of its parameters.

        Of a count vector it is the family of whether a token is that word, and of a joint block of categories that of
        the block, as one column. None, the default for numbers, if it is not known; draws of whole vectors then take
        its place.
        """
        return self if self.cell == "category" else None

    def statistics_of_each_column(self, statistics: Any) -> Any:
        """Statistics of each column on its own; of a count vector, how many of a class's tokens are that word."""
        if self.cell != "count vector":
            return statistics
        total = np.asarray(statistics.total)
        n = np.broadcast_to(total.sum(axis=-1, keepdims=True), total.shape)
        return Counts(n, total, np.zeros(total.shape))

    def parameters_of_each_column(self, parameters: Parameters) -> Parameters:
        """Parameters of each column on its own; of a count vector ``prob``, the probability that a token is that word.

        The default for count vectors is the mean of a vector of one token.
        """
        if self.cell != "count vector":
            return parameters
        with float64():
            return {"prob": np.asarray(self.likelihood(**parameters, total_count=1).mean)}


def _inner_families(family: Family) -> dict[str, Family]:
    """The families in fields of a family, by the field."""
    own = {name: getattr(family, name) for name in _field_names(type(family), static=False)}
    return {name: value for name, value in own.items() if isinstance(value, Family)}


def with_hyperparameters[F: Family](family: F, values: Mapping[str, Any]) -> F:
    """The same family with other values of some hyperparameters, by the names of `Family.hyperparameters`."""
    own = {name: value for name, value in values.items() if name in _field_names(type(family), static=False)}
    inner = {name: value for name, value in values.items() if name not in own}
    parts = {name: with_hyperparameters(part, inner) for name, part in _inner_families(family).items() if inner}
    return replace(family, **own, **parts)


def parameter_names(family: Family) -> tuple[str, ...]:
    """Names of the parameters, in the order of the likelihood's arguments; ``**parameters`` are those of its parts."""
    arguments = inspect.signature(family.likelihood).parameters.values()
    own = [argument.name for argument in arguments if argument.kind is not argument.VAR_KEYWORD]
    parts = _inner_families(family).values() if len(own) < len(arguments) else ()
    names = (*(name for name in own if name != "total_count"), *itertools.chain(*map(parameter_names, parts)))
    return tuple(dict.fromkeys(names))


def listed_categories(family: Family) -> Any:
    """The categories that a family lists, the field ``categories``."""
    return family.settings().get("categories")


def log_predictive_given(family: Any, statistics: Any, x: np.ndarray) -> np.ndarray:
    """Log density of cells given statistics, each with hyperparameters and statistics of its own.

    Parameters
    ----------
    family : ConjugateFamily
    statistics : Statistics
        Arrays of shape (..., cells).
    x : array, shape (..., cells)
        Broadcasts against the statistics; missing cells are NaN.

    Returns
    -------
    array, shape (..., cells)
        Zero for a missing cell.
    """
    observed, cells = filled_cells(family, x)
    return np.where(observed, family.update(statistics).cell_log_predictive(cells), 0.0)


def log_density_of_rows(family: Family, distribution: "Callable[..., dist.Distribution]", x: Any) -> Any:
    """Log density of each row under each class, shape (..., rows, classes), summed over the observed cells.

    Parameters
    ----------
    family : Family
    distribution : callable
        Gives the distribution of a cell, of batch shape (..., 1, classes, columns). For a count vector it gets
        ``total_count``, and the batch shape is (..., rows, classes). That of another joint family is (..., 1, classes).
    x : array, shape (rows, columns)
        A joint family gives NaN for a row with a missing cell, unless it defines the densities of rows itself.
    """
    rows = x[:, None, :]
    if family.cell == "count vector":
        return distribution(total_count=rows.sum(axis=-1)).log_prob(rows)
    observed, cells = filled_cells(family, rows)
    log_density = distribution().log_prob(cells.astype(int) if family.cell == "category" else cells)
    if isinstance(family, JointFamily):
        return jnp.where(observed.all(axis=-1), log_density, jnp.nan)
    return jnp.where(observed, log_density, 0.0).sum(axis=-1)


def _as_tuples(categories: Any) -> tuple:
    """Categories as a tuple; those of each column as a tuple of (column, categories)."""
    if isinstance(categories, Mapping):
        return tuple((name, tuple(values)) for name, values in categories.items())
    return tuple(categories) if isinstance(categories, Sequence | np.ndarray) else categories


@cache
def _field_names(kind: type[Family], *, static: bool) -> tuple[str, ...]:
    """Names of the static fields of a class of families, or of the others."""
    return tuple(field.name for field in fields(kind) if bool(field.metadata.get("static")) == static)


def _short(value: Any) -> str:
    """A field for display: numbers of an array if they are few or equal, else its shape."""
    return format_number(value) if isinstance(value, np.ndarray) and value.dtype.kind in "fi" else repr(value)


# --------------------------------------------------------------------------------------------------
# One column of a block: its family, and values of its parameters
# --------------------------------------------------------------------------------------------------


def column_family[F: Family](family: F, j: int) -> F:
    """The family of one column, its arrays of shape (classes, 1) or (classes, 1, categories)."""
    return family.take((slice(None), slice(j, j + 1)))


def parameters_of_column(parameters: Parameters, j: int, num_leading: int) -> dict[str, Any]:
    """Values of the parameters of one column, given the number of axes before that of the classes."""
    at = (slice(None),) * (num_leading + 1) + (slice(j, j + 1),)
    return {name: value[at] for name, value in parameters.items()}
