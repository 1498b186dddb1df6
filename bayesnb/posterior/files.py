"""Posteriors, and what belongs to them, as JSON and arrays in netCDF files, written whole or not at all.

A record is an object that its arguments make again: it has each argument of its class as an attribute of the same
name. A file holds its class by name and the arguments, which are records themselves, arrays, text and numbers.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass, replace
from datetime import date, datetime, time
from importlib import import_module
from inspect import signature
from pkgutil import iter_modules
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
import scipy.sparse

import bayesnb.families as package
from bayesnb.core.checking import as_path, is_jax, one_of
from bayesnb.core.deferred import dist, is_distribution
from bayesnb.core.exports import places_of
from bayesnb.core.label_scores import LabelScores
from bayesnb.core.printing import Printed
from bayesnb.core.sealed_files import replace_file, seal, sealed_image
from bayesnb.data.derived import DerivedColumn
from bayesnb.data.schema import Schema
from bayesnb.families.family import Family
from bayesnb.families.statistics import Statistics
from bayesnb.model.blocks import EVERY_COLUMN
from bayesnb.model.bound import BoundModel
from bayesnb.posterior.belief import offers

# --------------------------------------------------------------------------------------------------
# Values as JSON and arrays, and back
# --------------------------------------------------------------------------------------------------

TEXTS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "Timestamp": (pd.Timestamp, pd.Timestamp.isoformat, pd.Timestamp),
    "Timedelta": (pd.Timedelta, pd.Timedelta.isoformat, pd.Timedelta),
}
"""Types that a file holds as text, with functions to text and back."""


def save(path: Any, value: Any, name: str = "value", scorer: bytes = b"") -> None:
    """Write a record or a dictionary, which errors call `name`, to a netCDF file; errors as for `Posterior.save`.

    `scorer`, the bytes of the flat form, lies in the file as it is.
    """
    path, writer = as_path(path), _Writer()
    # Python's JSON has words for infinite numbers, which may be labels.
    text = json.dumps(writer.apart(value, name))
    content = _netcdf({"bayesnb_format": FORMAT, "bayesnb": text}, writer.arrays, scorer)
    replace_file(path, [content, seal(content)])


MOST_BYTES = 2**24
"""A larger flat form is in a file only if it is asked for."""


def scorer_bytes(posterior: Any, asked: bool | None, label_scores: LabelScores | None = None) -> bytes:
    """The flat form of a posterior for `save`, empty if the file is to have none.

    Parameters
    ----------
    posterior : Posterior
    asked : bool or None
        What the user gives as `scorer`.
    label_scores : LabelScores, optional

    Raises
    ------
    TypeError, ValueError
        If it is asked for and there is none; or if `asked` is none of the three.
    """
    one_of("scorer", asked, (None, True, False))
    there = asked is not False and offers(posterior, "a flat form")
    if asked and not there:
        raise ValueError(
            "scorer=True, but the posterior has no flat form: draws, averages over features, counts of words, point "
            "estimates of numbers and families of your own without a `scorer` have none; save without it, and predict "
            "with nb.load"
        )
    if not there:
        return b""
    try:
        found: bytes = replace(posterior.belief.flat.scorer, label_scores=label_scores).to_bytes()
    except TypeError:  # a label that JSON does not hold, such as a date
        if asked:
            raise
        return b""
    return found if asked or len(found) <= MOST_BYTES else b""


def read(path: Any, records: Mapping[str, Sequence[str]], families: Sequence[type[Family]]) -> Any:
    """What `save` wrote.

    Parameters
    ----------
    path : path-like
    records : mapping from str to sequence of str
        The records that a file may name, beside families and statistics, by module below `bayesnb`.
    families : sequence of Family subclasses
        Families that are looked up first.

    Raises
    ------
    OSError, ValueError
        As for `bayesnb.load`.
    """
    path, h5py = as_path(path), _backend("load")
    image = sealed_image(path)
    try:
        with h5py.File(h5py.h5f.open_file_image(image)) as file:
            if (written := int(np.asarray(file.attrs["bayesnb_format"]).item())) != FORMAT:
                what_next = "upgrade bayesnb" if written > FORMAT else "fit and save again"
                raise ValueError(f"it has format {written}, this version of bayesnb reads {FORMAT}: {what_next}")
            return _Reader(file[GROUP], records, families).together(json.loads(file.attrs["bayesnb"]))
    # A forged file may end in an error of any kind, a deep one in RecursionError.
    except Exception as error:
        raise ValueError(
            f"{str(path)!r} is netCDF, but not a posterior, estimator or fit of annotations that can be read: "
            f"{error or type(error).__name__}"
        ) from error


class _Writer:
    """Converts values to JSON, and collects their arrays in `arrays`."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        # Places by identity: a record that several others share is in the file once.
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
        if isinstance(value, np.ndarray) or is_jax(value):
            return {"array": self._array(np.asarray(value), where)}
        if isinstance(value, Mapping):
            items = [[self.apart(key, where), self.apart(part, f"{where}[{key!r}]")] for key, part in value.items()]
            return {"dict": items}
        kind = type(value)
        own = isinstance(value, Family | Statistics) or _of_package(kind)
        if own and (is_dataclass(value) or isinstance(value, Printed)):
            found = [[name, self.apart(getattr(value, name), f"{kind.__name__}.{name}")] for name in _arguments(kind)]
            self._records[id(value)] = len(self._records), value
            return {"record": [_name_of(kind), *found]}
        name, parts = _parts_of_value(value, where)
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


