"""Predictions of lazy tables: the flat form of a posterior as expressions that the engine of the table computes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, product
from operator import add, and_, mul, or_
from typing import Any

import narwhals as nw
import numpy as np

from bayesnb.core.cells import LARGEST_NUMBER
from bayesnb.core.checking import listed
from bayesnb.core.plain_formulas import FROM, HIGHEST, log_correction, rest_by_series
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
from bayesnb.data.read import as_graph_value, is_dask, map_partitions, without_rows
from bayesnb.serve.scorer import MultivariateT, Reading, RisingFactorials, Scorer, StudentT

MOST_PATTERNS = 20
"""So many patterns of missing cells a block of numbers may have."""

NOTHING, IMPOSSIBLE = -1e100, -1e99
"""The logarithm of zero, and a bound that only sums with it are below: engines differ in how they write infinity."""

LARGE_EXPONENT = 1e6
"""From such an exponent on, the digits that log(1 + q) loses where q is small are put back, at half the speed."""

LABEL_TYPES: dict[type, Any] = {bool: nw.Boolean, int: nw.Int64, float: nw.Float64, str: nw.String}
"""Types of columns of labels."""

# --------------------------------------------------------------------------------------------------
# Log densities
# --------------------------------------------------------------------------------------------------


def _folded(terms: Sequence[Any], operator: Callable[[Any, Any], Any] = add) -> Any:
    """The sum of terms, or another operation on them, half by half: engines limit how deep an expression is."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return operator(_folded(terms[:middle], operator), _folded(terms[middle:], operator))


def _log1p(q: nw.Expr, *, exact: bool) -> nw.Expr:
    """log(1 + q); exactly, with what rounding 1 + q takes away."""
    u = q + 1.0
    return u.log() - (u - 1.0 - q) / u if exact else u.log()


def _student_t_expression(of: StudentT, j: int, c: int, x: nw.Expr, log_x: nw.Expr) -> nw.Expr:
    loc, scale, exponent, constant = (float(a[c, j]) for a in (of.loc, of.scale, of.exponent, of.constant))
    away = (log_x if of.is_log[j] else x) - loc
    excess = away / scale if of.is_linear[j] else away * away * scale
    found = _log1p(excess, exact=abs(exponent) > LARGE_EXPONENT) * exponent + constant
    return nw.when(x == 0.0).then(nw.lit(float(of.at_zero[c, j]))).otherwise(found) if of.has_zero[j] else found


def _rising(a: float, x: nw.Expr) -> nw.Expr:
    """`rising_in_numpy` for a number a."""
    if a < FROM:
        factors = a + np.arange(FROM)
        return _rising(a + FROM, x) - _folded([x + float(k) for k in factors], mul).log() + float(np.log(factors).sum())
    z = x + a
    square = 1.0 / (z * z)
    rest = (square * (square * (square / -1680.0 + 1 / 1260) - 1 / 360) + 1 / 12) / z - float(rest_by_series(a))
    return _log1p(x / a, exact=True) * (x + (a - 0.5)) + x * float(np.log(a) - 1) + rest


def _rising_factorials_expression(of: RisingFactorials, j: int, c: int, x: nw.Expr, _: nw.Expr) -> nw.Expr:
    up, down, constant, shift = float(of.up[c, j]), float(of.down[c, j]), float(of.constant[c, j]), float(of.shift[j])
    return _rising(up, x) - (x * down if np.isnan(shift) else _rising(down, x + shift)) + constant


def _multivariate_t_expression(of: MultivariateT, c: int, there: tuple[int, ...], x: Sequence[nw.Expr]) -> nw.Expr:
    root, constant, exponent, loc = of.root(there)
    away = [x[k] - float(loc[c, i]) for i, k in enumerate(there)]
    lengths = [_folded([away[j] * float(root[c, i, j]) for j in range(i + 1)]) for i in range(len(there))]
    excess, power = _folded([one * one for one in lengths]), float(exponent[c, 0])
    return _log1p(excess, exact=abs(power) > LARGE_EXPONENT) * power + float(constant[c, 0])


def _inside_support(x: nw.Expr, reading: Reading) -> nw.Expr:
    """Numbers that a family holds, null for others."""
    inside = (x >= reading.lowest) & (x <= reading.highest)
    return nw.when(inside & (x % 1.0 == 0.0) if reading.whole else inside).then(x)


def _finite(logs: np.ndarray) -> np.ndarray:
    return np.nan_to_num(logs, neginf=NOTHING)


# --------------------------------------------------------------------------------------------------
# The log joint density, step by step
# --------------------------------------------------------------------------------------------------

type ByFeature = list[list[nw.Expr]]
"""What features add, by feature and class."""


