"""Write a file whole or not at all."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

__all__ = ["replace_file"]


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
