"""Names of any kind as arrays. As JSON, a million names would be slow."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.files.netcdf import Arrays

__all__ = ["read_names", "write_names"]

GROUP = "names"

KINDS: dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    str: (str, str),
    int: (str, int),
    float: (repr, float),
    bool: (str, "True".__eq__),
    date: (date.isoformat, date.fromisoformat),
    time: (time.isoformat, time.fromisoformat),
    datetime: (datetime.isoformat, datetime.fromisoformat),
    pd.Timestamp: (pd.Timestamp.isoformat, pd.Timestamp),
    pd.Timedelta: (pd.Timedelta.isoformat, pd.Timedelta),
}
"""For each type of a name, functions to text and back. The position of a type is its code in a file."""


def write_names(names: np.ndarray, what: str, arrays: Arrays) -> dict[str, Any]:
    """Names for a file; their arrays are added to `arrays`.

    Numbers of one type are an array. Other names are one text, with the length and the type of each.

    Parameters
    ----------
    names : array, shape (names,)
    what : str
        What is named, for the error.
    arrays : dict

    Raises
    ------
    TypeError
        If a name is neither text, number, boolean, date nor time.
    """
    group = arrays.setdefault(GROUP, [])
    place = {"dtype": names.dtype.str, "array": len(group)}
    if names.dtype.kind in "biuf":
        group.append(names)
        return place
    values = names.tolist()
    kinds = list(KINDS)
    codes = {kind: code for code, kind in enumerate(kinds)}
    unknown = {type(value) for value in values} - codes.keys()
    if unknown:
        value = next(value for value in values if type(value) in unknown)
        raise TypeError(
            f"the {what} {value!r} is of the type {type(value).__name__}, and a file holds text, numbers, booleans, "
            "dates and times: convert it before the fit, for example to text"
        )
    texts = [KINDS[type(value)][0](value) for value in values]
    joined = "".join(texts).encode("utf-8", "surrogatepass")
    group.append(np.frombuffer(joined, np.uint8))
    group.append(np.array([len(text) for text in texts], np.int64))
    group.append(np.array([codes[type(value)] for value in values], np.int8))
    return place


def read_names(place: Mapping[str, Any], arrays: Arrays) -> np.ndarray:
    """The names that `write_names` wrote, shape (names,)."""
    dtype, first = np.dtype(place["dtype"]), place["array"]
    group = arrays[GROUP]
    if dtype.kind in "biuf":
        return group[first].astype(dtype, copy=False)
    text = group[first].tobytes().decode("utf-8", "surrogatepass")
    ends = np.cumsum(group[first + 1]).tolist()
    readers = [reader for _, reader in KINDS.values()]
    result = np.empty(len(ends), dtype=object)
    result[:] = [
        readers[code](text[start:end])
        for start, end, code in zip([0, *ends], ends, group[first + 2].tolist(), strict=False)
    ]
    return result.astype(dtype, copy=False)
