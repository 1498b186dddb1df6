"""What is said is so: examples run, every public name is documented, the layers hold."""

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import bayesnb as nb

MODULES = sorted(module.name for module in pkgutil.walk_packages(nb.__path__, "bayesnb."))
LONG = {"bayesnb.inference.empirical", "bayesnb.inference.gibbs"}
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
    result = doctest.testfile(str(Path(__file__).parents[2] / "README.md"), module_relative=False, optionflags=FLAGS)
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


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is(name):
    module = importlib.import_module(name)
    assert module.__doc__
