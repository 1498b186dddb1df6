"""Columns of categories as joint blocks: the evidence of every block from counts of combinations."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import batched
from typing import Any

import numpy as np

from bayesnb.families.base import Family
from bayesnb.families.dirichlet import dirichlet_log_evidence
from bayesnb.families.hyperparameters import format_number
from bayesnb.families.joint_categorical import MOST, JointCategorical
from bayesnb.model.read import declared_categories
from bayesnb.problem import Problem
from bayesnb.selection.parts import Blocks, Part, Rows, name_columns, shortest

__all__ = ["ZERO_AND_ONE", "CategoryBlocks", "category_blocks"]

ZERO_AND_ONE = (0, 1)
"""Categories of a `Bernoulli` column."""

PAIRS = 64
"""Pairs whose counts are in memory at a time."""

TABLE_CELLS = 2**22
"""Entries of a table of counts that is filled; the combinations of larger ones are sorted."""


@dataclass(frozen=True)
class CategoryBlocks(Blocks):
    """The columns of categories that may share a block.

    Attributes
    ----------
    names : dict
        Of the columns, by position.
    categories : dict
        By position, the categories of a column.
    listed : dict
        By position, the categories that the model lists for a column, or None.
    other : bool
        Whether all other values share one more category.
    total : array of shape (classes, 1), or None
        Prior weight of all categories of a column together; None for the default.
    """

    names: Mapping[int, Any]
    categories: Mapping[int, tuple]
    listed: Mapping[int, tuple | None]
    other: bool
    total: np.ndarray | None
    _codes: dict[tuple[int, ...], tuple[np.ndarray, int]] = field(repr=False)
    """By columns, the code of each row's combination, and their number; combinations that no row shows have none."""

    def log_evidence_of_complete(self, pairs: Sequence[tuple[Part, Part]]) -> np.ndarray:
        """Log evidence of the block of each pair of parts, shape (pairs,); -inf beyond a million combinations."""
        found = np.full(len(pairs), -np.inf)
        sizes = [tuple(sorted(self._sizes((*first.columns, *second.columns)))) for first, second in pairs]
        allowed = [k for k, of_block in enumerate(sizes) if math.prod(of_block) <= MOST]
        for some in batched(allowed, PAIRS):
            # Tables of one size are computed together.
            tables: dict[tuple[tuple[int, ...], int], list[tuple[int, np.ndarray]]] = {}
            for k in some:
                first, second = pairs[k]
                count = self._count(first.columns, second.columns)
                tables.setdefault((sizes[k], count.shape[-1]), []).append((k, count))
            for (of_block, _), alike in tables.items():
                members, counts = zip(*alike, strict=True)
                found[list(members)] = self._log_evidence_of(of_block, np.stack(counts))
        return found

    def _log_evidence_of(self, sizes: tuple[int, ...], count: np.ndarray) -> np.ndarray:
        """Log evidence of blocks whose columns have so many categories, shape (blocks,).

        Parameters
        ----------
        sizes : tuple of int
        count : array, shape (blocks, classes, shown)
            Weight of the rows of each combination that rows show.
        """
        number, shown = math.prod(sizes), count.shape[-1]
        prior = np.repeat(self._concentration(sizes), shown, axis=-1)
        if shown < number:
            # The combinations that no row shows are one entry, by the aggregation property of the Dirichlet.
            prior = np.append(prior, prior[:, :1] * (number - shown), axis=-1)
            count = np.append(count, np.zeros((*count.shape[:-1], 1)), axis=-1)
        return np.asarray(dirichlet_log_evidence(np.broadcast_to(prior, count.shape), count)).sum(axis=-1)

    def _sizes(self, columns: Sequence[int]) -> tuple[int, ...]:
        return tuple(len(self.categories[column]) for column in columns)

    def prior(self, columns: Sequence[int]) -> JointCategorical | None:
        sizes = self._sizes(columns)
        if math.prod(sizes) > MOST:
            return None
        ((_, family),) = self.family(columns).spread(self.rows.num_classes, tuple(columns), sizes)
        x = self.rows.of(columns)
        whole = ~np.isnan(x).any(axis=1)
        return family.on_scale_of(family.statistics(x[whole], self.rows.membership[whole]).pooled())

    def _concentration(self, sizes: tuple[int, ...]) -> np.ndarray:
        """Prior weight of each combination of columns of so many categories, shape (classes, 1)."""
        if self.total is not None:
            return self.total / math.prod(sizes)
        ((_, family),) = JointCategorical().spread(self.rows.num_classes, tuple(range(len(sizes))), sizes)
        return np.asarray(family.concentration)

    def _count(self, first: tuple[int, ...], second: tuple[int, ...]) -> np.ndarray:
        """Weight of the rows of each combination of two parts, shape (classes, combinations)."""
        (left, num_left), (right, num_right) = self._codes_of(first), self._codes_of(second)
        code, number = left * num_right + right, num_left * num_right
        if self.rows.num_classes * number > TABLE_CELLS:
            shown, code = np.unique(code, return_inverse=True)
            number = len(shown)
        count = np.bincount(
            self.rows.codes * number + code, self.rows.weights, minlength=self.rows.num_classes * number
        )
        return count.reshape(self.rows.num_classes, number).astype(np.float64)

    def _codes_of(self, columns: tuple[int, ...]) -> tuple[np.ndarray, int]:
        if columns not in self._codes:
            code = np.zeros(len(self.rows.codes), dtype=np.intp)
            for column in columns:
                own, number = self._codes[(column,)]
                code = code * number + own
            shown, code = np.unique(code, return_inverse=True)
            self._codes[columns] = code, len(shown)
        return self._codes[columns]

    def family(self, columns: Sequence[int]) -> JointCategorical:
        """The family of a block of these columns, with the hyperparameters that they have in the model."""
        listed = {self.names[column]: self.listed[column] for column in columns if self.listed[column] is not None}
        concentration = None if self.total is None else shortest(self._concentration(self._sizes(columns)))
        return JointCategorical(concentration, listed or None, self.other)


