"""Parameters that a user gives, read into the arrays of a model and checked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.arrays import in_float64
from bayesnb.blocks.class_prior import CLASS_SITE
from bayesnb.blocks.parameters import ModelParameters
from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.families.base import Family
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import Model
from bayesnb.model.read import EVERY_COLUMN, declared_categories, read_classes
from bayesnb.posterior.point import PointPosterior
from bayesnb.statistics.counts import ClassCounts
from bayesnb.tables.schema import Schema
from bayesnb.validate import a_type

__all__ = ["check_support", "posterior_from_parameters", "read_samples"]

OTHER_NAMES = {"reached_max_treedepth": "reached_max_tree_depth"}
"""Names of PyMC for statistics of the sampler."""


def posterior_from_parameters(
    model: Model, classes: Any, parameters: Mapping[Any, Any], class_probs: Any, columns: Sequence | None
) -> PointPosterior:
    """The posterior that `bayesnb.from_parameters` returns, which gives the parameters and errors."""
    if not isinstance(parameters, Mapping):
        raise TypeError(f"parameters is {a_type(parameters)}: give a mapping from block, column or site to values")
    parameters = _Given(parameters)
    names, named = _columns(model, parameters, columns)
    labels = read_classes(classes)
    schema = Schema(names, named, labels)
    categories: dict[int, tuple] = {}
    for name, (family, chosen) in model.features.items():
        if family.cell == "category":
            for position in schema.positions(name, chosen):
                column = schema.columns[position]
                declared = declared_categories(family, column)
                if family.joint:
                    if declared is None:
                        raise ValueError(
                            f"column {column!r} of {name!r}: the categories of a joint block do not follow from the "
                            f"shape of its parameters: give nb.{type(family).__name__}(categories=...)"
                        )
                    categories[position] = declared
                    continue
                size = _find(parameters, column, family.parameter_names()[0], family, alone=False).shape[-1]
                if declared is not None and len(declared) != size:
                    raise ValueError(f"column {column!r} has {len(declared)} categories and a table of {size}")
                categories[position] = tuple(range(size)) if declared is None else declared
    description = replace(
        model.description if isinstance(model, BoundModel) else model,
        class_probs=class_probs if class_probs is not None else model.class_probs,
        feature_inclusion=None,
    )
    bound = BoundModel.of(description, Schema(names, named, labels, categories))
    if bound.class_probs is None:
        raise ValueError("class_probs is missing: give the probability of each class")
    if isinstance(bound.class_probs, str):
        raise ValueError(f"class_probs={bound.class_probs!r} needs data: give the probability of each class")
    # There are no data, so that defaults that follow a scale use the scale one. These priors are not used.
    blank = tuple(block.statistics_of_nothing(len(labels)) for block in bound.blocks)
    resolved = bound.with_every_value().resolve(ModelStatistics(ClassCounts(np.zeros(len(labels))), blank))
    alone = len(model.features) == 1 and EVERY_COLUMN in model.features
    sites: dict[str, Any] = {CLASS_SITE: resolved.class_prior.probs}
    for site in resolved.sites:
        block = resolved.blocks[site.block]
        owner = block.name if site.column is None else block.labels[site.column]
        sites[site.name] = _find(parameters, owner, site.parameter, block.family, alone=alone)
    unread = [name for name in parameters if name not in parameters.read]
    if unread:
        raise ValueError(f"parameters has {unread[0]!r}, which the model does not: it has {[*sites]}")
    values = resolved.sites.parameters(sites)
    check_support(resolved, values)
    return PointPosterior(resolved, values)


def _columns(model: Model, parameters: Mapping[Any, Any], columns: Sequence | None) -> tuple[tuple, bool]:
    if columns is not None:
        twice = [column for column in columns if list(columns).count(column) > 1]
        if twice:
            raise ValueError(f"columns names {twice[0]!r} twice")
        return tuple(columns), any(isinstance(column, str) for column in columns)
    names: list[Any] = []
    for name, (family, chosen) in model.features.items():
        if name is EVERY_COLUMN:
            if family.by_column:
                keys = list(parameters)
                return tuple(keys), any(isinstance(key, str) for key in keys)
            table = _find(parameters, "x", family.parameter_names()[0], family, alone=True)
            if table.ndim != 2:
                raise ValueError(f"the table has shape {table.shape}: give (classes, columns)")
            return tuple(range(table.shape[1])), False
        if isinstance(chosen, slice):
            raise ValueError(
                f"block {name!r} takes a slice of columns: name all columns of the table with columns=[...]"
            )
        names += [name] if chosen is None else chosen
    return tuple(names), any(isinstance(name, str) for name in names)


def read_samples(samples: Any) -> tuple[Mapping[str, Any], dict[str, np.ndarray]]:
    """Draws by site, and the sampler's statistics by ArviZ's names, of what `bayesnb.from_samples` takes."""
    if "posterior" not in samples:
        return samples, {}
    draws = _of_every_draw(samples["posterior"])
    stats = _of_every_draw(samples["sample_stats"]) if "sample_stats" in samples else {}
    # `to_datatree` writes "|" for each "/" in a name.
    with_slashes = {name.replace("|", "/"): value for name, value in draws.items()}
    return with_slashes | draws, {
        OTHER_NAMES.get(name, name): value
        for name, value in stats.items()
        if value.ndim == 2 and value.dtype.kind in "biuf"
    }


def _of_every_draw(group: Any) -> dict[str, np.ndarray]:
    """The arrays of a group that have a value for each chain and draw, these axes in front."""
    return {
        str(name): np.asarray(value.transpose("chain", "draw", ...))
        for name, value in group.data_vars.items()
        if {"chain", "draw"} <= {*value.dims}
    }


class _Given(Mapping[Any, Any]):
    """Values by name; records which names were read."""

    def __init__(self, values: Mapping[Any, Any]) -> None:
        self._values = values
        self.read: set[Any] = set()

    def __getitem__(self, name: Any) -> Any:
        value = self._values[name]
        self.read.add(name)
        return value

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _find(parameters: Mapping[Any, Any], owner: Any, parameter: str, family: Family, *, alone: bool) -> np.ndarray:
    """The values of a parameter under any of the names it may have."""
    keys = [f"{owner}_{parameter}", f"{owner}_{parameter}s"] + ([parameter, f"{parameter}s"] if alone else [])
    for key in keys:
        if key in parameters:
            return np.asarray(parameters[key], dtype=np.float64)
    given = parameters.get(owner)
    if isinstance(given, Mapping):
        for key in (parameter, f"{parameter}s"):
            if key in given:
                return np.asarray(given[key], dtype=np.float64)
    elif given is not None and len(family.parameter_names()) == 1:
        return np.asarray(given, dtype=np.float64)
    raise ValueError(f"parameters has no {keys[0]!r}: there are {list(parameters)}")


@in_float64
def check_support(model: BoundModel, parameters: ModelParameters) -> None:
    """Refuse values that cannot be parameters: probabilities that do not sum to one, a negative variance.

    Raises
    ------
    ValueError
        Naming the site.
    """
    named = model.sites.by_name(parameters)
    if not np.all(constraints.simplex(named[CLASS_SITE])):
        raise ValueError(f"the values of {CLASS_SITE!r} are not probabilities that sum to one")
    for i, (block, given) in enumerate(zip(model.blocks, parameters.blocks, strict=True)):
        names = {site.parameter: site.name for site in reversed([*model.sites]) if site.block == i}

        def compare(
            parameter: str,
            distribution: dist.Distribution,
            given: Mapping[str, Any] = given,
            names: Mapping[str, str] = names,
        ) -> Any:
            value = given[parameter]
            if not np.all(distribution.support(value)):
                shown = np.asarray(value).tolist() if np.size(value) <= 20 else "..."
                raise ValueError(
                    f"the values of {names[parameter]!r} are not all {_in_words(distribution.support)}: {shown}"
                )
            return value

        block.family.prior(compare)


def _in_words(support: Any) -> str:
    words = {
        "UnitInterval": "between 0 and 1",
        "Probability": "between 0 and 1",
        "Positive": "positive",
        "PositiveVector": "positive",
        "Simplex": "probabilities that sum to one",
        "PositiveDefinite": "symmetric positive definite matrices",
    }
    return words.get(str(support).split("(")[0], f"in {support}")
