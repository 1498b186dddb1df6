"""Statistics of posterior predictive checks, and the replicated tables that they take."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from bayesnb.core.arrays import dense
from bayesnb.core.checking import a_type
from bayesnb.core.deferred import in_float64, jax
from bayesnb.data.read import as_table, read_rows
from bayesnb.families.draw import draw, draw_words
from bayesnb.model.blocks import Block
from bayesnb.model.bound import BoundModel
from bayesnb.model.prior import ModelParameters
from bayesnb.model.program import to_table
from bayesnb.posterior.posterior import Posterior

# --------------------------------------------------------------------------------------------------
# Shapes of the columns of a class: ratios of sample L-moments, and the share of the commonest value
# --------------------------------------------------------------------------------------------------

SHAPES = ("L-skewness", "L-kurtosis", "share of one value")


def shapes_of_columns(missing: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    r"""A function that gives the shapes of the columns of a class, of which these cells are missing.

    The sample L-moment of order r is :math:`\frac1n \sum_i w_{ri} x_{(i)}`, with the shifted Legendre polynomials in
    :math:`p_{ki} = \binom{i}{k} / \binom{n-1}{k}`, i from 0: :math:`w_2 = 2 p_1 - 1`,
    :math:`w_3 = 6 p_2 - 6 p_1 + 1` and :math:`w_4 = 20 p_3 - 30 p_2 + 12 p_1 - 1` (Hosking 1990, *Journal of the Royal
    Statistical Society B* 52, section 3).

    Parameters
    ----------
    missing : array of bool, shape (rows, columns)

    Returns
    -------
    callable
        Takes the cells (rows, columns), and in which columns (columns,) a value may occur more than once. Returns the
        numbers that `SHAPES` names, shape (columns, 3): NaN of a column of fewer than four observed cells.
    """
    n = (~missing).sum(axis=0)
    # One for all columns where these have the same number of observed cells.
    weights = _observed_weights((n if (n != n[:1]).any() else n[:1])[:, None], len(missing))

    def shapes(x: np.ndarray, tied: np.ndarray) -> np.ndarray:
        ordered = np.sort(np.ascontiguousarray(x.T), axis=1)
        most = np.ones(len(ordered))
        most[tied] = _longest_run(ordered[tied])
        ordered -= ordered[:, :1].copy()
        if (n < len(x)).any():
            ordered = np.nan_to_num(ordered)
        spread, skewness, kurtosis = (ordered[:, None] @ weights)[:, 0].T
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.stack([skewness / spread, kurtosis / spread, most / n], axis=1)
        found[n < 4] = np.nan
        return found

    return shapes


def _observed_weights(n: np.ndarray, rows: int) -> np.ndarray:
    """Weights for columns with n observed cells, shape (columns, 1); missing cells come last and are zero."""
    i = np.arange(rows)
    with np.errstate(invalid="ignore", divide="ignore"):
        p1 = i / (n - 1)
        p2 = p1 * (i - 1) / (n - 2)
        p3 = p2 * (i - 2) / (n - 3)
    weights = np.stack([2 * p1 - 1, 6 * p2 - 6 * p1 + 1, 20 * p3 - 30 * p2 + 12 * p1 - 1], axis=-1)
    return np.where((n >= 4)[..., None], weights, 0.0)


def _longest_run(ordered: np.ndarray) -> np.ndarray:
    """Length of the longest run of equal numbers in each row of sorted numbers; NaN equals nothing."""
    place = np.arange(ordered.shape[1])
    begins = np.ones(ordered.shape, dtype=bool)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    since = np.maximum.accumulate(np.where(begins, place, 0), axis=1)
    return (place - since).max(axis=1, initial=-1) + 1


# --------------------------------------------------------------------------------------------------
# Numbers of a data set and its replicates on one scale, and the largest of them
# --------------------------------------------------------------------------------------------------

LEVELS = (0.025, 0.5, 0.975)

ROUNDING_OF_VALUES = 1e-9


def _departures(values: np.ndarray, smallest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances from the median, relative to the spread on the same side, and whether each value is above the median.

    The spread is the distance between the median and the 2.5 % or the 97.5 % quantile, and at least `smallest`, shape
    (numbers,). Median and quantiles are those of all data sets, the observed one included, so that it is treated as a
    replicate is. Values and results have shape (data sets, numbers); a number that a data set does not define is NaN.
    """
    low, centre, high = _quantiles_of_replicates(values)
    above = values > centre
    scale = np.maximum(np.where(above, high - centre, centre - low), smallest)
    return np.abs(values - centre) / scale, above


