"""Posteriors in files: netCDF that holds JSON and numbers, and nothing that runs."""

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import scipy.sparse
import xarray as xr

from bayesnb.families.base import Family
from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.categorical import Categorical
from bayesnb.families.dirichlet_multinomial import DirichletMultinomial
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.multinomial import Multinomial
from bayesnb.families.poisson import Poisson
from bayesnb.inference.base import Inference
from bayesnb.inference.empirical import EmpiricalBayes
from bayesnb.inference.exact import Exact
from bayesnb.inference.gibbs import Gibbs
from bayesnb.inference.nuts import NUTS
from bayesnb.inference.point import MAP, MLE
from bayesnb.model.blocks import Block
from bayesnb.model.bound import BoundModel
from bayesnb.model.describe import NaiveBayes
from bayesnb.model.read import EVERY_COLUMN
from bayesnb.model.statistics import ModelStatistics
from bayesnb.posterior.averaged import AveragedPosterior
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.collapsed import CollapsedPosterior
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.point import PointPosterior
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.problem import Problem
from bayesnb.statistics.counts import ClassCounts
from bayesnb.tables.schema import Schema
from bayesnb.unlabelled import Unlabelled

__all__ = ["load", "save"]

FORMAT = 2
"""Version of the file's layout; a reader refuses a newer one. Format 1 has sums of -log x! for Poisson columns."""

FAMILIES: tuple[type[Family], ...] = (Bernoulli, Categorical, DirichletMultinomial, Gaussian, Multinomial, Poisson)
INFERENCES: tuple[type[Inference], ...] = (EmpiricalBayes, Exact, Gibbs, MAP, MLE, NUTS)


def save(posterior: Posterior, path: Any) -> None:
    """Write a posterior to a netCDF file.

    The file holds the model as JSON text and its numbers as float64 arrays, so that what `load` gives back predicts bit
    for bit the same; ``xarray.open_datatree`` opens it too. Rows without a label, which no statistic stands for, are in
    it as they were given.

    Parameters
    ----------
    posterior : Posterior
    path : path-like

    Raises
    ------
    ImportError
        Without h5netcdf and h5py, the extra ``bayesnb[io]``.
    TypeError
        If a class or category label is neither text, number nor boolean.
    """
    _require_backend("save")
    if not Path(path).resolve().parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(Path(path).parent)!r} to save into")
    arrays: dict[str, list[np.ndarray]] = {}
    problem = posterior.problem
    description: dict[str, Any] = {
        "posterior": type(posterior).__name__,
        "schema": _write_schema(posterior.model.schema),
        "model": _write_model(posterior.model if problem is None else problem.model, arrays),
        "learned_from": _write_model(problem.learned_from, arrays)
        if problem is not None and problem.learned_from is not None
        else None,
        "statistics": None if problem is None else _write_statistics(problem.statistics, arrays),
        "growing": problem is not None and problem.growing,
        "unlabelled": None if problem is None else _write_rows(problem.unlabelled, arrays),
        "inference": _write_record(posterior.inference),
    }
    if isinstance(posterior, SampledPosterior | PointPosterior):
        sites = posterior.model.sites.by_name(posterior.parameters)
        description["sites"] = list(sites)
        arrays["parameters"] = [np.asarray(value) for value in sites.values()]
    if isinstance(posterior, SampledPosterior):
        description["sample_stats"] = list(posterior.sample_stats)
        arrays["sample_stats"] = list(posterior.sample_stats.values())
    text = json.dumps(description, allow_nan=False)
    groups = {name: _as_dataset(values) for name, values in arrays.items()}
    tree = xr.DataTree.from_dict(groups)
    tree.attrs |= {"bayesnb_format": FORMAT, "bayesnb": text, "sha256": _digest(text, groups)}
    tree.to_netcdf(Path(path), engine="h5netcdf")


