"""A family for each column of a table."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from bayesnb.core.arrays import weighted_values
from bayesnb.core.cells import Column, shortened
from bayesnb.core.checking import first_few, listed, near_matches, one_of, warn
from bayesnb.core.deferred import in_float64
from bayesnb.core.logarithms import HALF_LOG_2_PI
from bayesnb.core.number_form import CELL, NumberForm
from bayesnb.core.running import results_in_order
from bayesnb.data.read import Rows
from bayesnb.data.tables import SparseTable, Table, distinct_objects
from bayesnb.data.written_numbers import are_dates, number_forms, with_numbers
from bayesnb.families.binned import PolyaTree
from bayesnb.families.bins import resolution
from bayesnb.families.categories import Bernoulli, Categorical
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.counts_and_waits import Exponential, Geometric, NegativeBinomial, Poisson
from bayesnb.families.family import Family, column_family
from bayesnb.families.gaussian import Gaussian, LogNormal
from bayesnb.families.hurdle import Hurdle
from bayesnb.families.hyperparameters import support_of
from bayesnb.families.words import Multinomial
from bayesnb.model.open_schema import bound_to
from bayesnb.model.reading import outside

# --------------------------------------------------------------------------------------------------
# Columns whose guessed or chosen family may not fit: found in their cells, and listed in one warning
# --------------------------------------------------------------------------------------------------

JUDGED_CELLS = 20
"""A column with fewer observed cells is not judged."""

CODE_VALUES = 20
"""Whole numbers with at most this many distinct values may be codes, grades or counts."""

SAMPLED = 10_000
"""About this many evenly spaced cells of a numeric column decide whether all its cells are checked."""

MOST = 0.5
"""Above this share we say "most cells"."""

FEW, EQUAL, DISTINCT, EMPTY, TIMES, MARKS = "few", "equal", "distinct", "empty", "times", "marks"
WRITTEN, UNCLEAR = "written", "unclear"

REMEDIES = {
    FEW: "whole numbers with few values, taken as measurements (Gaussian). For categories or grades write "
    "families={{{name!r}: nb.Categorical()}}, for counts nb.Poisson()",
    EQUAL: "most cells are equal, and the family taken, Gaussian, puts no mass on one value. For many zeros "
    "write families={{{name!r}: nb.Hurdle()}}, for few different values nb.Categorical()",
    DISTINCT: "most values are distinct, and the column is left out of the model. Count the words of texts "
    "(scikit-learn's CountVectorizer); names and numbers of rows tell nothing, exclude=[{name!r}]. To keep it write "
    "families={{{name!r}: nb.Categorical()}}",
    EMPTY: "text that is left out of the model. Leave it out yourself, "
    "exclude=[{name!r}], or list its categories, families={{{name!r}: nb.Categorical(categories=[...])}}",
    TIMES: "left out of the model. nb.propose_descriptions and NaiveBayesClassifier read the day, the month, the "
    "weekday and the hour of it; or make such columns, and leave this one out, exclude=[{name!r}]",
    UNCLEAR: "left out of the model, because a comma may be the decimal sign or separate thousands. Say which: decimal "
    "or thousands of pandas.read_csv, decimal='.' or decimal=',' of from_frame, --decimal on the command line",
    WRITTEN: "text that is read as numbers, here and in later rows; a cell that is no number is missing. Convert the "
    "column yourself, or keep it as text, families={{{name!r}: nb.Categorical()}}",
    MARKS: "counted as a category. Mark missing cells with None or NaN (pandas.read_csv(..., na_values='?'))",
}
"""For each kind of doubt: what it is, the family taken, and what to write instead."""


@dataclass(frozen=True)
class _Doubt:
    """A reason why the guessed family of a column may not fit, or why the column is left out.

    Attributes
    ----------
    kind : str
        Key of `REMEDIES`.
    column : hashable
        Name of the column.
    seen : str
        What was seen in its cells.
    form : NumberForm or None
        How numbers are written in text that is read as numbers.
    """

    kind: str
    column: Column
    seen: str
    form: NumberForm | None = None

    @property
    def leaves_out(self) -> bool:
        """Whether the column is left out of the model."""
        return self.kind in (DISTINCT, EMPTY, TIMES, UNCLEAR)


def _doubts_of_numbers(cells: np.ndarray, column: Column) -> list[_Doubt]:
    """The doubt about a column of numbers taken as Gaussian, if there is one; `cells` are those observed."""
    if cells.size < JUDGED_CELLS:
        return []
    # The cells of a long table are sorted only if a sample raises the doubt: sorting takes longer than the fit.
    some = cells[:: max(1, cells.size // SAMPLED)]
    return _doubts(cells, column) if _doubts(some, column) else []


def _doubts(cells: np.ndarray, column: Column) -> list[_Doubt]:
    values, number = np.unique(cells, return_counts=True)
    if len(values) <= CODE_VALUES and (values == np.rint(values)).all():
        return [_Doubt(FEW, column, f"({len(values)} value{'s' * (len(values) > 1)})")]
    most = int(number.argmax())
    equal = [_Doubt(EQUAL, column, f"({number[most] / cells.size:.0%} are {values[most]:g})")]
    return equal if number[most] > MOST * cells.size else []


def _doubts_of_text(table: Table, position: int, decimals: Iterable[str]) -> list[_Doubt]:
    """The doubts about a categorical column, one with a form if it is read as numbers with a given decimal sign."""
    column, declared = table.names[position], table.declared_categories(position)
    distinct, positions = distinct_objects(table.categories(position), column)
    observed = int((positions >= 0).sum())
    doubts = [] if observed or declared else [_Doubt(EMPTY, column, "(no observed cell)")]
    if observed >= JUDGED_CELLS and len(distinct) > MOST * observed:
        if are_dates(distinct):
            return [_Doubt(TIMES, column, f"(text, such as {shortened(distinct[0])})")]
        forms = number_forms(distinct, decimals)
        if len(forms) > 1:
            return [_Doubt(UNCLEAR, column, f"(such as {shortened(next(v for v in distinct if ',' in str(v)))})")]
        if forms:
            lost = first_few([*map(shortened, forms[0].marks)], 3)
            seen = f"({shortened(distinct[0])}, decimal sign {forms[0].decimal!r}{lost and ', no number: '}{lost})"
            return [_Doubt(WRITTEN, column, seen, forms[0])]
        doubts.append(_Doubt(DISTINCT, column, f"({len(distinct)} values in {observed} cells)"))
    if "?" in distinct:
        marks = int((positions == distinct.index("?")).sum())
        doubts.append(_Doubt(MARKS, column, f"holds '?' in {marks} cell{'s' * (marks > 1)}"))
    return doubts


def warn_of_doubts(doubts: Iterable[_Doubt]) -> None:
    """Warn of all columns at once, those of each kind in a line; five columns are named, and the others counted."""
    every = sorted(doubts, key=lambda doubt: [*REMEDIES].index(doubt.kind))
    if not every:
        return
    told = {
        "the model leaves out": [doubt.column for doubt in every if doubt.leaves_out],
        "the model reads as numbers": [doubt.column for doubt in every if doubt.kind == WRITTEN],
        "another family may suit": [d.column for d in every if not d.leaves_out and d.kind != WRITTEN],
    }
    points = [f"{what} {listed(columns)}" for what, columns in told.items() if columns]
    head = f"{', and '.join(points)}; families={{...}} and exclude=[...] say what to take, and end this warning"
    # Other rows of the same table, such as those of another fold, have other numbers.
    warn(f"{head}:\n{_lines(every)}", UserWarning, same=(points, [*dict.fromkeys(doubt.kind for doubt in every)]))


def _lines(doubts: Sequence[_Doubt]) -> str:
    """A line for the doubts of each kind."""
    by_kind = {kind: [doubt for doubt in doubts if doubt.kind == kind] for kind in REMEDIES}
    return "\n".join(_doubt_line(REMEDIES[kind], each) for kind, each in by_kind.items() if each)


def _doubt_line(remedy: str, doubts: list[_Doubt]) -> str:
    shown = first_few([f"{doubt.column!r} {doubt.seen}" for doubt in doubts])
    return f"- {shown}: {remedy.format(name=doubts[0].column)}"


# --------------------------------------------------------------------------------------------------
# The columns of a frame that are given no family, read with those that are
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OpenColumns:
    """The columns of a table that get a family.

    Attributes
    ----------
    table : Table
        With numbers in the columns of text that are read as such.
    given : dict
        By column, the families that are given.
    positions : tuple of int
        Positions of the columns of the model, in the table's order; text that tells nothing is not among them.
    doubts : tuple of Doubt
        About columns of text, those that are left out first.
    forms : dict
        By column, how numbers are written in text that is read as numbers.
    """

    table: Table
    given: dict[Any, Family]
    positions: tuple[int, ...]
    doubts: tuple[_Doubt, ...] = ()
    forms: Mapping[Any, NumberForm] = field(default_factory=dict)

    @property
    def open(self) -> tuple[int, ...]:
        """Positions of the columns of which no family is given."""
        return tuple(position for position in self.positions if self.table.names[position] not in self.given)

    @property
    def open_names(self) -> list[Any]:
        """Names of the columns of which no family is given."""
        return [self.table.names[position] for position in self.open]

    def features(self, found: Mapping[int, Family]) -> dict[Any, Family]:
        """The family of every column of the model, in the table's order.

        Parameters
        ----------
        found : mapping
            By position, the families of the columns that are open.
        """
        names = self.table.names
        families = self.given | {names[position]: family for position, family in found.items()}
        return {names[position]: families[names[position]] for position in self.positions}


def open_columns(table: Table, exclude: Sequence[Any], families: Any, decimal: str | None = None) -> OpenColumns:
    """The columns that get a family; parameters and errors as for `NaiveBayes.from_frame`."""
    one_of("decimal", decimal, [None, *CELL])
    exclude = [exclude] if isinstance(exclude, str) else exclude
    given = {} if families is None else _read_families(families)
    for what, names in (("exclude", exclude), ("families", given)):
        for name in names:
            if name not in table.names:
                raise ValueError(
                    f"{what} names the column {name!r}, which the table lacks{near_matches(name, table.names)}: its "
                    f"columns are {listed(table.names)}"
                )
    for name in given:
        if name in exclude:
            raise ValueError(f"column {name!r} is in families and in exclude: leave it out of one of them")
    positions = tuple(position for position, name in enumerate(table.names) if name not in exclude)
    if not positions:
        which = "exclude names all its columns" if table.names else "it has none"
        raise ValueError(f"the table has no column for the model ({which}): give at least one")
    columns = OpenColumns(table, given, positions)
    if isinstance(table, SparseTable):
        return columns
    doubts: list[_Doubt] = []
    forms: dict[Any, NumberForm] = {}
    for position in columns.open:
        name = table.names[position]
        if table.is_time(position):
            doubts.append(_Doubt(TIMES, name, "(dates or times)"))
        elif table.kind(position) == "category":
            doubts += _doubts_of_text(table, position, decimal or CELL)
        elif decimal == "," and table.kind(position) == "number":
            forms[name] = NumberForm(decimal)  # later tables may hold it as text
    # Dates, and text of which no cell is observed or most values are distinct. If nearly all values are numbers, such
    # text becomes numbers.
    useless = dict.fromkeys(doubt.column for doubt in doubts if doubt.leaves_out)
    kept = tuple(position for position in positions if table.names[position] not in useless)
    if not kept:
        raise ValueError(
            f"every column is text that is missing or distinct in most cells, or a date ({listed(useless)}), and tells "
            "nothing: give one that tells of the class, or keep a column of text, families={column: "
            f"nb.Categorical()}}\n{_lines(doubts)}"
        )
    forms |= {doubt.column: doubt.form for doubt in doubts if doubt.form}
    table = with_numbers(table, forms) if forms else table
    return replace(columns, table=table, positions=kept, doubts=tuple(doubts), forms=forms)


def family_of_words(columns: OpenColumns) -> Multinomial | None:
    """The family of a sparse matrix of counts, or of weights of words such as tf-idf; None for any other table."""
    table = columns.table
    if not isinstance(table, SparseTable) or len(columns.open) < len(table.names) or table.cells.dtype == bool:
        return None
    cells = table.cells.data
    if (cells < 0).any():
        return None
    whole, above_one = bool((cells == np.rint(cells)).all()), bool((cells > 1).any())
    if whole and (above_one or cells.dtype.kind in "iu"):
        return Multinomial()
    # Numbers above one that are not whole are measurements.
    return None if whole or above_one else Multinomial(fractional=True)


def _read_families(families: Any) -> dict[Any, Family]:
    if not isinstance(families, Mapping):
        raise TypeError(
            f"families is {families!r}: give a mapping from columns to families, such as "
            "families={'size': nb.Gaussian()}"
        )
    for name, family in families.items():
        if not isinstance(family, Family):
            raise TypeError(
                f"families gives {name!r} {family!r}, which is no family: give one such as nb.Categorical(); blocks of "
                "columns are for nb.NaiveBayes({...})"
            )
    return dict(families)


# --------------------------------------------------------------------------------------------------
# A family for each column: given, or by the column's type
# --------------------------------------------------------------------------------------------------


OF_KIND: Mapping[str, ConjugateFamily] = {"boolean": Bernoulli(), "category": Categorical()}
"""Families of the kinds of columns that have no other."""


def guess_features(columns: OpenColumns) -> dict[Any, Family]:
    """A family for each column, by its type where none is given; warnings as for `NaiveBayes.from_frame`."""
    guessed = {position: _guess_family(columns.table, position) for position in columns.open}
    warn_of_doubts([*columns.doubts, *chain(*(doubts for _, doubts in guessed.values()))])
    return columns.features({position: family for position, (family, _) in guessed.items()})


def _guess_family(table: Table, position: int) -> tuple[Family, list[_Doubt]]:
    """Family that the type of a column suggests, and the doubts about it."""
    kind, name = table.kind(position), table.names[position]
    if kind in OF_KIND:
        return OF_KIND[kind], []
    cells = table.number_column(position, slice(None))
    cells = cells[~np.isnan(cells)]
    if cells.size and np.isin(cells, (0.0, 1.0)).all():
        return Bernoulli(), []
    return Gaussian(), _doubts_of_numbers(cells, name)


# --------------------------------------------------------------------------------------------------
# The families that can hold a column, among which the evidence chooses
# --------------------------------------------------------------------------------------------------

DENSITIES: Mapping[str, ConjugateFamily] = {
    "Gaussian": Gaussian(),
    "LogNormal": LogNormal(),
    "Exponential": Exponential(),
}
"""Families of measurements."""

TOTAL_COUNTS = (0.3, 3.0, 10.0)
"""Numbers of successes of a `NegativeBinomial`.

