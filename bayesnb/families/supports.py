"""Which numbers a cell may hold: NumPyro's constraints, and the same tests in NumPy."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.core.deferred import constraints, jax


@dataclass(frozen=True)
class Support:
    """A NumPyro constraint by name, imported only when used, and a test that needs no import.

    Parameters
    ----------
    name : str
        The constraint, or the function that makes it of `ends`.
    inside : callable
        Whether each number of an array is in the support.
    some : float
        A number that is.
    is_discrete : bool
        Whether all numbers are whole.
    ends : sequence of float
    other : Support, optional
        Of the numbers that are not zero, where zero is one value and these are others.
    """

    name: str
    inside: Callable[[Any], Any]
    some: float
    is_discrete: bool = False
    ends: tuple[float, ...] = ()
    other: Any = None

    @cached_property
    def constraint(self) -> Any:
        """NumPyro's constraint."""
        found = getattr(constraints, self.name)
        return found(*self.ends) if self.ends else found

    def __get__(self, family: Any, kind: Any = None) -> Any:
        return self.constraint

    def __call__(self, x: Any) -> Any:
        return self.inside(x)


REAL = Support("real", np.isfinite, 0.0)
POSITIVE = Support("positive", lambda x: x > 0, 1.0)
NONNEGATIVE = Support("nonnegative", lambda x: x >= 0, 1.0)
BOOLEAN = Support("boolean", lambda x: (x == 0) | (x == 1), 0.0, is_discrete=True)
NONNEGATIVE_INTEGER = Support(
    "nonnegative_integer", lambda x: (x >= 0) & (x < np.inf) & (x == np.rint(x)), 0.0, is_discrete=True
)
KNOWN = (REAL, POSITIVE, NONNEGATIVE, BOOLEAN, NONNEGATIVE_INTEGER)


def support_of(family: Any) -> Any:
    """The `Support` of a family, or the constraint itself of one that is not among the `KNOWN`."""
    declared = next(vars(kind) for kind in type(family).__mro__ if "support" in vars(kind))
    if isinstance(declared["support"], Support):
        return declared["support"]
    if "own_support" in declared:  # which follows from the settings
        return family.own_support
    found = family.support
    return next((known for known in KNOWN if known.constraint is found), found)


def accepts_fractions(family: Any) -> bool:
    """Whether cells may be fractions, though the support has whole numbers only: the field ``fractional``."""
    return getattr(family, "fractional", False)


def keeps_others(family: Any) -> bool:
    """Whether a family has one more category for all values that are none of the others, the field ``other``."""
    return family.settings().get("other", False)


def kind_of_cell(family: Any) -> str:
    """What a cell of a family is.

    Returns
    -------
    str
        ``"zero or one"``, ``"count"`` (a whole number from zero), another ``"whole number"``, ``"measurement"``,
        ``"category"``, or ``"count vector"`` where a row is one.
    """
    if family.cell != "number":
        return family.cell
    support = support_of(family)
    if support is BOOLEAN:
        return "zero or one"
    if support is NONNEGATIVE_INTEGER and not accepts_fractions(family):
        return "count"
    return "whole number" if support.is_discrete else "measurement"


def some_cell(family: Any) -> float:
    """A number that a cell of a family may hold."""
    support = support_of(family)
    if isinstance(support, Support):
        return support.some
    with jax.ensure_compile_time_eval():
        return float(support.feasible_like(np.ones(())))


def kind_of_density(support: Any) -> str:
    """How a density takes a cell: ``"as a value"`` or ``"as a measurement"``; evidences compare if it is the same."""
    if getattr(support, "other", None) is not None:
        return f"as zero or {kind_of_density(support.other)}"
    return "as a value" if support.is_discrete else "as a measurement"