def load(path: Any, *, families: Sequence[type[Family]] = ()) -> Posterior:
    """Read a posterior that `Posterior.save` wrote.

    Nothing in the file is run: it holds names of classes, JSON and numbers, and no module is imported for it.

    Parameters
    ----------
    path : path-like
    families : sequence of Family subclasses, optional
        Families of your own that the model uses, unless their modules are imported already.

    Returns
    -------
    Posterior
        Predicts bit for bit what the saved one did.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not one of `save`'s, is cut short or changed, was written by a newer version, or uses a family
        that is not known.
    """
    _require_backend("load")
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        with xr.open_datatree(path, engine="h5netcdf") as opened:
            tree = opened.load()
    except Exception as error:
        raise ValueError(
            f"{str(path)!r} cannot be read as netCDF: it is cut short, or no file of Posterior.save"
        ) from error
    if tree.attrs.get("modeling_interface") == "bayesnb":
        raise ValueError(
            f"{str(path)!r} holds draws from to_datatree, not a posterior from save: read it with arviz.from_netcdf"
        )
    if "bayesnb_format" not in tree.attrs or "bayesnb" not in tree.attrs:
        raise ValueError(f"{str(path)!r} is netCDF, but not a posterior that Posterior.save wrote")
    if int(tree.attrs["bayesnb_format"]) > FORMAT:
        raise ValueError(
            f"{str(path)!r} has format {int(tree.attrs['bayesnb_format'])}, this version of bayesnb reads up to "
            f"{FORMAT}: "
            "upgrade bayesnb"
        )
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    text = tree.attrs["bayesnb"]
    if _digest(text, groups) != tree.attrs.get("sha256"):
        raise ValueError(f"{str(path)!r} was changed after it was saved: its checksum does not match")
    arrays = {name: [dataset[f"v{i}"].values for i in range(len(dataset))] for name, dataset in groups.items()}
    return _read_posterior(json.loads(text), arrays, families)


def _read_posterior(
    description: Mapping[str, Any], arrays: Mapping[str, list[np.ndarray]], families: Sequence[type[Family]]
) -> Posterior:
    schema = _read_schema(description["schema"])
    model = _read_model(description["model"], arrays, schema, families)
    inference = _read_record(description["inference"])
    problem = None
    if description["statistics"] is not None:
        source = description.get("learned_from")
        learned_from = None if source is None else _read_model(source, arrays, schema, families)
        statistics = _read_statistics(description["statistics"], model.blocks, arrays)
        rows = _read_rows(description.get("unlabelled"), arrays)
        problem = Problem(model, statistics, learned_from, rows, growing=description.get("growing", False))
        model = problem.resolved
    if description["posterior"] == "AveragedPosterior":
        assert problem is not None
        return AveragedPosterior(problem, inference or Exact())
    if description["posterior"] == "ExactPosterior":
        assert problem is not None
        return ExactPosterior(problem, inference or Exact())
    parameters = model.sites.parameters(dict(zip(description["sites"], arrays["parameters"], strict=True)))
    if description["posterior"] == "PointPosterior":
        return PointPosterior(model, parameters, problem, inference)
    stats = dict(zip(description["sample_stats"], arrays.get("sample_stats", []), strict=True))
    stats = {name: value.astype(bool) if value.dtype == np.int8 else value for name, value in stats.items()}
    kind = CollapsedPosterior if description["posterior"] == "CollapsedPosterior" else SampledPosterior
    return kind(problem, model, parameters, stats, inference)


def _as_dataset(values: Sequence[np.ndarray]) -> xr.Dataset:
    variables = {}
    for i, value in enumerate(values):
        array = np.asarray(value)
        array = array.astype(np.int8) if array.dtype == bool else array
        variables[f"v{i}"] = ([f"v{i}_{axis}" for axis in range(array.ndim)], np.asarray(array, order="C"))
    return xr.Dataset(variables)