class _Query:
    """A lazy table with what a `Scorer` finds of its rows.

    It grows by columns that later steps read, so that an engine computes them once.

    Attributes
    ----------
    frame : narwhals.LazyFrame
    joint : list of narwhals.Expr
        The log joint density with each class.
    refused : narwhals.Expr
        Whether a row has a number that its family does not hold.
    """

    def __init__(self, scorer: Scorer, frame: Any, columns: Mapping[int, LazyColumn]) -> None:
        self.scorer, self.frame = scorer, with_steps_apart(frame)
        self.most_compared = most_compared(frame)
        self.prefix = "_nb"
        self.names = frame.collect_schema().names()
        while any(name.casefold().startswith(self.prefix) for name in self.names):
            self.prefix += "_"
        self.classes = range(len(scorer.classes))
        self._read(columns)
        added = self._of_tables() + self._of_densities()
        joint = [_folded([*(feature[c] for feature in added), nw.lit(0.0)]) for c in self.classes]
        prior = _finite(scorer.log_prior_of_rows)
        if scorer.share:
            (joint,) = self._mixed([self._put("features", joint, kept=[self.refused])], prior, scorer.share)
        shift = prior + _finite(np.broadcast_to(log_correction(scorer.log_given, scorer.log_class_prob), prior.shape))
        self.joint = self._put("joint", [x + float(shift[c]) for c, x in enumerate(joint)], kept=[self.refused])
        (self.highest,) = self._put("highest", [nw.max_horizontal(*self.joint)])

    def _put(self, kind: str, columns: Sequence[nw.Expr], kept: Sequence[nw.Expr] | None = None) -> list[nw.Expr]:
        """Add columns in one step; parameters as for `_put_all`."""
        return self._put_all({kind: columns}, kept)[0]

    def _put_all(self, columns: Mapping[str, Sequence[nw.Expr]], kept: Sequence[nw.Expr] | None = None) -> ByFeature:
        """Add columns of several kinds in one step.

        Of the earlier ones only those in `kept` stay, if it is given: a step takes an engine more time, the more
        columns it has.
        """
        names = {kind: [self._name(kind, place) for place, _ in enumerate(own)] for kind, own in columns.items()}
        if new := dict(zip(chain(*names.values()), chain(*columns.values()), strict=True)):
            frame = self.frame
            frame = frame.with_columns(**new) if kept is None else frame.select(*self.names, *kept, **new)
            self.frame = computed_once(frame)
        return [[nw.col(name) for name in own] for own in names.values()]

    def _name(self, kind: str, place: int) -> str:
        return f"{self.prefix}_{kind}_{place}"

    def _read(self, columns: Mapping[int, LazyColumn]) -> None:
        """Put the numbers and the codes."""
        coded, numbered = self.scorer.code_readings, self.scorer.number_readings
        in_bins = [one for one in coded if one.edges is not None]
        of_categories = [one for one in coded if one.edges is None]
        known = [columns[one.column].categories(one) for one in of_categories]
        raw, others, cells = self._put_all(
            {
                "raw": [columns[one.column].numbers(one) for one in numbered],
                "to_bins": [columns[one.column].numbers(one) for one in in_bins],
                "to_categories": [own for own, _ in known],
            }
        )
        self.numbers = self._put("number", [_inside_support(x, one) for x, one in zip(raw, numbered, strict=True)])
        refused = [
            ~x.is_null() & kept.is_null() & (x.abs() > (LARGEST_NUMBER if one.tolerant else -1.0))
            for x, kept, one in zip(raw, self.numbers, numbered, strict=True)
        ]
        found = iter(self._codes(of_categories, cells, [codes for _, codes in known]))
        binned = (bins_as_codes(x, one.edges or ()) for x, one in zip(others, in_bins, strict=True))
        codes = [next(found if one.edges is None else binned) for one in coded]
        for k, edges in self.scorer.bins:
            one = numbered[k]
            each = one.whole and one.highest - one.lowest == len(edges)
            codes.append(bins_as_codes(self.numbers[k], edges.tolist(), one.lowest if each else None))
        flag = _folded([*refused, nw.lit(False)], or_)
        self.codes, (self.refused,) = self._put_all({"code": codes, "refused": [flag]}, kept=self.numbers)
        self.sizes = [one.num_codes for one in coded] + [len(edges) + 1 for _, edges in self.scorer.bins]

    def _codes(
        self, readings: Sequence[Reading], cells: Sequence[nw.Expr], known: Sequence[Mapping[Any, int]]
    ) -> list[nw.Expr]:
        """Positions of cells among categories, the number of categories for a missing one."""
        many = {
            self._name("place", k): (self._name("to_categories", k), [*own])
            for k, own in enumerate(known)
            if len(own) > self.most_compared and [*own.values()] == [*range(len(own))]
        }
        self.frame = computed_once(with_looked_up(self.frame, {}, many))
        found = []
        for k, (x, reading, own) in enumerate(zip(cells, readings, known, strict=True)):
            missing = nw.lit(reading.num_codes)
            other = nw.lit(reading.num_codes - 1) if reading.others else missing
            code = of_key(x, own, own.values(), other)
            if (name := self._name("place", k)) in many:
                code = nw.when(nw.col(name) > 0).then(nw.col(name) - 1).otherwise(other)
            found.append(nw.when(x.is_null()).then(missing).otherwise(code) if reading.others else code)
        return found

    def _of_tables(self) -> ByFeature:
        """What the features that are looked up add."""
        tables = self.scorer.tables
        entries, parts, places = _finite(tables.entries), [], []
        several: list[nw.Expr] = []
        for start, coding, stride in zip(tables.start, tables.coding.tolist(), tables.stride.tolist(), strict=True):
            pairs = [(k, step) for k, step in zip(coding, stride, strict=True) if step]
            parts.append(entries[:, start : start + 1 + sum(self.sizes[k] * step for k, step in pairs)])
            places.append(self._name("code", pairs[0][0]) if len(pairs) == 1 else self._name("codes", len(several)))
            if len(pairs) > 1:
                several.append(_folded([self.codes[k] * step for k, step in pairs]))
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

    def _of_densities(self) -> ByFeature:
        """What the other features add."""
        scorer, x = self.scorer, self.numbers
        places = {int(k) for of in scorer.densities if isinstance(of, StudentT) for k in of.number[of.is_log == 1]}
        logs_of_numbers = self._put("log", [nw.when(x[k] > 0.0).then(x[k]).log() for k in sorted(places)])
        logs = dict(zip(sorted(places), logs_of_numbers, strict=True))
        found: ByFeature = []
        for of in scorer.densities:
            if isinstance(of, MultivariateT):
                found.append(self._of_block(of))
                continue
            formula: Callable[..., nw.Expr] = (
                _student_t_expression if isinstance(of, StudentT) else _rising_factorials_expression
            )
            for j, k in enumerate(of.number.tolist()):
                each = [formula(of, j, c, x[k], logs.get(k, x[k])) for c in self.classes]
                found.append([nw.when(x[k].is_null()).then(nw.lit(0.0)).otherwise(one) for one in each])
        if found and scorer.share_of_feature:
            densities = self._put_all({f"density_{j}": own for j, own in enumerate(found)})
            found = self._mixed(densities, _finite(scorer.log_class_prob), scorer.share_of_feature)
        return [[one * float(weight) for one in own] for own, weight in zip(found, scorer.weight, strict=True)]

    def _of_block(self, of: MultivariateT) -> list[nw.Expr]:
        """What a block of numbers adds, for each pattern of missing cells that may be, or that there is."""
        x = [self.numbers[k] for k in of.numbers]
        there = [~one.is_null() for one in x]
        patterns = [*product([False, True], repeat=len(x))] if len(x) < 5 else self._patterns(of, there)
        found = [nw.lit(0.0) for _ in self.classes]
        for kind in sorted(tuple(np.flatnonzero(pattern).tolist()) for pattern in patterns if any(pattern)):
            here = _folded([there[k] if k in kind else ~there[k] for k in range(len(x))], and_)
            found = [
                nw.when(here).then(_multivariate_t_expression(of, c, kind, x)).otherwise(found[c]) for c in self.classes
            ]
        return found

    def _patterns(self, of: MultivariateT, there: Sequence[nw.Expr]) -> list[tuple[Any, ...]]:
        flags = self.frame.select(**{self._name("observed", k): flag for k, flag in enumerate(there)})
        found = flags.unique().head(MOST_PATTERNS + 1).collect().rows()
        if len(found) > MOST_PATTERNS:
            columns = [self.scorer.columns[self.scorer.number_readings[k].column] for k in of.numbers]
            raise ValueError(
                f"columns {listed(columns)}, one block of numbers, have more than {MOST_PATTERNS} patterns of missing "
                "cells: fill them in, or predict in memory"
            )
        return found

    def _mixed(self, features: ByFeature, log_prior: np.ndarray, share: float) -> ByFeature:
        """`mixed` of columns of densities."""
        highest = self._put(
            "highest_density",
            [nw.max_horizontal(*(x + float(p) for x, p in zip(own, log_prior, strict=True))) for own in features],
        )
        away = [[x - top for x in own] for own, top in zip(features, highest, strict=True)]
        if log_prior.min() < IMPOSSIBLE:
            away = [[nw.min_horizontal(nw.lit(HIGHEST), x) for x in own] for own in away]
        each = self._put_all({f"ratio_{j}": [x.exp() for x in own] for j, own in enumerate(away)})
        prior = share * np.exp(log_prior)
        pooled = self._put("pooled", [_folded([x * float(p) for x, p in zip(own, prior, strict=True)]) for own in each])
        return [
            [top + (x * (1.0 - share) + both).log() for x in own]
            for own, top, both in zip(each, highest, pooled, strict=True)
        ]

    def _answer(self, found: nw.Expr, instead: nw.Expr) -> nw.Expr:
        """What is found of a row; something else if no class can have the row, null if it is refused."""
        return nw.when(~self.refused).then(nw.when(self.highest > IMPOSSIBLE).then(found).otherwise(instead))

    def proba(self) -> list[nw.Expr]:
        """Probabilities of the classes."""
        each = self._put("weight", [(x - self.highest).exp() for x in self.joint])
        (total,) = self._put("total", [_folded(each)])
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
        raise TypeError("predict_set takes rows in memory: collect the lazy table first")
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
            f"{method} takes rows in memory: collect the lazy table first, or take predict_proba or predict, which "
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
    columns = {at: LazyColumn(names[places[at]], types[names[places[at]]]) for at in used}
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
