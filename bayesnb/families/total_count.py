"""Families with a known `total_count`, which is one number for all columns or one for each."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.families.success_prob import SuccessFamily

__all__ = ["TotalCountFamily"]

LARGEST = 2.0**53
"""The largest number of trials: float64 holds every whole number up to here."""


class TotalCountFamily(SuccessFamily):
    """A family of successes and failures with a constant `total_count`.

    Formulas take one number. Columns with different numbers therefore are different blocks of the model: `spread` gives
    each of them a family with its number.
    """

    total_count: Any

    whole: ClassVar[bool]
    """Whether the number has to be whole."""
    meaning: ClassVar[str]
    """What the number counts, for the error message."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "total_count", self._read(self.total_count))

    def _read(self, given: Any) -> Any:
        """A number, or a tuple of one number for each column, which JAX can compare and hash."""
        where = f"{type(self).__name__}(total_count={given!r})"
        wanted = f"give {self.meaning}, {'a whole number from 1 to 2**53' if self.whole else 'a positive number'}"
        listed = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
        numbers = list(given) if listed and np.ndim(given) == 1 else [given]
        for number in numbers:
            if not isinstance(number, int | float | np.integer | np.floating) or isinstance(number, bool):
                raise TypeError(f"{where}: {wanted}, or a list of one for each column")
            if not 0 < number < np.inf or (self.whole and (number > LARGEST or number != np.rint(number))):
                raise ValueError(f"{where}: {number} is not allowed; {wanted}")
        kind = int if self.whole else float
        return tuple(map(kind, numbers)) if listed else kind(given)

    @property
    def by_column(self) -> bool:
        """Whether results name each column: each has a number of its own."""
        return isinstance(self.total_count, tuple)

    def spread(self, num_classes: int, names: tuple, sizes: tuple[int, ...]) -> list[tuple[Sequence[int], Self]]:
        """As `Family.spread`; columns with another `total_count` are another entry.

        Raises
        ------
        ValueError
            If `total_count` does not have one number for each column, or a hyperparameter has the wrong shape.
        """
        if not isinstance(self.total_count, tuple):
            return super().spread(num_classes, names, sizes)
        if len(self.total_count) != len(names):
            raise ValueError(
                f"{type(self).__name__}(total_count=...) has {len(self.total_count)} numbers for {len(names)} columns: "
                "give one number for all columns, or a list of one for each"
            )
        found: list[tuple[Sequence[int], Self]] = []
        for number in dict.fromkeys(self.total_count):
            columns = [j for j, other in enumerate(self.total_count) if other == number]
            constant: dict[str, Any] = {"total_count": number}
            ((_, family),) = replace(self, **constant).spread(num_classes, names, sizes)
            found.append((columns, family.take((slice(None), columns))))
        return found
