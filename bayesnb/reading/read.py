"""The reader for a table, by where the table is."""

from collections.abc import Sequence
from typing import Any

from bayesnb.blocks.block import Block
from bayesnb.reading.device import DeviceChunks
from bayesnb.reading.host import HostChunks
from bayesnb.tables.device_array import DeviceTable
from bayesnb.tables.row import as_rows
from bayesnb.tables.schema import Schema

__all__ = ["read"]


def read(schema: Schema, blocks: Sequence[Block], X: Any, tolerant: frozenset[Any] = frozenset()) -> HostChunks:
    """The chunks of a table, in memory or on an accelerator.

    Parameters
    ----------
    schema : Schema
        Columns, classes and categories of the model.
    blocks : sequence of Block
    X : table, shape (rows, columns)
    tolerant : frozenset, default frozenset()
        As for `HostChunks`.

    Raises
    ------
    TypeError, ValueError
        If X is not a table, or its columns are not those of the model.
    """
    table = as_rows(X)
    columns = schema.locate(table, [block.columns for block in blocks])
    if isinstance(table, DeviceTable):
        return DeviceChunks(schema, tuple(blocks), table, columns, tolerant)
    return HostChunks(schema, tuple(blocks), table, columns, tolerant)
