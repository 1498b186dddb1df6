"""The user's description of a model: the family of each column, and the class prior."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from dataclasses import field as field_of
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpyro.distributions as dist

from bayesnb.families.base import Family
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.model.inclusion import read_inclusion
from bayesnb.model.read import EVERY_COLUMN, block_name, read_class_concentration, read_class_probs, read_features
from bayesnb.model.story import printed_model
from bayesnb.params import Params
from bayesnb.printing import Piece, Printed

__all__ = ["Description"]


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
    """

    features: dict[Any, tuple[Family, Any]]
    class_concentration: Any
    class_probs: Any
    feature_inclusion: Any
    # How rows to predict are read, and no part of the model.
    outside_is_missing: frozenset[Any] = field_of(compare=False)

    def __init__(
        self,
        features: Family | Mapping[Any, Any],
        *,
        class_concentration: Any = 1.0,
        class_probs: Any = None,
        feature_inclusion: Any = None,
        outside_is_missing: Iterable[Any] = (),
    ) -> None:
        object.__setattr__(self, "features", read_features(features))
        object.__setattr__(self, "class_concentration", read_class_concentration(class_concentration))
        object.__setattr__(self, "class_probs", read_class_probs(class_probs))
        given = self.learns_classes or np.any(self.class_concentration != 1.0)
        if class_probs is not None and given:
            raise ValueError("class_concentration and class_probs are both given: known probabilities have no prior")
        inclusion = None if feature_inclusion is None else read_inclusion("feature_inclusion", feature_inclusion)
        object.__setattr__(self, "feature_inclusion", inclusion)
        object.__setattr__(self, "outside_is_missing", frozenset(outside_is_missing))
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

    def own_params(self) -> dict[str, Any]:
        """Families by the name of their feature, or the fields of one family for every column; and the class prior."""
        if EVERY_COLUMN in self.features:
            features = self.features[EVERY_COLUMN][0].own_params()
        else:
            features = {str(name): family for name, (family, _) in self.features.items()}
        # A feature named like a field of the description has no parameter here.
        return features | {name: getattr(self, name) for name in self._fields_beside_features()}

    def with_own_params(self, changes: Mapping[str, Any], name: str) -> Self:
        """A copy with other families, whose columns stay, or another class prior."""
        beside = {key: change for key, change in changes.items() if key in self._fields_beside_features()}
        of_features = {key: change for key, change in changes.items() if key not in beside}
        features: Any
        if EVERY_COLUMN in self.features:
            features = self.features[EVERY_COLUMN][0].with_own_params(of_features, name)
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

    @property
    def learns_classes(self) -> bool:
        """Whether the concentration of the classes is learned."""
        return isinstance(self.class_concentration, dist.Distribution)

    @cached_property
    def hyperpriors(self) -> dict[str, dist.Distribution]:
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
                if isinstance(value, dist.Distribution):
                    yield _hyperparameter_name(feature, family, field), feature, field

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
            features[feature] = (family.with_hyperparameters({field: values[name]}), columns)
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


def _hyperparameter_name(feature: Any, family: Family, field: str) -> str:
    """Name in results; a parameter of the same name goes before."""
    between = "_prior_" if field in family.parameter_names() else "_"
    return f"{block_name(feature)}{between}{field}"
