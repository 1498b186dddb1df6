"""Tables whose rows are not in this process: lazy tables, collections of Dask, and long arrays on a device."""

from typing import Any

import numpy as np

from bayesnb.core.device_arrays import lies_on_device
from bayesnb.core.running import random_generator
from bayesnb.data.dask_table import DaskTable
from bayesnb.data.lazy_table import SAMPLE, LazyTable, is_lazy
from bayesnb.data.read import is_dask, read_rows

type TableElsewhere = LazyTable | DaskTable
"""A table with its labels and its weights, whose rows stay where they are."""


def is_elsewhere(X: Any, y: Any = None) -> bool:
    """Whether the rows of a table are not in this process: it is lazy, or it or its labels are a collection of Dask."""
    return is_dask(X) or is_dask(y) or is_lazy(X)


def table_elsewhere(X: Any, y: Any, sample_weight: Any = None, features: Any = None) -> TableElsewhere:
    """A table whose rows are elsewhere; parameters and errors as for `DaskTable` and `LazyTable`."""
    kind = DaskTable if is_dask(X) or is_dask(y) else LazyTable
    return kind(X, y, sample_weight, features)


def is_long_on_device(X: Any) -> bool:
    """Whether a table is an array on a device with more rows than a sample has."""
    return lies_on_device(X) and X.ndim == 2 and len(X) > SAMPLE


def sample_elsewhere(X: Any, y: Any, sample_weight: Any, key: Any) -> tuple[Any, Any, Any]:
    """Table, labels and weights in memory of at most `SAMPLE` rows drawn at random, and of rows of classes they lack.

    Parameters and errors as for `table_elsewhere`; X may be a long array on a device, too.
    """
    if not is_long_on_device(X):
        return table_elsewhere(X, y, sample_weight).sample_of_every_class(int(random_generator(key).integers(2**31)))
    rows: Any = read_rows(X, y, sample_weight)
    some = rows.take(np.sort(random_generator(key).choice(len(rows), SAMPLE, replace=False)))
    return some.alone().table.cells, some.labels.values, None if sample_weight is None else some.weights
