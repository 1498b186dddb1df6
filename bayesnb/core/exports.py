"""Names of a package whose modules are imported when the names are first used; needs the standard library alone."""

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def exports(
    package: str, names: Mapping[str, Iterable[str]], submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package (PEP 562).

    Parameters
    ----------
    package : str
        Its name.
    names : mapping from str to iterable of str
        Exported names by the module below `bayesnb` that has them.
    submodules : iterable of str, optional
        Names of submodules.
    """
    places = places_of(names)
    everything = sorted([*places, *submodules])

    def find(name: str) -> Any:
        if name not in everything:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(places[name]), name) if name in places else import_module(f"{package}.{name}")
        setattr(sys.modules[package], name, found)
        return found

    return find, everything.copy, everything


def places_of(names: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """The module of each name."""
    return {name: f"bayesnb.{module}" for module, inner in names.items() for name in inner}
