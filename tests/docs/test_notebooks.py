"""The notebooks run, and what is committed of them is whole."""

import ast
import re
import warnings
from pathlib import Path

import pytest

with warnings.catch_warnings(action="ignore"):
    # What Jupyter's own parts deprecate in each other is not ours to mend.
    pytest.importorskip("ipykernel", reason="the notebooks need Jupyter: pip install 'bayesnb[notebooks]'")
    nbformat = pytest.importorskip("nbformat", reason="the notebooks need Jupyter: pip install 'bayesnb[notebooks]'")
    pytest.importorskip("nbclient", reason="the notebooks need Jupyter: pip install 'bayesnb[notebooks]'")
    from execute_notebooks import METADATA, NOTEBOOKS, execute, parameters, read, with_small_sizes

ROOT = Path(__file__).parents[2]
MACHINE = re.compile(
    re.escape(str(ROOT))
    + r"|/home/|/root/|/Users/|/tmp/|/var/|/opt/|[A-Z]:\\|site-packages|dist-packages|ipykernel_\d|0x[0-9a-f]{6,}"
)
"""What says on which machine, or in which process, a notebook ran."""

IMAGE_BYTES = 400_000
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook):
    return [output for cell in code_cells(notebook) for output in cell.outputs]


def pictures(notebook):
    return [output.data["image/png"] for output in outputs(notebook) if "image/png" in output.get("data", {})]


def texts(output):
    """Everything in an output that is no picture."""
    if output.output_type == "stream":
        return [output.text]
    return [str(value) for kind, value in output.get("data", {}).items() if not kind.startswith("image/")]


@pytest.mark.slow
@each_notebook
@pytest.mark.filterwarnings("default")
def test_runs_with_small_sizes(path):
    notebook = execute(with_small_sizes(read(path)))
    assert all(cell.execution_count for cell in code_cells(notebook))
    assert not [output for output in outputs(notebook) if output.output_type == "error"]
    assert pictures(notebook)


@each_notebook
def test_small_sizes_replace_those_of_the_parameters_cell(path):
    notebook = read(path)
    cell = parameters(notebook)
    names = {node.id for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Name)}
    assert set(notebook.metadata["fast"]) <= names
    assert code_cells(notebook).index(cell) <= 1, "sizes stand at the top, after the imports"


@each_notebook
def test_committed_outputs_are_whole(path):
    notebook = read(path)
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    found = outputs(notebook)
    assert found
    assert {output.output_type for output in found} <= {"stream", "execute_result", "display_data"}
    assert not [output.text for output in found if output.get("name") == "stderr"]
    assert not [text for output in found for text in texts(output) if re.search(r"\w*Warning\b|Traceback", text)]
    assert not [match for output in found for text in texts(output) if (match := MACHINE.search(text))]


@each_notebook
def test_pictures_are_shown_and_modest(path):
    shown = pictures(read(path))
    assert shown
    assert max(map(len, shown)) < IMAGE_BYTES


@each_notebook
def test_begins_with_a_question(path):
    first = read(path).cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    assert "?" in first.source


@each_notebook
def test_holds_nothing_volatile(path):
    notebook = read(path)
    assert {key: value for key, value in notebook.metadata.items() if key != "fast"} == METADATA
    assert {key for cell in notebook.cells for key in cell.metadata} <= {"tags"}


def test_they_are_in_the_source_distribution():
    builder = pytest.importorskip("hatchling.builders.sdist", reason="hatchling builds the source distribution")
    held = {Path(file.distribution_path) for file in builder.SdistBuilder(str(ROOT)).recurse_included_files()}
    assert NOTEBOOKS
    for folder in ("notebooks", "docs/notebooks"):
        assert {Path(folder, path.name) for path in NOTEBOOKS} <= held
