"""Compiled functions kept on disk."""

import os
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

__all__ = ["enable_compilation_cache"]


def enable_compilation_cache(directory: Any = None) -> Path:
    """Keep what JAX compiles on disk, so that the next process reads it instead of compiling.

    The closed form compiles little or nothing. NUTS and the maximisation of the evidence compile for seconds, once for
    each shape of the model in each process; with the cache, once for each shape on this computer. This is JAX's own
    cache. It then applies to every function that JAX compiles in this process. Only this call turns it on, and this
    package never deletes its files.

    Parameters
    ----------
    directory : path, optional
        Where to keep it; made if it is not there. By default JAX's current setting, else ``bayesnb`` in the user's
        folder for caches (``$XDG_CACHE_HOME``, or ``~/.cache``).

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    OSError
        If the folder cannot be made or written; JAX's settings are then as they were.

    See Also
    --------
    NUTS : Draws by the no-U-turn sampler.
    EmpiricalBayes : Hyperparameters that maximise the evidence.

    Examples
    --------
    >>> import bayesnb as nb
    >>> folder = nb.enable_compilation_cache()  # doctest: +SKIP
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
    # JAX reads the setting only when it first compiles with a cache, which may have been in another folder.
    compilation_cache.reset_cache()
    return folder


def _users_folder() -> Path:
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "bayesnb"
