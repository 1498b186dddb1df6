"""How many small mistakes do the tests notice? ``make mutants``, or ``python tests/mutation --help``.

First all fast tests run once under coverage.py, which notes the tests that reach each line. Then a seeded sample of
mutants is drawn, and each runs against the tests that reach its line, the quickest first, in a copy of the checkout.
A mutant that they do not notice runs against the whole files of these tests. Printed are the score of each folder and
the mutants that live. Those of ``excused.toml`` do not count, each for the reason given there.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

import coverage
from mutate import Mutant, mutants

ROOT = Path(__file__).parents[2]
MAP = ROOT / ".mutants"
"""Where the lines' tests are noted."""

MAX_SECONDS = 120.0
"""Seconds of tests, as they took without a mutant, that one mutant runs against."""

SLACK = 5.0
"""How many times as long the tests of a mutant may take before it counts as noticed."""


@dataclass(frozen=True)
class Job:
    """A mutant of a file, and whether it lives."""

    path: str
    mutant: Mutant
    outcome: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.mutant.line}  {self.mutant.before!r} -> {self.mutant.after!r}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--number", type=int, default=100, help="mutants to draw (default 100)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--paths", nargs="*", default=["bayesnb"], help="files and folders to take mutants of")
    parser.add_argument("--since", metavar="REVISION", help="only lines that changed since a revision of git")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep-map", action="store_true", help="use the lines' tests of the last run")
    options = parser.parse_args()
    if not (options.keep_map and (MAP / "coverage").exists()):
        note_tests()
    jobs = sample(options)
    print(f"{len(jobs)} mutants, seed {options.seed}", flush=True)
    report(run(jobs, Tests(), options.workers))


def note_tests() -> None:
    """Run the fast tests once and note which of them reach each line, and how long each takes."""
    MAP.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-n", "2", "--cov=bayesnb", "--cov-context=test"]
    command += ["--cov-report=", f"--junitxml={MAP / 'durations.xml'}"]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"COVERAGE_FILE": str(MAP / "coverage")}, check=True)


class Tests:
    """The tests that reach a line, and how long each takes."""

    def __init__(self) -> None:
        cases = ElementTree.parse(MAP / "durations.xml").iter("testcase")
        timed = {_node_id(case.attrib["classname"], case.attrib["name"]): float(case.attrib["time"]) for case in cases}
        # XML does not hold every name as it is.
        listed = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--collect-only"], cwd=ROOT, capture_output=True, text=True
        )
        self.seconds = {name: timed[name] for name in listed.stdout.splitlines() if name in timed}
        data = coverage.CoverageData(str(MAP / "coverage"))
        data.read()
        self._of_line: dict[str, dict[int, list[str]]] = {}
        for path in data.measured_files():
            self._of_line[str(Path(path).relative_to(ROOT))] = data.contexts_by_lineno(path)

    def of(self, path: str, line: int) -> list[str]:
        """Tests that reach a line, the quickest first; of a line that runs at import, those that reach the file."""
        by_line = self._of_line.get(path, {})
        contexts = by_line.get(line, [])
        if "" in contexts or not contexts:
            contexts = [context for line_contexts in by_line.values() for context in line_contexts]
        names = {context.partition("|")[0] for context in contexts} & set(self.seconds)
        return self.within(sorted(names, key=self.seconds.__getitem__))

    def of_files(self, names: list[str]) -> list[str]:
        """All tests of the files that hold these."""
        files = {name.partition("::")[0] for name in names}
        every = [name for name in self.seconds if name.partition("::")[0] in files]
        return self.within([name for name in every if name not in set(names)])

    def within(self, names: list[str]) -> list[str]:
        """As many of the first tests as take no longer than one mutant may."""
        total, kept = 0.0, []
        for name in names:
            total += self.seconds[name]
            if total > MAX_SECONDS:
                break
            kept.append(name)
        return kept


def _node_id(classname: str, name: str) -> str:
    parts = classname.split(".")
    file = next(i for i in range(len(parts), 0, -1) if (ROOT / Path(*parts[:i])).with_suffix(".py").is_file())
    return "::".join([f"{'/'.join(parts[:file])}.py", *parts[file:], name])


