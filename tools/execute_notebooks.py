"""Run notebooks from top to bottom.

``python tools/execute_notebooks.py notebooks/01-quickstart.ipynb ...`` writes their outputs anew, all of
them where none is named.
"""

import os
import sys
import tempfile
from copy import deepcopy
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
QUIET = {"CI": "true", "PYTHONWARNINGS": "ignore:IProgress not found"}
"""No progress bars, and no advice on what would draw them."""

TIMEOUT = 600
"""Seconds that a cell may take."""


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def parameters(notebook: NotebookNode) -> NotebookNode:
    """The cell that sets sizes, tagged ``parameters`` as papermill has it."""
    tagged = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(tagged) != 1:
        raise ValueError(f"{len(tagged)} cells are tagged 'parameters': tag the one that sets sizes")
    return tagged[0]


def with_small_sizes(notebook: NotebookNode) -> NotebookNode:
    """The notebook with the sizes that its metadata hold under ``fast``."""
    notebook = deepcopy(notebook)
    small = "\n".join(f"{name} = {value!r}" for name, value in notebook.metadata["fast"].items())
    parameters(notebook).source += f"\n{small}"
    return notebook


def execute(notebook: NotebookNode) -> NotebookNode:
    """The notebook with new outputs, run in an empty folder and without progress bars."""
    notebook = deepcopy(notebook)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=TIMEOUT, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        client.execute(env=os.environ | QUIET)
    return without_traces(notebook)


def without_traces(notebook: NotebookNode) -> NotebookNode:
    """The notebook without what changes from run to run or from machine to machine."""
    notebook.metadata = NotebookNode(METADATA | {"fast": notebook.metadata["fast"]})
    for cell in notebook.cells:
        cell.metadata = NotebookNode({key: value for key, value in cell.metadata.items() if key == "tags"})
    return notebook


def main(names: list[str]) -> None:
    for path in [Path(name) for name in names] or NOTEBOOKS:
        nbformat.write(execute(read(path)), path)


if __name__ == "__main__":
    main(sys.argv[1:])