def _quantiles_of_replicates(values: np.ndarray) -> np.ndarray:
    """Quantiles over the data sets that define a number, shape (levels, numbers)."""
    found = np.quantile(values, LEVELS, axis=0)
    # Slow, and therefore only used for numbers that are undefined in some data sets.
    some = np.isnan(found[1]) & ~np.isnan(values).all(axis=0)
    if some.any():
        found[:, some] = np.nanquantile(values[:, some], LEVELS, axis=0)
    return found


def _share_at_least(observed: np.ndarray, replicated: np.ndarray) -> np.ndarray:
    """Share of the replicates whose largest number is at least each observed one, shape (observed,).

    Single-step p-values (Westfall and Young 1993, *Resampling-Based Multiple Testing*, section 2.3): under the model,
    the probability that any of them is below a threshold is about the threshold, for any number of them and any
    dependence between them.
    """
    if not len(replicated):
        return np.full(len(observed), np.nan)
    # Equal departures may differ by rounding.
    return (replicated >= observed[:, None] * (1 - ROUNDING_OF_VALUES)).mean(axis=1)


# --------------------------------------------------------------------------------------------------
# Data sets in encoded form: the observed one, and its replicates drawn from a posterior
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ObservedLabels:
    """The observed labels, which all replicates share, class by class.

    Attributes
    ----------
    codes : array of int, shape (rows,)
        Position of each row's class, sorted.
    classes : list of str
        Names of the classes.
    place : array of int, shape (rows,)
        Position here of each row of the table.
    """

    codes: np.ndarray
    classes: list[str]
    place: np.ndarray

    @cached_property
    def members(self) -> list[slice]:
        """The rows of each class."""
        ends = np.cumsum(self.sizes).tolist()
        return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]

    @cached_property
    def membership(self) -> np.ndarray:
        """Indicators of the classes, shape (rows, classes)."""
        return np.eye(len(self.classes))[self.codes]

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of rows of each class."""
        return np.bincount(self.codes, minlength=len(self.classes))


@dataclass(frozen=True)
class DataSet:
    """A data set in encoded form, its rows sorted by class.

    Attributes
    ----------
    labels : ObservedLabels
        The observed labels, in a replicate too.
    cells : tuple
        Cells of each block, shape (rows, columns), CSR or an array whose columns are contiguous.
    class_counts : array of int, shape (classes,)
        Number of rows of each class; in a replicate, that of labels drawn anew.
    """

    labels: ObservedLabels
    cells: tuple[Any, ...]
    class_counts: np.ndarray


def columns_at(cells: Sequence[Any], places: Sequence[tuple[int, int]]) -> np.ndarray:
    """Columns of the cells of blocks, given the block and the position of each, shape (columns, rows)."""
    found = np.empty((len(places), cells[0].shape[0]))
    # CSR columns of a block are taken together.
    for block in {block for block, _ in places}:
        at = [k for k, place in enumerate(places) if place[0] == block]
        found[at] = dense(cells[block][:, [places[k][1] for k in at]]).T
    return found


def encode(model: BoundModel, X: Any, y: Any, sample_weight: Any = None) -> DataSet:
    """The observed data, in which a row of weight w occurs w times.

    Raises
    ------
    ValueError
        If X or y does not fit the model, a weight is no whole number, or count vectors hold fractions.
    """
    given = read_rows(X, y, sample_weight).of_classes(model.schema.classes)
    broken = np.flatnonzero(given.weights != np.rint(given.weights))
    if len(broken):
        raise ValueError(
            f"sample_weight of row {broken[0]} is {given.weights[broken[0]]:g}: a check draws w rows for a row of "
            "weight w, and needs whole numbers; give frequencies, or leave sample_weight out to check each row once"
        )
    copies = given.take(np.repeat(np.arange(len(given)), given.weights.astype(np.int64)))
    by_class = np.argsort(copies.codes, kind="stable")
    rows = copies.take(by_class)
    cells = []
    for block, x in zip(model.blocks, model.read(given.table).whole(), strict=True):
        if block.has_totals:
            block.totals(x)  # raises for fractions
        cells.append(x[rows.place] if scipy.sparse.issparse(x) else np.asfortranarray(x[rows.place]))
    labels = ObservedLabels(rows.codes, [str(label) for label in rows.classes.tolist()], np.argsort(by_class))
    return DataSet(labels, tuple(cells), labels.sizes)


def draws(posterior: Posterior, number: int, rng: np.random.Generator) -> Iterator[ModelParameters]:
    """One set of parameters for each replicate, no leading axes."""
    one_by_one = ((piece, s) for piece in posterior.belief.pieces(number, rng) for s in range(len(piece.class_prob)))
    return (jax.tree.map(itemgetter(s), piece) for piece, s in one_by_one)


@in_float64
def replicate(model: BoundModel, parameters: ModelParameters, data: DataSet, rng: np.random.Generator) -> DataSet:
    """A data set of the model in which each row keeps its label, its missing cells and its totals of count vectors."""
    prob = np.asarray(parameters.class_prob, dtype=np.float64)
    class_counts = rng.multinomial(len(data.labels.codes), prob / prob.sum())
    each = zip(model.blocks, parameters.blocks, data.cells, strict=True)
    return DataSet(data.labels, tuple(_new_cells(*of_block, data.labels, rng) for of_block in each), class_counts)


def _new_cells(
    block: Block, values: Mapping[str, Any], x: Any, labels: ObservedLabels, rng: np.random.Generator
) -> Any:
    """New cells of a block, like the observed `x` in shape, missing cells and totals."""
    totals = block.totals(x) if block.has_totals else None
    if totals is not None and scipy.sparse.issparse(x):
        likelihood = block.family.likelihood(**values, total_count=1)
        words = draw_words(likelihood, [np.r_[rows] for rows in labels.members], totals, rng)
        if words is not None:
            return words
    drawn = np.empty(x.shape, order="F")
    for c, rows in enumerate(labels.members):
        size = int(labels.sizes[c])
        if not size:
            continue
        of_class = {name: np.asarray(value)[c] for name, value in values.items()}
        if totals is None:
            found = draw(block.family.likelihood(**of_class), rng, (_rounded_up(size),))
        else:
            total_count = np.resize(totals[rows], _rounded_up(size))
            found = draw(block.family.likelihood(**of_class, total_count=total_count), rng)
        drawn[rows] = found[:size]
    if np.isnan(x.data if scipy.sparse.issparse(x) else x).any():
        drawn[np.isnan(dense(x))] = np.nan
    return drawn


def _rounded_up(number: int) -> int:
    """The number rounded up by at most an eighth: JAX compiles draws for each shape, and few shapes are left."""
    step = 1 << max(number.bit_length() - 4, 0)
    return -(-number // step) * step


# --------------------------------------------------------------------------------------------------
# Statistics, and their lines of the table
# --------------------------------------------------------------------------------------------------

TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Statistic:
    """A statistic prepared for one data set and its replicates.

    Attributes
    ----------
    labels : list of str
        A label for each line of the table.
    values : callable
        Function from a data set to its numbers: one for each label, or with `parts` as many as there are parts.
    next_step : str or sequence of str
        What to do if a line is extreme; a sequence has a text for each label.
    next_step_below : str
        What to do if the observed value is below the replicates; empty if `next_step` says it.
    fitted : bool or sequence of bool
        Whether most families fit the statistic, so that it says little on the rows of the fit; as `next_step`.
    parts : sequence of str
        What the numbers of a label are. A line then has the distance of the one that is farthest from its replicates,
        and is compared with the largest distance of all lines.
    smallest : array, optional
        Smallest spread of each number, as for `_departures`; by default that of rounding.
    """

    labels: list[str]
    values: Callable[[DataSet], np.ndarray]
    next_step: str | Sequence[str]
    next_step_below: str = ""
    fitted: bool | Sequence[bool] = False
    parts: Sequence[str] = ()
    smallest: np.ndarray | None = None

    def lines(self, observed: np.ndarray, replicated: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The lines of the table, and their values in the replicates.

        Parameters
        ----------
        observed : array, shape (numbers,)
        replicated : array, shape (replicates, numbers)

        Returns
        -------
        lines : pandas.DataFrame
            A row for each label: ``observed``, ``p_value``, ``p_adjusted``, ``detail`` (where the value comes from, if
            the label does not say it), ``next_step`` and ``fitted``.
        replicated : pandas.DataFrame, shape (replicates, lines)
        """
        values = np.vstack([observed, replicated])
        values = np.where(np.isfinite(values), values, np.nan)
        # Equal sums may differ by rounding, if their terms were added in another order.
        rounding = 1e-12 * np.abs(np.nan_to_num(values)).max(axis=0) + TINY
        departure, above = _departures(values, rounding if self.smallest is None else self.smallest)
        departure[:, np.isnan(departure[0])] = np.nan
        departure = np.where(np.isnan(departure), -np.inf, departure)
        largest = departure[1:].max(axis=1, initial=-np.inf)
        if self.parts:
            by_line = departure[0].reshape(len(self.labels), -1)
            farthest = by_line.argmax(axis=1)
            sides = above[0].reshape(by_line.shape)[np.arange(len(by_line)), farthest]
            detail = [f"{'high' if side else 'low'} {self.parts[k]}" for side, k in zip(sides, farthest, strict=True)]
            values = np.vstack([by_line.max(axis=1), np.repeat(largest[:, None], len(by_line), axis=1)])
            p_adjusted = p_value = _share_at_least(values[0], largest)
        else:
            detail = [""] * len(self.labels)
            p_adjusted, p_value = _share_at_least(departure[0], largest[np.isfinite(largest)]), _p_values(values)
        values[np.isneginf(values)] = np.nan
        lines = pd.DataFrame({"observed": values[0], "p_value": p_value, "p_adjusted": p_adjusted}, index=self.labels)
        lines = lines.assign(detail=detail, next_step=self.next_step, fitted=self.fitted)
        if self.next_step_below:
            lines["next_step"] = lines["next_step"].mask(lines["p_value"] > 0.5, self.next_step_below)
        return lines, pd.DataFrame(values[1:], columns=self.labels)


