"""Names for the columns of arrays and sparse matrices."""

from collections import Counter
from dataclasses import replace
from typing import Any

from bayesnb.tables.array import ArrayTable
from bayesnb.tables.columns import Column, listed
from bayesnb.tables.frame import FrameTable
from bayesnb.tables.read import as_table
from bayesnb.tables.sparse import SparseTable
from bayesnb.tables.table import Table

__all__ = ["with_names"]


def with_names(X: Any, feature_names: Any) -> Any:
    """A table whose columns have the given names; X itself if `feature_names` is None.

    Parameters
    ----------
    X : table, shape (rows, columns)
    feature_names : sequence of shape (columns,), or None
        Such as ``vectorizer.get_feature_names_out()``.

    Raises
    ------
    TypeError
        If `feature_names` is no sequence of names.
    ValueError
        If there is not one name for each column, a name occurs twice, or X has other names.
    """
    if feature_names is None:
        return X
    table = as_table(X)
    names = _read_names(feature_names, len(table.names))
    if not table.named:
        return _renamed(table, names)
    for theirs, mine in zip(table.names, names, strict=True):
        if theirs != mine:
            raise ValueError(
                f"feature_names has {mine!r} where X has the column {theirs!r}: leave feature_names out, because "
                "X has names"
            )
    return table


def _read_names(feature_names: Any, num_columns: int) -> tuple[Column, ...]:
    """Names of columns as a tuple; errors as for `with_names`."""
    names = feature_names.tolist() if hasattr(feature_names, "tolist") else feature_names
    try:
        if isinstance(names, str | bytes):
            raise TypeError
        names = tuple(str(name) if isinstance(name, str) else name for name in names)
        occurrences = Counter(names)
    except TypeError:
        raise TypeError(
            f"feature_names is {feature_names!r}: give a name for each column, such as "
            "vectorizer.get_feature_names_out()"
        ) from None
    if len(names) != num_columns:
        raise ValueError(
            f"feature_names has {len(names)} names and X has {num_columns} columns: give one name for each column"
        )
    twice = [name for name, times in occurrences.items() if times > 1]
    if twice:
        raise ValueError(f"feature_names holds {listed(twice)} more than once: give every column a name of its own")
    return names


def _renamed(table: Table, names: tuple[Column, ...]) -> Table:
    assert isinstance(table, ArrayTable | SparseTable | FrameTable)
    return replace(table, names=names, named=True)
