"""Shape of columns of measurements: a line for each column, compared with the largest value over all columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from bayesnb.blocks.block import Block
from bayesnb.checks.predictive.largest import departures, share_at_least
from bayesnb.checks.predictive.lmoments import SHAPES, Grid, LMomentWeights
from bayesnb.checks.predictive.replicates import Rows
from bayesnb.checks.predictive.statistic import Line, Statistic, blocks_where, dense
from bayesnb.model.bound import BoundModel

__all__ = ["shape"]

OTHER_SHAPES = {
    "Histogram": "nb.Histogram() takes any shape",
    "LogNormal": "nb.LogNormal() takes some skewed ones",
}
"""What to try, by the name of the family."""

NARROWER_BINS = "try narrower bins for the column, nb.Histogram(num_bins=...) or nb.Histogram(edges=...)"


def try_another_shape(block: Block) -> str:
    """What to do about a column that has not the shape of its family."""
    name = block.family.family_name
    others = ", ".join(text for other, text in OTHER_SHAPES.items() if other != name)
    step = NARROWER_BINS if name == "Histogram" else f"try another family for the column: {others}"
    return f"{step}; until then nb.mutual_information of the column misleads"


def shape(model: BoundModel, data: Rows, rng: np.random.Generator) -> Statistic | None:
    """L-skewness, L-kurtosis and share of the commonest value of each column of measurements, by class."""
    blocks = blocks_where(model, lambda block: block.is_measured)
    if not blocks:
        return None
    of_blocks = [_BlockShapes.of(i, data) for i, _ in blocks]
    columns = [column for _, block in blocks for column in block.labels]
    n = np.concatenate([of_block.n for of_block in of_blocks])
    return _Shape(
        [f"shape[{column}]" for column in columns],
        lambda rows: np.concatenate([of_block.shapes(rows) for of_block in of_blocks]).ravel(),
        [try_another_shape(block) for _, block in blocks for _ in block.labels],
        data.labels.classes,
        np.repeat(1 / np.maximum(n, 1), len(SHAPES), axis=1).ravel(),
    )


@dataclass(frozen=True)
class _BlockShapes:
    """The shapes of a block's columns, of the observed data and of replicates.

    Attributes
    ----------
    place : int
        Position of the block.
    grid : Grid
        To which replicates are rounded.
    by_class : sequence of LMomentWeights
    """

    place: int
    grid: Grid
    by_class: Sequence[LMomentWeights]

    @classmethod
    def of(cls, place: int, data: Rows) -> Self:
        x = dense(data.cells[place])
        return cls(place, Grid.of(x), [LMomentWeights.of(np.isnan(x[at])) for at in data.labels.members])

    @property
    def n(self) -> np.ndarray:
        """Observed cells, shape (columns, classes)."""
        return np.stack([of_class.n for of_class in self.by_class], axis=1)

    def shapes(self, rows: Rows) -> np.ndarray:
        """The numbers that `SHAPES` names, shape (columns, classes, 3)."""
        x = self.grid.round(dense(rows.cells[self.place]))
        found = [
            of_class.shapes(x[at], self.grid.tied)
            for of_class, at in zip(self.by_class, rows.labels.members, strict=True)
        ]
        return np.stack(found, axis=1)


@dataclass(frozen=True)
class _Shape(Statistic):
    """Values (columns, classes, 3) of a data set, flat; a line gives a column's most extreme value.

    Attributes
    ----------
    classes : list of str
    smallest : array
        Smallest spread of each value, as for `departures`: the change of a share by one more row.
    """

    classes: list[str]
    smallest: np.ndarray

    def lines(self, observed: np.ndarray, replicated: np.ndarray) -> list[Line]:
        departure, above = departures(np.vstack([observed, replicated]), self.smallest)
        departure = np.where(np.isnan(departure), -np.inf, departure)
        of_column = departure[0].reshape(len(self.labels), -1)
        farthest = of_column.argmax(axis=1) + of_column.shape[1] * np.arange(len(of_column))
        distance, largest = of_column.max(axis=1), departure[1:].max(axis=1)
        return [
            Line(label, distance[j], largest, p_value, p_value, step, self._detail(k, above[0, k]))
            for j, (label, k, p_value, step) in enumerate(
                zip(self.labels, farthest, share_at_least(distance, largest), self.next_steps, strict=True)
            )
        ]

    def _detail(self, value: int, above: bool) -> str:
        column_and_class, k = divmod(int(value), len(SHAPES))
        return f"{'high' if above else 'low'} {SHAPES[k]} in {self.classes[column_and_class % len(self.classes)]}"
