"""What a user writes: the description of a model."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from dataclasses import field as field_of
from enum import Enum
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayesnb.core.checking import Params, a_type, first_few, whole_number, with_params
from bayesnb.core.deferred import dist, is_distribution, structure
from bayesnb.core.printing import Code, Heading, Piece, Printed
from bayesnb.data.labels import as_labels, read_labels
from bayesnb.data.schema import Schema
from bayesnb.data.tables import is_missing
from bayesnb.data.written_numbers import NumberForm
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import Family, listed_categories, parameter_names, with_hyperparameters
from bayesnb.families.feature_inclusion import FeatureInclusion
from bayesnb.families.hyperparameters import format_number, require_hyperprior
from bayesnb.model.blocks import Block
from bayesnb.model.prior import CLASS_SITE

# --------------------------------------------------------------------------------------------------
# The arguments that describe a model, read and checked
# --------------------------------------------------------------------------------------------------


class _EveryColumn(Enum):
    # A member of an enumeration stays the same object when it is copied or pickled.
    EVERY_COLUMN = "every column"


EVERY_COLUMN = _EveryColumn.EVERY_COLUMN
"""Name of the only feature of a model that has one family for every column."""


def _read_features(features: Any) -> dict[Any, tuple[Family, Any]]:
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
    if structure(family) is None or "__dataclass_fields__" not in vars(type(family)):
        raise TypeError(
            f"{name} is a family that JAX cannot take apart: decorate the class with "
            "@jax.tree_util.register_dataclass and, below it, @dataclass(frozen=True)"
        )
    for setting, value in family.settings().items():
        if is_distribution(value):
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


def _read_class_concentration(value: Any) -> Any:
    """The class prior's concentration, a number, an array or a distribution."""
    if is_distribution(value):
        require_hyperprior("class_concentration", value, positive=True)
        return value
    concentration = _array_of_numbers("class_concentration", value)
    if concentration.ndim > 1 or not (np.isfinite(concentration) & (concentration > 0)).all():
        raise ValueError(f"class_concentration is {value!r}: give a positive number, or one per class")
    return float(concentration) if concentration.ndim == 0 else concentration


def _read_class_probs(value: Any) -> Any:
    """Known class probabilities: an array, a mapping from label, "empirical" or None."""
    if value is None:
        return None
    if isinstance(value, str):
        if value != "empirical":
            raise ValueError(
                f'class_probs is {value!r}: give the probabilities, or "empirical" for the data\'s frequencies'
            )
        return value
    probs = _array_of_numbers("class_probs", list(value.values()) if isinstance(value, Mapping) else value)
    if probs.ndim != 1 or not (np.isfinite(probs) & (probs >= 0)).all():
        raise ValueError(f"class_probs is {value!r}: give a probability, zero or more, for each class")
    if not np.isclose(probs.sum(), 1.0, rtol=0, atol=1e-8):
        raise ValueError(f"class_probs sum to {probs.sum():.10g}, not to one: divide them by their sum")
    return dict(value) if isinstance(value, Mapping) else probs


def _array_of_numbers(name: str, value: Any) -> np.ndarray:
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
    labels = read_labels(classes, len(given), "classes").classes()
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
            names = schema.names(positions)
            _require_known_columns(family, [*names])
            for position, column in zip(positions, names, strict=True):
                yield position, family, declared_categories(family, column)


def declared_categories(family: Family, column: Any) -> tuple | None:
    """Categories that the model lists for a column."""
    declared = listed_categories(family)
    if _lists_columns(declared):
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
    declared = listed_categories(family)
    for column, _ in declared if _lists_columns(declared) else ():
        if column not in columns:
            raise ValueError(
                f"{family.family_name}(categories=...) names the column {column!r}, its columns are {columns}"
            )


def _lists_columns(declared: Any) -> bool:
    """Whether categories are listed as pairs of a column and its categories."""
    return bool(declared) and all(isinstance(entry, tuple) and len(entry) == 2 for entry in declared)


