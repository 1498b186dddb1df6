"""How many small mistakes do the tests notice? ``make mutants``, or ``python tools/mutation --help``.

First all fast tests run once under coverage.py, which notes the tests that reach each line. Then a seeded sample of
mutants is drawn, and each runs against the tests that reach its line, the quickest first, in a copy of the checkout.
A mutant that they do not notice runs against the whole files of these tests, and against the tests that reach another
line of the mutant's file. At the end the tests that noticed a mutant
run once more without any: one that fails then, too, has noticed nothing. Printed are the score of each folder and the
mutants that live. Those of ``excused.toml`` do not count, each for the reason given there.

Every result is written to ``.mutants/results-<seed>.jsonl`` at once. With the same other options, ``--resume`` goes on
where a run ended, and ``--survivors`` tries again the mutants that lived, against new tests, too.
"""

import argparse
import contextlib
import json
import random
import re
import subprocess
import tempfile
import tomllib
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Queue
from typing import TextIO

from checkout import ROOT, Copy
from mutate import Mutant, mutants
from reach import MAP, SECONDS, Tests, note_tests

NOTICED = {
    "noticed": "a test fails",
    "breaks": "no test can be collected, or Python crashes",
    "hangs": "a test computes for far too long",
}
LIVES = {
    "LIVES": "the tests pass",
    "no test": "no test reaches the line",
    "unsure": "the test that fails does so without the mutant, too",
}


Key = tuple[str, str, str, int]
"""File, line of source, change, and its number among the same changes of the same lines."""


@dataclass(frozen=True)
class Job:
    """A mutant of a file, what became of it, and the test that noticed it."""

    path: str
    mutant: Mutant
    key: Key
    outcome: str = ""
    by: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.mutant.line}  {self.mutant.before!r} -> {self.mutant.after!r}"


class Excuses:
    """Reasons why no test has to notice a mutant: a change, any change of a line, any of the numbers of a line."""

    def __init__(self) -> None:
        with (Path(__file__).parent / "excused.toml").open("rb") as file:
            listed = tomllib.load(file)
        self._by_key: dict[Key, str] = {
            (one["path"], one["line"], one["change"], one.get("number", 1)): one["reason"] for one in listed["mutant"]
        }
        self._by_line = {(one["path"], one["line"]): one["reason"] for one in listed["line"]}
        self._of_numbers = {(one["path"], one["line"]): one["reason"] for one in listed["numbers"]}

    def of(self, key: Key) -> str | None:
        place, change = key[:2], key[2]
        is_number = re.fullmatch(r"[0-9][0-9._e-]*", change.partition(" -> ")[0])
        return self._by_key.get(key) or self._by_line.get(place) or (self._of_numbers.get(place) if is_number else None)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="make mutants", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--number", type=int, default=100, help="mutants to draw (default 100)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--paths", nargs="*", default=["bayesnb"], help="files and folders to take mutants of")
    parser.add_argument("--since", metavar="REVISION", help="only lines that changed since a revision of git")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=120.0, help="of tests, for each of a mutant's stages (120)")
    parser.add_argument("--keep-map", action="store_true", help="use the lines' tests of the last run")
    parser.add_argument("--resume", action="store_true", help="keep the map and the results of the last run")
    parser.add_argument("--survivors", action="store_true", help="like --resume, but try again what lived")
    options = parser.parse_args()
    again = options.resume or options.survivors
    if not ((again or options.keep_map) and SECONDS.exists()):
        note_tests()
    results = MAP / f"results-{options.seed}.jsonl"
    if not again:
        results.unlink(missing_ok=True)
    known = _read(results)
    jobs = [_with_result(job, known, options.survivors) for job in sample(options)]
    excuses = Excuses()
    todo = [job for job in jobs if not job.outcome and not excuses.of(job.key)]
    print(f"{len(jobs)} mutants, seed {options.seed}, {len(todo)} to try", flush=True)
    done = {job.key: job for job in run(todo, Tests(options.seconds), options.workers, results)} if todo else {}
    report([done.get(job.key, job) for job in jobs], excuses)


def sample(options: argparse.Namespace) -> list[Job]:
    """Mutants drawn at random from the files asked for."""
    files = [path for name in options.paths for path in _sources(ROOT / name)]
    jobs = []
    for path in files:
        name = str(path.relative_to(ROOT))
        source = path.read_text()
        lines = source.splitlines()
        changed = _changed_lines(name, options.since) if options.since else None
        times = Counter[tuple[str, str, str]]()
        for mutant in mutants(source):
            same = name, lines[mutant.line - 1].strip(), f"{mutant.before} -> {mutant.after}"
            times[same] += 1
            if changed is None or mutant.line in changed:
                jobs.append(Job(name, mutant, (*same, times[same])))
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


