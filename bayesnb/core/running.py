"""How calls run: threads, compiled functions on disk, progress bars, random keys."""

import contextvars
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from operator import length_hint
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import ThreadpoolController

from bayesnb.core.checking import as_path, is_jax
from bayesnb.core.deferred import jax, on_cpu, settings_of_thread

if TYPE_CHECKING:
    from tqdm import std

# --------------------------------------------------------------------------------------------------
# Apply a function to the chunks of a table in several threads.
#
# NumPy, BLAS and SciPy release Python's lock while they compute.
# --------------------------------------------------------------------------------------------------

WAITING = 4
"""Largest number of results per thread that wait for earlier ones; it bounds the memory."""


_all_busy = contextvars.ContextVar("_all_busy", default=False)


def num_threads() -> int:
    """Processors that this process may use, or ``OMP_NUM_THREADS`` if that is smaller."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return min(available, int(wanted)) if wanted.isdecimal() and int(wanted) > 0 else available


def results_in_order[T, R](
    function: Callable[[T], R], items: Iterable[T], *, stop: Callable[[], object] = lambda: None
) -> Iterator[R]:
    """Apply a function to items in several threads, and yield the results in the order of the items.

    A single item is computed in the caller's thread. So are all items of a nested call, because the outer one has all
    threads. The fixed order makes a sum of the results independent of the number of threads. If several items fail, the
    error of the first one is raised.

    Parameters
    ----------
    function : callable
    items : sequence
    stop : callable, optional
        Called when no more results are needed, also after an error or an interruption, and before the threads are
        joined. It should make a long `function` return early.

    Yields
    ------
    object
    """
    number = length_hint(items, num_threads())
    if number < 2 or _all_busy.get():
        yield from map(function, items)
        return
    workers = min(num_threads(), number)
    as_here = settings_of_thread()

    def run(item: T) -> R:
        _all_busy.set(workers == num_threads())
        with as_here():
            return function(item)

    waiting: deque[Future[R]] = deque()
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                # NumPy's error handling is a setting of the context.
                waiting.append(pool.submit(contextvars.copy_context().run, run, item))
                if len(waiting) > WAITING * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            stop()
            for future in waiting:
                future.cancel()


def added(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    """Add two results part by part."""
    return tuple(a + b for a, b in zip(one, other, strict=True))


_limiting = Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, where pieces of the work have threads already or products are small.

    The limit applies to the whole process. Therefore one caller at a time sets and resets it, and callers that run at
    the same time leave it unchanged.
    """
    if not _limiting.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1, user_api="blas"):
            yield
    finally:
        _limiting.release()


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


# --------------------------------------------------------------------------------------------------
# Compiled functions kept on disk
# --------------------------------------------------------------------------------------------------


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
    of_user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bayesnb"
    default = Path(jax.config.jax_compilation_cache_dir or of_user)
    folder = (default if directory is None else as_path(directory, "directory")).expanduser().absolute()
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
    import_module("jax.experimental.compilation_cache.compilation_cache").reset_cache()
    return folder


# --------------------------------------------------------------------------------------------------
# Progress: bars on a terminal and in a notebook, lines of text elsewhere
# --------------------------------------------------------------------------------------------------

FIRST_LINE, NEXT_LINE = 2.0, 10.0
"""Seconds before the first line of text, and between further lines."""


LONG = 10**7
"""Least number of values whose computation may take seconds."""

LATER = 1.0
"""Seconds before the bar of such work."""


@cache
def _text_bar() -> "type[std.tqdm]":
    """Progress as lines of text, for an output that is no terminal. tqdm takes long to import."""
    from tqdm import std

    class Lines(std.tqdm):
        def __init__(self, *args: Any, **options: Any) -> None:
            self._due = time.monotonic() + FIRST_LINE
            super().__init__(*args, **options)

        def display(self, msg: str | None = None, pos: int | None = None) -> None:
            if msg is not None or time.monotonic() < self._due:
                return
            self._due = time.monotonic() + NEXT_LINE
            done, elapsed = self.n, self.format_dict["elapsed"]
            line = f"{self.desc.removesuffix(': ')}: {done:,}{f' of {self.total:,}' if self.total else ''} {self.unit}s"
            line += f", {self.format_interval(elapsed)} so far"
            if done and self.total:
                line += f", about {self.format_interval(elapsed / done * (self.total - done))} left"
            self.fp.write(f"{line}\n")
            self.fp.flush()

    return Lines