def block_name(name: Any) -> str:
    """Name of a feature in results."""
    return "x" if name is EVERY_COLUMN else str(name)


# --------------------------------------------------------------------------------------------------
# The text of a model's repr
# --------------------------------------------------------------------------------------------------

STORIES = 24
"""Largest number of features that a repr shows."""


def printed_model(model: "Description") -> list[Piece]:
    """The parts of a model's printed form."""
    return [Heading("NaiveBayes, features independent given the class:"), printed_story(model, STORIES)]


def printed_story(model: "Description", most: int) -> Code:
    """The statements of a model: distributions of classes, of parameters and of at most so many features.

    Features share a line if they have the same lines, the same class of family and the same settings.
    """
    told: dict[Any, list[str]] = {}
    for name, (family, columns) in model.features.items():
        likelihood, priors = family.story()
        told.setdefault((structure(family), likelihood, *priors), []).append(_feature(name, columns))
    prior = _class_prior_text(model.class_concentration, model.class_probs)
    lines = [
        f"{CLASS_SITE} ~ {prior}",
        f"y ~ Categorical({CLASS_SITE})",
    ]
    for (_, likelihood, *priors), labels in list(told.items())[:most]:
        lines.append(f"{', '.join(labels)} ~ {likelihood}")
        lines += [f"    {line}" for line in priors]
    if len(told) > most:
        lines.append(f"… and {len(told) - most} more")
    inclusion = model.feature_inclusion
    if inclusion is not None:
        shown = inclusion if isinstance(inclusion, dict) else format_number(inclusion)
        lines.append(f"each feature depends on the class with probability {shown}, else classes share it")
    return Code([f"  {line}" for line in lines])


def parameter_notes(blocks: Iterable[Block]) -> list[str]:
    """Sentences about columns whose parameters are not those of the cells, such as those of the logarithm."""
    told: dict[str, list[str]] = {}
    for block in blocks:
        if note := block.family.parameter_note:
            told.setdefault(note, []).extend(map(str, block.labels))
    return [f"{first_few(columns)}: {note}." for note, columns in told.items()]


def _feature(name: Any, columns: Any) -> str:
    """Name and columns of a feature."""
    if name is EVERY_COLUMN:
        return "every column"
    if columns is None:
        return str(name)
    if isinstance(columns, slice):
        return f"{name}[{columns.start or 0}:{'' if columns.stop is None else columns.stop}]"
    shown = ", ".join(str(column) for column in columns[:4]) + (", ..." if len(columns) > 4 else "")
    return f"{name}[{shown}]"


def _class_prior_text(concentration: Any, probs: Any) -> str:
    if probs is None:
        return f"Dirichlet({format_number(concentration)})"
    if isinstance(probs, str):
        return "the frequencies of the data, known"
    if isinstance(probs, Mapping):
        return f"{dict(probs)}, known"
    return f"{format_number(probs)}, known"


# --------------------------------------------------------------------------------------------------
# Whether a feature depends on the class, or has one distribution for all classes.
#
# The features of a model are its columns; a joint block is one feature. Each has two hypotheses, a parameter for
# every class or one that all classes share, and both have a closed-form evidence. Features are independent given the
# labels, so that sums over all subsets of them are products over features.
# --------------------------------------------------------------------------------------------------


def features_of(block: Block) -> tuple[Any, ...]:
    """Names of a block's features: its columns, or the block itself where a row of it is one vector."""
    return (block.name,) if block.is_joint else block.labels


def subjects_of(block: Block, schema: Schema) -> list[tuple[Any, Any]]:
    """What each feature of a block describes: a column, or the columns of a joint block together.

    Returns
    -------
    list of (key, name)
        Features of one column have the same key, also those of a column given others, and so have count vectors of the
        same columns. Keys sort in the order of the table's columns.
    """
    own = block.described
    if not block.is_vector:
        return columns_alone(schema, own)
    own = schema.in_table(own) if block.has_totals else own
    return [((own[0], tuple(own)), block.name)]


