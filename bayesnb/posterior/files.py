"""What files hold of a model, its statistics and its draws."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import scipy.sparse

import bayesnb.families as package
from bayesnb.core.checking import Params
from bayesnb.data.schema import Schema
from bayesnb.families.base import Family
from bayesnb.families.statistics import ClassCounts
from bayesnb.model.blocks import Block, ModelParameters, ModelStatistics
from bayesnb.model.bound import BoundModel
from bayesnb.model.describe import EVERY_COLUMN, Description
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.model.problem import Problem, Unlabelled
from bayesnb.model.weights import FeatureWeights, Gaussian
from bayesnb.posterior.netcdf import (
    Arrays,
    read_names,
    read_schema,
    require_backend,
    write_file,
    write_label,
    write_names,
    write_schema,
)

__all__ = [
    "OWN",
    "read_model",
    "read_problem",
    "read_value",
    "read_weights",
    "save",
    "write_own_problem",
    "write_value",
    "write_weights",
]

# --------------------------------------------------------------------------------------------------
# A model as JSON and arrays
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# A model with the statistics of its data, as JSON and arrays
# --------------------------------------------------------------------------------------------------

OWN = "own_"
"""What the names of the arrays of a problem that is not the posterior's begin with."""


def write_problem(problem: Problem | None, arrays: Arrays) -> dict[str, Any]:
    """The problem without its model, for a file; its arrays are added to `arrays`."""
    if problem is None:
        return {"learned_from": None, "statistics": None, "growing": False, "unlabelled": None}
    source = problem.learned_from
    return {
        "learned_from": None if source is None else write_model(source, arrays),
        "statistics": _write_statistics(problem.statistics, arrays),
        "growing": problem.growing,
        "unlabelled": _write_rows(problem.unlabelled, arrays),
    }


def write_own_problem(problem: Problem, arrays: Arrays) -> dict[str, Any]:
    """A problem with its model, in a file that has another one; its arrays are added to `arrays`."""
    own: Arrays = {}
    text = {"model": write_model(problem.model, own), **write_problem(problem, own)}
    arrays.update({f"{OWN}{name}": values for name, values in own.items()})
    return text


def read_problem(
    description: Mapping[str, Any],
    arrays: Arrays,
    model: BoundModel,
    schema: Schema,
    families: Sequence[type[Family]],
) -> Problem | None:
    """The problem that `write_problem` wrote; None where the parameters were given without data."""
    if description["statistics"] is None:
        return None
    source = description.get("learned_from")
    return Problem(
        model,
        _read_statistics(description["statistics"], model.blocks, arrays),
        None if source is None else read_model(source, arrays, schema, families),
        _read_rows(description.get("unlabelled"), arrays),
        growing=description.get("growing", False),
    )


def _write_statistics(statistics: ModelStatistics, arrays: Arrays) -> list[str]:
    arrays["statistics"] = [np.asarray(leaf) for leaf in jax.tree.leaves(statistics)]
    return [type(block).__name__ for block in statistics.blocks]


def _read_statistics(kinds: Sequence[str], blocks: Sequence[Block], arrays: Arrays) -> ModelStatistics:
    classes, *leaves = arrays["statistics"]
    rest = iter(leaves)
    found = []
    for kind, block in zip(kinds, blocks, strict=True):
        blank = block.statistics_of_nothing(len(classes))
        structure: Any = jax.tree.structure(blank)
        read = jax.tree.unflatten(structure, itertools.islice(rest, structure.num_leaves))
        found.append(read if kind == type(blank).__name__ else block.family.from_older_statistics(kind, read))
    return ModelStatistics(ClassCounts(classes), tuple(found))


def _write_rows(unlabelled: Unlabelled | None, arrays: Arrays) -> list[Any] | None:
    """The rows without a label among the arrays; of each block the shape, where it is sparse."""
    if unlabelled is None:
        return None
    arrays["unlabelled"] = [unlabelled.weights]
    shapes = []
    for x in unlabelled.blocks:
        sparse = scipy.sparse.issparse(x)
        arrays["unlabelled"] += [x.data, x.indices, x.indptr] if sparse else [x]
        shapes.append(list(x.shape) if sparse else None)
    return shapes


def _read_rows(shapes: list[Any] | None, arrays: Arrays) -> Unlabelled | None:
    if shapes is None:
        return None
    weights, *rest = arrays["unlabelled"]
    leaves = iter(rest)
    blocks = [
        next(leaves) if shape is None else scipy.sparse.csr_array((next(leaves), next(leaves), next(leaves)), shape)
        for shape in shapes
    ]
    return Unlabelled(tuple(blocks), weights)


# --------------------------------------------------------------------------------------------------
# Weights of features as JSON and arrays
# --------------------------------------------------------------------------------------------------

ARRAYS = ("weight", "offset", "weight_draws", "offset_draws", "spread_draws", "mean", "precision")
"""Names of attributes of `FeatureWeights` and of its `Gaussian`."""


def write_weights(weights: FeatureWeights, arrays: Arrays) -> dict[str, Any]:
    """The weights for a file; their arrays are added to `arrays`."""
    values = vars(weights) | ({} if weights.gaussian is None else vars(weights.gaussian))
    present = [name for name in ARRAYS if values.get(name) is not None]
    arrays["feature_weights"] = [values[name] for name in present]
    return {"arrays": present, "num_rows": weights.num_rows, "no_information": weights.no_information}


