"""Compiled functions kept on disk."""

import os
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

__all__ = ["enable_compilation_cache"]


def enable_compilation_cache(directory: Any = None) -> Path:
    """Keep what JAX compiles on disk, so that the next process reads it instead of compiling.

    The closed form compiles nothing, or next to nothing. NUTS and the maximisation of the evidence compile for seconds,
    once for each shape of the model in each process; with the cache, once for each shape on this computer. This is
    JAX's own cache, and it holds for every function that JAX compiles in this process from here on. Nothing turns it on
    but this call, and nothing deletes what it wrote but you.

    Parameters
    ----------
    directory : path, optional
        Where to keep it; made if it is not there. By default what JAX is already set to, else ``bayesnb`` in the
        user's folder for caches (``$XDG_CACHE_HOME``, or ``~/.cache``).

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    OSError
        If the folder cannot be made or written; JAX's settings are then as they were.
    """
    folder = Path(directory or jax.config.jax_compilation_cache_dir or _users_folder()).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError as error:
        raise type(error)(f"the folder {str(folder)!r} cannot be made ({error}): name another one") from None
    if not writable:
        raise PermissionError(f"the folder {str(folder)!r} cannot be written: name another one")
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # By default JAX keeps what took a second or more; many small functions take as long together.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    # JAX looks at the folder when it first compiles with one, which may have been another.
    compilation_cache.reset_cache()
    return folder


def _users_folder() -> Path:
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "bayesnb"
