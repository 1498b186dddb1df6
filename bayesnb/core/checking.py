"""Checks of arguments, texts of errors, warnings at the user's line, parameters under scikit-learn's names."""

import inspect
import os
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, replace
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeGuard

import numpy as np

if TYPE_CHECKING:
    import jax

# --------------------------------------------------------------------------------------------------
# Checks of numbers that a user gives, and parts of the texts of errors
# --------------------------------------------------------------------------------------------------


def a_type(value: Any) -> str:
    """The type of a value with its article, for an error.

    Examples
    --------
    >>> a_type([]), a_type(1), a_type(np.empty(0))
    ('a list', 'an int', 'an ndarray')
    """
    name = type(value).__name__
    vowel = name[0] in "aeioAEIO" or name.startswith(("nd", "Un"))
    return f"{'an' if vowel else 'a'} {name}"


@contextmanager
def naming_errors(where: str) -> Iterator[None]:
    """Put the name of some rows in front of the message of a TypeError or ValueError."""
    try:
        yield
    except (TypeError, ValueError) as error:
        # Subclasses (UnicodeDecodeError, say) are made from other arguments than a message.
        if type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(f"{where}: {error}") from error


def require_readable(name: str, value: Any) -> None:
    """Raise TypeError for arrays that NumPy cannot read: sparse ones of JAX, and those of other libraries on a GPU."""
    if is_jax(value):
        if not is_traced(value) and value.is_deleted():
            raise ValueError(
                f"{name} is an array of JAX whose memory was given away, by delete() or by donate_argnums of jax.jit: "
                "give an array that is still there"
            )
        return
    if type(value).__module__.startswith("jax.experimental.sparse"):
        raise TypeError(f"{name} is {a_type(value)}, a sparse array of JAX: make a dense one of it, with .todense()")
    device = getattr(getattr(value, "device", None), "type", "cpu")
    if hasattr(value, "__cuda_array_interface__") or (isinstance(device, str) and device != "cpu"):
        copied = ".get()" if hasattr(value, "get") else ".cpu()"
        raise TypeError(
            f"{name} is {a_type(value)} in the memory of a GPU: copy it to the CPU, with {copied}, or give JAX's array "
            "of it, jax.numpy.from_dlpack(...)"
        )


