"""A model with the statistics of its data, as JSON and arrays."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
import scipy.sparse

from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.families.base import Family
from bayesnb.families.poisson import Poisson, RateCounts, rate_counts
from bayesnb.files.model import read_model, write_model
from bayesnb.files.netcdf import Arrays
from bayesnb.model.bound import BoundModel
from bayesnb.problem import Problem
from bayesnb.statistics.counts import ClassCounts, Counts
from bayesnb.statistics.levels import Levels, Tally
from bayesnb.statistics.moments import Moments
from bayesnb.tables.schema import Schema
from bayesnb.unlabelled import Unlabelled

__all__ = ["read_problem", "write_problem"]

STATISTICS: dict[str, Any] = {
    kind.__name__: jax.tree.structure(kind(*parts))
    for kind, parts in (
        (Counts, [0] * 3),
        (RateCounts, [0] * 3),
        (Moments, [0] * 3),
        (Levels, [0, 0, 0, Tally(0, 0, 0), Tally(0, 0, 0)]),
    )
}
"""How each kind of statistics is put together from its arrays."""


def write_problem(problem: Problem | None, arrays: Arrays) -> dict[str, Any]:
    """What a file says of the problem, other than its model; its arrays are added to `arrays`."""
    if problem is None:
        return {"learned_from": None, "statistics": None, "growing": False, "unlabelled": None}
    source = problem.learned_from
    return {
        "learned_from": None if source is None else write_model(source, arrays),
        "statistics": _write_statistics(problem.statistics, arrays),
        "growing": problem.growing,
        "unlabelled": _write_rows(problem.unlabelled, arrays),
    }


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
        _read_statistics(description["statistics"], model.families, arrays),
        None if source is None else read_model(source, arrays, schema, families),
        _read_rows(description.get("unlabelled"), arrays),
        growing=description.get("growing", False),
    )


def _write_statistics(statistics: ModelStatistics, arrays: Arrays) -> list[str]:
    arrays["statistics"] = [np.asarray(leaf) for leaf in jax.tree.leaves(statistics)]
    return [type(block).__name__ for block in statistics.blocks]


def _read_statistics(kinds: Sequence[str], families: Sequence[Family], arrays: Arrays) -> ModelStatistics:
    leaves = iter(arrays["statistics"])
    classes = ClassCounts(next(leaves))
    structures = [STATISTICS[kind] for kind in kinds]
    blocks = tuple(jax.tree.unflatten(one, itertools.islice(leaves, one.num_leaves)) for one in structures)
    blocks = tuple(
        rate_counts(block) if type(family) is Poisson and type(block) is Counts else block
        for family, block in zip(families, blocks, strict=True)
    )
    return ModelStatistics(classes, blocks)


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
