"""A model as JSON and arrays."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
import numpyro.distributions as dist

import bayesnb.families as package
from bayesnb.families.base import Family
from bayesnb.files.netcdf import Arrays
from bayesnb.files.schema import write_label
from bayesnb.model.bound import BoundModel
from bayesnb.model.describe import Description
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.model.read import EVERY_COLUMN
from bayesnb.tables.schema import Schema

__all__ = ["read_description", "read_family", "read_model", "write_description", "write_family", "write_model"]


def write_model(model: BoundModel, arrays: Arrays) -> dict[str, Any]:
    """The model as JSON can hold it; its arrays of numbers are added to `arrays`."""
    blocks = [list(map(int, columns)) for columns in model.layout]
    return {**write_description(model.description, arrays), "blocks": blocks}


def write_description(model: Description, arrays: Arrays) -> dict[str, Any]:
    """As `write_model`, without the columns of the blocks."""
    features = []
    for name, (family, columns) in model.features.items():
        features.append(
            {
                "name": None if name is EVERY_COLUMN else write_label(name, "feature"),
                "columns": {"slice": [columns.start, columns.stop, columns.step]}
                if isinstance(columns, slice)
                else columns,
                "outside_is_missing": name in model.outside_is_missing,
                **write_family(family, arrays),
            }
        )
    probs, inclusion = model.class_probs, model.feature_inclusion
    return {
        "features": features,
        "feature_inclusion": _by_label(inclusion) if isinstance(inclusion, dict) else _store(inclusion, arrays),
        "class_concentration": _store(model.class_concentration, arrays),
        "class_probs": {"by_label": list(probs.items())} if isinstance(probs, Mapping) else _store(probs, arrays),
    }


def read_model(
    text: Mapping[str, Any],
    arrays: Arrays,
    schema: Schema,
    families: Sequence[type[Family]],
) -> BoundModel:
    """The model that `write_model` wrote.

    Raises
    ------
    ValueError
        If it uses a family that is neither the package's nor one of `families`, and that no module has defined.
    """
    # A file of an earlier version has no blocks: their order is that of the description.
    return BoundModel.of(read_description(text, arrays, families), schema, text.get("blocks"))


def read_description(text: Mapping[str, Any], arrays: Arrays, families: Sequence[type[Family]]) -> NaiveBayes:
    """The description that `write_description` wrote; errors as for `read_model`."""
    features: dict[Any, Any] = {}
    for feature in text["features"]:
        columns = feature["columns"]
        columns = slice(*columns["slice"]) if isinstance(columns, Mapping) else columns
        name = EVERY_COLUMN if feature["name"] is None else feature["name"]
        features[name] = (read_family(feature, arrays, families), columns)
    probs, inclusion = (
        dict(value["by_label"]) if isinstance(value, Mapping) and "by_label" in value else _restore(value, arrays)
        for value in (text["class_probs"], text.get("feature_inclusion"))
    )
    return NaiveBayes(
        features,
        class_concentration=_restore(text["class_concentration"], arrays),
        class_probs=probs,
        feature_inclusion=inclusion,
        outside_is_missing=[feature["name"] for feature in text["features"] if feature.get("outside_is_missing")],
    )


def write_family(family: Family, arrays: Arrays) -> dict[str, Any]:
    """A family by its class and fields; the value of a field may be a family too."""
    by_static: dict[bool, dict[str, Any]] = {True: {}, False: {}}
    for field in fields(family):
        by_static[bool(field.metadata.get("static"))][field.name] = getattr(family, field.name)
    return {
        "family": _name_of(type(family)),
        "hyperparameters": {
            name: write_family(value, arrays) if isinstance(value, Family) else _store(value, arrays)
            for name, value in by_static[False].items()
        },
        "settings": _settings(family, by_static[True]),
    }


def read_family(text: Mapping[str, Any], arrays: Arrays, families: Sequence[type[Family]]) -> Family:
    """The family that `write_family` wrote."""
    values = {
        name: read_family(value, arrays, families)
        if isinstance(value, Mapping) and "family" in value
        else _restore(value, arrays)
        for name, value in text["hyperparameters"].items()
    }
    settings = {name: _as_tuples(value) for name, value in text["settings"].items()}
    return _family_of(text["family"], families)(**values, **settings)


def _settings(family: Family, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a family, which JSON has to hold.

    Raises
    ------
    TypeError
        If it cannot.
    """
    for name, value in settings.items():
        if not _fits_json(value):
            raise TypeError(
                f"{type(family).__name__}({name}={value!r}) cannot be saved: a file holds constants (static fields) "
                "that are numbers other than NaN, text, True, False, None or tuples of these"
            )
    return settings


