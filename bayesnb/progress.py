"""Progress bars, and whether to show them."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm.auto import tqdm

__all__ = ["shows_progress", "steps", "tqdm"]


def shows_progress(asked: bool | None) -> bool:
    """Whether to show a progress bar: as the user asks; by default on a terminal and in a notebook without CI set."""
    if asked is not None:
        return asked
    return "CI" not in os.environ and (sys.stderr.isatty() or "ipykernel" in sys.modules)


@contextmanager
def steps(what: str, number: int, asked: bool | None) -> Iterator[Callable[[str], None]]:
    """A progress bar of steps that take different times; gives a function that names the step that begins."""
    with tqdm(total=number, desc=what, unit="step", disable=not shows_progress(asked)) as bar:
        begun = 0

        def begin(step: str) -> None:
            nonlocal begun
            bar.update(begun)
            bar.set_description(f"{what}: {step}")
            begun = 1

        yield begin
        bar.set_description(what)
        bar.update(begun)
