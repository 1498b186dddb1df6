"""Densities of rows under every class, given the other rows, where the prior follows the data.

Hyperparameters that `on_scale_of` takes from the data are those of the other rows only, so that they differ from row to
row, in every class. The statistics of the row are subtracted, and `on_scale_of` is called again. A family may define a
faster way in `row_log_refitted`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np

from bayesnb.blocks.block import Block
from bayesnb.checks.left_out_fixed_prior import LabelledRows, pieces_of, weighted
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.sparse import dense
from bayesnb.statistics.base import Statistics

__all__ = ["Refit", "every_class_without", "refits"]


@dataclass(frozen=True)
class Refit:
    """A block without each of some rows. The rows * columns columns of all rows are laid out side by side.

    Attributes
    ----------
    prior : ConjugateFamily
        Shape (classes, rows * columns), with the defaults of the other rows.
    rest : Statistics
        Of the other rows.
    cell : Statistics
        Statistics of the row's own cell, in every class.
    x : array, shape (1, rows * columns)
        The cells.
    num_rows : int
    """

    prior: ConjugateFamily
    rest: Statistics
    cell: Statistics
    x: np.ndarray
    num_rows: int

    def of_classes(self) -> np.ndarray:
        """Log density of each cell under each class, shape (rows, classes, columns); zero for a missing one."""
        cells = np.asarray(self._log_density(self.prior, self.rest, self.cell))
        return np.moveaxis(cells.reshape(len(cells), self.num_rows, -1), 0, 1)

    def of_all_together(self) -> np.ndarray:
        """Log density of each cell under a parameter that all classes share, shape (rows, columns)."""
        one = jax.tree.map(lambda leaf: leaf[:1], self.cell)
        return np.asarray(self._log_density(self._shared, self.rest.pooled(), one)).reshape(self.num_rows, -1)

    def log_bayes_factor(self) -> np.ndarray:
        """Log Bayes factor of the other rows, for parameters by class against a shared one, shape (rows, columns)."""
        own = np.asarray(self.prior.log_evidence(self.rest)).sum(axis=0)
        return (own - np.asarray(self._shared.log_evidence(self.rest.pooled()))[0]).reshape(self.num_rows, -1)

    def _log_density(self, prior: ConjugateFamily, rest: Any, cell: Any) -> Any:
        if prior.joint:
            return prior.update(rest).log_evidence(cell)
        return prior.log_predictive_given(rest, self.x)

    @property
    def _shared(self) -> ConjugateFamily:
        return self.prior.take(slice(0, 1))


def every_class_without(block: Block, counted: Any, x: Any, rows: LabelledRows, held: np.ndarray) -> np.ndarray:
    """Log p(x_i | y=c, D without i) of a block whose prior follows the data, shape (rows, classes).

    Parameters
    ----------
    block : Block
        As the user gave it: the defaults that follow the data have no numbers.
    counted : Statistics
        Of all rows.
    x : array, shape (rows, columns)
    rows : LabelledRows
    held : array, shape (rows, classes)
        Log p(x_i | y=c, D), with the defaults of all rows.
    """
    family: Any = block.family
    known = family.row_log_refitted(x, rows.codes, rows.weights, counted, held)
    result = np.full(held.shape, np.nan) if known is None else known
    slow = np.flatnonzero(~np.isfinite(result).all(axis=1))
    for piece, refit in refits(block, counted, x[slow], rows.take(slow)):
        result[slow[piece]] = refit.of_classes().sum(axis=-1)
    return result


def refits(block: Block, counted: Any, x: Any, rows: LabelledRows) -> Iterator[tuple[slice, Refit]]:
    """The block without each row, some rows at a time; one at a time for count vectors, whose columns form one vector.

    Raises
    ------
    ValueError
        If a row cannot have been among the data.
    """
    classes = len(rows.classes)
    at_most = 1 if block.is_joint else len(rows)
    for piece in pieces_of(len(rows), block.family, counted, at_most=at_most, copies=classes):
        some = rows.take(piece)
        prior, before = jax.tree.map(partial(_side_by_side, num_rows=len(some)), (block.family, counted))
        side_by_side = dense(x[piece]).reshape(1, -1)
        cell = prior.statistics(side_by_side, np.ones((1, classes)))
        weights = np.where(some.codes == np.arange(classes)[:, None], some.weights, 0.0)
        if block.is_joint:
            own = weighted(cell, weights[:, 0], (0,))
        else:
            own = weighted(cell, np.repeat(weights, x.shape[1], axis=1), (0, 1))
        rest = (before - own).without_rounding(before)
        impossible = ~np.asarray(prior.possible(rest))
        some.refuse(impossible.any(axis=0).reshape(len(some), -1), block)
        yield piece, Refit(prior.on_scale_of(rest.pooled()), rest, cell, side_by_side, len(some))


def _side_by_side(leaf: Any, num_rows: int) -> np.ndarray:
    """A copy of (classes, columns, ...) for each row, shape (classes, rows * columns, ...)."""
    values = np.asarray(leaf)
    classes, columns, *further = values.shape
    copies = np.broadcast_to(values[:, None], (classes, num_rows, columns, *further))
    return copies.reshape(classes, num_rows * columns, *further)
