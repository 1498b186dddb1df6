"""What the benchmark scripts share: the clock, a process for each case, the machine in words, the table in its page."""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def memory_beyond(work: Callable[[], Any]) -> float:
    """Bytes by which the work exceeds what the process held before, at the highest; NaN where Linux is not."""
    if not Path("/proc/self/clear_refs").exists():
        work()
        return float("nan")
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    work()
    return _status("VmHWM") - before


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def in_own_process(script: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Any:
    """What the script prints as JSON, run in a fresh process with these arguments and additions to the environment."""
    command, surroundings = [sys.executable, script, *arguments], {**os.environ, **(environment or {})}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=surroundings)
    return json.loads(done.stdout)


def add_against(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--against", type=_checkout, metavar="FOLDER", help="an earlier checkout, for a printed column")


def _checkout(text: str) -> Path:
    folder = Path(text).resolve()
    if not (folder / "bayesnb" / "__init__.py").exists():  # the child would take the installed package
        raise argparse.ArgumentTypeError(f"there is no bayesnb in {folder}")
    return folder


def of_earlier(checkout: Path | None, script: str, *arguments: str) -> Any:
    """The same with the package of the checkout in place of the installed one; None without one, or where it fails."""
    try:
        return checkout and in_own_process(script, *arguments, environment={"PYTHONPATH": str(checkout)})
    except subprocess.CalledProcessError:
        return None


def machine(*packages: str) -> str:
    """The processor, the system, and the versions of Python, of the packages and of bayesnb."""
    import bayesnb as nb
    from bayesnb.core.running import num_threads

    model = next(
        (line.split(":")[1].strip() for line in _cpu_lines() if line.startswith("model name")), platform.processor()
    )
    versions = [f"Python {platform.python_version()}", *(f"{package} {version(package)}" for package in packages)]
    versions.append(f"bayesnb {nb.__version__}")
    return f"{num_threads()} threads on {model}, {platform.system()}; {', '.join(versions)}."


def _cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def marks(title: str = "") -> tuple[str, str]:
    """The lines of the page between which a table of this title is."""
    what = f"{title} " if title else ""
    return f"<!-- written by make bench: {what}begin -->\n", f"<!-- written by make bench: {what}end -->\n"


def tell(title: str, heads: Sequence[str], lines: Iterable[Sequence[str]], about: str, *, writes: bool) -> None:
    """Print a table, each line as soon as it is measured, and what it is about; write both into the page if asked.

    A column whose head is in parentheses is for whoever changes the code: it is printed only.
    """
    table = []
    for cells in chain([heads, ["---"] * len(heads)], lines):
        print(f"| {' | '.join(cells)} |", flush=True)
        for_page = (cell for cell, head in zip(cells, heads, strict=True) if not head.startswith("("))
        table.append(f"| {' | '.join(for_page)} |")
    print(f"\n{about}")
    if writes:
        write(title, "\n".join(table) + f"\n\n{about}\n")


def write(title: str, text: str, page: Path = PAGE) -> None:
    """Put the text between the marks of this title, in place of what is there."""
    begin, end = marks(title)
    before, rest = page.read_text("utf-8").split(begin)
    _, after = rest.split(end)
    page.write_text(before + begin + text + end + after, "utf-8")