def whole_number(name: str, value: Any, *, or_zero: bool = False) -> int:
    """A number of rows, draws or chains.

    Raises
    ------
    ValueError
        If it is not a whole number, one or more; or zero, if that is allowed.
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < (0 if or_zero else 1):
        raise ValueError(f"{name} is {value!r}: give a whole number, {'zero' if or_zero else 'one'} or more")
    return int(value)


def proportion(name: str, value: Any, *, or_one: bool = False) -> float:
    """A probability, a share or an error rate, strictly between zero and one, or one itself.

    Raises
    ------
    ValueError
        If it is not.
    """
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not (number and (0 < value < 1 or (or_one and value == 1))):
        allowed = "above 0 and at most 1" if or_one else "between 0 and 1"
        raise ValueError(f"{name} is {value!r}: give a number {allowed}")
    return float(value)


def is_jax(x: Any) -> TypeGuard["jax.Array"]:
    """Whether a value is a JAX array; none is before JAX is imported."""
    return isinstance(x, getattr(sys.modules.get("jax"), "Array", ()))


def is_traced(x: Any) -> bool:
    """Whether a JAX array is a placeholder inside a transformation of JAX, without numbers."""
    return isinstance(x, sys.modules["jax"].core.Tracer)


def array_of_numbers(name: str, value: Any) -> np.ndarray:
    """An argument as an array of float64; TypeError if it holds something else."""
    require_readable(name, value)
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        told = a_type(value) if "\n" in repr(value) else repr(value)
        raise TypeError(f"{name} is {told}: give numbers") from None


def by_label(value: Any) -> Any:
    """A pandas Series as a mapping from its index, whatever its order; other values as they are."""
    is_series = getattr(value, "ndim", 0) == 1 and hasattr(value, "index") and hasattr(value, "to_dict")
    return value.to_dict() if is_series else value


def known_probabilities(value: Any) -> Any:
    """Class probabilities that a user gives, as an array or a mapping from label; they are not checked against classes.

    Raises
    ------
    TypeError, ValueError
        If they are no probabilities that sum to one.
    """
    value = by_label(value)
    if hasattr(value, "draws") and hasattr(value, "posterior"):
        raise TypeError(
            f"class_probs is {a_type(value)}: take its posterior attribute, which has these class probabilities "
            'already, or give its table["mean"]'
        )
    probs = array_of_numbers("class_probs", list(value.values()) if isinstance(value, Mapping) else value)
    if probs.ndim != 1 or not (np.isfinite(probs) & (probs >= 0)).all():
        raise ValueError(f"class_probs is {value!r}: give a probability, zero or more, for each class")
    if not np.isclose(probs.sum(), 1.0, rtol=0, atol=1e-8):
        raise ValueError(f"class_probs sum to {probs.sum():.10g}, not to one: divide them by their sum, in float64")
    return dict(value) if isinstance(value, Mapping) else probs


def in_order_of_classes(probs: Mapping[Any, Any], labels: Sequence[Any]) -> list[Any]:
    """Class probabilities of a mapping from label, in the order of the labels.

    Raises
    ------
    ValueError
        If it does not name exactly the labels.
    """
    if set(probs) != set(labels):
        raise ValueError(f"class_probs names {list(probs)}, the classes are {labels}")
    return [probs[label] for label in labels]


def of_labels(probs: Any, labels: Sequence[Any]) -> np.ndarray:
    """What `known_probabilities` gives, as an array (classes,) in the order of labels; ValueError if they differ."""
    if isinstance(probs, Mapping):
        return np.array(in_order_of_classes(probs, labels), dtype=np.float64)
    if len(probs) != len(labels):
        raise ValueError(f"class_probs has {len(probs)} entries, there are {len(labels)} classes {list(labels)}")
    return np.asarray(probs)


def require_no_new_class(before: np.ndarray, probs: np.ndarray, labels: Sequence[Any]) -> None:
    """Raise ValueError if a class without probability among the rows, whose odds are not known, is to have some."""
    if (lost := np.flatnonzero((before == 0.0) & (probs > 0.0))).size:
        raise ValueError(
            f"class {labels[lost[0]]!r} has probability zero in the rows from which the weights were learned, and "
            f"{probs[lost[0]]:.4g} in class_probs: its odds are not known; give it zero, or fit rows of it"
        )


def is_one_of(given: Any, known: Iterable[Any]) -> bool:
    """Whether a value is one of some; a frame and an array, which have no single answer to ``==``, are not."""
    return isinstance(given, Hashable) and given in dict.fromkeys(known)


def one_of(name: str, given: Any, known: Iterable[Any]) -> None:
    """Raise ValueError for an unknown option."""
    if not is_one_of(given, choices := list(known)):
        raise ValueError(f"{name} is {given!r}{near_matches(given, choices)}: give one of {choices}")


def as_path(path: Any, name: str = "path") -> Path:
    """The path of a file or a folder.

    Raises
    ------
    TypeError, ValueError
        If it is neither text nor a `Path`, or a text that names nothing.
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(text := os.fspath(path), str):
        raise TypeError(f"{name} is {a_type(path)}: give text, such as 'model.nc', or a Path")
    if not text or "\0" in text:
        raise ValueError(f"{name} is {text!r}, which names no file: give a path such as 'model.nc'")
    return Path(text)


def listed(values: Iterable[Any]) -> str:
    """Values for an error or a warning: the first five, and how many more there are.

    Examples
    --------
    >>> listed(range(5)), listed(range(7))
    ('0, 1, 2, 3, 4', '0, 1, 2, 3, 4 and 2 more')
    """
    return first_few(list(map(repr, values)))


def first_few(texts: Sequence[str], number: int = 5, between: str = ", ") -> str:
    """The first few texts, and how many more there are."""
    return between.join(texts[:number]) + (f" and {len(texts) - number} more" if len(texts) > number else "")


def near_matches(name: Any, names: Iterable[Any]) -> str:
    """A question for an error, " (did you mean 'island'?)", with the names closest to one that does not exist.

    Empty if no name is close.
    """
    from difflib import get_close_matches

    by_text = {str(each): each for each in names}
    found = [by_text[text] for text in get_close_matches(str(name), by_text, n=2, cutoff=0.7)]
    return f" (did you mean {' or '.join(map(repr, found))}?)" if found else ""


# --------------------------------------------------------------------------------------------------
# Names of arguments that belong to other libraries: the error says which name is meant
# --------------------------------------------------------------------------------------------------

