"""A column of categories given another one."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.core.arrays import namespace
from bayesnb.core.checking import whole_number
from bayesnb.families.base import Hyperparameter, JointFamily, Parameters
from bayesnb.families.categories import Categorical, DirichletFamily
from bayesnb.families.distributions import log_of
from bayesnb.families.joint_categorical import MOST
from bayesnb.families.look_up import Distinct, Table, look_up_cells, look_up_in_jax
from bayesnb.families.statistics import Counts, clear_rounding

# --------------------------------------------------------------------------------------------------
# How often each category of a column occurs beside each of its parent, per class; the density of one given the other
# --------------------------------------------------------------------------------------------------

NO_PARENT = "<missing>"
"""Label of the last value of the parent: its cell is missing."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _CountsGivenParent(Counts):
    """Weight of the rows of each value of the parent and category of the child, `total` (classes, parents, categories).

    The parent's values are its categories, and as the last one that its cell is missing. Rows that lack the child's
    cell are not counted.
    """

    def recoded(self, places: Sequence[np.ndarray], sizes: Sequence[int]) -> Self:
        child, parent = places
        total = np.zeros((len(self.total), sizes[1] + 1, sizes[0]))
        total[np.ix_(range(len(total)), [*parent, sizes[1]], child)] = self.total
        return replace(self, total=total)


