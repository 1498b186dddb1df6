"""The benchmarks write their tables between marks of a page whose text is written by hand."""

from importlib import import_module
from pathlib import Path

import pytest


@pytest.fixture
def report(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    return import_module("report")


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