def columns_alone(schema: Schema, positions: Sequence[int]) -> list[tuple[Any, Any]]:
    """Key and name of columns that are described alone, as `subjects_of` gives them."""
    return [
        ((place, ()), name) for place, name in zip(schema.in_table(positions), schema.names(positions), strict=True)
    ]


def feature_names(blocks: Sequence[Block]) -> list[Any]:
    """Names of all features, in the order of the table's columns."""
    return in_column_order(blocks, [features_of(block) for block in blocks])


def in_column_order(blocks: Sequence[Block], values: Sequence[Any]) -> list[Any]:
    """Values of the features of all blocks, in the order of the table's columns."""
    placed = [
        (position, value)
        for block, of_block in zip(blocks, values, strict=True)
        for position, value in zip(block.columns[: len(of_block)], of_block, strict=True)
    ]
    return [value for _, value in sorted(placed, key=lambda pair: pair[0])]


def positions_of_features(blocks: Sequence[Block]) -> list[list[int]]:
    """For each block the positions of its features among all, in the order of the table's columns."""
    places = [[(i, j) for j, _ in enumerate(features_of(block))] for i, block in enumerate(blocks)]
    order = {place: position for position, place in enumerate(in_column_order(blocks, places))}
    return [[order[place] for place in of_block] for of_block in places]


