"""Files: netCDF that holds JSON and numbers, written whole or not at all."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np
import pandas as pd

from bayesnb.data.schema import Schema

__all__ = [
    "Arrays",
    "read_file",
    "read_names",
    "read_schema",
    "require_backend",
    "write_file",
    "write_label",
    "write_names",
    "write_schema",
]

# --------------------------------------------------------------------------------------------------
# Write a file whole or not at all
# --------------------------------------------------------------------------------------------------


def replace_file(path: Path, parts: Sequence[bytes | memoryview]) -> None:
    """Write a file to a temporary path in the same folder, then give it the final path in one step.

    At each moment the path names the old file or the new one, whole, whatever interrupts the writer and however many
    processes write to it. Who has the old file open goes on reading it. A process that is killed while it writes may
    leave a file ``.bayesnb-*.tmp`` in the folder; nothing reads it.

    Parameters
    ----------
    path : Path
        A symbolic link stays, and the file that it names is replaced. The permissions of a file that is replaced stay.
    parts : sequence of bytes
        The content, one part after the other.

    Raises
    ------
    OSError
        If the folder does not exist or may not be written to, the disk is full, or the path names something other than
        a file. The error has the class of its cause, such as PermissionError, and names the path.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise OSError(f"{str(path)!r} is not a file that can be replaced: give the path of a file")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} to save into: make it first")
    temporary = target.with_name(f".bayesnb-{uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            reason = error.strerror or error
            # Given its number, Python chooses the error's class.
            raise OSError(
                error.errno,
                f"the posterior is not saved ({reason}), and what was at the path is unchanged: free space or permit "
                "writing in the folder, or save elsewhere",
                str(path),
            ) from error
        raise


# --------------------------------------------------------------------------------------------------
# The file itself: JSON text and numbered arrays in netCDF, followed by a checksum
# --------------------------------------------------------------------------------------------------

FORMAT = 3
"""Version of the file's layout; a newer one is an error.

Format 1 has sums of -log x! for Poisson columns. Formats 1 and 2 have no seal, but a checksum of text and arrays in the
attribute ``sha256``.
"""

SEAL = b"\nbayesnb sha256 "
"""What a seal begins with; the checksum of all bytes before it follows, in hexadecimal digits."""

PIECE_BYTES = 2**20
"""Bytes of a file that are read at a time."""

SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""The first bytes of an HDF5 file."""

Arrays = dict[str, list[np.ndarray]]
"""Arrays by group, in their order."""


def write_file(path: Path, description: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a description, which JSON can hold, and arrays.

    The file is netCDF, followed by its seal. Libraries that read netCDF ignore what follows it.

    Raises
    ------
    OSError
        As for `replace_file`.
    """
    # Python's JSON has words for infinite numbers, which may be labels.
    text = json.dumps(description, default=_plain)
    content = _netcdf({"bayesnb_format": FORMAT, "bayesnb": text}, arrays)
    replace_file(path, [content, _seal(hashlib.sha256(content))])


def _netcdf(attributes: Mapping[str, Any], arrays: Arrays) -> bytes:
    """The bytes of a netCDF file, made in HDF5's own memory.

    HDF5 can also write to a Python file object, and so does xarray. HDF5 then calls Python whenever the garbage
    collector closes what is left of the file, which has crashed.
    """
    import h5netcdf
    import h5py

    # HDF5 refuses two open files of one name, also of files in memory and in several threads.
    with h5py.File(f"posterior-{uuid4().hex}", "w", driver="core", backing_store=False) as file:
        with h5netcdf.File(file, "r+") as netcdf:
            netcdf.attrs.update(attributes)
            for name, values in arrays.items():
                group = netcdf.create_group(name)
                for i, value in enumerate(map(_storable, values)):
                    axes = [f"v{i}_{axis}" for axis in range(value.ndim)]
                    group.dimensions.update(dict(zip(axes, value.shape, strict=True)))
                    group.create_variable(f"v{i}", axes, value.dtype, data=value)
        file.flush()
        image: bytes = file.id.get_file_image()
    return image


def _storable(value: np.ndarray) -> np.ndarray:
    array = np.asarray(value, order="C")
    return array.astype(np.int8) if array.dtype == bool else array


def read_file(path: Path) -> tuple[dict[str, Any], Arrays]:
    """The description and the arrays that `write_file` wrote.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file, or it is a folder.
    ValueError
        If the file is not one of `write_file`'s, is cut short or changed, or was written by a newer version.
    """
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder: give the path of a file")
    sealed, attributes, groups = _read_content(path)
    if attributes.get("modeling_interface") == "bayesnb":
        raise ValueError(
            f"{str(path)!r} holds draws from to_datatree, not a posterior from save: read it with arviz.from_netcdf"
        )
    if "bayesnb_format" not in attributes or "bayesnb" not in attributes:
        raise ValueError(f"{str(path)!r} is netCDF, but not a posterior or fit of annotations that save wrote")
    written = int(attributes["bayesnb_format"])
    if written > FORMAT:
        raise ValueError(
            f"{str(path)!r} has format {written}, this version of bayesnb reads up to {FORMAT}: upgrade bayesnb"
        )
    text = attributes["bayesnb"]
    if not (sealed if written > 2 else _older_checksum(text, groups) == attributes.get("sha256")):
        raise ValueError(_changed(path))
    arrays = {name: [group[f"v{i}"] for i in range(len(group))] for name, group in groups.items()}
    return json.loads(text), arrays


def _read_content(path: Path) -> tuple[bool, dict[str, Any], dict[str, dict[str, np.ndarray]]]:
    """Whether the file has a seal, its attributes, and by group its arrays by name.

    xarray would read it too, but leaves a filter of warnings behind.
    """
    import h5netcdf

    while True:
        with open(path, "rb") as file:
            sealed = _check_seal(file, path)
            try:
                with h5netcdf.File(path, "r") as opened:
                    attributes = dict(opened.attrs)
                    groups = {name: _arrays_of(group) for name, group in opened.groups.items()}
            except Exception as error:
                raise ValueError(_unreadable(path)) from error
            # Another process may have put a new file in the place of the one whose seal was compared.
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return sealed, attributes, groups


def _arrays_of(group: Any) -> dict[str, np.ndarray]:
    """The arrays of a group. Format 1 and 2 have booleans as xarray writes them, whole numbers with an attribute."""
    return {
        name: variable[...].astype(variable.attrs.get("dtype", variable.dtype), copy=False)
        for name, variable in group.variables.items()
    }


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as JSON can hold them."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(
        f"{value!r} is of the type {type(value).__name__}, which a file cannot hold: give text, numbers or booleans"
    )


