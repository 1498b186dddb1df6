"""The file itself: JSON text and numbered arrays in netCDF, followed by a checksum."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np

from bayesnb.files.replace import replace_file

__all__ = ["Arrays", "read_file", "require_backend", "write_file"]

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
