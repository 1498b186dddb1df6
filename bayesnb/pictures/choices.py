"""Checks of what the caller of a figure gives: a result, classes, features, order, axes and size."""

from collections.abc import Callable, Iterable, Sequence
from inspect import signature
from typing import Any

from bayesnb.printing import counted
from bayesnb.tables.columns import listed, near_matches
from bayesnb.validate import a_type

__all__ = ["chosen", "given_axes", "require_known", "require_result", "size_in_inches", "yes_or_no"]


def require_result(given: Any, kind: type, name: str, call: str) -> None:
    """Refuse what lacks the attributes of a result that a figure draws.

    Parameters
    ----------
    given : object
    kind : type
        A protocol that can be checked at run time.
    name : str
        What errors call it.
    call : str
        The call that returns such a result.

    Raises
    ------
    TypeError
    """
    if not isinstance(given, kind):
        raise TypeError(f"{name} is {a_type(given)}: give what {call} returns")


def chosen(name: str, given: Any, known: Sequence[Any], *, most: int | None = None) -> list[int]:
    """Positions of the classes or features that a figure shows, in the order given.

    Parameters
    ----------
    name : str
        The argument: "classes" or "features".
    given : sequence or label
    known : sequence
        What there is to choose from.
    most : int, optional
        The largest number that can be shown.

    Raises
    ------
    ValueError
        If there is none, one is unknown or named twice, or there are too many.
    """
    labels = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    known = list(known)
    unknown = [label for label in labels if label not in known]
    if unknown or not labels:
        near = near_matches(unknown[0], known) if unknown else ""
        raise ValueError(f"{name} is {labels}: name one or more of [{listed(known)}]{near}")
    positions = [known.index(label) for label in labels]
    if len(set(positions)) < len(positions):
        twice = next(label for k, label in enumerate(labels) if known.index(label) in positions[:k])
        raise ValueError(f"{name} names {twice!r} twice: name each once")
    if most is not None and len(positions) > most:
        raise ValueError(f"{name} has {len(positions)} entries, more than the eye tells apart: name up to {most}")
    return positions


def require_known(options: Iterable[str], *functions: Callable[..., Any]) -> None:
    """Refuse arguments that no function has; the first one is the figure, the others get what it passes on.

    Raises
    ------
    TypeError
    """
    every = [signature(function).parameters.values() for function in functions]
    known = [one.name for some in every for one in some if one.kind is not one.VAR_KEYWORD]
    wrong = next((option for option in options if option not in known), None)
    if wrong is not None:
        raise TypeError(
            f"{functions[0].__name__} has no argument {wrong!r}{near_matches(wrong, known)}: it has "
            f"{', '.join(dict.fromkeys(known))}"
        )


def yes_or_no(name: str, given: Any) -> bool:
    """True or False.

    Raises
    ------
    ValueError
        If it is neither.
    """
    if given not in (True, False):
        raise ValueError(f"{name} is {given!r}: give True or False")
    return bool(given)


def given_axes(name: str, given: Any, number: int) -> list[Any]:
    """Axes of the caller's figure, one for each panel.

    Parameters
    ----------
    name : {"ax", "axes"}
        The argument.
    given : matplotlib axes, or an array or sequence of them
    number : int
        Panels of the figure.

    Raises
    ------
    TypeError
        If it is something else.
    ValueError
        If there are more or fewer axes than panels.
    """
    from bayesnb.pictures.picture import Axes

    found = _flat(given)
    other = next((each for each in found if not isinstance(each, Axes)), None)
    if other is not None or not found or (name == "ax" and not isinstance(given, Axes)):
        what = "one of matplotlib's Axes" if name == "ax" else "matplotlib's Axes, one for each panel"
        wrong = a_type(given if other is None else other)
        raise TypeError(f"{name} is or holds {wrong}: give {what}, as figure.subplots() makes them")
    if len(found) != number:
        raise ValueError(
            f"{name} has {len(found)} axes, and the figure has {counted(number, 'panel')}: give {number} "
            "axes, or choose other panels"
        )
    return found


def _flat(given: Any) -> list[Any]:
    """The entries of an array, or of sequences within sequences."""
    if hasattr(given, "flat"):
        return list(given.flat)
    if isinstance(given, list | tuple):
        return [each for inner in given for each in _flat(inner)]
    return [given]


def size_in_inches(figsize: Any) -> tuple[float, float | None]:
    """Width and height of a figure; the height is None if it follows from what the figure shows.

    Raises
    ------
    ValueError
        If they are no positive numbers.
    """
    try:
        width, height = figsize
        if 0 < width < float("inf") and (height is None or 0 < height < float("inf")):
            return float(width), None if height is None else float(height)
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"figsize is {figsize!r}: give width and height in inches, such as (3.35, 4), or (3.35, None) for a height "
        "that follows from what the figure shows"
    )
