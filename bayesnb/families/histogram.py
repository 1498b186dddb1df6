"""Families of numbers in bins."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import jax
import numpy as np
import numpyro.distributions as dist

from bayesnb.core.arrays import namespace
from bayesnb.families.base import MODE, Family, Hyperparameter, Parameters
from bayesnb.families.bins import Binned, Bins, chosen_edges, default_concentration, lattice
from bayesnb.families.categories import Categorical, DirichletFamily
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.hyperparameters import format_number, spread_over_categories
from bayesnb.families.statistics import Counts, class_sums

# --------------------------------------------------------------------------------------------------
# Families of real numbers in bins: the probabilities of the bins, and a density within each that all classes share
# --------------------------------------------------------------------------------------------------


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BinnedFamily(ConjugateFamily):
    """Which part of the real line holds a cell is a category; within the part, all classes have one density.

    A subclass states `chosen_edges` and `_of_codes`, and has a parameter ``prob``, the probabilities of the parts.
    """

    edges: Any = field(default=None, metadata={"static": True})
    # By column the step of the lattice on which its values lie, which draws keep to; zero for none.
    step: Any = field(default=0.0, repr=False, kw_only=True, metadata={"static": True})

    by_column: ClassVar[bool] = True
    hint: ClassVar[str] = "mark the cell as missing (NaN) or clip it"

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", _read_edges(self.family_name, self.edges))
        super().__post_init__()

    @classmethod
    def _seen_in(cls, x: Any, **prior: Any) -> Self:
        """The family with the edges of a column, or of a sample of it, shape (rows,)."""
        try:
            cells = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError("x holds something else than numbers: give numbers, missing cells as NaN") from None
        if cells.ndim != 1:
            raise ValueError(f"x has shape {cells.shape}: give one column, (rows,)")
        family = cls(**prior)
        return family._with_edges(family.chosen_edges(cells, None), lattice(cells))

    def _with_edges(self, edges: Any, step: Any) -> Self:
        """The family with edges, and without what they followed from."""
        return replace(self, edges=edges, step=step)

    @abstractmethod
    def chosen_edges(self, x: np.ndarray, weights: np.ndarray | None) -> tuple[float, ...]:
        """Edges for the cells of a column, shape (rows,), missing ones NaN; `weights` as for `having_seen`."""

    @property
    @abstractmethod
    def _of_codes(self) -> Categorical:
        """The family of which part holds a cell, of the arrays' shapes."""

    @property
    def _of_new_codes(self) -> Categorical:
        """The family that predicts which part holds a new cell."""
        return self._of_codes

    def must_see(self, column: Any) -> tuple[str, ...]:
        return ("edges",) if self._edges_of(column) is None else ()

    def having_seen(self, cells: Mapping[Any, np.ndarray], weights: np.ndarray | None = None) -> Self:
        known, steps = dict(self.edges or ()), dict(self.step or ())
        for column, x in cells.items():
            try:
                known[column] = self.chosen_edges(x, weights)
            except ValueError as error:
                raise ValueError(f"column {column!r}: {error}") from None
            steps[column] = lattice(x)
        return self._with_edges(tuple(known.items()), tuple(steps.items()))

    def _edges_of(self, column: Any) -> tuple[float, ...] | None:
        if self.edges is None or not isinstance(self.edges[0], tuple):
            return self.edges
        return dict(self.edges).get(column)

    def _known_edges_of(self, column: Any) -> tuple[float, ...]:
        edges = self._edges_of(column)
        if edges is None:
            raise ValueError(
                f"column {column!r}: {self.family_name}() has no edges yet, and there is no table to take them from: "
                f"give nb.{self.family_name}(edges) or nb.{self.family_name}.from_column(x), or bind the model to a "
                "table, model.bind(X, y)"
            )
        return edges

    def _bins_by_name(self, names: tuple) -> list[Bins]:
        """Bins of each column of a block.

        Raises
        ------
        ValueError
            If a column has none, or edges are given for another column.
        """
        if self.edges is not None and isinstance(self.edges[0], tuple):
            for column in dict(self.edges):
                if column not in names:
                    raise ValueError(
                        f"{self.family_name}(edges=...) names the column {column!r}, and its columns are "
                        f"{list(names)}: name one of these, or leave it out"
                    )
        steps = dict(self.step) if isinstance(self.step, tuple) else dict.fromkeys(names, self.step)
        return [Bins(self._known_edges_of(name), steps.get(name, 0.0)) for name in names]

    def axes(
        self, parameter: str, columns: tuple[Any, ...], categories: tuple[tuple[Any, ...], ...]
    ) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        return ("column", columns), ("bin", self._bins.labels)

    @property
    def _bins(self) -> Bins:
        return Bins(self.edges, self.step)

    def _in_rows(self, x: Any) -> Any:
        """Log density of the rows' cells within their parts, shape (rows, 1)."""
        return self._bins.log_density(x).sum(axis=-1)[:, None]

    def likelihood(self, prob: Any) -> dist.Distribution:
        return Binned(prob, self._bins)

    def statistics(self, x: Any, membership: Any) -> Counts:
        counted = self._of_codes.statistics(self._bins.codes(x), membership)
        return replace(counted, log_base=class_sums(self._bins.log_density(x), membership))

    def possible(self, statistics: Counts) -> Any:
        return self._of_codes.possible(statistics)

    def log_likelihood(self, parameters: Parameters, statistics: Counts) -> Any:
        return self._of_codes.log_likelihood(parameters, statistics)

    def cell_log_predictive(self, x: Any) -> Any:
        xp, _ = namespace(x)
        x = xp.asarray(x)
        return self._of_new_codes.cell_log_predictive(self._bins.codes(x)) + self._bins.log_density(x)

    def densities_of_rows(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        of_codes = self._of_codes.densities_of_rows(parameters, self._bins.codes(x))
        within = None if ratio else self._in_rows(x)
        return lambda rows: of_codes(rows) if within is None else of_codes(rows) + within[rows]

    def row_log_predictive(self, x: Any, *, ratio: bool = False) -> Any:
        of_codes = self._of_new_codes.row_log_predictive(self._bins.codes(x))
        return of_codes if ratio else of_codes + self._in_rows(x)

    def maximum_likelihood(self, statistics: Counts) -> dict[str, Any]:
        return self._of_codes.maximum_likelihood(statistics)

    def mean(self) -> dict[str, Any]:
        return self._of_new_codes.mean()

    def mutual_information(self, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
        # Within a part all classes have the same density, so that only the part informs.
        return self._of_codes.mutual_information(class_prob, parameters)

    def information_by_chance(self, weight: np.ndarray, statistics: Counts) -> tuple[np.ndarray, np.ndarray]:
        return self._of_codes.information_by_chance(weight, statistics)

    @property
    def _bins_told(self) -> str:
        """The bins, as `story` tells them."""
        if self.edges is None:
            return "bins of the data"
        if isinstance(self.edges[0], tuple):
            return "bins of each column"
        return f"{len(self.edges) - 1} bins from {self.edges[0]:.4g} to {self.edges[-1]:.4g}"


def steps(family: Family) -> tuple[float, ...]:
    """Edges between which the density is constant, of a hurdle that of the other cells; none if it is smooth."""
    inner = getattr(family, "family", family)
    return inner.edges if isinstance(inner, BinnedFamily) else ()


def _read_edges(family: str, edges: Any) -> Any:
    """Edges as a tuple; those of each column as a tuple of (column, edges)."""
    if edges is None:
        return None
    if isinstance(edges, Mapping):
        edges = tuple(edges.items())
    entries = tuple(edges) if not isinstance(edges, tuple) else edges
    if entries and all(isinstance(entry, tuple) and len(entry) == 2 for entry in entries):
        return tuple((column, _numbers(family, own, f" of column {column!r}")) for column, own in entries)
    return _numbers(family, entries, "")


def _numbers(family: str, edges: Any, where: str) -> tuple[float, ...]:
    try:
        numbers = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{family}(edges={edges!r}){where}: give numbers") from None
    if numbers.ndim != 1 or len(numbers) < 2:
        raise ValueError(f"{family}(edges={edges!r}){where}: give at least two edges, one bin between them")
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise ValueError(
            f"the edge {numbers[wrong[0]]} of {family}(edges=...){where} is not finite: leave it out, the tails hold "
            "all numbers beyond the edges"
        )
    wrong = np.flatnonzero(np.diff(numbers) <= 0)
    if len(wrong):
        before, after = numbers[wrong[0]], numbers[wrong[0] + 1]
        raise ValueError(
            f"the edges {before:g} and {after:g} of {family}(edges=...){where} do not increase: sort the edges and "
            "give each once, np.unique(edges)"
        )
    return tuple(numbers.tolist())


# --------------------------------------------------------------------------------------------------
# Columns of real numbers of any shape: bins with a Dirichlet prior on their probabilities
# --------------------------------------------------------------------------------------------------


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Histogram(DirichletFamily, BinnedFamily):
    r"""Columns of real numbers, uniform within bins; the bins' probabilities have a Dirichlet prior.

    .. math:: p(x \mid \theta) = \theta_k\, g_k(x) \text{ for } x \text{ in part } k, \qquad
              \theta_{cj\cdot} \sim \mathrm{Dirichlet}(\alpha, \dots, \alpha)

    The parts are the K bins between the edges :math:`e_0 < \dots < e_K` and a tail on each side. Within a bin,
    :math:`g_k(x) = 1 / (e_k - e_{k-1})`. At the distance d beyond the bins, :math:`g(x) = s / (s + d)^2` with s the
    width of the bin beside the tail. This is a Lomax (Pareto II) density of shape one. Half of its mass is within that
    width, and every number has a positive density. With :math:`N_{cjk}` cells in part k, the posterior is
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

    A change of unit changes no prediction. Such edges are constants of the bound model: updates, `loo` and `kfold` keep
    them. The evidence is that of a model with these edges. Against a model whose numbers were fixed before the data, it
    is too high by log 10 nats at most for the choice among ten sets of edges, and by some nats for the ends of the
    range. Hypotheses about one column, such as one class against several, have the same edges and compare without this
    excess.

    Rows in pieces (`fit_batches`, `fit_parquet`, Dask) are not seen before they are counted: give `edges`, from a
    sample for example (`from_column`), or bind the model to a table in memory first.

    Parameters
    ----------
    edges : sequence of float, or mapping from column to sequence, optional
        Edges of the bins, strictly increasing, for all columns or for each. A bin holds its lower edge; the last one
        holds its upper edge, too. By default those that the table gives.
    concentration : float or array, optional
        Prior weight of each part, as for `Categorical`: one number, or one for each column (columns,) or class and
        column (classes, columns); for a single column also one for each part, K + 2 of them, tails at the ends. By
        default 10 / (K + 2): all parts together weigh ten rows, whatever the number of bins. Below one, as for more
        than eight bins, `MAP` finds no mode while a part is empty.
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
        return chosen_edges(x, self.num_bins, _one_number(self.concentration), weights)

    def _with_edges(self, edges: Any, step: Any) -> Self:
        return replace(self, edges=edges, step=step, num_bins=None)

    def spread(self, num_classes: int, names: tuple, sizes: tuple[int, ...]) -> list[tuple[Any, Self]]:
        bins = self._bins_by_name(names)
        sizes = tuple(own.size for own in bins)
        given = self.hyperparameters() or {"concentration": [default_concentration(size) for size in sizes]}
        found: list[tuple[Any, Self]] = []
        for columns, arrays in spread_over_categories(self, given, num_classes, names, sizes):
            for own in dict.fromkeys(bins[column] for column in columns):
                places = [place for place, column in enumerate(columns) if bins[column] == own]
                family = self._with_edges(own.edges, own.step)
                family = replace(family, concentration=arrays["concentration"][:, places])
                found.append(([columns[place] for place in places], family))
        return found

    @property
    def _of_codes(self) -> Categorical:
        """The family of which part holds a cell."""
        return Categorical(self.concentration)

    def log_evidence(self, statistics: Counts) -> Any:
        return self._of_codes.log_evidence(statistics) + statistics.log_base

    def row_log_left_out(
        self, x: Any, codes: np.ndarray, weights: np.ndarray, statistics: Counts, *, refitted: bool
    ) -> np.ndarray | None:
        cells = self._bins.codes(x)
        found = self._of_codes.row_log_left_out(cells, codes, weights, statistics, refitted=refitted)
        return None if found is None else found + self._in_rows(x)[:, 0]

    def story(self) -> tuple[str, list[str]]:
        weight = "10 / parts" if self.concentration is None else format_number(self.concentration)
        bins = self._bins_told if self.num_bins is None else f"{self.num_bins} bins of the data"
        return f"Histogram(prob, {bins})", [f"prob ~ Dirichlet({weight})"]


def _one_number(concentration: Any) -> float | None:
    """The concentration if it is one number, else None; it only chooses a number of bins."""
    return float(concentration) if isinstance(concentration, int | float | np.number) else None


def _check_num_bins(num_bins: Any, edges: Any) -> None:
    if num_bins is None:
        return
    if not isinstance(num_bins, int | np.integer) or isinstance(num_bins, bool) or num_bins < 1:
        raise ValueError(f"Histogram(num_bins={num_bins!r}): give a whole number of bins, 1 or more")
    if edges is not None and not (edges and isinstance(edges[0], tuple)):
        raise ValueError(f"Histogram(num_bins={num_bins}) has edges, too: leave one of them out")