def category_blocks(problem: Problem, parts: Sequence[Part], rows: Rows) -> CategoryBlocks:
    """The cells and the prior of the parts that are categories.

    Raises
    ------
    ValueError
        If the columns have hyperparameters that no joint block has.
    """
    model = problem.model
    columns = [column for part in parts for column in part.columns]
    categories = {column: model.schema.categories.get(column, ZERO_AND_ONE) for column in columns}
    names = {column: model.schema.columns[column] for column in columns}
    families = {column: model.features[part.feature][0] for part in parts for column in part.columns}
    _require_one_other(names, families)
    return CategoryBlocks(
        rows=rows,
        names=names,
        categories=categories,
        listed={column: _listed(families[column], names[column]) for column in columns},
        other=_other(families[columns[0]]),
        total=_common_total(problem, parts, names),
        # Blocks with missing cells are not counted by these codes.
        _codes={
            (column,): (np.nan_to_num(rows.cells[column]).astype(np.intp), len(categories[column]))
            for column in columns
        },
    )


def _listed(family: Family, name: Any) -> tuple | None:
    return declared_categories(family, name) if family.cell == "category" else ZERO_AND_ONE


def _other(family: Family) -> bool:
    return family.cell == "category" and family.other


def _require_one_other(names: Mapping[int, Any], families: Mapping[int, Family]) -> None:
    first, *others = names
    for column in others:
        if _other(families[column]) != _other(families[first]):
            with_other, without = (first, column) if _other(families[first]) else (column, first)
            raise ValueError(
                f"column {names[with_other]!r} has a category for all other values (other=True) and column "
                f"{names[without]!r} has none, and a joint block has them for all its columns or for none: give both "
                "the same, or name the columns that may be merged, columns=[...]"
            )


def _common_total(problem: Problem, parts: Sequence[Part], names: Mapping[int, Any]) -> np.ndarray | None:
    """Prior weight of all categories of a column together, shape (classes, 1); None if all have the default.

    Raises
    ------
    ValueError
        If columns have different weights, or a column has different weights for its categories.
    """
    if all(_has_default(problem, part) for part in parts):
        return None
    totals = [_total(problem, part, names) for part in parts]
    for part, total in zip(parts, totals, strict=True):
        if not np.allclose(total, totals[0], rtol=1e-12, atol=0.0):
            (first, mine), (second, theirs) = (
                (name_columns([names[column] for column in one.columns]), format_number(own[:, 0]))
                for one, own in ((parts[0], totals[0]), (part, total))
            )
            raise ValueError(
                f"the prior weighs the categories of {first} like {mine} rows and those of {second} like {theirs}, and "
                "a joint block has one weight for all its columns: give each column the concentration "
                "weight / categories, leave all at one, or name the columns that may be merged, columns=[...]"
            )
    return totals[0]


def _has_default(problem: Problem, part: Part) -> bool:
    family = problem.model.features[part.feature][0]
    if isinstance(family, JointCategorical):
        return family.concentration is None
    return all(np.all(np.asarray(value) == 1.0) for value in family.hyperparameters().values())


def _total(problem: Problem, part: Part, names: Mapping[int, Any]) -> np.ndarray:
    block = next(block for block in problem.resolved.blocks if part.columns[0] in block.columns)
    family: Any = block.family
    if isinstance(family, JointCategorical):
        return np.asarray(family.concentration) * math.prod(family.sizes)
    weights = family.concentrations()[:, block.columns.index(part.columns[0])]
    if (weights != weights[:, :1]).any():
        raise ValueError(
            f"the prior of column {names[part.columns[0]]!r} gives its categories different weights, which no joint "
            "block has: give all the same, or name the columns that may be merged, columns=[...]"
        )
    return weights.sum(axis=-1, keepdims=True)
