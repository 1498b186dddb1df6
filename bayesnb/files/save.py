"""Write a posterior to a file."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb.blocks.parameters import ModelParameters
from bayesnb.files.model import write_model
from bayesnb.files.netcdf import Arrays, require_backend, write_file
from bayesnb.files.problem import write_problem
from bayesnb.files.schema import write_schema
from bayesnb.files.values import write_record
from bayesnb.model.bound import BoundModel
from bayesnb.problem import Problem

__all__ = ["Addition", "save"]

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