def read_inclusion(where: str, value: Any) -> Any:
    """Prior probabilities that features depend on the class: a number, an array, or a dictionary by feature.

    Raises
    ------
    TypeError, ValueError
        If they are not numbers from 0 to 1.
    """
    given = dict(value.items()) if isinstance(value, Mapping) or hasattr(value, "items") else value
    try:
        numbers = np.asarray(list(given.values()) if isinstance(given, dict) else given, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{where} is {value!r}: give a number from 0 to 1, or one for each feature") from None
    wrong = ~((numbers >= 0) & (numbers <= 1))
    if numbers.ndim > 1 or wrong.any():
        shown = numbers[wrong].flat[0] if wrong.any() else f"an array of shape {numbers.shape}"
        raise ValueError(f"{where} holds {shown}: give a probability from 0 to 1, or one for each feature")
    if isinstance(given, dict):
        return dict(zip(given, numbers.tolist(), strict=True))
    return numbers if numbers.ndim else float(numbers)


def spread_inclusion(where: str, value: Any, blocks: Sequence[Block]) -> tuple[np.ndarray, ...]:
    """The prior probabilities of each block's features, as `read_inclusion` gives them.

    Raises
    ------
    ValueError
        If there is not one number, or one for each feature.
    """
    names = feature_names(blocks)
    if isinstance(value, dict):
        if set(value) != set(names) or len(names) != len(set(names)):
            strange = [name for name in value if name not in names]
            lost = [name for name in names if name not in value]
            what = f"names {strange[0]!r}, which is no feature" if strange else f"does not name {lost[0]!r}"
            raise ValueError(f"{where} {what}: give a probability for each of {names}")
        by_name = value
    else:
        numbers = np.asarray(value, dtype=np.float64)
        if numbers.ndim and len(numbers) != len(names):
            raise ValueError(
                f"{where} has {len(numbers)} numbers, the model has {len(names)} features: give one number, or one "
                "for each feature in the order of the table's columns (a block that is one observation, "
                "such as count vectors, is one feature)"
            )
        by_name = dict(zip(names, np.broadcast_to(numbers, len(names)).tolist(), strict=True))
    return tuple(np.array([by_name[name] for name in features_of(block)]) for block in blocks)


def inclusions(blocks: Sequence[Block], probs: Sequence[np.ndarray]) -> tuple[FeatureInclusion, ...]:
    """The families of blocks, each feature of which depends on the class with a probability (features,).

    Without dependence, all classes share the prior that every class has. If the priors differ by class, there is none.

    Raises
    ------
    ValueError
        If the family has no closed form, or its prior differs by class, naming the column.
    """
    for block in blocks:
        if not isinstance(block.family, ConjugateFamily):
            raise ValueError(
                f"column {block.labels[0]!r} is {block.family.family_name}, which has no closed-form evidence: "
                "whether a feature depends on the class is known for conjugate families"
            )
        for name, value in block.family.hyperparameters().items():
            differs = False if value is None else (np.asarray(value) != np.asarray(value)[:1]).any(axis=0)
            if np.any(differs):
                feature = block.name if block.is_joint else block.labels[int(np.argwhere(differs)[0][0])]
                raise ValueError(
                    f"column {feature!r}: the prior's {name} differs by class, so that one distribution for all "
                    "classes has no prior; give the classes the same"
                )
    return tuple(FeatureInclusion.of(block.family, prob) for block, prob in zip(blocks, probs, strict=True))


# --------------------------------------------------------------------------------------------------
# The user's description of a model: the family of each column, and the class prior
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, init=False, repr=False)
class Description(Printed, Params):
    """Which family each column has, and the class prior: the fields of `NaiveBayes`, which explains them.

    Attributes
    ----------
    features : dict
        By the name of the feature its family and its columns; None means the column of that name.
    class_concentration : float, array of shape (classes,) or distribution
    class_probs : array of shape (classes,), mapping from label to probability, "empirical" or None
    feature_inclusion : float, array of shape (features,), mapping from feature to float or None
    outside_is_missing : frozenset
    number_forms : dict
    """

    features: dict[Any, tuple[Family, Any]]
    class_concentration: Any
    class_probs: Any
    feature_inclusion: Any
    # How rows are read, and no part of the model.
    outside_is_missing: frozenset[Any] = field_of(compare=False)
    number_forms: Mapping[Any, NumberForm] = field_of(compare=False)

    def __init__(
        self,
        features: Family | Mapping[Any, Any],
        *,
        class_concentration: Any = 1.0,
        class_probs: Any = None,
        feature_inclusion: Any = None,
        outside_is_missing: Iterable[Any] = (),
        number_forms: Mapping[Any, NumberForm] | None = None,
    ) -> None:
        object.__setattr__(self, "features", _read_features(features))
        object.__setattr__(self, "class_concentration", _read_class_concentration(class_concentration))
        object.__setattr__(self, "class_probs", _read_class_probs(class_probs))
        given = self.learns_classes or np.any(self.class_concentration != 1.0)
        if class_probs is not None and given:
            raise ValueError("class_concentration and class_probs are both given: known probabilities have no prior")
        inclusion = None if feature_inclusion is None else read_inclusion("feature_inclusion", feature_inclusion)
        object.__setattr__(self, "feature_inclusion", inclusion)
        object.__setattr__(self, "outside_is_missing", frozenset(outside_is_missing))
        object.__setattr__(self, "number_forms", dict(number_forms or {}))
        if inclusion is not None and self.hyperpriors:
            raise ValueError(
                f"feature_inclusion is averaged over in closed form, in which {[*self.hyperpriors]} cannot be learned: "
                "give them numbers, or leave feature_inclusion out"
            )
        for name, (family, _) in self.features.items():
            if inclusion is not None and not isinstance(family, ConjugateFamily):
                where = "every column" if name is EVERY_COLUMN else repr(name)
                raise ValueError(
                    f"feature_inclusion is averaged over in closed form, which {family.family_name} ({where}) does "
                    "not have: leave feature_inclusion out"
                )

    def _own_params(self) -> dict[str, Any]:
        """Families by the name of their feature, or the fields of one family for every column; and the class prior."""
        if EVERY_COLUMN in self.features:
            features = self.features[EVERY_COLUMN][0].get_params(deep=False)
        else:
            features = {str(name): family for name, (family, _) in self.features.items()}
        # A feature named like a field of the description has no parameter here.
        return features | {name: getattr(self, name) for name in self._fields_beside_features()}

    def _with_own_params(self, changes: Mapping[str, Any], name: str) -> Self:
        """A copy with other families, whose columns stay, or another class prior."""
        beside = {key: change for key, change in changes.items() if key in self._fields_beside_features()}
        of_features = {key: change for key, change in changes.items() if key not in beside}
        features: Any
        if EVERY_COLUMN in self.features:
            features = with_params(self.features[EVERY_COLUMN][0], of_features, name)
            return replace(self, features=features, **beside)
        for key, family in of_features.items():
            if not isinstance(family, Family):
                where = f"{name}__{key}".removeprefix("__")
                raise TypeError(f"{where} is {family!r}: give a family such as nb.Categorical(); its columns stay")
        features = {
            feature: (of_features.get(str(feature), family), columns)
            for feature, (family, columns) in self.features.items()
        }
        return replace(self, features=features, **beside)

    def _fields_beside_features(self) -> list[str]:
        return [field.name for field in fields(self) if field.name != "features" and field.compare]

    def with_feature_inclusion(self, feature_inclusion: Any) -> Self:
        """The same description with other prior probabilities that features depend on the class."""
        return replace(self, feature_inclusion=feature_inclusion)

    def with_class_probs(self, class_probs: Any) -> Self:
        """The same description with known class probabilities in place of its class prior."""
        return replace(self, class_concentration=1.0, class_probs=class_probs)

    @property
    def learns_classes(self) -> bool:
        """Whether the concentration of the classes is learned."""
        return is_distribution(self.class_concentration)

    @cached_property
    def hyperpriors(self) -> "dict[str, dist.Distribution]":
        """Distribution of every hyperparameter that is learned, by the name it has in results."""
        found: dict[str, dist.Distribution] = {}
        if self.learns_classes:
            found["class_concentration"] = self.class_concentration
        for name, feature, field in self.learned_fields():
            found[name] = self.features[feature][0].hyperparameters()[field]
        return found

    def learned_fields(self) -> Iterator[tuple[str, Any, str]]:
        """Of each learned hyperparameter of a family the name in results, the feature and the family's field."""
        for feature, (family, _) in self.features.items():
            for field, value in family.hyperparameters().items():
                if is_distribution(value):
                    between = "_prior_" if field in parameter_names(family) else "_"
                    yield f"{block_name(feature)}{between}{field}", feature, field

    def with_hyperparameters(self, values: Mapping[str, Any]) -> Self:
        """The same description with numbers for the hyperparameters that are learned.

        Parameters
        ----------
        values : mapping
            By the names of `hyperpriors`, arrays of the hyperpriors' shapes.
        """
        features = dict(self.features)
        for name, feature, field in self.learned_fields():
            family, columns = features[feature]
            features[feature] = (with_hyperparameters(family, {field: values[name]}), columns)
        classes = values["class_concentration"] if self.learns_classes else self.class_concentration
        return replace(self, features=features, class_concentration=classes)

    def with_placeholders(self) -> Self:
        """The same description with a one for every hyperparameter that is learned."""
        ones = {name: np.ones(prior.batch_shape) for name, prior in self.hyperpriors.items()}
        return self.with_hyperparameters(ones) if ones else self

    def hyperparameters_like(self, other: "Description") -> dict[str, np.ndarray]:
        """The numbers of the hyperparameters that `other`, the same description, learns."""
        found = {"class_concentration": np.array(self.class_concentration)} if other.learns_classes else {}
        for name, feature, field in other.learned_fields():
            found[name] = np.array(self.features[feature][0].hyperparameters()[field])
        return found

    def _parts(self) -> list[Piece]:
        return printed_model(self)