class _ChildGivenParent(dist.Distribution):
    """Density of the first category of a row given the second, one of NumPyro's distributions.

    Parameters
    ----------
    prob : array, shape (..., parents, categories)
    observed : array of bool, shape (..., 2), optional
        Which cells of the rows are observed.
    """

    support = constraints.independent(constraints.nonnegative_integer, 1)
    pytree_data_fields = ("prob", "observed")

    def __init__(self, prob: Any, observed: Any = None, *, validate_args: bool | None = None) -> None:
        self.prob, self.observed = prob, observed
        super().__init__(batch_shape=np.shape(prob)[:-2], event_shape=(2,), validate_args=validate_args)

    def log_prob(self, value: Any) -> Any:
        """Log probability of the first category of rows of codes, given the second."""
        value = jnp.asarray(value, jnp.result_type(float))
        cells = value if self.observed is None else jnp.where(self.observed, value, jnp.nan)
        found = look_up_cells(jnp.log(_flat(self.prob)), jnp.nan_to_num(codes := _codes(cells, self.prob)))
        return jnp.where(jnp.isnan(codes), 0.0, found)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Refuse: the second category has no distribution."""
        raise NotImplementedError(
            "nb.Given() describes its first column given the second, and not the second, so that no row can be drawn: "
            "describe both columns, (nb.JointCategorical(), [first, second]), draw rows of a model without it, or give "
            "rows (X)"
        )


def _flat(values: Any) -> Any:
    """Values by parent and category (..., parents, categories) as a single axis."""
    return values.reshape(*np.shape(values)[:-2], -1)


def _codes(x: Any, values: Any) -> Any:
    """Places of rows (..., 2) among `_flat` values, shape (...); NaN where the first cell is missing."""
    xp, _ = namespace(x)
    num_parents, size = np.shape(values)[-2:]
    child, parent = (x[..., j].astype(xp.result_type(float)) for j in (0, 1))
    return xp.where(xp.isnan(parent), num_parents - 1, parent) * size + child


# --------------------------------------------------------------------------------------------------
# A column of categories given another one: a Dirichlet prior for each class and category of the other
# --------------------------------------------------------------------------------------------------


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Given(JointFamily, DirichletFamily):
    r"""A column of categories given another column, its parent; a Dirichlet prior for each class and parent's value.

    .. math:: p(x_1 = k \mid x_2 = l, y = c) = \theta_{clk}, \qquad
              \theta_{cl} \sim \mathrm{Dirichlet}(\alpha, \dots, \alpha)

    The first of its two columns is described, the second is its parent. With :math:`N_{clk}` rows of class c that hold
    l and k, the predictive probability is :math:`(\alpha + N_{clk}) / \sum_m (\alpha + N_{clm})`. Together with a
    family of the parent it makes an edge of a tree-augmented naive Bayes classifier: Friedman, Geiger and Goldszmidt
    (1997), *Machine Learning* 29, 131-163, section 4; the evidence is that of Heckerman, Geiger and Chickering (1995),
    *Machine Learning* 20, 197-243, Eq. 12.

    A missing cell of the parent is one more value of it. A row that lacks the first cell says nothing.

    Parameters
    ----------
    concentration : float or array, default 1.0
        Prior weight of each category of the first column, for each value of the parent: one number, one for each class,
        shape (classes, 1), or all of them, shape (classes, parent's values, categories).
    num_bins : int, default 5
        Into so many cells of about as many rows a column of numbers is divided; the cells are its categories.
    categories : mapping from column name to sequence, or sequence, optional
        Values that may occur, as for `Categorical`: of each column, or of both.

    Raises
    ------
    ValueError
        If a concentration is not positive and finite, `num_bins` is no whole number from 1, the columns are not two, or
        they have more than a million combinations of categories.

    See Also
    --------
    tree_columns : The columns that depend on each other most, as a forest.
    JointCategorical : Both columns as one observation.

    Notes
    -----
    The density is that of the first column alone, given the second. A model of all cells therefore describes the
    parent by another feature. Rows cannot be drawn, as by `Posterior.simulate`, and `mutual_information` is NaN.

    Numerical domain: all weights and concentrations, as for `Categorical`.

    Examples
    --------
    In one class the second answer repeats the first, in the other it contradicts it.

    >>> import bayesnb as nb
    >>> X = [["yes", "yes"], ["no", "no"], ["yes", "no"], ["no", "yes"]]
    >>> model = nb.NaiveBayes({"second given first": (nb.Given(), [1, 0])})
    >>> posterior = nb.fit(model, X, ["same", "same", "other", "other"])
    >>> posterior.predict_proba([["yes", "yes"], ["no", "yes"], [None, "yes"]]).round(3)
    array([[0.333, 0.667],
           [0.667, 0.333],
           [0.5  , 0.5  ]])
    """

    concentration: Hyperparameter = 1.0
    num_bins: int = field(default=5, metadata={"static": True})
    categories: Any = field(default=None, metadata={"static": True})

    num_given: ClassVar[int] = 1
    cell: ClassVar[Any] = "category"
    support: ClassVar[Any] = constraints.nonnegative_integer
    holds: ClassVar[str] = "a category"
    takes: ClassVar[tuple[str, ...]] = ("small types", "numbers in bins")
    _story: ClassVar[tuple[str, ...]] = ("Given(prob)", "prob ~ Dirichlet({concentration})")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "num_bins", whole_number("num_bins", self.num_bins))

    def spread(self, num_classes: int, names: tuple, sizes: tuple[int, ...]) -> list[tuple[Any, Self]]:
        if len(names) != 2:
            raise ValueError(
                f"Given has the columns {list(names)}: give two, the column and its parent, "
                "(nb.Given(), [column, parent])"
            )
        child, parent = sizes
        if (number := child * (parent + 1)) > MOST:
            raise ValueError(
                f"Given of the columns {list(names)} has {number:,} combinations of categories, more than {MOST:,}: "
                "leave it out, or join rare categories in the table"
            )
        numbers, shape = np.asarray(self.concentration, dtype=np.float64), (num_classes, parent + 1, child)
        if numbers.shape not in {(), (num_classes, 1), shape}:
            raise ValueError(
                f"Given(concentration=...) of the columns {list(names)} has shape {numbers.shape}: give one number, "
                f"the prior weight of each category, or one for each class, shape {(num_classes, 1)}, or all of them, "
                f"shape {shape}"
            )
        numbers = numbers if numbers.shape == shape else numbers[..., None]
        return [((0, 1), replace(self, concentration=np.broadcast_to(numbers, shape)))]

    @property
    def _by_parent(self) -> Categorical:
        """The family of the child's categories, a column for each value of the parent."""
        return Categorical(self.concentration)

    def axes(
        self, parameter: str, columns: tuple[Any, ...], categories: tuple[tuple[Any, ...], ...]
    ) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        child, parent = categories
        labels = [*map(str, parent), NO_PARENT]
        if len({*labels}) < len(labels):
            labels = [*map(repr, parent), NO_PARENT]
        return ("parent", tuple(labels)), ("category", child)

    def likelihood(self, prob: Any) -> dist.Distribution:
        return _ChildGivenParent(prob)

    def likelihood_of_observed(self, observed: Any, **parameters: Any) -> dist.Distribution:
        return _ChildGivenParent(parameters["prob"], observed)

    def statistics(self, x: np.ndarray, membership: Any) -> _CountsGivenParent:
        shape = np.shape(self.concentration)[-2:]
        codes = _codes(x, self.concentration)[:, None]
        weights = Distinct.of_codes(codes, math.prod(shape)).weights(membership)
        total = np.ascontiguousarray(weights.T).reshape(-1, *shape)
        n = total.sum(axis=(-2, -1))[:, None]
        return _CountsGivenParent(n, total, 0.0 * n)

    def possible(self, statistics: Counts) -> Any:
        return self._by_parent.possible(statistics).all(axis=-1, keepdims=True)

    def log_likelihood(self, parameters: Parameters, statistics: Counts) -> Any:
        return self._by_parent.log_likelihood(parameters, statistics).sum(axis=-1, keepdims=True)

    def log_evidence(self, statistics: Counts) -> Any:
        return self._by_parent.log_evidence(statistics).sum(axis=-1, keepdims=True)

    def row_log_predictive(self, x: Any, *, ratio: bool = False) -> Any:
        return _under(self._by_parent.log_predictive_table(), x)(slice(None))

    def densities_of_rows(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        return _under(log_of(parameters, "prob"), x)

    def row_log_left_out(
        self, x: Any, codes: np.ndarray, weights: np.ndarray, statistics: Counts, *, refitted: bool
    ) -> np.ndarray | None:
        if refitted:
            return None
        pair = _codes(x, self.concentration)
        missing = np.isnan(pair)
        at = codes, *np.divmod(np.where(missing, 0, pair).astype(np.intp), np.shape(self.concentration)[-1])
        prior, count, n = np.asarray(self.concentration), statistics.total[at], statistics.total.sum(axis=-1)[at[:2]]
        rest, others = clear_rounding(count - weights, count), np.maximum(clear_rounding(n - weights, n), 0.0)
        share = prior[at] + np.where(rest < 0, 0.0, rest)
        log_density = np.log(share) - np.log(prior.sum(axis=-1)[at[:2]] + others)
        return np.where(missing, 0.0, np.where(rest < 0, -np.inf, log_density))

    def maximum_likelihood(self, statistics: Counts) -> dict[str, Any]:
        prob = super().maximum_likelihood(statistics)["prob"]
        # Where no parent is missing, the likelihood does not depend on the last row.
        prob[..., -1, :] = np.where(np.isnan(prob[..., -1, :]), 1 / prob.shape[-1], prob[..., -1, :])
        return {"prob": prob}

    def mutual_information(self, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
        raise NotImplementedError("it depends on the distribution of the second column, which the family does not have")

    def of_each_column(self) -> Self:
        return self

    def statistics_of_each_column(self, statistics: Counts) -> Counts:
        return replace(statistics, total=_flat(statistics.total)[:, None])

    def parameters_of_each_column(self, parameters: Parameters) -> Parameters:
        return {"prob": _flat(np.asarray(parameters["prob"]))[..., None, :]}


def _under(log_prob: Any, x: Any) -> Callable[[slice], Any]:
    """Log densities of rows given the log probabilities (..., classes, parents, categories)."""
    table, codes = _flat(log_prob)[..., None, :], _codes(x, log_prob)[:, None]
    if isinstance(x, jax.Array):
        return lambda rows: look_up_in_jax(table, codes[rows])
    found = Table.of(table)
    return lambda rows: found.of_rows(codes[rows])
