"""The label's column of a table, taken by its name."""

from collections.abc import Iterable, Mapping
from typing import Any

import narwhals as nw

from bayesnb.tables.columns import listed, near_matches
from bayesnb.tables.read import as_table, is_dask

__all__ = ["split_labels"]


def split_labels(X: Any, y: Any, features: Mapping[Any, tuple[Any, Any]] | None = None) -> tuple[Any, Any]:
    """Features and labels; if `y` is the name of a column, that column and the table without it.

    A text is always the name of a column, also where the table has one row.

    Parameters
    ----------
    X : table, shape (rows, columns)
        With a text `y`: a pandas, polars, pyarrow or Dask table.
    y : str, labels of shape (rows,), or None
    features : mapping, optional
        Family and columns of each feature of the model, none of which may be the label's column.

    Returns
    -------
    tuple
        X and y unchanged, unless `y` is a text; a table of the same library and its column, if it is.

    Raises
    ------
    TypeError
        If `y` is a text and the columns of X have no names.
    ValueError
        If X has no column of that name, or the model has it as a feature.
    """
    if not isinstance(y, str):
        return X, y
    _require_column(y, _names(X))
    if any(y in ([name] if columns is None else columns) for name, columns in _named(features or {})):
        raise ValueError(
            f"column {y!r} holds the labels, and the model has it as a feature: leave it out of the model, with "
            f"from_frame(..., exclude=[{y!r}]) for a guessed model"
        )
    if is_dask(X):
        return X.drop(columns=[y]), X[y]
    frame = nw.from_native(X)
    return frame.drop(y).to_native(), frame[y].to_native()


def _names(X: Any) -> Iterable[Any]:
    """Names of the columns; none if they have none."""
    if is_dask(X):
        return getattr(X, "columns", ())
    table = as_table(X)
    return table.names if table.named else ()


def _named(features: Mapping[Any, tuple[Any, Any]]) -> Iterable[tuple[Any, Any]]:
    """The features that name their columns: the feature's name, and its columns."""
    return ((name, columns) for name, (_, columns) in features.items() if not isinstance(columns, slice))


def _require_column(name: str, columns: Iterable[Any]) -> None:
    columns = list(columns)
    if not columns:
        raise TypeError(
            f"y is the text {name!r}, which names a column, and the columns of X have no names: give a label for each "
            "row"
        )
    if name not in columns:
        raise ValueError(
            f"y is {name!r}, which is not a column of X{near_matches(name, columns)}: name the column of the labels, "
            f"one of {listed(columns)}, or give a label for each row"
        )