def _seal(checksum: Any) -> bytes:
    return SEAL + checksum.hexdigest().encode() + b"\n"


def _check_seal(file: BinaryIO, path: Path) -> bool:
    """Whether a file has a seal.

    It is compared before HDF5 reads the file: HDF5 keeps text of any length in a heap without a checksum, and some
    damages of the heap let it read for ever.

    Raises
    ------
    ValueError
        If the file is not HDF5, is shorter than it says, or has changed since it was sealed.
    """
    head, size = file.read(48), file.seek(0, os.SEEK_END)
    # The superblock states HDF5's length (HDF5 File Format Specification, section II.A).
    place = 40 if head[8:9] < b"\x02" else 28
    end = int.from_bytes(head[place : place + 8], "little")
    if not head.startswith(SIGNATURE) or size < end:
        raise ValueError(_unreadable(path))
    file.seek(0)
    if size == end:
        return False
    checksum, left = hashlib.sha256(), end
    while left and (piece := file.read(min(left, PIECE_BYTES))):
        checksum.update(piece)
        left -= len(piece)
    if file.read(len(SEAL) + 100) != _seal(checksum):
        raise ValueError(_changed(path))
    file.seek(0)
    return True


def _unreadable(path: Path) -> str:
    return f"{str(path)!r} cannot be read as netCDF: it is cut short, or was not written by save"


def _changed(path: Path) -> str:
    return (
        f"{str(path)!r} was changed after it was saved: its checksum does not match; take another copy of the file, or "
        "fit and save again"
    )


def _older_checksum(text: str, groups: Mapping[str, Mapping[str, np.ndarray]]) -> str:
    """Checksum of a file of format 1 or 2."""
    digest = hashlib.sha256(text.encode())
    for group in sorted(groups):
        for name, array in sorted(groups[group].items()):
            digest.update(f"{group}/{name}{array.shape}{array.dtype.str}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def require_backend(verb: str) -> None:
    """Raise an error if the libraries that write netCDF are not installed."""
    try:
        import h5netcdf
        import h5py  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{verb} needs h5netcdf and h5py: pip install 'bayesnb[io]'") from error
    del h5netcdf


# --------------------------------------------------------------------------------------------------
# Names of any kind as arrays. As JSON, a million names would be slow
# --------------------------------------------------------------------------------------------------

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


# --------------------------------------------------------------------------------------------------
# Columns, classes and categories as JSON
# --------------------------------------------------------------------------------------------------


def write_label(label: Any, what: str) -> Any:
    """A label as JSON can hold it.

    Parameters
    ----------
    label : object
    what : str
        What the label names, for the error.

    Raises
    ------
    TypeError
        If it is neither text, number nor boolean.
    """
    plain = label.item() if isinstance(label, np.generic) else label
    if not isinstance(plain, str | int | float | bool):
        raise TypeError(
            f"the {what} {label!r} is of the type {type(label).__name__}, and only text, numbers and booleans can be "
            "saved as labels: convert it before the fit, for example to text"
        )
    return plain


def _write_column(column: Any) -> Any:
    """A column's name as JSON can hold it; a tuple, as of a pandas MultiIndex, is a list."""
    if isinstance(column, tuple):
        return [_write_column(part) for part in column]
    return write_label(column, "column")


def _read_column(column: Any) -> Any:
    return tuple(map(_read_column, column)) if isinstance(column, list) else column


def write_schema(schema: Schema) -> dict[str, Any]:
    """The schema as JSON can hold it; errors as for `write_label`."""
    return {
        "columns": [_write_column(column) for column in schema.columns],
        "named": schema.named,
        "classes": [write_label(label, "class") for label in schema.classes.tolist()],
        "dtype": schema.classes.dtype.str,
        "categories": [
            [
                position,
                [write_label(category, f"category of column {schema.columns[position]!r}") for category in categories],
            ]
            for position, categories in schema.categories.items()
        ],
    }


def read_schema(text: Mapping[str, Any]) -> Schema:
    """The schema that `write_schema` wrote."""
    return Schema(
        tuple(map(_read_column, text["columns"])),
        text["named"],
        np.array(text["classes"], dtype=np.dtype(text["dtype"])),
        {position: tuple(categories) for position, categories in text["categories"]},
    )