def sample(options: argparse.Namespace) -> list[Job]:
    """Mutants drawn at random from the files asked for."""
    files = [path for name in options.paths for path in _sources(ROOT / name)]
    jobs = []
    for path in files:
        name = str(path.relative_to(ROOT))
        changed = _changed_lines(name, options.since) if options.since else None
        jobs += [Job(name, m) for m in mutants(path.read_text()) if changed is None or m.line in changed]
    random.Random(options.seed).shuffle(jobs)
    return jobs[: options.number]


def _sources(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def _changed_lines(name: str, revision: str) -> set[int]:
    diff = subprocess.run(
        ["git", "diff", "--unified=0", revision, "--", name], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found: set[int] = set()
    for line in diff.stdout.splitlines():
        if line.startswith("@@"):
            start, _, number = line.split("+")[1].split(" ")[0].partition(",")
            found |= set(range(int(start), int(start) + int(number or 1)))
    return found


def run(jobs: list[Job], tests: Tests, workers: int) -> list[Job]:
    """Try every mutant, each worker in a copy of the checkout of its own."""
    copies: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory() as folder:
        for k in range(workers):
            copies.put(_copy(Path(folder) / str(k)))

        def attempt(job: Job) -> Job:
            copy = copies.get()
            try:
                done = Job(job.path, job.mutant, _outcome(job, tests, copy))
            finally:
                copies.put(copy)
            print(f"{done.outcome:8} {done}", flush=True)
            return done

        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(attempt, jobs))


def _copy(folder: Path) -> Path:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def _outcome(job: Job, tests: Tests, copy: Path) -> str:
    reached = tests.of(job.path, job.mutant.line)
    if not reached:
        return "no test"
    original = (copy / job.path).read_text()
    (copy / job.path).write_text(job.mutant.source)
    try:
        noticed = _fails(reached, tests, copy) or _fails(tests.of_files(reached), tests, copy)
        return "noticed" if noticed else "LIVES"
    finally:
        (copy / job.path).write_text(original)


def _fails(names: list[str], tests: Tests, copy: Path) -> bool:
    if not names:
        return False
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    data = ROOT.parent / "shared" / "data"
    if data.is_dir():
        environment.setdefault("BAYESNB_TEST_DATA", str(data))
    chosen = copy / ".chosen"
    chosen.write_text("\n".join(names))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"@{chosen}"]
    limit = 60 + SLACK * sum(map(tests.seconds.__getitem__, names))
    try:
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def report(jobs: list[Job]) -> None:
    """The score of each folder, the mutants that live, and those that are excused."""
    excuses = _excuses()
    lives = [job for job in jobs if job.outcome != "noticed"]
    excused = {job: excuses[key] for job in lives if (key := _key(job)) in excuses}
    total, noticed = Counter[str](), Counter[str]()
    for job in jobs:
        if job not in excused:
            folder = str(Path(job.path).parent)
            total[folder] += 1
            noticed[folder] += job.outcome == "noticed"
    print("\nnoticed  of  folder")
    for folder in sorted(total):
        print(f"{noticed[folder]:7} {total[folder]:4}  {folder}")
    whole, seen = sum(total.values()), sum(noticed.values())
    print(f"{seen:7} {whole:4}  in all, {seen / max(whole, 1):.1%}")
    by_reason = defaultdict(list)
    for job, reason in excused.items():
        by_reason[reason].append(job)
    for reason, some in by_reason.items():
        print(f"\nexcused: {reason}", *some, sep="\n  ")
    print("\nThese live:", *(job for job in lives if job not in excused), sep="\n  ")
    (MAP / "last.json").write_text(json.dumps([[job.outcome, *_key(job)] for job in jobs], indent=0))


def _excuses() -> dict[tuple[str, str, str], str]:
    """Reasons by file, line of source, and change."""
    with (Path(__file__).parent / "excused.toml").open("rb") as file:
        listed = tomllib.load(file).get("mutant", [])
    return {(one["path"], one["line"], one["change"]): one["reason"] for one in listed}


def _key(job: Job) -> tuple[str, str, str]:
    lines = (ROOT / job.path).read_text().splitlines()
    return job.path, lines[job.mutant.line - 1].strip(), f"{job.mutant.before} -> {job.mutant.after}"


if __name__ == "__main__":
    main()
