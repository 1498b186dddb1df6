"""Warnings of the package: at the line of the user's code, and each once in a call."""

import warnings
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import wraps
from pathlib import Path

__all__ = ["warn", "warn_of", "warns_once"]

_issued: ContextVar[set[str] | None] = ContextVar("issued", default=None)
"""Messages that the running call of a function with `warns_once` has issued; None outside such a call."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the caller's line, outside this package."""
    issued = _issued.get()
    if issued is not None:
        if message in issued:
            return
        issued.add(message)
    warnings.warn(message, category, skip_file_prefixes=(str(Path(__file__).parent),))


def warn_of(remarks: Sequence[str]) -> None:
    """Issue the warnings."""
    for remark in remarks:
        warn(remark, UserWarning)


def warns_once[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Let a call of a function issue each of its warnings once, though it may read the same table several times.

    The warnings of functions that it calls count as its own.
    """

    # A context manager as a decorator would add a frame of contextlib, and Python would warn at a line of that file.
    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        if _issued.get() is not None:
            return function(*args, **kwargs)
        token = _issued.set(set())
        try:
            return function(*args, **kwargs)
        finally:
            _issued.reset(token)

    return wrapped
