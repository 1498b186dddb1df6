"""The numbers that a family takes: hyperparameters, their shapes and display, and the support of its cells."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.core.cells import LARGEST_COUNT, LARGEST_NUMBER
from bayesnb.core.checking import require_readable
from bayesnb.core.deferred import constraints, dist, is_distribution, jax, leaves, namespace


def broadcast_hyperparameter(family: object, name: str, value: Any, shape: tuple[int, int]) -> np.ndarray:
    """A hyperparameter as an array of shape (classes, columns).

    Raises
    ------
    ValueError
        If it does not broadcast to that shape.
    """
    array = np.asarray(value, dtype=np.float64)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(
            f"{type(family).__name__}({name}=...) has shape {array.shape}, which broadcasts neither to {shape[1:]}, "
            "one "
            f"number per column, nor to {shape}, one per class and column"
        ) from None


def with_defaults[F](family: F, **defaults: Any) -> F:
    """A family with defaults, as arrays of the shape of the others, in place of the hyperparameters that are None."""
    shape = np.broadcast_shapes(*map(np.shape, leaves(family)))
    missing = [name for name in defaults if getattr(family, name) is None]
    xp, _ = namespace(*defaults.values())
    return replace(family, **{name: xp.broadcast_to(defaults[name], shape) for name in missing})  # type: ignore[type-var]


def spread_over_categories(
    family: object, values: Mapping[str, Any], num_classes: int, names: tuple, sizes: tuple[int, ...]
) -> list[tuple[Sequence[int], dict[str, np.ndarray]]]:
    """Hyperparameters of columns of categories as arrays, in groups of columns with as many categories.

    Parameters
    ----------
    family : object
    values : mapping
        By name: one number, or (columns,) or (classes, columns); of a single column also (categories,) or
        (classes, categories); of columns with as many categories (classes, columns, categories).
    num_classes : int
    names : tuple
        Names of the columns.
    sizes : tuple of int
        Number of categories of each column.

    Returns
    -------
    list of (sequence of int, dict)
        Positions among `names`, and arrays of shape (classes, columns, categories) by name.

    Raises
    ------
    ValueError
        If an array broadcasts to none of these shapes.
    """
    alike = len(set(sizes)) == 1
    given: dict[str, np.ndarray] = {}
    for name, value in values.items():
        numbers = np.asarray(value, dtype=np.float64)
        if len(names) == 1 and sizes[0] > 1 and numbers.shape in {(sizes[0],), (num_classes, sizes[0])}:
            numbers = np.broadcast_to(numbers.reshape(-1, 1, sizes[0]), (num_classes, 1, sizes[0]))
        if not (alike and numbers.shape == (num_classes, len(names), sizes[0])):
            try:
                numbers = broadcast_hyperparameter(family, name, numbers, (num_classes, len(names)))[..., None]
            except ValueError as error:
                if len(names) > 1:
                    raise
                raise ValueError(f"{error}; column {names[0]!r} has {sizes[0]} categories") from None
        given[name] = numbers
    if alike:
        groups: list[tuple[Sequence[int], int]] = [(range(len(names)), sizes[0])]
    else:
        groups = [([j for j, other in enumerate(sizes) if other == size], size) for size in sorted(set(sizes))]
    found: list[tuple[Sequence[int], dict[str, np.ndarray]]] = []
    for columns, size in groups:
        shape = num_classes, len(columns), size
        arrays = {name: np.broadcast_to(each if alike else each[:, columns], shape) for name, each in given.items()}
        found.append((columns, arrays))
    return found


def format_number(value: Any) -> str:
    """A hyperparameter for display: one number if all are equal, else the shape.

    Parameters
    ----------
    value : number, array, distribution or None

    See Also
    --------
    Family.story : The printed form of a family.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesnb as nb
    >>> nb.families.format_number(np.full((2, 3), 0.5))
    '0.5'
    >>> nb.families.format_number(np.zeros((2, 3, 4)) + np.arange(4))
    '(0, 1, 2, 3)'
    """
    if value is None:
        return "on the data's scale"
    if is_distribution(value):
        return _format_distribution(value)
    array = np.asarray(value)
    if array.size and (array == array.flat[0]).all():
        return f"{array.flat[0]:.4g}"
    if array.ndim > 1 and (array == array[:1]).all():
        return format_number(array[0])
    if array.ndim == 1 and array.size <= 6:
        return "(" + ", ".join(f"{number:.4g}" for number in array) + ")"
    return f"<array of shape {array.shape}>"


def require_hyperprior(where: str, distribution: "dist.Distribution", *, positive: bool) -> None:
    """Raise an error for a distribution that a hyperparameter cannot have.

    Raises
    ------
    ValueError
        If it is one of vectors or of whole numbers, or holds numbers that are not positive where they must be.
    """
    shown = _format_distribution(distribution)
    if distribution.event_shape:
        raise ValueError(
            f"{where} is {shown}, a distribution of vectors: give one of numbers, such as dist.Gamma(1, 1), with "
            ".expand([...]) for several of them"
        )
    if distribution.is_discrete:
        raise ValueError(f"{where} is {shown}, a distribution of whole numbers: give a continuous one")
    lowest = getattr(distribution.support, "lower_bound", -np.inf)
    if positive and not np.all(np.asarray(lowest) >= 0):
        raise ValueError(
            f"{where} is {shown}, which holds numbers that are not positive: give a distribution of positive numbers, "
            "such as dist.Gamma(1, 1), dist.LogNormal(0, 1) or dist.HalfNormal(1)"
        )


def _format_distribution(distribution: "dist.Distribution") -> str:
    base = distribution
    while isinstance(base, dist.ExpandedDistribution | dist.Independent):
        base = base.base_dist
    arguments = ", ".join(format_number(getattr(base, name)) for name in base.arg_constraints)
    shape = "" if not distribution.batch_shape else f", shape {tuple(distribution.batch_shape)}"
    return f"{type(base).__name__}({arguments}){shape}"


def require_numbers(family: str, name: str, value: Any, *, positive: bool) -> None:
    """Raise an error for hyperparameters that are not finite (positive) numbers; accept what JAX traces or maps."""
    if is_distribution(value):
        require_hyperprior(f"{family}({name}=...)", value, positive=positive)
        return
    if value is None or not isinstance(value, str | int | float | list | tuple | np.ndarray | np.generic):
        require_readable(f"{family}({name}=...)", value)
        return
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{family}({name}={value!r}): a hyperparameter is a number or an array of numbers") from None
    # A broadcast axis repeats its numbers, so that one entry of it is checked.
    numbers = numbers[(*(slice(None if step else 1) for step in numbers.strides), ...)]
    if numbers.size and numbers.min() > (0.0 if positive else -np.inf) and numbers.max() < np.inf:
        return
    wrong = ~np.isfinite(numbers) | (positive & (numbers <= 0))
    if wrong.any():
        kind = "positive finite" if positive else "finite"
        raise ValueError(
            f"{family}({name}={value!r}): {numbers[wrong].flat[0]} is not a {kind} number, as the prior's density needs"
        )


# --------------------------------------------------------------------------------------------------
# Which numbers a cell may hold: NumPyro's constraints, and the same tests in NumPy
# --------------------------------------------------------------------------------------------------


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


def limits_of(family: Any) -> tuple[float, float, bool] | None:
    """The smallest and the largest number that a cell may hold, and whether it is whole; None for another support."""
    support = NONNEGATIVE if accepts_fractions(family) else support_of(family)
    if (other := getattr(support, "other", None)) is not None:  # or zero
        support = NONNEGATIVE if other is POSITIVE else other
    if support in KNOWN:
        lowest = {REAL: -np.inf, POSITIVE: float(np.nextafter(0.0, 1.0))}.get(support, 0.0)
        return lowest, 1.0 if support is BOOLEAN else np.inf, support.is_discrete
    return (*support.ends, True) if getattr(support, "name", "") == "integer_interval" else None


def accepts_fractions(family: Any) -> bool:
    """Whether cells may be fractions, though the support has whole numbers only: the field ``fractional``."""
    return getattr(family, "fractional", False)


def held_by(cells: Any, family: Any, most: float = LARGEST_COUNT) -> Any:
    """Which cells a family can hold, and float64 the sums of; counts up to `most`."""
    xp, support = namespace(cells)[0], NONNEGATIVE if accepts_fractions(family) else support_of(family)
    if support is BOOLEAN:
        return (cells == 0) | (cells == 1)
    if support is NONNEGATIVE_INTEGER:
        return (cells >= 0) & (cells == xp.rint(cells)) & (cells <= most)
    within = xp.abs(cells) <= LARGEST_NUMBER
    return within if support is REAL else support(cells) & within


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


def filled_cells(family: Any, x: Any) -> tuple[Any, Any]:
    """Which cells are observed, and the cells with a value of the support in place of the missing ones."""
    xp, _ = namespace(x)
    observed = ~xp.isnan(x)
    return observed, xp.where(observed, x, some_cell(family))


def kind_of_density(support: Any) -> str:
    """How a density takes a cell: ``"as a value"`` or ``"as a measurement"``; evidences compare if it is the same."""
    if getattr(support, "other", None) is not None:
        return f"as zero or {kind_of_density(support.other)}"
    return "as a value" if support.is_discrete else "as a measurement"


def given[F](prior: F, statistics: Any) -> F:
    """The posterior that the family's `update` gives, of the family's class and with its static fields.

    Raises
    ------
    TypeError
        If `update` gives another class, or loses the value of a static field.
    """
    family: Any = prior
    after = family.update(statistics)
    name = type(family).__name__
    remedy = "return dataclasses.replace(self, ...), which keeps the class and the static fields"
    if type(after) is not type(family):
        raise TypeError(f"update of {name} gives an object of the class {type(after).__name__}: {remedy}")
    settings = after.settings()
    for constant, value in family.settings().items():
        if settings[constant] is not value and settings[constant] != value:
            raise TypeError(
                f"update of {name} gives {constant}={settings[constant]!r}, and the family has {constant}={value!r}: "
                f"{remedy}"
            )
    return after
