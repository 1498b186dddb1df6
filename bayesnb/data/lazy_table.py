"""Tables that an engine computes when it is asked: DuckDB, Polars lazy frames, Spark, Ibis."""

from typing import Any

import narwhals as nw

from bayesnb.core.checking import a_type
from bayesnb.data.read import is_dask


def is_lazy(table: Any) -> bool:
    """Whether a table is one that narwhals knows as lazy; not a collection of Dask, which has a road of its own."""
    if is_dask(table):
        return False
    try:
        return isinstance(nw.from_native(table, pass_through=True), nw.LazyFrame)
    except nw.exceptions.DuplicateError:  # whoever reads the table raises an error that names the column
        return False


def lazy_frame(table: Any) -> nw.LazyFrame[Any]:
    """A lazy table as a frame of narwhals.

    Raises
    ------
    TypeError
        If it is not lazy.
    """
    frame = nw.from_native(table, pass_through=True)
    if not isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"the table is {a_type(table)}, which is not lazy: give a DuckDB relation, a Polars LazyFrame, a Spark or "
            "Dask data frame, or an Ibis table"
        )
    return frame
