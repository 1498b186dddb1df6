"""The benchmarks write their tables between marks of a page whose text is written by hand, and count what they won."""

import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "tools" / "benchmarks")
    return import_module


@pytest.fixture
def report(script):
    return script("report")


def test_each_table_replaces_what_stands_between_its_own_marks(report, tmp_path):
    page = tmp_path / "performance.md"
    page.write_text(report.PAGE.read_text("utf-8"), "utf-8")
    for text in ("old", "new"):
        report.write("", f"{text} fits\n", page)
        report.write("sampling", f"{text} draws\n", page)
    expected, inside = [], False
    for line in report.PAGE.read_text("utf-8").splitlines():
        inside = inside and not line.endswith("end -->")
        if not inside:
            expected.append(line)
        if line in ("<!-- written by make bench: begin -->", "<!-- written by make bench: sampling begin -->"):
            inside = True
            expected.append("new draws" if "sampling" in line else "new fits")
    assert page.read_text("utf-8").splitlines() == expected


def test_a_column_in_parentheses_is_printed_and_not_written(report, monkeypatch, capsys):
    written = []
    monkeypatch.setattr(report, "write", lambda title, text: written.append(text))
    report.tell("", ["work", "(before)"], [["fit", "2 s"]], "One run.", writes=True)
    assert "| fit | 2 s |" in capsys.readouterr().out
    assert written == ["| work |\n| --- |\n| fit |\n\nOne run.\n"]


def test_differences_have_the_standard_error_over_tables(script):
    benchmark = script("first_call")

    def rows(log_score: float) -> np.ndarray:
        return np.tile([log_score, 0.2, 0.75, 1.0], (8, 1))

    scores = {
        name: dict.fromkeys(benchmark.OTHERS, rows(-0.5)) | {benchmark.DEFAULT: rows(ours)}
        for name, ours in (("one", -0.4), ("two", -0.2))
    }
    seconds = {name: dict.fromkeys((benchmark.DEFAULT, *benchmark.OTHERS), 1.0) for name in scores}
    lines = dict(line.strip("| ").split(" | ", 1) for line in benchmark.report(scores, seconds)[2:])
    assert lines["one"].startswith("**-0.400** | -0.500")
    assert "+0.200 ± 0.100" in lines["bayesnb minus this"]
    assert "2 of 2" in lines["bayesnb higher on"]
    # Eight rows at .75 of which all are right.
    assert lines["calibration error"].startswith("0.250")


def test_later_rows_and_new_patients_are_on_one_side_only(script):
    readings = script("readings")
    y, rows = np.tile(["a", "b"], 10), np.arange(20)
    X = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=20).astype(str)[::-1], "who": np.repeat(range(10), 2)})
    ((before, after),) = readings.later_rows("day")(X, y, rows, 5)
    assert len(after) == 4
    assert X["day"][before].max() < X["day"][after].min()
    for known, new in readings.new_subjects(["who"])(X, y, rows, 5):
        assert {*X["who"][known]}.isdisjoint(X["who"][new])
        assert len(known) + len(new) == 20


def test_the_page_has_the_marks_between_which_tables_are_written(script):
    page = (Path(__file__).parents[1] / "docs" / "real-data.md").read_text("utf-8")
    marks = ["first call", "few rows", *(mark for mark, _ in script("readings").PARTS.values())]
    for mark in marks:
        assert [page.count(f"<!-- {name} -->\n") for name in (mark, f"{mark} end")] == [1, 1], mark


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_every_target_that_a_contributor_reads_of_has_commands():
    root = Path(__file__).parents[1]
    targets = re.findall(r"`make ([a-z-]+)`", (root / "docs" / "contributing.md").read_text("utf-8"))
    assert {"test", "bench", "real-data", "mutants"} <= set(targets)
    for target in targets:
        planned = subprocess.run(["make", "--dry-run", target], cwd=root, capture_output=True, text=True, check=True)
        assert ".venv/bin/" in planned.stdout, target