SAME_ARGUMENT = (
    "alpha concentration concentration1 class_concentration shape|beta rate concentration0|loc mu mean|scale rate "
    "sigma sd std tau cov var variance var_smoothing|kappa lam|total_count n trials size|class_probs class_prior "
    "priors fit_prior prior|inference method algorithm|key random_state seed random_seed rng rng_key|num_warmup tune "
    "warmup burn_in n_warmup|df nu|k cv n_splits|num_samples num_draws num_replicates num_simulations draws samples "
    "n_samples n_draws|num_chains chains n_chains cores|target_accept_prob target_accept adapt_delta|max_tree_depth "
    "max_treedepth|max_iterations max_iter n_iter|num_starts n_init|tolerance tol|progress progressbar progress_bar "
    "verbose|prob hdi_prob ci_prob level|num_bins bins n_bins|sample_weight weights|feature_names columns features|X "
    "data|y target labels|samples trace idata|posterior model estimator"
)
"""Names of one argument, here and in other libraries; a line between those of different arguments."""


@cache
def _argument_names(called: Callable[..., Any]) -> list[str]:
    """Names of the arguments, ``**`` if any name may be given."""
    found = inspect.signature(called.__init__ if isinstance(called, type) else called).parameters  # type: ignore[misc]
    return ["**" if own.kind is own.VAR_KEYWORD else name for name, own in found.items() if name != "self"]


def _require_arguments(called: Callable[..., Any], given: Iterable[str]) -> None:
    """Raise TypeError for an argument that a class or function does not have, and say which one is meant."""
    from difflib import get_close_matches

    own = _argument_names(called)
    for name in () if "**" in own else {*given}.difference(own):
        meant = [each for same in SAME_ARGUMENT.split("|") if name in (names := same.split()) for each in names]
        found = [each for each in meant if each in own] or get_close_matches(name, own, 1)
        elsewhere = f"perhaps {meant[0]} of another call" if meant and meant[0] != name else "leave it out"
        hint = f"write {found[0]}" if found else elsewhere
        raise TypeError(f"{called.__name__}() got an unexpected keyword argument {name!r}: {hint}; it takes {own}")


def sort_categories(values: set) -> list:
    """The values, sorted; by type and text if they cannot be compared."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def naming_arguments(public: Any) -> Any:
    """Make a function suggest the argument that a wrong name means; anything else is returned as it is."""
    if not inspect.isfunction(public):
        return public

    @wraps(public)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        _require_arguments(public, kwargs)
        return public(*args, **kwargs)

    wrapped.__module__ = "bayesnb"  # where pickle finds it
    return wrapped


# --------------------------------------------------------------------------------------------------
# Warnings of the package: at the line of the user's code, and each once in a call
# --------------------------------------------------------------------------------------------------

_issued: ContextVar[set[str] | None] = ContextVar("issued", default=None)
"""Messages that the running call of a function with `warns_once` has issued; None outside such a call."""


_seen: set[tuple[str, int, str]] = set()
"""File, line and subject of the warnings that `warn` does not repeat."""


def warn(message: str, category: type[Warning], *, same: Any = None) -> None:
    """Warn at the caller's line, outside this package.

    Parameters
    ----------
    message : str
    category : type
    same : object, optional
        What the warning is about. Python shows a warning once for each line and text under its default filter, and
        forgets this whenever a library changes the filters, as scikit-learn does for each fold. A warning with the same
        subject at the same line is not issued again, whatever its text, unless a filter asks for it.
    """
    issued = _issued.get()
    if issued is not None:
        if message in issued:
            return
        issued.add(message)
    root = str(Path(__file__).parents[1])
    if same is not None and not any(issubclass(category, each[2]) for each in warnings.filters):
        frame: Any = inspect.currentframe()
        while frame.f_code.co_filename.startswith(root) and frame.f_back is not None:
            frame = frame.f_back
        place = (frame.f_code.co_filename, frame.f_lineno, repr(same))
        if place in _seen:
            return
        _seen.add(place)
    warnings.warn(message, category, skip_file_prefixes=(root,))


def warn_of(remarks: Sequence[str]) -> None:
    """Issue the warnings."""
    for remark in remarks:
        warn(remark, UserWarning)


def warns_once[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Let a call of a function issue each of its warnings once, though it may read the same table several times.

    The warnings of functions that it calls count as its own.
    """

    # A context manager as a decorator would add a frame of contextlib, and Python would warn at a line of that file.
    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        if _issued.get() is not None:
            return function(*args, **kwargs)
        token = _issued.set(set())
        try:
            return function(*args, **kwargs)
        finally:
            _issued.reset(token)

    return wrapped


