"""Imports run in one direction, those inside functions included."""

import ast
import graphlib
import re
import textwrap
from functools import cache
from pathlib import Path

import pytest

import bayesnb

ROOT = Path(bayesnb.__file__).parent


def modules(root):
    """The source of every module below a package's folder, by dotted name."""
    found = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text()
    return found


@cache
def statements(source):
    """The import statements of a source, at its top or anywhere inside."""
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]


def imports(source, known):
    """Modules that a source imports."""
    found = set()
    for node in statements(source):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else node.module for name in inner}
    return found & known.keys()


def cycle(sources):
    """Modules that import each other in a circle; empty if there is none."""
    graph = {name: imports(source, sources) for name, source in sources.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_no_module_imports_itself_through_others():
    sources = modules(ROOT)
    assert len(sources) > 100
    assert cycle(sources) == []


def test_jax_and_numpyro_are_imported_in_one_module():
    found = {name for name, source in modules(ROOT).items() for node in ast.parse(source).body if _slow(node)}
    assert found == set(), "take them from bayesnb.core.deferred"


def _slow(node):
    """Whether a statement at the top of a module imports JAX or NumPyro."""
    names = [node.module] if isinstance(node, ast.ImportFrom) else [each.name for each in getattr(node, "names", ())]
    return any(name.partition(".")[0] in ("jax", "numpyro") for name in names)


def private_names(source):
    """Names with an underscore that a source imports from this package."""
    found = [node for node in statements(source) if isinstance(node, ast.ImportFrom)]
    found = [node for node in found if node.module.startswith("bayesnb")]
    return [alias.name for node in found for alias in node.names if alias.name.startswith("_")]


def test_no_module_imports_a_private_name():
    assert private_names("def f():\n    from bayesnb.one import _inner\n") == ["_inner"]
    assert {name: private_names(source) for name, source in modules(ROOT).items() if private_names(source)} == {}


def used_by_none(sources, others=()):
    """Functions and classes at the top of a module whose names have no underscore and occur in no other source."""
    words = {name: set(re.findall(r"\w+", source)) for name, source in (*sources.items(), *enumerate(others))}
    return [
        f"{module}.{node.name}"
        for module, source in sources.items()
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        if not any(node.name in found for name, found in words.items() if name != module)
    ]


def test_what_only_its_own_module_uses_has_an_underscore():
    two = {"one": "def inner():\n    pass\n\ndef given():\n    pass\n", "two": "from one import given\n"}
    assert used_by_none(two) == ["one.inner"]
    checkout = Path(__file__).parents[1]
    others = [
        path.read_text() for form in ("tests/**/*.py", "tools/**/*.py", "docs/**/*.md") for path in checkout.glob(form)
    ]
    assert used_by_none(modules(ROOT), others) == []


SHARED_NAMES = {"main": {"__main__", "cli"}}
"""Functions of one name in two modules. Give a new one a name of its own; the list may only become shorter."""


def test_a_name_means_one_thing():
    """Of classes, files and functions; a leading underscore makes no other name."""
    owners, files = {}, {}
    for module, source in modules(ROOT).items():
        short = module.removeprefix("bayesnb.")
        if (ROOT / short.replace(".", "/")).with_suffix(".py").is_file():
            files.setdefault(short.rpartition(".")[2], set()).add(short)
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name != "_":
                owners.setdefault(node.name.lstrip("_"), set()).add(short)
    assert {name: found for name, found in owners.items() if len(found) > 1} == SHARED_NAMES
    assert [name for name, found in files.items() if len(found) > 1] == []


@pytest.mark.parametrize("inside", [False, True])
def test_a_cycle_is_found_at_the_top_and_inside_a_function(inside):
    back = "import package.one\n"
    sources = {
        "package.one": "from package.two import function\n",
        "package.two": f"def function():\n{textwrap.indent(back, '    ')}" if inside else back,
    }
    assert set(cycle(sources)) == {"package.one", "package.two"}


def kinds_asked(source):
    """The kinds of posterior and belief that a source tests objects for, one for each `isinstance`."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and len(node.args) == 2)
    asked = [node.args[1] for node in calls if isinstance(node.func, ast.Name) and node.func.id == "isinstance"]
    names = [getattr(node, "attr", getattr(node, "id", "")) for kind in asked for node in ast.walk(kind)]
    return [name for name in names if name.endswith("Posterior") or name in BELIEFS]


BELIEFS = {"Belief", "OnePoint", "ClosedForm", "DrawnValues", "DrawnForms", "WithWeights"}


def test_functions_ask_what_a_posterior_offers_and_not_of_which_kind_it_is():
    """Whether an object is a posterior at all is another question."""
    found = [name for source in modules(ROOT).values() for name in kinds_asked(source)]
    assert set(found) == {"Posterior"}
    assert len(found) <= 7
    assert kinds_asked("isinstance(x, str | nb.results.ExactPosterior) or isinstance(x, (int, OnePoint))") == [
        "ExactPosterior",
        "OnePoint",
    ]
