"""What the API reference shows of the package, and whether it shows everything."""

import functools
import importlib
import inspect
import pkgutil
import types
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

import bayesnb

SOURCE = "https://github.com/bayesnb/bayesnb/blob/main/"
BASES = tuple(
    getattr(bayesnb.families, name) for name in ("Family", "ConjugateFamily", "ExponentialFamily", "TableFamily")
)
FOR_USERS_OF_FAMILIES = {"get_params", "hyperparameters", "set_params", "settings"}
MEMBERS = (types.FunctionType, classmethod, staticmethod, property, functools.cached_property)


def public_names() -> Iterator[str]:
    """Dotted names of all that the package offers, those of its public modules too, each once."""
    for name in bayesnb.__all__:
        thing = getattr(bayesnb, name)
        if inspect.ismodule(thing):
            inner = [each for each in getattr(thing, "__all__", ()) if each not in bayesnb.__all__]
            yield from (f"bayesnb.{name}.{each}" for each in inner)
        else:
            yield f"bayesnb.{name}"


def members_by_class() -> dict[str, tuple[list[str], list[str]]]:
    """`members_of` for every public class, by its dotted name."""
    things = {name: find(name) for name in public_names()}
    return {name: members_of(name, thing) for name, thing in things.items() if inspect.isclass(thing)}


def members_of(dotted: str, cls: type) -> tuple[list[str], list[str]]:
    """The members that the page of a class lists, by dotted names: those described there, and those elsewhere.

    A family that comes with the package lists only what users need. The page of its base class describes the methods
    for people who write families.
    """
    members = homes(dotted, cls)
    if issubclass(cls, bayesnb.families.Family) and cls not in BASES:
        members = [member for member in members if member.rpartition(".")[2] in FOR_USERS_OF_FAMILIES]
    here = [member for member in members if member.rpartition(".")[0] == dotted]
    return here, [member for member in members if member not in here]


def homes(dotted: str, cls: type) -> list[str]:
    """The public members of a class, by dotted names, under the class whose page describes the member.

    A docstring is shown once: on the page of the first public class that has it, of its own or from a class without a
    page. A method that overrides another and has no docstring is described with the other. Members from outside the
    package have their own reference. What a family of the package adds for its own computations has no page.
    """
    public = {thing: name for name in public_names() if inspect.isclass(thing := find(name)) and issubclass(cls, thing)}
    found = []
    for member in sorted(dir(cls)):
        home = _home(cls, member)
        if home is None or not home.__module__.startswith("bayesnb"):
            continue
        page = next(one for one in reversed(cls.__mro__) if one in public and _home(one, member) is home)
        found.append(f"{public[page]}.{member}")
    return found


def warn_of_missing_names(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn, and so fail the build, when a public name has no place in the reference, no example or no See Also."""
    described = env.domains.python_domain.objects
    for name in public_names():
        if name not in described:
            logging.getLogger(__name__).warning("public name %s is missing from docs/api/", name)
    page = (Path(__file__).parent / "api" / "extend.rst").read_text("utf-8").split()
    for cls in BASES:
        for member in members_of(f"bayesnb.families.{cls.__name__}", cls)[0]:
            short = member.removeprefix("bayesnb.families.")
            if f"~{short}" not in page:
                logging.getLogger(__name__).warning("method %s is missing from docs/api/extend.rst", short)
    for name in public_names():
        for section in ("See Also", "Examples"):
            if f"{section}\n---" not in (inspect.getdoc(find(name)) or ""):
                logging.getLogger(__name__).warning("the docstring of %s has no section %s", name, section)


def source_of(domain: str, info: dict[str, str]) -> str | None:
    """The address of the lines that define a thing, for its link to the source."""
    if domain != "py" or not info["module"]:
        return None
    thing = importlib.import_module(info["module"])
    for name in info["fullname"].split("."):
        thing = inspect.getattr_static(thing, name) if inspect.isclass(thing) else getattr(thing, name)
    thing = getattr(thing, "fget", None) or getattr(thing, "func", None) or getattr(thing, "__func__", None) or thing
    thing = inspect.unwrap(thing)
    try:
        lines, start = inspect.getsourcelines(thing)
    except TypeError:  # an attribute
        return None
    path = Path(inspect.getsourcefile(thing)).relative_to(Path(bayesnb.__file__).parents[1])
    return f"{SOURCE}{path.as_posix()}#L{start}-L{start + len(lines) - 1}"


def _home(cls: type, member: str) -> type | None:
    if member.startswith("_"):
        return None
    for ancestor in cls.__mro__:
        value = vars(ancestor).get(member)
        if isinstance(value, MEMBERS) and value.__doc__:
            return ancestor
    return None


def find(dotted: str) -> object:
    """The thing that a dotted name names."""
    return pkgutil.resolve_name(dotted)