def _fits_json(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_fits_json, value))
    # NaN equals nothing, so that a loaded model would not be the saved one.
    return value is None or (isinstance(value, str | int | float | np.generic) and value == value)


def _name_of(family: type[Family]) -> str:
    """Name of a family's class in files; with its module, unless the package has it."""
    return family.__qualname__ if _of_package(family) else f"{family.__module__}.{family.__qualname__}"


def _of_package(family: type[Family]) -> bool:
    return family.__module__.startswith(f"{package.__name__}.")


def _family_of(name: str, families: Sequence[type[Family]]) -> type[Family]:
    """The class of a saved family: among those given, those of the package, and those that are defined.

    Of modules only those of the package are imported: the name of another comes from the file, and importing it would
    run code that the file chooses.

    Raises
    ------
    ValueError
        If there is no such class.
    """
    module, _, alone = name.rpartition(".")
    for file in iter_modules(package.__path__, f"{package.__name__}."):
        import_module(file.name)
    defined = list(_defined(Family.__subclasses__()))
    # An older file names the class alone, and a class may have moved to another module.
    for found in (
        [family for family in (*families, *filter(_of_package, defined)) if name == _name_of(family)],
        [family for family in families if alone == family.__name__],
        [family for family in defined if name == _name_of(family)],
    ):
        if found:
            return found[0]
    raise ValueError(
        f"the model uses the family {name}, which is not one of bayesnb's: pass the class, "
        f"nb.load(path, families=[{alone}])" + (f", or import {module} first" if module else "")
    )


def _defined(families: Sequence[type[Family]]) -> Iterator[type[Family]]:
    """These classes and all their subclasses, the last one first."""
    for family in reversed(families):
        yield family
        yield from _defined(family.__subclasses__())


def _by_label(values: Mapping[Any, float]) -> dict[str, Any]:
    return {"by_label": [(write_label(label, "feature"), value) for label, value in values.items()]}


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(entry) for entry in value) if isinstance(value, list) else value


def _store(value: Any, arrays: Arrays) -> Any:
    """A number as it is (None too), an array as its place among the model's arrays."""
    if value is None or isinstance(value, int | float | str):
        return value
    if isinstance(value, dist.Distribution):
        return _write_distribution(value, arrays)
    arrays.setdefault("model", []).append(np.asarray(value, dtype=np.float64))
    return {"array": len(arrays["model"]) - 1}


def _restore(value: Any, arrays: Arrays) -> Any:
    if not isinstance(value, Mapping):
        return value
    return _read_distribution(value, arrays) if "distribution" in value else arrays["model"][value["array"]]


def _write_distribution(distribution: dist.Distribution, arrays: Arrays) -> dict[str, Any]:
    if isinstance(distribution, dist.ExpandedDistribution):
        base = _write_distribution(distribution.base_dist, arrays)
        return base | {"shape": list(distribution.batch_shape)}
    name = type(distribution).__name__
    if getattr(dist, name, None) is not type(distribution):
        raise TypeError(
            f"the hyperprior {name} is none of NumPyro's plain distributions, and cannot be saved: use one such as "
            "dist.Gamma or dist.LogNormal"
        )
    arguments = {key: _store(getattr(distribution, key), arrays) for key in distribution.arg_constraints}
    return {"distribution": name, "arguments": arguments}


def _read_distribution(text: Mapping[str, Any], arrays: Arrays) -> dist.Distribution:
    kind = getattr(dist, text["distribution"], None)
    if not (isinstance(kind, type) and issubclass(kind, dist.Distribution)):
        raise ValueError(f"the file names the distribution {text['distribution']!r}, which NumPyro does not have")
    distribution = kind(**{key: _restore(value, arrays) for key, value in text["arguments"].items()})
    return distribution.expand(text["shape"]) if "shape" in text else distribution
