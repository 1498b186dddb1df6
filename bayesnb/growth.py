"""New categories in later rows: they change a problem into that of a single fit to all rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from bayesnb.blocks.block import Block
from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.model.bound import BoundModel
from bayesnb.model.describe import Description
from bayesnb.problem import Problem
from bayesnb.reading.counted import Counted, Unseen
from bayesnb.tables.categories import sort_categories, warn_of_twins, warn_unseen
from bayesnb.tables.label_column import split_labels
from bayesnb.tables.labels import encode_labels
from bayesnb.tables.schema import Schema
from bayesnb.tables.table import Table
from bayesnb.tables.weighted import weighted_table
from bayesnb.tables.weights import check_weights

__all__ = ["count_and_grow", "count_more", "with_categories", "with_new_categories"]


def count_more(problem: Problem, X: Any, y: Any, sample_weight: Any = None) -> tuple[Problem, ModelStatistics]:
    """Statistics of more rows, and the problem with the categories that only these rows show.

    Parameters
    ----------
    problem : Problem
    X : table, shape (rows, columns)
    y : labels of shape (rows,) or str
    sample_weight : array, shape (rows,), optional

    Returns
    -------
    tuple of Problem and ModelStatistics
        The problem without the new rows, and their statistics under its model.

    Raises
    ------
    TypeError, ValueError
        If the rows do not fit the model, or contain new categories for which its prior has no number.
    """
    X, y = split_labels(X, y)
    table = weighted_table(X, sample_weight)
    codes = encode_labels(y, table.num_rows, problem.model.schema.classes)
    weights = None if sample_weight is None else check_weights(sample_weight, table.num_rows)
    problem, counted = count_and_grow(problem, table, codes, weights)
    warn_unseen(counted.unseen)
    return problem, counted.statistics


def count_and_grow(
    problem: Problem, table: Table, codes: np.ndarray, weights: np.ndarray | None
) -> tuple[Problem, Counted]:
    """As `count_more`, given the position of each row's class; without a warning of values that count as missing."""
    rows = problem.model.read(table)
    if any(block.has_categories and block.family.whole_rows for block in problem.model.blocks):
        # Such a family cannot count a row before the categories of all its cells are known.
        problem = with_new_categories(problem, table, rows.unseen())
        return problem, problem.model.read(table).count(codes, weights)
    counted = rows.count(codes, weights)
    grown = with_new_categories(problem, table, counted.unseen)
    if grown is not problem:
        counted = grown.model.read(table).count(codes, weights)
    return grown, counted


def with_new_categories(problem: Problem, table: Table, unseen: Unseen) -> Problem:
    """The problem with the new categories of a table added, if it may have more categories.

    Parameters
    ----------
    problem : Problem
    table : Table
        More rows.
    unseen : mapping
        For each column the values of these rows that are not among the model's categories; `HostChunks.count`
        finds them.

    Returns
    -------
    Problem
        The same object if nothing is new.
    """
    model = problem.model
    schema = model.schema
    if not problem.growing or not model.open_columns:
        return problem
    (places,) = schema.locate(table, [model.open_columns])
    categories = dict(schema.categories)
    for position, place in zip(model.open_columns, places, strict=True):
        known, name = schema.categories[position], schema.columns[position]
        listed = dict.fromkeys(table.declared_categories(place) or ())
        met = sort_categories({*unseen.get(name, ())} - listed.keys(), name)
        categories[position] = tuple(dict.fromkeys((*known, *listed, *met)))
        if categories[position] != known:
            warn_of_twins(categories[position], f"column {name!r}", "categories")
    return problem if categories == schema.categories else with_categories(problem, categories)


def with_categories(problem: Problem, categories: Mapping[int, tuple], features: Any = None) -> Problem:
    """The problem with more categories, which no row so far contains.

    A Dirichlet over more categories, of the same concentration for each, is the prior that a fit to all rows would have
    had; the counts of the new categories are zero so far.

    Parameters
    ----------
    problem : Problem
        Every row has a label.
    categories : mapping
        For each categorical column, by position, all its categories, including the known ones.
    features : mapping, optional
        The model's features, if they list categories; by default unchanged.

    Raises
    ------
    ValueError
        If the prior has one number for each category, and therefore none for a new one.
    """
    before = problem.model
    schema = replace(before.schema, categories=dict(categories))
    description = before.description if features is None else replace(before.description, features=features)
    model = _with_more(before, description, schema)
    source, counted = problem.learned_from, problem.statistics
    return replace(
        problem,
        model=model,
        statistics=ModelStatistics(counted.classes, _regroup(counted.blocks, before, model)),
        learned_from=None if source is None else BoundModel.of(source.description, schema),
    )


def _with_more(before: BoundModel, description: Description, schema: Schema) -> BoundModel:
    """The model with the categories of a schema.

    Raises
    ------
    ValueError
        If the prior has no number for the new categories.
    """
    try:
        return BoundModel.of(description, schema)
    except ValueError as error:
        brought = _brought(before.schema, schema)
        told = "; ".join(f"column {name!r}: {_shown(new)}" for name, new in brought.items())
        raise ValueError(
            f"the rows bring new categories ({told}), for which the model has no place: {error}. If the prior has one "
            "number for each category and none for these, name all that may come at the first fit, "
            "nb.Categorical(concentration, categories=[...]), or give one concentration for all"
        ) from None


def _brought(old: Schema, new: Schema) -> dict[Any, list]:
    """For each column the categories that only the new schema has."""
    brought = {}
    for position, categories in new.categories.items():
        known = set(old.categories[position])
        if added := [category for category in categories if category not in known]:
            brought[new.columns[position]] = added
    return brought


def _shown(values: list) -> str:
    return ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")


def _regroup(blocks: Sequence[Any], before: BoundModel, after: BoundModel) -> tuple[Any, ...]:
    """Statistics of the new blocks, in which columns with the same number of categories are together."""
    found: dict[int, Any] = {}
    for block, whole in zip(before.blocks, blocks, strict=True):
        for j, position in enumerate(block.columns):
            found[position] = jax.tree.map(lambda leaf, j=j: leaf[:, [j]], whole) if block.by_column else whole
    return tuple(_of_block(block, found, before, after) for block in after.blocks)


def _of_block(block: Block, found: Mapping[int, Any], before: BoundModel, after: BoundModel) -> Any:
    old, new = (model.schema.categories for model in (before, after))
    if not block.by_column:
        counted = found[block.columns[0]]
        if not block.has_categories:
            return counted
        return block.family.recoded(counted, [_places(old[position], new[position]) for position in block.columns])
    columns = [found[position] for position in block.columns]
    if block.has_categories:
        columns = [_with_zeros(found[position], old[position], new[position]) for position in block.columns]
    return jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *columns)


def _places(old: tuple, new: tuple) -> np.ndarray:
    """Position of each category among the new ones."""
    place = {category: code for code, category in enumerate(new)}
    return np.array([place[category] for category in old], dtype=np.intp)


def _with_zeros(counted: Any, old: tuple, new: tuple) -> Any:
    """Statistics of a column of categories, with zeros for the new ones wherever they have a number for each."""

    def grow(leaf: np.ndarray) -> np.ndarray:
        if leaf.ndim < 3:
            return leaf
        grown = np.zeros((*leaf.shape[:-1], len(new)))
        grown[..., _places(old, new)] = leaf
        return grown

    return jax.tree.map(grow, counted)
