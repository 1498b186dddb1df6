"""The benchmarks write their tables between marks of a page whose text is written by hand, and count what they won."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
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


def test_lines_replace_those_between_two_marks(script, tmp_path):
    page = tmp_path / "real-data.md"
    page.write_text("text\n<!-- a -->\nold\nlines\n<!-- b -->\nmore\n<!-- c -->\nkept\n<!-- d -->\n")
    script("real_data").write("a", "b", ["new"], page)
    assert page.read_text() == "text\n<!-- a -->\nnew\n<!-- b -->\nmore\n<!-- c -->\nkept\n<!-- d -->\n"


@pytest.fixture
def weighted(script):
    """Scores of 100 rows. The log score alternates, so that the standard error is a tenth of its deviation."""
    benchmark = script("feature_weights")

    def scores(log_score, deviation=0.0):
        return np.column_stack([np.ones(100), log_score + deviation * np.tile([-1, 1], 50), np.zeros(100)])

    common = {benchmark.EACH: scores(-0.5), benchmark.LOGISTIC: scores(-0.6, 0.6), benchmark.BOOSTING: scores(-0.1)}
    naive_bayes = {"CategoricalNB": scores(-0.9), "CategoricalNB, sigmoid": scores(-0.6), "GaussianNB": scores(-np.inf)}
    return benchmark, {
        "one": common | naive_bayes | {benchmark.PLAIN: scores(-0.6, 0.4), benchmark.SHARED: scores(-0.5)},
        "two": common
        | {"CategoricalNB": scores(-0.4), benchmark.PLAIN: scores(-0.6, 0.6), benchmark.SHARED: scores(-0.4, 0.6)},
    }


def test_wins_are_counted_and_those_beyond_two_standard_errors_named(weighted):
    benchmark, tables = weighted
    verdicts = [line.split(": the higher log score on ") for line in benchmark.verdicts(tables)]
    counts = {opponent: (wins.split(". ")[0], wins.split("it is ")[1]) for opponent, wins in verdicts}
    assert counts == {
        "- Against the same without weights": ("2 of 2 tables", "higher on 1 (one) and lower on none."),
        "- Against one exponent": ("0 of 2 tables", "higher on none and lower on none."),
        "- Against scikit-learn's best naive Bayes, chosen after the test": (
            "1 of 2 tables",
            "higher on 1 (one) and lower on 1 (two).",
        ),
        "- Against logistic regression": ("2 of 2 tables", "higher on none and lower on none."),
        "- Against boosted trees": ("0 of 2 tables", "higher on none and lower on 2 (one, two)."),
    }


def test_differences_are_those_from_a_weight_each(weighted):
    benchmark, tables = weighted
    _, _, one, two = benchmark.side_by_side(tables, "log score")
    assert one == (
        "| one | -0.6000 (+0.1000 ± 0.0400) | -0.5000 (+0.0000 ± 0.0000) | -0.5000 "
        "| CategoricalNB, sigmoid: -0.6000 (+0.1000 ± 0.0000) | -0.6000 (+0.1000 ± 0.0600) "
        "| -0.1000 (-0.4000 ± 0.0000) |"
    )
    assert "CategoricalNB: -0.4000 (-0.1000" in two
    assert benchmark.of_calibrations(tables)[2] == "| one | CategoricalNB | -0.9000 |  | -0.6000 |  |"
