"""Posteriors, and what belongs to them, as JSON and arrays.

A record is an object that its arguments make again: it has each argument of its class as an attribute of the same
name. A file holds its class by name and the arguments, which are records themselves, arrays, text and numbers.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from datetime import date, datetime, time
from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import scipy.sparse

import bayesnb.families as package
from bayesnb.core.printing import Printed
from bayesnb.families.base import Family
from bayesnb.families.statistics import Statistics
from bayesnb.model.bound import BoundModel
from bayesnb.model.describe import EVERY_COLUMN
from bayesnb.posterior.netcdf import read_file, require_backend, write_file

__all__ = ["read", "save"]

TEXTS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "Timestamp": (pd.Timestamp, pd.Timestamp.isoformat, pd.Timestamp),
    "Timedelta": (pd.Timedelta, pd.Timedelta.isoformat, pd.Timedelta),
}
"""What a file holds as text: the type, and functions to text and back."""


def save(path: Any, value: Any, name: str = "value") -> None:
    """Write a record or a dictionary, which errors call `name`, to a netCDF file; errors as for `Posterior.save`."""
    require_backend("save")
    writer = _Writer()
    text = writer.apart(value, name)
    write_file(Path(path), text, writer.arrays)


def read(path: Any, records: Sequence[type], families: Sequence[type[Family]]) -> Any:
    """What `save` wrote.

    Parameters
    ----------
    path : path-like
    records : sequence of type
        The records that a file may name, beside families and statistics.
    families : sequence of Family subclasses
        Families that are looked up first.

    Raises
    ------
    OSError, ValueError
        As for `bayesnb.load`.
    """
    require_backend("load")
    text, arrays = read_file(Path(path))
    return _Reader(arrays, records, families).together(text)


class _Writer:
    """Takes values apart into JSON and the arrays that `arrays` then holds."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        # With their places by identity, so that a record which several others hold is in the file once.
        self._records: dict[int, tuple[int, Any]] = {}

    def apart(self, value: Any, where: str) -> Any:
        """A value as JSON can hold it; `where` says in errors where it is.

        Raises
        ------
        TypeError
            If it is neither data nor a record of the package or of a user's families and statistics.
        """
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, list):
            return [self.apart(part, where) for part in value]
        if id(value) in self._records:
            return {"again": self._records[id(value)][0]}
        if isinstance(value, np.ndarray | jax.Array):
            return {"array": self._array(np.asarray(value), where)}
        if isinstance(value, Mapping):
            items = [[self.apart(key, where), self.apart(part, f"{where}[{key!r}]")] for key, part in value.items()]
            return {"dict": items}
        if _is_record(value):
            kind = type(value)
            found = [[name, self.apart(getattr(value, name), f"{kind.__name__}.{name}")] for name in _arguments(kind)]
            self._records[id(value)] = len(self._records), value
            return {"record": [_name_of(kind), *found]}
        name, parts = _parts(value, where)
        return {name: self.apart(parts, where)}

    def _array(self, array: np.ndarray, where: str) -> list[Any]:
        """The type, the shape and the place of an array, numbers as they are and others as JSON."""
        if array.dtype.kind in "biuf":
            stored = array
        elif array.dtype.kind in "mM":
            stored = array.astype(np.int64)
        else:
            text = json.dumps(self.apart(array.ravel().tolist(), where))
            stored = np.frombuffer(text.encode(), np.uint8)
        self.arrays.append(stored)
        return [array.dtype.str, list(array.shape), len(self.arrays) - 1]


def _is_record(value: Any) -> bool:
    own = is_dataclass(value) or isinstance(value, Printed)
    return own and (isinstance(value, Family | Statistics) or _of_package(type(value)))


def _of_package(kind: type) -> bool:
    return kind.__module__.startswith("bayesnb.")


def _name_of(kind: type) -> str:
    """Name of a record's class in files; with its module, unless the package has it."""
    return kind.__qualname__ if _of_package(kind) else f"{kind.__module__}.{kind.__qualname__}"


def _arguments(kind: Any) -> list[str]:
    """Names of the arguments of a record's class. A model's blocks follow from the columns of each: `BoundModel.of`."""
    return ["description", "schema", "layout"] if kind is BoundModel else [*signature(kind.__init__).parameters][1:]


