"""Apply a function to the chunks of a table in several threads.

NumPy, BLAS and SciPy release Python's lock while they compute.
"""

import contextvars
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import jax
from threadpoolctl import ThreadpoolController

__all__ = ["added", "in_order", "num_threads", "one_blas_thread"]

WAITING = 4
"""Largest number of results per thread that wait for earlier ones; it bounds the memory."""


def num_threads() -> int:
    """Processors that this process may use, or ``OMP_NUM_THREADS`` if that is smaller."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return min(available, int(wanted)) if wanted.isdecimal() and int(wanted) > 0 else available


def in_order[T, R](
    function: Callable[[T], R], items: Sequence[T], *, stop: Callable[[], object] = lambda: None
) -> Iterator[R]:
    """Apply a function to items in several threads, and yield the results in the order of the items.

    A single item is computed in the caller's thread. The fixed order makes a sum of the results independent of the
    number of threads. If several items fail, the error of the first one is raised.

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
    if len(items) < 2:
        yield from map(function, items)
        return
    workers = min(num_threads(), len(items))
    in_float64, device = bool(jax.config.jax_enable_x64), jax.config.jax_default_device

    def run(item: T) -> R:
        # JAX's precision and default device are settings of a thread.
        with jax.enable_x64(in_float64), jax.default_device(device):
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
    """Sums of what two pieces give, part by part."""
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
