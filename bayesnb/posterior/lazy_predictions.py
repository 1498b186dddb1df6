"""Predictions of lazy tables: the flat form of a posterior as expressions that the engine of the table computes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from operator import add, or_
from typing import Any

import narwhals as nw
import numpy as np

from bayesnb.core.cells import LARGEST_NUMBER
from bayesnb.core.checking import listed
from bayesnb.core.number_form import NumberForm
from bayesnb.core.plain_formulas import in_halves
from bayesnb.core.recipes import ISO
from bayesnb.data.column_expressions import Columns, PreciseColumns
from bayesnb.data.dask_table import as_graph_value, map_partitions, without_rows
from bayesnb.data.lazy_cells import (
    LazyColumn,
    bins_as_codes,
    computed_once,
    most_compared,
    of_key,
    with_looked_up,
    with_steps_apart,
)
from bayesnb.data.lazy_table import is_lazy, types_of_columns
from bayesnb.data.read import collecting, is_dask
from bayesnb.data.tables import TEXT
from bayesnb.data.text_expressions import FIELDS, dates_in_text, fields_of_dates
from bayesnb.serve.scorer import MultivariateT, Reading, Scorer

MOST_PATTERNS = 20
"""So many patterns of missing cells a block of numbers may have."""

NOTHING, IMPOSSIBLE = -1e100, -1e99
"""The logarithm of zero, and a bound that only sums with it are below: engines differ in how they write infinity."""

LARGE_EXPONENT = 1e6
"""An exponent of a density from which on digits of log(1 + q) count where q is small."""

LABEL_TYPES: dict[type, Any] = {bool: nw.Boolean, int: nw.Int64, float: nw.Float64, str: nw.String}
"""Types of columns of labels."""


def _inside_support(x: nw.Expr, reading: Reading) -> nw.Expr:
    """Numbers that a family holds, null for others."""
    inside = (x >= reading.lowest) & (x <= reading.highest)
    return nw.when(inside & (x % 1.0 == 0.0) if reading.whole else inside).then(x)


def _finite_scorer(scorer: Scorer) -> Scorer:
    """The scorer with `NOTHING` for the logarithm of zero."""

    def finite(logs: Any) -> Any:
        return logs if logs is None else np.nan_to_num(logs, neginf=NOTHING)

    tables = replace(scorer.tables, entries=finite(scorer.tables.entries))
    given = {name: finite(getattr(scorer, name)) for name in ("log_class_prob", "log_given")}
    return replace(scorer, tables=tables, **given)


# --------------------------------------------------------------------------------------------------
# The log joint density, step by step
# --------------------------------------------------------------------------------------------------


class _Query:
    """A lazy table with what a `Scorer` finds of its rows.

    It grows by columns that later steps read, so that an engine computes them once.

    Attributes
    ----------
    frame : narwhals.LazyFrame
    joint : Columns, shape (classes,)
        The log joint density with each class.
    refused : narwhals.Expr
        Whether a row has a number that its family does not hold.
    """

    def __init__(self, scorer: Scorer, frame: Any, columns: Mapping[int, LazyColumn]) -> None:
        self.frame, self.steps = with_steps_apart(frame), 0
        self.scorer = scorer = _finite_scorer(scorer)
        self.most_compared = most_compared(frame)
        self.prefix = "_nb"
        self.names = frame.collect_schema().names()
        while any(name.casefold().startswith(self.prefix) for name in self.names):
            self.prefix += "_"
        self.classes = range(len(scorer.classes))
        self._read(columns)
        added = [*self._of_tables(), *self._of_densities(), Columns.of(nw.lit(0.0) for _ in self.classes)]
        joint = np.stack(added).sum(axis=0)[None]
        if scorer.share:
            joint = self._put("features", joint, kept=[self.refused])
        self.joint = self._put("joint", scorer.joined(joint, computed=self._step), kept=[self.refused])[0]
        (self.highest,) = self._put("highest", [nw.max_horizontal(*self.joint)])

    def _step(self, columns: np.ndarray) -> np.ndarray:
        """Some columns as those of a step of their own."""
        self.steps += 1
        return self._put(f"step_{self.steps}", columns)

    def _put(self, kind: str, columns: Any, kept: Iterable[nw.Expr] | None = None) -> np.ndarray:
        """Add columns in one step, as an array of the same shape.

        Of the earlier ones only those in `kept` stay, if it is given: a step takes an engine more time, the more
        columns it has.
        """
        new = {self._name(kind, place): column for place, column in enumerate(np.ravel(columns))}
        if new:
            frame = self.frame
            frame = frame.with_columns(**new) if kept is None else frame.select(*self.names, *kept, **new)
            self.frame = computed_once(frame)
        return Columns.of(map(nw.col, new)).reshape(np.shape(columns))

    def _name(self, kind: str, place: int) -> str:
        return f"{self.prefix}_{kind}_{place}"

    def _read(self, columns: Mapping[int, LazyColumn]) -> None:
        """Put the numbers and the codes."""
        coded, numbered = self.scorer.code_readings, self.scorer.number_readings
        self._read_dates_in_text(columns)
        raw = self._put("raw", [columns[one.column].numbers(one) for one in numbered])
        self.numbers = self._put("number", [_inside_support(x, one) for x, one in zip(raw, numbered, strict=True)])
        refused = [
            ~x.is_null() & kept.is_null() & (x.abs() > (LARGEST_NUMBER if one.tolerant else -1.0))
            for x, kept, one in zip(raw, self.numbers, numbered, strict=True)
        ]
        codes = self._codes(columns)
        for k, edges in self.scorer.bins:
            one = numbered[k]
            each = one.whole and one.highest - one.lowest == len(edges)
            codes.append(bins_as_codes(self.numbers[k], edges.tolist(), one.lowest if each else None))
        flag = in_halves([*refused, nw.lit(False)], or_)
        *self.codes, self.refused = self._put("code", [*codes, flag], kept=self.numbers)
        self.sizes = [one.num_codes for one in coded] + [len(edges) + 1 for _, edges in self.scorer.bins]

    def _read_dates_in_text(self, columns: Mapping[int, LazyColumn]) -> None:
        """Put the parts of such dates, of which each is read several times."""
        readings = (*self.scorer.code_readings, *self.scorer.number_readings)
        each = {(columns[one.column], dict(one.settings)["form"]): None for one in readings if one.recipe == "date"}
        dates = [(column, form) for column, form in each if column.dtype in TEXT]
        texts = self._put("date", [dates_in_text(column.cells.cast(nw.String), form or ISO) for column, form in dates])
        parts = [fields_of_dates(text, form or ISO) for text, (_, form) in zip(texts, dates, strict=True)]
        found = self._put("part", [[*own.values()] for own in parts])
        for (column, form), own in zip(dates, found, strict=True):
            column.dates[form] = dict(zip(FIELDS, own, strict=True))

    def _codes(self, columns: Mapping[int, LazyColumn]) -> list[nw.Expr]:
        """Positions of cells among categories, the number of categories for a missing one; or codes of bins."""
        coded = self.scorer.code_readings
        read = [
            (columns[one.column].numbers(one), {}) if one.edges else columns[one.column].categories(one)
            for one in coded
        ]
        cells = self._put("cell", [own for own, _ in read])
        many = {
            self._name("place", k): (self._name("cell", k), [*own])
            for k, (_, own) in enumerate(read)
            if len(own) > self.most_compared and [*own.values()] == [*range(len(own))]
        }
        self.frame = computed_once(with_looked_up(self.frame, {}, many))
        found = []
        for k, (x, reading, (_, own)) in enumerate(zip(cells, coded, read, strict=True)):
            missing = nw.lit(reading.num_codes)
            other = nw.lit(reading.num_codes - 1) if reading.others else missing
            if reading.edges:
                code = bins_as_codes(x, reading.edges)
            elif (name := self._name("place", k)) in many:
                code = nw.when(nw.col(name) > 0).then(nw.col(name) - 1).otherwise(other)
            else:
                code = of_key(x, own, own.values(), other)
            found.append(nw.when(x.is_null()).then(missing).otherwise(code) if reading.others else code)
        return found

    def _of_tables(self) -> list[Any]:
        """What the features that are looked up add, (features, classes)."""
        tables = self.scorer.tables
        entries, parts, places = tables.entries, [], []
        several: list[nw.Expr] = []
        for start, coding, stride in zip(tables.start, tables.coding.tolist(), tables.stride.tolist(), strict=True):
            pairs = [(k, step) for k, step in zip(coding, stride, strict=True) if step]
            parts.append(entries[:, start : start + 1 + sum(self.sizes[k] * step for k, step in pairs)])
            places.append(self._name("code", pairs[0][0]) if len(pairs) == 1 else self._name("codes", len(several)))
            if len(pairs) > 1:
                several.append(in_halves([self.codes[k] * step for k, step in pairs], add))
        self._put("codes", several)
        items: dict[str, tuple[str, list[float]]] = {}
        found = []
        for j, (place, own) in enumerate(zip(places, parts, strict=True)):
            last = own.shape[1] - 1
            if last < self.most_compared:
                rows = own.tolist()
                found.append([of_key(nw.col(place), range(last), row[:-1], nw.lit(row[-1])) for row in rows])
                continue
            names = [self._name(f"entry_{j}", c) for c in self.classes]
            items |= {name: (place, row.tolist()) for name, row in zip(names, own, strict=True)}
            found.append([nw.col(name) for name in names])
        self.frame = computed_once(with_looked_up(self.frame, items, {}))
        return found

    def _of_densities(self) -> Any:
        """What the other features add, (features, classes)."""
        scorer = self.scorer
        if not scorer.densities:
            return ()
        exponents = [vars(of).get(name, 0.0) for of in scorer.densities for name in ("exponent", "df", "up", "down")]
        precise = max(np.abs(each).max() for each in exponents) > LARGE_EXPONENT
        x = self.numbers[:, None].view(PreciseColumns if precise else Columns)
        found = [
            self._of_block(of, x) if isinstance(of, MultivariateT) else of.log_density(x) for of in scorer.densities
        ]
        density = np.concatenate(found, axis=1)
        if scorer.share_of_feature:
            density = self._step(density)
        return scorer.of_densities(density, computed=self._step)[..., 0].T

    def _of_block(self, of: MultivariateT, numbers: np.ndarray) -> np.ndarray:
        """The log density of a block of numbers, for each pattern of missing cells that may be, or that there is."""
        x = numbers[of.numbers]
        there = ~np.isnan(x)
        patterns = [*product([False, True], repeat=len(x))] if len(x) < 5 else self._patterns(of, there)
        found: Any = np.zeros((len(self.classes), 1))
        for kind in sorted(tuple(np.flatnonzero(pattern).tolist()) for pattern in patterns if any(pattern)):
            here = np.stack([there[k] if k in kind else ~there[k] for k in range(len(x))]).all(axis=0)
            found = np.where(here, of.of_columns(kind, x[list(kind)]), found)
        return found[:, None]

    def _patterns(self, of: MultivariateT, there: np.ndarray) -> list[tuple[Any, ...]]:
        flags = self.frame.select(**{self._name("observed", k): flag for k, flag in enumerate(there.flat)})
        found = flags.unique().head(MOST_PATTERNS + 1).collect().rows()
        if len(found) > MOST_PATTERNS:
            columns = [self.scorer.columns[self.scorer.number_readings[k].column] for k in of.numbers]
            raise ValueError(
                f"columns {listed(columns)}, one block of numbers, have more than {MOST_PATTERNS} patterns of missing "
                "cells: fill them in, or predict in memory"
            )
        return found

    def _answer(self, found: nw.Expr, instead: nw.Expr) -> nw.Expr:
        """What is found of a row; something else if no class can have the row, null if it is refused."""
        return nw.when(~self.refused).then(nw.when(self.highest > IMPOSSIBLE).then(found).otherwise(instead))

    def proba(self) -> list[nw.Expr]:
        """Probabilities of the classes."""
        each = self._put("weight", np.exp(self.joint - self.highest))
        (total,) = self._put("total", each.sum(axis=0, keepdims=True))
        instead = np.exp(self.scorer.log_prior).tolist()
        return [self._answer(x / total, nw.lit(prob)) for x, prob in zip(each, instead, strict=True)]

    def prediction(self) -> nw.Expr:
        """The most probable labels."""
        kinds = {*map(type, self.scorer.classes)}
        if len(kinds) > 1 or not kinds <= LABEL_TYPES.keys():
            raise TypeError(
                f"the classes are {listed(self.scorer.classes)}, and a column of an engine holds text, whole numbers, "
                "numbers or booleans alone: take predict_proba"
            )
        dtype = LABEL_TYPES[kinds.pop()]
        if dtype == nw.Int64 and max(self.scorer.classes) >= 2**63:
            dtype = nw.UInt64
        labels = [nw.lit(label, dtype=dtype) for label in self.scorer.classes]
        found = of_key(self.highest, self.joint, labels, labels[-1])
        return self._answer(found, labels[int(np.argmax(self.scorer.log_prior))])


# --------------------------------------------------------------------------------------------------
# Predictions
# --------------------------------------------------------------------------------------------------

GIVE_TABLES = ("predict_proba", "predict")
"""Methods of a posterior that take lazy tables."""


def gives_table(X: Any, method: str) -> bool:
    """Whether predictions of a table are columns of it: of lazy tables, and of data frames of Dask."""
    return is_lazy(X) or (is_dask(X) and method in GIVE_TABLES and hasattr(X, "columns"))


def proba_in_memory(posterior: Any, X: Any) -> np.ndarray:
    """For `predict_set`, class probabilities of all but lazy tables as a NumPy array, shape (rows, classes)."""
    if is_dask(X):
        return np.asarray(map_partitions(posterior.predict_proba, X))
    if is_lazy(X):
        raise TypeError(f"predict_set takes rows in memory: X.{collecting(X)}")
    return posterior.predict_proba(X)


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
            f"{method} takes rows in memory, X.{collecting(X)}: of a lazy table, take predict_proba or predict, which "
            "give a lazy table"
        )
    labels = posterior.model.schema.classes.tolist()
    new = [f"proba_{label}" for label in labels] if method == "predict_proba" else ["prediction"]
    if is_dask(X):
        require_new_columns(X.columns, new, any_case=False)
        arguments = method, new, options
        like = _with_predictions(without_rows(X, True), posterior, *arguments)
        return X.map_partitions(_with_predictions, as_graph_value("posterior", posterior), *arguments, meta=like)
    if any(value is not None for value in options.values()):
        raise TypeError(
            f"predict of a lazy table takes no {listed(options)}: take predict_proba, and write the rule of the "
            "decision as an expression of its columns"
        )
    flat, frame = posterior.belief.flat, nw.from_native(X)
    if flat is None:
        raise ValueError(
            f"{method} of a lazy table needs the flat form of a posterior: draws, averages over features, counts of "
            "words, point estimates of numbers and families of your own without a `scorer` have none; collect the "
            "table, or predict it in pieces"
        )
    types = types_of_columns(frame)
    names = tuple(types)
    used = sorted({one.column for one in (*flat.scorer.code_readings, *flat.scorer.number_readings)})
    places = posterior.model.schema.locate(names, True, [used])
    require_new_columns(names, new, any_case=not frame.implementation.is_polars())
    forms = {at: NumberForm(*form) for at, *form in flat.scorer.forms}
    columns = {}
    for at in used:
        dtype = types[name := names[places[at]]]
        is_empty = dtype == nw.Unknown and frame.filter(~nw.col(name).is_null()).head(1).collect().is_empty()
        columns[at] = LazyColumn(name, dtype, forms.get(at), is_empty)
    query = _Query(flat.scorer, frame, columns)
    found = query.proba() if method == "predict_proba" else [query.prediction()]
    return query.frame.select(*names, **dict(zip(new, found, strict=True))).to_native()


def _with_predictions(frame: Any, posterior: Any, method: str, new: Sequence[str], options: Mapping[str, Any]) -> Any:
    """A pandas frame with columns of predictions."""
    found = getattr(posterior, method)(frame, **options)
    return frame.assign(**dict(zip(new, found.T if method == "predict_proba" else [found], strict=True)))


def require_new_columns(names: Iterable[Any], new: Sequence[str], *, any_case: bool = True) -> None:
    """Raise ValueError if a new column has the name of another one; SQL takes capitals for small letters."""
    taken: dict[Any, Any] = {}
    for name in (*names, *new):
        key = name.casefold() if any_case else name
        if key in taken and name in new:
            raise ValueError(
                f"X has a column {taken[key]!r} already, or two classes have the name: rename or drop it, since the "
                "predictions are a column of that name"
            )
        taken[key] = name
