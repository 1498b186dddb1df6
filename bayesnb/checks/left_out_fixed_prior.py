"""Densities of rows under their own class, given the other rows, where all rows have the same prior.

Statistics subtract, so the posterior without a row is the closed form given the other rows. The result is its
predictive density of the row's cells, for every conjugate family, weight and prior. A vector of counts has the evidence
of the row as its density. A family may define a faster way in `row_log_left_out`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import jax
import numpy as np

from bayesnb.blocks.block import Block
from bayesnb.sparse import dense
from bayesnb.statistics.base import Statistics
from bayesnb.statistics.counts import ClassCounts

__all__ = [
    "OF_FREQUENCIES",
    "REMEDY",
    "LabelledRows",
    "cleared",
    "given_the_rest",
    "own_class_without",
    "pieces_of",
    "weighted",
]

PIECE_CELLS = 2**16
"""Hyperparameters in memory at a time: each row has its own, and half a mebibyte fits the processor's cache."""

REMEDY = "give rows, labels and weights as they were given to fit or update"

OF_FREQUENCIES = (
    "if the weights w are frequencies, nb.loo(posterior, X, y) gives as elpd_i the score of one of the w equal rows"
)
"""What to do about weights that leave-one-out refuses."""


@dataclass(frozen=True)
class LabelledRows:
    """Labels and weights of some rows of a table.

    Attributes
    ----------
    codes : array of int, shape (rows,)
        Position of each row's class.
    weights : array, shape (rows,)
    place : array of int, shape (rows,)
        Positions of the rows in the table.
    classes : array, shape (classes,)
        The labels.
    """

    codes: np.ndarray
    weights: np.ndarray
    place: np.ndarray
    classes: np.ndarray

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, which: Any) -> Self:
        """Some of the rows."""
        return type(self)(self.codes[which], self.weights[which], self.place[which], self.classes)

    def refuse(self, impossible: np.ndarray, block: Block) -> None:
        """Raise an error for rows that cannot have been among the data; the cells (rows, columns) mark them.

        Raises
        ------
        ValueError
        """
        if impossible.any():
            row, j = (int(index[0]) for index in np.nonzero(impossible))
            column = block.name if block.is_joint else block.labels[j]
            raise ValueError(
                f"row {self.place[row]} was never among the data: without it, column {column!r} in class "
                f"{self.classes.tolist()[self.codes[row]]!r} would have statistics that no table has; {REMEDY}"
            )


def own_class_without(block: Block, counted: Any, x: Any, rows: LabelledRows) -> np.ndarray:
    """Log p(x_i | y_i, D without i) of a block, shape (rows,), by the family's faster way if it has one."""
    if (rows.weights == 1.0).all():
        known = block.family.row_log_left_out(x, rows.codes, counted)  # type: ignore[attr-defined]
        if known is not None and np.isfinite(known).all():
            return known
    result = np.empty(len(rows))
    for piece, cells in given_the_rest(block, counted, x, rows):
        result[piece] = cells.sum(axis=1)
    return result


def given_the_rest(block: Block, counted: Any, x: Any, rows: LabelledRows) -> Iterator[tuple[slice, np.ndarray]]:
    """Log p(x_i | y_i, D without i) of a block's columns, some rows at a time.

    Yields
    ------
    tuple of slice and array
        The rows, and their cells' log densities, shape (rows, columns); (rows, 1) for a vector of counts.
    """
    family: Any = block.family
    known = family.log_density_without(x, rows.codes, rows.weights, counted) if block.is_joint else None
    if known is not None:
        log_density, impossible = known
        rows.refuse(impossible[:, None], block)
        yield slice(0, len(rows)), log_density[:, None]
        return
    for piece in pieces_of(len(rows), block.family, counted, at_most=64 if block.is_joint else len(rows)):
        some = rows.take(piece)
        log_density, impossible = _cells(block, counted, dense(x[piece]), some.codes, some.weights)
        some.refuse(impossible, block)
        yield piece, log_density


def pieces_of(num_rows: int, *trees: Any, at_most: int, copies: int = 1) -> Iterator[slice]:
    """Slices of rows, short enough that arrays with a class's hyperparameters for each row and copy fit in memory."""
    largest = max(int(np.prod(np.shape(leaf)[1:])) for leaf in jax.tree.leaves(trees))
    step = max(1, min(PIECE_CELLS // max(copies * largest, 1), at_most))
    for start in range(0, num_rows, step):
        yield slice(start, min(start + step, num_rows))


def _cells(
    block: Block, counted: Statistics, x: np.ndarray, codes: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Log density of each cell given the rest of its class, and which cells cannot have been among the data.

    Independent columns of all rows are laid out side by side: rows of D columns become one row of rows * D columns,
    each with the hyperparameters of its row's class. A vector of counts stays one vector, and each row is a class of
    its own.

    Returns
    -------
    tuple of array and array of bool, shape (rows, columns); (rows, 1) for a vector of counts
    """
    num_rows = len(codes)
    if block.is_joint:
        axis, repeats, membership = 0, 1, np.eye(num_rows)

        def lay_out(leaf: Any) -> np.ndarray:
            return np.asarray(leaf)[codes]
    else:
        axis, repeats, membership = 1, x.shape[1], np.ones((1, 1))
        x = x.reshape(1, -1)

        def lay_out(leaf: Any) -> np.ndarray:
            taken = np.asarray(leaf)[codes]
            return taken.reshape(1, -1, *taken.shape[2:])

    prior, before = jax.tree.map(lay_out, (block.family, counted))
    once = prior.statistics(x, membership)
    taken = once
    if (weights != 1.0).any():
        taken = weighted(once, np.repeat(weights, repeats), (axis,))
    rest = (before - taken).without_rounding(before)
    impossible = ~np.asarray(prior.possible(rest)).reshape(num_rows, -1)
    if impossible.any():
        return np.full(impossible.shape, np.nan), impossible
    found = prior.update(rest).log_evidence(once) if block.is_joint else prior.log_predictive_given(rest, x)
    return np.asarray(found).reshape(num_rows, -1), impossible


def weighted(cells: Statistics, weights: np.ndarray, axes: tuple[int, ...]) -> Statistics:
    """The statistics of cells that are side by side on some axes, each times its own weight.

    Parameters
    ----------
    cells : Statistics
    weights : array
        Its axes are `axes` of every array of the statistics.
    axes : tuple of int

    Returns
    -------
    Statistics
    """
    # NumPy broadcasts weights against the last axes.
    last = tuple(range(-len(axes), 0))
    product = jax.tree.map(lambda leaf: np.moveaxis(np.asarray(leaf), axes, last), cells) * weights
    return jax.tree.map(lambda leaf: np.moveaxis(np.asarray(leaf), last, axes), product)


def cleared(after: np.ndarray, before: np.ndarray) -> np.ndarray:
    """The differences, with rounding errors set to zero."""
    return ClassCounts(after).without_rounding(ClassCounts(before)).n
