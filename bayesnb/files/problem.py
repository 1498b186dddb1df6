"""A model with the statistics of its data, as JSON and arrays."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
import scipy.sparse

from bayesnb.blocks.block import Block
from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.families.base import Family
from bayesnb.files.model import read_model, write_model
from bayesnb.files.netcdf import Arrays
from bayesnb.model.bound import BoundModel
from bayesnb.problem import Problem
from bayesnb.statistics.counts import ClassCounts
from bayesnb.tables.schema import Schema
from bayesnb.unlabelled import Unlabelled

__all__ = ["OWN", "read_problem", "write_own_problem", "write_problem"]

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