Build = Callable[[BoundModel, DataSet, np.random.Generator], Statistic | None]
"""Prepares a statistic for a model and its data; returns None if the model does not have the columns."""


def _p_values(values: np.ndarray) -> np.ndarray:
    """Share of the replicates that define a number in which it is at least that of the data; ties are half.

    The data are the first row of `values`, shape (1 + replicates, numbers).
    """
    observed, replicated = values[0], values[1:]
    # Equal sums that were added in another order differ by rounding, and are ties.
    tied = np.isclose(replicated, observed, rtol=1e-12, atol=0.0)
    at_least = ((replicated > observed) & ~tied) + 0.5 * tied
    return ratio(at_least.sum(axis=0), np.isfinite(replicated).sum(axis=0))


def ratio(total: Any, n: Any) -> np.ndarray:
    """Quotient, NaN if the denominator is zero."""
    return np.divide(total, n, out=np.full(np.shape(total), np.nan), where=n > 0)


# --------------------------------------------------------------------------------------------------
# A user's function of a table and its labels, as a statistic
# --------------------------------------------------------------------------------------------------

FIND_THE_CAUSE = "look for the columns or the family behind it; nb.calibration on new rows says whether it matters"


def statistic_of_function(
    function: Callable, model: BoundModel, X: Any, taken: Collection[str], data: DataSet
) -> tuple[Statistic, np.ndarray]:
    """The statistic of a user's function, and its observed values.

    `function(X, y)` returns a number or a dict of numbers; it gets a table of the kind of `X`. `taken` are the labels
    of other statistics, which this one must not have.

    Raises
    ------
    TypeError
        If the function returns something else.
    """
    name = getattr(function, "__name__", type(function).__name__)
    sparse, has_names = scipy.sparse.issparse(X), as_table(X).named
    classes = model.schema.classes

    def given(rows: DataSet) -> tuple[Any, np.ndarray]:
        return _table_of_cells(model, rows, sparse=sparse, named=has_names), classes[
            rows.labels.codes[rows.labels.place]
        ]

    seen = _named_numbers(function(*given(data)), name)
    title, copy = name, 1
    while any(_label(title, part) in taken for part in seen):
        copy += 1
        title = f"{name} ({copy})"

    def values(rows: DataSet) -> np.ndarray:
        found = _named_numbers(function(*given(rows)), name)
        return np.array([found.get(part, np.nan) for part in seen])

    return Statistic([_label(title, part) for part in seen], values, FIND_THE_CAUSE), np.array(list(seen.values()))


def _label(name: str, part: Any) -> str:
    return name if part is None else f"{name}[{part}]"


def _named_numbers(value: Any, name: str) -> dict[Any, float]:
    parts = dict(value) if isinstance(value, Mapping) else {None: value}
    for part, number in parts.items():
        if np.ndim(number) or np.asarray(number).dtype.kind not in "biuf":
            where = "" if part is None else f" under {part!r}"
            raise TypeError(
                f"the statistic {name!r} returned {a_type(number)}{where}: a function of statistics returns a "
                "number, or a dict of numbers"
            )
    return {part: float(number) for part, number in parts.items()}


def _table_of_cells(model: BoundModel, rows: DataSet, *, sparse: bool, named: bool) -> Any:
    """Encoded rows as a table of the kind that the user gave (CSR array, array or data frame), in its order."""
    place = rows.labels.place
    if sparse and not any(block.has_categories for block in model.blocks):
        positions = np.concatenate([block.columns for block in model.blocks])
        cells = scipy.sparse.csr_array(scipy.sparse.hstack([scipy.sparse.csr_array(x) for x in rows.cells]))
        return cells[place][:, np.argsort(positions)]
    return to_table(replace(model.schema, named=named), model.blocks, [dense(x)[place] for x in rows.cells])
