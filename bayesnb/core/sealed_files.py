"""Files that are written whole or not at all, and end with the checksum of all bytes before it."""

import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path


def replace_file(path: Path, parts: Sequence[bytes | memoryview], what: str = "the posterior") -> None:
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
    what : str
        Name of the content in errors.

    Raises
    ------
    OSError
        If the folder does not exist or may not be written to, the disk is full, or the path names something other than
        a file. The error has the class of its cause, such as PermissionError, and names the path.
    """
    # Unlike those of pathlib, these functions raise no error for a name that is too long or may not be looked up.
    target = Path(os.path.realpath(path))
    if os.path.exists(target) and not os.path.isfile(target):
        raise OSError(f"{str(path)!r} is not a file that can be replaced: give the path of a file")
    if not os.path.isdir(target.parent):
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} to save into: make it first")
    temporary = target.with_name(f".bayesnb-{os.urandom(16).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            reason = error.strerror or error
            # Python chooses the error's class by its number.
            raise OSError(
                error.errno,
                f"{what} is not saved ({reason}), and what was at the path is unchanged: free space or permit "
                "writing in the folder, or save elsewhere",
                str(path),
            ) from error
        raise


SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""The first bytes of an HDF5 file."""


def sealed_image(path: Path) -> bytes:
    """The netCDF of a file that ends with its seal.

    The file is read once: another process may put a new one in its place. HDF5 takes apart only bytes that `save`
    wrote: it keeps text of any length in a heap without a checksum, and some damage to the heap makes it read forever.
    xarray would read the file too, but leaves a filter of warnings behind.

    Raises
    ------
    OSError
        If the file cannot be read: FileNotFoundError, IsADirectoryError and so on, by its cause.
    ValueError
        If the file is not one of `save`'s, or is cut short or changed.
    """
    try:
        mode = path.stat().st_mode
        content = path.read_bytes() if stat.S_ISREG(mode) else b""
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise FileNotFoundError(f"there is no file {str(path)!r}") from None
        raise OSError(error.errno, f"the file cannot be read ({error.strerror})", str(path)) from error
    if not stat.S_ISREG(mode):
        kind, what = (IsADirectoryError, "folder") if stat.S_ISDIR(mode) else (ValueError, "device or a pipe")
        raise kind(f"{str(path)!r} is a {what}: give the path of a file")
    # The superblock states HDF5's length (HDF5 File Format Specification, section II.A).
    place = 40 if content[8:9] < b"\x02" else 28
    end = int.from_bytes(content[place : place + 8], "little")
    if not content.startswith(SIGNATURE) or len(content) < end:
        raise ValueError(f"{str(path)!r} cannot be read as netCDF: it is cut short, or was not written by save")
    image, found = content[:end], content[end:]
    if not found and b"modeling_interface" in image:
        raise ValueError(
            f"{str(path)!r} holds draws from to_datatree, not a posterior from save: read it with arviz.from_netcdf"
        )
    if found != seal(image):
        why = "its checksum does not match" if found else "it has no checksum, or it is not a posterior that save wrote"
        raise ValueError(
            f"{str(path)!r} was changed after it was saved: {why}; take another copy of the file, or fit and save again"
        )
    return image


def seal(image: bytes) -> bytes:
    """The last bytes of a file with these bytes before it."""
    return b"\nbayesnb sha256 " + hashlib.sha256(image).hexdigest().encode() + b"\n"
