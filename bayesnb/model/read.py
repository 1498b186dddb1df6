"""The arguments that describe a model, read and checked."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from enum import Enum
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist

from bayesnb.families.base import Family
from bayesnb.families.hyperparameters import require_hyperprior
from bayesnb.tables.labels import as_labels, learn_classes
from bayesnb.tables.objects import is_missing
from bayesnb.tables.schema import Schema
from bayesnb.validate import a_type, whole_number

__all__ = [
    "EVERY_COLUMN",
    "block_name",
    "categorical_columns",
    "declared_categories",
    "read_class_concentration",
    "read_class_probs",
    "read_classes",
    "read_features",
]


class _EveryColumn(Enum):
    # A member of an enumeration stays the same object when it is copied or pickled.
    EVERY_COLUMN = "every column"


EVERY_COLUMN = _EveryColumn.EVERY_COLUMN
"""Name of the only feature of a model that has one family for every column."""


def read_features(features: Any) -> dict[Any, tuple[Family, Any]]:
    """Features as a mapping from name to (family, columns); columns None means the column of that name."""
    if isinstance(features, Family):
        _require_described(features)
        return {EVERY_COLUMN: (features, slice(None))}
    if isinstance(features, type) and issubclass(features, Family):
        raise TypeError(f"features is the class {features.__name__}: give an instance, {features.__name__}()")
    if not isinstance(features, Mapping):
        raise TypeError(
            f"features is the {type(features).__name__} {features!r}: give a family such as nb.Bernoulli(), or a "
            "mapping from columns to families"
        )
    if not features:
        raise ValueError("features names no column: give at least one")
    result: dict[Any, tuple[Family, Any]] = {}
    for name, value in features.items():
        family, columns = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
        if isinstance(family, type) and issubclass(family, Family):
            raise TypeError(f"{name!r} has the class {family.__name__}: give an instance, {family.__name__}()")
        if not isinstance(family, Family):
            raise TypeError(
                f"{name!r} has {value!r}, which is neither a family nor (family, columns): write "
                f"{{{name!r}: nb.Gaussian()}} or {{{name!r}: (nb.Gaussian(), [columns])}}"
            )
        _require_described(family)
        if columns is not None and not isinstance(columns, slice):
            columns = [columns] if isinstance(columns, str | int) else list(columns)
            if not columns:
                raise ValueError(f"block {name!r} names no column: give at least one")
        result[name] = (family, columns)
    return result


def _require_described(family: Family) -> None:
    """Refuse a family that JAX cannot take apart, and settings that it cannot compare."""
    name = family.family_name
    if jax.tree_util.all_leaves([family]) or "__dataclass_fields__" not in vars(type(family)):
        raise TypeError(
            f"{name} is a family that JAX cannot take apart: decorate the class with "
            "@jax.tree_util.register_dataclass and, below it, @dataclass(frozen=True)"
        )
    for setting, value in family.settings().items():
        if isinstance(value, dist.Distribution):
            raise TypeError(
                f"{name}({setting}={type(value).__name__}(...)): {setting} is a constant (a static field), which is "
                "not learned: give a number, or make it a hyperparameter (a field that is not static)"
            )
        # `declared_categories` reads the categories, and names the one that cannot be.
        if setting != "categories" and not _is_hashable(value):
            raise TypeError(
                f"{name}({setting}={value!r}): {setting} is a constant (a static field), which JAX has to compare and "
                "to hash: give a number, text or a tuple of them; a formula makes an array of it, "
                f"np.asarray(self.{setting})"
            )


def _is_hashable(value: Any) -> bool:
    """Whether a value has a hash; a tuple of lists is Hashable, and has none."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def read_class_concentration(value: Any) -> Any:
    """The class prior's concentration, a number, an array or a distribution."""
    if isinstance(value, dist.Distribution):
        require_hyperprior("class_concentration", value, positive=True)
        return value
    concentration = _numbers("class_concentration", value)
    if concentration.ndim > 1 or not (np.isfinite(concentration) & (concentration > 0)).all():
        raise ValueError(f"class_concentration is {value!r}: give a positive number, or one per class")
    return float(concentration) if concentration.ndim == 0 else concentration


def read_class_probs(value: Any) -> Any:
    """Known class probabilities: an array, a mapping from label, "empirical" or None."""
    if value is None:
        return None
    if isinstance(value, str):
        if value != "empirical":
            raise ValueError(
                f'class_probs is {value!r}: give the probabilities, or "empirical" for the data\'s frequencies'
            )
        return value
    probs = _numbers("class_probs", list(value.values()) if isinstance(value, Mapping) else value)
    if probs.ndim != 1 or not (np.isfinite(probs) & (probs >= 0)).all():
        raise ValueError(f"class_probs is {value!r}: give a probability, zero or more, for each class")
    if not np.isclose(probs.sum(), 1.0, rtol=0, atol=1e-8):
        raise ValueError(f"class_probs sum to {probs.sum():.10g}, not to one: divide them by their sum")
    return dict(value) if isinstance(value, Mapping) else probs


def _numbers(name: str, value: Any) -> np.ndarray:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}: give numbers") from None


def read_classes(classes: Any) -> np.ndarray:
    """Labels in the order given; a number of classes means the labels 0, 1, 2 and so on."""
    if isinstance(classes, int | np.integer):
        return np.arange(whole_number("classes", classes))
    given = list(classes)
    if not given:
        raise ValueError("classes is empty: give at least one label")
    labels = learn_classes(classes, len(given), "classes")
    if len(labels) != len(given):
        raise ValueError(f"classes {given} names a class twice")
    given = as_labels(classes).tolist()
    order = {label: position for position, label in enumerate(given)}
    return labels[np.argsort([order[label] for label in labels.tolist()], kind="stable")]


def categorical_columns(
    features: Mapping[Any, tuple[Family, Any]], schema: Schema
) -> Iterator[tuple[int, Family, tuple | None]]:
    """Position and family of every column of categories, and the categories that the model lists for it."""
    for name, (family, columns) in features.items():
        if family.cell == "category":
            positions = schema.positions(name, columns)
            _require_known_columns(family, [schema.columns[position] for position in positions])
            for position in positions:
                yield position, family, declared_categories(family, schema.columns[position])


def declared_categories(family: Family, column: Any) -> tuple | None:
    """Categories that the model lists for a column."""
    declared = family.categories
    if declared is not None and declared and all(isinstance(entry, tuple) and len(entry) == 2 for entry in declared):
        declared = dict(declared).get(column)
    if declared is None:
        return None
    for category in declared:
        if is_missing(category):
            raise ValueError(f"{family.family_name}(categories=...) lists {category!r}, which marks a missing cell")
        if not isinstance(category, Hashable):
            raise TypeError(
                f"{family.family_name}(categories=...) lists {category!r}, {a_type(category)}, which "
                "cannot be a category: give text, numbers, booleans or tuples"
            )
    for category, times in Counter(declared).items():
        if times > 1:
            raise ValueError(f"{family.family_name}(categories=...) lists {category!r} twice")
    return tuple(declared)


def _require_known_columns(family: Family, columns: list[Any]) -> None:
    """Refuse categories listed for a column that the feature does not have."""
    declared = family.categories
    if declared and all(isinstance(entry, tuple) and len(entry) == 2 for entry in declared):
        for column, _ in declared:
            if column not in columns:
                raise ValueError(
                    f"{family.family_name}(categories=...) names the column {column!r}, its columns are {columns}"
                )


def block_name(name: Any) -> str:
    """Name of a feature in results."""
    return "x" if name is EVERY_COLUMN else str(name)
