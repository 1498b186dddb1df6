"""Posteriors in flat form: how the density of a posterior becomes a `Scorer`, and how it reads tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from bayesnb.core.arrays import dense, row_pieces
from bayesnb.core.cells import LARGEST_COUNT, LARGEST_NUMBER, OTHER
from bayesnb.core.deferred import in_float64
from bayesnb.families.bins import edges_of_family
from bayesnb.families.hyperparameters import kind_of_cell, limits_of, support_of
from bayesnb.model.blocks import Block, features_of, subjects_of
from bayesnb.model.bound import BoundModel
from bayesnb.model.reading import Cells, Chunks
from bayesnb.posterior.density import LabelDensity, RowDensity
from bayesnb.serve.scorer import MultivariateT, Reading, RisingFactorials, Scorer, StudentT, Tables, joined_features

MOST_CODES = 2**16
"""Most codes of a feature, over all its columns together."""

NARROW = 4
"""Up to so many columns in a block, on average, a flat form is at least as fast as blocks."""

NO_LIMITS = (-np.inf, np.inf, False)

MOST_ENTRIES = 2**22
"""Most log densities of all tables, 32 MiB."""


# --------------------------------------------------------------------------------------------------
# What is read of a table: each column once for all features that read it in the same way
# --------------------------------------------------------------------------------------------------


class _Readings:
    """The readings of a model's columns, and the blocks that read a table so.

    Attributes
    ----------
    blocks : list of Block
        Those of the model with the columns whose reading no block before them has.
    codes, numbers : dict
        Each reading with its place among the codes, or the numbers.
    at : list of dict
        For each block of the model, by position of a column, the place of its reading.
    """

    def __init__(self, model: BoundModel) -> None:
        self.blocks: list[Block] = []
        self.codes: dict[Reading, int] = {}
        self.numbers: dict[Reading, int] = {}
        self.at = [self._read(model, block) for block in model.blocks]

    def _read(self, model: BoundModel, block: Block) -> dict[int, int]:
        known = self.codes if block.has_categories else self.numbers
        at, new = {}, []
        for j, position in enumerate(block.columns):
            if (reading := _reading(model, block, j)) not in known:
                known[reading] = len(known)
                new.append(j)
            at[position] = known[reading]
        if new:
            columns, labels = (tuple(each[j] for j in new) for each in (block.columns, block.labels))
            self.blocks.append(replace(block, columns=columns, labels=labels))
        return at


def _reading(model: BoundModel, block: Block, j: int) -> Reading:
    """How a block reads one of its columns."""
    schema, position, family = model.schema, block.columns[j], block.family
    made = schema.derivation(position)
    given: dict[str, Any] = {"recipe": made.recipe, "settings": made.settings} if made else {}
    if position in schema.edges:
        given["edges"] = schema.edges[position]
    elif block.has_categories:
        given["categories"] = schema.categories[position]
        given["others"] = schema.categories[position][-1] == OTHER
    else:
        lowest, highest, whole = limits_of(family) or NO_LIMITS
        most = LARGEST_COUNT if whole else LARGEST_NUMBER
        given |= {"lowest": max(lowest, -most), "highest": min(highest, most), "whole": whole}
        given |= {"family": family.family_name, "holds": family.holds, "hint": family.hint}
        given["tolerant"] = block.labels[j] in model.description.outside_is_missing
    return Reading(schema.sources[position], **given)


# --------------------------------------------------------------------------------------------------
# The density of a posterior in flat form
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FlatDensity(LabelDensity):
    """A `Scorer` that reads tables; it leaves out factors that all classes share.

    Attributes
    ----------
    scorer : Scorer
    blocks : tuple of Block
        What a table is read for.
    places : dict
        For each block and feature the place among the scorer's features; those of weight zero are not there.
    """

    scorer: Scorer
    blocks: tuple[Block, ...]
    places: dict[tuple[int, int], int]

    def chunks(self, chunks: Chunks) -> Chunks:
        return replace(chunks, blocks=self.blocks)

    def read(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Codes (code readings, rows) and numbers (number readings, rows) from the cells of the blocks."""
        pairs = [(block.has_categories, dense(x).T) for block, x in zip(self.blocks, cells, strict=True)]
        codes, numbers = ([x for is_coded, x in pairs if is_coded == wanted] for wanted in (True, False))
        nothing = np.empty((0, cells[0].shape[0]))
        of_codes = np.concatenate([nothing, *codes])
        missing = np.array([reading.num_codes for reading in self.scorer.code_readings])[:, None]
        return np.where(np.isnan(of_codes), missing, of_codes).astype(np.intp), np.concatenate([nothing, *numbers])

    @in_float64
    def log_ratio(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        num_rows, num_classes = cells[0].shape[0], len(self.scorer.classes)
        found = np.empty((num_rows, num_classes))
        # A chunk of a sparse table has more rows than may be dense at once.
        for rows in row_pieces(num_rows, num_classes * len(self.scorer.subject)):
            found[rows] = self.scorer.log_joint(*self.read(tuple(x[rows] for x in cells)))
        return np.zeros(num_classes), found

    @in_float64
    def features(self, cells: Cells) -> Callable[[int, int, Any], np.ndarray]:
        added = np.moveaxis(self.scorer.contributions(*self.read(cells)), 0, -1)
        nothing = np.zeros(added.shape[1:])
        return lambda i, j, _: added[self.places[i, j]] if (i, j) in self.places else nothing


def has_narrow_blocks(model: BoundModel) -> bool:
    """Whether blocks have few columns and none has counts, so that their densities take longer than a flat form.

    Blocks of many columns have products of matrices and compiled kernels, and counts have tables of those that occur.
    """
    counts = any(kind_of_cell(block.family) == "count" for block in model.blocks)
    return not counts and sum(len(block.columns) for block in model.blocks) <= NARROW * len(model.blocks)


@in_float64
def flat_density(model: BoundModel, density: RowDensity) -> FlatDensity | None:
    """The density of a posterior in flat form.

    A feature of finitely many values is evaluated at each of them. Others state their constants by `Family.scorer`.

    Returns
    -------
    FlatDensity or None
        None if the density of a row is no sum of those of its features, or one of these is in no flat form.
    """
    if not density.is_sum or any(limits_of(block.family) is None for block in model.blocks if not block.has_categories):
        return None
    parts = _Parts(model, density)
    return parts.flat() if all(parts.add(i) for i, _ in enumerate(model.blocks)) else None


class _Parts:
    """The features of a scorer, block after block."""

    def __init__(self, model: BoundModel, density: RowDensity) -> None:
        self.model, self.density, self.readings = model, density, _Readings(model)
        self.sizes = [reading.num_codes for reading in self.readings.codes]
        self.bins: dict[tuple[int, tuple[float, ...]], int] = {}
        self.entries: list[np.ndarray] = []
        self.num_entries = 0
        self.codes: list[tuple[list[int], list[int]]] = []
        kinds = (Tables, StudentT, RisingFactorials, MultivariateT)
        self.records: dict[type, list[Any]] = {kind: [] for kind in kinds}
        self.features: dict[type, list[tuple[int, int]]] = {kind: [] for kind in kinds}

    def add(self, i: int) -> bool:
        """Add the features of a block; False if it is in no flat form."""
        block = self.model.blocks[i]
        own = [j for j, _ in enumerate(features_of(block)) if self.density.weight(i, j) != 0]
        parts = () if block.has_categories or block.is_joint else _lower_ends_of_parts(block.family)
        if block.has_categories or parts:
            return all(self._add_table(i, j, parts) for j in own)
        if own:
            if (record := self.density.blocks[i].scorer()) is None:
                return False
            at = np.array([self.readings.at[i][position] for position in block.columns])
            of_kind = replace(record, numbers=at) if block.is_joint else record.take(own, at[own])
            self.records[type(record)].append(of_kind)
            self.features[type(record)] += [(i, j) for j in own]
        return True

    def _add_table(self, i: int, j: int, parts: tuple[float, ...]) -> bool:
        block = self.model.blocks[i]
        own = [*range(len(block.columns))] if block.is_joint else [j]
        codings = [self.readings.at[i][block.columns[k]] for k in own]
        if parts:
            codings = [len(self.readings.codes) + self.bins.setdefault((codings[0], parts[1:]), len(self.bins))]
            values = [np.array([*parts, np.nan])]
        else:
            sizes = [self.sizes[coding] for coding in codings]
            if prod(size + 1 for size in sizes) > MOST_CODES:
                return False
            values = [np.array([*range(size), np.nan]) for size in sizes]
        shape = [len(each) for each in values]
        cells = np.full((prod(shape), len(block.columns)), np.nan)
        cells[:, own] = np.stack([each.ravel() for each in np.meshgrid(*values, indexing="ij")], axis=1)
        self.entries.append(self.density.feature(i, j, cells).T)
        self.codes.append((codings, [prod(shape[k + 1 :]) for k, _ in enumerate(shape)]))
        self.features[Tables].append((i, j))
        self.num_entries += self.entries[-1].size
        return self.num_entries <= MOST_ENTRIES

    def flat(self) -> FlatDensity:
        model, readings = self.model, self.readings
        density: Any = self.density
        order = [feature for of_kind in self.features.values() for feature in of_kind]
        subjects, subject = _subjects(model, order)
        given: dict[str, Any] = {}
        if (weights := getattr(density, "weights", None)) is not None:
            given = {"offset": weights.offset, "log_given": density.log_given, "share": weights.no_information}
            given["share_of_feature"] = weights.no_information_in_feature
        joined = [joined_features(own) for kind in (StudentT, RisingFactorials) if (own := self.records[kind])]
        forms = model.description.number_forms
        scorer = Scorer(
            classes=tuple(model.schema.classes.tolist()),
            columns=model.schema.source_columns,
            code_readings=tuple(readings.codes),
            number_readings=tuple(readings.numbers),
            bins=tuple((number, np.array(edges)) for number, edges in self.bins),
            tables=self._tables(),
            densities=(*joined, *self.records[MultivariateT]),
            weight=np.array([density.weight(*feature) for feature in order[len(self.features[Tables]) :]]),
            subjects=subjects,
            subject=subject,
            log_class_prob=density.log_class_prob,
            forms=tuple(
                (position, form.decimal, form.unit, form.marks)
                for position, name in enumerate(model.schema.source_columns)
                if (form := forms.get(name))
            ),
            **given,
        )
        return FlatDensity(scorer, tuple(readings.blocks), {feature: place for place, feature in enumerate(order)})

    def _tables(self) -> Tables:
        most = max((len(codings) for codings, _ in self.codes), default=1)
        coding, stride = (
            np.array([[*own[k], *[0] * (most - len(own[k]))] for own in self.codes], np.intp).reshape(-1, most)
            for k in range(2)
        )
        sizes = [entries.shape[1] for entries in self.entries]
        nothing = np.empty((len(self.density.log_class_prob), 0))
        starts = np.cumsum([0, *sizes])[:-1]
        return Tables(np.concatenate([nothing, *self.entries], axis=1), starts, coding, stride)


def _lower_ends_of_parts(family: Any) -> tuple[float, ...]:
    """Ascending numbers, one in each part of the line in which the ratios of a density are constant; none if smooth.

    Each number but the first is the lower end of its part.
    """
    support, inner = support_of(family), edges_of_family(family)
    lowest, highest, whole = limits_of(family) or NO_LIMITS
    if whole and highest - lowest < MOST_CODES:
        return tuple(np.arange(lowest, highest + 1).tolist())
    if not inner:
        return ()
    zero = (0.0, float(np.nextafter(0.0, 1.0))) if getattr(support, "other", None) is not None else ()
    # The last bin holds its upper edge.
    edges = sorted({*inner[:-1], float(np.nextafter(inner[-1], np.inf)), *zero})
    return float(np.nextafter(edges[0], -np.inf)), *edges


def _subjects(model: BoundModel, order: Sequence[tuple[int, int]]) -> tuple[tuple[Any, ...], np.ndarray]:
    """Names of what the features describe, as an explanation names it, and for each feature in an order its place."""
    of = {(i, j): own for i, block in enumerate(model.blocks) for j, own in enumerate(subjects_of(block, model.schema))}
    names = dict(sorted(of.values(), key=lambda own: own[0]))
    places = {key: place for place, key in enumerate(names)}
    return tuple(names.values()), np.array([places[of[feature][0]] for feature in order], dtype=np.intp)
