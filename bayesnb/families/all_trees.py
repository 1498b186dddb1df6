"""Categorical columns of which some depend on each other, as a tree does: the average over all trees."""

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import xlogy

from bayesnb.core.arrays import log
from bayesnb.core.deferred import dist, namespace, pytree
from bayesnb.core.logarithms import log_rising
from bayesnb.core.running import results_in_order
from bayesnb.families.family import Axes, Parameters, Sample, distributions
from bayesnb.families.hyperparameters import format_number
from bayesnb.families.joint_categorical import JointCategories
from bayesnb.families.needs import PairFrequencies, RowWeight
from bayesnb.families.spanning_trees import edge_probabilities, log_sum_over_trees, log_sums_near
from bayesnb.families.statistics import Statistics, clear_rounding

# --------------------------------------------------------------------------------------------------
# Values of all columns, concatenated: those of the first column, a value for missing, those of the second, ...
# --------------------------------------------------------------------------------------------------


def _starts(sizes: Sequence[int]) -> np.ndarray:
    """Places of the first value of each column, given the numbers of categories, and the number of all values."""
    return np.cumsum([0, *(size + 1 for size in sizes)])


@pytree
class _PairCounts(Statistics):
    """Weight of the rows that hold each pair of values.

    Attributes
    ----------
    n : array, shape (classes, 1)
        Weight of the rows.
    total : array, shape (classes, values, values)
        By pairs of the concatenated values of all columns; single values are on the diagonal.
    """

    n: Any
    total: Any

    def recoded(self, places: Sequence[np.ndarray], sizes: Sequence[int]) -> Self:
        *starts, number = _starts(sizes).tolist()
        moved = zip(places, sizes, starts, strict=True)
        at = np.concatenate([np.append(place, size) + start for place, size, start in moved])
        total = np.zeros((len(self.total), number, number))
        total[:, at[:, None], at] = self.total
        return replace(self, total=total)


# --------------------------------------------------------------------------------------------------
# Columns of categories, of which some depend on each other: the average over all trees
# --------------------------------------------------------------------------------------------------

GRAPH_CELLS = 2**19
"""Graph entries in memory at a time, in each thread."""


