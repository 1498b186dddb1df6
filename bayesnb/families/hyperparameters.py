"""Hyperparameters of a family: allowed numbers and distributions, shapes, and display."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.core.deferred import dist, is_distribution, leaves


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
    return replace(family, **{name: np.broadcast_to(defaults[name], shape) for name in missing})  # type: ignore[type-var]


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
    return [
        (
            columns,
            {
                name: np.broadcast_to(numbers if alike else numbers[:, columns], (num_classes, len(columns), size))
                for name, numbers in given.items()
            },
        )
        for columns, size in groups
    ]


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
    >>> nb.families.format_number(np.full((2, 3), 0.5)), nb.families.format_number(np.zeros((2, 3, 4)) + np.arange(4))
    ('0.5', '(0, 1, 2, 3)')
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
