"""What is said is so: examples run, every public name is documented, the layers hold."""

import ast
import contextlib
import doctest
import importlib
import inspect
import pkgutil
import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

import bayesnb as nb

ROOT = Path(__file__).parents[2]
MODULES = sorted(module.name for module in pkgutil.walk_packages(nb.__path__, "bayesnb."))
LONG = {"bayesnb.checks.sbc", "bayesnb.inference.empirical", "bayesnb.inference.gibbs"}
"""Their examples compile or sample for more than a second."""
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in MODULES]
)
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert result.failed == 0


@pytest.mark.slow
def test_example_in_readme():
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=FLAGS)
    assert result.attempted > 8
    assert result.failed == 0


@pytest.mark.parametrize("name", sorted(nb.__all__))
def test_every_public_name_is_documented(name):
    thing = getattr(nb, name)
    assert inspect.getdoc(thing), name
    if inspect.isclass(thing):
        for member, value in inspect.getmembers(thing):
            if not member.startswith("_") and (inspect.isroutine(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{member}"
    if inspect.isfunction(thing):
        for parameter in inspect.signature(thing).parameters:
            assert parameter in inspect.getdoc(thing), f"{name}({parameter})"


CALLABLES = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (nb, nb.estimators)
    for name in sorted(module.__all__)
    if callable(getattr(module, name)) and getattr(module, name) is not nb.ConvergenceWarning
}
CALLABLES |= {
    f"{name}.{member}": value
    for name, thing in CALLABLES.items()
    if inspect.isclass(thing)
    for member, value in inspect.getmembers(thing, inspect.isroutine)
    if not member.startswith("_")
    and callable(value)
    and (getattr(value, "__module__", None) or "").startswith("bayesnb")
}


def documented_defaults(thing):
    """Defaults that the parameters' section of a docstring gives as Python literals, by name."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n\S[^\n]*\n-+\n|\Z)", inspect.getdoc(thing) or "", re.S | re.M)
    for names, default in re.findall(r"^(\w[\w, ]*) : .*, default (.+)$", section.group(1) if section else "", re.M):
        parts = default.split(" and ")
        for name, part in zip(
            names.split(", "), parts if len(parts) > 1 else parts * names.count(",") + parts, strict=True
        ):
            with contextlib.suppress(ValueError):  # an instance, such as Gaussian()
                yield name, ast.literal_eval(part)


def test_defaults_are_those_of_the_docstrings():
    """A parameter whose docstring refers to another one has the default that its name has there."""
    of_name, unsaid = defaultdict(list), []
    for where, thing in CALLABLES.items():
        parameters, documented = inspect.signature(thing).parameters, dict(documented_defaults(thing))
        for name, default in documented.items():
            assert parameters[name].default == default, f"{where}({name})"
            of_name[name].append(default)
        unsaid += [(where, name, one.default) for name, one in parameters.items() if name not in documented]
    assert sum(map(len, of_name.values())) > 200
    for where, name, default in unsaid:
        if isinstance(default, int | float) and name in of_name:
            assert default in of_name[name], f"{where}({name})"


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is(name):
    module = importlib.import_module(name)
    assert module.__doc__


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
    there = [f"{path.name}/" for path in (ROOT / "tests").iterdir() if any(path.glob("*.py"))]
    there += [path.name for path in (ROOT / "tests").glob("*.py")]
    assert sorted(listed) == sorted(there)
