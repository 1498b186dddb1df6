"""Killed saves and many saves at a time, which tests run in a process of their own; damage."""

import faulthandler
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayesnb as nb

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork processes")

LIMIT = 60
"""Seconds that one load may take, after which the process ends with an error; it takes milliseconds."""

ROWS = np.array([[1.0, 3.0], [2.0, 1.0], [4.0, 0.0], [3.0, 2.0]])


def posterior(number: int = 1) -> Any:
    """A small posterior; each number gives other predictions."""
    model = nb.NaiveBayes({0: nb.Gaussian(), 1: nb.Poisson(concentration=float(number), rate=1.0)})
    return nb.fit(model, ROWS, ["a", "b", "a", "b"])


def run(program: str, folder: Path, *numbers: int) -> str:
    """What a program of this file prints, in a process of its own."""
    arguments = [sys.executable, __file__, program, str(folder), *map(str, numbers)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def read(path: Path) -> bytes:
    """The predictions of the posterior in a file."""
    faulthandler.dump_traceback_later(LIMIT, exit=True, file=sys.__stderr__)
    try:
        return nb.load(path).log_joint(ROWS).tobytes()
    finally:
        faulthandler.cancel_dump_traceback_later()


def forked(work: Callable[[], None]) -> int:
    """The number of a new process that does some work and ends."""
    if number := os.fork():
        return number
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def killed(folder: Path, times: int) -> None:
    """Kill a process at its last step before the new file has the path; then kill one that saves again and again."""
    path, one, other = folder / "posterior.nc", posterior(1), posterior(2)
    one.save(path)
    known = {made.log_joint(ROWS).tobytes() for made in (one, other)}

    def written_and_killed() -> None:
        os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)
        other.save(path)

    _, status = os.waitpid(forked(written_and_killed), 0)
    assert status == signal.SIGKILL, status
    assert read(path) == one.log_joint(ROWS).tobytes()

    def forever() -> None:
        while True:
            for made in (one, other):
                made.save(path)

    for _ in range(times):
        process = forked(forever)
        time.sleep(random.uniform(0.05, 0.3))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        assert read(path) in known


def together(folder: Path, number: int, times: int) -> None:
    """Several processes save to one path, each its own posterior, while this one reads it."""
    path, made = folder / "posterior.nc", [posterior(k + 1) for k in range(number)]
    known = {one.log_joint(ROWS).tobytes() for one in made}
    assert len(known) == number
    made[0].save(path)

    def save_often(one: Any) -> None:
        for _ in range(times):
            one.save(path)

    processes = {forked(partial(save_often, one)) for one in made}
    while processes:
        assert read(path) in known
        process, status = os.waitpid(-1, os.WNOHANG)
        assert status == 0, status
        processes.discard(process)
    assert [entry.name for entry in folder.iterdir()] == ["posterior.nc"]


def damaged(folder: Path, step: int) -> dict[str, int]:
    """Each `step`-th window of 64 bytes of the file, zeroed and inverted: refused, unless no byte changes.

    Returns how many files were refused, and how many were read because the damage changed no byte.
    """
    path, other = folder / "posterior.nc", folder / "damaged.nc"
    whole, expected = path.read_bytes(), read(path)
    found = {"refused": 0, "unchanged": 0}
    for start in range(0, len(whole), 64 * step):
        window = whole[start : start + 64]
        for damage in (bytes(len(window)), bytes(255 - byte for byte in window)):
            other.write_bytes(whole[:start] + damage + whole[start + 64 :])
            try:
                same = read(other) == expected
            except ValueError as error:
                if "damaged.nc" not in str(error):
                    raise
                assert damage != window, f"byte {start}: refused without damage"
                found["refused"] += 1
            else:
                assert same, f"byte {start}: other predictions"
                assert damage == window, f"byte {start}: the damage is not noticed"
                found["unchanged"] += 1
    return found


if __name__ == "__main__":
    program, folder, *numbers = sys.argv[1:]
    {"killed": killed, "together": together}[program](Path(folder), *map(int, numbers))
