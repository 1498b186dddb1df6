"""What the API reference shows of the package, and whether it shows everything."""

import functools
import importlib
import inspect
import types
from collections.abc import Iterator

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

import bayesnb

MEMBERS = (types.FunctionType, classmethod, staticmethod, property, functools.cached_property)


def public_names() -> Iterator[str]:
    """Dotted names of all that the package offers, those of its public modules too."""
    for name in bayesnb.__all__:
        thing = getattr(bayesnb, name)
        if inspect.ismodule(thing):
            yield from (f"bayesnb.{name}.{inner}" for inner in getattr(thing, "__all__", ()))
        else:
            yield f"bayesnb.{name}"


# Check and check would be one file where the file system does not tell them apart.
FILE_NAMES = {
    name: f"{name}-class" for name in public_names() if name != name.lower() and name.lower() in set(public_names())
}


def members_by_class() -> dict[str, tuple[list[str], list[str]]]:
    """`members_of` for every public class, by its dotted name."""
    things = {name: _find(name) for name in public_names()}
    return {name: members_of(name, thing) for name, thing in things.items() if inspect.isclass(thing)}


def members_of(dotted: str, cls: type) -> tuple[list[str], list[str]]:
    """The public members of a class, as ``Class.member``: those described on its page, and those described elsewhere.

    A docstring is shown once: on the page of the first public class that has it, of its own or from a class without a
    page. A method that overrides another and has no docstring is described with the other. Members from outside the
    package have their own reference.
    """
    module = dotted.rpartition(".")[0]
    public = {ancestor for ancestor in cls.__mro__ if f"{module}.{ancestor.__name__}" in public_names()}
    here, elsewhere = [], []
    for member in sorted(dir(cls)):
        home = _home(cls, member)
        if home is None or not home.__module__.startswith("bayesnb"):
            continue
        page = next(one for one in reversed(cls.__mro__) if one in public and _home(one, member) is home)
        (here if page is cls else elsewhere).append(f"{page.__name__}.{member}")
    return here, elsewhere


def warn_of_missing_names(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn, and so fail the build, when a public name has no place in the reference."""
    described = env.domains.python_domain.objects
    for name in public_names():
        if name not in described:
            logging.getLogger(__name__).warning("public name %s is missing from docs/api/index.rst", name)


def _home(cls: type, member: str) -> type | None:
    if member.startswith("_"):
        return None
    for ancestor in cls.__mro__:
        value = vars(ancestor).get(member)
        if isinstance(value, MEMBERS) and value.__doc__:
            return ancestor
    return None


def _find(dotted: str) -> object:
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)
