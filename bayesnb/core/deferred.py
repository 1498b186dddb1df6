"""JAX, NumPyro, pandas, xarray and matplotlib, which take long to import, imported when they are first used.

A closed form needs none of them. Every module takes JAX and NumPyro from here. A module that uses them at its top is
`Deferred` too, or imported inside functions.
"""

import contextlib
import sys
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from functools import cache, partial, wraps
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeGuard, dataclass_transform

import numpy as np
import scipy.special

from bayesnb.core.checking import is_jax

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    import pandas as pd
    import xarray as xr
    from numpyro.distributions import constraints

    from bayesnb.core import picture


WITHOUT_JAX = ("pandas", "xarray", "bayesnb.core.picture")
"""Modules whose first use does not import JAX."""


class Deferred:
    """A module that is imported when one of its attributes is first used."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        module = _imported(self._path)
        if (scope := _waiting.get()) is not None and self._path not in WITHOUT_JAX:
            _waiting.set(None)
            _imported("jax")
            scope.enter_context(float64())
        return getattr(module, name)


if not TYPE_CHECKING:
    jax, jnp, numpyro, pd, xr = map(Deferred, ("jax", "jax.numpy", "numpyro", "pandas", "xarray"))
    dist, constraints = map(Deferred, ("numpyro.distributions", "numpyro.distributions.constraints"))
    picture = Deferred("bayesnb.core.picture")

_importing = RLock()


@cache
def _imported(path: str) -> Any:
    if path.startswith("bayesnb"):
        # Another thread may import it already, and wait for the lock below.
        return import_module(path)
    # Python's own locks do not hold where threads import different modules of one package.
    with _importing:
        if path.startswith("numpyro"):
            import_numpyro()
        elif path.startswith("jax"):
            import_module("jax.scipy.special")  # which ``import jax`` leaves out
        found = import_module(path)
    _tell_jax()
    return found


def import_numpyro() -> None:
    """Import NumPyro, whole, also where ArviZ was imported before.

    ArviZ puts NumPyro into ``sys.modules`` as a module that runs at its first use. A submodule imported before that use
    would be loaded twice and left without its parts, so NumPyro runs here, before its submodules and ArviZ.
    """
    with warnings.catch_warnings():
        # NumPyro imports tqdm. In a notebook without ipywidgets, tqdm falls back to text and warns. Users need not act
        # on the warning.
        warnings.filterwarnings("ignore", message="IProgress not found")
        package = import_module("numpyro")
        distributions = package.distributions
    # If numpyro.distributions was imported after ArviZ and before this package, it lacks its submodules as attributes.
    for path in [path for path in sys.modules if path.startswith("numpyro.distributions.")]:
        name = path.rpartition(".")[2]
        if path.count(".") == 2 and not hasattr(distributions, name):
            setattr(distributions, name, sys.modules[path])


# --------------------------------------------------------------------------------------------------
# JAX's arrays, precision and compiled functions, without JAX as long as nothing else needs it
# --------------------------------------------------------------------------------------------------


def is_distribution(x: Any) -> TypeGuard["dist.Distribution"]:
    """Whether a value is a distribution of NumPyro."""
    return isinstance(x, getattr(sys.modules.get("numpyro.distributions"), "Distribution", ()))


_waiting: ContextVar[ExitStack | None] = ContextVar("waiting", default=None)
"""The innermost context that will enable float64, on the CPU, once JAX is imported."""


_outside: ContextVar[tuple[Any, ...]] = ContextVar("_outside", default=())
"""JAX's default device before the outermost `on_cpu`; empty outside of it."""


def float64() -> AbstractContextManager[None]:
    """A context in which JAX computes in float64 and on the CPU. The user's global settings do not change."""
    return on_cpu(precise=True) if "jax" in sys.modules else _once_jax_is_imported()


@contextmanager
def _once_jax_is_imported() -> Iterator[None]:
    with ExitStack() as scope:
        token = _waiting.set(scope)
        try:
            yield
        finally:
            _waiting.reset(token)


@contextmanager
def on_cpu(precise: bool | None = None) -> Iterator[None]:
    """A context in which JAX computes on the CPU, where tables are, whatever its default device."""
    config = jax.config
    device = "cpu" if _has_cpu(config.jax_platforms) else config.jax_default_device
    token = _outside.set(_outside.get() or (config.jax_default_device,))
    try:
        with jax.enable_x64(config.jax_enable_x64 if precise is None else precise), jax.default_device(device):
            yield
    finally:
        _outside.reset(token)


