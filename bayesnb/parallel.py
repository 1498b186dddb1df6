"""Chunks of a table in several threads: NumPy, BLAS and SciPy let go of Python's lock while they compute."""

import contextvars
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock

import jax
from threadpoolctl import ThreadpoolController

__all__ = ["in_order", "num_threads"]

WAITING = 4
"""Results of each thread that may wait for those before them: what bounds the memory."""


def num_threads() -> int:
    """Processors that this process may use, or ``OMP_NUM_THREADS`` where that says fewer."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return min(available, int(wanted)) if wanted.isdecimal() and int(wanted) > 0 else available


def in_order[T, R](
    function: Callable[[T], R], items: Sequence[T], *, stop: Callable[[], object] = lambda: None
) -> Iterator[R]:
    """Results of a function of each item, in the order of the items, whichever thread is done first.

    A single item is not worth a thread. The items' own order makes sums of the results the same with any number of
    threads, and the first item that fails is the one whose error is raised.

    Parameters
    ----------
    function : callable
    items : sequence
    stop : callable, optional
        Called where no more results are wanted, after an error or an interruption, before the threads are waited for:
        what makes a long `function` return.

    Yields
    ------
    object
    """
    if len(items) < 2:
        yield from map(function, items)
        return
    workers = min(num_threads(), len(items))
    in_float64, device = bool(jax.config.jax_enable_x64), jax.config.jax_default_device

    def run(item: T) -> R:
        # JAX keeps its precision and its default device by thread.
        with jax.enable_x64(in_float64), jax.default_device(device):
            return function(item)

    waiting: deque[Future[R]] = deque()
    with _one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                # NumPy keeps its error handling in the context.
                waiting.append(pool.submit(contextvars.copy_context().run, run, item))
                if len(waiting) > WAITING * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            stop()
            for future in waiting:
                future.cancel()


_limiting = Lock()


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """The threads of the chunks are enough; those of BLAS would wait for each other.

    The limit is the process's, so that only one caller at a time sets it and sets it back; those beside it let it be.
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
