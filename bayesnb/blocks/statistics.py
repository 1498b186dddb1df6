"""The sufficient statistics of a table under a model, and the closed forms given them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import jax

from bayesnb.blocks.class_prior import ClassPrior
from bayesnb.families.base import Family
from bayesnb.families.conjugate import ConjugateFamily, given
from bayesnb.statistics.base import Statistics
from bayesnb.statistics.counts import ClassCounts

__all__ = ["ModelStatistics", "log_evidence", "updated"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ModelStatistics:
    """Sufficient statistics of a table under a model: the classes' and each block's.

    Attributes
    ----------
    classes : ClassCounts
    blocks : tuple of Statistics
    """

    classes: ClassCounts
    blocks: tuple[Statistics, ...]

    def __add__(self, other: Self) -> Self:
        blocks = tuple(mine + theirs for mine, theirs in zip(self.blocks, other.blocks, strict=True))
        return type(self)(self.classes + other.classes, blocks)

    def __sub__(self, other: Self) -> Self:
        blocks = tuple(mine - theirs for mine, theirs in zip(self.blocks, other.blocks, strict=True))
        return type(self)(self.classes - other.classes, blocks)

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.classes * factor, tuple(block * factor for block in self.blocks))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Statistics of all classes of several groups, the classes of the first group first."""
        blocks = zip(*(part.blocks for part in parts), strict=True)
        classes = ClassCounts.joined([part.classes for part in parts])
        return cls(classes, tuple(type(of_parts[0]).joined(of_parts) for of_parts in blocks))


def updated(
    class_prior: ClassPrior, families: Sequence[Family], statistics: ModelStatistics
) -> tuple[ClassPrior, tuple[Family, ...]]:
    """Class prior and families given statistics; a family without a closed form stays as its prior."""
    after = tuple(
        given(family, counted) if isinstance(family, ConjugateFamily) else family
        for family, counted in zip(families, statistics.blocks, strict=True)
    )
    return class_prior.update(statistics.classes), after


def log_evidence(class_prior: ClassPrior, families: Sequence[Family], statistics: ModelStatistics) -> Any:
    """Log density of labels and cells, every parameter integrated out; needs conjugate families."""
    total = class_prior.log_evidence(statistics.classes)
    for family, counted in zip(families, statistics.blocks, strict=True):
        total = total + family.log_evidence(counted).sum()  # type: ignore[attr-defined]
    return total