@cache
def _has_cpu(platforms: str | None) -> bool:
    if not platforms or "cpu" in platforms.split(","):
        return True
    warnings.warn(
        f"JAX_PLATFORMS is {platforms!r}, so that JAX has no CPU: what runs there otherwise runs on JAX's default "
        f"device. JAX_PLATFORMS={platforms},cpu has both",
        RuntimeWarning,
        skip_file_prefixes=(str(Path(__file__).parents[1]), contextlib.__file__.removesuffix(".py")),
    )
    return False


@contextmanager
def on_default_device() -> Iterator[None]:
    """Inside `on_cpu`, a context in which JAX computes on the device that is its default outside."""
    (device,) = _outside.get() or (jax.config.jax_default_device,)
    with jax.default_device(device):
        yield


def settings_of_thread() -> Callable[[], AbstractContextManager[None]]:
    """JAX's precision and default device, to pass on to other threads: each thread has its own."""
    if "jax" not in sys.modules:
        return float64 if _waiting.get() is not None else nullcontext
    precise, device = bool(jax.config.jax_enable_x64), jax.config.jax_default_device

    @contextmanager
    def block() -> Iterator[None]:
        with jax.enable_x64(precise), jax.default_device(device):
            yield

    return block


def jit(function: Any = None, **settings: Any) -> Any:
    """`jax.jit`, applied at the first call."""
    if function is None:
        return partial(jit, **settings)
    return _made_at_first_call(function, lambda: jax.jit(function, **settings))


def with_derivative(derivative: Callable[..., Any], **settings: Any) -> Callable[[Any], Any]:
    """`jax.custom_jvp` and its ``defjvp``, applied at the first call."""

    def decorate(function: Any) -> Any:
        def make() -> Any:
            made = jax.custom_jvp(function, **settings)
            made.defjvp(derivative)
            return made

        return _made_at_first_call(function, make)

    return decorate


def _made_at_first_call(function: Any, make: Callable[[], Any]) -> Any:
    made = cache(make)
    call: Any = wraps(function)(lambda *args, **kwargs: made()(*args, **kwargs))
    call.made = made
    return call


# --------------------------------------------------------------------------------------------------
# Classes that are trees. JAX learns of them when it is imported, by the package or by the user.
# --------------------------------------------------------------------------------------------------

_names: dict[type, tuple[Sequence[str], Sequence[str]]] = {}
"""For each class, the fields that hold arrays and those that hold settings."""

_new: list[type] = []
"""Classes that JAX does not know yet."""

_telling = RLock()


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def pytree(kind: Any = None, *, first: Sequence[str] = ()) -> Any:
    """A frozen dataclass that `jax.tree_util.register_dataclass` gets as soon as JAX is imported.

    Parameters
    ----------
    first : sequence of str, optional
        Fields whose arrays come before those of the others.
    """
    if kind is None:
        return partial(pytree, first=first)
    kind = dataclass(frozen=True)(kind)
    meta_fields = [each.name for each in fields(kind) if each.metadata.get("static")]
    data_fields = [each.name for each in fields(kind) if each.name not in (*first, *meta_fields)]
    _names[kind] = [*first, *data_fields], meta_fields
    _new.append(kind)
    _tell_jax()
    return kind


def _tell_jax() -> None:
    if "jax" not in sys.modules:
        return
    register = import_module("jax.tree_util").register_dataclass
    with _telling:
        while _new:
            kind = _new.pop()
            register(kind, *_names[kind])


class _WhenJaxIsImported:
    """Registers the classes when JAX has been imported, so that the user's own tree functions know them."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        spec = PathFinder.find_spec(name, path, target) if name == "jax" else None
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_tell(module: Any) -> None:
                run(module)
                _tell_jax()

            spec.loader.exec_module = run_and_tell  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, _WhenJaxIsImported())

# --------------------------------------------------------------------------------------------------
# Functions of trees as in `jax.tree`
# --------------------------------------------------------------------------------------------------


def leaves(tree: Any) -> list[Any]:
    """The leaves of a tree, in JAX's order."""
    parts = _branches(tree)
    return [tree] if parts is None else [leaf for branch in parts[0] for leaf in leaves(branch)]


def structure(tree: Any) -> Any:
    """The structure of a tree: equal for trees that differ only in their leaves, hashable, None for a leaf."""
    parts = _branches(tree)
    return None if parts is None else (parts[1], *map(structure, parts[0]))


