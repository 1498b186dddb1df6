"""Rows whose label is missing. They are kept, because no statistic describes a row under all labels at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.identical import distinct_rows
from bayesnb.model.bound import BoundModel
from bayesnb.parallel import in_order
from bayesnb.sparse import csr_rows, stacked
from bayesnb.tables.categories import warn_unseen
from bayesnb.tables.table import Table

__all__ = ["Unlabelled", "read_rows"]

PIECE_CELLS = 2**18
"""Cells taken at a time: two mebibytes of float64, so that a piece stays in the processor's cache."""

MOST_DISTINCT = 0.5
"""Largest share of distinct rows with which equal rows become one. To draw how many of several equal rows have each
label takes longer than to draw the label of one row."""


@dataclass(frozen=True)
class Unlabelled:
    """Rows whose label is missing, in encoded form.

    Attributes
    ----------
    blocks : tuple of array
        For each block of the model its cells, shape (rows, columns): float64 with missing cells NaN, or CSR.
    weights : array, shape (rows,)
        Positive. A row of weight w counts as w rows, each with a label of its own.
    guess : array, shape (rows, classes), or None
        Probabilities of the labels at which an iteration starts; None if it finds its own start.
    """

    blocks: tuple[Any, ...]
    weights: np.ndarray
    guess: np.ndarray | None = None

    @classmethod
    def of(cls, blocks: tuple[Any, ...], weights: np.ndarray) -> tuple["Unlabelled", np.ndarray]:
        """Rows in encoded form, those with the same cells as one row whose weight is the sum of theirs.

        The posterior does not change, because the density of a row depends on its cells alone. Rows stay apart if more
        than half of them are distinct, or if a weight is no whole number.

        Returns
        -------
        tuple of Unlabelled and array of int, shape (rows,)
            The rows, and the position among them of each row given.
        """
        found = None if (weights % 1).any() else distinct_rows(blocks, MOST_DISTINCT)
        if found is None:
            return cls(blocks, weights), np.arange(len(weights))
        first, position = found
        return cls(tuple(x[first] for x in blocks), np.bincount(position, weights)), position

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def slices(self) -> list[slice]:
        """The rows in pieces that fit the cache."""
        stored = sum(x.nnz if scipy.sparse.issparse(x) else x.size for x in self.blocks)
        step = max(256, PIECE_CELLS * len(self) // max(stored, 1))
        return [slice(start, min(start + step, len(self))) for start in range(0, len(self), step)]

    def cells(self, rows: slice) -> tuple[Any, ...]:
        """Cells of some rows, block by block."""
        return tuple(csr_rows(x, rows) if scipy.sparse.issparse(x) else x[rows] for x in self.blocks)

    def pieces(self) -> Iterator[tuple[slice, tuple[Any, ...]]]:
        """A cache-sized number of rows at a time: their positions, and their cells block by block."""
        for rows in self.slices:
            yield rows, self.cells(rows)

    def take(self, rows: np.ndarray) -> "Unlabelled":
        """Some of the rows."""
        guess = None if self.guess is None else self.guess[rows]
        return Unlabelled(tuple(x[rows] for x in self.blocks), self.weights[rows], guess)

    def count(self, model: BoundModel, membership: np.ndarray) -> ModelStatistics:
        """Statistics of the rows, given labels or probabilities of labels.

        Parameters
        ----------
        model : BoundModel
            The bound model that encoded the rows.
        membership : array, shape (rows, classes)
            Weight of each row in each class.
        """
        counted = in_order(lambda rows: model.count(self.cells(rows), membership[rows]), self.slices)
        return reduce(add, counted)


def read_rows(
    model: BoundModel, table: Table, codes: np.ndarray, weights: np.ndarray | None
) -> tuple[ModelStatistics, Unlabelled | None]:
    """Statistics of the rows that have a label, and the rows that have none.

    Parameters
    ----------
    model : BoundModel
    table : Table
    codes : array of int, shape (rows,)
        Position of each row's class; -1 for a row without a label.
    weights : array, shape (rows,), or None
        Rows of weight zero without a label are left out.

    Raises
    ------
    ValueError
        If there are more classes than rows, or the class probabilities are to be those of labels and there is none.
    """
    missing = codes < 0
    if table.num_rows and not missing.any():
        labelled = model.read(table).count(codes, weights)
        warn_unseen(labelled.unseen)
        return labelled.statistics, None
    _require_enough(model, missing)
    weights = np.ones(table.num_rows) if weights is None else weights
    total: ModelStatistics | None = None
    kept: list[tuple[Any, ...]] = []
    # The code of a missing label finds the last row, of zeros: the row is in no class.
    identity = np.eye(len(model.schema.classes) + 1)[:, :-1]
    for rows, chunk in model.encode(table):
        counted = model.count(chunk, identity[codes[rows]] * weights[rows, None])
        total = counted if total is None else total + counted
        without = np.flatnonzero(missing[rows] & (weights[rows] > 0))
        kept.append(tuple(x[without] for x in chunk))
    assert total is not None
    cells = tuple(map(stacked, zip(*kept, strict=True)))
    for block, x in zip(model.blocks, cells, strict=True):
        if block.family.whole_rows and (lacking := np.isnan(x).any(axis=1).sum()):
            raise ValueError(
                f"{lacking} rows without a label lack a cell of {block.owner()}, and {block.family.family_name} counts "
                "rows with all cells only: leave these rows out, fill in the cells, or give each column its own family"
            )
    unlabelled, _ = Unlabelled.of(cells, weights[missing & (weights > 0)])
    return total, unlabelled if len(unlabelled) else None


def _require_enough(model: BoundModel, missing: np.ndarray) -> None:
    classes = model.schema.classes.tolist()
    if len(classes) > len(missing):
        raise ValueError(f"there are {len(classes)} classes and {len(missing)} rows: give at least one row per class")
    if isinstance(model.class_probs, str) and missing.all():
        raise ValueError(
            'class_probs="empirical" takes the frequencies of the labels, and no row has one: leave it out, or give '
            "the probabilities in numbers"
        )