# --------------------------------------------------------------------------------------------------
# Parameters of models, families and inferences under scikit-learn's names, such as ``island__concentration``
# --------------------------------------------------------------------------------------------------


class Params:
    """The parameters of a frozen dataclass by name: its fields, and the parameters of these as ``field__name``."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        _require_arguments(cls, kwargs)
        return super().__new__(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name.

        Parameters
        ----------
        deep : bool, default True
            Also the parameters of the parts, as ``part__name``.

        Returns
        -------
        dict
            A model has its features by name, its class prior and `feature_inclusion`. A model with one family for every
            column has the family's hyperparameters in place of features. A family and an inference have their fields.

        Examples
        --------
        >>> import bayesnb as nb
        >>> nb.NaiveBayes({"island": nb.Categorical(2.0)}).get_params()["island__concentration"]
        2.0
        """
        own = self._own_params()
        found: dict[str, Any] = {}
        for name, part in own.items():
            if deep and isinstance(part, Params):
                found |= {f"{name}__{inner}": value for inner, value in part.get_params().items()}
        return found | own

    def set_params(self, **params: Any) -> Self:
        """A copy with other values of some parameters; the object itself never changes.

        Parameters
        ----------
        **params
            Values by the names of `get_params`. A part that is replaced is replaced before its parameters change.

        Returns
        -------
        object of the same class

        Raises
        ------
        ValueError
            If there is no parameter of that name, or a value is not allowed.
        TypeError
            If a feature gets something other than a family.

        Examples
        --------
        >>> import bayesnb as nb
        >>> nb.NaiveBayes({"island": nb.Categorical()}).set_params(island__concentration=2.0)
        NaiveBayes, features independent given the class:
          class_prob ~ Dirichlet(1)
          y ~ Categorical(class_prob)
          island ~ Categorical(prob)
              prob ~ Dirichlet(2)
        """
        return with_params(self, params, "")

    def _own_params(self) -> dict[str, Any]:
        """Parameters without those of the parts."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.init}  # type: ignore[arg-type]

    def _with_own_params(self, changes: Mapping[str, Any], name: str) -> Self:
        """A copy with other values of parameters by the names of ``get_params(deep=False)``; errors call it `name`."""
        return replace(self, **changes)  # type: ignore[type-var]

    def __sklearn_clone__(self) -> Self:
        # scikit-learn copies an object with parameters by its constructor. A frozen object needs no copy.
        return self


def with_params(value: Any, changes: Mapping[str, Any], name: str) -> Any:
    """A copy of a value with some parameters changed.

    Parameters
    ----------
    value : Params or anything else
    changes : mapping
        By the names of `Params.get_params`.
    name : str
        Name of the value for errors; empty if it has none.

    Raises
    ------
    ValueError
        If there is no parameter of that name; or as the value's own class, if it does not take the change.
    TypeError
        If a feature gets something other than a family.
    """
    own = value.get_params(deep=False) if isinstance(value, Params) else {}
    direct = {key: change for key, change in changes.items() if key in own}
    nested: dict[str, dict[str, Any]] = defaultdict(dict)
    for key, change in changes.items():
        if key not in own:
            part, inner = _split_name(key, own, value, name)
            nested[part][inner] = change
    for part, inner_changes in nested.items():
        direct[part] = with_params(direct.get(part, own[part]), inner_changes, f"{name}__{part}".removeprefix("__"))
    return value._with_own_params(direct, name)  # noqa: SLF001 (of `Params`)


def _split_name(key: str, own: Mapping[str, Any], value: Any, name: str) -> tuple[str, str]:
    """The part that a name refers to, and the name inside the part. Names of columns may contain two underscores."""
    parts = [part for part in own if key.startswith(f"{part}__")]
    if parts:
        part = max(parts, key=len)
        return part, key.removeprefix(f"{part}__")
    remedy = getattr(value, "why_no_params", "")
    if not own and not remedy:
        remedy = f": give a model, a family or an inference as {name!r} to set its parameters"
    kind = a_type(value)
    what = f"{name}, {kind}" if name else kind
    raise ValueError(f"Invalid parameter {key!r} for {what}. Valid parameters are: {sorted(own)!r}{remedy}.")