def _digest(text: str, groups: Mapping[str, xr.Dataset]) -> str:
    digest = hashlib.sha256(text.encode())
    for group in sorted(groups):
        for name in sorted(map(str, groups[group])):
            array = groups[group][name].values
            digest.update(f"{group}/{name}{array.shape}{array.dtype.str}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _require_backend(verb: str) -> None:
    try:
        import h5netcdf
        import h5py  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{verb} needs h5netcdf and h5py: pip install 'bayesnb[io]'") from error
    del h5netcdf


def _write_label(label: Any) -> Any:
    plain = label.item() if isinstance(label, np.generic) else label
    if not isinstance(plain, str | int | float | bool):
        raise TypeError(
            f"{label!r} is a {type(label).__name__}: only text, numbers and booleans can be saved as labels"
        )
    return plain


def _write_schema(schema: Schema) -> dict[str, Any]:
    return {
        "columns": [_write_label(column) for column in schema.columns],
        "named": schema.named,
        "classes": [_write_label(label) for label in schema.classes.tolist()],
        "dtype": schema.classes.dtype.str,
        "categories": [
            [position, [_write_label(category) for category in categories]]
            for position, categories in schema.categories.items()
        ],
    }


def _read_schema(text: Mapping[str, Any]) -> Schema:
    return Schema(
        tuple(text["columns"]),
        text["named"],
        np.array(text["classes"], dtype=np.dtype(text["dtype"])),
        {position: tuple(categories) for position, categories in text["categories"]},
    )


def _store(value: Any, arrays: dict[str, list[np.ndarray]]) -> Any:
    """A number as it is (None too), an array as its place among the model's arrays."""
    if value is None or isinstance(value, int | float | str):
        return value
    if isinstance(value, dist.Distribution):
        return _write_distribution(value, arrays)
    arrays.setdefault("model", []).append(np.asarray(value, dtype=np.float64))
    return {"array": len(arrays["model"]) - 1}


def _restore(value: Any, arrays: Mapping[str, list[np.ndarray]]) -> Any:
    if not isinstance(value, Mapping):
        return value
    return _read_distribution(value, arrays) if "distribution" in value else arrays["model"][value["array"]]


def _write_distribution(distribution: dist.Distribution, arrays: dict[str, list[np.ndarray]]) -> dict[str, Any]:
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


def _read_distribution(text: Mapping[str, Any], arrays: Mapping[str, list[np.ndarray]]) -> dist.Distribution:
    kind = getattr(dist, text["distribution"], None)
    if not (isinstance(kind, type) and issubclass(kind, dist.Distribution)):
        raise ValueError(f"the file names the distribution {text['distribution']!r}, which NumPyro does not have")
    distribution = kind(**{key: _restore(value, arrays) for key, value in text["arguments"].items()})
    return distribution.expand(text["shape"]) if "shape" in text else distribution


def _write_model(model: BoundModel, arrays: dict[str, list[np.ndarray]]) -> dict[str, Any]:
    features = []
    for name, (family, columns) in model.features.items():
        static = {field.name: getattr(family, field.name) for field in fields(family) if field.metadata.get("static")}
        features.append(
            {
                "name": None if name is EVERY_COLUMN else _write_label(name),
                "columns": {"slice": [columns.start, columns.stop, columns.step]}
                if isinstance(columns, slice)
                else columns,
                "family": _name_of(type(family)),
                "hyperparameters": {key: _store(value, arrays) for key, value in family.hyperparameters().items()},
                "settings": static,
            }
        )
    probs, inclusion = model.class_probs, model.feature_inclusion
    return {
        "features": features,
        "feature_inclusion": _by_label(inclusion) if isinstance(inclusion, dict) else _store(inclusion, arrays),
        "class_concentration": _store(model.class_concentration, arrays),
        "class_probs": {"by_label": list(probs.items())} if isinstance(probs, Mapping) else _store(probs, arrays),
        "blocks": [list(map(int, columns)) for columns in model.layout],
    }


def _by_label(values: Mapping[Any, float]) -> dict[str, Any]:
    return {"by_label": [(_write_label(label), value) for label, value in values.items()]}


def _read_model(
    text: Mapping[str, Any],
    arrays: Mapping[str, list[np.ndarray]],
    schema: Schema,
    families: Sequence[type[Family]],
) -> BoundModel:
    features: dict[Any, Any] = {}
    for feature in text["features"]:
        family = _family_of(feature["family"], families)
        hyperparameters = {key: _restore(value, arrays) for key, value in feature["hyperparameters"].items()}
        settings = {key: _as_tuples(value) for key, value in feature["settings"].items()}
        columns = feature["columns"]
        columns = slice(*columns["slice"]) if isinstance(columns, Mapping) else columns
        name = EVERY_COLUMN if feature["name"] is None else feature["name"]
        features[name] = (family(**hyperparameters, **settings), columns)
    probs, inclusion = (
        dict(value["by_label"]) if isinstance(value, Mapping) and "by_label" in value else _restore(value, arrays)
        for value in (text["class_probs"], text.get("feature_inclusion"))
    )
    description = NaiveBayes(
        features,
        class_concentration=_restore(text["class_concentration"], arrays),
        class_probs=probs,
        feature_inclusion=inclusion,
    )
    # A file of an earlier version has no blocks: their order is that of the description.
    return BoundModel.of(description, schema, text.get("blocks"))


def _name_of(family: type[Family]) -> str:
    """Name of a family's class in files; with its module, unless the package has it."""
    return family.__qualname__ if family in FAMILIES else f"{family.__module__}.{family.__qualname__}"


def _family_of(name: str, families: Sequence[type[Family]]) -> type[Family]:
    """The class of a saved family: among those given, those of the package, and those that are defined.

    Nothing is imported, because that would run what a file names.

    Raises
    ------
    ValueError
        If there is no such class.
    """
    module, _, alone = name.rpartition(".")
    # An older file names the class alone, and a class may have moved to another module.
    for found in (
        [family for family in (*families, *FAMILIES) if name == _name_of(family)],
        [family for family in families if alone == family.__name__],
        [family for family in _defined(Family.__subclasses__()) if name == _name_of(family)],
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


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(entry) for entry in value) if isinstance(value, list) else value


def _write_statistics(statistics: ModelStatistics, arrays: dict[str, list[np.ndarray]]) -> list[str]:
    arrays["statistics"] = [np.asarray(leaf) for leaf in jax.tree.leaves(statistics)]
    return [type(block).__name__ for block in statistics.blocks]


def _read_statistics(
    kinds: Sequence[str], blocks: Sequence[Block], arrays: Mapping[str, list[np.ndarray]]
) -> ModelStatistics:
    classes, *leaves = arrays["statistics"]
    rest = iter(leaves)
    found = []
    for kind, block in zip(kinds, blocks, strict=True):
        blank = block.statistics_of_nothing(len(classes))
        structure: Any = jax.tree.structure(blank)
        read = jax.tree.unflatten(structure, itertools.islice(rest, structure.num_leaves))
        found.append(read if kind == type(blank).__name__ else block.family.from_older_statistics(kind, read))
    return ModelStatistics(ClassCounts(classes), tuple(found))


def _write_rows(unlabelled: Unlabelled | None, arrays: dict[str, list[np.ndarray]]) -> list[Any] | None:
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


def _read_rows(shapes: list[Any] | None, arrays: Mapping[str, list[np.ndarray]]) -> Unlabelled | None:
    if shapes is None:
        return None
    weights, *rest = arrays["unlabelled"]
    leaves = iter(rest)
    blocks = [
        next(leaves) if shape is None else scipy.sparse.csr_array((next(leaves), next(leaves), next(leaves)), shape)
        for shape in shapes
    ]
    return Unlabelled(tuple(blocks), weights)


def _write_record(inference: Any) -> dict[str, Any] | None:
    if inference is None:
        return None
    return {"name": type(inference).__name__} | {
        field.name: getattr(inference, field.name) for field in fields(inference)
    }


def _read_record(text: Mapping[str, Any] | None) -> Inference | None:
    if text is None:
        return None
    known: dict[str, Any] = {kind.__name__: kind for kind in INFERENCES}
    settings = dict(text)
    return known[settings.pop("name")](**settings)