def _parts(value: Any, where: str) -> tuple[str, list[Any]]:
    """The kind of a value that is no record, and what `TOGETHER` makes it of."""
    if isinstance(value, tuple | frozenset):
        return type(value).__name__, [*value]
    if isinstance(value, slice | range):
        return type(value).__name__, [value.start, value.stop, value.step]
    if isinstance(value, np.dtype):
        return "dtype", [value.str]
    if isinstance(value, np.generic):
        return "scalar", [np.asarray(value)]
    if scipy.sparse.issparse(value):
        return "csr", [_narrow(value.data), value.dtype, value.indices, value.indptr, value.shape]
    if value is EVERY_COLUMN:
        return "every column", []
    if isinstance(value, dist.ExpandedDistribution):
        return "expanded", [value.base_dist, value.batch_shape]
    if isinstance(value, dist.Distribution) and getattr(dist, type(value).__name__, None) is type(value):
        return "distribution", [type(value).__name__, {name: getattr(value, name) for name in value.arg_constraints}]
    for name, (kind, to_text, _) in TEXTS.items():
        if type(value) is kind:
            return name, [to_text(value)]
    raise TypeError(
        f"{where} is {value!r} of the type {type(value).__name__}, which a file cannot hold: give text, numbers, "
        "booleans, dates, times, or tuples, lists and arrays of these; of your own classes a file holds families and "
        "statistics alone"
    )


def _narrow(data: np.ndarray) -> np.ndarray:
    """Whole numbers as the smallest type that holds them; counts of words and labels take an eighth of the bytes."""
    for dtype in (np.uint8, np.uint16, np.uint32):
        if data.size and data.min() >= 0 and data.max() <= np.iinfo(dtype).max and not (data % 1).any():
            return data.astype(dtype)
    return data


class _Reader:
    """Puts together what `_Writer` took apart."""

    def __init__(self, arrays: Sequence[np.ndarray], records: Sequence[type], families: Sequence[type[Family]]) -> None:
        self._arrays = arrays
        self._classes = _classes(records, families)
        self._families = families
        self._records: list[Any] = []

    def together(self, text: Any) -> Any:
        """The value of a text.

        Raises
        ------
        ValueError
            If it names a class or a distribution that there is not.
        """
        if isinstance(text, list):
            return [self.together(part) for part in text]
        if not isinstance(text, dict):
            return text
        ((kind, content),) = text.items()
        if kind == "again":
            return self._records[content]
        if kind == "array":
            return self._array(*content)
        parts = self.together(content)
        if kind == "record":
            name, *arguments = parts
            kind = self._class(name)
            make = BoundModel.of if kind is BoundModel else kind
            self._records.append(make(**dict(arguments)))
            return self._records[-1]
        return TOGETHER[kind](*parts)

    def _array(self, dtype: str, shape: list[int], place: int) -> np.ndarray:
        stored = self._arrays[place]
        if np.dtype(dtype).kind not in "biufmM":
            values = self.together(json.loads(stored.tobytes()))
            stored = np.fromiter(values, dtype=object, count=len(values))
        return stored.astype(dtype, copy=False).reshape(shape)

    def _class(self, name: str) -> type:
        """The class of a record: one that is given, one of the package, or a family or statistics that are defined.

        Of modules only those of the package are imported: the name of another comes from the file, and importing it
        would run code that the file chooses.

        Raises
        ------
        ValueError
            If there is no such class.
        """
        module, _, alone = name.rpartition(".")
        by_short_name = {kind.__name__: kind for kind in [*_defined([Statistics]), *self._families]}
        found = self._classes.get(name) or by_short_name.get(alone if module else "")
        if found is None:
            raise ValueError(
                f"the file names {name}, which is not one of bayesnb's: pass the class, "
                f"nb.load(path, families=[{alone}])" + (f", or import {module} first" if module else "")
            )
        return found


def _classes(records: Sequence[type], families: Sequence[type[Family]]) -> dict[str, type]:
    """By name the classes that a file may name; of two families of one name the one given, or else defined last."""
    for file in iter_modules(package.__path__, f"{package.__name__}."):
        import_module(file.name)
    return {_name_of(kind): kind for kind in [*_defined([Family, Statistics]), *records, *families]}


def _defined(kinds: Sequence[type]) -> Iterator[type]:
    """These classes and all their subclasses, the last one last."""
    for kind in kinds:
        yield kind
        yield from _defined(kind.__subclasses__())


def _csr(data: np.ndarray, dtype: np.dtype, *others: Any) -> scipy.sparse.csr_array:
    indices, indptr, shape = others
    return scipy.sparse.csr_array((data.astype(dtype, copy=False), indices, indptr), shape)


def _distribution(name: str, arguments: Mapping[str, Any]) -> dist.Distribution:
    kind = getattr(dist, name, None)
    if not (isinstance(kind, type) and issubclass(kind, dist.Distribution)):
        raise ValueError(f"the file names the distribution {name!r}, which NumPyro does not have")
    return kind(**arguments)


TOGETHER: dict[str, Callable[..., Any]] = {
    "dict": lambda *items: dict(items),
    "tuple": lambda *values: values,
    "frozenset": lambda *values: frozenset(values),
    "slice": slice,
    "range": range,
    "dtype": np.dtype,
    "scalar": lambda array: array[()],
    "csr": _csr,
    "every column": lambda: EVERY_COLUMN,
    "expanded": lambda base, shape: base.expand(shape),
    "distribution": _distribution,
    **{name: from_text for name, (_, _, from_text) in TEXTS.items()},
}
"""For each kind of value a function of its parts."""
