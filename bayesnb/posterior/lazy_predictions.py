"""Predictions of lazy tables: the flat form of a posterior as expressions that the engine of the table computes.

Each step adds columns that later steps read, so that an engine computes them once. The columns have the names of what
they hold: raw numbers `r`, numbers `n` and codes `k` of the scorer's readings, places in tables `t`, densities `d`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce
from itertools import product
from operator import add, and_, mul, or_
from typing import Any

import narwhals as nw
import numpy as np

from bayesnb.core.cells import LARGEST_NUMBER, OTHER
from bayesnb.core.checking import listed
from bayesnb.core.plain_formulas import FROM, HIGHEST, log_correction, rest_by_series
from bayesnb.core.recipes import COPY
from bayesnb.data.lazy_table import is_lazy, lazy_frame
from bayesnb.data.read import as_graph_value, is_dask, without_rows
from bayesnb.serve.scorer import MultivariateT, Reading, RisingFactorials, Scorer, StudentT

FEW = 20
"""Lists of so few are chains of comparisons, which Polars computes faster than a list, and which all databases have."""

MOST_PATTERNS = 20
"""So many patterns of gaps a block of numbers may have."""

NOTHING, IMPOSSIBLE = -1e100, -1e99
"""The logarithm of zero, and a bound that only sums with it are below: engines differ in how they write infinity."""

LARGE_EXPONENT = 1e6
"""From such an exponent on, the digits that log(1 + q) loses where q is small are put back."""

TYPES: dict[type, Any] = {bool: nw.Boolean, int: nw.Int64, float: nw.Float64, str: nw.String}
"""Types of columns of labels."""

TEXT = (nw.String, nw.Categorical, nw.Enum)

# --------------------------------------------------------------------------------------------------
# Formulas
# --------------------------------------------------------------------------------------------------


def _log1p(q: nw.Expr, *, exact: bool = True) -> nw.Expr:
    """log(1 + q); exactly, with what rounding 1 + q takes away."""
    u = q + 1.0
    return u.log() - (u - 1.0 - q) / u if exact else u.log()


def _total(terms: Iterable[Any]) -> Any:
    return reduce(add, terms)


def _in_order(x: nw.Expr, edges: Sequence[float], values: Sequence[Any]) -> nw.Expr:
    """The value whose place is how many of some ascending edges are not above x, by a binary search."""
    if not edges:
        return nw.lit(values[0])
    middle = len(edges) // 2
    below, above = (edges[:middle], values[: middle + 1]), (edges[middle + 1 :], values[middle + 1 :])
    return nw.when(x < edges[middle]).then(_in_order(x, *below)).otherwise(_in_order(x, *above))


def _chosen(x: nw.Expr, keys: Iterable[Any], values: Iterable[Any], other: nw.Expr) -> nw.Expr:
    """The value of the key that x equals."""
    for key, value in reversed([*zip(keys, values, strict=True)]):
        other = nw.when(x == key).then(nw.lit(value)).otherwise(other)
    return other


def _student_t(of: StudentT, j: int, c: int, x: nw.Expr, log_x: nw.Expr) -> nw.Expr:
    loc, scale, exponent, constant = (float(a[c, j]) for a in (of.loc, of.scale, of.exponent, of.constant))
    away = (log_x if of.is_log[j] else x) - loc
    excess = away / scale if of.is_linear[j] else away * away * scale
    found = _log1p(excess, exact=abs(exponent) > LARGE_EXPONENT) * exponent + constant
    return nw.when(x == 0.0).then(nw.lit(float(of.at_zero[c, j]))).otherwise(found) if of.has_zero[j] else found


def _rising(a: float, x: nw.Expr) -> nw.Expr:
    """`rising_in_numpy` for a number a."""
    if a < FROM:
        factors = [a + k for k in range(int(FROM))]
        return _rising(a + FROM, x) - reduce(mul, (x + factor for factor in factors)).log() + np.log(factors).sum()
    series = _log1p(x / a) * (x + (a - 0.5)) + x * float(np.log(a) - 1)
    z = x + a
    square = 1.0 / (z * z)
    rest = (square * (square * (square / -1680.0 + 1 / 1260) - 1 / 360) + 1 / 12) / z
    return series + rest - float(rest_by_series(a))


def _rising_factorials(of: RisingFactorials, j: int, c: int, x: nw.Expr, _: nw.Expr) -> nw.Expr:
    up, down, constant, shift = float(of.up[c, j]), float(of.down[c, j]), float(of.constant[c, j]), float(of.shift[j])
    return _rising(up, x) - (x * down if np.isnan(shift) else _rising(down, x + shift)) + constant


def _vector(of: MultivariateT, c: int, there: tuple[int, ...], x: Sequence[nw.Expr]) -> nw.Expr:
    root, constant, exponent, loc = of.root(there)
    away = [x[k] - float(loc[c, i]) for i, k in enumerate(there)]
    lengths = [_total(away[j] * float(root[c, i, j]) for j in range(i + 1)) for i in range(len(there))]
    return _log1p(_total(one * one for one in lengths)) * float(exponent[c, 0]) + float(constant[c, 0])


# --------------------------------------------------------------------------------------------------
# What engines have names of their own for
# --------------------------------------------------------------------------------------------------


def _apart(frame: Any) -> Any:
    """A frame whose columns are computed once; Ibis writes one query of several steps, with each column again."""
    return nw.from_native(frame.to_native().view()) if frame.implementation.is_ibis() else frame


Look = tuple[str, Sequence[Any]]
"""A column, and a list in which its cells are looked up."""


def _looked_up(frame: Any, items: Mapping[str, Look], places: Mapping[str, Look]) -> Any:
    """A frame with further columns, by name: items of lists at places from 0, and places from 1 of values in lists.

    The place of a value that is not in the list is 0 or null. A list in the query keeps the order of the rows, which a
    join does not.
    """
    native, kind = frame.to_native(), frame.implementation
    if not items and not places:
        return frame
    if kind.is_duckdb():
        found = [f'list_extract({_sql(own)}::DOUBLE[], "{at}" + 1) AS "{name}"' for name, (at, own) in items.items()]
        found += [f'list_position({_sql(own)}, "{at}") AS "{name}"' for name, (at, own) in places.items()]
        return nw.from_native(native.project(", ".join(["*", *found])))
    if kind.is_ibis():
        array = kind.to_native_namespace().array
        new = {name: array(own)[native[at]] for name, (at, own) in items.items()}
        new |= {name: array(own).index(native[at]) + 1 for name, (at, own) in places.items()}
        return nw.from_native(native.mutate(**new))
    if kind.is_pyspark():
        from pyspark.sql import functions as f

        found = [f.array(*map(f.lit, own))[f.col(at)].alias(name) for name, (at, own) in items.items()]
        found += [f.array_position(f.array(*map(f.lit, own)), f.col(at)).alias(name) for name, (at, own) in places.items()]
        return nw.from_native(native.select("*", *found))
    if kind.is_polars():
        new = {name: nw.col(at).replace_strict([*range(len(own))], own) for name, (at, own) in items.items()}
        for name, (at, own) in places.items():
            new[name] = nw.col(at).replace_strict(own, [*range(1, len(own) + 1)], default=None, return_dtype=nw.Int64)
        return frame.with_columns(**new)
    new = {name: _in_order(nw.col(at), [*range(1, len(own))], own) for name, (at, own) in items.items()}
    for name, (at, own) in places.items():
        new[name] = _chosen(nw.col(at), own, range(1, len(own) + 1), nw.lit(0))
    return frame.with_columns(**new)


def _sql(values: Sequence[Any]) -> str:
    """A list in SQL; a number without an exponent would be decimal."""
    texts = ["'" + one.replace("'", "''") + "'" if isinstance(one, str) else format(one, ".17e") for one in values]
    return f"[{', '.join(texts)}]"


# --------------------------------------------------------------------------------------------------
# Cells of a column as numbers and codes
# --------------------------------------------------------------------------------------------------


def _days(day: nw.Expr) -> nw.Expr:
    """Days since 2000, of the proleptic Gregorian calendar; the year begins in March."""
    after = (day.dt.month().cast(nw.Int64) + 9) % 12
    year = day.dt.year().cast(nw.Int64) - after // 10
    whole = year * 365 + year // 4 - year // 100 + year // 400 + (after * 306 + 5) // 10 + day.dt.day()
    return whole.cast(nw.Float64) - 730426.0


def _date_part(cells: nw.Expr, dtype: Any, part: str) -> nw.Expr:
    has_time = dtype != nw.Date
    if part == "day":
        found = _days(cells)
        if has_time:
            units = {"hour": 24.0, "minute": 1440.0, "second": 86400.0, "microsecond": 86400e6}
            found = _total([found, *(getattr(cells.dt, unit)().cast(nw.Float64) / each for unit, each in units.items())])
    elif part == "hour" and not has_time:
        found = nw.when(~cells.is_null()).then(nw.lit(0))
    else:
        found = getattr(cells.dt, part)()
    # On Spark, narwhals counts Sunday as 0.
    return (found.cast(nw.Int64) + 6) % 7 + 1 if part == "weekday" else found


class _Column:
    """A column of a lazy table, as expressions.

    Attributes
    ----------
    name : str
    dtype : narwhals.dtypes.DType
    """

    def __init__(self, name: str, dtype: Any) -> None:
        self.name, self.dtype = name, dtype
        self.is_text = dtype in TEXT
        self.is_number = dtype.is_numeric() or dtype == nw.Boolean

    def made_of(self, reading: Reading) -> nw.Expr:
        """What a recipe makes of the cells."""
        cells = nw.col(self.name)
        if reading.recipe == "missing":
            missing = cells.is_null() | cells.is_nan() if self.dtype.is_float() else cells.is_null()
            return nw.when(missing).then(nw.lit(1)).otherwise(nw.lit(0))
        if reading.recipe == "date":
            if self.dtype not in (nw.Date, nw.Datetime):
                raise TypeError(
                    f"column {self.name!r} holds {self.dtype}, and the fit read dates of it: convert it to dates or "
                    "timestamps in the query"
                )
            return _date_part(cells, self.dtype, dict(reading.settings)["part"])
        return cells

    def numbers(self, reading: Reading) -> nw.Expr:
        """Cells as float64; missing ones are null or NaN."""
        if reading.recipe in (COPY, "category") and not self.is_number:
            told = "text" if self.is_text else str(self.dtype)
            raise TypeError(
                f"column {self.name!r} holds {told} where its family needs numbers: convert it in the query, a date "
                "for example to days since a first day"
            )
        return self.made_of(reading).cast(nw.Float64)

    def categories(self, reading: Reading) -> tuple[nw.Expr, dict[Any, int]]:
        """Cells as text or as numbers, and the codes of the categories of the same type."""
        is_text = self.is_text and reading.recipe != "missing"
        kind, dtype = (str, nw.String) if is_text else (int | float, nw.Float64)
        own = enumerate(reading.categories or ())
        known = {value if is_text else float(value): code for code, value in own if isinstance(value, kind)}
        if reading.others:
            known.pop(OTHER, None)
        elif not known:
            raise TypeError(
                f"column {self.name!r} holds {self.dtype}, and its categories in the fit are of another type, such as "
                f"{(reading.categories or ())[0]!r}: convert the column in the query"
            )
        if not is_text and not self.is_number and reading.recipe == COPY:
            raise TypeError(f"column {self.name!r} holds {self.dtype}, which is neither text nor numbers: convert it")
        cells = self.made_of(reading).cast(dtype)
        return (cells if is_text else nw.when(~cells.is_nan()).then(cells)), known


# --------------------------------------------------------------------------------------------------
# The log joint density, step by step
# --------------------------------------------------------------------------------------------------


class _Query:
    """A lazy table with what a `Scorer` finds of its rows.

    Attributes
    ----------
    frame : narwhals.LazyFrame
    joint : list of narwhals.Expr
        The log joint density with each class.
    refused : narwhals.Expr or None
        Whether a row has a number that its family does not hold.
    """

    def __init__(self, scorer: Scorer, frame: Any, columns: Mapping[int, _Column]) -> None:
        self.scorer, self.frame = scorer, frame
        self.mark = "_nb"
        while any(name.startswith(self.mark) for name in frame.columns):
            self.mark += "_"
        self.classes = range(len(scorer.classes))
        self.few = 1 if frame.implementation.is_duckdb() else FEW
        self.refused: Any = None
        self._read(columns)
        added = self._of_tables() + self._of_densities()
        joint = [_total([*(of_class[c] for of_class in added), nw.lit(0.0)]) for c in self.classes]
        prior = _finite(scorer.log_prior_of_rows)
        if scorer.share:
            (joint,) = self._mixed([self._put("s", joint)], prior, scorer.share)
        shift = prior + _finite(np.broadcast_to(log_correction(scorer.log_given, scorer.log_class_prob), prior.shape))
        self.joint = self._put("j", [each + float(shift[c]) for c, each in enumerate(joint)])

    def _step(self, columns: Mapping[str, nw.Expr]) -> None:
        if columns:
            self.frame = _apart(self.frame.with_columns(**columns))

    def _name(self, kind: str, place: int) -> str:
        return f"{self.mark}{kind}{place}"

    def _put(self, kind: str, columns: Sequence[nw.Expr]) -> list[nw.Expr]:
        """Add columns in one step."""
        names = [self._name(kind, place) for place, _ in enumerate(columns)]
        self._step(dict(zip(names, columns, strict=True)))
        return [nw.col(name) for name in names]

    def _read(self, columns: Mapping[int, _Column]) -> None:
        """Put the numbers and the codes."""
        scorer = self.scorer
        coded, numbered = scorer.code_readings, scorer.number_readings
        raw = self._put("r", [columns[one.column].numbers(one) for one in numbered])
        binned = [columns[one.column].numbers(one) for one in coded if one.edges is not None]
        binned = iter(self._put("e", [nw.when(~x.is_nan()).then(x) for x in binned]))
        inside = [
            nw.when((x >= one.lowest) & (x <= one.highest)).then(x) if np.isfinite([one.lowest, one.highest]).all() else x
            for x, one in zip(raw, numbered, strict=True)
        ]
        self.numbers = self._put("i", inside)
        self.numbers = self._put(
            "n",
            [
                nw.when(x == x.floor()).then(x) if one.whole else x
                for x, one in zip(self.numbers, numbered, strict=True)
            ],
        )
        flags = [
            ~x.is_null() & ~x.is_nan() & kept.is_null() & (x.abs() > LARGEST_NUMBER if one.tolerant else nw.lit(True))
            for x, kept, one in zip(raw, self.numbers, numbered, strict=True)
        ]
        if flags:
            (self.refused,) = self._put("f", [reduce(or_, flags)])
        of_categories = iter(self._codes([(columns[one.column], one) for one in coded if one.edges is None]))
        codes = [
            next(of_categories) if one.edges is None else _code_in_bins(next(binned), one.edges) for one in coded
        ]
        codes += [
            _code_in_bins(self.numbers[k], edges.tolist(), whole=numbered[k].whole) for k, edges in scorer.bins
        ]
        self.codes = self._put("k", codes)
        self.sizes = [one.num_codes for one in coded] + [len(edges) + 1 for _, edges in scorer.bins]

    def _codes(self, readings: Sequence[tuple[_Column, Reading]]) -> list[nw.Expr]:
        """Positions of cells among categories, the number of categories for a missing one."""
        read = [column.categories(reading) for column, reading in readings]
        cells = self._put("c", [own for own, _ in read])
        # Beside numbers, categories may be text; and whole numbers may have more digits than float64.
        lists = [[*known.values()] == [*range(len(known))] and len(known) > self.few for _, known in read]
        many = {self._name("p", k): (self._name("c", k), [*known]) for k, (_, known) in enumerate(read) if lists[k]}
        self.frame = _apart(_looked_up(self.frame, {}, many))
        found = []
        for k, (x, (_, reading), (_, known)) in enumerate(zip(cells, readings, read, strict=True)):
            missing = reading.num_codes
            other = nw.lit(missing - 1 if reading.others else missing)
            place = nw.col(self._name("p", k))
            own = nw.when(place > 0).then(place - 1).otherwise(other) if lists[k] else _chosen(x, known, known.values(), other)
            found.append(nw.when(x.is_null()).then(nw.lit(missing)).otherwise(own) if reading.others else own)
        return found

    def _of_tables(self) -> list[list[nw.Expr]]:
        """What the features that are looked up add, by feature and class."""
        tables = self.scorer.tables
        entries = np.nan_to_num(tables.entries, neginf=NOTHING)
        places, parts = [], []
        for start, coding, stride in zip(tables.start, tables.coding.tolist(), tables.stride.tolist(), strict=True):
            pairs = [(k, s) for k, s in zip(coding, stride, strict=True) if s]
            places.append(_total([self.codes[k] * s if s > 1 else self.codes[k] for k, s in pairs]))
            parts.append(entries[:, start : start + 1 + sum(self.sizes[k] * s for k, s in pairs)])
        places = self._put("t", places)
        wanted, found = {}, []
        for j, (place, own) in enumerate(zip(places, parts, strict=True)):
            last = own.shape[1] - 1
            if last < self.few:
                found.append([_chosen(place, range(last), row[:-1].tolist(), nw.lit(float(row[-1]))) for row in own])
                continue
            names = [self._name(f"t{j}c", c) for c in self.classes]
            wanted |= {name: (self._name("t", j), row.tolist()) for name, row in zip(names, own, strict=True)}
            found.append([nw.col(name) for name in names])
        self.frame = _apart(_looked_up(self.frame, wanted, {}))
        return found

    def _of_densities(self) -> list[list[nw.Expr]]:
        """What the other features add, by feature and class."""
        scorer, found = self.scorer, []
        logs = {int(k): None for of in scorer.densities if isinstance(of, StudentT) for k in of.number[of.is_log == 1]}
        put = self._put("l", [nw.when(self.numbers[k] > 0.0).then(self.numbers[k]).log() for k in logs])
        logs = dict(zip(logs, put, strict=True))
        for of in scorer.densities:
            if isinstance(of, MultivariateT):
                found.append(self._of_vector(of))
                continue
            formula: Callable[..., nw.Expr] = _student_t if isinstance(of, StudentT) else _rising_factorials
            for j, k in enumerate(of.number.tolist()):
                x = self.numbers[k]
                each = [formula(of, j, c, x, logs.get(k, x)) for c in self.classes]
                found.append([nw.when(x.is_null()).then(nw.lit(0.0)).otherwise(one) for one in each])
        if not found:
            return []
        if scorer.share_of_feature:
            put = [self._put(f"d{j}c", own) for j, own in enumerate(found)]
            found = self._mixed(put, _finite(scorer.log_class_prob), scorer.share_of_feature)
        return [[one * float(weight) for one in own] for own, weight in zip(found, scorer.weight, strict=True)]

    def _of_vector(self, of: MultivariateT) -> list[nw.Expr]:
        x = [self.numbers[k] for k in of.numbers]
        there = [~one.is_null() for one in x]
        if 2 ** len(x) - 1 <= MOST_PATTERNS:
            patterns = [*product([False, True], repeat=len(x))]
        else:
            names = [f"{self.mark}{k}" for k in range(len(x))]
            flags = self.frame.select(**dict(zip(names, there, strict=True))).unique().head(MOST_PATTERNS + 1).collect()
            patterns = flags.rows()
        if len(patterns) > MOST_PATTERNS:
            columns = [self.scorer.columns[self.scorer.number_readings[k].column] for k in of.numbers]
            raise ValueError(
                f"columns {listed(columns)}, one block of numbers, have more than {MOST_PATTERNS} patterns of missing cells: fill "
                "them in, or predict in memory"
            )
        kinds = [tuple(np.flatnonzero(kind).tolist()) for kind in patterns if any(kind)]
        found = [nw.lit(0.0) for _ in self.classes]
        for kind in sorted(kinds, key=len):
            here = reduce(and_, [there[k] if k in kind else ~there[k] for k in range(len(x))])
            found = [nw.when(here).then(_vector(of, c, kind, x)).otherwise(found[c]) for c in self.classes]
        return found

    def _mixed(self, features: list[list[nw.Expr]], log_prior: np.ndarray, share: float) -> list[list[nw.Expr]]:
        """`mixed` of columns of densities, by feature and class."""
        kind = f"m{len(features)}"
        highest = self._put(
            f"{kind}h",
            [nw.max_horizontal(*(x + float(p) for x, p in zip(own, log_prior, strict=True))) for own in features],
        )
        clip = partial(nw.min_horizontal, nw.lit(HIGHEST)) if log_prior.min() < IMPOSSIBLE else lambda x: x
        each = [
            self._put(f"{kind}e{j}c", [clip(x - top).exp() for x in own])
            for j, (own, top) in enumerate(zip(features, highest, strict=True))
        ]
        prior = np.exp(log_prior)
        pooled = self._put(
            f"{kind}p", [_total(x * float(p) for x, p in zip(own, share * prior, strict=True)) for own in each]
        )
        return [
            [top + (x * (1.0 - share) + both).log() for x in own]
            for own, top, both in zip(each, highest, pooled, strict=True)
        ]

    def _highest(self) -> Any:
        (highest,) = self._put("h", [nw.max_horizontal(*self.joint)])
        return highest

    def _answer(self, found: nw.Expr) -> nw.Expr:
        return found if self.refused is None else nw.when(~self.refused).then(found)

    def proba(self) -> list[nw.Expr]:
        """Probabilities of the classes."""
        highest = self._highest()
        each = self._put("w", [(x - highest).exp() for x in self.joint])
        (total,) = self._put("z", [_total(each)])
        instead = np.exp(self.scorer.log_prior)
        return [
            self._answer(nw.when(highest > IMPOSSIBLE).then(x / total).otherwise(nw.lit(float(instead[c]))))
            for c, x in enumerate(each)
        ]

    def prediction(self) -> nw.Expr:
        """The most probable labels."""
        kinds = {*map(type, self.scorer.classes)}
        if len(kinds) > 1 or not kinds <= TYPES.keys():
            raise TypeError(
                f"the classes are {listed(self.scorer.classes)}, and a column of an engine holds text, whole numbers, "
                "numbers or booleans alone: take predict_proba"
            )
        highest = self._highest()
        labels = [nw.lit(label, dtype=TYPES[type(label)]) for label in self.scorer.classes]
        *first, found = zip(self.joint, labels, strict=True)
        answer = found[1]
        for x, label in reversed(first):
            answer = nw.when(x == highest).then(label).otherwise(answer)
        instead = labels[int(np.argmax(self.scorer.log_prior))]
        return self._answer(nw.when(highest > IMPOSSIBLE).then(answer).otherwise(instead))


def _finite(logs: np.ndarray) -> np.ndarray:
    return np.nan_to_num(logs, neginf=NOTHING)


def _code_in_bins(x: nw.Expr, edges: Sequence[float], *, whole: bool = False) -> nw.Expr:
    """`codes_in_bins` of a column."""
    missing = len(edges) + 1
    if whole and edges[-1] - edges[0] == len(edges) - 1:  # the numbers are the codes
        inside = nw.when(x < edges[0]).then(nw.lit(0)).otherwise((x - (edges[0] - 1)).cast(nw.Int64))
        found = nw.when(x > edges[-1]).then(nw.lit(missing - 1)).otherwise(inside)
    else:
        found = _in_order(x, edges, [*range(missing)])
    return nw.when(x.is_null()).then(nw.lit(missing)).otherwise(found)


# --------------------------------------------------------------------------------------------------
# Predictions
# --------------------------------------------------------------------------------------------------

GIVE_TABLES = ("predict_proba", "predict")
"""Methods of a posterior that take lazy tables."""


def gives_table(X: Any, method: str) -> bool:
    """Whether predictions of a table are columns of it: of lazy tables, and of data frames of Dask."""
    return is_lazy(X) or (is_dask(X) and method in GIVE_TABLES and hasattr(X, "columns"))


def lazy_predictions(posterior: Any, method: str, X: Any, options: Mapping[str, Any]) -> Any:
    """The columns of a lazy table with those of a prediction, as a lazy table of the same engine.

    Parameters
    ----------
    posterior : Posterior
    method : str
        Of the posterior: ``"predict_proba"`` or ``"predict"``.
    X : lazy table
    options : mapping
        Further arguments of the method.

    Raises
    ------
    TypeError, ValueError
        If the method takes tables in memory, the posterior has no flat form, X lacks a column or holds it in another
        type, or it has a column of the name of the predictions.
    """
    if method not in GIVE_TABLES:
        raise TypeError(
            f"{method} takes rows in memory: collect the lazy table first, or take predict_proba or predict, which "
            "give a lazy table"
        )
    labels = posterior.model.schema.classes.tolist()
    new = [f"proba_{label}" for label in labels] if method == "predict_proba" else ["prediction"]
    if is_dask(X):
        _require_new(X.columns, new, any_case=False)
        like = _with_predictions(without_rows(X, True), posterior, method, new, options)
        return X.map_partitions(
            _with_predictions, as_graph_value("posterior", posterior), method, new, options, meta=like
        )
    if any(value is not None for value in options.values()):
        raise TypeError(
            f"predict of a lazy table takes no {listed(options)}: take predict_proba, and write the rule of the "
            "decision as an expression of its columns"
        )
    flat, frame = posterior.belief.flat, lazy_frame(X)
    if flat is None:
        raise ValueError(
            f"{method} of a lazy table needs the flat form of a posterior: draws, averages over features, counts of "
            "words, point estimates of numbers and families of your own without a `scorer` have none; collect the table, "
            "or predict it in pieces"
        )
    scorer, types = flat.scorer, frame.collect_schema()
    names = tuple(types.names())
    used = sorted({one.column for one in (*scorer.code_readings, *scorer.number_readings)})
    places = posterior.model.schema.locate(names, True, [used])
    _require_new(names, new, any_case=not frame.implementation.is_polars())
    columns = {at: _Column(names[places[at]], types[names[places[at]]]) for at in used}
    query = _Query(scorer, frame, columns)
    found = query.proba() if method == "predict_proba" else [query.prediction()]
    return query.frame.select(*names, **dict(zip(new, found, strict=True))).to_native()


def _with_predictions(
    frame: Any, posterior: Any, method: str, new: Sequence[str], options: Mapping[str, Any]
) -> Any:
    """A pandas frame with columns of predictions."""
    found = getattr(posterior, method)(frame, **options)
    return frame.assign(**dict(zip(new, found.T if method == "predict_proba" else [found], strict=True)))


def _require_new(names: Sequence[str], new: Sequence[str], *, any_case: bool) -> None:
    """Raise ValueError if a new column has the name of another one; SQL takes capitals for small letters."""
    taken = set()
    for name in (*names, *new):
        key = name.casefold() if any_case else name
        if key in taken and name in new:
            raise ValueError(
                f"X has a column {name!r} already, or two classes have the name: rename or drop it, since the "
                "predictions are a column of that name"
            )
        taken.add(key)
