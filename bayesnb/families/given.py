"""A column of categories given another one."""

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.core.deferred import dist, jnp, namespace, pytree
from bayesnb.families.categories import Categorical, DirichletFamily
from bayesnb.families.family import Axes, Parameters, distributions
from bayesnb.families.joint_categorical import MOST, JointCategories
from bayesnb.families.kernels import look_up_cells
from bayesnb.families.needs import Afterwards, needs_of_formula
from bayesnb.families.statistics import Counts

# --------------------------------------------------------------------------------------------------
# How often each category of a column occurs beside each of its parent, per class; the density of one given the other
# --------------------------------------------------------------------------------------------------

NO_PARENT = "<missing>"
"""Label of the last value of the parent: its cell is missing."""


@pytree
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


def _child_given_parent(prob: Any, observed: Any = True) -> "dist.Distribution":
    """Density of the first category of a row given the second, one of NumPyro's distributions.

    `prob` has shape (..., parents, categories), and `observed` says which cells of the rows are observed, shape (...,
    2).
    """

    def log_density(value: Any) -> Any:
        codes = _codes(jnp.where(observed, value, jnp.nan), np.shape(prob))
        found = look_up_cells(jnp.log(_one_axis(prob)), jnp.nan_to_num(codes))
        return jnp.where(jnp.isnan(codes), 0.0, found)

    why = (
        "nb.Given() describes its first column given the second, and not the second, so that no row can be drawn: "
        "describe both columns, (nb.JointCategorical(), [first, second]), draw rows of a model without it, or give "
        "rows (X)"
    )
    return distributions.RowsOfDensity(np.shape(prob)[:-2], 2, log_density, why)


def _one_axis(values: Any) -> Any:
    """Values by parent and category (..., parents, categories) as a single axis."""
    return values.reshape(*np.shape(values)[:-2], -1)


def _codes(x: Any, shape: Sequence[int]) -> Any:
    """Places of rows (..., 2) among `_one_axis` values of a shape, shape (...); NaN where the first cell is missing."""
    xp, _ = namespace(x)
    child, parent = (x[..., j].astype(xp.result_type(float)) for j in (0, 1))
    return xp.where(xp.isnan(parent), shape[-2] - 1, parent) * shape[-1] + child


# --------------------------------------------------------------------------------------------------
# A column of categories given another one: a Dirichlet prior for each class and category of the other
# --------------------------------------------------------------------------------------------------


@pytree
class Given(DirichletFamily, JointCategories):
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
    concentration : float or array of shape (classes, 1), default 1.0
        Prior weight of each category of the first column, for each value of the parent.
    categories : mapping from column name to sequence, or sequence, optional
        Values that may occur, as for `Categorical`: of each column, or of both.
    num_bins : int, default 5
        A column of numbers is divided into this many cells of about equally many rows. The cells are its categories,
        and an update keeps them. Numbers that another feature of the model takes as categories stay these.

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

    num_bins: int = field(default=5, metadata={"static": True})

    num_given: ClassVar[int] = 1
    takes: ClassVar[tuple[str, ...]] = ("small types", "numbers in bins")
    _story: ClassVar[tuple[str, ...]] = ("Given(prob)", "prob ~ Dirichlet({concentration})")

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
        shape = num_classes, parent + 1, child
        numbers = self.concentration
        if np.shape(numbers) != shape:
            numbers = self.concentration_by_class(1.0, num_classes, names, "the prior weight of each category")[
                ..., None
            ]
        return [((0, 1), replace(self, concentration=np.broadcast_to(numbers, shape)))]

    @property
    def _by_parent(self) -> Categorical:
        """The family of the child's categories, a column for each value of the parent."""
        return Categorical(self.concentration)

    def axes(self, parameter: str, columns: tuple[Any, ...], categories: tuple[tuple[Any, ...], ...]) -> Axes:
        child, parent = categories
        return ("parent", (*parent, NO_PARENT)), ("category", child)

    def likelihood(self, prob: Any) -> "dist.Distribution":
        return _child_given_parent(prob)

    def likelihood_of_observed(self, observed: Any, **parameters: Any) -> "dist.Distribution":
        return _child_given_parent(parameters["prob"], observed)

    def needs(self) -> Any:
        of_codes = Categorical(_one_axis(self.concentration)).needs()
        return Afterwards(self._by_parents, needs_of_formula(self._code_of_row, of_codes))

    def _code_of_row(self, x: Any) -> Any:
        return _codes(x, np.shape(self.concentration))[..., None]

    def _by_parents(self, counted: Counts) -> _CountsGivenParent:
        total = counted.total.reshape(-1, *np.shape(self.concentration)[-2:])
        return _CountsGivenParent(counted.n, total, counted.log_base)

    def missing_as_values(self, statistics: Counts) -> Any:
        return (statistics.total[:, -1].sum(),)

    def possible(self, statistics: Counts) -> Any:
        return self._by_parent.possible(statistics).all(axis=-1, keepdims=True)

    def log_likelihood(self, parameters: Parameters, statistics: Counts) -> Any:
        return self._by_parent.log_likelihood(parameters, statistics).sum(axis=-1, keepdims=True)

    def log_evidence(self, statistics: Counts) -> Any:
        return self._by_parent.log_evidence(statistics).sum(axis=-1, keepdims=True)

    def row_log_predictive(self, x: Any, *, ratio: bool = False) -> Any:
        return self.row_log_likelihood(self.mean(), x)

    def densities_of_rows(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        of_codes = {"prob": _one_axis(parameters["prob"])[..., None, :]}
        return Categorical().densities_of_rows(of_codes, _codes(x, np.shape(parameters["prob"]))[:, None])

    def maximum_likelihood(self, statistics: Counts) -> dict[str, Any]:
        prob = super().maximum_likelihood(statistics)["prob"]
        # If no parent is missing, the likelihood does not depend on the last row.
        prob[..., -1, :] = np.where(np.isnan(prob[..., -1, :]), 1 / prob.shape[-1], prob[..., -1, :])
        return {"prob": prob}

    def statistics_of_each_column(self, statistics: Counts) -> Counts:
        return replace(statistics, total=_one_axis(statistics.total)[:, None])
