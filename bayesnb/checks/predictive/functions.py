"""A user's function of a table and its labels, as a statistic."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from bayesnb.checks.predictive.replicates import Rows
from bayesnb.checks.predictive.statistic import Statistic, dense
from bayesnb.model.bound import BoundModel
from bayesnb.model.simulate import to_table
from bayesnb.tables.read import as_table

__all__ = ["of_function"]

LOOK = "look for the columns or the family behind it; nb.calibration on new rows says whether it matters"


def of_function(
    function: Callable, model: BoundModel, X: Any, y: Any, taken: Collection[str]
) -> tuple[Statistic, np.ndarray]:
    """The statistic of a user's function, and its observed values.

    Parameters
    ----------
    function : callable
        ``f(X, y)``, which returns a number or a dict of numbers.
    model : BoundModel
    X, y : table and labels as they came
    taken : collection of str
        Labels that other statistics already have.

    Raises
    ------
    TypeError
        If the function returns anything else.
    """
    name = getattr(function, "__name__", type(function).__name__)
    seen = _as_numbers(function(X, y), name)
    title, copy = name, 1
    while any(_label(title, part) in taken for part in seen):
        copy += 1
        title = f"{name} ({copy})"
    sparse, has_names = scipy.sparse.issparse(X), as_table(X).named
    classes = model.schema.classes

    def values(rows: Rows) -> np.ndarray:
        found = _as_numbers(
            function(_table(model, rows, sparse=sparse, named=has_names), classes[rows.labels.codes]), name
        )
        return np.array([found.get(part, np.nan) for part in seen])

    return Statistic([_label(title, part) for part in seen], values, LOOK), np.array(list(seen.values()))


def _label(name: str, part: Any) -> str:
    return name if part is None else f"{name}[{part}]"


def _as_numbers(value: Any, name: str) -> dict[Any, float]:
    parts = dict(value) if isinstance(value, Mapping) else {None: value}
    for part, number in parts.items():
        if np.ndim(number) or np.asarray(number).dtype.kind not in "biuf":
            where = "" if part is None else f" under {part!r}"
            raise TypeError(
                f"the statistic {name!r} returned a {type(number).__name__}{where}: a function of statistics returns a "
                "number, or a dict of numbers"
            )
    return {part: float(number) for part, number in parts.items()}


def _table(model: BoundModel, rows: Rows, *, sparse: bool, named: bool) -> Any:
    """Encoded rows as the table that a user's function expects: of the kind that it gets for the observed data."""
    if sparse and not any(block.has_categories for block in model.blocks):
        positions = np.concatenate([block.columns for block in model.blocks])
        cells = scipy.sparse.hstack([scipy.sparse.csr_array(x) for x in rows.cells], format="csr")
        return scipy.sparse.csr_array(cells)[:, np.argsort(positions)]
    cells = [dense(x) for x in rows.cells]
    # Codes of categories cannot represent a missing cell, which is set afterwards.
    coded = [np.nan_to_num(x) if block.has_categories else x for block, x in zip(model.blocks, cells, strict=True)]
    absent = {
        position: np.isnan(x[:, j])
        for block, x in zip(model.blocks, cells, strict=True)
        if block.has_categories
        for j, position in enumerate(block.columns)
    }
    return _without(
        model,
        to_table(replace(model.schema, named=named), model.blocks, coded),
        {position: gone for position, gone in absent.items() if gone.any()},
    )


def _without(model: BoundModel, table: Any, absent: Mapping[int, np.ndarray]) -> Any:
    """The table with missing cells in the columns at the given positions of the schema."""
    if not absent:
        return table
    if isinstance(table, pd.DataFrame):
        for position, gone in absent.items():
            name = model.schema.columns[position]
            table[name] = table[name].where(~gone)
        return table
    used = sorted(position for block in model.blocks for position in block.columns)
    table = table.astype(np.float64 if table.dtype.kind in "biuf" else object)
    for position, gone in absent.items():
        table[gone, used.index(position)] = np.nan
    return table
