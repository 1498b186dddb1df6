"""Predictions for Dask collections, one partition at a time."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Concatenate

import numpy as np

from bayesnb.partitions import map_partitions
from bayesnb.tables.read import is_dask

__all__ = ["partition_by_partition"]


def partition_by_partition[**P](
    method: Callable[Concatenate[Any, Any, P], np.ndarray],
) -> Callable[Concatenate[Any, Any, P], np.ndarray]:
    """Let a method that returns an array by rows return a Dask array if X is a Dask array or data frame."""

    @wraps(method)
    def wrapped(self: Any, X: Any, *args: P.args, **kwargs: P.kwargs) -> np.ndarray:
        if not is_dask(X):
            return method(self, X, *args, **kwargs)
        return map_partitions(partial(_answer, self, method.__name__, args, kwargs), X)

    return wrapped


def _answer(posterior: Any, method: str, args: tuple, kwargs: dict[str, Any], X: Any) -> np.ndarray:
    # The method is sent to Dask by its name. Pickle would look the inner function up by name and find the wrapped one.
    return getattr(posterior, method)(X, *args, **kwargs)
