"""Parameters of models, families and inferences under scikit-learn's names, such as ``model__island__concentration``.

Models, families and inferences are frozen and have no `get_params`: scikit-learn would change them in place. The
estimator reads their parameters here, and takes a changed copy when one is set.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from bayesnb.families.base import Family
from bayesnb.inference.base import Inference
from bayesnb.model.bound import BoundModel
from bayesnb.model.describe import Description
from bayesnb.model.read import EVERY_COLUMN

__all__ = ["params_of", "with_params"]


def params_of(value: Any) -> dict[str, Any]:
    """Parameters of a value of an estimator's parameter, and the parameters of these.

    Parameters
    ----------
    value : NaiveBayes, Family, Inference or anything else
        A model has its features by name, and its class prior and feature inclusion; a feature named like one of the
        latter has none here. A model with one family for every column has the family's fields instead of features. A
        family or an inference has its fields. Anything else has none.

    Returns
    -------
    dict
        By name, those of a part as ``part__name``.
    """
    own = _own(value)
    found: dict[str, Any] = {}
    for name, part in own.items():
        found |= {f"{name}__{inner}": number for inner, number in params_of(part).items()}
    return found | own


def with_params(value: Any, changes: Mapping[str, Any], name: str) -> Any:
    """A copy of a model, a family or an inference with some parameters changed.

    Parameters
    ----------
    value : NaiveBayes, Family, Inference or anything else
    changes : mapping
        By the names of `params_of`. A part that is replaced is replaced before its parameters change.
    name : str
        Name of the value among the estimator's parameters, for errors.

    Raises
    ------
    ValueError
        If there is no parameter of that name; or as the value's own class, if it does not take the change.
    TypeError
        If a feature gets something else than a family.
    """
    own = _own(value)
    direct = {key: change for key, change in changes.items() if key in own}
    nested: dict[str, dict[str, Any]] = defaultdict(dict)
    for key, change in changes.items():
        if key not in own:
            part, inner = _split(key, own, value, name)
            nested[part][inner] = change
    for part, inner_changes in nested.items():
        direct[part] = with_params(direct.get(part, own[part]), inner_changes, f"{name}__{part}")
    return _changed(value, direct, name)


def _own(value: Any) -> dict[str, Any]:
    if isinstance(value, Family | Inference):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    if isinstance(value, Description):
        return _features(value) | {name: getattr(value, name) for name in _prior_names(value)}
    return {}


def _features(model: Description) -> dict[str, Any]:
    """Families by the name of the feature, or the fields of the one family of every column."""
    if EVERY_COLUMN in model.features:
        return _own(model.features[EVERY_COLUMN][0])
    return {str(name): family for name, (family, _) in model.features.items()}


def _prior_names(model: Description) -> list[str]:
    return [field.name for field in fields(model) if field.name != "features"]


def _split(key: str, own: Mapping[str, Any], value: Any, name: str) -> tuple[str, str]:
    """The part that a name refers to, and the name inside the part. Names of columns may contain two underscores."""
    parts = [part for part in own if key.startswith(f"{part}__")]
    if parts:
        part = max(parts, key=len)
        return part, key.removeprefix(f"{part}__")
    remedy = ""
    if isinstance(value, BoundModel):
        remedy = ". The model is bound to a table and keeps its numbers: give its description, model.description"
    elif not own:
        remedy = f": give a model, a family or an inference as {name!r} to set its parameters"
    kind = type(value).__name__
    raise ValueError(f"Invalid parameter {key!r} for {name}, a {kind}. Valid parameters are: {sorted(own)!r}{remedy}.")


def _changed(value: Any, changes: Mapping[str, Any], name: str) -> Any:
    if not isinstance(value, Description):
        return replace(value, **changes)
    prior = {key: change for key, change in changes.items() if key in _prior_names(value)}
    of_features = {key: change for key, change in changes.items() if key not in prior}
    features: Any
    if EVERY_COLUMN in value.features:
        features = replace(value.features[EVERY_COLUMN][0], **of_features)
        return replace(value, features=features, **prior)
    for key, family in of_features.items():
        if not isinstance(family, Family):
            raise TypeError(f"{name}__{key} is {family!r}: give a family such as nb.Categorical(); its columns stay")
    features = {
        feature: (of_features.get(str(feature), family), columns)
        for feature, (family, columns) in value.features.items()
    }
    return replace(value, features=features, **prior)