def _with_result(job: Job, known: dict[Key, tuple[str, str]], only_noticed: bool) -> Job:
    outcome, by = known.get(job.key, ("", ""))
    return job if only_noticed and outcome in LIVES else replace(job, outcome=outcome, by=by)


def _read(results: Path) -> dict[Key, tuple[str, str]]:
    """Outcome and test by key, the last of each; a line that was cut off is left out."""
    found = {}
    for line in results.read_text().splitlines() if results.exists() else []:
        with contextlib.suppress(json.JSONDecodeError):
            *key, outcome, by = json.loads(line)
            found[tuple(key)] = outcome, by
    return found


def run(jobs: list[Job], tests: Tests, workers: int, kept: Path) -> list[Job]:
    """Try every mutant, each worker in a copy of the checkout of its own."""
    free: Queue[Copy] = Queue()
    with tempfile.TemporaryDirectory() as folder, kept.open("a") as results:
        copies = [Copy(Path(folder) / str(k)) for k in range(workers)]
        for copy in copies:
            free.put(copy)

        def attempt(job: Job) -> Job:
            copy = free.get()
            try:
                job = _tried(job, tests, copy)
            finally:
                free.put(copy)
            _write(job, results)
            print(f"{job.outcome:8} {job}  {job.by}", flush=True)
            return job

        try:
            with ThreadPoolExecutor(workers) as pool:
                done = list(pool.map(attempt, jobs))
            doubted = _fail_without_mutant(done, tests, copies[0])
        finally:
            for copy in copies:
                copy.close()
        done = [replace(job, outcome="unsure") if job.by in doubted else job for job in done]
        for job in done:
            if job.outcome == "unsure":
                _write(job, results)
    return done


def _write(job: Job, results: TextIO) -> None:
    results.write(json.dumps([*job.key, job.outcome, job.by]) + "\n")
    results.flush()


def _tried(job: Job, tests: Tests, copy: Copy) -> Job:
    if not tests.reach(job.path, job.mutant.line):
        return replace(job, outcome="no test")
    with copy.changed(job.path, job.mutant.source):
        for names in tests.stages(job.path, job.mutant.line):
            ended = copy.run_tests({name: tests.seconds[name] for name in names})
            if ended.hangs:
                return replace(job, outcome="hangs", by=ended.now)
            if ended.failed:
                return replace(job, outcome="noticed", by=ended.failed[0])
            if ended.code != 0:
                return replace(job, outcome="breaks", by=ended.now)
    return replace(job, outcome="LIVES")


def _fail_without_mutant(jobs: list[Job], tests: Tests, copy: Copy) -> set[str]:
    """The tests that noticed a mutant and fail without one: by chance, or in a copy."""
    names = sorted({job.by for job in jobs if job.outcome == "noticed"})
    return set(copy.run_tests({name: tests.seconds[name] for name in names}, go_on=True).failed) if names else set()


def report(jobs: list[Job], excuses: Excuses) -> None:
    """The score of each folder, the mutants that live, and those that are excused."""
    reasons = ((job, excuses.of(job.key)) for job in jobs if job.outcome not in NOTICED)
    excused = {job: reason for job, reason in reasons if reason}
    print("\nnoticed  of  folder (without the excused)")
    counted = [job for job in jobs if job not in excused]
    for folder in sorted({_folder(job) for job in counted}):
        some = [job for job in counted if _folder(job) == folder]
        print(f"{_noticed(some):7} {len(some):4}  {folder}")
    print(f"{_noticed(counted):7} {len(counted):4}  in all, {_noticed(counted) / max(len(counted), 1):.1%}")
    print(f"{_noticed(jobs):7} {len(jobs):4}  with the excused, {_noticed(jobs) / max(len(jobs), 1):.1%}\n")
    outcomes = Counter(job.outcome for job in counted)
    print(f"{len(excused):7}  excused  no test has to notice it, and it is not tried")
    for outcome, meaning in (NOTICED | LIVES).items():
        print(f"{outcomes[outcome]:7}  {outcome:8} {meaning}")
    by_reason = defaultdict(list)
    for job, reason in excused.items():
        by_reason[reason].append(job)
    for reason, some in by_reason.items():
        print(f"\nexcused: {reason}", *some, sep="\n  ")
    print("\nThese live:", *(f"{job.outcome:8} {job}" for job in counted if job.outcome in LIVES), sep="\n  ")


def _folder(job: Job) -> str:
    return str(Path(job.path).parent)


def _noticed(jobs: list[Job]) -> int:
    return sum(job.outcome in NOTICED for job in jobs)


if __name__ == "__main__":
    main()
