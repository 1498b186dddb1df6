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
from bayesnb.validate import a_type

__all__ = ["of_function"]

FIND_THE_CAUSE = "look for the columns or the family behind it; nb.calibration on new rows says whether it matters"


def of_function(
    function: Callable, model: BoundModel, X: Any, y: Any, taken: Collection[str], copies: Rows | None = None
) -> tuple[Statistic, np.ndarray]:
    """The statistic of a user's function, and its observed values.

    Parameters
    ----------
    function : callable
        ``f(X, y)``, which returns a number or a dict of numbers.
    model : BoundModel
    X, y : table and labels, as the user gave them
    taken : collection of str
        Labels of other statistics, which this one must not have.
    copies : Rows, optional
        Rows of weight w as w rows, in the place of X and y.

    Raises
    ------
    TypeError
        If the function returns something else.
    """
    name = getattr(function, "__name__", type(function).__name__)
    sparse, has_names = scipy.sparse.issparse(X), as_table(X).named
    classes = model.schema.classes
    if copies is not None:
        X, y = _table(model, copies, sparse=sparse, named=has_names), classes[copies.labels.codes]
    seen = _as_numbers(function(X, y), name)
    title, copy = name, 1
    while any(_label(title, part) in taken for part in seen):
        copy += 1
        title = f"{name} ({copy})"

    def values(rows: Rows) -> np.ndarray:
        found = _as_numbers(
            function(_table(model, rows, sparse=sparse, named=has_names), classes[rows.labels.codes]), name
        )
        return np.array([found.get(part, np.nan) for part in seen])

    return Statistic([_label(title, part) for part in seen], values, FIND_THE_CAUSE), np.array(list(seen.values()))


def _label(name: str, part: Any) -> str:
    return name if part is None else f"{name}[{part}]"


def _as_numbers(value: Any, name: str) -> dict[Any, float]:
    parts = dict(value) if isinstance(value, Mapping) else {None: value}
    for part, number in parts.items():
        if np.ndim(number) or np.asarray(number).dtype.kind not in "biuf":
            where = "" if part is None else f" under {part!r}"
            raise TypeError(
                f"the statistic {name!r} returned {a_type(number)}{where}: a function of statistics returns a "
                "number, or a dict of numbers"
            )
    return {part: float(number) for part, number in parts.items()}


def _table(model: BoundModel, rows: Rows, *, sparse: bool, named: bool) -> Any:
    """Encoded rows as a table of the kind that the user gave: CSR array, array or data frame."""
    if sparse and not any(block.has_categories for block in model.blocks):
        positions = np.concatenate([block.columns for block in model.blocks])
        cells = scipy.sparse.hstack([scipy.sparse.csr_array(x) for x in rows.cells], format="csr")
        return scipy.sparse.csr_array(cells)[:, np.argsort(positions)]
    cells = [dense(x) for x in rows.cells]
    # Codes of categories have no code for a missing cell. Missing cells are therefore set in the decoded table.
    coded = [np.nan_to_num(x) if block.has_categories else x for block, x in zip(model.blocks, cells, strict=True)]
    missing = {
        position: of_column
        for block, x in zip(model.blocks, cells, strict=True)
        if block.has_categories
        for position, of_column in zip(block.columns, np.isnan(x).T, strict=True)
        if of_column.any()
    }
    return _with_missing(model, to_table(replace(model.schema, named=named), model.blocks, coded), missing)


def _with_missing(model: BoundModel, table: Any, missing: Mapping[int, np.ndarray]) -> Any:
    """The table with missing cells.

    Parameters
    ----------
    model : BoundModel
    table : array or pandas.DataFrame
    missing : mapping
        For positions of columns in the schema whether each cell is missing, shape (rows,).
    """
    if not missing:
        return table
    if isinstance(table, pd.DataFrame):
        for position, of_column in missing.items():
            name = model.schema.columns[position]
            table[name] = table[name].where(~of_column)
        return table
    used = sorted(position for block in model.blocks for position in block.columns)
    table = table.astype(np.float64 if table.dtype.kind in "biuf" else object)
    for position, of_column in missing.items():
        table[of_column, used.index(position)] = np.nan
    return table
