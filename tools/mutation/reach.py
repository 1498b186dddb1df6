"""Which tests reach a line, and how long each takes."""

import itertools
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path

import coverage
import pytest
from checkout import ROOT

__all__ = ["MAP", "SECONDS", "Tests", "note_tests"]

MAP = ROOT / ".mutants"
"""Where it is noted."""

LINES = MAP / "coverage"
SECONDS = MAP / "seconds.json"

FIRST = 20
"""Tests that run first: they notice most mutants, before other files are even collected."""

SIGNATURES = "tests/test_defaults.py"
"""Tests of default values, which run at import: the tests read the signatures and reach no line."""


def note_tests(names: Collection[str] = ()) -> None:
    """Run the fast tests and note which of them reach each line, and how long each takes.

    Parameters
    ----------
    names : collection of str, optional
        Only these, whose notes are added to the others.
    """
    MAP.mkdir(exist_ok=True)
    os.environ["COVERAGE_FILE"] = str(LINES)
    noted = json.loads(SECONDS.read_text()) if names else {"all": {}, "failed": []}
    chosen = ["--cov-append", *names] if names else ["-n", "2", str(ROOT / "tests")]
    clock = Clock()
    options = ["-q", "-m", "not slow", f"--rootdir={ROOT}", "--cov=bayesnb", "--cov-context=test", "--cov-report="]
    if pytest.main([*options, *chosen], plugins=[clock]) not in {0, 1}:
        sys.exit("pytest did not run to its end")
    noted = {"all": noted["all"] | clock.seconds, "failed": [*noted["failed"], *sorted(clock.failed)]}
    SECONDS.write_text(json.dumps(noted))


class Clock:
    """A plugin of pytest that notes the seconds of each test, and the tests that fail."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.add(report.nodeid)


class Tests:
    """The fast tests that pass, the seconds of each, and those that reach a line.

    Parameters
    ----------
    most_seconds : float
        Seconds of tests, as they took without a mutant, that one stage of a mutant's tests takes at most.
    """

    def __init__(self, most_seconds: float) -> None:
        self._most_seconds = most_seconds
        command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-m", "not slow"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
        names = {name for name in listed if "::" in name}
        new = names - set(json.loads(SECONDS.read_text())["all"])
        if new:
            note_tests(sorted(new))
        noted = json.loads(SECONDS.read_text())
        for name in noted["failed"]:
            print(f"fails without a mutant, and is left out: {name}", flush=True)
        self.seconds = {name: noted["all"][name] for name in names - set(noted["failed"])}
        data = coverage.CoverageData(str(LINES))
        data.read()
        files = {str(Path(path).relative_to(ROOT)): path for path in data.measured_files()}
        self._of_line = {name: data.contexts_by_lineno(path) for name, path in files.items()}

    def stages(self, path: str, line: int) -> Iterator[list[str]]:
        """Tests that may notice a change of a line: the quickest that reach it, the others, and two more sets.

        A fixture that several tests share, or a function that JAX compiles once, counts for the first test only.
        Therefore the rest of these tests' files follow, and the tests that reach another line of the changed file.
        """
        names = self.reach(path, line)
        files = {name.partition("::")[0] for name in names}
        around = {name for name in self.seconds if name.partition("::")[0] in files} - names
        beside = self._names(self._of_file(path)) - names - around
        quickest = self._quickest(names)
        yield from filter(None, [quickest[:FIRST], quickest[FIRST:], self._quickest(around), self._quickest(beside)])

    def reach(self, path: str, line: int) -> set[str]:
        """Tests that reach a line, or its file if the line runs at import only.

        A file that only runs at import is reached by all tests, one that never runs by none.
        """
        whole = self._of_file(path)
        contexts = set(self._of_line.get(path, {}).get(line, []))
        # A line that tests reach may also run at import, where a test module computes its parameters.
        if names := self._names(contexts):
            return names
        names = self._names(whole) or (set(self.seconds) if whole else set())
        return names | {name for name in self.seconds if name.startswith(SIGNATURES)} if names else names

    def _of_file(self, path: str) -> set[str]:
        """Contexts in which a line of the file runs."""
        return {context for contexts in self._of_line.get(path, {}).values() for context in contexts}

    def _names(self, contexts: set[str]) -> set[str]:
        return {context.partition("|")[0] for context in contexts} & set(self.seconds)

    def _quickest(self, names: set[str]) -> list[str]:
        ordered = sorted(names, key=lambda name: (self.seconds[name], name))
        totals = itertools.accumulate(self.seconds[name] for name in ordered)
        return [name for name, total in zip(ordered, totals, strict=True) if total <= self._most_seconds]