def progress_bar(
    what: str, unit: str, asked: bool | None, *, items: Any = None, total: int | None = None, **options: Any
) -> "std.tqdm":
    """A progress bar; lines of text where the output is neither a terminal nor a notebook.

    Parameters
    ----------
    what : str
        Text before the bar.
    unit : str
        What is counted.
    asked : bool or None
        Whether the user wants to see the progress. None shows it unless the environment variable ``CI`` is set, True
        as a bar in any case.
    items : iterable, optional
        What the bar iterates over.
    total : int, optional
        Number of units; by default the length of the items.
    **options
        Further arguments of tqdm.
    """
    if asked is None:
        asked = "CI" not in os.environ
        if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
            return _text_bar()(
                items, desc=what, unit=unit, total=total, disable=not asked, **(options | {"leave": False})
            )
    from tqdm.auto import tqdm

    return tqdm(items, desc=what, unit=unit, total=total, disable=not asked, **options)


@contextmanager
def progress_if_long(what: str, unit: str, total: int, size: int) -> Iterator[Callable[[int], object]]:
    """The progress of work on so many values; gives a function that counts units that are done.

    The bar appears after `LATER` seconds and vanishes at the end. Work on fewer than `LONG` values has none.
    """
    if size < LONG:
        yield lambda _: None
        return
    with progress_bar(what, unit, None, total=total, unit_scale=True, delay=LATER, leave=False) as bar:
        yield bar.update


@contextmanager
def steps(what: str, number: int, asked: bool | None) -> Iterator[Callable[[str], None]]:
    """The progress of steps that take different times; gives a function that names the step that begins."""
    with progress_bar(what, "step", asked, total=number) as bar:
        begun = 0

        def begin(step: str) -> None:
            nonlocal begun
            bar.update(begun)
            bar.set_description(f"{what}: {step}")
            begun = 1

        yield begin
        bar.set_description(what)
        bar.update(begun)


# --------------------------------------------------------------------------------------------------
# Random keys for JAX and random generators for NumPy, both from one seed
# --------------------------------------------------------------------------------------------------

FEWEST = 16
"""Smallest number of keys that are split at a time."""


@on_cpu()
def as_key(key: Any) -> "jax.Array":
    """A JAX key from an int seed or a JAX key.

    Raises
    ------
    TypeError
        If it is neither.
    ValueError
        If it is an int of more than 64 bits.
    """
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        if not -(2**63) <= key < 2**63:
            raise ValueError(f"key is {key}: give an int seed of 64 bits, from -2**63 to 2**63 - 1")
        return jax.random.key(int(key))
    if is_jax(key):
        return key if jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key) else jax.random.wrap_key_data(key)
    raise TypeError(f"key is {key!r}: give an int seed or a JAX key")


@on_cpu()
def split(key: "jax.Array", number: int) -> "list[jax.Array]":
    """The keys of `jax.random.split`.

    JAX compiles a program for each number of keys. A power of two of them is made, because the first keys do not depend
    on their number. NumPy unpacks them: JAX would compile a program with an output for each key.
    """
    enough = max(FEWEST, 2 ** (number - 1).bit_length())
    numbers = np.asarray(jax.random.key_data(jax.random.split(key, enough)))
    return [jax.random.wrap_key_data(own, impl=jax.random.key_impl(key)) for own in numbers[:number]]


@on_cpu()
def key_of_stream(key: "jax.Array", number: int) -> "jax.Array":
    """The key of `jax.random.fold_in`."""
    return jax.random.fold_in(key, number)


def random_generator(key: Any) -> np.random.Generator:
    """NumPy's generator seeded by an int or a JAX key."""
    if isinstance(key, int) and not isinstance(key, bool) and 0 <= key < 2**32:
        return np.random.default_rng([0, key])  # the data of JAX's key
    return np.random.default_rng(np.asarray(jax.random.key_data(as_key(key))).ravel().tolist())
