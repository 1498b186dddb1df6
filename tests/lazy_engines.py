"""Engines of lazy tables and Dask, each with a function that gives a frame of Polars to it."""

import warnings
from importlib.util import find_spec
from shutil import which

import polars as pl
import pytest

ENGINES = ["polars", "duckdb"]
"""Engines of the fast suite."""

SLOW_ENGINES = ["ibis", "pyspark"]


def lazily(frame: pl.DataFrame, engine: str):
    """The frame as a lazy table of an engine; skips the test where the engine is not there."""
    if engine == "polars":
        return frame.lazy()
    if find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed")
    if engine == "dask":
        import dask.dataframe as dd

        # Dask makes text of booleans with gaps.
        numbers = frame.with_columns(pl.col(pl.Boolean).cast(pl.Float64))
        return dd.from_pandas(numbers.to_pandas(), npartitions=3)
    if engine == "duckdb":
        import duckdb

        return duckdb.from_arrow(frame.to_arrow())
    if engine == "ibis":
        import ibis

        connection = ibis.duckdb.connect()
        connection.con.register("cells", frame.to_arrow())
        return connection.table("cells")
    if which("java") is None:
        pytest.skip("Spark needs Java, which is not there")
    return _spark().createDataFrame(frame.to_arrow())


def _spark():
    from pyspark.sql import SparkSession

    quiet = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    builder = SparkSession.builder.master("local[1]")
    for name, value in quiet.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # JAX warns of the fork that starts Java
        return builder.getOrCreate()
