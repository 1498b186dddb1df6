"""Bins of numbers, their edges, and what families of numbers in bins share."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.core.arrays import weighted_values
from bayesnb.core.deferred import dist, namespace, pytree
from bayesnb.families.categories import Categorical, dirichlet_log_evidence
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import Axes, Family, Parameters, distributions
from bayesnb.families.needs import Afterwards, Sums, needs_of_formula
from bayesnb.families.statistics import Counts

# --------------------------------------------------------------------------------------------------
# Bins of real numbers with an open tail on each side: the part of a number, and the density within it
# --------------------------------------------------------------------------------------------------


TAIL_SHAPE = 3.0
"""Shape of the Lomax densities of the tails; above two, so that they have a variance."""

BELOW_ZERO = 1e-6
"""Share of the first part that is below zero where the column has no negative number."""

QUANTILES = 1000
"""Even quantiles of a part that give its mean and its variance."""


@dataclass(frozen=True)
class Bins:
    """The parts of the real line: the tail below the bins, the bins in order, and the tail above.

    Within a bin the density is uniform. In a tail it is Lomax (Pareto II) of shape three: 3 s³ / (s + d)⁴ at the
    distance d from the bins, with s the width of the bin beside it. In a column that starts at zero the lower tail ends
    there, and is no part where the first bin reaches zero. A millionth of the first part is the tail below, so that
    every number has a density.

    Attributes
    ----------
    edges : tuple of float
        Strictly increasing.
    step : float
        Distance of the values of a lattice, on which draws lie; zero for none. The first edge is half a step from it.
    from_zero : bool
        Whether the column has no negative number.
    """

    edges: tuple[float, ...]
    step: float = 0.0
    from_zero: bool = False

    @property
    def size(self) -> int:
        """Number of parts: the bins and the tails."""
        return len(self.edges) + self.has_lower_tail

    @property
    def has_lower_tail(self) -> bool:
        """Whether numbers below the bins have a part of their own; else they are in the first bin."""
        return not self.from_zero or self.edges[0] > self.step / 4

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Each part as an interval."""
        return names_of_bins(self.edges)[not self.has_lower_tail :]

    @cached_property
    def widths(self) -> np.ndarray:
        """Width of each part, shape (size,); of a tail that of the bin beside it."""
        inner = np.diff(self.edges)
        return np.concatenate([inner[:1], inner, inner[-1:]])[not self.has_lower_tail :]

    @cached_property
    def _share(self) -> float:
        """Share of an open lower tail that the lower tail holds."""
        ends = self.from_zero and self.has_lower_tail
        return float(-np.expm1(-TAIL_SHAPE * np.log1p(self.edges[0] / float(self.widths[0])))) if ends else 1.0

    @cached_property
    def log_height(self) -> np.ndarray:
        """Log density of each part beside or within the bins, shape (size,)."""
        height = -np.log(self.widths)
        for tail in [0, -1][not self.has_lower_tail :]:
            height[tail] += np.log(TAIL_SHAPE)
        height[0] += np.log1p(-BELOW_ZERO) * self.from_zero - np.log(self._share)
        return height

    def codes(self, x: Any) -> Any:
        """Position of the part that holds each number, in float64; NaN for NaN. The last bin holds its upper edge."""
        xp, _ = namespace(x)
        edges = xp.asarray(self.edges[not self.has_lower_tail :], dtype=np.float64)
        found = xp.searchsorted(edges, x.astype(np.float64), side="right")
        found = xp.where(x == self.edges[-1], self.size - 2, found)
        return xp.where(xp.isnan(x), np.nan, found.astype(np.float64))

    def log_density(self, x: Any, codes: Any = None) -> Any:
        """Log density of each number within its part, zero for NaN; with the codes where they are known."""
        xp, _ = namespace(x)
        codes = self.codes(x) if codes is None else codes
        missing = xp.isnan(codes)
        places = xp.where(missing, 0, codes).astype(int)
        return xp.where(missing, 0.0, xp.asarray(self.log_height)[places] + self.log_fall(x))

    def log_fall(self, x: Any) -> Any:
        """Log density of each number less that of its part beside or within the bins; zero within them."""
        xp, _ = namespace(x)
        x, lowest = x.astype(np.float64), self.edges[0]
        beyond = xp.maximum(xp.maximum(lowest - x, x - self.edges[-1]), 0.0)
        below_zero = 0.0
        if self.from_zero:
            low = 0.0 if self.has_lower_tail else lowest
            beyond = xp.where(x < low, low - x, beyond)
            drop = np.log(BELOW_ZERO * TAIL_SHAPE) - np.log(self.widths[0]) - self.log_height[0]
            below_zero = xp.where(x < low, drop, 0.0)
        width = xp.where(x < lowest, self.widths[0], self.widths[-1])
        # The difference of logarithms is accurate near both ends of float64.
        return below_zero + (TAIL_SHAPE + 1) * (xp.log(width) - xp.log(width + beyond))

    def draws(self, codes: Any, uniform: Any) -> Any:
        """Numbers of the parts with these codes, where `uniform` is uniform between zero and one.

        In a column that starts at zero no number is negative, not even by half of the resolution.
        """
        xp, _ = namespace(codes, uniform)
        edges = np.array([self.edges[0], *self.edges])[not self.has_lower_tail :]
        start, width = xp.asarray(edges)[codes], xp.asarray(self.widths)[codes]
        is_lower, is_upper = (codes == 0) & self.has_lower_tail, codes == self.size - 1
        beyond = uniform * xp.where(is_lower, self._share, 1.0)
        tail = width * xp.expm1(-xp.log1p(-beyond) / TAIL_SHAPE)
        x = start + xp.where(is_lower, -tail, xp.where(is_upper, tail, width * uniform))
        if self.step:
            x = self.edges[0] + self.step * (xp.floor((x - self.edges[0]) / self.step) + 0.5)
        return xp.maximum(x, 0.0) if self.from_zero else x

    @cached_property
    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance within each part, shape (size,) each.

        Those of an open tail are in closed form, and the others the moments of even quantiles.
        """
        x = self.draws(np.arange(self.size)[:, None], (np.arange(QUANTILES) + 0.5) / QUANTILES)
        mean, variance = x.mean(axis=1), x.var(axis=1)
        for tail, sign in ((-1, 1), (0, -1))[: 1 if self.from_zero else 2]:
            mean[tail] = self.edges[tail] + sign * self.widths[tail] / (TAIL_SHAPE - 1)
            variance[tail] = TAIL_SHAPE * (self.widths[tail] / (TAIL_SHAPE - 1)) ** 2 / (TAIL_SHAPE - 2)
        return mean, variance


def names_of_bins(edges: tuple[float, ...]) -> tuple[str, ...]:
    """The part of the real line below the edges, those between them and the one above, each as an interval."""
    if not edges:
        return ("any number",)
    names = [f"{edge:.6g}" for edge in edges]
    if len({*names}) < len(names):
        names = [repr(edge) for edge in edges]
    return (f"below {names[0]}", *(f"[{low}, {high})" for low, high in pairwise(names)), f"from {names[-1]}")


def averages_between(
    edges: np.ndarray, steps: Sequence[float], density: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Averages, between neighbouring edges, of a density that is constant between steps.

    Parameters
    ----------
    edges : array, shape (bars + 1,)
    steps : sequence of float
    density : callable
        Of values (values,), shape (values, classes).

    Returns
    -------
    array, shape (bars, classes)
    """
    within = [step for step in steps if edges[0] < step < edges[-1]]
    breaks = np.unique(np.concatenate([edges, within]))
    middle = (breaks[1:] + breaks[:-1]) / 2
    mass = density(middle) * np.diff(breaks)[:, None]
    return np.add.reduceat(mass, np.searchsorted(breaks, edges[:-1]), axis=0) / np.diff(edges)[:, None]