A Geometric is a NegativeBinomial(1), and a Poisson one of infinite total_count, so that these cover the variances from
that of a Poisson upwards.
"""

FEW_VALUES = 20
"""A column with at most this many distinct values is no `LogNormal` or `Exponential` column."""


@dataclass(frozen=True)
class Candidate:
    """A family that can hold a column.

    Attributes
    ----------
    name : str
        What results call it.
    family : ConjugateFamily
        As a user would give it.
    correction : float
        Added to the log evidence, so that all candidates of the column are on one scale.
    step : float
        Resolution of the column, over which a density without bins is integrated; zero for other families.
    hurdle : bool
        Whether zeros have a probability of their own.
    log_evidence : float
        Log density of the column's cells given the labels, the parameters integrated out, with the correction; NaN
        before it is computed.
    """

    name: str
    family: ConjugateFamily
    correction: float = 0.0
    step: float = 0.0
    hurdle: bool = False
    log_evidence: float = np.nan


def candidates(table: Table, position: int, weights: np.ndarray) -> tuple[Candidate, ...]:
    """The families that can hold a column of a table; none if no cell is observed.

    They hold the rows of weight zero, too, because a fit to the table raises an error for a cell that the family cannot
    hold.

    Parameters
    ----------
    table : Table
    position : int
        Position of the column.
    weights : array, shape (rows,)
        Weights of the rows.

    Raises
    ------
    TypeError
        If the column holds neither numbers nor categories (lists).
    """
    kind = table.kind(position)
    if kind in OF_KIND:
        return (Candidate(OF_KIND[kind].family_name, OF_KIND[kind]),)
    cells = table.number_column(position, slice(None))
    observed = ~np.isnan(cells)
    return _of_numbers(cells[observed], weights[observed]) if observed.any() else ()


def _of_numbers(cells: np.ndarray, weights: np.ndarray) -> tuple[Candidate, ...]:
    if ((cells == 0) | (cells == 1)).all():
        return (Candidate("Bernoulli", Bernoulli()),)
    # No family holds an infinite cell. The fit raises an error that names column and row.
    if np.isinf(cells).any():
        return (Candidate("Gaussian", Gaussian()),)
    values = np.unique(cells[weights > 0])
    step = resolution(values)
    densities = DENSITIES if len(values) > FEW_VALUES else {"Gaussian": DENSITIES["Gaussian"]}
    found = [Candidate(name, family, step=step) for name, family in _holding(densities, cells).items()]
    of_zeros = weights[cells == 0].sum()
    if of_zeros > 0:
        correction = -of_zeros * np.log(step)
        found += [
            Candidate(f"Hurdle({name})", Hurdle(family), correction, step, hurdle=True)
            for name, family in _holding(densities, cells[cells != 0]).items()
        ]
    if not outside(cells, Poisson()).any():
        mean = np.average(cells, weights=weights) if weights.any() else 0.0
        found += [Candidate(name, family) for name, family in _counts(mean or 1.0).items()]
    return (*found, Candidate("PolyaTree", PolyaTree()))


def _counts(mean: float) -> dict[str, ConjugateFamily]:
    """Families of counts, given the mean of the column.

    The prior of a class's mean has the column's mean and as large a standard deviation, as that of `Poisson` has by
    default, whatever the `total_count`.
    """
    prior = {r: {"concentration1": 3 + r / mean, "concentration0": 1 + 2 * mean / r} for r in (1.0, *TOTAL_COUNTS)}
    return {
        "Poisson": Poisson(),
        "Geometric": Geometric(**prior[1.0]),
        **{f"NegativeBinomial({r:g})": NegativeBinomial(r, **prior[r]) for r in TOTAL_COUNTS},
    }


def _holding(families: Mapping[str, ConjugateFamily], cells: np.ndarray) -> dict[str, ConjugateFamily]:
    return {name: family for name, family in families.items() if np.all(np.asarray(support_of(family)(cells)))}


# --------------------------------------------------------------------------------------------------
# The evidence of each candidate: the density of the column's cells given the labels
# --------------------------------------------------------------------------------------------------

SMALLEST = 1e-8
"""For an interval of smaller probability, the difference of two distribution functions has too few digits."""


@in_float64
def compare_candidates(
    rows: Rows, candidates_of: Mapping[int, Iterable[Candidate]], describe: Callable[[Any], Any]
) -> dict[int, tuple[Candidate, ...]]:
    """The candidates of each column with their evidences, the best first.

    Columns that share a candidate are counted in one pass.

    Parameters
    ----------
    rows : Rows
    candidates_of : mapping
        By position of the column.
    describe : callable
        `NaiveBayes`, which gives the model of features.
    """
    columns: dict[str, dict[int, Candidate]] = defaultdict(dict)
    for position, each in candidates_of.items():
        for candidate in each:
            columns[candidate.name][position] = candidate
    found: dict[int, list[Candidate]] = {position: [] for position in candidates_of}
    for of_family in columns.values():
        for position, candidate in _compare_one(rows, of_family, describe):
            found[position].append(candidate)

    def worst_last(candidate: Candidate) -> float:
        return np.inf if np.isnan(candidate.log_evidence) else -candidate.log_evidence

    # A stable sort: of equal evidences the first candidate is chosen. NaN, an evidence beyond float64, comes last.
    return {position: tuple(sorted(each, key=worst_last)) for position, each in found.items()}


def _compare_one(
    rows: Rows, candidate_of: Mapping[int, Candidate], describe: Callable[[Any], Any]
) -> Iterator[tuple[int, Candidate]]:
    """The evidences of one family for some columns."""
    table = rows.table
    features = {table.names[position]: candidate.family for position, candidate in candidate_of.items()}
    model = bound_to(describe(features), rows, rows.classes)
    statistics = model.read(table).count(rows.codes, rows.weights).statistics
    for block, counted in zip(model.resolve(statistics).blocks, statistics.blocks, strict=True):
        assert isinstance(block.family, ConjugateFamily)
        with np.errstate(all="ignore"):
            log_evidence = np.asarray(block.family.log_evidence(counted)).sum(axis=0)
        after: Any = block.family.update(counted)
        gains = results_in_order(
            partial(_of_intervals, rows, candidate_of, block.columns, after), range(len(block.columns))
        )
        for position, own, gain in zip(block.columns, log_evidence.tolist(), gains, strict=True):
            candidate = candidate_of[position]
            yield position, replace(candidate, log_evidence=own + candidate.correction + gain)


LOG_PEAK: Mapping[type, Callable[..., Any]] = {
    Gaussian: lambda _, sd: -np.log(sd) - HALF_LOG_2_PI,
    LogNormal: lambda sd, _, median: sd**2 / 2 - np.log(median) - np.log(sd) - HALF_LOG_2_PI,
    Exponential: lambda _, mean: -np.log(mean),
}
"""Log of each density's maximum, for `DENSITIES`, given the arguments of SciPy's distribution."""


def _of_intervals(
    rows: Rows, candidate_of: Mapping[int, Candidate], columns: Sequence[int], posterior: Any, j: int
) -> float:
    """Log evidence of column j with cells as intervals that are rounded to them, minus that with cells as points.

    The density of a cell is its average over the column's resolution, at the posterior mean of the parameters: without
    it, densities that are narrower than the resolution would win. A cell of nearly no probability gains nothing.
    """
    candidate = candidate_of[columns[j]]
    step, gain, cells = candidate.step, 0.0, None
    if not step:
        return 0.0
    density = column_family(posterior.family if candidate.hurdle else posterior, j)
    for c in range(len(rows.classes)):
        with np.errstate(all="ignore"):
            own, *mean = _distribution_at_mean(density, c)
            # No interval has so much probability. Rounding of the ends changes less than half of a step.
            if np.log(step) + LOG_PEAK[type(density)](*mean) < np.log(SMALLEST / 2):
                continue
        cells = rows.table.number_column(columns[j], slice(None)) if cells is None else cells
        counted = (rows.codes == c) & (rows.weights > 0) & ~np.isnan(cells)
        if candidate.hurdle:
            counted &= cells != 0
        x, number = weighted_values(cells[counted], rows.weights[counted])
        with np.errstate(all="ignore"):
            prob = np.maximum(own.cdf(x + step / 2, *mean) - own.cdf(x - step / 2, *mean), SMALLEST)
            more = np.log(prob / step) - own.logpdf(x, *mean)
        gain += float(number @ np.where(prob > SMALLEST, more, 0.0))
    return gain


def _distribution_at_mean(density: Any, c: int) -> tuple[Any, ...]:
    """SciPy's distribution of a class's cells and its arguments, the posterior mean, for one of `DENSITIES`."""
    from scipy import stats

    shape, rate = density.concentration[c, 0], density.rate[c, 0]
    if isinstance(density, Exponential):
        return stats.expon, 0.0, rate / shape
    loc, sd = density.loc[c, 0], np.sqrt(rate / (shape - 1)) if shape > 1 else np.inf
    return (stats.lognorm, sd, 0.0, np.exp(loc)) if isinstance(density, LogNormal) else (stats.norm, loc, sd)


# --------------------------------------------------------------------------------------------------
# A family for each column: given, or by the column's evidence
# --------------------------------------------------------------------------------------------------


def choose_features(columns: OpenColumns, rows: Rows, describe: Callable[[Any], Any]) -> dict[Any, Family]:
    """A family for each column, by its evidence where none is given; warnings as for `NaiveBayes.from_frame`.

    A column without an observed cell has the same evidence under every family, and gets the family of its type.
    """
    # Rows without a label do not count, but the family must hold their cells.
    weights = np.where(rows.codes < 0, 0.0, rows.weights)
    rows = replace(rows, table=columns.table.counting(weights), codes=np.maximum(rows.codes, 0), weights=weights)
    each = results_in_order(lambda position: candidates(rows.table, position, weights), columns.open)
    found: dict[int, tuple[Candidate, ...]] = dict(zip(columns.open, each, strict=True))
    # The evidence of a single candidate is not needed.
    several = {position: own for position, own in found.items() if len(own) > 1}
    found |= compare_candidates(rows, several, describe)
    warn_of_doubts(columns.doubts)
    return columns.features(
        {p: own[0].family if own else _guess_family(columns.table, p)[0] for p, own in found.items()}
    )
