"""Blocks: columns of a table that one family describes with arrays of one shape."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from numpyro.distributions import constraints

from bayesnb.arrays import in_float64
from bayesnb.families.base import Family
from bayesnb.statistics.base import Statistics
from bayesnb.tables.columns import listed

__all__ = ["Block", "join_blocks"]


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

    @property
    def is_joint(self) -> bool:
        """Whether the block's columns are one observation."""
        return self.family.joint

    def owner(self, j: int = 0) -> str:
        """The column at a position of the block, or a joint block with its columns, for error messages."""
        if not self.is_joint:
            return f"column {self.labels[j]!r}"
        return f"block {self.name!r} of the columns {listed(self.labels)}"

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
        return self.family.cell == "number" and self.family.support is constraints.boolean

    @property
    def is_measured(self) -> bool:
        """Whether the cells are measurements: numbers that are not whole by the family's support."""
        return self.family.cell == "number" and not self.family.support.is_discrete

    @in_float64
    def statistics_of_nothing(self, num_classes: int) -> Statistics:
        """Statistics of a table that has no row."""
        missing = np.full((1, len(self.columns)), 0.0 if self.is_joint else np.nan)
        return self.family.statistics(missing, np.zeros((1, num_classes)))

    @property
    def members(self) -> Sequence[int | None]:
        """Columns that results name one by one; a single None if they name the block as a whole."""
        return range(len(self.columns)) if self.by_column else [None]

    @property
    def group_key(self) -> Hashable:
        """Equal for blocks that can be joined: those of the same family, with fields of the same shape."""
        leaves, structure = jax.tree.flatten(self.family)
        return structure, tuple(leaf.shape[2:] for leaf in leaves)


def join_blocks(blocks: list[Block]) -> Block:
    """Several blocks as one, their columns side by side."""
    if len(blocks) == 1:
        return blocks[0]
    return Block(
        blocks[0].name,
        jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *[block.family for block in blocks]),
        tuple(column for block in blocks for column in block.columns),
        tuple(label for block in blocks for label in block.labels),
        by_column=True,
    )