def _of_package(kind: type) -> bool:
    return kind.__module__.startswith("bayesnb.")


def _name_of(kind: type) -> str:
    """Name of a record's class in files; with its module, unless the package has it."""
    return kind.__qualname__ if _of_package(kind) else f"{kind.__module__}.{kind.__qualname__}"


def _arguments(kind: Any) -> list[str]:
    """Names of the arguments of a record's class. A model's blocks follow from the columns of each: `BoundModel.of`."""
    return [*signature(BoundModel.of if kind is BoundModel else kind.__init__).parameters][kind is not BoundModel :]


def _parts_of_value(value: Any, where: str) -> tuple[str, list[Any]]:
    """The kind of a value that is no record, and the parts from which `TOGETHER` rebuilds it."""
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
    if is_distribution(value) and isinstance(value, dist.ExpandedDistribution):
        return "expanded", [value.base_dist, value.batch_shape]
    if is_distribution(value) and getattr(dist, type(value).__name__, None) is type(value):
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
    """Rebuilds the values that `_Writer` converted."""

    def __init__(self, arrays: Any, records: Mapping[str, Sequence[str]], families: Sequence[type[Family]]) -> None:
        self._arrays = arrays  # a group of HDF5
        self._places = places_of({**records, **package.FAMILIES})
        self._families = families
        self._classes = _classes_by_name(families)
        self._records: list[Any] = []

    def together(self, text: Any) -> Any:
        """The value of a text; ValueError if it names a class or a distribution that does not exist."""
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
            make: Any = {BoundModel: BoundModel.of, Schema: _schema}.get(kind, kind)
            self._records.append(make(**dict(arguments)))
            return self._records[-1]
        return TOGETHER[kind](*parts)

    def _array(self, dtype: str, shape: list[int], place: int) -> np.ndarray:
        stored = self._arrays[f"v{place}"][...]
        if np.dtype(dtype).kind not in "biufmM":
            values = self.together(json.loads(stored.tobytes()))
            stored = np.fromiter(values, dtype=object, count=len(values))
        return stored.astype(dtype, copy=False).reshape(shape)

    def _class(self, name: str) -> type:
        """The class of a record: one that is given, one of the package, or a family or statistics that are defined.

        Of modules only those of the package are imported: the name of another comes from the file, and importing it
        would run code that the file chooses. ValueError if there is no such class.
        """
        module, _, alone = name.rpartition(".")
        if name in self._places:
            return getattr(import_module(self._places[name]), name)
        if name not in self._classes:  # statistics come with their family
            self._classes = _classes_by_name(self._families)
        if name not in self._classes and not module:
            for file in iter_modules(package.__path__, f"{package.__name__}."):
                import_module(file.name)
            self._classes = _classes_by_name(self._families)
        by_short_name = {kind.__name__: kind for kind in [*_defined([Statistics]), *self._families]}
        found = self._classes.get(name) or by_short_name.get(alone if module else "")
        if found is None:
            raise ValueError(
                f"the file names {name}, which is not one of bayesnb's: pass the class, "
                f"nb.load(path, families=[{alone}])" + (f", or import {module} first" if module else "")
            )
        return found


