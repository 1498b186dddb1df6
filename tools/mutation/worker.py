"""Runs chosen tests in a fresh process, as often as asked: ``python worker.py`` in a copy of the checkout.

The imports of the libraries take longer than most tests. They happen once; each run is a fork that then imports the
package anew. JAX starts its threads at the first computation, which is after the fork. A request is a line of JSON on
standard input: the seconds that each test usually takes, and whether to go on after a failure. The answer is a line of
JSON on standard output.
"""

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import arviz  # noqa: F401
import numpyro  # noqa: F401
import pandas  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import sklearn.pipeline  # noqa: F401

SLACK = 5.0
"""How many times its usual seconds a test may compute before it counts as hanging."""

GRACE = 60.0
"""Seconds of computing that are allowed in any case, for imports and for fixtures that another test usually makes."""

WAITING = 5.0
"""How many times as long as it may compute a test may take: other programs use the processors, too."""

NOTES = Path(".notes")
LOG = Path(".log")


class Watch:
    """Notes what fails, and ends the process if a test takes too long.

    A test's limit is in seconds of processor time, so that no test is too slow because the machine is busy.
    """

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self.failed: list[str] = []
        self.now = ""
        self.note()
        self.limit(0.0)

    def limit(self, seconds: float) -> None:
        allowed = GRACE + SLACK * seconds
        signal.setitimer(signal.ITIMER_PROF, allowed)
        signal.setitimer(signal.ITIMER_REAL, WAITING * allowed)

    def note(self) -> None:
        NOTES.write_text(json.dumps({"failed": self.failed, "now": self.now}))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.now = nodeid
        self.note()
        self.limit(self.seconds.get(nodeid, 0.0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)
            self.note()


def run(seconds: dict[str, float], go_on: bool) -> dict[str, object]:
    """Run tests until one fails, or all of them. Say how that ended, what failed and which test ran last."""
    parent, child = os.getppid(), os.fork()
    if child == 0:
        _run_here(seconds, go_on)
    status = None
    while status is None and os.getppid() == parent:
        time.sleep(0.02)
        ended, found = os.waitpid(child, os.WNOHANG)
        status = found if ended else None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what the tests left running
    if status is None:
        sys.exit("who asked for this run has ended")
    code = os.waitstatus_to_exitcode(status)
    return {"code": code, "hangs": code in {-signal.SIGPROF, -signal.SIGALRM}, **json.loads(NOTES.read_text())}


def _run_here(seconds: dict[str, float], go_on: bool) -> None:
    os.setsid()
    log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    code = 3
    try:
        watch = Watch(seconds)
        code = pytest.main(["-q", "-p", "no:cacheprovider", *([] if go_on else ["-x"]), *seconds], plugins=[watch])
    finally:
        os._exit(int(code))


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(*json.loads(line))), flush=True)