def read_weights(text: Any, arrays: Arrays) -> FeatureWeights:
    """The weights that `write_weights` wrote."""
    values: dict[str, Any] = dict.fromkeys(ARRAYS)
    values |= zip(text["arrays"], arrays["feature_weights"], strict=True)
    mean, precision = values.pop("mean"), values.pop("precision")
    gaussian = None if mean is None else Gaussian(len(mean) - len(values["offset"]), mean, precision)
    # Files of version 0.2 have no such probability.
    no_information = text.get("no_information", 0.0)
    return FeatureWeights(**values, num_rows=text["num_rows"], gaussian=gaussian, no_information=no_information)


# --------------------------------------------------------------------------------------------------
# Parameters and fitted attributes of estimators as JSON and arrays
# --------------------------------------------------------------------------------------------------


def write_value(name: str, value: Any, arrays: Arrays) -> Any:
    """A parameter or an attribute for a file; its arrays are added to `arrays`.

    Raises
    ------
    TypeError
        If a file cannot hold it.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return {"array": write_names(np.asarray(value), name, arrays), "scalar": isinstance(value, np.generic)}
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [write_value(name, each, arrays) for each in value]}
    if isinstance(value, Mapping):
        return {"items": [[write_value(name, each, arrays) for each in pair] for pair in value.items()]}
    if isinstance(value, Family):
        return {"family": write_family(value, arrays)}
    if isinstance(value, BoundModel):
        layout = [list(map(int, columns)) for columns in value.layout]
        schema = write_schema(value.schema)
        return {"model": write_description(value.description, arrays), "schema": schema, "blocks": layout}
    if isinstance(value, NaiveBayes):
        return {"model": write_description(value, arrays)}
    if isinstance(value, Params):
        return {"inference": write_record(value)}
    raise TypeError(
        f"{name}={value!r} is of the type {type(value).__name__}, which a file cannot hold: give numbers, text, lists "
        "or arrays of these, or a model, a family or an inference of bayesnb; or pickle the estimator"
    )


def read_value(text: Any, arrays: Arrays, families: Sequence[type[Family]], read_record: Callable[[Any], Any]) -> Any:
    """The value that `write_value` wrote; `read_record` makes an inference of its record."""
    if not isinstance(text, Mapping):
        return text
    kind, content = next(iter(text.items()))

    def read_all(values: Sequence[Any]) -> list[Any]:
        return [read_value(each, arrays, families, read_record) for each in values]

    if kind == "array":
        return read_names(content, arrays)[()] if text["scalar"] else read_names(content, arrays)
    if kind == "family":
        return read_family(content, arrays, families)
    if kind == "model":
        description = read_description(content, arrays, families)
        if "schema" not in text:
            return description
        return BoundModel.of(description, read_schema(text["schema"]), text["blocks"])
    readers: dict[str, Callable[[Any], Any]] = {
        "dtype": np.dtype,
        "list": read_all,
        "tuple": lambda values: tuple(read_all(values)),
        "items": lambda pairs: dict(map(read_all, pairs)),
        "inference": read_record,
    }
    return readers[kind](content)


def write_record(inference: Any) -> dict[str, Any] | None:
    """The class and the settings of an inference, which `loading` reads."""
    if inference is None:
        return None
    name = type(inference).__name__
    if not type(inference).__module__.startswith("bayesnb."):
        raise TypeError(
            f"the inference {name} is not one of bayesnb's, and load would not find it: make a posterior of its result "
            "with nb.from_samples or nb.from_parameters, and save that"
        )
    return {"name": name} | {field.name: getattr(inference, field.name) for field in fields(inference)}


# --------------------------------------------------------------------------------------------------
# Write a posterior to a file
# --------------------------------------------------------------------------------------------------

Addition = Callable[[Arrays], dict[str, Any]]
"""Adds arrays to those of a file, and returns a part of its description."""


def save(
    path: Any,
    kind: str,
    model: BoundModel,
    problem: Problem | None,
    inference: Any,
    parameters: ModelParameters | None,
    sample_stats: Mapping[str, np.ndarray] | None,
    add: Addition | None = None,
) -> None:
    """Write a posterior to a netCDF file; errors as for `Posterior.save`.

    Parameters
    ----------
    path : path-like
    kind : str
        Name of the posterior's class.
    model : BoundModel
    problem : Problem or None
    inference : dataclass or None
    parameters : ModelParameters or None
        None for a closed form, which the problem determines.
    sample_stats : mapping or None
        The sampler's statistics of each draw; None for a posterior that is not sampled.
    add : callable, optional
        What belongs to the posterior in this file, such as weights of features. It takes the arrays, adds its own, and
        returns a part of the description, which takes precedence. With a ``"schema"`` of its own, that of the model is
        not written.
    """
    require_backend("save")
    arrays: Arrays = {}
    added = {} if add is None else add(arrays)
    description: dict[str, Any] = {
        "posterior": kind,
        "schema": None if "schema" in added else write_schema(model.schema),
        "model": write_model(model if problem is None else problem.model, arrays),
        **write_problem(problem, arrays),
        "inference": write_record(inference),
    }
    if parameters is not None:
        sites = model.sites.by_name(parameters)
        description["sites"] = list(sites)
        arrays["parameters"] = [np.asarray(value) for value in sites.values()]
    if sample_stats is not None:
        description["sample_stats"] = list(sample_stats)
        arrays["sample_stats"] = list(sample_stats.values())
    write_file(Path(path), description | added, arrays)
