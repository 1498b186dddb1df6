"""Blocks of columns: class prior, statistics, parameters, densities."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from typing import Any

import numpy as np

from bayesnb.core.arrays import log
from bayesnb.core.checking import first_few, listed
from bayesnb.core.deferred import leaves, map_tree, pytree, structure
from bayesnb.data.tables import as_range
from bayesnb.families.family import Family, JointFamily
from bayesnb.families.statistics import ClassCounts, Statistics
from bayesnb.families.supports import BOOLEAN, support_of

# --------------------------------------------------------------------------------------------------
# Blocks: columns of a table that one family describes with arrays of one shape
# --------------------------------------------------------------------------------------------------


class _EveryColumn(Enum):
    # A member of an enumeration stays the same object when it is copied or pickled.
    EVERY_COLUMN = "every column"


EVERY_COLUMN = _EveryColumn.EVERY_COLUMN
"""Name of the only feature of a model that has one family for every column."""


@dataclass(frozen=True)
class Block:
    """Columns that one family describes, with hyperparameters of one shape.

    Attributes
    ----------
    name : str
        Name of the block, or of its column.
    family : Family
        Hyperparameters spread to (classes, columns) or (classes, columns, categories).
    columns : sequence of int
        Positions in the schema; a range where they follow each other.
    labels : tuple
        Names of the columns.
    by_column : bool
        Whether results name each column; otherwise they name the block.
    """

    name: str
    family: Family
    columns: Sequence[int]
    labels: tuple[Any, ...]
    by_column: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", as_range(self.columns))

    @property
    def is_joint(self) -> bool:
        """Whether the block's columns are one observation."""
        return isinstance(self.family, JointFamily)

    def owner(self, j: int = 0) -> str:
        """The column at a position of the block, or a joint block with its columns, for error messages."""
        if not self.is_joint:
            return f"column {self.labels[j]!r}"
        return f"block {self.name!r} of the columns {listed(self.labels)}"

    @property
    def described(self) -> Sequence[int]:
        """Positions of the columns that the block describes: all that it does not take as given."""
        given = self.family.num_given if isinstance(self.family, JointFamily) else 0
        return self.columns[: len(self.columns) - given]

    @property
    def is_vector(self) -> bool:
        """Whether the block describes several columns as one observation."""
        return self.is_joint and len(self.described) > 1

    @property
    def whole_rows(self) -> bool:
        """Whether a fit leaves rows with a missing cell out of the block."""
        return isinstance(self.family, JointFamily) and self.family.whole_rows

    @property
    def has_totals(self) -> bool:
        """Whether a row of the block is a vector of counts, whose total the likelihood is given."""
        return self.family.cell == "count vector"

    @property
    def has_categories(self) -> bool:
        """Whether the block's columns hold categories."""
        return self.family.cell == "category"

    @property
    def is_binary(self) -> bool:
        """Whether the cells are zeros and ones."""
        return self.family.cell == "number" and support_of(self.family) is BOOLEAN

    @property
    def is_measured(self) -> bool:
        """Whether the cells are measurements: numbers that are not whole by the family's support."""
        return self.family.cell == "number" and not support_of(self.family).is_discrete

    @property
    def members(self) -> Sequence[int | None]:
        """Columns that results name one by one; a single None if they name the block as a whole."""
        return range(len(self.columns)) if self.by_column else [None]

    @property
    def group_key(self) -> Hashable:
        """Equal for blocks that can be joined: those of the same family, with fields of the same shape."""
        return structure(self.family), tuple(leaf.shape[2:] for leaf in leaves(self.family))


def block_name(name: Any) -> str:
    """Name of a feature in results."""
    return "x" if name is EVERY_COLUMN else str(name)


def join_blocks(blocks: list[Block]) -> Block:
    """Several blocks as one, their columns side by side."""
    if len(blocks) == 1:
        return blocks[0]
    return Block(
        blocks[0].name,
        side_by_side([block.family for block in blocks]),
        tuple(column for block in blocks for column in block.columns),
        tuple(label for block in blocks for label in block.labels),
        by_column=True,
    )


def side_by_side(parts: Sequence[Any]) -> Any:
    """Families or statistics of several columns as one; a single one as it is."""
    return parts[0] if len(parts) == 1 else map_tree(lambda *leaves: np.concatenate(leaves, axis=1), *parts)


def parameter_notes(blocks: Iterable[Block]) -> list[str]:
    """Sentences about columns whose parameters are not those of the cells, such as those of the logarithm."""
    told: dict[str, list[str]] = {}
    for block in blocks:
        if note := block.family.parameter_note:
            told.setdefault(note, []).extend(map(str, block.labels))
    return [f"{first_few(columns)}: {note}." for note, columns in told.items()]


# --------------------------------------------------------------------------------------------------
# The sufficient statistics of a table under a model
# --------------------------------------------------------------------------------------------------


@pytree
@dataclass(frozen=True)
class ModelStatistics(Statistics):
    """Sufficient statistics of a table under a model: the classes' and each block's.

    Attributes
    ----------
    classes : ClassCounts
    blocks : tuple of Statistics
    """

    classes: ClassCounts
    blocks: tuple[Statistics, ...]


def statistics_of_features(block: Block, counted: Any) -> list[Any]:
    """Statistics of each column of a block, or of the block if its columns are one feature."""
    if not block.by_column:
        return [counted]
    return [map_tree(lambda leaf, j=j: leaf[:, [j]], counted) for j in range(len(block.columns))]


# --------------------------------------------------------------------------------------------------
# The density of rows given the class
# --------------------------------------------------------------------------------------------------


def log_joint(class_prob: Any, densities: Iterable[Any]) -> np.ndarray:
    """Log density of each row and each class, shape (..., rows, classes), given those of its blocks; classes first."""
    return np.add(log(class_prob)[..., None, :], summed(densities), order="F")


def summed(densities: Iterable[Any]) -> np.ndarray:
    """Sum of log densities, computed one at a time. A single term is returned without a copy."""
    return reduce(np.add, map(np.asarray, densities))
