"""What is said is so: examples run, every public name is documented, the layers hold."""

import doctest
import importlib
import inspect
import pkgutil
import re
import tomllib
from operator import attrgetter
from pathlib import Path

import pytest

import bayesnb as nb

ROOT = Path(__file__).parents[2]
MODULES = sorted(module.name for module in pkgutil.walk_packages(nb.__path__, "bayesnb."))
LONG = {
    "bayesnb.checks.sbc",
    "bayesnb.families.counts_and_waits",
    "bayesnb.inference.exact",
    "bayesnb.inference.gibbs",
    "bayesnb.inference.nuts",
    "bayesnb.checks.compare",
    "bayesnb.crowd.figures",
    "bayesnb.crowd.result",
    "bayesnb.posterior.kinds",
    "bayesnb.posterior.predictions",
}
"""Their examples compile or sample for more than a second."""
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in MODULES]
)
def test_examples_in_docstrings(name):
    # As a user's, the classes of examples are not those of the package, which files name without a module.
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS, extraglobs={"__name__": "__main__"})
    assert result.failed == 0


@pytest.mark.parametrize(
    "name",
    [
        *nb.__all__,
        *(f"results.{name}" for name in vars(nb.results) if not name.startswith("_")),
        *(f"families.{name}" for name in nb.families.__all__),
    ],
)
def test_every_public_name_is_documented(name):
    thing = attrgetter(name)(nb)
    assert inspect.getdoc(thing), name
    if inspect.isclass(thing):
        for member, value in inspect.getmembers(thing):
            if not member.startswith("_") and (inspect.isroutine(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{member}"
    if inspect.isfunction(thing):
        for parameter in inspect.signature(thing).parameters:
            assert parameter in inspect.getdoc(thing), f"{name}({parameter})"


@pytest.mark.parametrize("page", ["index", "extend"])
def test_names_of_the_reference_exist(page):
    """As the build of the site asks, which other tests do without."""
    text = (Path(__file__).parents[2] / "docs" / "api" / f"{page}.rst").read_text().replace("\n   extend\n", "\n")
    for part in text.split(".. currentmodule:: ")[1:]:
        module, *lines = part.splitlines()
        for name in re.findall(r"^ {3}~?(\w[\w.]*)$", "\n".join(lines), re.MULTILINE):
            attrgetter(name)(importlib.import_module(module))


def test_every_module_says_what_it_is():
    assert {*MODULES} >= LONG
    assert not [name for name in MODULES if not importlib.import_module(name).__doc__]


def test_design_lists_the_layers_of_the_import_contract():
    page = (ROOT / "docs" / "design.md").read_text("utf-8")
    section = page.partition("\n## The layers\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    contract = next(
        contract for contract in settings["contracts"] if contract["type"] == "layers" and "containers" not in contract
    )
    layers = [re.findall(r"bayesnb\.(\w+)", layer) for layer in contract["layers"]]
    assert [re.findall(r"`(\w+)`", row) for row in rows] == layers
    modules = {module.name for module in pkgutil.iter_modules(nb.__path__)}
    assert sorted(name for layer in layers for name in layer) == sorted(modules)


def test_contributing_lists_every_folder_and_file_of_tests():
    page = (ROOT / "docs" / "contributing.md").read_text("utf-8")
    section = page.partition("\n## How the tests are laid out\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    listed = [name for row in rows for name in re.findall(r"`tests/([^`]+)`", row)]
    there = [f"{path.name}/" for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"]
    there += [path.name for path in (ROOT / "tests").glob("*.py")]
    assert sorted(listed) == sorted(there)