@pytree
class AllTrees(JointCategories):
    r"""Columns of categories that depend on each other along a tree, averaged over all trees exactly.

    Given a tree T of the columns, which all classes share,

    .. math:: p(x \mid y = c, T) = \prod_j p(x_j \mid c) \prod_{(j, k) \in T}
              \frac{p(x_j, x_k \mid c)}{p(x_j \mid c)\, p(x_k \mid c)} .

    The pairs of values have Dirichlet priors of the weight :math:`s / (n_j n_k)` for each pair, and :math:`s / n_j` for
    each single value, with :math:`n_j` values of column j. These are the likelihood-equivalent priors ("BDeu") of
    Heckerman, Geiger and Chickering (1995), *Machine Learning* 20(3), 197-243: how the tree is directed does not
    matter. All :math:`D^{D-2}` trees are equally probable beforehand. The posterior probability of a tree is
    proportional to the product of its edges' weights,

    .. math:: w_{jk} = \prod_c \frac{p(\text{columns } j, k \text{ of class } c)}
              {p(\text{column } j \text{ of class } c)\, p(\text{column } k \text{ of class } c)} ,

    ratios of evidences. Sums over all trees are determinants, so that the evidence and the predictive density
    are exact: Meila and Jaakkola (2006), *Statistics and Computing* 16(1), 77-92. A row multiplies each weight by
    :math:`r_{jk} = p(x_j, x_k \mid c) / (p(x_j \mid c)\, p(x_k \mid c))`, and its density is
    :math:`\prod_j p(x_j \mid c)\, Z(w r) / Z(w)` with Z the sum over all trees.

    A missing cell is a value of its column like the others, in the data and in predictions: what is missing may depend
    on the class and on other columns. Every column reserves a share of its prior for it.

    The tree couples the classes, so that only the closed form (`Exact`) and `Gibbs` fit the family. A draw of the
    parameters is a tree, the ``parent`` of each column, and ``prob`` of each value given the parent's value. The first
    column is the root, its own parent. A mean of trees is no tree: the posterior has draws, but no means, point
    estimates or summary of these columns.

    Parameters
    ----------
    concentration : float or array of shape (classes, 1), optional
        Weight of the prior of each column and each pair in rows, the number s. By default one row for each pair of
        categories: the square of the geometric mean of the numbers of categories, columns of one category not counted.
    categories : mapping from column name to sequence, or sequence, optional
        Values that may occur, as for `Categorical`: of each column, or of every column.
    other : bool, default False
        Reserve one more category in each column for every value that is not among its categories.
    num_bins : int, default 5
        Number of quantile bins of a column of numbers. An update keeps them.

    Raises
    ------
    ValueError
        If a concentration is not positive and finite, or `num_bins` is no whole number from 1.

    See Also
    --------
    JointCategorical : Every combination of the categories has a probability of its own.
    group_columns : Merge columns that depend on each other.

    Notes
    -----
    A prediction takes the time of a determinant, :math:`D^3 / 3` steps, for each row and class.

    Examples
    --------
    In one class the first two answers agree, in the other they differ.

    >>> import bayesnb as nb
    >>> agree = [["yes", "yes", "no"], ["no", "no", "no"], ["yes", "yes", "yes"], ["no", "no", "yes"]]
    >>> differ = [["yes", "no", "no"], ["no", "yes", "no"], ["no", "yes", "yes"], ["yes", "no", "yes"]]
    >>> model = nb.NaiveBayes({"answers": (nb.AllTrees(), [0, 1, 2])})
    >>> posterior = nb.fit(model, agree + differ, ["a"] * 4 + ["b"] * 4)
    >>> posterior.predict_proba([["yes", "yes", "no"]]).round(2)
    array([[0.84, 0.16]])
    >>> posterior.families[0].edge_probs().round(2)
    array([[0. , 1. , 0.5],
           [1. , 0. , 0.5],
           [0.5, 0.5, 0. ]])
    """

    other: bool = field(default=False, metadata={"static": True})
    num_bins: int = field(default=5, metadata={"static": True})
    counts: Any = field(default=None, repr=False)
    log_weights: Any = field(default=None, repr=False)
    sizes: tuple[int, ...] = field(default=(), repr=False, metadata={"static": True})
    # Whether the class axis holds the classes, whose draws share a tree, or one class for each row.
    together: bool = field(default=True, repr=False, metadata={"static": True})

    takes: ClassVar[tuple[str, ...]] = ("small types", "numbers in bins")

    def take(self, index: Any) -> Self:
        return replace(super().take(index), together=self.together and not isinstance(index, np.ndarray))

    def spread(self, num_classes: int, names: tuple, sizes: tuple[int, ...]) -> list[tuple[Any, Self]]:
        several = log([size for size in sizes if size > 1])
        default = np.exp(2 * several.mean()) if len(several) else 1.0
        values = sum(sizes) + len(sizes)
        spread = replace(
            self,
            concentration=self.concentration_by_class(default, num_classes, names, "the weight of the prior in rows"),
            counts=np.broadcast_to(0.0, (num_classes, values, values)),
            log_weights=np.broadcast_to(0.0, (num_classes, len(sizes), len(sizes))),
            sizes=tuple(sizes),
        )
        return [(range(len(names)), spread)]

    def given_dependence(self) -> Self:
        return self

    @property
    def _numbers(self) -> np.ndarray:
        """Number of values of each column, a missing cell among them."""
        return np.array(self.sizes, dtype=np.intp) + 1

    @property
    def _column(self) -> np.ndarray:
        """The column of each value."""
        return np.repeat(np.arange(len(self.sizes)), self._numbers)

    @property
    def _shares(self) -> np.ndarray:
        """The share of each value in the prior of its column."""
        return 1 / self._numbers[self._column]

    def _places(self, x: Any) -> Any:
        """Place of each cell's value, shape of the codes `x` (..., columns)."""
        xp, _ = namespace(x)
        return xp.where(xp.isnan(x), np.array(self.sizes), x).astype(int) + _starts(self.sizes)[:-1]

    def _of_values(self) -> tuple[Any, Any, Any]:
        """Dirichlet weights of the pairs (..., values, values), of the values (..., values), and their sum (..., 1)."""
        single = namespace(self.counts)[0].diagonal(self.counts, axis1=-2, axis2=-1)
        rows = single[..., : self._numbers[0]].sum(axis=-1, keepdims=True)
        return _pair_weights(self.concentration, self._shares, self.counts, rows)

    def _given(self, statistics: _PairCounts) -> tuple[Self, Any]:
        """The posterior, and the log evidence of each column, shape (..., classes, columns)."""
        pairs, values, rows = self._of_values()
        single = namespace(statistics.total)[0].diagonal(statistics.total, axis1=-2, axis2=-1)
        of_column, of_rows = np.eye(len(self.sizes))[self._column], log_rising(rows, statistics.n)
        of_columns = log_rising(values, single) @ of_column
        edges = _log_ratio(of_column.T @ log_rising(pairs, statistics.total) @ of_column, of_columns, of_rows)
        log_weights = self.log_weights + edges.sum(axis=-3, keepdims=True)
        after = replace(self, counts=self.counts + statistics.total, log_weights=log_weights)
        return after, of_columns - of_rows

    def update(self, statistics: _PairCounts) -> Self:
        return self._given(statistics)[0]

    def log_evidence(self, statistics: _PairCounts) -> Any:
        after, alone = self._given(statistics)
        of_trees = log_sum_over_trees(after.log_weights) - log_sum_over_trees(self.log_weights)
        # The evidence of the trees does not split by class: each class gets an equal part.
        return alone.sum(axis=-1, keepdims=True) + of_trees[..., None] / np.shape(self.counts)[-3]

    def needs(self) -> Any:
        return _PairCounts(RowWeight(), PairFrequencies(self._places, size=len(self._column)))

    def missing_as_values(self, statistics: _PairCounts) -> Any:
        return statistics.total.diagonal(axis1=-2, axis2=-1).sum(axis=0)[_starts(self.sizes)[1:] - 1]

    def possible(self, statistics: _PairCounts) -> Any:
        return (statistics.total >= 0).all(axis=(-2, -1))[:, None]

    def edge_probs(self) -> np.ndarray:
        """Probability that the tree has each edge, shape (columns, columns); of a posterior, given its data.

        Examples
        --------
        >>> import bayesnb as nb
        >>> model = nb.NaiveBayes({"all": (nb.AllTrees(), [0, 1])})
        >>> nb.fit(model, [["a", "b"], ["b", "a"]], [0, 1]).families[0].edge_probs()
        array([[0., 1.],
               [1., 0.]])
        """
        return edge_probabilities(self.log_weights[0])

    # The density of a row: that of its cells, and a factor for each edge.

    def log_tables(self) -> tuple[Any, Any]:
        """Log density of each value, (classes, values), and log factor of each pair, (classes, values, values)."""
        pairs, values, rows = map(namespace(self.counts)[0].log, self._of_values())
        return values - rows, _log_ratio(pairs, values, rows)

    def predictive_formula(self, x: Any) -> Any:
        places, log_weights = self._places(x), self.log_weights[0]
        alone, pairs = map(namespace(x)[0].asarray, self.log_tables())
        sums = log_sum_over_trees(log_weights + pairs[:, places[:, :, None], places[:, None, :]])
        return (alone[:, places].sum(axis=-1) + sums - log_sum_over_trees(log_weights)).T

    def predictive_kernel(self, x: Any, *, ratio: bool = False) -> Any:
        alone, pairs = self.log_tables()
        places, log_weights = self._places(x), self.log_weights[0]
        log_sum = log_sum_over_trees(log_weights)

        def of_piece(rows: slice) -> np.ndarray:
            at = places[rows]
            sums = log_sums_near(log_weights, pairs[:, at[:, :, None], at[:, None, :]])
            return (alone[:, at].sum(axis=-1) + sums - log_sum).T

        return _graphs_in_pieces(of_piece, len(x), log_weights.size * len(alone))

    def row_log_left_out(
        self, x: Any, codes: np.ndarray, weights: np.ndarray, statistics: _PairCounts, *, refitted: bool
    ) -> np.ndarray:
        after = self.update(statistics)
        (alone, pairs), places, near = after.log_tables(), self._places(x), after.log_weights[0]

        def of_piece(rows: slice) -> np.ndarray:
            at, own, weight = places[rows], codes[rows], weights[rows][:, None]
            one, other = at[:, :, None], at[:, None, :]
            counts, n = statistics.total[own[:, None, None], one, other], statistics.n[own]
            rest = clear_rounding(counts - weight[..., None], counts)
            others = np.maximum(rest, 0.0), np.maximum(clear_rounding(n - weight, n), 0.0)
            weights_of_others = _pair_weights(self.concentration[own], self._shares[at], *others)
            # The graph without the row, and the row under each class, of which its own changes.
            gained = _log_ratio(*map(log_rising, weights_of_others, (weight[..., None], weight, weight)))
            of_pairs, of_values, of_rows = map(np.log, weights_of_others)
            factors, cells, mine = pairs[:, one, other], alone[:, at], (own, np.arange(len(at)))
            factors[mine], cells[mine] = _log_ratio(of_pairs, of_values, of_rows), of_values - of_rows
            found = cells.sum(axis=-1) + log_sums_near(near, factors - gained) - log_sums_near(near, -gained)
            return np.where((rest < 0).any(axis=(1, 2)), -np.inf, found).T

        return _graphs_in_pieces(of_piece, len(x), after.log_weights.size)

    # Parameters: a tree, and the probabilities of each column's values given its parent's.

    def _by_parent(self, parent: np.ndarray, of_pairs: np.ndarray) -> np.ndarray:
        """Numbers of pairs by the value of a column's parent and its own.

        Values that a column does not have get zero, and the first column is the root. `parent` has shape (..., classes,
        columns), `of_pairs` (..., classes, values, values), and the result (..., classes, columns, values, values).
        """
        parent, value = np.asarray(parent).astype(np.intp), np.arange(self._numbers.max())
        there = value < self._numbers[:, None]
        place = _starts(self.sizes)[:-1, None] + np.where(there, value, 0)
        tables = of_pairs[..., place[:, :, None], place[:, None, None, :]]
        tables = np.where(there[:, :, None] & there[:, None, None, :], tables, 0.0)
        tables = np.broadcast_to(tables, (*parent.shape[:-1], *tables.shape[-4:]))
        cells = np.take_along_axis(tables, parent[..., None, None, None], axis=-3)[..., 0, :, :]
        cells[..., 0, :, :] = cells[..., 0, :, :].sum(axis=-2, keepdims=True) * (value == 0)[:, None]
        return cells

    def prior(self, sample: Sample) -> dict[str, Any]:
        parent = sample("parent", distributions.AnyTree(self.log_weights, together=self.together))
        numbers = self._numbers
        given = numbers[np.asarray(parent).astype(np.intp)]
        given[..., 0] = 1
        strength = (self.concentration / (numbers * given))[..., None, None]
        # A value that a column lacks gets no weight.
        there = (np.arange(numbers.max()) < numbers[:, None])[:, None]
        weights = np.where(there, strength + self._by_parent(parent, self.counts), 0.0)
        return {"parent": parent, "prob": sample("prob", dist.Dirichlet(weights, validate_args=False))}

    def likelihood(self, parent: Any, prob: Any) -> "dist.Distribution":
        return distributions.RowsOfTree(parent, prob, self.sizes)

    def likelihood_of_observed(self, observed: Any, **parameters: Any) -> "dist.Distribution":
        return distributions.RowsOfTree(parameters["parent"], parameters["prob"], self.sizes, observed)

    def log_likelihood(self, parameters: Parameters, statistics: _PairCounts) -> Any:
        parent, prob = (np.asarray(parameters[name]) for name in ("parent", "prob"))
        return xlogy(self._by_parent(parent, statistics.total), prob).sum(axis=(-3, -2, -1))[..., None]

    def axes(self, parameter: str, columns: tuple[Any, ...], categories: tuple[tuple[Any, ...], ...]) -> Axes:
        values = tuple(range(max(self.sizes) + 1))
        tables = (("parent_value", values), ("value", values)) if parameter == "prob" else ()
        return (("column", columns), *tables)

    def marginals(self) -> "dict[str, dist.Distribution]":
        raise NotImplementedError(
            "AllTrees has no means, marginals or summary of its parameters, because a mean of trees is no tree: take "
            "posterior.draws(), or the probabilities of the edges, edge_probs() of its family in posterior.families"
        )

    def story(self) -> tuple[str, list[str]]:
        # Within a model the default has a number.
        weight = "mean categories ** 2" if self.concentration is None else format_number(self.concentration)
        return "AllTrees(parent, prob)", ["parent ~ every tree alike", f"prob ~ Dirichlet({weight} / values)"]


def _log_ratio(of_pairs: Any, of_values: Any, of_rows: Any) -> Any:
    """Log of a ratio of pairs (..., n, n) to both values (..., n), each divided by that of rows (..., 1)."""
    alone = of_values - of_rows
    return of_pairs - of_rows[..., None] - alone[..., :, None] - alone[..., None, :]


def _graphs_in_pieces(of_piece: Callable[[slice], np.ndarray], num_rows: int, size: int) -> np.ndarray:
    """Results for all rows, in pieces whose graphs, with `size` numbers a row, fit in memory."""
    step = max(GRAPH_CELLS // size, 16)
    pieces = [slice(start, start + step) for start in range(0, max(num_rows, 1), step)]
    return np.concatenate(list(results_in_order(of_piece, pieces)))


def _pair_weights(strength: Any, shares: Any, of_pairs: Any, n: Any) -> tuple[Any, Any, Any]:
    """Weights of pairs (..., n, n), single values (..., n) and rows (..., 1) after counts of pairs, values diagonal."""
    single = namespace(of_pairs)[0].diagonal(of_pairs, axis1=-2, axis2=-1)
    pairs = strength[..., None] * (shares[..., :, None] * shares[..., None, :]) + of_pairs
    return pairs, strength * shares + single, strength + n