def _classes_by_name(families: Sequence[type[Family]]) -> dict[str, type]:
    """Families and statistics that are defined; of two families with one name, the given one or the last defined."""
    return {_name_of(kind): kind for kind in [*_defined([Family, Statistics]), *families]}


def _defined(kinds: Sequence[type]) -> Iterator[type]:
    """These classes and all their subclasses, the last one last."""
    for kind in kinds:
        yield kind
        yield from _defined(kind.__subclasses__())


def _schema(columns: tuple, views: Any = None, **others: Any) -> Schema:
    """A schema. Older files hold, by the feature that has copies, the positions of their sources."""
    if views is not None:
        sources = [columns[position] for own in views.values() for position in own]
        others["derived"] = tuple(map(DerivedColumn, columns[len(columns) - len(sources) :], sources))
    return Schema(columns, **others)


def _distribution(name: str, arguments: Mapping[str, Any]) -> "dist.Distribution":
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
    "csr": lambda data, dtype, *rest: scipy.sparse.csr_array((data.astype(dtype, copy=False), *rest[:2]), rest[2]),
    "every column": lambda: EVERY_COLUMN,
    "expanded": lambda base, shape: base.expand(shape),
    "distribution": _distribution,
    **{name: from_text for name, (_, _, from_text) in TEXTS.items()},
}
"""For each kind of value a function of its parts."""


# --------------------------------------------------------------------------------------------------
# The file itself: JSON text and numbered arrays in netCDF, followed by a checksum
# --------------------------------------------------------------------------------------------------

FORMAT = 4
"""Version of the file's layout; any other is an error."""


GROUP = "arrays"
"""Name of the group of arrays, which are numbered."""


def _netcdf(attributes: Mapping[str, Any], arrays: Sequence[np.ndarray], scorer: bytes) -> bytes:
    """The bytes of a netCDF file, made in HDF5's own memory.

    HDF5 can also write to a Python file object, and so does xarray. HDF5 then calls Python whenever the garbage
    collector closes what is left of the file, which has crashed.
    """
    h5py = _backend("save")
    # HDF5 refuses two open files of one name, also of files in memory and in several threads.
    with h5py.File(f"posterior-{uuid4().hex}", "w", driver="core", backing_store=False) as file:
        file.attrs.update(attributes)
        group = file.create_group(GROUP)
        for i, array in enumerate(arrays):
            _put_array(group, f"v{i}", np.asarray(array, np.int8 if array.dtype == bool else None, order="C"))
        if scorer:
            _put_array(file, "scorer", np.frombuffer(scorer, np.uint8))
        file.flush()
        image: bytes = file.id.get_file_image()
    return image


def _put_array(group: Any, name: str, value: np.ndarray) -> None:
    """Write an array, whole in one place, and its axes as netCDF has them.

    h5netcdf writes them too, but compares each array with the axes of all others.
    """
    written = group.create_dataset(name, data=value)
    for axis, length in enumerate(value.shape):
        scale = group.create_dataset(f"{name}_{axis}", (length,), ">f4")
        scale.make_scale(f"This is a netCDF dimension but not a netCDF variable. {length:10}")
        written.dims[axis].attach_scale(scale)


def _backend(verb: str) -> Any:
    """The library that reads and writes HDF5, which an extra installs."""
    try:
        import h5py
    except ImportError as error:
        raise ImportError(f"{verb} needs h5py: pip install 'bayesnb[io]'") from error
    return h5py
