"""Real numbers of any shape, in bins: histograms, and trees in which classes share what they have in common."""

from collections.abc import Callable
from dataclasses import field, replace
from functools import cache, partial
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.core.deferred import dist, namespace, pytree
from bayesnb.core.logarithms import log_beta
from bayesnb.families.bins import BinnedFamily, chosen_edges, default_bin_concentration, quantile_edges
from bayesnb.families.categories import Categorical, DirichletFamily
from bayesnb.families.family import MODE, Family, Hyperparameter, Sample, distributions
from bayesnb.families.hyperparameters import broadcast_hyperparameter, format_number, spread_over_categories
from bayesnb.families.statistics import Counts

# --------------------------------------------------------------------------------------------------
# Columns of real numbers of any shape: bins with a Dirichlet prior on their probabilities
# --------------------------------------------------------------------------------------------------


@pytree
class Histogram(DirichletFamily, BinnedFamily):
    r"""Columns of real numbers, uniform within bins; the bins' probabilities have a Dirichlet prior.

    .. math:: p(x \mid \theta) = \theta_k\, g_k(x) \text{ for } x \text{ in part } k, \qquad
              \theta_{cj\cdot} \sim \mathrm{Dirichlet}(\alpha, \dots, \alpha)

    The parts are the K bins between the edges :math:`e_0 < \dots < e_K` and a tail on each side. Within a bin,
    :math:`g_k(x) = 1 / (e_k - e_{k-1})`. At the distance d beyond the bins, :math:`g(x) = 3 s^3 / (s + d)^4` with s the
    width of the bin beside the tail. This is a Lomax (Pareto II) density of shape three, which has a variance. Every
    number has a positive density. With :math:`N_{cjk}` cells in part k, the posterior is
    :math:`\mathrm{Dirichlet}(\alpha + N_{cj\cdot})` and the predictive density
    :math:`g_k(x)\, (\alpha + N_{cjk}) / \sum_l (\alpha + N_{cjl})`: Murphy (2012), *Machine Learning: a Probabilistic
    Perspective*, Eqs. 3.41 and 3.51; Gelman et al. (2013), *Bayesian Data Analysis*, 3rd edition, section 23.1.

    It is a density per unit of the column, so that its evidence compares with that of `Gaussian`. The evidence of bins
    coded as `Categorical` does not.

    Without `edges`, a model takes them from the table that it is bound to, column by column and without the labels:

    - Bins have equal width, from half of the column's resolution below its smallest value to as much above its largest.
      The resolution is the smallest distance between two different values.
    - The extreme values on each side, a hundredth of the distinct ones and at least one, are left to the tails if they
      have few cells and the evidence is then higher.
    - Edges are whole steps of the resolution apart, half-way between the values of a lattice. No bin is narrower,
      because a narrower bin around one value would raise the evidence without limit.
    - The number of bins is `num_bins`, or the one of highest evidence among 5, 10, 20, 50 and 100.

    If the column has no negative number, the lower tail ends at zero. If the first bin reaches zero, there is none, and
    K + 1 parts. A millionth of the first part is below zero. Edges that you give have two open tails.

    A change of unit changes no prediction. Such edges are constants of the bound model: updates, `loo` and `kfold` keep
    them. The evidence is that of a model with these edges. Against a model whose numbers were fixed before the data, it
    is too high by log 10 nats at most for the choice among ten sets of edges, and by some nats for the ends of the
    range. Hypotheses about one column, such as one class against several, have the same edges and compare without this
    excess.

    Rows in pieces (`fit_batches`, `fit_parquet`, Dask) are first read to find edges. A column of more than 65,536
    different values may get others than in memory: neighbouring values are then joined.

    Parameters
    ----------
    edges : sequence of float, or mapping from column to sequence, optional
        Edges of the bins, strictly increasing, for all columns or for each. A bin holds its lower edge; the last one
        holds its upper edge, too. By default those that the table gives.
    concentration : float or array, optional
        Prior weight of each part, as for `Categorical`: one number, or one for each column (columns,) or class and
        column (classes, columns); for a single column also one for each part, tails at the ends. By default
        10 / (K + 2): all parts together weigh ten rows, whatever the number of bins. Below one, as for more than eight
        bins, `MAP` finds no mode while a part is empty.
    num_bins : int, optional
        Number of bins where `edges` is not given; fewer where the resolution of the column is coarser.

    Raises
    ------
    TypeError
        If `edges` holds something else than numbers.
    ValueError
        If `edges` are not finite and strictly increasing, there are fewer than two, `num_bins` is not a positive whole
        number or given beside `edges`, or a concentration is not positive and finite.

    See Also
    --------
    Gaussian : Numbers.
    choose_families : A family for each column, by the evidence.

    Notes
    -----
    Numerical domain: all weights, concentrations and finite cells, and bins that are not narrower than the spacing of
    float64 numbers there.

    A column with a value of its own, such as many zeros among measurements, has a probability there and no density:
    `Hurdle` of a histogram describes it.

    Examples
    --------
    >>> import bayesnb as nb
    >>> minutes, place = [[1.0], [1.5], [7.0], [9.0], [2.5], [8.5]], ["a", "a", "a", "a", "b", "b"]
    >>> posterior = nb.fit(nb.NaiveBayes(nb.Histogram([0, 2, 4, 6, 8, 10])), minutes, place)
    >>> posterior.predict_proba([[1.0], [3.0]]).round(3)
    array([[0.774, 0.226],
           [0.457, 0.543]])
    """

    concentration: Hyperparameter = None
    num_bins: int | None = field(default=None, metadata={"static": True})

    why_no_estimate: ClassVar[dict[str, str]] = Family.why_no_estimate | {
        MODE: "a part without cells whose concentration is below one: with nb.Histogram(concentration=1.0) a mode "
        "exists",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_num_bins(self.num_bins, self.edges)

    @classmethod
    def from_column(cls, x: Any, num_bins: int | None = None, concentration: float | None = None) -> Self:
        """The histogram of a column, or of a sample of it: its edges, as a model bound to the column would take them.

        Parameters
        ----------
        x : array, shape (rows,)
            Missing cells are NaN.
        num_bins : int, optional
            By default the one of the highest evidence.
        concentration : float, optional

        Raises
        ------
        TypeError
            If `x` holds something else than numbers.
        ValueError
            If `x` is not one column, or spans more than float64 holds.

        Examples
        --------
        >>> import bayesnb as nb
        >>> nb.Histogram.from_column([3.0, 1.0, 1.0, 2.0, 4.0, 1.0]).edges
        (0.5, 1.5, 2.5, 3.5, 4.5)
        """
        return cls._seen_in(x, num_bins=num_bins, concentration=concentration)

    def hyperparameters(self) -> dict[str, Any]:
        # The default follows the number of bins, and so needs no data.
        return {} if self.concentration is None else {"concentration": self.concentration}

    def chosen_edges(self, x: np.ndarray, weights: np.ndarray | None) -> tuple[float, ...]:
        one = float(self.concentration) if isinstance(self.concentration, int | float | np.number) else None
        return chosen_edges(x, self.num_bins, one, weights)

    def _with_bins(self, edges: Any, step: Any, from_zero: Any) -> Self:
        return replace(self, edges=edges, step=step, from_zero=from_zero, num_bins=None)

    def spread(self, num_classes: int, names: tuple, sizes: tuple[int, ...]) -> list[tuple[Any, Self]]:
        bins = self._bins_by_name(names)
        sizes = tuple(own.size for own in bins)
        given = self.hyperparameters() or {"concentration": [default_bin_concentration(size) for size in sizes]}
        found: list[tuple[Any, Self]] = []
        for columns, arrays in spread_over_categories(self, given, num_classes, names, sizes):
            for own in dict.fromkeys(bins[column] for column in columns):
                places = [place for place, column in enumerate(columns) if bins[column] == own]
                family = self._with_bins(own.edges, own.step, own.from_zero)
                family = replace(family, concentration=arrays["concentration"][:, places])
                found.append(([columns[place] for place in places], family))
        return found

    @property
    def _of_codes(self) -> Categorical:
        """The family of the part in which a cell lies."""
        return Categorical(self.concentration)

    def log_evidence(self, statistics: Counts) -> Any:
        return self._of_codes.log_evidence(statistics) + statistics.log_base

    def story(self) -> tuple[str, list[str]]:
        weight = "10 / parts" if self.concentration is None else format_number(self.concentration)
        bins = self._bins_told if self.num_bins is None else f"{self.num_bins} bins of the data"
        return f"Histogram(prob, {bins})", [f"prob ~ Dirichlet({weight})"]


def _check_num_bins(num_bins: Any, edges: Any) -> None:
    if num_bins is None:
        return
    if not isinstance(num_bins, int | np.integer) or isinstance(num_bins, bool) or num_bins < 1:
        raise ValueError(f"Histogram(num_bins={num_bins!r}): give a whole number of bins, 1 or more")
    if edges is not None and not (edges and isinstance(edges[0], tuple)):
        raise ValueError(f"Histogram(num_bins={num_bins}) has edges, too: leave one of them out")


# --------------------------------------------------------------------------------------------------
# A tree of halved runs of cells; below some nodes all classes share their probabilities.
#
# Each node of the tree is a run of cells with a left and a right half. It is *split by class* with a probability of
# its own: the share of the left half is then Beta(1, 1) in each class. Otherwise it is *common*: the shares of this
# node and of all nodes below it are those of one pooled tree, Beta(1, 1) each. Arrays of counts have the axes (...,
# classes, columns, cells), those of nodes (..., classes, columns, nodes).
# --------------------------------------------------------------------------------------------------

type Node = tuple[int, int, int]
"""The first cell of a node, the first cell of its right half, and the cell after its last one."""


@cache
def _nodes_of(num_cells: int, has_lower_tail: bool) -> tuple[Node, ...]:
    """The nodes of the tree over some cells, each before those below it; one fewer than cells.

    Without a lower tail, the tree is that with one, less the nodes of the tail.
    """

    def below(low: int, high: int) -> tuple[Node, ...]:
        middle = (low + high) // 2
        return ((low, middle, high), *below(low, middle), *below(middle, high)) if high - low > 1 else ()

    every = below(0 if has_lower_tail else -1, num_cells)
    return tuple((max(low, 0), middle, high) for low, middle, high in every if middle > 0)


def _halves(counts: Any, nodes: tuple[Node, ...]) -> tuple[Any, Any]:
    """Counts of the left and of the right half of each node, given those of the cells."""
    xp, _ = namespace(counts)
    before = xp.concatenate([xp.zeros_like(counts[..., :1]), xp.cumsum(counts, axis=-1)], axis=-1)
    low, middle, high = (before[..., places] for places in np.array(nodes).T)
    return middle - low, high - middle


def _log_weight(counts: Any, nodes: tuple[Node, ...]) -> Any:
    """Log probability of a sequence of cells with these counts, node by node: a beta-binomial of the two halves."""
    left, right = _halves(counts, nodes)
    return log_beta(1 + left, 1 + right)


def _log_evidence_of_split(split: Any, log_factor: Any, nodes: tuple[Node, ...]) -> tuple[Any, Any]:
    r"""The nodes summed over whether they are split by class, from the cells upwards.

    .. math:: \Phi = (1 - \rho) + \rho\, B\, \Phi_{left}\, \Phi_{right}

    `split` is the prior probability :math:`\rho` of a split, and `log_factor` the log Bayes factor B of shares by class
    against common ones, each of shape (..., nodes). The results are the posterior probability of a split of each node
    given that all nodes above it are split, shape (..., nodes), and log Phi of the root, shape (...).
    """
    xp, _ = namespace(split, log_factor)
    phi: dict[tuple[int, int], Any] = {}
    found = []
    with np.errstate(divide="ignore"):
        log_split, log_common = xp.log(split), xp.log1p(-split)
    for i, (low, middle, high) in reversed(tuple(enumerate(nodes))):
        below = phi.get((low, middle), 0.0) + phi.get((middle, high), 0.0)
        of_split = log_split[..., i] + log_factor[..., i] + below
        phi[low, high] = xp.logaddexp(log_common[..., i], of_split)
        found.append(xp.exp(of_split - phi[low, high]))
    return xp.stack(found[::-1], axis=-1), phi[0, nodes[0][2]]


def _down(nodes: tuple[Node, ...], start: tuple[Any, Any], halve: Callable[[int, Any, Any], Any]) -> list[Any]:
    """What every cell gets from the root on.

    `start` is what the root has while all nodes above are split, and below a common one. `halve` gives the pairs of the
    left and of the right half, given the number of the node and its pair.
    """
    num_cells = nodes[0][2]
    pairs = {(0, num_cells): start}
    for i, (low, middle, high) in enumerate(nodes):
        pairs[low, middle], pairs[middle, high] = halve(i, *pairs.pop((low, high)))
    return [sum(pairs[cell, cell + 1]) for cell in range(num_cells)]


def _cell_moment(own: Any, pooled: Any, split: Any, nodes: tuple[Node, ...], power: int) -> Any:
    """Mean of a power (1 or 2) of each cell's probability in each class, shape (..., cells).

    `own` and `pooled` are the counts of the class and of all classes together, shape (..., cells). `split` is the
    probability that a node is split given that all nodes above it are, shape (..., nodes).
    """

    def moments(counts: Any) -> tuple[Any, Any]:
        """Moments of the left and of the right half's share."""
        halves = _halves(counts, nodes)
        total = halves[0] + halves[1] + 2
        left, right = ((1 + half) / total * (1.0 if power == 1 else (2 + half) / (total + 1)) for half in halves)
        return left, right

    of_class, of_all = moments(own), moments(pooled)

    def halve(i: int, own_mass: Any, common: Any) -> Any:
        common = common + own_mass * (1 - split[..., i])
        own_mass = own_mass * split[..., i]
        return tuple((own_mass * of_class[side][..., i], common * of_all[side][..., i]) for side in (0, 1))

    return namespace(own)[0].stack(_down(nodes, (1.0, 0.0), halve), axis=-1)


def draw_tree_cells(tree: Any, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Draws of the probabilities, shape (*shape, cells), from the root downwards."""
    family = tree.family
    own, pooled, split = (np.asarray(array) for array in (family.counts, family.pooled, family.split))
    of_all, common_shape = _halves(pooled, tree.nodes), shape
    if family.together:
        of_all, split = tuple(half[..., :1, :, :] for half in of_all), split[..., :1, :, :]
        common_shape = (*shape[:-2], 1, shape[-1])
    of_class = _halves(own, tree.nodes)

    def halve(i: int, own_mass: Any, common: Any) -> Any:
        is_split = rng.uniform(size=common_shape) < split[..., i]
        mine = rng.beta(1 + of_class[0][..., i], 1 + of_class[1][..., i], shape)
        ours = rng.beta(1 + of_all[0][..., i], 1 + of_all[1][..., i], common_shape)
        common, own_mass = common + np.where(is_split, 0.0, own_mass), np.where(is_split, own_mass, 0.0)
        return (own_mass * mine, common * ours), (own_mass * (1 - mine), common * (1 - ours))

    return np.stack(_down(tree.nodes, (np.ones(shape), np.zeros(shape)), halve), axis=-1)


# --------------------------------------------------------------------------------------------------
# Real numbers with a density of any shape: a tree of cells, in which classes share what they have in common
# --------------------------------------------------------------------------------------------------


# The package reads the shape of the parameters off a family's first array.
@pytree(first=["counts", "pooled"])
class PolyaTree(BinnedFamily):
    r"""Columns of real numbers of any shape, in cells whose probabilities differ by class only where the data say so.

    The cells are halved, and their halves again, down to single cells. Each such node of the tree is *split by class*
    with probability :math:`\rho`: the share of its left half is then Beta(1, 1) in each class, independently. With
    probability :math:`1 - \rho` it is *common*: below it, all classes have the same shares, Beta(1, 1) at each node.
    With :math:`n_{c,l}, n_{c,r}` cells of class c in the halves of a node, the evidence of all these partitions
    together is one sum from the cells upwards,

    .. math::
        \Phi = 1 - \rho + \rho\, B\, \Phi_l\, \Phi_r, \qquad
        B = \prod_c B(1 + n_{c,l}, 1 + n_{c,r}) \Big/ B\Big(1 + \sum_c n_{c,l}, 1 + \sum_c n_{c,r}\Big),

    times the evidence of one tree for all classes together. It is a coupled optional Polya tree: Ma and Wong (2011),
    *Journal of the American Statistical Association* 106(496), 1553-1565. The posterior is a tree of the same kind,
    with the counts added and other probabilities of a split.

    What all classes have in common, such as ages that are rounded to five, cancels in class probabilities and in
    `feature_evidence`, however fine it is. `Histogram` learns it anew in each class.

    Without `edges`, a model takes them from the table that it is bound to, column by column and without the labels. A
    value of more than four rows and of more than 1 / 32 of them has a cell of its own, as wide as the column's
    resolution, the smallest distance of two different values. The other rows are in at most 32 cells of about as many
    rows each. Such edges are constants of the bound model: updates, `loo` and `kfold` keep them. Within a cell, and in
    the tails beyond all cells, the density is that of `Histogram`.

    The prior couples the classes and has no density, so that only the closed form (`Exact`) and `Gibbs` fit it. Draws
    of the parameters are exact.

    Parameters
    ----------
    edges : sequence of float, or mapping from column to sequence, optional
        Edges of the cells, strictly increasing, for all columns or for each. By default those that the table gives.
    split : float or array, default 0.5
        Prior probability that a node is split by class; one for each column (columns,).

    Raises
    ------
    TypeError
        If `edges` holds something else than numbers.
    ValueError
        If `edges` are not finite and strictly increasing, there are fewer than two, or `split` is not above zero and at
        most one.

    See Also
    --------
    Histogram : Bins with probabilities of their own in each class.
    choose_families : A family for each column, by the evidence.

    Notes
    -----
    Intervals of `summary` are those of a beta distribution with the exact mean and standard deviation.

    Examples
    --------
    Ages that people round to five years; one class is ten years older.

    >>> import numpy as np
    >>> import bayesnb as nb
    >>> rng = np.random.default_rng(0)
    >>> older = rng.integers(0, 2, 400)
    >>> age = np.rint(rng.normal(40 + 10 * older, 12))
    >>> age = np.where(rng.random(400) < 0.4, 5 * np.rint(age / 5), age)
    >>> posterior = nb.fit(nb.PolyaTree(), age[:, None], older)
    >>> posterior.predict_proba([[29], [30], [31], [60]])[:, 1].round(2)
    array([0.19, 0.19, 0.19, 0.84])
    """

    split: Hyperparameter = 0.5
    counts: Any = field(default=None, repr=False)
    pooled: Any = field(default=None, repr=False)
    # Whether the class axis holds the classes, whose draws share the common nodes, or one class for each row.
    together: bool = field(default=True, repr=False, metadata={"static": True})

    positive: ClassVar[tuple[str, ...]] = ("split",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.split, int | float) and self.split > 1:
            raise ValueError(f"PolyaTree(split={self.split}): give a probability above 0 and at most 1")

    @classmethod
    def from_column(cls, x: Any) -> Self:
        """The family with the edges of a column, or of a sample of it, as a model bound to the column would take them.

        Parameters
        ----------
        x : array, shape (rows,)
            Missing cells are NaN.

        Raises
        ------
        TypeError
            If `x` holds something else than numbers.
        ValueError
            If `x` is not one column, or spans more than float64 holds.

        Examples
        --------
        >>> import bayesnb as nb
        >>> nb.PolyaTree.from_column([3.0, 1.0, 1.0, 2.0, 4.0, 1.0]).edges
        (0.5, 1.5, 2.5, 3.5, 4.5)
        """
        return cls._seen_in(x)

    def chosen_edges(self, x: np.ndarray, weights: np.ndarray | None) -> tuple[float, ...]:
        return quantile_edges(x, weights)

    def hyperparameters(self) -> dict[str, Any]:
        rows = {} if self.counts is None else {"counts": self.counts, "pooled": self.pooled}
        return {"split": self.split} | rows

    def take(self, index: Any) -> Self:
        # Taken by an array of codes, the class axis holds a class for each row, and no longer the classes of a draw.
        return replace(super().take(index), together=self.together and not isinstance(index, np.ndarray))

    def spread(self, num_classes: int, names: tuple, sizes: tuple[int, ...]) -> list[tuple[Any, Self]]:
        bins = self._bins_by_name(names)
        split = np.asarray(self.split, dtype=np.float64)
        if split.ndim < 3:
            split = broadcast_hyperparameter(self, "split", split, (num_classes, len(names)))[..., None]
        found: list[tuple[Any, Self]] = []
        for own in dict.fromkeys(bins):
            columns = [column for column, other in enumerate(bins) if other == own]
            none = np.zeros((num_classes, len(columns), own.size))
            prob = np.broadcast_to(split[:, columns], (*none.shape[:-1], own.size - 1))
            family = self._with_bins(own.edges, own.step, own.from_zero)
            found.append((columns, replace(family, split=prob, counts=none, pooled=none)))
        return found

    def given_dependence(self) -> Self:
        xp, _ = namespace(self.split)
        return replace(self, split=xp.concatenate([xp.ones_like(self.split[..., :1]), self.split[..., 1:]], axis=-1))

    @property
    def _nodes(self) -> tuple[Node, ...]:
        return _nodes_of(self._bins.size, self._bins.has_lower_tail)

    def _moment(self, power: int) -> Any:
        return _cell_moment(self.counts, self.pooled, self.split, self._nodes, power)

    @property
    def _of_codes(self) -> Categorical:
        return Categorical(1 + self.counts)

    @property
    def _of_new_codes(self) -> Categorical:
        return Categorical(self._moment(1))

    def prior(self, sample: Sample) -> dict[str, Any]:
        return {"prob": sample("prob", distributions.CoupledTree(self, self._nodes, partial(self._moment, 1)))}

    def marginals(self) -> "dict[str, dist.Distribution]":
        mean, square = self._moment(1), self._moment(2)
        weight = (mean - square) / (square - mean**2)
        return {"prob": distributions.BetaOfLogs(mean * weight, (1 - mean) * weight, validate_args=False)}

    def update(self, statistics: Counts) -> Self:
        return self._given(statistics)[0]

    def log_evidence(self, statistics: Counts) -> Any:
        of_codes = self._given(statistics)[1]
        # The evidence does not split by class: each class gets an equal part.
        return of_codes[..., None, :] / np.shape(self.counts)[-3] + statistics.log_base

    def _given(self, statistics: Counts) -> tuple[Self, Any]:
        """The posterior, and the log probability of the rows' cells, shape (..., columns)."""
        counts = self.counts + statistics.total
        pooled = self.pooled + statistics.total.sum(axis=-3, keepdims=True)
        of_classes = (_log_weight(counts, self._nodes) - _log_weight(self.counts, self._nodes)).sum(axis=-3)
        of_all = (_log_weight(pooled, self._nodes) - _log_weight(self.pooled, self._nodes))[..., 0, :, :]
        prior = self.split[..., 0, :, :]
        split, log_phi = _log_evidence_of_split(prior, of_classes - of_all, self._nodes)
        xp, _ = namespace(split)
        split = xp.broadcast_to(split[..., None, :, :], (*np.shape(counts)[:-1], len(self._nodes)))
        posterior = replace(self, split=split, counts=counts, pooled=pooled)
        return posterior, of_all.sum(axis=-1) + log_phi

    def power_scaled(self, statistics: Counts, power: float) -> dict[str, Any]:
        # Given which nodes are split, the prior density of the shares is constant.
        split, common = self.split**power, (1 - self.split) ** power
        return replace(self, split=split / (split + common)).update(statistics).hyperparameters()

    def row_log_left_out(
        self, x: np.ndarray, codes: np.ndarray, weights: np.ndarray, statistics: Counts, *, refitted: bool
    ) -> np.ndarray | None:
        if not refitted or (weights != 1).any():
            return None
        cells = self._bins.codes(x)
        total = statistics.total
        num_classes, num_columns = np.shape(total)[:2]
        found = np.repeat(self._in_rows(x), num_classes, axis=1)
        # Rows of one class and cell have one answer. Without such a row, that of a cell that has none is not a number.
        for j, c in np.ndindex(num_columns, num_classes):
            rows = np.flatnonzero((codes == c) & ~np.isnan(cells[:, j]))
            which, place = np.unique(cells[rows, j].astype(np.intp), return_inverse=True)
            rest = np.repeat(total[None, :, j : j + 1], len(which), axis=0)
            rest[np.arange(len(which)), c, 0, which] -= 1
            alone = self.take((slice(None), slice(j, j + 1)))
            after = alone.update(replace(statistics, total=rest))
            density = np.log(after.mean()["prob"][..., 0, :])
            answers = density[np.arange(len(which)), :, which]
            answers[(rest < 0).any(axis=(1, 2, 3))] = np.nan
            found[rows] += answers[place]
        return found

    def story(self) -> tuple[str, list[str]]:
        return f"PolyaTree(prob, {self._bins_told})", [
            f"prob ~ halves of halves of the bins, each split by class with probability {format_number(self.split)}"
        ]
