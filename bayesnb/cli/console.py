"""What the commands print: results on the standard output, warnings and errors on the standard error."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from bayesnb.printing import Printed, width

__all__ = ["errors_in_a_line", "framed", "refuse_overwriting", "say"]

FRAME = 4
"""Characters of a line that a frame takes."""


def say(text: Any, style: str = "") -> None:
    """Print a text as it is, whose brackets rich must not read as styles."""
    Console().print(Text(str(text), style=style), soft_wrap=True)


def framed(shown: str | Printed, title: str | None = None, style: str = "none") -> None:
    """Print a text, or an object that prints itself, in a frame."""
    text = shown if isinstance(shown, str) else format(shown, str(width() - FRAME))
    name = None if title is None else Text(title)
    Console().print(Panel(Text(text), title=name, style=style, expand=False))


def refuse_overwriting(out: Path | None, *inputs: str | Path) -> None:
    """Refuse to write to a file that is read.

    Raises
    ------
    ValueError
    """
    for path in map(Path, inputs):
        if out is not None and out.exists() and path.exists() and out.samefile(path):
            raise ValueError(f"--out {str(out)!r} is the input {str(path)!r}, which would be lost: give another file")


@contextmanager
def errors_in_a_line() -> Iterator[None]:
    """Print the package's warnings and an error of the input, each in a line, and exit with status 2 after an error.

    Warnings of libraries are for programmers, and are not shown.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except BrokenPipeError:  # the reader of the output has closed it
            raise
        except (ValueError, TypeError, OSError) as error:
            _tell(caught)
            _line("Error", error, "bold red")
            raise typer.Exit(2) from None
        _tell(caught)


def _tell(caught: list[warnings.WarningMessage]) -> None:
    messages = (str(warning.message) for warning in caught if issubclass(warning.category, UserWarning))
    for message in dict.fromkeys(messages):
        _line("Warning", message, "yellow")


def _line(kind: str, message: Any, style: str) -> None:
    text = Text.assemble((f"{kind}: ", style), " ".join(str(message).split()))
    Console(stderr=True).print(text, soft_wrap=True)
