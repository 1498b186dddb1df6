"""Files: netCDF that holds JSON and numbers, written whole or not at all."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np

__all__ = ["read_file", "require_backend", "write_file"]

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

FORMAT = 4
"""Version of the file's layout; another one is an error."""

SEAL = b"\nbayesnb sha256 "
"""What a seal begins with; the checksum of all bytes before it follows, in hexadecimal digits."""

PIECE_BYTES = 2**20
"""Bytes of a file that are read at a time."""

SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""The first bytes of an HDF5 file."""

GROUP = "arrays"
"""Name of the group of arrays, which are numbered."""


def write_file(path: Path, description: Any, arrays: Sequence[np.ndarray]) -> None:
    """Write a description, which JSON can hold, and arrays.

    The file is netCDF, followed by its seal. Libraries that read netCDF ignore what follows it.

    Raises
    ------
    OSError
        As for `replace_file`.
    """
    # Python's JSON has words for infinite numbers, which may be labels.
    content = _netcdf({"bayesnb_format": FORMAT, "bayesnb": json.dumps(description)}, arrays)
    replace_file(path, [content, _seal(hashlib.sha256(content))])


def _netcdf(attributes: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> bytes:
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
            group = netcdf.create_group(GROUP)
            for i, value in enumerate(map(_storable, arrays)):
                axes = [f"v{i}_{axis}" for axis in range(value.ndim)]
                group.dimensions.update(dict(zip(axes, value.shape, strict=True)))
                group.create_variable(f"v{i}", axes, value.dtype, data=value)
        file.flush()
        image: bytes = file.id.get_file_image()
    return image


def _storable(value: np.ndarray) -> np.ndarray:
    array = np.asarray(value, order="C")
    return array.astype(np.int8) if array.dtype == bool else array


def read_file(path: Path) -> tuple[Any, list[np.ndarray]]:
    """The description and the arrays that `write_file` wrote.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file, or it is a folder.
    ValueError
        If the file is not one of `write_file`'s, is cut short or changed, or was written by another version.
    """
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder: give the path of a file")
    sealed, attributes, arrays = _read_content(path)
    if attributes.get("modeling_interface") == "bayesnb":
        raise ValueError(
            f"{str(path)!r} holds draws from to_datatree, not a posterior from save: read it with arviz.from_netcdf"
        )
    if "bayesnb_format" not in attributes or "bayesnb" not in attributes:
        raise ValueError(f"{str(path)!r} is netCDF, but not a posterior or fit of annotations that save wrote")
    written = int(attributes["bayesnb_format"])
    if written != FORMAT:
        raise ValueError(
            f"{str(path)!r} has format {written}, this version of bayesnb reads {FORMAT}: "
            + ("upgrade bayesnb" if written > FORMAT else "fit and save again")
        )
    if not sealed:
        raise ValueError(_changed(path))
    return json.loads(attributes["bayesnb"]), [arrays[f"v{i}"] for i in range(len(arrays))]


def _read_content(path: Path) -> tuple[bool, dict[str, Any], dict[str, np.ndarray]]:
    """Whether the file has a seal, its attributes, and its arrays by name.

    xarray would read it too, but leaves a filter of warnings behind.
    """
    import h5netcdf

    while True:
        with open(path, "rb") as file:
            sealed = _check_seal(file, path)
            try:
                with h5netcdf.File(path, "r") as opened:
                    attributes = dict(opened.attrs)
                    group = opened.groups.get(GROUP)
                    arrays = {} if group is None else {name: found[...] for name, found in group.variables.items()}
            except Exception as error:
                raise ValueError(_unreadable(path)) from error
            # Another process may have put a new file in the place of the one whose seal was compared.
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return sealed, attributes, arrays


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


def require_backend(verb: str) -> None:
    """Raise an error if the libraries that write netCDF are not installed."""
    try:
        import h5netcdf
        import h5py  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{verb} needs h5netcdf and h5py: pip install 'bayesnb[io]'") from error
    del h5netcdf