def map_tree(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply a function to each leaf, together with those of other trees of the same structure."""
    parts = _branches(tree)
    if parts is None:
        return function(tree, *others)
    branches, kind, make = parts
    theirs = [_branches(other) for other in others]
    if any(its is None or its[1] != kind for its in theirs):
        raise ValueError(f"{tree!r} and one of {others!r} are trees of different structures")
    return make([map_tree(function, *each) for each in zip(branches, *[its[0] for its in theirs if its], strict=True)])


def _branches(tree: Any) -> tuple[list[Any], Any, Callable[[list[Any]], Any]] | None:
    """Branches of a tree, its class with settings, and a function that rebuilds it; None for a leaf."""
    kind = type(tree)
    if kind in _names:
        data, settings = _names[kind]
        static = [(name, getattr(tree, name)) for name in settings]
        make = lambda found: kind(**dict(static), **dict(zip(data, found, strict=True)))  # noqa: E731
        return [getattr(tree, name) for name in data], (kind, *static), make
    if kind is dict:
        names = sorted(tree)
        return [tree[name] for name in names], (kind, *names), lambda found: dict(zip(names, found, strict=True))
    if isinstance(tree, tuple | list):
        return [*tree], (kind, len(tree)), kind._make if hasattr(kind, "_make") else kind
    if tree is None:
        return [], None, lambda found: None
    if isinstance(tree, np.ndarray | np.generic | float | int | str) or "jax" not in sys.modules:
        return None
    found, treedef = jax.tree.flatten(tree)
    return None if jax.tree_util.all_leaves([tree]) else (found, treedef, partial(jax.tree.unflatten, treedef))


# --------------------------------------------------------------------------------------------------
# Formulas that run on NumPy arrays and on JAX arrays.
#
# The closed forms are plain arithmetic and a few special functions, so that the same code runs on NumPy arrays
# (instant, float64, no compilation) and on JAX arrays (inside ``jit``, ``grad`` and ``vmap``).
# --------------------------------------------------------------------------------------------------


def namespace(*arrays: Any) -> tuple[ModuleType, ModuleType]:
    """Array library and special functions that fit the given values.

    A formula written with them runs on NumPy arrays, where nothing is compiled, and on JAX arrays, where samplers trace
    it.

    Parameters
    ----------
    *arrays
        Values of a formula.

    Returns
    -------
    tuple of module
        ``(jax.numpy, jax.scipy.special)`` if any value is a JAX array or tracer, else ``(numpy, scipy.special)``, whose
        functions take the columns of a lazy table, too.

    See Also
    --------
    log_rising : A difference of log-gamma functions.
    log_beta : Log of the Beta function.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> import bayesnb as nb
    >>> def log_partition(rate):
    ...     xp, special = nb.families.namespace(rate)
    ...     return xp.log(rate) + special.gammaln(rate)
    >>> type(log_partition(np.array([1.0, 2.0]))).__name__
    'ndarray'
    >>> type(log_partition(jnp.array([1.0, 2.0]))).__name__
    'ArrayImpl'
    """
    if any(is_jax(array) for array in arrays):
        return jnp, jax.scipy.special
    return np, scipy.special


def in_float64[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with JAX in float64 and on the CPU. The user's global settings do not change."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with float64():
            return function(*args, **kwargs)

    return wrapped


def to_numpy(tree: Any) -> Any:
    """Copy every JAX array of a tree into a NumPy array, whose precision does not depend on JAX's settings."""
    return map_tree(lambda leaf: np.asarray(leaf) if is_jax(leaf) else leaf, tree)


# --------------------------------------------------------------------------------------------------
# Formulas of families and of NumPyro's distributions, compiled as a whole where JAX can trace them
# --------------------------------------------------------------------------------------------------


@in_float64
def compiled(formula: Callable[..., Any], *arguments: Any, **settings: Hashable) -> Any:
    """The value of a formula, in float64 and on the CPU.

    NumPyro's densities are a dozen operations or more. JAX compiles each of them for every shape if they run one by
    one, which takes longer than to compile them together.

    Parameters
    ----------
    formula : callable
        A function of a module, so that the second call with arguments of the same shapes compiles nothing.
    *arguments
        Families and arrays.
    **settings
        Arguments that are not arrays, such as a shape. JAX compiles the formula for each of their values.

    Returns
    -------
    jax.Array
    """
    try:
        return _traced(formula, tuple(settings.items()), *arguments)
    except (TypeError, ValueError, AttributeError):
        # A family of the user's may need numbers, for NumPy's functions or a condition. A distribution of the user's
        # may have attributes that JAX does not pass on. Then the formula runs without compilation and raises its own
        # error.
        return formula(*arguments, **settings)


@jit(static_argnums=(0, 1))
def _traced(formula: Callable[..., Any], settings: tuple[tuple[str, Hashable], ...], *arguments: Any) -> Any:
    return formula(*arguments, **dict(settings))