# --------------------------------------------------------------------------------------------------
# Edges of bins for a column of numbers, without its labels
# --------------------------------------------------------------------------------------------------

NUMBERS_OF_BINS = (5, 10, 20, 50, 100)
"""Numbers of bins whose evidences are compared."""

PRIOR_ROWS = 10.0
"""Prior weight of all bins and tails together, in rows, where none is given."""

ROUNDING = 8 * np.finfo(np.float64).eps
"""Values whose relative difference is smaller differ only by rounding."""

ROUNDING_OF_DIFFERENCES = 1e-9
"""The same, relative to the median size of a column, whose numbers may be differences of larger ones."""

MOST_CELLS = 32
"""Largest number of cells that share the rows evenly."""

ON_LATTICE = 1e-3
"""Largest distance from a lattice, in steps, that is a rounding error."""

TIES = 4.0
"""Up to this many equal cells are a coincidence of rounding."""


def chosen_edges(
    x: Any, num_bins: int | None = None, concentration: float | None = None, weights: np.ndarray | None = None
) -> tuple[float, ...]:
    """Edges of equally wide bins, with the number of bins and the range of highest evidence.

    The ranges are that of all values, and that without the extreme ones, at least one and a hundredth on each side, if
    these hold no more than as large a share of the cells.

    Parameters
    ----------
    x : array, shape (rows,)
        Missing cells are NaN.
    num_bins : int, optional
    concentration : float, optional
        Prior weight of each bin and tail.
    weights : array, shape (rows,), optional
        Each row counts as that many rows; by default once.

    Raises
    ------
    ValueError
        If the range is infinite in float64.
    """
    values, number = _counted_values(x, weights)
    step = resolution(values)
    ranges = [(float(values[0]), float(values[-1]))]
    extreme = max(1, len(values) // 100)
    if len(values) > 2 * extreme + 1:
        first, last = float(values[extreme]), float(values[-1 - extreme])
        # A value of many cells is no outlier.
        if number[(values < first) | (values > last)].sum() <= 2 * max(1.0, float(number.sum()) // 100):
            ranges.append((first, last))
    numbers = NUMBERS_OF_BINS if num_bins is None else (num_bins,)
    candidates = (_equal_edges(first, last, step, number) for first, last in ranges for number in numbers)
    return max(candidates, key=lambda edges: log_evidence_of_bins(values, edges, concentration, number))


def quantile_edges(x: Any, weights: np.ndarray | None = None, most: int = MOST_CELLS) -> tuple[float, ...]:
    """Edges of cells that share the rows about evenly, and of one cell for each value with more rows.

    A value of four rows or fewer has no cell of its own.

    Parameters
    ----------
    x : array, shape (rows,)
        Missing cells are NaN.
    weights : array, shape (rows,), optional
    most : int, default 32

    Raises
    ------
    ValueError
        If the range is infinite in float64.
    """
    values, number = _counted_values(x, weights)
    step = resolution(values)
    own = number > max(TIES, number.sum() / most)
    share = np.cumsum(np.where(own, 0.0, number))[:-1]
    # Split where the cumulative share of rows is nearest to a whole number of cells.
    wanted = np.arange(1, most) / most * share[-1:].sum()
    place = np.unique(np.searchsorted((share[1:] + share[:-1]) / 2, wanted)) if len(share) else np.zeros(0, np.intp)
    place = place[~own[place] & ~own[place + 1]]
    between = values[place] / 2 + values[place + 1] / 2
    edges = np.unique(np.concatenate([between, values[own] - step / 2, values[own] + step / 2]))
    first, last = values[0] - step / 2, values[-1] + step / 2
    edges = np.concatenate([[first], edges[(edges > first + step / 4) & (edges < last - step / 4)], [last]])
    # Edges of neighbouring values may differ only by rounding.
    return tuple(edges[np.diff(edges, prepend=-np.inf) > step / 4].tolist())


def _counted_values(x: Any, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The finite values of a column, sorted, and how many rows of positive weight have each; one zero if none have any.

    Raises
    ------
    ValueError
        If the range is infinite in float64.
    """
    finite = np.isfinite(x) if weights is None else np.isfinite(x) & (weights > 0)
    values, number = weighted_values(x[finite], None if weights is None else weights[finite])
    if not len(values):
        values, number = np.zeros(1), np.ones(1)
    low, high = float(values[0]), float(values[-1])
    # Twice the range, because the edges are outside it.
    if not np.isfinite(2 * (high - low)):
        raise ValueError(
            f"cells from {low:g} to {high:g} span more than float64 holds: divide the column by a number, or give edges"
        )
    return values, number


def default_bin_concentration(num_parts: int) -> float:
    """Prior weight of each bin and tail where none is given: a share of ten rows, whatever the number of bins."""
    return PRIOR_ROWS / num_parts


def log_evidence_of_bins(
    x: np.ndarray, edges: tuple[float, ...], concentration: float | None = None, weights: np.ndarray | None = None
) -> float:
    """Log density of a column, all its cells in one class, the probabilities of the parts integrated out."""
    bins = Bins(edges, from_zero=_starts_at_zero(x))
    counts = np.bincount(bins.codes(x).astype(np.intp), weights, minlength=bins.size)
    of_counts = dirichlet_log_evidence(
        np.full(bins.size, default_bin_concentration(bins.size) if concentration is None else concentration), counts
    )
    within = bins.log_density(x)
    return float(of_counts + (within.sum() if weights is None else weights @ within))


def resolution(values: np.ndarray) -> float:
    """The smallest distance of sorted values that differ by more than rounding; of a single value its size."""
    steps = _gaps(values)
    return float(steps.min()) if len(steps) else float(np.abs(values).max(initial=0.0)) or 1.0


def _gaps(values: np.ndarray) -> np.ndarray:
    """Distances of sorted values beyond rounding."""
    steps, size = np.diff(values), np.abs(values)
    steps = steps[steps > ROUNDING * np.maximum(size[1:], size[:-1])]
    if not len(steps) or (values == np.rint(values)).all():
        return steps
    # Differences of decimals may be tiny by rounding alone.
    beyond = steps[steps > ROUNDING_OF_DIFFERENCES * _median_size(values)]
    return beyond if len(beyond) else steps


def _median_size(values: np.ndarray) -> float:
    """Median of the absolute values of sorted numbers.

    The k numbers nearest to zero are neighbours, so that the k-th smallest size is the least size that any k neighbours
    have at most.
    """
    n = len(values)
    return sum(float(np.maximum(-values[: n - k + 1], values[k - 1 :]).min()) / 2 for k in ((n + 1) // 2, n // 2 + 1))


def _starts_at_zero(x: np.ndarray) -> bool:
    """Whether a column has cells, and none is negative."""
    return bool((x >= 0).any() and not (x < 0).any())


def lattice(x: Any) -> float:
    """Distance of the values of a column that all lie a whole number of steps apart; zero if they do not."""
    values = np.unique(x[np.isfinite(x)])
    step = resolution(values)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = (values - values[:1]) / step
        return step if len(values) > 1 and (np.abs(steps - np.rint(steps)) < ON_LATTICE).all() else 0.0


def as_written(x: np.ndarray, step: Any) -> np.ndarray:
    """Multiples of steps such as 0.1 without rounding errors."""
    unit = 10.0 ** (6 - np.floor(np.log10(step)))
    return np.rint(x * unit) / unit


@dataclass(frozen=True)
class Resolution:
    """The smallest and the largest value of each column, and the step to which its values were rounded.

    Attributes
    ----------
    first, last : array, shape (columns,)
    step : array, shape (columns,)
        Smallest distance of different values; zero where no value occurs twice, or all are the same.
    tied : array of bool, shape (columns,)
        Whether a value occurs more than once.
    """

    first: np.ndarray
    last: np.ndarray
    step: np.ndarray
    tied: np.ndarray

    @classmethod
    def of(cls, x: np.ndarray) -> Self:
        """The resolution of cells (rows, columns); missing cells are NaN."""
        found = np.zeros((4, x.shape[1]))
        for j, column in enumerate(x.T):
            values = np.sort(column[~np.isnan(column)])
            steps = _gaps(values)
            if len(values):
                tied = len(steps) < len(values) - 1
                found[:, j] = values[0], values[-1], steps.min() if tied and len(steps) else 0.0, tied
        first, last, step, any_tied = found
        return cls(first, last, step, any_tied > 0)

    def round(self, x: np.ndarray) -> np.ndarray:
        """Cells moved to whole steps from the smallest value, shape (rows, columns)."""
        coarse = np.flatnonzero(self.step)
        if not len(coarse):
            return x
        first, step = self.first[coarse], self.step[coarse]
        rounded = x.copy()
        rounded[:, coarse] = first + step * np.rint((x[:, coarse] - first) / step)
        return rounded


def _equal_edges(first: float, last: float, step: float, num_bins: int) -> tuple[float, ...]:
    """Edges from half a step below the first value to half a step above the last.

    The inner edges of `num_bins` bins of equal width are moved to whole steps from the lowest edge, so that they are
    half-way between the values of a lattice.
    """
    low, high = float(first - step / 2), float(last + step / 2)
    wanted = np.linspace(first, last, num_bins + 1)[1:-1]
    with np.errstate(over="ignore"):
        steps = np.rint((wanted - low) / step)
    # If float64 cannot count the steps of the range, the edges stay where they are.
    inner = np.unique(np.where(np.isfinite(steps), low + step * steps, wanted))
    return (low, *inner[(inner > low + step / 2) & (inner < high - step / 2)].tolist(), high)


# --------------------------------------------------------------------------------------------------
# Families of binned real numbers: class probabilities of the bins, and a common density within each
# --------------------------------------------------------------------------------------------------


@pytree
class BinnedFamily(ConjugateFamily):
    """Which part of the real line holds a cell is a category; within the part, all classes have one density.

    A subclass states `chosen_edges` and `_of_codes`, and has a parameter ``prob``, the probabilities of the parts.
    """

    edges: Any = field(default=None, metadata={"static": True})
    # For each column, the step of its lattice, to which draws keep; zero for none.
    step: Any = field(default=0.0, repr=False, kw_only=True, metadata={"static": True})
    # For each column, whether it has no negative number, so that the lower tail ends at zero.
    from_zero: Any = field(default=False, repr=False, kw_only=True, metadata={"static": True})

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
        return family._with_bins(family.chosen_edges(cells, None), lattice(cells), _starts_at_zero(cells))

    def _with_bins(self, edges: Any, step: Any, from_zero: Any) -> Self:
        """The family with fixed edges; the data they came from are dropped."""
        return replace(self, edges=edges, step=step, from_zero=from_zero)

    @abstractmethod
    def chosen_edges(self, x: np.ndarray, weights: np.ndarray | None) -> tuple[float, ...]:
        """Edges for the cells of a column, shape (rows,), missing ones NaN; `weights` as for `having_seen`."""

    @property
    @abstractmethod
    def _of_codes(self) -> Categorical:
        """The family of the part in which a cell lies, with arrays of the same shapes."""

    @property
    def _of_new_codes(self) -> Categorical:
        """The family that predicts the part of a new cell."""
        return self._of_codes

    def must_see(self, column: Any) -> tuple[str, ...]:
        return ("edges",) if self._edges_of(column) is None else ()

    def having_seen(self, cells: Mapping[Any, np.ndarray], weights: np.ndarray | None = None) -> Self:
        known, steps, starts = (dict(each or ()) for each in (self.edges, self.step, self.from_zero))
        for column, x in cells.items():
            try:
                known[column] = self.chosen_edges(x, weights)
            except ValueError as error:
                raise ValueError(f"column {column!r}: {error}") from None
            steps[column] = lattice(x)
            starts[column] = _starts_at_zero(x if weights is None else x[weights > 0])
        return self._with_bins(*(tuple(each.items()) for each in (known, steps, starts)))

    def _edges_of(self, column: Any) -> tuple[float, ...] | None:
        if self.edges is None or not isinstance(self.edges[0], tuple):
            return self.edges
        return dict(self.edges).get(column)

    def _bins_by_name(self, names: tuple) -> list[Bins]:
        """Bins of each column of a block; an error if a column has none, or edges are given for another column."""
        if self.edges is not None and isinstance(self.edges[0], tuple):
            for column in dict(self.edges):
                if column not in names:
                    raise ValueError(
                        f"{self.family_name}(edges=...) names the column {column!r}, and its columns are "
                        f"{list(names)}: name one of these, or leave it out"
                    )
        steps, starts = (
            dict(each) if isinstance(each, tuple) else dict.fromkeys(names, each)
            for each in (self.step, self.from_zero)
        )
        found = []
        for name in names:
            edges = self._edges_of(name)
            if edges is None:
                raise ValueError(
                    f"column {name!r}: {self.family_name}() has no edges yet, and there is no table to take them from: "
                    f"give nb.{self.family_name}(edges) or nb.{self.family_name}.from_column(x), or bind the model to "
                    "a table, model.bind(X, y)"
                )
            found.append(Bins(edges, steps.get(name, 0.0), starts.get(name, False)))
        return found

    def axes(self, parameter: str, columns: tuple[Any, ...], categories: tuple[tuple[Any, ...], ...]) -> Axes:
        return ("column", columns), ("bin", self._bins.labels)

    @property
    def _bins(self) -> Bins:
        return Bins(self.edges, self.step, self.from_zero)

    def _in_rows(self, x: Any) -> Any:
        """Log density of the rows' cells within their parts, shape (rows, 1)."""
        return self._bins.log_density(x).sum(axis=-1)[:, None]

    def likelihood(self, prob: Any) -> "dist.Distribution":
        return distributions.Binned(prob, self._bins)

    def needs(self) -> Any:
        bins = self._bins
        counted = needs_of_formula(bins.codes, self._of_codes.needs())
        return Afterwards(self._with_log_base, (counted, Sums(terms=bins.log_fall)))

    def _with_log_base(self, found: tuple[Counts, np.ndarray]) -> Counts:
        counted, fall = found
        return replace(counted, log_base=counted.total @ self._bins.log_height + fall)

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
        # Within a part all classes have the same density: only the part is informative.
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


def edges_of_family(family: Family) -> tuple[float, ...]:
    """Edges between which the density is constant, of a hurdle that of the other cells; none if it is smooth."""
    inner = getattr(family, "family", family)
    return inner.edges if isinstance(inner, BinnedFamily) else ()


def _read_edges(family: str, edges: Any) -> Any:
    """Edges as a tuple; those of each column as a tuple of (column, edges)."""
    if edges is None:
        return None
    if isinstance(edges, Mapping):
        edges = tuple(edges.items())
    entries = tuple(edges) if np.iterable(edges) else (edges,)
    if entries and all(isinstance(entry, tuple) and len(entry) == 2 for entry in entries):
        return tuple((column, _edge_numbers(family, own, f" of column {column!r}")) for column, own in entries)
    return _edge_numbers(family, entries, "")


def _edge_numbers(family: str, edges: Any, where: str) -> tuple[float, ...]:
    try:
        numbers = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{family}(edges={edges!r}){where}: give numbers") from None
    if numbers.ndim != 1 or len(numbers) < 2:
        raise ValueError(f"{family}(edges={edges!r}){where}: give at least two edges, or num_bins=, a number of bins")
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
